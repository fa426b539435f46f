"""Measures loads from anvil: the time to a first answer, and blocks per second beside cryo."""

from __future__ import annotations

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
    ["blocks", "transactions", "logs", "traces"], rpc=url, blocks=[f"0:{int(last) + 1}"], output_dir=out, no_verbose=True,
    network_name="ethereum",
)
"""


def first_answer(of: Reference) -> None:
    """Measure one command from an empty folder to the balances of an address."""
    store = of.new_store("first")
    load, ask = store.loading(of.node.source), store.command("wallet", of.filled["funded"][0])
    began = time.monotonic()
    done = subprocess.run(["sh", "-c", '"$@"', "sh", *load], capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stderr)
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    check(done.returncode == 0 and "eth" in done.stdout, f"{done.stdout}{done.stderr}")
    say(f"measured: {seconds:.1f} s from an empty folder to the first answer, over {of.last + 1} blocks")


def beside_cryo(of: Reference, python: Path, is_optimised: bool) -> None:
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
    ratio = min(theirs) / min(ours)
    profile = "" if is_optimised else ", in the profile of tests"
    say(
        f"measured: {(of.last + 1) / min(ours):.0f} blocks a second verified and indexed{profile}; "
        f"cryo writes {(of.last + 1) / min(theirs):.0f} a second to Parquet without a check: {ratio:.2f} times its speed"
    )


def seconds_of(command: list[str]) -> float:
    """Run a command, and return its time."""
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}")
    return time.monotonic() - began
