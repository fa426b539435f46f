"""Risks through the Python interface: frames, what is in them, and pictures."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headwater as hw
import matplotlib as mpl
import polars as pl
import pytest
from conftest import headwater
from headwater.examples import ALICE, BOB, SHOP, USDT

START = 1_600_000_000
NOBODY = "0x" + "dd" * 20


def made(*labels: tuple[str, str, str]) -> hw.Ledger:
    """Bob pays Alice 6,000 USDT, of which she pays the shop 2,000."""
    moved = [(1, BOB, ALICE, 6_000), (2, ALICE, SHOP, 2_000)]
    transfers = [
        {
            "blockchain": "ethereum",
            "block_number": number,
            "timestamp": START + 12 * number,
            "tx_hash": f"0x{number:064x}",
            "from_address": sender,
            "to_address": receiver,
            "contract": USDT,
            "amount_raw": str(usd * 10**6),
        }
        for number, sender, receiver, usd in moved
    ]
    tokens = [{"blockchain": "ethereum", "contract": USDT, "symbol": "USDT", "decimals": 6}]
    claims = [
        {"blockchain": "ethereum", "address": address, "code": code, "level": level} for address, code, level in labels
    ]
    prices = [{"symbol": "usdt", "timestamp": START, "price_usd": 1.0}]
    return hw.Ledger.from_frames(transfers, claims or None, prices, tokens)


@pytest.fixture
def mixed() -> hw.Ledger:
    """The shop is a mixer, by one report of reliability 0.5."""
    return made((SHOP, "mixer", "forensic"))


@pytest.fixture
def axes() -> Iterator[Any]:
    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots()
    yield axes
    figure.canvas.draw()
    pyplot.close("all")


def test_a_risk_is_what_its_formulas_come_to(mixed: hw.Ledger) -> None:
    report = mixed.risk(ALICE)
    # A quarter of the volume of 8,000 dollars went to a mixer (severity 70, confidence 0.5), a moment before the end.
    share, amount = 2_000 / 8_000, 2_000
    weight = 1 - (1 - share / (share + 0.10)) * (1 - 0.5 * min(1, math.log10(1 + amount / 1_000) / 3))
    graph = 100 * 0.70 * 0.5 * weight
    # Intensity 1 from a quarter on, once, no age: the base score of 55. The class adds 95 times its likeness.
    items = report.dimensions["behavior"]["score_breakdown"]["items"]
    likeness = next(item["intensity"] for item in items if item["code"] == "scam_pattern")
    behavior = 100 * (1 - (1 - 0.55) * (1 - 0.95 * likeness))
    composite = 100 * (1 - (1 - 0.60 * behavior / 100) * (1 - 0.85 * graph / 100))
    assert report.dimensions["graph"]["score"] == pytest.approx(graph, abs=0.005)
    assert report.dimensions["behavior"]["score"] == pytest.approx(behavior, abs=0.005)
    assert report.composite_score == pytest.approx(composite, abs=0.005)
    assert report.risk_level == "medium"
    assert report.factors["points"].sum() == pytest.approx(report.composite_score, abs=0.02)


def test_a_risk_has_frames_of_all_it_is_made_of(mixed: hw.Ledger) -> None:
    report = mixed.risk(ALICE)
    assert set(report.factors["code"]) == {"mixer_interaction", "mixing", "scam_pattern"}
    assert report.frame.equals(report.factors)
    assert report.rows == report.to_dict()["factors"]
    found = report.behaviors.row(0, named=True)
    assert (found["code"], found["base"], found["intensity"], found["occurrence_count"]) == (
        "mixer_interaction",
        55.0,
        1.0,
        1,
    )
    assert found["tx_hashes"] == [f"0x{2:064x}"]
    assert '"direction": "out"' in found["evidence"]
    assert report.categories.select("category", "direction", "factor", "amount_usd", "share").rows() == [
        ("mixing", "both", 1.0, 2_000.0, 0.25)
    ]
    # The frames bring transfers alone.
    assert (report.assessment, report.summary["assessment"].to_list()) == ("partial", ["partial"])
    assert report.neighbors.select("address", "direction", "amount_usd", "sanctioned").rows() == [
        (SHOP, "out", 2_000.0, False)
    ]
    assert report.codes.is_empty()
    assert mixed.risk(SHOP).codes.select("code", "severity", "confidence").rows() == [("mixer", 70.0, 0.5)]
    for other in (copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
        assert isinstance(other, hw.RiskReport)
        assert other.factors.equals(report.factors)


def test_frames_of_risks_have_the_columns_they_always_have(mixed: hw.Ledger) -> None:
    full, empty = mixed.risk(ALICE), mixed.risk(NOBODY)
    for name in ("factors", "behaviors", "codes", "neighbors", "categories", "summary"):
        some, none = getattr(full, name), getattr(empty, name)
        assert some.schema == none.schema
        assert pl.Null not in some.dtypes
    evm = mixed.risk(ALICE, blockchain="evm")
    assert evm.behaviors.schema == full.behaviors.schema
    assert evm.summary["behavior_score"].to_list() == [None]
    assert full.to_frame("arrow").__arrow_c_stream__()
    assert pl.DataFrame(full).equals(full.factors)


def test_risks_have_a_row_per_factor_and_a_summary_each(mixed: hw.Ledger) -> None:
    reports = mixed.risk([ALICE, NOBODY, SHOP])
    assert isinstance(reports, hw.RiskReports)
    assert set(reports.frame["queried_address"]) == {ALICE, SHOP}
    summary = reports.summary
    assert summary["address"].to_list() == [ALICE, NOBODY, SHOP]
    assert summary["composite_score"].to_list() == [report.composite_score for report in reports]
    assert summary["factors"].to_list()[1] == []
    assert reports[1].address == NOBODY
    nobody = mixed.risk([])
    assert isinstance(nobody, hw.RiskReports)
    assert (nobody.frame.schema, nobody.summary.schema) == (reports.frame.schema, summary.schema)
    assert (nobody.frame.height, nobody.summary.height) == (0, 0)


def test_a_risk_is_a_risk_by_whatever_name_it_is_asked_for(mixed: hw.Ledger) -> None:
    asked = mixed.query("/v1/address-risk", blockchain="ethereum", address=ALICE)
    assert isinstance(asked, hw.RiskReport)
    assert asked.to_dict() == mixed.risk(ALICE).to_dict()
    assert mixed.risk(SHOP, blockchain="evm").blockchain == "evm"
    forced = mixed.risk(ALICE, third_party="force")
    assert "no_provider" in [warning["code"] for warning in forced.warnings]
    with pytest.raises(hw.InvalidInput, match="third_party"):
        mixed.query("address-risk", blockchain="ethereum", address=ALICE, third_party="perhaps")


def test_named_demo_addresses_have_the_stated_risk(demo: Path) -> None:
    made = json.loads(headwater("simulate", "--store", demo, "--preset", "demo", "--json").stdout)
    ledger = hw.open(demo)
    for chain in ("ethereum", "tron"):
        of_chain = [each for each in made["highlights"] if each["blockchain"] == chain]
        kinds = {each["title"]: ledger.risk(each["address"], blockchain=chain) for each in of_chain}
        assert kinds["sanctioned"].decision["gate_reason"] == "ofac_sanctioned"
        assert (kinds["clean"].composite_score < 1, kinds["clean"].codes.height) == (True, 0)
        assert (kinds["exchange"].risk_level, kinds["exchange"].decision["context"]) == ("low", "exchange")
        if chain == "tron":
            # The listing came after the loot.
            assert (kinds["risky"].decision["gated"], kinds["risky"].codes.height) == (False, 0)
            assert any("before the listing" in detail for detail in kinds["risky"].factors["detail"])
            assert kinds["risky"].composite_score > 20


def test_reports_say_what_they_are(mixed: hw.Ledger) -> None:
    shown = repr(mixed.risk(ALICE))
    assert ALICE in shown
    assert "medium; mixer_interaction" in shown
    reasons = "few_transfers, rules_deferred, graph_unavailable, history_incomplete"
    assert repr(mixed.risk(NOBODY)).splitlines()[0].endswith(f": not enough data to judge ({reasons}); 0.00 low")
    assert (
        repr(mixed.risk([ALICE, NOBODY])).splitlines()[0]
        == "risk of 2 addresses: 1 without enough data to judge, 0 high, 1 medium, 0 low"
    )
    sanctioned = repr(made((SHOP, "sanction", "sanctions_list")).risk(SHOP))
    assert "100.00 high, floor by ofac_sanctioned; sanction 99.94" in sanctioned
    assert repr(mixed.labels([ALICE, BOB, SHOP])).startswith(f"labels of 3 addresses ({ALICE}, {BOB}, ...): ")
    assert repr(mixed.labels([])) == "labels of 0 addresses: 0 claims"


def test_a_picture_of_a_risk_adds_its_factors_up(mixed: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    report = mixed.risk(ALICE)
    report.plot(axes)
    bars = [bar for bar in axes.patches if math.isclose(bar.get_height(), 0.8)]
    assert [bar.get_width() for bar in bars] == pytest.approx(report.factors["points"].to_list())
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(report.composite_score, abs=0.02)
    assert [label.get_text().split()[0] for label in axes.get_yticklabels()] == report.factors["code"].to_list()
    assert set(axes.get_legend_handles_labels()[1]) == {"behaviours", "counterparties"}
    texts = {text.get_text() for text in axes.texts}
    assert {"low", "medium", "high"} <= texts
    details = report.factors["detail"].to_list()
    assert any(text.startswith(details[0][:30]) for text in texts), texts


def test_a_picture_of_a_risk_marks_the_floor(axes: Any) -> None:  # noqa: ANN401
    report = made((SHOP, "sanction", "sanctions_list")).risk(ALICE)
    assert report.decision["gate_reason"] == "direct_sanctioned_edge"
    report.plot(axes)
    legend = axes.get_legend_handles_labels()
    floor = dict(zip(legend[1], legend[0], strict=True))["floor 70: direct_sanctioned_edge"]
    assert list(floor.get_xdata()) == [70.0, 70.0]
    # What the floor adds is drawn last, from the score before it on.
    bars = [bar for bar in axes.patches if math.isclose(bar.get_height(), 0.8)]
    assert bars[-1].get_x() == pytest.approx(report.decision["base_score"], abs=0.02)


def test_a_picture_of_no_risk_says_what_was_looked_at(mixed: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    mixed.risk(NOBODY).plot(axes)
    assert "no factor adds points" in {text.get_text() for text in axes.texts}
    above = axes.figure.axes[-1]
    first, *_, last = above.get_title(loc="left").splitlines()
    assert first.startswith("Not enough data to judge: fewer than 5 valued transfers")
    assert last == "0xdddd…dddd on ethereum: 0.00, low"
    assert [label.get_text().split()[0] for label in above.get_yticklabels()] == [
        "labels",
        "behaviours",
        "counterparties",
    ]
    looked_at = [text.get_text() for text in above.texts]
    assert looked_at[0] == "no list names it"
    assert looked_at[2] == "not looked up: the address was never seen on the chain"
    with pytest.raises(hw.InvalidInput, match="only of a balance history"):
        mixed.risk(ALICE).plot(axes, asset="eth")
