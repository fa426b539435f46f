"""Loads from anvil: what they hold, against files, balances of the node, and its failures."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes import kills, tables
from nodes.anvil import FUNDS, Anvil
from nodes.proxy import Proxy, of_method
from nodes.record import Block, record, write, write_genesis
from nodes.session import TABLES, TRACES, LoadedChain, Source, Store, Tools, check, fail, say

# Blocks with transactions, and those after them: the newest 64 are not final.
BUSY_BLOCKS = 300
_REST = 80
_NOT_FINAL = 64
# Forms of blocks and transactions that differ.
_FORKS = ("berlin", "london", "paris", "shanghai", "cancun", "prague", "osaka")


@dataclass(frozen=True, kw_only=True)
class Reference(LoadedChain):
    """A chain of a node, which has it still."""

    tools: Tools
    node: Anvil
    filled: dict[str, Any]


def fill(tools: Tools, node: Anvil, folder: Path, blocks: int, seed: int, *options: str) -> dict[str, Any]:
    """Fill a chain with transactions of all kinds."""
    contracts, out = folder / "contracts.json", folder / f"filled-{node.port}.json"
    if not contracts.exists():
        tools.run("compile.js", contracts)
    tools.run("fill_ethereum.js", node.url, contracts, out, blocks, seed, *options)
    filled: dict[str, Any] = json.loads(out.read_text())
    return filled


def reference(tools: Tools, program: str, folder: Path, node: Anvil, seed: int) -> Reference:
    """Fill a chain, and load it."""
    filled = fill(tools, node, folder, BUSY_BLOCKS, seed)
    node.mine(_REST)
    last = node.head() - _NOT_FINAL
    check(node.head("finalized") == last, "anvil calls another block final")
    store = Store(program, folder / "reference.store")
    began = time.monotonic()
    report = store.load(node.source)
    seconds = time.monotonic() - began
    check(
        (report["from"], report["to"], report["blocks"], report["traced"]) == (0, last, last + 1, last + 1), str(report)
    )
    for table in (*TABLES, TRACES):
        check(not store.missing("ethereum", (table,), last), f"the table {table} is not complete")
    count = sum(filled["kinds"].values())
    check(report["transactions"] == count, f"{report['transactions']} transactions of {count}")
    say(f"anvil: {last + 1} blocks with {count} transactions of {len(filled['kinds'])} kinds are loaded and verified")
    return Reference(
        tools=tools,
        program=program,
        folder=folder,
        node=node,
        filled=filled,
        last=last,
        store=store,
        digest=store.digest(),
        seconds=seconds,
    )


def check_repeated(of: Reference) -> None:
    """Check that a load of what is held asks for no block."""
    with Proxy(of.node.url) as proxy:
        report = of.store.load(Source("ethereum", proxy.url))
        asked = proxy.taken()
    check(report["blocks"] == 0 and report["held"] == of.last + 1, str(report))
    # The chain, the newest and the final block.
    check(len(asked) == 3, f"a load of what is held asks {asked}")
    of.check_digest(of.store, "a repeated load")


def check_files(of: Reference) -> list[Block]:
    """Check that files of the same blocks give the same store."""
    blocks = record(of.node.url, of.last)
    file = of.folder / "blocks.jsonl"
    write(blocks, file)
    store = of.new_store("files")
    store.run("ingest", "--chain", "ethereum", file)
    loaded, read = (
        tables.export(one, of.folder / f"{name}.export") for one, name in ((of.store, "rpc"), (store, "files"))
    )
    size = tables.check_equal(loaded, read, "files of the same blocks")
    # What files state is what the node states: a load on top of them adds nothing but that blocks are verified.
    store.load(of.node.source)
    of.check_digest(store, "a load on top of files")
    say(f"anvil: a load from files of the same blocks gives the same {size}")
    return blocks


def check_methods(of: Reference) -> None:
    """Check that nodes with other methods give the same store."""
    loaded = tables.export(of.store, of.folder / "methods.export")
    for lacks in (["eth_getBlockReceipts"], ["trace_block"], ["trace_block", "eth_getBlockReceipts"]):
        store = of.new_store("-".join(["without", *lacks]))
        with Proxy(of.node.url, lacks) as proxy:
            store.load(Source("ethereum", proxy.url))
            asked = {method for method, _ in proxy.taken()}
        instead = {"eth_getBlockReceipts": "eth_getTransactionReceipt", "trace_block": "debug_traceBlockByHash"}
        check(all(instead[method] in asked for method in lacks), f"a node without {lacks} is asked {asked}")
        # The two kinds of traces give other texts for the same failures.
        other_texts = ("failure_reason",) if "trace_block" in lacks else ()
        found = tables.export(store, store.folder.with_suffix(".export"))
        tables.check_equal(loaded, found, f"a node without {' and '.join(lacks)}", other_texts)
    store = of.new_store("without-traces")
    with Proxy(of.node.url, ["trace_block", "debug_traceBlockByHash"]) as proxy:
        report = store.load(Source("ethereum", proxy.url))
    check(report["traced"] == 0 and "trace" in report["traces_missing"], str(report))
    check(len(store.missing("ethereum", (TRACES,), of.last)) == of.last + 1, "blocks without traces count as traced")
    check(not store.missing("ethereum", TABLES, of.last), "the other tables are not complete")
    with Proxy(of.node.url) as proxy:
        store.load(Source("ethereum", proxy.url))
        check(not of_method(proxy.taken(), "eth_getBlockByNumber", True), "blocks are loaded again for their traces")
    of.check_digest(store, "traces that came later")
    say("anvil: receipts one by one, traces of geth, and traces that come later give the same store")


def check_balances(of: Reference, blocks: list[Block]) -> None:
    """Check every balance against the node."""
    store = of.store.copy(of.folder / "genesis.store")
    write_genesis(of.filled["funded"], FUNDS, of.folder / "genesis.csv")
    store.run("ingest", "--chain", "ethereum", of.folder / "genesis.csv")
    named = {address for block in blocks for address in block.addresses() if address}
    accounts = {address.lower() for address in (*named, *of.filled["accounts"])}
    coins = store.holders("ethereum", "native")
    producer = blocks[1].block["miner"]
    tips = sum(block.tips() for block in blocks[1:])
    for account in sorted(accounts | coins.keys()):
        expected = int(of.node.rpc("eth_getBalance", account, hex(of.last)), 16)
        # Blocks do not state who gets the tips.
        found = coins.get(account, 0) + (tips if account == producer else 0)
        check(found == expected, f"{account} has {expected} wei on the node, {found} in the store")
    count = 0
    for token in of.filled["tokens"]:
        held = store.holders("ethereum", token.lower())
        for account in sorted(accounts | held.keys()):
            expected = int(call(of, token, "0x70a08231" + account[2:].rjust(64, "0")), 16)
            check(
                held.get(account, 0) == expected,
                f"{account} has {expected} of {token}, {held.get(account, 0)} in the store",
            )
        supply = int(call(of, token, "0x18160ddd"), 16)
        check(sum(held.values()) == supply, f"the supply of {token} is {supply}, {sum(held.values())} in the store")
        count += len(held)
    compared = of.store.run("verify", "--chain", "ethereum", "--rpc", of.node.url, "--accounts", "1000")
    check(compared["different"] == 0 and compared["equal"] > len(coins), f"verify --rpc: {compared}")
    say(
        f"anvil: the balances of {len(accounts | coins.keys())} accounts and of {count} holders of tokens are those of "
        f"the node; the producer of the blocks lacks its tips of {tips} wei"
    )


def call(of: Reference, contract: str, data: str) -> str:
    """Call a function of a contract at the last block that is loaded."""
    answer: str = of.node.rpc("eth_call", {"to": contract, "data": data}, hex(of.last))
    return answer


def check_kills(of: Reference, count: int, seed: int) -> None:
    """Check that killed loads end with the same store, and ask for nothing that is held."""
    held = 0

    def finish(store: Store) -> None:
        nonlocal held
        open_blocks, open_traces = (store.missing("ethereum", tables, of.last) for tables in (TABLES, (TRACES,)))
        # A proxy of its own: another one may still read what a killed load sent.
        with Proxy(of.node.url) as proxy:
            store.load(Source("ethereum", proxy.url))
            asked = proxy.taken()
        blocks = [int(number, 16) for number in of_method(asked, "eth_getBlockByNumber", True)]
        traces = [int(number, 16) for number in of_method(asked, "trace_block")]
        check(
            sorted(blocks) == sorted(open_blocks), f"asked for blocks {sorted(blocks)}, missing {sorted(open_blocks)}"
        )
        check(
            sorted(traces) == sorted(open_traces), f"asked for traces {sorted(traces)}, missing {sorted(open_traces)}"
        )
        receipts = of_method(asked, "eth_getBlockReceipts")
        check(len(receipts) == len(set(receipts)) == len(blocks), f"{len(receipts)} receipts of {len(blocks)} blocks")
        held += len(open_blocks) <= of.last
        of.check_digest(store, "a killed load")

    stores = kills.kill_loads(count, seed, (of.new_store, of.node.source, of.last, of.seconds), finish)
    say(f"anvil: {count} loads are killed; {stores} stores, {held} with blocks by then, end with the same content")


def check_outages(of: Reference) -> None:
    """Check loads while nodes stop and start."""
    state = of.folder / "anvil-state.json"
    of.node.stop()
    check(state.exists(), "anvil wrote no state")
    of.node.start()
    store = of.new_store("restarted")
    slowly = ["--requests-per-second", "25", "--parallel", "3"]
    process = subprocess.Popen(store.loading(of.node.source, *slowly), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    time.sleep(1)
    check(process.poll() is None, "the load ended before the node was stopped")
    of.node.stop()
    time.sleep(1)
    of.node.start()
    output, _ = process.communicate(timeout=120)
    check(process.returncode == 0, f"a load over a restart of the node: {output.decode()}")
    of.check_digest(store, "a load over a restart of the node")

    store = of.new_store("two-nodes")
    with Anvil(of.tools, "--load-state", state) as second:
        both = Source("ethereum", f"{of.node.url},{second.url}")
        command = [*store.loading(both, *slowly), "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        check(process.poll() is None, "the load ended before the node was killed")
        second.kill()
        output, error = process.communicate(timeout=120)
    check(process.returncode == 0, f"a load whose second node dies: {error.decode()}")
    report = json.loads(output)
    check(report["blocks"] == of.last + 1, output.decode())
    # Four calls and those beside them, six tries each: the node is not asked for less and less at once.
    check(report["providers"][1]["failed"] <= 48, f"a node that is off is asked again and again: {report['providers']}")
    of.check_digest(store, "a load whose second node dies")
    say("anvil: loads over a restart of the node, and over the death of one of two nodes, end with the same store")


def check_forks(of: Reference) -> None:
    """Check blocks of all forks, and of the other chain."""
    for fork in _FORKS:
        load_small(of, "ethereum", fork)
    load_small(of, "bsc", "cancun")
    say(
        f"anvil: blocks of {len(_FORKS)} forks are verified ({_FORKS[0]} to {_FORKS[-1]}), and with the chain id of bsc"
    )


def load_small(of: Reference, chain: str, fork: str) -> None:
    """Load a small chain of a fork."""
    with Anvil(of.tools, "--hardfork", fork, chain=chain) as node:
        first, second, *_ = node.rpc("eth_accounts")
        for value in range(1, 12):
            old = {"from": second, "to": first, "value": hex(value), "gasPrice": hex(3 * 10**9)}
            node.rpc("eth_sendTransaction", old)
            # The newest form that the fork has.
            new = old if fork == "berlin" else {"from": first, "to": second, "value": hex(value)}
            node.rpc("eth_sendTransaction", new)
        store = of.new_store(f"{chain}-{fork}")
        # The finality of a chain that has just begun lies before its first block.
        node.mine(100)
        # The first block of old forks has fields of later ones, which no block of the chain has.
        report = store.load(node.source, "--from", "1", "--to", str(node.head() - 100))
        check(report["transactions"] == 22, f"{fork}: {report}")


def check_lies(of: Reference, seed: int) -> None:
    """Check that blocks are refused whose root anvil computes over blobs, which blocks of the chain do not contain."""
    with Anvil(of.tools) as node:
        filled = fill(of.tools, node, of.folder, 40, seed, "blobs")
        check(filled["kinds"].get("blob", 0) > 0, "no transaction with blobs was made")
        node.mine(_REST)
        done = of.new_store("blobs").attempt("ingest", "--chain", "ethereum", "--rpc", node.url)
    if done.returncode == 0 or "the computed transactions root is" not in done.stderr:
        fail(f"blocks with a wrong root are not refused: {done.stdout}{done.stderr}")
    say("anvil: blocks with blobs, whose root anvil computes in its own way, are refused")
