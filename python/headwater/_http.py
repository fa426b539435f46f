"""Calls to a server: bounded in time, and tried again where that is safe."""

from __future__ import annotations

import http.client
import random
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from headwater import _refusals
from headwater._headwater import __version__
from headwater._place import Place
from headwater._pool import Line, Pool
from headwater.errors import Cancelled, HeadwaterError, TimedOut, Unavailable

T = TypeVar("T")

_CHUNK = 1 << 16
# Statuses after which the same call may succeed; 402 is none of them.
_AGAIN = frozenset({429, 502, 503, 504})
# Reasons of ours after which it may, too.
_LOST = frozenset({"connection", "timeout"})
_BROKEN = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Patience:
    """How long a call may take, and how often it is tried."""

    # For one try: silence, and a whole JSON answer.
    timeout: float
    # Tries after the first.
    retries: int
    # For all tries and the waits between them.
    total: float


@dataclass(frozen=True)
class Call:
    """What is sent."""

    endpoint: str
    method: str
    path: str
    body: bytes | None = None
    accept: str = "application/json"
    # Whether an answer that was lost on its way would be paid for twice.
    is_billed: bool = False


@dataclass
class Pace:
    """When an endpoint may be asked again, by what the server says of its limits: for all threads."""

    _not_before: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_of(self, endpoint: str) -> float:
        """Give the seconds to wait before the endpoint may be asked."""
        with self._lock:
            return max(0.0, self._not_before.get(endpoint, 0.0) - time.monotonic())

    def heed(self, endpoint: str, status: int, headers: http.client.HTTPMessage) -> None:
        """Remember until when the limit of the endpoint is used up."""
        wait = _refusals.retry_after(headers) if status == 429 else _refusals.exhausted_for(headers)
        if wait is not None:
            with self._lock:
                until = time.monotonic() + wait
                self._not_before[endpoint] = max(until, self._not_before.get(endpoint, 0.0))


class Connections:
    """Calls to one server, from any number of threads."""

    def __init__(self, place: Place, api_key: str | None, patience: Patience) -> None:
        self.place = place
        self._key = api_key
        self._patience = patience
        self._pace = Pace()
        self._pool = Pool(place, patience.timeout)

    def call(
        self, call: Call, receive: Callable[[http.client.HTTPResponse], T], stop: threading.Event | None = None
    ) -> T:
        """Send a call until it is answered with 200, or no try is left.

        ``receive`` reads the answer; it is called anew with each try, since an answer may break off.
        """
        headers, stop = self._headers(call), stop or threading.Event()
        start, tries = time.monotonic(), 0
        while True:
            wait = self._pace.wait_of(call.endpoint)
            if time.monotonic() + wait - start <= self._patience.total:
                _rest(wait, stop)
            try:
                return self._try(call, headers, receive)
            except HeadwaterError as error:
                again = self._again(error, tries, start)
                if again is None:
                    raise
                wait = again
            tries += 1
            _rest(wait, stop)

    def close(self) -> None:
        """Close every connection; calls under way end with an error."""
        self._pool.close()

    def text(self, response: http.client.HTTPResponse) -> str:
        """Read a JSON answer whole."""
        return _refusals.text_of(response.status, response.headers, self.body(response))

    def body(self, response: http.client.HTTPResponse) -> bytes:
        """Read an answer whole, whatever it is."""
        return b"".join(chunks(response, time.monotonic() + self._patience.timeout))

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {"Accept": call.accept, "User-Agent": f"headwater-python/{__version__}"}
        if self._key is not None:
            headers["X-API-Key"] = self._key
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if call.is_billed and self._patience.retries > 0:
            # One for all tries: the server charges once and gives what it charged for.
            headers["Idempotency-Key"] = str(uuid.uuid4())
        return headers

    def _again(self, error: HeadwaterError, tries: int, start: float) -> float | None:
        """Give the seconds to wait before the next try, or nothing where there is none."""
        is_lost = error.status is None and error.reason in _LOST
        if tries >= self._patience.retries or not (is_lost or error.status in _AGAIN):
            return None
        asked = getattr(error, "retry_after", None)
        # Those who are turned away together do not come back together.
        wait: float = (0.25 * 2.0**tries if asked is None else asked) * (1.0 + 0.25 * random.random())
        left = self._patience.total - (time.monotonic() - start)
        return wait if wait < left else None

    def _try(self, call: Call, headers: dict[str, str], receive: Callable[[http.client.HTTPResponse], T]) -> T:
        line, is_whole = None, False
        try:
            line = self._pool.take()
            try:
                response = self._ask(line, call, headers)
            except _BROKEN as error:
                if line.is_fresh or isinstance(error, TimeoutError):
                    raise
                # The server had closed the kept connection meanwhile, and heard nothing.
                self._pool.give_back(line, is_whole=False)
                line = None
                line = self._pool.take(fresh=True)
                response = self._ask(line, call, headers)
            self._pace.heed(call.endpoint, response.status, response.headers)
            answer = receive(response) if response.status == 200 else self._refused(response)
            is_whole = not response.will_close
        except HeadwaterError as error:
            is_whole = error.status is not None
            raise
        except _BROKEN as error:
            raise self._unreachable(error) from error
        finally:
            if line is not None:
                self._pool.give_back(line, is_whole=is_whole)
        if isinstance(answer, HeadwaterError):
            raise answer
        return answer

    def _ask(self, line: Line, call: Call, headers: dict[str, str]) -> http.client.HTTPResponse:
        target, more = self.place.target(call.path)
        line.connection.request(call.method, target, body=call.body, headers={**headers, **more})
        return line.connection.getresponse()

    def _refused(self, response: http.client.HTTPResponse) -> HeadwaterError:
        return _refusals.of(response.status, response.headers, self.body(response))

    def _unreachable(self, error: Exception) -> HeadwaterError:
        told = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            message = f"{self.place.url} did not answer within {self._patience.timeout:g} s: {told}"
            return TimedOut(message, reason="timeout")
        reason = "connection"
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = "certificate"
        elif isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
            reason = "unknown_host"
        return Unavailable(f"{self.place.url} cannot be reached: {told}", reason=reason)


def chunks(response: http.client.HTTPResponse, deadline: float | None = None) -> Iterator[bytes]:
    """Give a body piece by piece; one that breaks off, or is not whole at the deadline, is an error."""
    left = None if response.chunked else response.length
    while left is None or left > 0:
        piece = response.read1(_CHUNK if left is None else min(_CHUNK, left))
        if not piece:
            break
        yield piece
        left = None if left is None else left - len(piece)
        if deadline is not None and time.monotonic() > deadline:
            message = "the answer came too slowly"
            raise TimeoutError(message)
    response.close()
    if left:
        raise http.client.IncompleteRead(b"", left)


def _rest(wait: float, stop: threading.Event) -> None:
    if stop.wait(wait) if wait > 0.0 else stop.is_set():
        message = "the call was given up while it waited, because another one failed"
        raise Cancelled(message)
