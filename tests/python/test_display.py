"""Reports as people see them: whole lists, lengths, rows by position, text and HTML."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import headwater as hw
import polars as pl
import pytest
from headwater import _display, _rows
from headwater.examples import ALICE, BOB

CONTRACT = "0x" + "ef" * 20
HOSTILE = '\x1b[31m<script>alert("x")</script>\u202e'


def moved(count: int, symbol: str | None = None) -> list[dict[str, object]]:
    return [
        {
            "blockchain": "ethereum",
            "block_number": number,
            "timestamp": 1_600_000_000 + number,
            "tx_hash": f"0x{number:064x}",
            "from_address": ALICE if number % 2 else BOB,
            "to_address": BOB if number % 2 else ALICE,
            "contract": CONTRACT if symbol else None,
            "symbol": symbol,
            "decimals": 6 if symbol else None,
            "amount_raw": str(10**18 + number),
        }
        for number in range(1, count + 1)
    ]


@pytest.fixture(scope="module")
def busy() -> hw.Ledger:
    return hw.Ledger.from_frames(moved(1_268))


def test_list_of_a_store_is_whole_by_default(busy: hw.Ledger) -> None:
    report = busy.transactions(ALICE)
    assert (len(report), report.total, report.has_more) == (1_268, 1_268, False)
    assert report.frame.height == len(report.rows) == 1_268
    assert (report.data["pagination"]["limit"], report.data["pagination"]["total_pages"]) == (1_268, 1)
    assert busy.transactions(ALICE, limit=None).data == report.data
    assert len(busy.transactions(ALICE, limit=1_100)) == 1_100
    assert [row["block_number"] for row in report] == list(range(1_268, 0, -1))
    assert report[0] == report.rows[0]
    assert [row["block_number"] for row in report[-2:]] == [2, 1]
    assert report["as_of_block"] == report.as_of_block == 1_268


def test_limit_cuts_a_list_and_the_report_says_so(busy: hw.Ledger) -> None:
    report = busy.transactions(ALICE, limit=20)
    assert (len(report), report.total, report.has_more) == (20, 1_268, True)
    shown = repr(report).splitlines()
    assert shown[0] == f"transactions of {ALICE} on ethereum: 20 of 1,268 movements"
    assert "10 more rows: .frame has all 20" in shown
    assert "the list continues: limit=None gives all rows" in shown
    rest = busy.transactions(ALICE, cursor=report.pagination["next_cursor"])
    assert [row["block_number"] for row in rest] == list(range(1_248, 0, -1))
    assert (len(rest), rest.has_more) == (1_248, False)
    many = busy.transactions([ALICE, BOB], limit=20)
    assert "40 movements; 2 lists continue" in repr(many)


def test_report_shows_its_first_rows(busy: hw.Ledger) -> None:
    text = repr(busy.transactions(ALICE))
    assert text.splitlines()[0] == f"transactions of {ALICE} on ethereum: 1,268 movements"
    assert "1,258 more rows: .frame has all 1,268" in text
    assert "1.000000000000001268" in text
    assert "\n! no loaded source of ethereum covers" in text
    assert text.count("│ 2020-09-13") == 10


def test_columns_that_people_look_at_come_first(busy: hw.Ledger) -> None:
    frame = busy.transactions(ALICE).frame
    assert frame.columns[:5] == ["timestamp", "action", "amount", "symbol", "amount_usd"]
    assert frame.schema["amount"] == pl.Decimal(38, 18)
    assert frame["amount"].sum() == sum((Decimal(10**18 + number) for number in range(1, 1_269)), Decimal(0)).scaleb(
        -18
    )
    whole = busy.read_all("transactions", blockchain="ethereum", address=ALICE)
    assert whole.columns == frame.columns
    assert whole.equals(frame)


def test_shown_numbers_have_no_useless_digits() -> None:
    values = {"total_amount_usd": [12220067.145571, None], "price_usd": [0.000123456789, 1.0]}
    frame = pl.DataFrame({**values, "share": [21.15502840813453, 1e-9], "entity_name": [None, "lanternex"]})
    shown = _display._for_people(frame)
    assert shown.rows() == [(12220067.15, 0.000123457, 21.155028, ""), (None, 1.0, 1e-9, "lanternex")]
    with pl.Config(**_display._CONFIG):
        assert "│    12,220,067.15 ┆ 0.000123457 ┆" in str(shown)


def test_wide_report_leaves_columns_out(busy: hw.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    report = busy.transactions(ALICE, limit=3)
    for width in (60, 80, 120, 300):
        monkeypatch.setenv("COLUMNS", str(width))
        table = [line for line in repr(report).splitlines() if line[:1] in "┌│╞└"]
        assert max(len(line) for line in table) <= width
        assert len(table) == 3 + 4, "no cell is broken into lines"
    assert report.rows[0]["counterparty"] in repr(report), "addresses are whole"


def test_texts_of_a_chain_change_nothing_around_them() -> None:
    ledger = hw.Ledger.from_frames(moved(3, HOSTILE))
    report = ledger.transactions(ALICE, include_unverified=True)
    assert "script" in report.rows[0]["symbol"]
    for shown in (
        repr(report),
        report._repr_html_(),
        ledger.transactions([ALICE], include_unverified=True)._repr_html_(),
    ):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202a-\u202e]", shown)
    html = report._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert ALICE in html


def test_report_without_rows_says_so(busy: hw.Ledger) -> None:
    report = busy.transactions("0x" + "dd" * 20)
    assert (len(report), bool(report), list(report)) == (0, True, [])
    assert repr(report).splitlines()[0].endswith(": 0 movements")


def test_every_kind_of_report_is_shown(busy: hw.Ledger) -> None:
    reports: list[hw.Report[Any]] = [
        busy.chains(),
        busy.registry(),
        busy.price_symbols(),
        busy.wallet(ALICE),
        busy.counterparties(ALICE),
        busy.overview(ALICE, BOB),
        busy.transfers_between(ALICE, BOB),
        busy.balance_history(ALICE),
        busy.holders("native"),
        busy.concentration("native"),
        busy.flows([ALICE, BOB]),
        busy.labels(ALICE),
        busy.search_labels("corner"),
        busy.risk(ALICE),
        busy.classify(ALICE),
        busy.trace(ALICE),
        busy.path(ALICE, BOB),
        busy.exposure(ALICE),
        busy.resolve_address(ALICE),
        busy.autocomplete("0xaaa"),
        busy.transaction(f"0x{1:064x}"),
    ]
    for report in reports:
        text, html = repr(report), report._repr_html_()
        assert report.title().splitlines()[0] in text
        assert html.startswith("<div><strong>"), report.endpoint
        assert len(report) == len(list(report)), report.endpoint
    assert repr(busy.holders("native")).startswith("token/holders of native on ethereum")


def test_decimals_become_the_text_that_they_came_from() -> None:
    whole = pl.DataFrame({"raw": ["100", "0", None, "20500"], "units": ["2.5", "100", "0", "0.00012"]})
    frame = whole.with_columns(pl.col("raw").cast(pl.Decimal(38, 0)), pl.col("units").cast(pl.Decimal(38, 18)))
    assert _rows.as_text(frame, ["raw", "units"]).equals(whole)
