"""The Python interface over frames in memory: no store, no server, no corpus."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import headwater as hw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

ALICE, BOB, SHOP = ("0x" + byte * 20 for byte in ("aa", "bb", "cc"))
USDT = "0xdac17f958d2ee523a2206206994597c13d831ec7"


def plain(value: Any) -> Any:  # noqa: ANN401
    """A value of a frame as the rows of an answer have it: times as epoch seconds."""
    match value:
        case datetime():
            return int(value.timestamp())
        case dict():
            return {name: plain(field) for name, field in value.items()}
        case list():
            return [plain(item) for item in value]
        case _:
            return value


def tabular(value: Any) -> Any:  # noqa: ANN401
    """Rows as frames have them: null in place of the zeros for want of a price."""
    match value:
        case dict():
            unpriced = value.get("unpriced_fields", [])
            return {name: None if name in unpriced else tabular(field) for name, field in value.items()}
        case list():
            return [tabular(item) for item in value]
        case _:
            return value


def rows() -> list[dict[str, object]]:
    """Alice gets 3 ETH from Bob, pays 1 to the shop and 2.5 USDT to Bob."""
    base: dict[str, object] = {"blockchain": "ethereum", "contract": None, "symbol": None, "decimals": None}
    return [
        {
            **base,
            "block_number": 1,
            "timestamp": 1_600_000_000,
            "tx_hash": "0x" + "01" * 32,
            "from_address": BOB,
            "to_address": ALICE,
            "amount_raw": str(3 * 10**18),
        },
        {
            **base,
            "block_number": 2,
            "timestamp": 1_600_000_012,
            "tx_hash": "0x" + "02" * 32,
            "from_address": ALICE,
            "to_address": SHOP,
            "amount_raw": str(10**18),
        },
        {
            **base,
            "block_number": 3,
            "timestamp": 1_600_000_024,
            "tx_hash": "0x" + "03" * 32,
            "from_address": ALICE,
            "to_address": BOB,
            "amount_raw": "2500000",
            "contract": USDT,
            "symbol": "USDT",
            "decimals": 6,
        },
    ]


@pytest.fixture
def ledger() -> hw.Ledger:
    return hw.Ledger.from_frames(pl.DataFrame(rows()))


def test_rows_are_newest_first_and_amounts_exact(ledger: hw.Ledger) -> None:
    report = ledger.transactions(ALICE, include_unverified=True)
    assert isinstance(report, hw.Report)
    assert report.frame.select("block_number", "action", "symbol", "amount", "amount_raw").rows() == [
        (3, "send", "usdt", Decimal("2.5"), Decimal(2_500_000)),
        (2, "send", "eth", Decimal(1), Decimal(10**18)),
        (1, "receive", "eth", Decimal(3), Decimal(3 * 10**18)),
    ]


def test_every_kind_of_table_gives_the_same_ledger() -> None:
    reference = hw.Ledger.from_frames(rows()).transactions(ALICE, include_unverified=True)
    untyped = pl.DataFrame(rows()).with_columns(pl.lit(None).alias("tx_index"))
    for table in (pl.DataFrame(rows()), untyped, pd.DataFrame(rows()), pa.Table.from_pylist(rows())):
        report = hw.Ledger.from_frames(table).transactions(ALICE, include_unverified=True)
        assert isinstance(report, hw.Report)
        assert isinstance(reference, hw.Report)
        assert report.to_dict() == reference.to_dict()


def test_many_addresses_give_one_frame(ledger: hw.Ledger) -> None:
    reports = ledger.wallet([ALICE, BOB])
    assert isinstance(reports, hw.Reports)
    assert [report.data["address"] for report in reports] == [ALICE, BOB]
    assert set(reports.frame["queried_address"]) == {ALICE, BOB}
    assert reports.to_dict()[ALICE] == reports[0].to_dict()


def test_counterparties_sum_what_the_rows_say(ledger: hw.Ledger) -> None:
    report = ledger.counterparties(ALICE, symbols=["eth"])
    assert isinstance(report, hw.Report)
    found = {row["address"]: (row["sent_amount"], row["received_amount"]) for row in report.rows}
    assert found == {BOB: ("0", "3"), SHOP: ("1", "0")}


def test_an_empty_answer_keeps_its_columns_and_types(ledger: hw.Ledger) -> None:
    full, empty = ledger.transactions(ALICE), ledger.transactions("0x" + "dd" * 20)
    assert isinstance(full, hw.Report)
    assert isinstance(empty, hw.Report)
    assert empty.frame.schema == full.frame.schema
    assert empty.frame.is_empty()


def test_empty_frame_has_the_usual_columns_and_types(ledger: hw.Ledger) -> None:
    known, unknown = ledger.resolve(symbols=["eth"]).frame, ledger.resolve(symbols=["nope"]).frame
    assert unknown.schema == known.schema
    assert (known.height, unknown.height) == (1, 0)
    for nobody, somebody in (
        (ledger.transactions([]), ledger.transactions([ALICE])),
        (ledger.counterparties([]), ledger.counterparties([ALICE])),
        (ledger.wallet([]), ledger.wallet([ALICE])),
        (ledger.balance_history([]), ledger.balance_history([ALICE])),
        (ledger.counterparty_list([]), ledger.counterparty_list([ALICE], blockchain="ethereum")),
    ):
        assert nobody.frame.schema == somebody.frame.schema
        assert nobody.frame.is_empty()
        assert len(somebody.frame) > 0
    nothing_moved = ledger.overview(ALICE, "0x" + "dd" * 20).frame
    assert nothing_moved.schema == ledger.overview(ALICE, BOB).frame.schema


def test_every_answer_has_its_columns_beforehand(ledger: hw.Ledger) -> None:
    reports: list[hw.Report[Any]] = [
        ledger.registry(),
        ledger.resolve(),
        ledger.overview(ALICE, BOB),
        ledger.resolve_address(ALICE),
        ledger.resolve_address("0x12"),
        ledger.autocomplete("0xaaa"),
    ]
    for report in reports:
        assert plain(report.to_frame(amounts="text").to_dicts()) == tabular(report.rows), report
        assert pl.Null not in report.frame.dtypes, report
    # A map has no fixed fields: it is JSON text.
    chains = ledger.chains()
    written = [{**row, "endpoints": json.loads(row["endpoints"])} for row in plain(chains.frame.to_dicts())]
    assert written == chains.rows


def test_search_of_labels_is_a_frame_of_addresses() -> None:
    labels = [
        {"blockchain": chain, "address": address, "code": "exchange", "entity": entity, "level": level}
        for chain, address, entity, level in (
            ("ethereum", BOB, "Acme 7", "forensic"),
            ("ethereum", SHOP, "Acme Bank", "service_api"),
            ("bsc", ALICE, "ACME", "web_crawl"),
        )
    ]
    ledger = hw.Ledger.from_frames(rows(), labels=labels)
    report = ledger.search_labels("acme")
    columns = ["blockchain", "address", "entity_name", "name", "confidence"]
    assert report.frame.select(columns).rows() == [
        ("ethereum", BOB, "Acme", None, 0.5),
        ("bsc", ALICE, None, "ACME", 0.2),
        ("ethereum", SHOP, "Acme Bank", None, 0.7),
    ]
    assert ledger.search_labels("acme", chain="bsc").frame["address"].to_list() == [ALICE]
    assert len(ledger.search_labels("acme", limit=1, offset=1)) == 1
    assert ledger.search_labels("nobody").frame.schema == report.frame.schema
    with pytest.raises(hw.errors.InvalidInput, match="2 to 128"):
        ledger.search_labels("a")


def test_bare_transactions_have_dollars_by_the_core_prices(ledger: hw.Ledger) -> None:
    frame = ledger.transactions(ALICE, symbols=["eth"]).frame
    # The close of 2020-09-12, times 1 and times 3.
    assert frame["amount_usd"].to_list() == [387.18310546875, 1161.54931640625]
    rate = ledger.prices("eth", at=1_600_000_000).rows[0]
    assert (rate["price_usd"], rate["source"]) == (387.18310546875, "core")


def test_unpriced_dollars_are_null_in_frames_and_zero_in_rows() -> None:
    # Between two imported prices years apart ether has none.
    prices = [{"symbol": "eth", "timestamp": time, "price_usd": 2000.0} for time in (1_500_000_000, 1_700_000_000)]
    ledger = hw.Ledger.from_frames(rows(), prices=prices)
    report = ledger.counterparties(ALICE)
    assert isinstance(report, hw.Report)
    by_address = {row["address"]: row for row in report.rows}
    shop, bob = by_address[SHOP], by_address[BOB]
    # The ether has no price; the USDT is pegged to the dollar, for no price of it was imported.
    assert (shop["sent_amount"], shop["sent_amount_usd"], shop["unpriced_count"]) == ("0", 0.0, 1)
    unpriced = ["sent_amount", "sent_amount_usd", "total_amount", "total_amount_usd", "net_amount"]
    assert shop["unpriced_fields"] == unpriced
    ether = {"symbol": "eth", "contract": None, "received_amount": "0", "sent_amount": "1", "total_amount": "1"}
    assert shop["assets"] == [ether]
    assert (bob["sent_amount_usd"], bob["unpriced_count"]) == (2.5, 1)
    assert [asset["symbol"] for asset in bob["assets"]] == ["usdt", "eth"]
    assert plain(report.to_frame(amounts="text").to_dicts()) == tabular(report.rows)
    of_shop = report.frame.filter(pl.col("address") == SHOP)
    assert (of_shop["sent_amount_usd"].to_list(), of_shop["received_amount_usd"].to_list()) == ([None], [0.0])
    assert "usdt" in report.meta["pegged"]
    assert "pegged" not in ledger.holders(USDT).meta


def test_times_are_datetimes_in_utc_in_every_frame_and_file(ledger: hw.Ledger, tmp_path: Path) -> None:
    utc = pl.Datetime("us", "UTC")
    first = datetime(2020, 9, 13, 12, 26, 40, tzinfo=timezone.utc)
    fields = {"blockchain": "ethereum", "address": ALICE, "order": "asc"}
    listed = ledger.read_all("transactions", fields)
    for frame in (ledger.query("transactions", fields).frame, listed):
        assert (frame.schema["timestamp"], frame["timestamp"][0]) == (utc, first)
        assert frame.filter(pl.col("timestamp") <= first).height == 1
    ledger.write("transactions", tmp_path / "rows.parquet", fields)
    ledger.write("transactions", tmp_path / "rows.arrow", fields)
    texts = ledger.read_all("transactions", fields, amounts="text")
    assert pl.read_parquet(tmp_path / "rows.parquet").select(texts.columns).equals(texts)
    assert pl.read_ipc_stream(tmp_path / "rows.arrow").select(texts.columns).equals(texts)
    # What is not an Arrow reader sees times too.
    found = duckdb.sql(f"SELECT typeof(timestamp), epoch(timestamp) FROM '{tmp_path}/rows.parquet'").fetchall()
    assert found[0] == ("TIMESTAMP WITH TIME ZONE", 1_600_000_000)
    assert ledger.counterparties(ALICE).frame.schema["first_activity"] == utc
    assert ledger.chains().frame.schema["indexed_to_ts"] == utc
    # A frame of movements makes a ledger again.
    assert hw.Ledger.from_frames(listed).transactions(ALICE).rows[0]["timestamp"] == 1_600_000_024


def test_the_type_of_amounts_depends_on_what_is_asked_for_alone(ledger: hw.Ledger) -> None:
    report = ledger.transactions(ALICE, symbols=["eth"])
    assert report.frame.schema["amount"] == pl.Decimal(38, 18)
    types = {"text": pl.String, "decimal": pl.Decimal(38, 18), "float": pl.Float64}
    for amounts, expected in types.items():
        for frame in (
            report.to_frame(amounts=amounts),
            ledger.transactions("0x" + "dd" * 20).to_frame(amounts=amounts),
            ledger.transactions([ALICE, BOB]).to_frame(amounts=amounts),
            ledger.read_all("transactions", amounts=amounts, blockchain="ethereum", address=ALICE),
        ):
            assert frame.schema["amount"] == expected, amounts
    assert report.to_frame(amounts="decimal")["amount_raw"].to_list() == [Decimal(10**18), Decimal(3 * 10**18)]
    assert report.to_frame(amounts="float")["amount"].to_list() == [1.0, 3.0]
    for wrong in (report.to_frame, ledger.transactions([ALICE]).to_frame):
        with pytest.raises(hw.InvalidInput, match="'decimal'"):
            wrong(amounts="exact")


@pytest.mark.parametrize(("amount", "decimals"), [(10**40, 18), (1, 19), (10**38, 0)])
def test_an_amount_that_is_no_decimal_is_named_with_its_row(amount: int, decimals: int) -> None:
    contract = "0x" + "ef" * 20
    tokens = [{"blockchain": "ethereum", "contract": contract, "symbol": "huge", "decimals": decimals}]
    moved = [{**row, "contract": contract, "amount_raw": str(amount)} for row in rows()[:1]]
    report = hw.Ledger.from_frames(rows()[1:] + moved, tokens=tokens).transactions(ALICE, contracts=[contract, None])
    assert report.to_frame(amounts="text")["amount_raw"].to_list()[-1] == str(amount)
    assert report.frame.schema["amount"] == pl.String, "an amount that does not fit keeps its column text"
    with pytest.raises(hw.InvalidInput, match=r"^amount\[1\] is .* amounts='text'") as caught:
        report.to_frame(amounts="decimal")
    assert caught.value.field == "amount[1]"


def test_a_call_is_known_by_its_name_and_by_its_path(ledger: hw.Ledger) -> None:
    expected = ledger.chains().data["chains"]
    for name in ("chains", "v1/chains", "/v1/chains", "/v1/chains/"):
        report = ledger.query(name)
        assert (report.endpoint, report.rows) == ("chains", expected)
    assert ledger.query("/v2/counterparty/list", address=ALICE, blockchain="ethereum").endpoint == "counterparty/list"
    tx_hash = "0x" + "02" * 32
    transaction = ledger.transaction(tx_hash).data
    for name in (f"transaction/{tx_hash}", f"/v1/transaction/{tx_hash}"):
        assert ledger.query(name, blockchain="ethereum").data == transaction
    assert ledger.query("/v1/transaction/{hash}", hash=tx_hash).data == transaction
    assert ledger.read_all("/v1/registry").equals(ledger.read_all("registry"))
    for name in ("v3/chains", "chains/ethereum", "", "\ud800"):
        with pytest.raises(hw.NotFound, match="there is no call"):
            ledger.query(name)


def test_one_address_gives_a_report_and_many_give_reports(ledger: hw.Ledger) -> None:
    # The types are looked at by mypy, without a question what kind an answer is of.
    assert ledger.transactions(ALICE, symbols=["eth"]).rows[0]["action"] == "send"
    assert ledger.wallet(ALICE).tx_count == 3
    assert ledger.counterparties([ALICE, BOB]).addresses == [ALICE, BOB]
    assert ledger.balance_history((ALICE,))[0].address == ALICE
    assert ledger.counterparty_list(ALICE, blockchain="ethereum").to_dict()["datas"]


def test_a_frame_holds_what_the_rows_say(ledger: hw.Ledger) -> None:
    in_usd = ledger.transactions(ALICE, output_asset="usd", include_unverified=True)
    others = [ledger.counterparties(ALICE), ledger.wallet(ALICE), ledger.transfers_between(ALICE, BOB)]
    for report in [in_usd, *others]:
        assert isinstance(report, hw.Report)
        frame = report.to_frame(amounts="text")
        assert len(frame) > 0, report
        expected = tabular(report.rows)
        assert plain(frame.to_dicts()) == [{name: row.get(name) for name in frame.columns} for row in expected]
        assert set(frame.columns) >= set(report.rows[0]), report


def test_reports_can_be_copied_and_pickled(ledger: hw.Ledger) -> None:
    report = ledger.transactions(ALICE)
    assert isinstance(report, hw.Report)
    for other in (copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
        assert other.to_dict() == report.to_dict()
        assert other.frame.equals(report.frame)
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        _ = report.nothing


def test_frames_leave_as_arrow(ledger: hw.Ledger) -> None:
    report = ledger.transactions(ALICE)
    assert isinstance(report, hw.Report)
    assert pa.table(report.to_frame("arrow")).num_rows == len(report.rows)
    assert pa.table(report).num_rows == len(report.rows)
    assert len(report.to_frame("pandas")) == len(report.rows)
    with pytest.raises(ValueError, match="'excel'"):
        report.to_frame("excel")


def test_errors_are_one_tree_and_name_the_place(ledger: hw.Ledger) -> None:
    with pytest.raises(hw.InvalidInput) as caught:
        ledger.transactions("0x12")
    assert isinstance(caught.value, ValueError)
    assert caught.value.reason == "invalid_address"
    assert caught.value.field == "address"
    with pytest.raises(hw.NotFound) as missing:
        ledger.transaction("0x" + "99" * 32)
    assert isinstance(missing.value, LookupError)
    with pytest.raises(hw.StorageError):
        hw.open("/nowhere/at/all")
    with pytest.raises(hw.InvalidInput):
        ledger.query("transactions", blockchain="ethereum")
    with pytest.raises(hw.NotFound):
        ledger.query("no-such-call")


def test_a_float_amount_is_refused() -> None:
    frame = pl.DataFrame(rows()).with_columns(pl.lit(1.5).alias("amount_raw"))
    with pytest.raises(hw.InvalidInput, match="amount_raw"):
        hw.Ledger.from_frames(frame)


def test_a_broken_row_names_row_column_and_value() -> None:
    broken = rows()
    broken[1]["to_address"] = "0x1234"
    with pytest.raises(hw.InvalidInput, match=r"to_address.*0x1234|0x1234.*to_address"):
        hw.Ledger.from_frames(broken)


def test_unknown_keyword_is_a_type_error(ledger: hw.Ledger) -> None:
    asked: list[Callable[[], object]] = [
        lambda: ledger.transactions(ALICE, symbol="eth"),
        lambda: ledger.transactions([ALICE, BOB], symbol="eth"),
        lambda: ledger.query("transactions", {"blockchain": "ethereum", "address": ALICE, "symbol": "eth"}),
    ]
    for ask in asked:
        with pytest.raises(TypeError, match='did you mean "symbols"') as caught:
            ask()
        assert isinstance(caught.value, hw.UnknownField)
        assert isinstance(caught.value, hw.InvalidInput)
        assert (caught.value.reason, caught.value.field) == ("unknown_field", "symbol")
        assert caught.value.candidates == ["symbols"]
    with pytest.raises(TypeError, match=r"track_setting\.max_nodes"):
        ledger.trace(ALICE, max_node=5)
    assert ledger.transactions(ALICE, symbol=None, symbols=["eth"]).rows


def test_chain_that_is_not_held_is_refused(ledger: hw.Ledger) -> None:
    with pytest.raises(hw.InvalidInput, match="neither rows nor labels of tron; it contains ethereum") as caught:
        ledger.transactions("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", blockchain="tron")
    assert (caught.value.reason, caught.value.field) == ("chain_not_held", "blockchain")


def test_address_functions_take_one_or_many() -> None:
    lower = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
    assert hw.address.checksum(lower) == "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    assert hw.address.validate(pl.Series([lower, "x", None]).to_list()) == [True, False, False]
    assert hw.address.validate("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", chain="tron")
    with pytest.raises(hw.InvalidInput, match="dogecoin"):
        hw.address.validate("D", chain="dogecoin")


def test_an_export_is_read_by_other_engines(ledger: hw.Ledger, tmp_path: Path) -> None:
    written = ledger.export(tmp_path)
    assert written["chains"]["ethereum"]["movements"] == 3
    files = str(tmp_path / "transfers" / "**" / "*.parquet")
    query = """
        SELECT address, bucket, sum(CASE direction WHEN 'in' THEN amount_decimal ELSE -amount_decimal END)
        FROM read_parquet(?, hive_partitioning = true, hive_types_autocast = false)
        WHERE contract IS NULL GROUP BY ALL ORDER BY address
    """
    balances = duckdb.execute(query, [files]).fetchall()
    buckets = {address: hashlib.sha256(address.encode()).hexdigest()[:2] for address in (ALICE, BOB, SHOP)}
    assert balances == [
        (ALICE, buckets[ALICE], 2 * 10**18),
        (BOB, buckets[BOB], -3 * 10**18),
        (SHOP, buckets[SHOP], 10**18),
    ]
    frame = pl.read_parquet(files, hive_partitioning=True)
    assert frame.filter(pl.col("is_primary"))["symbol"].to_list().count("usdt") == 1
    with pytest.raises(hw.InvalidInput, match="is not empty"):
        ledger.export(tmp_path)
    with pytest.raises(hw.InvalidInput, match="nothing of tron"):
        ledger.export(tmp_path / "tron", chains=["tron"])
