"""Connections that are kept for the next call."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import threading
import time
from dataclasses import dataclass

from headwater._place import Place

# A server that keeps connections for a minute is not asked over one that it may be closing.
_IDLE_SECS = 45.0


@dataclass(eq=False)
class Line:
    """A connection, and whether it was asked before."""

    connection: http.client.HTTPConnection
    sock: socket.socket
    is_fresh: bool = True
    since: float = 0.0


class Pool:
    """Connections to one place, for any number of threads."""

    def __init__(self, place: Place, timeout: float) -> None:
        self._place = place
        self._timeout = timeout
        self._idle: list[Line] = []
        self._busy: set[Line] = set()
        self._lock = threading.Lock()
        self._process = os.getpid()

    def take(self, *, fresh: bool = False) -> Line:
        """Give a connection: one that was kept, or a new one."""
        line = None if fresh else self._kept()
        if line is None:
            line = Line(*self._place.connect(self._timeout))
        with self._lock:
            self._busy.add(line)
        return line

    def give_back(self, line: Line, *, is_whole: bool) -> None:
        """Keep a connection whose answer was read to its end, or close it."""
        with self._lock:
            self._busy.discard(line)
            if is_whole and line.connection.sock is not None:
                line.is_fresh, line.since = False, time.monotonic()
                self._idle.append(line)
                return
        line.connection.close()

    def close(self) -> None:
        """Close every connection; who reads from one gets an error."""
        with self._lock:
            lines = self._idle + list(self._busy)
            self._idle = []
        for line in lines:
            with contextlib.suppress(OSError):
                line.sock.shutdown(socket.SHUT_RDWR)
            line.connection.close()

    def _kept(self) -> Line | None:
        with self._lock:
            if self._process != os.getpid():
                # A forked process leaves the connections of its parent alone.
                self._idle, self._busy, self._process = [], set(), os.getpid()
            oldest = time.monotonic() - _IDLE_SECS
            while self._idle:
                line = self._idle.pop()
                if line.since > oldest:
                    return line
                line.connection.close()
        return None
