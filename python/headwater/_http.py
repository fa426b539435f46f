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
from typing import Any, TypeVar

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
# What TLS says of a server that speaks something else, such as plain HTTP: it will do so at the next try.
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "HTTP_REQUEST"})
# What is left of the patience for a try at least: one that cannot be answered in time may be charged all the same.
_SHORTEST_SECS = 1.0
# Between callers that a limit held up, where the server does not say how often it may be asked.
_APART_SECS = 0.01
_JSON = "application/json"
_BROKEN = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Patience:
    """How long a call may take, and how often it is tried."""

    # For one try: silence, and a whole JSON answer.
    timeout: float
    # Tries after the first; what a limit turned away, saying for how long, is none.
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
    accept: str = _JSON
    # Whether an answer that was lost on its way would be paid for twice.
    is_billed: bool = False
    # Whether its parts are asked for where the server runs out of time.
    is_divisible: bool = False


@dataclass
class Pace:
    """When an endpoint may be asked again, by what the server says of its limits: for all threads."""

    # What the server said.
    _not_before: dict[str, float] = field(default_factory=dict)
    # Behind the last of those who wait.
    _turns: dict[str, float] = field(default_factory=dict)
    # Seconds in which the limit of an endpoint grows by one call.
    _apart: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_of(self, endpoint: str, least: float, most: float) -> float:
        """Give the seconds to wait before the endpoint may be asked, or the least where that would be too long.

        While a limit holds, each who asks gets a turn behind the one before: all at once would be turned away again.
        """
        with self._lock:
            now = time.monotonic()
            turn = max(self._not_before.get(endpoint, 0.0), self._turns.get(endpoint, 0.0))
            wait = max(turn - now, least)
            if wait > most:
                return least
            if turn > now:
                self._turns[endpoint] = turn + self._apart.get(endpoint, _APART_SECS)
            return wait

    def leave(self, endpoint: str) -> None:
        """Give a turn back that was not waited for, so that nobody waits for it."""
        with self._lock:
            self._turns[endpoint] = self._turns.get(endpoint, 0.0) - self._apart.get(endpoint, _APART_SECS)

    def heed(self, endpoint: str, status: int, headers: http.client.HTTPMessage) -> None:
        """Remember until when the limit of the endpoint is used up."""
        wait = _refusals.retry_after(headers) if status == 429 else _refusals.exhausted_for(headers)
        apart = _refusals.secs_per_call(headers)
        with self._lock:
            if apart is not None:
                self._apart[endpoint] = apart
            if wait is not None:
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
        end, tries, least = time.monotonic() + self._patience.total, 0, 0.0
        while True:
            try:
                _rest(self._pace.wait_of(call.endpoint, least, self._left(end)), stop)
            except BaseException:
                self._pace.leave(call.endpoint)
                raise
            try:
                return self._try(call, headers, receive, end, stop)
            except HeadwaterError as error:
                again = None if call.is_divisible and error.status == 504 else self._again(error, tries, end)
                if again is None:
                    raise
                tries, least = tries + (not _is_limit(error)), again

    def close(self) -> None:
        """Close every connection; calls under way end with an error."""
        self._pool.close()

    def envelope(self, response: http.client.HTTPResponse) -> dict[str, Any]:
        """Read a JSON answer whole."""
        return _refusals.envelope_of(response.status, response.headers, self.body(response))

    def body(self, response: http.client.HTTPResponse) -> bytes:
        """Read an answer whole, whatever it is."""
        return b"".join(chunks(response))

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {"Accept": call.accept, "User-Agent": f"headwater-python/{__version__}"}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if call.is_billed:
            # One for all tries, and for the second connection that even a single try may take: the server charges
            # once and gives what it charged for.
            headers["Idempotency-Key"] = str(uuid.uuid4())
        return headers

    def _again(self, error: HeadwaterError, tries: int, end: float) -> float | None:
        """Give the seconds to wait before the next try, or nothing where there is none."""
        is_lost = error.status is None and error.reason in _LOST
        if self._patience.retries == 0 or not (is_lost or error.status in _AGAIN):
            return None
        # Who does as a limit says gives up for lack of patience only.
        if tries >= self._patience.retries and not _is_limit(error):
            return None
        asked = getattr(error, "retry_after", None)
        # Those who are turned away together do not come back together.
        wait: float = (0.25 * 2.0**tries if asked is None else asked) * (1.0 + 0.25 * random.random())
        return wait if wait < self._left(end) else None

    def _left(self, end: float) -> float:
        """Give the seconds that may be waited for another try."""
        return end - time.monotonic() - min(self._patience.timeout, _SHORTEST_SECS)

    def _try(
        self,
        call: Call,
        headers: dict[str, str],
        receive: Callable[[http.client.HTTPResponse], T],
        end: float,
        stop: threading.Event,
    ) -> T:
        line, is_whole, start = None, False, time.monotonic()
        until = min(start + self._patience.timeout, end)
        try:
            line = self._pool.take(until)
            try:
                response = self._ask(line, call, headers)
            except _BROKEN as error:
                if line.is_fresh or isinstance(error, TimeoutError):
                    raise
                # The server had closed the kept connection meanwhile, and heard nothing.
                self._pool.give_back(line, is_whole=False)
                line = None
                _rest(0.0, stop)
                line = self._pool.take(until, fresh=True)
                response = self._ask(line, call, headers)
            self._pace.heed(call.endpoint, response.status, response.headers)
            if call.accept != _JSON and response.status == 200:
                # Rows may be many: they must not fall silent, and end with the patience.
                line.bounds.until = end
            answer = receive(response) if response.status == 200 else self._refused(call, response)
            is_whole = not response.will_close
        except HeadwaterError as error:
            is_whole = error.status is not None
            raise
        except _BROKEN as error:
            raise self._unreachable(error, time.monotonic() - start) from error
        finally:
            if line is not None:
                self._pool.give_back(line, is_whole=is_whole)
        if isinstance(answer, HeadwaterError):
            raise answer
        return answer

    def _ask(self, line: Line, call: Call, headers: dict[str, str]) -> http.client.HTTPResponse:
        line.sock.settimeout(line.bounds.left())
        target = self.place.target(call.path)
        try:
            # The key stands in no variable here, since reports of errors may show them.
            line.connection.request(
                call.method, target, body=call.body, headers={**headers, **self.place.headers(), **self._identity()}
            )
        except _BROKEN as error:
            # Nor in those of the frames below, which are left out.
            raise error.with_traceback(None) from None
        return line.connection.getresponse()

    def _identity(self) -> dict[str, str]:
        return {} if self._key is None else {"X-API-Key": self._key}

    def _refused(self, call: Call, response: http.client.HTTPResponse) -> HeadwaterError:
        if 300 <= response.status < 400:
            self.body(response)
            return _refusals.redirected(response.status, response.headers, self.place.url, call.path)
        return _refusals.of(response.status, response.headers, self.body(response))

    def _unreachable(self, error: Exception, secs: float) -> HeadwaterError:
        told = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            return TimedOut(f"{self.place.url} did not answer within {secs:.3g} s: {told}", reason="timeout")
        reason = "connection"
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = "certificate"
        elif isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            reason, told = "tls", f"{told}: what listens there does not speak TLS as this side does, or none at all"
        elif isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
            reason = "unknown_host"
        return Unavailable(f"{self.place.url} cannot be reached: {told}", reason=reason)


def chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Give a body piece by piece; one that breaks off, or passes the bounds of its connection, is an error."""
    left = None if response.chunked else response.length
    while left is None or left > 0:
        piece = response.read1(_CHUNK if left is None else min(_CHUNK, left))
        if not piece:
            break
        yield piece
        left = None if left is None else left - len(piece)
    response.close()
    if left:
        raise http.client.IncompleteRead(b"", left)


def _is_limit(error: HeadwaterError) -> bool:
    """Tell whether a limit turned a call away and said for how long."""
    return error.status == 429 and bool(getattr(error, "retry_after", None))


def _rest(wait: float, stop: threading.Event) -> None:
    if stop.wait(wait) if wait > 0.0 else stop.is_set():
        message = "the call was given up while it waited, because another one failed"
        raise Cancelled(message)
