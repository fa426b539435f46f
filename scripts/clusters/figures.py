"""Measure scores on one machine, in shards and on clusters, in one run, and write docs/cluster-figures.md.

usage: figures.py --bin HEADWATER [--spark PYTHON] [--sail PYTHON] [--store DIR] [--preset m] [--part-size ADDRESSES]
                  [--out FILE]

The Pythons have the same wheel as HEADWATER, and Spark or Sail; a cluster without one is left out, with a line that says so.

All ways score the same addresses of the same store, and the files that they write are compared byte by byte. Processor
time is that of all processes of a way, read from /proc while they run. The table of chains is computed from the figures
and from the assumed sizes in CHAINS.
"""

from __future__ import annotations

import argparse
import ctypes
import filecmp
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHAIN = "ethereum"
COLUMNS = "risk,class"
SHARDS = 16
# Marks the processes of the way that is measured; children inherit it.
MARK = "HEADWATER_FIGURES"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = mmap.PAGESIZE

# Transfers and addresses of whole chains, in billions: round assumptions, not measurements of ours. Of Bitcoin the
# transfers are inputs and outputs.
CHAINS = {"ethereum": (4.3, 0.35), "tron": (15.0, 0.37), "bitcoin": (6.5, 1.4)}
# Machines of the table: their cores, and gigabytes a second of their disk.
MACHINES = {"16 cores, NVMe": (16, 2.0), "16 cores, network disk": (16, 0.25), "64 cores, NVMe": (64, 4.0)}


@dataclass
class Way:
    """A way to score, and what it took."""

    name: str
    rows: int
    cpu: float
    wall: float
    note: str = ""

    @property
    def rate(self) -> float:
        """Rows per second of processor time."""
        return self.rows / self.cpu


