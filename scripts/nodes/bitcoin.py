"""Loads from bcoin, a node of Bitcoin: what they hold, against raw blocks, and unspent outputs of the node."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes import kills, tables
from nodes.proxy import Proxy, of_method
from nodes.session import LoadedChain, Source, Store, Tools, check, free_port, say

# Blocks of the chain: witnesses begin with block 432 of bcoin's regtest.
_BLOCKS = 500
_NOT_FINAL = 6
_TABLES = ("blocks", "transactions", "verified_transactions")


class Bcoin:
    """A node that runs, for use in a `with` block."""

    def __init__(self, tools: Tools, folder: Path, seed: int) -> None:
        self.folder = folder
        port = free_port()
        self.source = Source("bitcoin", f"http://127.0.0.1:{port}")
        command = tools.script("bitcoin_node.js", port, _BLOCKS, seed, folder)
        # The node ends with its standard input, so it does not outlive this program.
        self._process = subprocess.Popen(
            command,
            env=tools.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ready(self) -> dict[str, Any]:
        """Wait until the chain is made, and return what its outputs hold."""
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line.startswith("ready"):
            rest = self._process.stdout.read() if self._process.stdout else ""
            check(False, f"bcoin: {line}{rest}")
        unspent: dict[str, Any] = json.loads((self.folder / "unspent.json").read_text())
        return unspent

    def __enter__(self) -> Bcoin:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


@dataclass(frozen=True, kw_only=True)
class Reference(LoadedChain):
    """A chain of a node, which has it still."""

    node: Bcoin
    unspent: dict[str, Any]


def reference(program: str, folder: Path, node: Bcoin) -> Reference:
    """Load the chain."""
    unspent = node.ready()
    last = _BLOCKS - _NOT_FINAL
    check(unspent["final"] == last, f"{unspent['final']} is the final block of the script")
    store = Store(program, folder / "reference.store")
    began = time.monotonic()
    report = store.load(node.source)
    seconds = time.monotonic() - began
    check((report["from"], report["to"], report["blocks"]) == (0, last, last + 1), str(report))
    for table in _TABLES:
        check(not store.missing("bitcoin", (table,), last), f"the table {table} is not complete")
    payments = sum(count for kind, count in unspent["kinds"].items() if kind.startswith("payment from"))
    check(report["transactions"] == payments + last + 1, f"{report['transactions']} transactions, {payments} payments")
    say(f"bcoin: {last + 1} blocks with {payments} payments are loaded and verified")
    return Reference(
        program=program,
        folder=folder,
        node=node,
        unspent=unspent,
        last=last,
        store=store,
        digest=store.digest(),
        seconds=seconds,
    )


def check_files(of: Reference) -> None:
    """Check that the blocks as a node stores them give the same store."""
    store = of.new_store("files")
    store.run("ingest", "--chain", "bitcoin", of.folder / "blk00000.dat")
    loaded, read = (
        tables.export(one, of.folder / f"{name}.export") for one, name in ((of.store, "rpc"), (store, "files"))
    )
    size = tables.check_equal(loaded, read, "the file of the same blocks")
    store.load(of.node.source)
    of.check_digest(store, "a load on top of files")
    sides = of.unspent["kinds"]["side branch"]
    say(f"bcoin: a load from blk00000.dat, which has {sides} blocks of side branches too, gives the same {size}")


def check_balances(of: Reference) -> None:
    """Check every balance against the unspent outputs."""
    # Outputs without an address, such as bare multisig, are in no balance.
    expected = {address: amount for address, amount in of.unspent["amounts"].items() if address and amount}
    held = of.store.holders("bitcoin")
    for address in sorted(expected.keys() | held.keys()):
        pair = expected.get(address, 0), held.get(address, 0)
        check(pair[0] == pair[1], f"{address} has {pair[0]} satoshis by its unspent outputs, {pair[1]} in the store")
    compared = of.store.run("verify", "--chain", "bitcoin", "--rpc", of.node.source.url, "--accounts", "1000")
    check(compared["different"] == 0 and compared["equal"] > 0, f"verify --rpc: {compared}")
    say(f"bcoin: the balances of {len(held)} addresses are the sums of the unspent outputs that the node has")


def check_kills(of: Reference, count: int, seed: int) -> None:
    """Check that killed loads end with the same store, and ask for nothing that is held."""
    held = 0

    def finish(store: Store) -> None:
        nonlocal held
        missing = store.missing("bitcoin", _TABLES, of.last)
        # A proxy of its own: another one may still read what a killed load sent.
        with Proxy(of.node.source.url) as proxy:
            store.load(Source("bitcoin", proxy.url))
            asked = proxy.taken()
        # The node is recognised by its first block.
        heights = of_method(asked, "getblockhash")
        if 0 in heights:
            heights.remove(0)
        check(sorted({0, *heights}) == sorted({0, *missing}), f"asked for {sorted(heights)}, missing {sorted(missing)}")
        # 0 in a list equals False, which nodes take that know no number.
        hashes = of_method(asked, "getblock", 0)
        check(len(hashes) == len(set(hashes)) == len(missing), f"{len(hashes)} blocks of {len(missing)}")
        held += len(missing) <= of.last
        of.check_digest(store, "a killed load")

    stores = kills.kill_loads(count, seed, (of.new_store, of.node.source, of.last, of.seconds), finish)
    say(f"bcoin: {count} loads are killed; {stores} stores, {held} with blocks by then, end with the same content")
