"""Runs anvil, a node of Ethereum for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from nodes.session import Source, Tools, check, free_port, is_answering, rpc, wait_for

# The time of the first block: 2026-01-01.
BEGIN = 1_767_225_600
# The coins of each account that anvil funds.
FUNDS = 10_000 * 10**18


class Anvil:
    """A node that runs, for use in a `with` block."""

    def __init__(self, tools: Tools, *options: str | Path, chain: str = "ethereum", port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.source = Source(chain, self.url)
        identity = {"ethereum": "1", "bsc": "56"}[chain]
        fixed = ["--port", str(self.port), "--chain-id", identity, "--timestamp", str(BEGIN), "--quiet"]
        self._command = [str(tools.anvil), *fixed, *map(str, options)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the node, and wait until it answers."""
        process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._process = process
        wait_for("anvil answers", lambda: process.poll() is not None or is_answering(self.url, "eth_chainId"))
        if process.poll() is not None and process.stderr is not None:
            check(False, f"anvil ended: {process.stderr.read().decode()}")

    def stop(self) -> None:
        """Ask the node to end, which writes its state where that was asked for."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def kill(self) -> None:
        """End the node at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Anvil:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def rpc(self, method: str, *params: Any) -> Any:  # noqa: ANN401
        """Call a method."""
        return rpc(self.url, method, *params)

    def head(self, tag: str = "latest") -> int:
        """Return the number of the newest block, or of another tag."""
        return int(self.rpc("eth_getBlockByNumber", tag, False)["number"], 16)

    def mine(self, count: int) -> None:
        """Mine blocks without transactions."""
        self.rpc("anvil_mine", hex(count))
