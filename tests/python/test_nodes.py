"""History from a node, score cards and comparisons, against a node that answers from recorded blocks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import headwater as hw
import pytest

RECORDED = Path(__file__).parents[2] / "rust" / "node" / "tests" / "fixtures" / "anvil_history.json"
HISTORY = json.loads(RECORDED.read_text())
BLOCKS = HISTORY["blocks"]
LAST = len(BLOCKS) - 1
# What accounts hold at the first block.
FUNDED = hex(10_000 * 10**18)


class Node(BaseHTTPRequestHandler):
    """Answers JSON-RPC calls about the recorded blocks."""

    wrong = False
    newest_final = LAST

    def do_POST(self) -> None:
        """Answer a call or a batch."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = [self._answer(call) for call in asked] if isinstance(asked, list) else self._answer(asked)
        body = json.dumps(answers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        method, params = call["method"], call["params"]
        if method == "eth_chainId":
            result: Any = "0x1"
        elif method == "eth_getBlockByNumber":
            tags = {"latest": LAST, "finalized": self.newest_final}
            number = tags[params[0]] if params[0] in tags else int(params[0], 16)
            block = BLOCKS[number]["block"]
            hashes = [transaction["hash"] for transaction in block["transactions"]]
            result = block if params[1] else {**block, "transactions": hashes}
        elif method == "eth_getBlockReceipts":
            found = next(block for block in BLOCKS if block["block"]["hash"] == params[0])
            result = [] if self.wrong else found["receipts"]
        elif method == "trace_block":
            result = BLOCKS[int(params[0], 16)]["traces"]
        elif method == "eth_getBalance":
            now = HISTORY["received"].get(params[0].lower(), FUNDED)
            result = now if int(params[1], 16) else FUNDED
        else:
            error = {"code": -32601, "message": "the method does not exist/is not available"}
            return {"jsonrpc": "2.0", "id": call["id"], "error": error}
        return {"jsonrpc": "2.0", "id": call["id"], "result": result}


class YoungNode(Node):
    """Calls the first blocks final alone."""

    newest_final = 3


class WrongNode(Node):
    """Has no receipts of blocks that have transactions."""

    wrong = True


@pytest.fixture
def node() -> Iterator[str]:
    """The address of a node that answers right."""
    yield from _serve(Node)


@pytest.fixture
def wrong_node() -> Iterator[str]:
    """The address of a node that answers wrong."""
    yield from _serve(WrongNode)


@pytest.fixture
def young_node() -> Iterator[str]:
    """The address of a node whose last blocks are not final."""
    yield from _serve(YoungNode)


def _serve(handler: type[Node]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_load_from_a_node_is_complete_and_repeats_nothing(node: str, tmp_path: Path) -> None:
    report = hw.ingest_rpc(node, tmp_path / "store", chain="ethereum")
    assert (report.from_block, report.to_block, report.blocks, report.held, report.traced) == (
        0,
        LAST,
        LAST + 1,
        0,
        LAST + 1,
    )
    assert report.movements > 0
    assert report.frame["wrong"].to_list() == [0]
    assert "no hash covers" in report.notes[0]
    again = hw.ingest_rpc([node], tmp_path / "store", chain="ethereum")
    assert (again.blocks, again.held) == (0, LAST + 1)
    held = {row["kind"]: row for row in _chain(report.open())["held"]}
    assert set(held) == {"blocks", "transactions", "receipts", "token_transfers", "logs", "traces"}
    whole = [{"from_block": 0, "to_block": LAST}]
    assert held["receipts"]["ranges"] == whole
    assert (held["receipts"]["unverified"], held["traces"]["unverified"]) == ([], whole)


def test_blocks_that_are_not_final_are_followed(young_node: str, node: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with hw.follow(young_node, store, chain="ethereum", from_block=0, until_block=LAST, poll=0.05) as steps:
        done = list(steps)
        assert "following" in steps.state
        assert "following" in repr(steps)
    assert [step.removed for step in done] == [0] * len(done)
    assert (done[0].from_block, done[-1].to_block) == (4, LAST)
    whole = hw.ingest_rpc(node, tmp_path / "whole", chain="ethereum").open()
    followed = hw.open(store)
    held = {row["kind"]: row["ranges"] for row in _chain(followed)["held"]}
    assert held == {row["kind"]: row["ranges"] for row in _chain(whole)["held"]}
    for account in HISTORY["received"]:
        one, other = (ledger.wallet(account, blockchain="ethereum").to_dict() for ledger in (followed, whole))
        assert one == other
    # Nothing is left to do, and the end is held.
    assert list(hw.follow(young_node, store, chain="ethereum", until_block=LAST)) == []


def test_follower_that_is_closed_ends(young_node: str, tmp_path: Path) -> None:
    steps = hw.follow(young_node, tmp_path / "store", chain="ethereum", from_block=0, poll=0.05)
    assert next(steps).from_block == 4
    with pytest.raises(hw.Unavailable, match="another process follows ethereum"):
        next(hw.follow(young_node, tmp_path / "store", chain="ethereum"))
    steps.close()
    assert list(steps) == []
    with pytest.raises(hw.InvalidInput, match="WebSocket interfaces are used of EVM nodes only"):
        next(hw.follow(["http://127.0.0.1:1", "ws://127.0.0.1:1"], tmp_path / "btc", chain="bitcoin"))


def test_gap_is_filled_and_warned_of_until_then(node: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    hw.ingest_rpc(node, store, chain="ethereum", from_block=0, to_block=3)
    hw.ingest_rpc(node, store, chain="ethereum", from_block=6, to_block=LAST)
    ledger = hw.open(store)
    address = next(iter(HISTORY["received"]))
    gap = [warning for warning in ledger.wallet(address).warnings if warning["code"] == "gap"]
    assert "blocks 4 to 5" in gap[0]["message"]
    gaps = {row["kind"]: row["gaps"] for row in _chain(ledger)["held"]}
    assert gaps["transactions"] == [{"from_block": 4, "to_block": 5}]
    filled = hw.ingest_rpc(node, store, chain="ethereum")
    assert (filled.blocks, filled.held) == (2, LAST - 1)
    assert not [warning for warning in hw.open(store).wallet(address).warnings if warning["code"] == "gap"]


def test_wrong_answer_names_provider_and_block(node: str, wrong_node: str, tmp_path: Path) -> None:
    with pytest.raises(hw.Unavailable, match=r"block \d+"):
        hw.ingest_rpc(wrong_node, tmp_path / "alone", chain="ethereum")
    report = hw.ingest_rpc([wrong_node, node], tmp_path / "store", chain="ethereum")
    assert report.blocks == LAST + 1
    cards = {card["provider"]: card for card in hw.providers(tmp_path / "store").iter_rows(named=True)}
    wrong = cards[wrong_node.removeprefix("http://")]
    assert wrong["wrong"] >= 1
    assert "receipts" in wrong["first_wrong"]
    assert cards[node.removeprefix("http://")]["put_aside"] is None


def test_balances_are_compared_with_the_node(node: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    hw.ingest_rpc(node, store, chain="ethereum")
    report = hw.verify_rpc(node, store, chain="ethereum")
    assert report.since_block == 0
    different = set(report.frame["address"])
    assert report.equal > 0
    assert not different & set(HISTORY["received"])


def test_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hw.InvalidInput, match="not the address of a node"):
        hw.ingest_rpc("localhost", tmp_path / "store", chain="ethereum")
    with pytest.raises(hw.InvalidInput, match="at least one node"):
        hw.ingest_rpc([], tmp_path / "store", chain="ethereum")


def _chain(ledger: hw.Ledger) -> dict[str, Any]:
    chains: list[dict[str, Any]] = ledger.chains().to_dict()["chains"]  # type: ignore[assignment]
    return next(row for row in chains if row["chain"] == "ethereum")
