"""Connections that are kept for the next call."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import threading
import time
from dataclasses import dataclass

from headwater._bounds import Bounds
from headwater._place import Place

# A server that keeps connections for a minute is not asked over one that it may be closing.
_IDLE_SECS = 45.0


@dataclass(eq=False)
class Line:
    """A connection, and whether it was asked before."""

    connection: http.client.HTTPConnection
    sock: socket.socket
    bounds: Bounds
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

    def take(self, until: float, *, fresh: bool = False) -> Line:
        """Give a connection for an answer that must come until then: one that was kept, or a new one."""
        line = None if fresh else self._kept()
        if line is None:
            bounds = Bounds(self._timeout, until)
            line = Line(*self._place.connect(bounds), bounds)
        line.bounds.until = until
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
            self._leave_those_of_a_parent()
            idle, self._idle = self._idle, []
            for line in self._busy:
                # Only ended, not closed: who reads from it closes it, and finds no socket gone meanwhile. As a plain
                # socket, since one of TLS would take its state from under the reader.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(line.sock, socket.SHUT_RDWR)
        for line in idle:
            line.connection.close()

    def _kept(self) -> Line | None:
        with self._lock:
            self._leave_those_of_a_parent()
            oldest = time.monotonic() - _IDLE_SECS
            while self._idle:
                line = self._idle.pop()
                if line.since > oldest:
                    return line
                line.connection.close()
        return None

    def _leave_those_of_a_parent(self) -> None:
        """Forget, in a forked process, the connections of its parent, which goes on using them."""
        if self._process != os.getpid():
            self._idle, self._busy, self._process = [], set(), os.getpid()
