"""Disputes through the Python interface: what is recorded, by whom, and how frames show it."""

from __future__ import annotations

import getpass
import json
import shutil
from datetime import datetime, timezone
from pathlib import Path

import headwater as hw
import pytest
from conftest import headwater
from headwater.examples import ALICE, BOB, SHOP

WHY = "the page that it cites is gone"


@pytest.fixture
def store(example: Path, tmp_path: Path) -> Path:
    """The four transfers; the shop is a mixer and a scam by two reports of reliability 0.5."""
    store = tmp_path / "store"
    shutil.copytree(example, store)
    for source, code in (("press", "mixer"), ("team", "scam")):
        (tmp_path / f"{source}.csv").write_text(f"address,chain,code\n{SHOP},ethereum,{code}\n")
        listed = tmp_path / f"{source}.csv"
        headwater("labels", "import", "--store", store, "--source", source, "--level", "forensic", listed)
    return store


def test_dispute_halves_a_claim_and_confirm_ends_it(store: Path) -> None:
    ledger = hw.open(store)
    before = datetime.now(timezone.utc).replace(microsecond=0)
    made = ledger.dispute(SHOP, WHY, source="team")
    assert made["by"][0] == f"python:{getpass.getuser()}"
    assert made.select("action", "address", "blockchain", "code", "source", "reason", "in_force").rows() == [
        ("dispute", SHOP, "ethereum", "scam", "team", WHY, True)
    ]
    assert made["at"][0] >= before
    claims = ledger.labels(SHOP).frame.sort("source")
    columns = ["source", "confidence"]
    assert claims.select(columns).rows() == [("press", 0.5), ("team", 0.25)]
    assert ledger.confirm(SHOP, "an archive has it").height == 1
    history = ledger.disputes()
    assert history.select("action", "in_force").rows() == [("confirm", False), ("dispute", False)]
    assert ledger.disputes(BOB).height == 0
    again = ledger.labels(SHOP).frame.sort("source").select(columns).rows()
    assert again == [("press", 0.5), ("team", 0.5)]


def test_frames_show_disputes(store: Path) -> None:
    ledger = hw.open(store)
    ledger.dispute(SHOP, WHY, code="scam")
    risk = ledger.risk(SHOP)
    codes = {row["code"]: row["disputed"] for row in risk.codes.rows(named=True)}
    assert codes["mixer"] is None
    assert codes["scam"]["reason"] == WHY
    assert [row["disputed"] is not None for row in risk.factors.rows(named=True) if row["code"] == "scam"] == [True]
    scores = ledger.score([SHOP, BOB], columns=["risk"])
    assert scores["disputed_labels"].to_list() == [["scam"], []]
    whole = ledger.read_all("labels", address=SHOP, blockchain="ethereum").sort("source")
    assert whole.select("source", "dispute_reason").rows() == [("press", None), ("team", WHY)]
    trace = ledger.trace(ALICE)
    nodes = {row["address"]: row["disputed"] for row in trace.nodes.rows(named=True)}
    # The mixer of 0.5 names the shop, and nobody disputes that.
    assert nodes[SHOP] is None
    ledger.dispute(SHOP, WHY, code="mixer")
    nodes = {row["address"]: row["disputed"] for row in ledger.trace(ALICE).nodes.rows(named=True)}
    assert nodes[SHOP]["by"].startswith("python:")


def test_refusals_are_exceptions_that_say_what_is_there(store: Path) -> None:
    ledger = hw.open(store)
    with pytest.raises(hw.NotFound, match="no list in force names it"):
        ledger.dispute(BOB, WHY)
    with pytest.raises(hw.InvalidInput, match="no disputed claim") as early:
        ledger.confirm(SHOP, WHY)
    assert early.value.reason == "not_disputed"
    ledger.dispute(SHOP, WHY)
    with pytest.raises(hw.InvalidInput, match="is disputed already, by python:") as again:
        ledger.dispute(SHOP, WHY)
    assert again.value.reason == "already_disputed"
    for wrong in ({"reason": ""}, {"reason": WHY, "code": "bad"}, {"reason": WHY, "blockchain": "solana"}):
        with pytest.raises(hw.InvalidInput):
            ledger.dispute(SHOP, **wrong)
    # The command line sees the same history.
    listed = json.loads(headwater("labels", "disputes", "--store", store, "--json").stdout)
    assert [row["code"] for row in listed["disputes"]] == ["scam", "mixer"]


def test_ledger_without_a_store_keeps_no_disputes() -> None:
    from headwater.examples import ledger  # noqa: PLC0415

    with pytest.raises(hw.Unsupported, match="open a store"):
        ledger().dispute(SHOP, WHY)
    assert ledger().disputes().height == 0
