"""How long a connection may keep its caller waiting."""

from __future__ import annotations

import http.client
import io
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass
class Bounds:
    """The longest silence, in seconds, and the time by which all must have come, by the clock of ``time.monotonic``."""

    silence: float
    until: float

    def left(self) -> float:
        """Give the seconds that may be waited for the next bytes."""
        left = min(self.silence, self.until - time.monotonic())
        if left <= 0.0:
            message = "the answer came too slowly"
            raise TimeoutError(message)
        return left


class BoundedResponse(http.client.HTTPResponse):
    """An answer whose head and body must come within bounds, however they trickle."""

    def __init__(self, sock: socket.socket, *arguments: Any, bounds: Bounds, **options: Any) -> None:  # noqa: ANN401
        super().__init__(sock, *arguments, **options)
        plain = self.fp
        self.fp = io.BufferedReader(_Bounded(sock, bounds))
        plain.close()


class _Bounded(io.RawIOBase):
    """What a socket brings: its own timeout holds for each piece, so it is set anew before each."""

    def __init__(self, sock: socket.socket, bounds: Bounds) -> None:
        super().__init__()
        self._sock, self._bounds = sock, bounds
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int | None:
        self._sock.settimeout(self._bounds.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