class Processor:
    """Processor time of all processes that carry a mark, sampled while they live."""

    def __init__(self, mark: str) -> None:
        self._mark = f"{MARK}={mark}".encode()
        self._seconds: dict[tuple[int, int], float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Processor:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._ended.set()
        self._thread.join()

    def seconds(self) -> float:
        """Give the processor time so far."""
        self._sample()
        return sum(self._seconds.values())

    def _follow(self) -> None:
        while not self._ended.wait(0.05):
            self._sample()

    def _sample(self) -> None:
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if self._mark not in (folder / "environ").read_bytes().split(b"\0"):
                    continue
                # The name, in brackets, may contain blanks.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            process = (int(folder.name), int(fields[19]))
            self._seconds[process] = (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def measured(name: str) -> Iterator[tuple[dict[str, str], Processor]]:
    """Give the environment for the processes of a way, one thread each."""
    with Processor(name) as processor:
        yield {**os.environ, MARK: name, "RAYON_NUM_THREADS": "1"}, processor


def score(arguments: argparse.Namespace, output: Path, *more: str) -> list[str]:
    """Give the command of a job."""
    size = ["--addresses-per-part", str(arguments.part_size)]
    job = ["score", "--store", str(arguments.store), "--chain", CHAIN, "--columns", COLUMNS, "--output", str(output)]
    return [str(arguments.bin), *job, *size, *more]


def run_all(commands: list[list[str]], env: dict[str, str]) -> None:
    """Run commands at the same time."""
    running = [subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) for command in commands]
    if any(one.wait() for one in running):
        sys.exit("a job failed")


def rows_of(output: Path) -> int:
    """Count the rows of a file of scores."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(output).num_rows)


def one_process(arguments: argparse.Namespace, output: Path) -> Way:
    """Score with one process of one thread."""
    begin = time.monotonic()
    with measured("one") as (env, processor):
        run_all([score(arguments, output)], env)
        return Way("one process", rows_of(output), processor.seconds(), time.monotonic() - begin)


def two_shards(arguments: argparse.Namespace, output: Path) -> Way:
    """Score with two processes of one thread, and join."""
    begin = time.monotonic()
    with measured("two") as (env, processor):
        run_all([score(arguments, output, "--shard", f"{number}/2") for number in (1, 2)], env)
        run_all([[str(arguments.bin), "score", "--join", f"{output}.parts"]], env)
        return Way("two shards and the join", rows_of(output), processor.seconds(), time.monotonic() - begin)


def on_cluster(arguments: argparse.Namespace, output: Path, engine: str) -> Way:
    """Score on a cluster that a process of its own starts: it prints the seconds of its start-up."""
    begin = time.monotonic()
    driver = Path(__file__).parent / "job.py"
    command = [getattr(arguments, engine), str(driver), engine, str(arguments.store), CHAIN, COLUMNS, str(output)]
    with measured(engine) as (env, processor):
        del env["RAYON_NUM_THREADS"]
        process = subprocess.Popen(
            [*command, str(arguments.part_size)], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            sys.exit(f"{engine} did not start")
        before, started = processor.seconds(), time.monotonic()
        if process.stdout.readline().strip() != "done":
            sys.exit(f"the job on {engine} failed")
        cpu, wall = processor.seconds() - before, time.monotonic() - started
        process.communicate()
    note = f"start-up: {before:.0f} s of processor, {started - begin:.0f} s of time, not counted"
    name = {"spark": "Spark, two workers", "sail": "Sail"}[engine]
    return Way(name, rows_of(output), cpu, wall, note)


def forget(store: Path) -> None:
    """Drop the files of a store from the cache of the system."""
    for file in files_of(store):
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def files_of(store: Path) -> list[Path]:
    """List the files of a store."""
    return [file for file in sorted(store.rglob("*")) if file.is_file() and file.stat().st_size]


def resident(store: Path) -> int:
    """Count the bytes of a store that are in the cache of the system."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    total = 0
    for file in files_of(store):
        with file.open("rb") as opened:
            length = file.stat().st_size
            address = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, opened.fileno(), 0)
            pages = ctypes.create_string_buffer((length + PAGE - 1) // PAGE)
            if libc.mincore(address, length, pages):
                raise OSError(ctypes.get_errno(), f"mincore of {file}")
            total += PAGE * sum(byte & 1 for byte in pages.raw)
            libc.munmap(address, length)
    return total


def touched(arguments: argparse.Namespace, output: Path, shards: int) -> tuple[int, int, int]:
    """Count the bytes of the store that a shard reads, those that opening it and planning read, and its rows."""
    forget(arguments.store)
    left = resident(arguments.store)
    if left > 0.02 * sum(file.stat().st_size for file in files_of(arguments.store)):
        print(f"warning: {left:,} bytes of the store stay in the cache of the system", file=sys.stderr)
    run_all([score(arguments, output, "--shard", f"1/{shards}")], dict(os.environ))
    rows = sum(rows_of(part) for part in Path(f"{output}.parts").glob("part-*.parquet"))
    shutil.rmtree(f"{output}.parts")
    return resident(arguments.store), left, rows


def chains(one: Way, store: dict[str, Any], shard_share: float) -> list[str]:
    """Compute the table of whole chains: processor and disk work at the same time, and the slower one decides."""
    lines = [
        f"| chain | transfers, addresses (assumed) | store | core-hours | {' | '.join(MACHINES)} |",
        "|---|---|---:|---:|" + "---:|" * len(MACHINES),
    ]
    for name, (transfers, addresses) in CHAINS.items():
        size = transfers * store["bytes"] / store["transfers"]
        by_transfers = transfers * 1e9 / store["transfers"] * one.cpu / 3600
        by_addresses = addresses * 1e9 / one.rate / 3600
        hours = sorted((by_transfers, by_addresses))
        # Read once where it fits into memory; else as often as shards read pages of the others.
        read = (size, size * max(1.0, SHARDS * shard_share))
        times = []
        for cores, speed in MACHINES.values():
            low, high = (max(h / cores, r / speed / 3600) for h, r in zip(hours, read, strict=True))
            times.append(f"{low:,.1f} to {high:,.1f} h")
        cells = [name, f"{transfers:g} B, {addresses:g} B", f"{size:,.0f} GB", f"{hours[0]:,.1f} to {hours[1]:,.1f}"]
        lines.append(f"| {' | '.join([*cells, *times])} |")
    return lines


def store_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Simulate the store where it is missing, and describe it."""
    import json

    if not arguments.store.exists():
        command = [str(arguments.bin), "simulate", "--preset", arguments.preset, "--store", str(arguments.store)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    stats = [str(arguments.bin), "stats", "--json", "--store", str(arguments.store)]
    described = json.loads(subprocess.run(stats, check=True, capture_output=True).stdout)
    movements = {name: chain["coverage"]["movements"] for name, chain in described["chains"].items()}
    return {
        "transfers": movements[CHAIN],
        # Files other than segments are of all chains.
        "bytes": described["bytes"] * movements[CHAIN] / sum(movements.values()),
        "all_bytes": described["bytes"],
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--preset", default="m")
    parser.add_argument("--part-size", type=int, default=16_384)
    parser.add_argument("--spark")
    parser.add_argument("--sail")
    parser.add_argument("--out", type=Path, default=Path("docs/cluster-figures.md"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        arguments.store = arguments.store or place / "store"
        store = store_of(arguments)
        ways = [one_process(arguments, place / "one.parquet"), two_shards(arguments, place / "two.parquet")]
        for engine in ("spark", "sail"):
            if getattr(arguments, engine):
                ways.append(on_cluster(arguments, place / f"{engine}.parquet", engine))
            else:
                print(f"left out: {engine}, because --{engine} names no Python", file=sys.stderr)
        outputs = sorted(place.glob("*.parquet"))
        if not all(filecmp.cmp(outputs[0], other, shallow=False) for other in outputs):
            sys.exit("the files of scores differ")
        shards = {count: touched(arguments, place / "touched.parquet", count) for count in (SHARDS, 1)}
    write(arguments, store, ways, shards)


def write(
    arguments: argparse.Namespace, store: dict[str, Any], ways: list[Way], shards: dict[int, tuple[int, int, int]]
) -> None:
    """Write the page."""
    total = store["all_bytes"]
    lines = [
        "# Figures of clusters",
        "",
        "Written by `scripts/clusters/figures.py "
        f"--preset {arguments.preset} --part-size {arguments.part_size}` with a wheel of the release profile; "
        "`make cluster-figures` runs it at its default size. All ways ran one after the other on one "
        f"machine of {os.cpu_count()} cores, whose load over 15 minutes was {os.getloadavg()[2]:.1f}, over {ways[0].rows:,} addresses and {store['transfers']:,} transfers of "
        f"{CHAIN} (simulated), columns `{COLUMNS}`, parts of {arguments.part_size:,} addresses. The files "
        "that they wrote are equal byte by byte.",
        "",
        "| way | rows per core-second | beside one process | time | |",
        "|---|---:|---:|---:|---|",
    ]
    lines += [
        f"| {way.name} | {way.rate:,.0f} | {way.rate / ways[0].rate:.2f} | {way.wall:,.0f} s | {way.note} |" for way in ways
    ]
    lines += [
        "",
        "Processor time is that of all processes, the Java machines and Python included. On a cluster of real machines the "
        "start-up is paid once per job.",
        "",
        "## Bytes of the store that a shard reads",
        "",
        "| shard | rows | bytes of the store in the cache afterwards | share of all |",
        "|---|---:|---:|---:|",
    ]
    for count, (read, left, rows) in shards.items():
        lines.append(f"| 1/{count} | {rows:,} | {read - left:,} | {(read - left) / total:.0%} |")
    lines += [
        "",
        "A shard reads the movements of its own addresses and, for the risk, those of their counterparties. These are spread "
        "over the whole store. So each machine needs the whole generation within reach, but not in memory.",
        "",
        "## Whole chains, on paper",
        "",
        *chains(ways[0], store, (shards[SHARDS][0] - shards[SHARDS][1]) / total),
        "",
        "Computed, not measured. Core-hours scale the first row of the first table by transfers and by addresses. The time is "
        "that of the processor or of the disk, whichever is longer: the lower one reads the store once, the higher one as often "
        f"as {SHARDS} shards together. Sizes of chains and speeds of disks are assumed: see `CHAINS` and `MACHINES` in the "
        "script. Simulated addresses have fewer counterparties than real ones, and Bitcoin is scored by labels alone, so these "
        "are orders of magnitude.",
        "",
    ]
    arguments.out.write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
