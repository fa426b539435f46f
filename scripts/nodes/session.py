"""What the tests against nodes share: results, calls of nodes, and the command line of Headwater."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

# Tables that a load from a node is complete with, and that of internal movements.
TABLES = ("blocks", "transactions", "receipts", "token_transfers", "logs", "verified_transactions", "verified_receipts")
TRACES = "traces"


def say(text: str) -> None:
    """Print a result at once."""
    print(f"nodes: {text}", flush=True)


def fail(message: str) -> NoReturn:
    """End the run with a message."""
    sys.exit(f"nodes: {message}")


def check(holds: bool, message: str) -> None:
    """End the run where something does not hold."""
    if not holds:
        fail(message)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_for(what: str, holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        check(time.monotonic() < end, f"{what} within {seconds:.0f} s")
        time.sleep(0.05)


def rpc(url: str, method: str, *params: Any) -> Any:  # noqa: ANN401
    """Call a method of a node."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        answer = json.load(response)
    if answer.get("error"):
        fail(f"{method} of {url}: {answer['error']}")
    return answer["result"]


def is_up(url: str) -> bool:
    """Return whether a page answers with success."""
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except (urllib.error.URLError, ConnectionError):
        return False


def is_answering(url: str, method: str) -> bool:
    """Return whether a node answers a method."""
    try:
        rpc(url, method)
    except (urllib.error.URLError, ConnectionError):
        return False
    return True


@dataclass(frozen=True)
class Tools:
    """The packages that the tests use."""

    folder: Path

    @property
    def anvil(self) -> Path:
        """The program of anvil."""
        return self.folder / "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which scripts find their packages."""
        return {**os.environ, "NODE_PATH": str(self.folder / "node_modules")}

    def script(self, name: str, *arguments: str | Path | int) -> list[str]:
        """Return the command of a script for Node."""
        return ["node", str(Path(__file__).parent / name), *map(str, arguments)]

    def run(self, name: str, *arguments: str | Path | int) -> None:
        """Run a script for Node."""
        done = subprocess.run(
            self.script(name, *arguments), env=self.environment, capture_output=True, text=True, check=False
        )
        check(done.returncode == 0, f"{name}: {done.stdout}{done.stderr}")


@dataclass(frozen=True)
class Source:
    """A chain and the address of its node."""

    chain: str
    url: str


class Store:
    """A store, loaded by the program."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program = program
        self.folder = folder

    def command(self, command: str, *arguments: str | Path) -> list[str]:
        """Return a command on this store."""
        return [self.program, command, "--store", str(self.folder), *map(str, arguments)]

    def attempt(self, command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command that may fail."""
        return subprocess.run(self.command(command, *arguments), capture_output=True, text=True, check=False)

    def run(self, command: str, *arguments: str | Path) -> dict[str, Any]:
        """Run a command that succeeds, and return its report."""
        done = self.attempt(command, *arguments, "--json")
        check(done.returncode == 0, f"{command} {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def loading(self, source: Source, *options: str) -> list[str]:
        """Return the command of a load from a node."""
        return self.command("ingest", "--chain", source.chain, "--rpc", source.url, *options)

    def load(self, source: Source, *options: str) -> dict[str, Any]:
        """Load from a node."""
        return self.run("ingest", "--chain", source.chain, "--rpc", source.url, *options)

    def digest(self) -> str:
        """Check every file of the store, and return the digest of its content."""
        report = self.run("verify", "--digest")
        check(not report["problems"], f"the store is damaged: {report['problems']}")
        digest: str = report["digest"]
        return digest

    def coverage(self, chain: str) -> dict[str, list[list[int]]]:
        """Return the ranges of blocks that the store is complete with, by table."""
        done = self.attempt("stats", "--json")
        if done.returncode != 0:
            check("no headwater store" in done.stderr, done.stderr)
            return {}
        chains = json.loads(done.stdout)["chains"]
        ranges: dict[str, list[list[int]]] = chains[chain]["coverage"]["ranges"] if chain in chains else {}
        return ranges

    def missing(self, chain: str, tables: tuple[str, ...], last: int) -> set[int]:
        """Return the blocks that one of the tables lacks."""
        ranges = self.coverage(chain)
        held = ({block for begin, end in ranges.get(table, []) for block in range(begin, end + 1)} for table in tables)
        every = set(range(last + 1))
        return set().union(*(every - blocks for blocks in held))

    def holders(self, chain: str, contract: str | None = None) -> dict[str, int]:
        """Return all balances of an asset above zero."""
        out = self.folder.with_suffix(".holders.ndjson")
        parameters = [f"blockchain={chain}", *([f"contract={contract}"] if contract else [])]
        arguments = [text for parameter in parameters for text in ("--param", parameter)]
        done = self.attempt("query", "token/holders", *arguments, "--out", out)
        check(done.returncode == 0, f"token/holders: {done.stderr}")
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        return {row["address"]: int(row["balance_raw"]) for row in rows}

    def copy(self, folder: Path) -> Store:
        """Copy the store."""
        shutil.copytree(self.folder, folder)
        return Store(self.program, folder)


@dataclass(frozen=True, kw_only=True)
class LoadedChain:
    """A chain, and the store of a load that nothing disturbed."""

    program: str
    folder: Path
    last: int
    store: Store
    digest: str
    seconds: float

    def new_store(self, name: str) -> Store:
        """Return a store that does not exist yet."""
        return Store(self.program, self.folder / f"{name}.store")

    def check_digest(self, store: Store, what: str) -> None:
        """Check that a store has the same content."""
        check(store.digest() == self.digest, f"{what}: the store differs from that of an undisturbed load")
