"""How far a long call is, on one line of standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_DRAW_SECS = 0.2
# Work that takes less shows no bar by itself.
_DELAY_SECS = 1.0
_CELLS = 20


def is_watched() -> bool:
    """Return whether somebody sees standard error: it is a terminal, or the output of a cell of a notebook."""
    stream = sys.stderr
    return stream is not None and (stream.isatty() or type(stream).__module__.startswith("ipykernel"))


class Bar:
    """A progress bar, drawn a few times a second and once at the end.

    Where ``shown`` is ``None`` the bar shows itself: after a second, where somebody sees it.
    """

    def __init__(self, name: str, unit: str, total: int | None = None, *, shown: bool | None = True) -> None:
        self._name, self._unit, self._total = name, unit, total
        self._shown = is_watched() if shown is None else shown
        self._start = self._drawn = time.monotonic()
        self._first = self._start + (_DELAY_SECS if shown is None else 0)
        self._done = 0
        self._before = 0
        self._width = 0

    def reach(self, done: int) -> None:
        """Say how much is done."""
        self._done = done
        now = time.monotonic()
        if self._shown and now >= self._first and now - self._drawn >= _DRAW_SECS:
            self._draw("\r")

    def follow(self, done: int, total: int, before: int) -> None:
        """Say how much is done of what, and how much of it was done before, which counts for no rate."""
        self._total, self._before = total, before
        self.reach(done)

    def turn_to(self, name: str, unit: str) -> None:
        """Continue with another part of the work, on the same line."""
        if (name, unit) != (self._name, self._unit):
            self._name, self._unit, self._total, self._done, self._before = name, unit, None, 0, 0
            self._start = time.monotonic()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the line as it was at the end."""
        if self._shown and time.monotonic() >= self._first:
            self._draw("\n")

    def _draw(self, end: str) -> None:
        self._drawn = time.monotonic()
        line = self._line(self._drawn - self._start)
        # Blanks wipe out what is left of a longer line.
        print(f"\r{line:{self._width}}", end=end, file=sys.stderr, flush=True)
        self._width = len(line)

    def _line(self, secs: float) -> str:
        rate = (self._done - self._before) / max(secs, 1e-3)
        speed = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
        if self._total is None:
            return f"{self._name}: {self._done:,} {self._unit}, {speed}, {secs:.0f} s"
        full = _CELLS * self._done // max(self._total, 1)
        left = (
            f"{(self._total - self._done) / rate:.0f} s left"
            if rate > 0 and self._done < self._total
            else f"{secs:.0f} s"
        )
        cells = "#" * full + "." * (_CELLS - full)
        return f"{self._name} [{cells}] {self._done:,} of {self._total:,} {self._unit}, {speed}, {left}"
