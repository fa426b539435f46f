"""Both sides of transfers over bridges, of the demo economy."""

from __future__ import annotations

import json
from pathlib import Path

import headwater as hw
import polars as pl
import pytest
from conftest import headwater, serve, stop

# A payment into a bridge on ethereum; the rest follows from the answer.
PAID = "0xb24c7f1937122ca6ad1cc0561e15d73d98aa71c4d115d74069ce7d8c95810bfc"


def test_either_side_names_both(demo: Path) -> None:
    ledger = hw.open(demo)
    (there,) = ledger.cross_chain(PAID).rows
    result = there["result"]
    assert (there["txhash"], result["source_chain"], result["source_tx_hash"]) == (PAID, "ethereum", PAID)
    assert result["status"] == "completed"
    assert result["destination_timestamp"] >= result["source_timestamp"]
    (back,) = ledger.cross_chain(result["destination_tx_hash"]).rows
    assert back["result"] == result
    assert ledger.transaction(PAID, blockchain="ethereum").data["cross_chain"]


def test_many_are_answered_in_order_and_say_what_is_missing(demo: Path) -> None:
    ledger = hw.open(demo)
    unknown = "0x" + "12" * 32
    report = ledger.cross_chain([unknown, PAID], label="a hint")
    assert [row["txhash"] for row in report.rows] == [unknown, PAID]
    assert {row["label"] for row in report.rows} == {"a hint"}
    assert report.rows[0]["error"]
    assert report.rows[0]["result"]["destination_tx_hash"] == ""
    assert report.rows[1].get("error") is None
    with pytest.raises(hw.NotFound, match=unknown):
        ledger.cross_chain(unknown)
    # More than one call takes.
    many = ledger.cross_chain([unknown, PAID] * 30)
    assert [row["txhash"] for row in many.rows] == [unknown, PAID] * 30
    assert many.frame[:2].equals(ledger.cross_chain([unknown, PAID]).frame)


def test_shell_and_gateway_give_the_answer_of_python(demo: Path, tmp_path: Path) -> None:
    rows = hw.open(demo).cross_chain(PAID).rows
    printed = json.loads(headwater("cross-chain", PAID, "--store", demo, "--json").stdout)
    gateway = serve(demo, state=tmp_path / "state")
    status, served, _ = gateway.call("GET", f"/v1/cross-chain?txhash={PAID}")
    stop(gateway)
    assert status == 200
    assert printed["data"]["results"] == served["data"]["results"] == rows


def test_trace_continues_over_the_bridge(demo: Path, tmp_path: Path) -> None:
    ledger = hw.open(demo)
    result = ledger.cross_chain(PAID).rows[0]["result"]
    chain, receiver = result["destination_chain"], result["receiver_address"]
    trace = ledger.trace(result["sender_address"], blockchain="ethereum", outward_depth=2, inward_depth=0)
    over = trace.edges.filter(pl.col("from_blockchain") != pl.col("to_blockchain"))
    (edge,) = over.filter(pl.col("tx_hashes").list.contains(result["destination_tx_hash"])).to_dicts()
    assert (edge["to_blockchain"], edge["to_address"], edge["depth"]) == (chain, receiver, 2)
    assert str(edge["amount_raw"]) == result["destination_amount_raw"]
    name = f"{chain}:{receiver}"
    assert trace.to_networkx().has_edge(edge["from_address"], name)
    trace.to_graphml(tmp_path / "trace.graphml")
    assert f'target="{name}"' in (tmp_path / "trace.graphml").read_text()
    hops = ("--outward", "2", "--inward", "0")
    printed = headwater("trace", "--chain", "ethereum", result["sender_address"], *hops, "--store", demo, "--json")
    assert json.loads(printed.stdout)["data"]["edges"] == trace.data["edges"]
