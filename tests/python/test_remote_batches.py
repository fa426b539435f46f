"""Many addresses over a server: calls about many, the same answers and errors, and what they cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import headwater as hw
import polars as pl
import pytest
from conftest import Served, serve, stop
from headwater.examples import ALICE, BOB, SHOP
from stub_server import Handler, Stub, connect, stub_body

TRON = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"
ASKED = [ALICE, BOB, SHOP, *(f"0x{number:040x}" for number in range(1, 118)), ALICE]


def called(ledger: hw.RemoteLedger) -> dict[str, int]:
    """The calls of the key by endpoint, those for the chains left out."""
    rows = ledger.usage().rows
    return {row["endpoint"]: row["calls"] for row in rows if row["endpoint"] not in ("/v1/chains", "/v1/usage")}


def judged(report: hw.RiskReport) -> dict[str, Any]:
    """Returns an answer without the time at which it was computed."""
    whole: dict[str, Any] = {**report.to_dict()}
    return {**whole, "meta": {name: of for name, of in whole["meta"].items() if name != "computed_at"}}


def test_risks_of_many_are_asked_in_batches(served_example: Served, example: Path) -> None:
    store = hw.open(example)
    with hw.connect(served_example.url, served_example.key) as ledger:
        before = called(ledger)
        reports = ledger.risk(ASKED)
        assert isinstance(reports, hw.RiskReports)
        assert reports.addresses == ASKED
        assert [judged(report) for report in reports] == [judged(report) for report in store.risk(ASKED)]
        assert reports.summary.equals(store.risk(ASKED).summary)
        assert pl.DataFrame(reports[0]).equals(store.risk(ALICE).factors)
        after = called(ledger)
        assert after["/v1/address-risk/batch"] - before.get("/v1/address-risk/batch", 0) == 3
        assert after.get("/v1/address-risk") == before.get("/v1/address-risk")
        # Each address has the price of a call.
        assert (ledger.credits.spent, reports[7].meta["credit_cost"]) == (5 * len(ASKED), 5)


def test_labels_of_many_are_asked_in_batches(served_example: Served, example: Path) -> None:
    with hw.connect(served_example.url, served_example.key) as ledger:
        reports = ledger.labels(ASKED, as_of="2026-01-01")
        assert [report.to_dict() for report in reports] == [
            report.to_dict() for report in hw.open(example).labels(ASKED, as_of="2026-01-01")
        ]
        assert reports.frame.schema == hw.open(example).labels(ASKED).frame.schema
        # Two calls, of a hundred addresses and of the others.
        assert ledger.credits.spent == 10


def test_item_that_fails_has_the_error_of_its_own_call(served_example: Served) -> None:
    with hw.connect(served_example.url, served_example.key) as ledger:
        with pytest.raises(hw.InvalidInput) as single:
            ledger.risk(TRON)
        with pytest.raises(hw.InvalidInput) as caught:
            ledger.risk([ALICE, TRON, BOB])
        for name in ("reason", "field", "status"):
            assert getattr(caught.value, name) == getattr(single.value, name)
        assert str(caught.value) == str(single.value)
        assert single.value.reason == "chain_not_held"
        assert {place: report.address for place, report in caught.value.answered.items()} == {0: ALICE, 2: BOB}
        # What failed costs nothing.
        assert ledger.credits.spent == 10
        with pytest.raises(hw.UnknownField):
            ledger.risk([ALICE, BOB], symbol="eth")


def risk_of(query: dict[str, str], error: str | None = None) -> dict[str, Any]:
    """A result of a batch, as far as reports need it."""
    return {**query, "composite_score": 1.0, "error": error}


def test_batch_out_of_time_is_asked_in_halves(stub: Stub) -> None:
    sizes: list[int] = []

    def script(handler: Handler, _: int) -> None:
        queries = json.loads(stub_body(stub, handler))["queries"]
        sizes.append(len(queries))
        if len(queries) > 3:
            handler.refuse(504, "timeout")
        else:
            handler.success({"results": [risk_of(query) for query in queries]}, X_Credit_Cost=str(5 * len(queries)))

    stub.script = script
    ledger = connect(stub, parallel=1)
    reports = ledger.risk(ASKED[:9], third_party="off")
    assert [report.address for report in reports] == ASKED[:9]
    # A call that can be divided is not repeated as it is.
    assert sizes == [9, 4, 2, 2, 5, 2, 3]
    assert ledger.credits.spent == 45


def test_batch_beyond_the_balance_is_answered_in_part(example: Path, tmp_path: Path) -> None:
    gateway = serve(example, 32, state=tmp_path / "state")
    try:
        with hw.connect(gateway.url, gateway.key) as ledger, pytest.raises(hw.InsufficientCredit) as caught:
            ledger.risk(ASKED[:20])
        assert sorted(caught.value.answered) == [0, 1, 2, 3, 4, 5]
        assert (ledger.credits.spent, ledger.credits.remaining) == (30, 2)
    finally:
        stop(gateway)


def test_repeated_batch_costs_what_its_items_cost(stub: Stub) -> None:
    def script(handler: Handler, _: int) -> None:
        if handler.path == "/v1/address-risk":
            handler.refuse(400, "invalid_input", "chain_not_held")
            return
        queries = json.loads(stub_body(stub, handler))["queries"]
        results = [risk_of(query, "not held" if query["address"] == SHOP else None) for query in queries]
        handler.success({"results": results}, X_Credit_Cost="0", Idempotent_Replayed="true")

    stub.script = script
    ledger = connect(stub)
    with pytest.raises(hw.InvalidInput) as caught:
        ledger.risk([ALICE, SHOP, BOB])
    assert (caught.value.reason, sorted(caught.value.answered)) == ("chain_not_held", [0, 2])
    assert ledger.credits.spent == 10


def test_many_transactions_are_asked_in_batches_of_fifty(served_example: Served, example: Path) -> None:
    hashes = [f"0x{number:064x}" for number in range(1, 121)]
    with hw.connect(served_example.url, served_example.key) as ledger:
        report = ledger.cross_chain(hashes, label="mine")
        assert [row["txhash"] for row in report.rows] == hashes
        assert report.frame["label"].to_list() == ["mine"] * 120
        assert report.frame.equals(hw.open(example).cross_chain(hashes, label="mine").frame)
        assert (ledger.credits.spent, report.meta["credit_cost"]) == (15, 15)
        with pytest.raises(hw.InvalidInput, match="at least one transaction"):
            ledger.cross_chain([])
