"""Traces through the Python interface: frames, graphs, GraphML."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import headwater as hw
import matplotlib as mpl
import networkx
import polars as pl
import pytest
from headwater.examples import ALICE, BOB, SHOP, USDT, ledger

START = 1_600_000_000
NOBODY = "0x" + "dd" * 20


@pytest.fixture(scope="module")
def town() -> hw.Ledger:
    return ledger()


@pytest.fixture(scope="module")
def trace(town: hw.Ledger) -> hw.TraceReport:
    return town.trace(ALICE)


@pytest.fixture
def axes() -> Iterator[Any]:
    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots()
    yield axes
    figure.canvas.draw()
    pyplot.close("all")


def test_frames_are_worked_by_hand(trace: hw.TraceReport) -> None:
    # Bob paid Alice before she paid anyone: he is where the inward walk begins, and the outward one ends.
    edges = trace.edges.select("from_address", "to_address", "depth", "direction", "symbol", "amount", "amount_usd")
    assert edges.rows() == [
        (BOB, ALICE, -1, "in", "eth", Decimal(3), 6000.0),
        (ALICE, SHOP, 1, "out", "eth", Decimal(1), 2000.0),
        (ALICE, BOB, 1, "out", "usdt", Decimal("2.5"), 2.5),
        (SHOP, BOB, 2, "out", "eth", Decimal("0.25"), 500.0),
    ]
    assert trace.frame.equals(trace.edges)
    assert trace.edges["first_activity"][0] == datetime.fromtimestamp(START + 12, timezone.utc)
    assert trace.edges["tx_hashes"].to_list()[0] == [f"0x{1:064x}"]
    nodes = trace.nodes.select("address", "depth", "labels", "entity_name", "in_amount_usd", "stop_reason")
    assert nodes.filter(pl.col("address") == SHOP).rows() == [(SHOP, 1, ["merchant"], "Corner Shop", 2000.0, None)]
    ends = trace.ends.select("address", "direction", "hops", "amount_usd", "share", "stop_reason")
    assert ends.rows() == [
        (BOB, "in", 1, 6000.0, 1.0, "time_range"),
        (BOB, "out", 1, 502.5, 0.250936, "time_range"),
    ]
    # The shop kept 1,500 of the 2,002.5 dollars that left Alice.
    shares = {"returned": 0.0, "pruned": 0.0, "filtered": 0.0, "fees": 0.0}
    assert trace.summary == {
        "node_count": 3,
        "edge_count": 4,
        "outward_amount_usd": 2002.5,
        "inward_amount_usd": 6000.0,
        "unpriced_count": 0,
        "divisions": [
            {"direction": "out", "unit": "usd", "ends": 0.250936, "stayed": 0.749064, **shares},
            {"direction": "in", "unit": "usd", "ends": 1.0, "stayed": 0.0, **shares},
        ],
    }
    assert trace.divisions.select("direction", "ends", "stayed").rows() == [
        ("out", 0.250936, 0.749064),
        ("in", 1.0, 0.0),
    ]
    assert trace.nodes.filter(pl.col("address") == SHOP)["stayed_share"].to_list() == [0.749064]


def test_what_came_is_what_became_of_it(town: hw.Ledger) -> None:
    for address in (ALICE, BOB, SHOP):
        for method in ("none", "haircut", "fifo", "poison"):
            assets = town.query("trace", blockchain="ethereum", address=address, track_setting={"method": method})
            assert isinstance(assets, hw.TraceReport)
            rows = assets.assets.rows(named=True)
            assert rows
            for row in rows:
                became = sum(int(row[name]) for name in ("out_amount", "stayed", "pruned", "filtered", "fee"))
                assert int(row["in_amount"]) == became, row


def test_arguments_are_fields_of_the_request(town: hw.Ledger) -> None:
    settings = town.trace(
        ALICE,
        "eth",
        outward_depth=3,
        inward_depth=0,
        limit=4,
        method="none",
        start_time=datetime.fromtimestamp(START, timezone.utc),
        end_time=START + 100,
        max_nodes=20,
        time_ordered=False,
        bridge_chains=["tron"],
        accumulate_amount=False,
        filter_criterias=[{"symbol": "usdt", "min_value": 1}],
        stop_labels=["mixer"],
        max_counterparties=9,
        stop_at_contract=True,
    ).settings
    assert settings == {
        "start_time": START,
        "end_time": START + 100,
        "outward_depth": 3,
        "inward_depth": 0,
        "limit": 4,
        "accumulate_amount": False,
        "max_nodes": 20,
        "method": "none",
        "time_ordered": False,
        "bridge_chains": ["tron"],
        "labels": ["mixer"],
        "max_counterparties": 9,
        "stop_at_contract": True,
    }
    assert town.trace(ALICE, track_setting={"limit": 3}, outward_depth=1).settings["limit"] == 3
    assert town.trace(ALICE, stop_labels=[]).settings["labels"] == []


def test_refusals_name_the_field(town: hw.Ledger) -> None:
    with pytest.raises(hw.InvalidInput, match="from 0 to 7") as refused:
        town.trace(ALICE, outward_depth=8)
    assert refused.value.field == "track_setting.outward_depth"
    with pytest.raises(hw.InvalidInput, match="nothing to follow"):
        town.trace(ALICE, outward_depth=0, inward_depth=0)
    with pytest.raises(hw.InvalidInput, match="good_guy"):
        town.trace(ALICE, stop_labels=["good_guy"])
    with pytest.raises(hw.InvalidInput):
        town.trace(ALICE, track_setting="wide", limit=3)


def test_many_addresses_have_a_trace_each(town: hw.Ledger) -> None:
    traces = town.trace([ALICE, NOBODY], inward_depth=0)
    assert isinstance(traces, hw.TraceReports)
    assert [len(report.rows) for report in traces] == [3, 0]
    assert traces.frame["queried_address"].to_list() == [ALICE] * 3
    assert repr(traces).splitlines()[0] == "traces of 2 addresses: 3 edges"
    nothing = town.trace([])
    assert nothing.frame.columns == traces.frame.columns
    assert traces[1].edges.schema == traces[0].edges.schema


def test_graph_has_the_attributes_of_the_answer(trace: hw.TraceReport) -> None:
    graph = trace.to_networkx()
    assert graph.graph == {"blockchain": "ethereum", "address": ALICE}
    assert set(graph.nodes) == {ALICE, BOB, SHOP}
    assert graph.nodes[SHOP]["entity_name"] == "Corner Shop"
    assert graph.number_of_edges() == 4
    (edge,) = graph[ALICE][BOB].values()
    assert (edge["symbol"], edge["amount"], edge["contract"], edge["tx_count"]) == ("usdt", "2.5", USDT, 1)


def test_without_networkx_the_remedy_is_said(trace: hw.TraceReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(hw.Unsupported, match=r"pip install 'headwater\[graph\]'"):
        trace.to_networkx()


def test_graphml_is_read_with_its_types(trace: hw.TraceReport, tmp_path: Path) -> None:
    file = tmp_path / "trace.graphml"
    trace.to_graphml(file)
    graph = networkx.read_graphml(file)
    assert set(graph.nodes) == {ALICE, BOB, SHOP}
    shop = graph.nodes[SHOP]
    assert (shop["depth"], shop["labels"], shop["entity_name"], shop["in_amount_usd"]) == (
        1,
        "merchant",
        "Corner Shop",
        2000.0,
    )
    edges = {(start, end): attributes for start, end, attributes in graph.edges(data=True)}
    assert len(edges) == 4
    edge = edges[(ALICE, BOB)]
    assert (edge["amount"], edge["amount_raw"], edge["tx_count"], edge["contract"]) == (2.5, "2500000", 1, USDT)
    assert edge["taint_amount"] == 2.5
    assert shop["stayed_share"] == 0.749064
    assert (graph.nodes[BOB]["share_out"], graph.nodes[BOB]["share_in"]) == (0.250936, 1.0)
    declared = {
        (key.attrib["for"], key.attrib["attr.name"]): key.attrib["attr.type"]
        for key in ElementTree.parse(file).iter("{http://graphml.graphdrawing.org/xmlns}key")
    }
    assert (declared["node", "depth"], declared["edge", "amount_usd"], declared["edge", "first_activity"]) == (
        "int",
        "double",
        "long",
    )
    with pytest.raises(hw.StorageError, match="cannot write"):
        trace.to_graphml(tmp_path / "nowhere" / "trace.graphml")


def test_text_of_a_trace_says_what_was_left_out(town: hw.Ledger, trace: hw.TraceReport) -> None:
    assert repr(trace).splitlines()[0] == f"trace of {ALICE} on ethereum: 3 addresses, 4 edges, 2 ends"
    assert "direction" in repr(trace).splitlines()[2], "the ends: where the money is"
    cut = town.trace(ALICE, outward_depth=1, inward_depth=0)
    assert "cut by depth_limit" in repr(cut)


def test_paths_are_worked_by_hand(town: hw.Ledger) -> None:
    # Alice pays the shop 1 ether, which pays Bob a quarter; she pays him 2.5 dollars directly.
    report = town.path(ALICE, BOB)
    assert isinstance(report, hw.PathReport)
    assert report.paths.rows() == [(1, BOB, 2, 500.0), (2, BOB, 1, 2.5)]
    hops = report.frame.select("path", "hop", "from_address", "to_address", "symbol", "amount").rows()
    assert hops == [
        (1, 1, ALICE, SHOP, "eth", "1"),
        (1, 2, SHOP, BOB, "eth", "0.25"),
        (2, 1, ALICE, BOB, "usdt", "2.5"),
    ]
    assert pl.DataFrame(report).equals(report.frame)
    assert repr(report).splitlines()[0] == f"paths from {ALICE} on ethereum: 2 paths, 6 addresses looked through"
    assert town.path(ALICE, [BOB], k=1).paths.height == 1
    assert town.path(ALICE, pl.Series([BOB, SHOP]), symbols=["usdt"]).paths["hops"].to_list() == [1]
    none = town.path(ALICE, NOBODY, start_time=datetime(2020, 1, 1, tzinfo=timezone.utc))
    assert none.paths.is_empty()
    assert none.frame.schema == report.frame.schema
    with pytest.raises(hw.InvalidInput, match="name another address"):
        town.path(ALICE, ALICE)


def test_exposure_is_worked_by_hand(town: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    report = town.exposure(ALICE, max_hops=2)
    assert isinstance(report, hw.ExposureReport)
    assert report.frame.filter(pl.col("direction") == "out").select(
        "kind", "category", "amount_usd", "addresses"
    ).rows() == [("direct", "merchant", 2000.0, 1)]
    assert report.top["address"].to_list()[0] == SHOP
    total = sum([*report.frame["amount_usd"], *report.unattributed["amount_usd"]])
    assert total == pytest.approx(report.total_usd)
    assert repr(report).startswith(f"exposure of {ALICE} on ethereum: ")
    assert report.plot(axes).get_yticklabels()[0].get_text() == "merchant"
    both = town.exposure([ALICE, NOBODY], direction="out")
    assert isinstance(both, hw.ExposureReports)
    assert both.frame.columns[0] == "queried_address"
    assert [each.total_usd for each in both] == [2002.5, 0.0]
    assert town.exposure([]).frame.columns == both.frame.columns
    with pytest.raises(hw.HeadwaterError, match="no named address"):
        next(iter(town.exposure([NOBODY]))).plot(axes)
