"""Measures loads from anvil: the time to a first answer, and blocks per second beside cryo."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from pathlib import Path

from nodes.ethereum import Reference
from nodes.session import check, say

# Loads of each program, of which the fastest counts.
_REPEATS = 3
_CRYO = """
import sys
import cryo
url, last, out = sys.argv[1:]
cryo.freeze(
    ["blocks", "transactions", "logs", "traces"],
    rpc=url, blocks=[f"0:{int(last) + 1}"], output_dir=out, no_verbose=True, network_name="ethereum",
)
"""


def first_answer(of: Reference) -> None:
    """Measure one line of a shell from an empty folder to the balances of an address."""
    store = of.new_store("first")
    load, ask = store.loading(of.node.source), store.command("wallet", of.filled["funded"][0])
    began = time.monotonic()
    line = f"{shlex.join(load)} && {shlex.join(ask)}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    check(done.returncode == 0 and "eth" in done.stdout.lower(), f"{done.stdout}{done.stderr}")
    say(f"measured: {seconds:.1f} s from an empty folder to the first answer, over {of.last + 1} blocks")


def beside_cryo(of: Reference, python: Path) -> None:
    """Measure the same blocks with cryo."""
    out = of.folder / "cryo"
    ours, theirs = [], []
    for number in range(_REPEATS):
        ours.append(seconds_of(of.new_store(f"speed-{number}").loading(of.node.source)))
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        theirs.append(seconds_of([str(python), "-c", _CRYO, of.node.url, str(of.last), str(out)]))
    rows = of.new_store("cryo")
    rows.run("ingest", "--chain", "ethereum", out)
    rate, other = ((of.last + 1) / min(seconds) for seconds in (ours, theirs))
    say(
        f"measured: {rate:.0f} blocks a second, verified and indexed; cryo {other:.0f}, to Parquet without a check: "
        f"a ratio of {rate / other:.2f}"
    )


def seconds_of(command: list[str]) -> float:
    """Run a command, and return its time."""
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}")
    return time.monotonic() - began
