"""Balances over time, holders, concentration, flows and whole lists, over frames in memory and real exports."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import headwater as hw
import polars as pl
import pyarrow as pa
import pytest
from conftest import Served, headwater
from headwater.examples import ALICE, BOB, SHOP, USDT
from headwater.examples import ledger as example

START = 1_600_000_000
NOBODY = "0x" + "dd" * 20


@pytest.fixture(scope="module")
def ledger() -> hw.Ledger:
    return example()


def report(answer: hw.Report[Any] | hw.Reports[Any]) -> hw.Report[Any]:
    assert isinstance(answer, hw.Report)
    return answer


def test_a_history_has_a_row_for_each_day_and_asset(ledger: hw.Ledger) -> None:
    history = report(ledger.balance_history(BOB, start_time=START - 86_400, end_time=START + 86_400))
    shown = history.frame.select("date", "symbol", "contract", "balance_raw", "verified", "tx_count").rows()
    assert shown == [
        ("2020-09-12", None, None, None, None, 0),
        ("2020-09-13", "usdt", USDT, Decimal(2_500_000), True, 3),
        ("2020-09-14", "usdt", USDT, Decimal(2_500_000), True, 0),
    ]
    assert [point["date"] for point in history.data_points] == ["2020-09-12", "2020-09-13", "2020-09-14"]
    assert [warning["code"] for warning in history.warnings if warning["code"] == "beyond_data"] == ["beyond_data"]
    assert "history_incomplete:native" in history.data["warnings"]
    names = "date symbol balance balance_usd price_usd timestamp contract decimals balance_raw verified amount_out "
    names += "total_usd received_usd sent_usd tx_count"
    assert history.frame.columns == names.split()


def test_a_history_of_two_days_of_nothing_has_types(ledger: hw.Ledger) -> None:
    full = report(ledger.balance_history(ALICE)).frame
    empty = report(ledger.balance_history(NOBODY, start_time=START)).frame
    assert empty.schema == full.schema
    assert empty.select("date", "balance_raw").rows() == [("2020-09-13", None)]
    assert full.height == 30


def test_a_history_in_another_unit_and_of_many_addresses(ledger: hw.Ledger) -> None:
    history = report(ledger.balance_history(ALICE, start_time=START, output_asset="usd", contracts=[None]))
    assert history.frame.select("balance", "amount_out", "total_usd").rows() == [(Decimal(2), Decimal(4000), 4000.0)]
    several = ledger.balance_history([ALICE, SHOP], start_time=START, contracts=[None])
    assert isinstance(several, hw.Reports)
    assert several.frame.select("queried_address", "balance").rows() == [(ALICE, Decimal(2)), (SHOP, Decimal("0.75"))]
    with pytest.raises(hw.InvalidInput) as caught:
        ledger.balance_history(ALICE, start_time=0)
    assert caught.value.reason == "time_range"


def test_holders_are_ranked_and_paged(ledger: hw.Ledger) -> None:
    first = ledger.holders("native", limit=1)
    assert (first.rows[0]["address"], first.rows[0]["balance_raw"]) == (ALICE, str(2 * 10**18))
    rest = ledger.holders("native", offset=1)
    assert rest.frame.select("rank", "address").rows() == [(2, SHOP)]
    assert rest.frame["pct_of_supply"].to_list() == [pytest.approx(100 * 0.75 / 2.75)]
    assert ledger.holders(USDT).frame.select("address", "balance").rows() == [(BOB, 2.5)]
    # A token of the core registry that never moved here, and one that nothing names.
    usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
    assert ledger.holders(usdc).frame.is_empty()
    assert ledger.holders(usdc).frame.schema == first.frame.schema
    with pytest.raises(hw.InvalidInput, match="no row and no registry names") as caught:
        ledger.holders("0x" + "ef" * 20)
    assert caught.value.reason == "unknown_contract"
    for contract, limit in ((None, None), ("0x12", None), ("native", -1)):
        with pytest.raises(hw.InvalidInput):
            ledger.holders(contract, limit=limit)


def test_concentration_is_one_row_and_that_of_the_balances(ledger: hw.Ledger) -> None:
    measured = ledger.concentration("native")
    alone = hw.metrics.concentration([2 * 10**18, 75 * 10**16])
    row = measured.frame.row(0, named=True)
    assert measured.frame.height == 1
    for name in ("gini", "hhi", "nakamoto", "theil", "entropy_bits"):
        assert row[name] == measured.concentration[name] == pytest.approx(alone[name], rel=1e-14)
    assert (row["symbol"], row["holder_count"], row["total_supply_raw"]) == ("eth", 2, Decimal(275 * 10**16))
    assert pa.table(measured).column("gini").to_pylist() == [row["gini"]]


def test_flows_show_what_moved_inside_the_set(ledger: hw.Ledger) -> None:
    flow = ledger.flows([ALICE, SHOP, ALICE])
    assert flow.frame.select("address", "received", "sent", "tx_count").rows() == [
        (ALICE, 3.0, 1.0, 2),
        (SHOP, 1.0, 0.25, 2),
    ]
    assert (flow.aggregate["internal_total"], flow.aggregate["external_sent_total"]) == (1.0, 0.25)
    assert ledger.flows(BOB, USDT).frame["received"].to_list() == [2.5]
    later = ledger.flows((SHOP,), start_time=START + 48)
    assert later.frame.select("received", "sent").rows() == [(0.0, 0.25)]
    with pytest.raises(hw.InvalidInput):
        ledger.flows([])


def test_the_list_of_counterparties_is_the_ranking_by_offset(ledger: hw.Ledger) -> None:
    ranking = report(ledger.counterparties(ALICE))
    listed = report(ledger.counterparty_list(ALICE, blockchain="ethereum"))
    assert listed.frame.equals(ranking.frame)
    second = report(ledger.counterparty_list(ALICE, blockchain="ethereum", limit=1, offset=1))
    assert second.rows == ranking.rows[1:2]
    several = ledger.counterparty_list([ALICE, BOB], blockchain="ethereum")
    assert isinstance(several, hw.Reports)


def test_the_same_call_gives_the_same_answer(ledger: hw.Ledger) -> None:
    first, second = ledger.holders("native").to_dict(), ledger.holders("native").to_dict()
    assert second["meta"]["cached"] is False
    assert {**first, "meta": None} == {**second, "meta": None}


def test_a_list_is_written_in_the_form_of_its_ending(ledger: hw.Ledger, tmp_path: Path) -> None:
    expected = report(ledger.transactions(ALICE)).to_frame(amounts="text")
    fields: dict[str, Any] = {"blockchain": "ethereum", "address": ALICE}
    for ending, read in (
        ("parquet", pl.read_parquet),
        ("arrow", pl.read_ipc_stream),
        ("ndjson", pl.read_ndjson),
        ("csv", pl.read_csv),
    ):
        path = tmp_path / f"rows.{ending}"
        path.write_text("an older file")
        written = ledger.write("transactions", path, fields)
        assert (written["rows"], written["next_cursor"]) == (3, None)
        frame = read(path)
        names = ["id", "tx_hash", "action", "symbol"]
        assert frame.select(names).rows() == expected.select(names).rows(), ending
        assert frame["amount_raw"].cast(pl.String).to_list() == expected["amount_raw"].to_list(), ending
    assert not list(tmp_path.glob("*.partial"))
    some = ledger.write("transactions", tmp_path / "some.csv", limit=2, **fields)
    rest = ledger.write("transactions", tmp_path / "rest.csv", fields, limit=2, cursor=some["next_cursor"])
    assert (some["rows"], rest["rows"], rest["next_cursor"]) == (2, 1, None)


def test_failed_write_leaves_the_old_file(ledger: hw.Ledger, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("an older file")
    with pytest.raises(hw.InvalidInput):
        ledger.write("transactions", path, blockchain="ethereum", address="0x12")
    with pytest.raises(hw.InvalidInput, match="no list"):
        ledger.write("token/concentration", path, blockchain="ethereum", contract="native")
    assert path.read_text() == "an older file"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]
    fields = {"blockchain": "ethereum", "address": ALICE}
    with pytest.raises(hw.InvalidInput, match=r"\.parquet"):
        ledger.write("transactions", tmp_path / "rows.xlsx", fields)
    with pytest.raises(hw.StorageError, match="absent"):
        ledger.write("transactions", tmp_path / "absent" / "rows.csv", fields)
    with pytest.raises(hw.NotFound):
        ledger.write("no-such-call", path)


def test_all_rows_of_a_list_are_a_frame(ledger: hw.Ledger) -> None:
    answer = report(ledger.transactions(ALICE))
    rows = ledger.read_all("transactions", blockchain="ethereum", address=ALICE)
    assert rows.select(answer.frame.columns).rows() == answer.frame.rows()
    history = report(ledger.balance_history(ALICE)).frame
    again = ledger.read_all("balance-history", {"blockchain": "ethereum", "address": ALICE})
    assert again.columns == history.columns
    assert again.rows() == history.rows()
    with pytest.raises(hw.InvalidInput, match="no list"):
        ledger.read_all("counterparty/overview", blockchain="ethereum", target=ALICE, counterparty=BOB)


def test_all_holders_are_more_than_a_page() -> None:
    rows = [
        {
            "blockchain": "ethereum",
            "block_number": number,
            "timestamp": START + number,
            "tx_hash": f"0x{number:064x}",
            "from_address": ALICE,
            "to_address": f"0x{number:040x}",
            "contract": USDT,
            "amount_raw": str(1000 - number),
        }
        for number in range(2, 252)
    ]
    ledger = hw.Ledger.from_frames(rows)
    fields: dict[str, Any] = {"blockchain": "ethereum", "contract": USDT}
    every = ledger.read_all("token/holders", fields)
    assert every["rank"].to_list() == list(range(1, 251))
    pages = [ledger.holders(USDT, limit=100, offset=offset).frame for offset in (0, 100, 200)]
    assert pl.concat(pages).select("address", "balance_raw").rows() == every.select("address", "balance_raw").rows()
    assert ledger.read_all("token/holders", fields, offset=245)["rank"].to_list() == [246, 247, 248, 249, 250]
    assert ledger.read_all("token/holders", fields, limit=7).height == 7


def test_every_interface_gives_equal_holders_and_histories(exports: Path, served: Served) -> None:
    ledger = hw.open(exports)
    usdt = ledger.holders(USDT, limit=100)
    who = [row["address"] for row in usdt.rows[:20]]
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("token/holders", "GET", {"contract": USDT, "limit": 100}),
        ("token/concentration", "GET", {"contract": USDT}),
        ("token/addresses_flow", "POST", {"contract": USDT, "addresses": who}),
        ("balance-history", "POST", {"address": who[0], "contracts": [USDT, None], "output_asset": "usd"}),
        ("balance-history", "POST", {"address": who[1], "include_unverified": True, "tz": "Asia/Kolkata"}),
    ]
    for name, method, fields in calls:
        request = {"blockchain": "ethereum", **fields}
        answer = ledger.query(name, request)
        if method == "GET":
            query = "&".join(f"{field}={value}" for field, value in request.items())
            status, body, _ = served.call("GET", f"/v1/{name}?{query}")
        else:
            status, body, _ = served.call("POST", f"/v1/{name}", request)
        assert status == 200, body
        printed = json.loads(
            headwater("query", name, "--store", exports, "--body", json.dumps(request), "--json").stdout
        )
        reported = [{**data, "meta": None} for data in (answer.data, body["data"], printed["data"])]
        assert reported[0] == reported[1] == reported[2], name
        assert body["meta"].get("warnings", []) == answer.warnings
    total = sum(int(row["balance_raw"]) for row in ledger.read_all("token/holders", request_of(USDT)).to_dicts())
    # What went to the zero address does not exist any more.
    excluded = sum(int(row["balance_raw"]) for row in usdt.excluded if row["reason"] != "zero_address")
    assert total + excluded == int(usdt.total_supply_raw)


def test_a_list_of_holders_is_a_ledger_of_its_token(corpus: Path, tmp_path: Path) -> None:
    polis, store = "0xb5bea8a26d587cf665f2d78f077cca3c7f6341bd", tmp_path / "store"
    file = corpus / "holders/polis_bsc_holders.csv"
    opening = ["--contract", polis, "--decimals", "18", "--at-block", "1", "--at-time", "1640995200"]
    headwater("ingest", "--chain", "bsc", "--store", store, *opening, file)
    amounts = [Decimal(text.replace(",", "")) for text in pl.read_csv(file, infer_schema=False)["Balance"]]
    measured = hw.open(store).concentration(polis, blockchain="bsc")
    alone = hw.metrics.concentration(amounts)
    assert {name: measured.concentration[name] for name in ("gini", "hhi", "nakamoto")} == {
        name: alone[name] for name in ("gini", "hhi", "nakamoto")
    }
    assert (measured.holder_count, int(measured.total_supply_raw)) == (1010, int(alone["total"] * 10**18))
    rows = hw.open(store).read_all("token/holders", blockchain="bsc", contract=polis)
    assert sorted(map(int, rows["balance_raw"])) == sorted(int(amount.scaleb(18)) for amount in amounts)


def request_of(contract: str) -> dict[str, str]:
    return {"blockchain": "ethereum", "contract": contract}
