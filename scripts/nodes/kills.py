"""Kills loads at many points, and starts them again."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from nodes.session import Source, Store, check

# Attempts of a round that may be killed before the one that ends by itself.
_ATTEMPTS = 2
# The files of a store that a commit writes, in the order of their changes.
_SIGNS = ("incoming/*", "segments/*", "manifest-*.json")
# The time between two looks at the store.
_LOOK = 0.0005


def _round(seed: int, number: int) -> tuple[random.Random, int | None]:
    """Give the generator of a round, and after which change of the store to kill; by time alone in every second one."""
    choice = random.Random(f"{seed} {number}")
    return choice, choice.randint(1, 12) if number % 2 else None


def _is_changed(store: Path, changes: int) -> bool:
    """Return whether so many files of commits were written."""
    return sum(1 for pattern in _SIGNS for _ in store.glob(pattern)) >= changes


def _wait_for_kill(process: subprocess.Popen[bytes], store: Path, changes: int | None, seconds: float) -> None:
    """Wait for the moment of a kill, or the end of the process."""
    end = time.monotonic() + (seconds if changes is None else 60)
    while process.poll() is None and time.monotonic() < end:
        if changes is not None and _is_changed(store, changes):
            time.sleep(seconds / 100)
            return
        time.sleep(_LOOK)


def kill_loads(
    kills: int,
    seed: int,
    begin: tuple[Callable[[str], Store], Source, int, float],
    finish: Callable[[Store], None],
) -> int:
    """Kill so many loads of new stores, and hand each store over for its last load. Return the number of stores.

    `begin` makes a store by its name, and has the source, its last block, and the seconds of a load that nobody kills.
    """
    make, source, last, seconds = begin
    killed = 0
    for number in count():
        if killed >= kills:
            return number
        choice, changes = _round(seed, number)
        store = make(f"killed-{number}")
        for attempt in range(choice.randint(1, _ATTEMPTS)):
            # Loads of parts, so that the next one begins with a store that holds some blocks.
            to = last if choice.random() < 0.5 else choice.randint(last // 4, last)
            command = store.loading(source, "--to", str(to), "--parallel", str(choice.randint(1, 8)))
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            wait = choice.uniform(0, 0.8 * seconds)
            _wait_for_kill(process, store.folder, None if changes is None else changes + attempt, wait)
            process.send_signal(signal.SIGKILL)
            _, error = process.communicate()
            check(process.returncode in (0, -signal.SIGKILL), f"a load failed: {error.decode()}")
            killed += process.returncode != 0
        finish(store)
        left = list(store.folder.glob("incoming/*"))
        check(not left, f"answers of killed loads are left: {left}")
    raise AssertionError
