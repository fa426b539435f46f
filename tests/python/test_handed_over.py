"""Inputs of callers: tables of any library, numbers of any size, times, collections; and what is refused of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import headwater as hw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from headwater import metrics
from headwater.examples import ALICE, BOB, SHOP, USDT, ledger

LARGE = 10 * 10**18
LARGEST = 2**256 - 1
TOKEN = {"blockchain": "ethereum", "contract": "0x" + "dd" * 20, "symbol": "ABC", "decimals": 6}
LOWER = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"


def moved(*amounts: object) -> list[dict[str, Any]]:
    """Alice pays Bob, a block and a transaction for each amount."""
    return [
        {
            "blockchain": "ethereum",
            "block_number": number,
            "timestamp": 1_600_000_000 + number,
            "tx_hash": f"0x{number:064x}",
            "from_address": ALICE,
            "to_address": BOB,
            "contract": None,
            "amount_raw": amount,
        }
        for number, amount in enumerate(amounts, 1)
    ]


def raw(transfers: Any, **tables: Any) -> list[int]:  # noqa: ANN401
    """The amounts that a ledger made of the transfers answers with, oldest first."""
    made = hw.Ledger.from_frames(transfers, **tables).transactions(ALICE, order="asc")
    return [int(text) for text in made.frame["amount_raw"]]


def in_polars(column: pl.Series) -> pl.DataFrame:
    return pl.DataFrame(moved(*["0"] * len(column))).with_columns(column.alias("amount_raw"))


def in_arrow(column: pa.Array) -> pa.Table:
    table = pa.Table.from_pylist(moved(*["0"] * len(column)))
    return table.set_column(table.column_names.index("amount_raw"), "amount_raw", column)


def test_amounts_of_any_size_are_exact_in_every_kind_of_table() -> None:
    some = [2**63, LARGE, 7]
    tables: list[tuple[Any, list[int]]] = [
        (moved(*some), some),
        (moved(LARGEST, 2**200, 1), [LARGEST, 2**200, 1]),
        (moved(2**64, "5", Decimal("1E+60"), np.int64(3), Decimal("4.0")), [2**64, 5, 10**60, 3, 4]),
        (pd.DataFrame(moved(*some)), some),
        (pd.DataFrame(moved(10**22, LARGEST)), [10**22, LARGEST]),
        (pd.DataFrame(moved(10**22, "8")), [10**22, 8]),
        (pd.DataFrame(moved(2**63, 5)).astype({"amount_raw": object}), [2**63, 5]),
        (in_polars(pl.Series(some, dtype=pl.Int128)), some),
        (in_polars(pl.Series([Decimal(value) for value in some])), some),
        (in_polars(pl.Series([LARGEST, 1], dtype=pl.Object)), [LARGEST, 1]),
        (in_polars(pl.Series(some, dtype=pl.Int128)).lazy(), some),
        (in_arrow(pa.array([Decimal(value) for value in some], pa.decimal128(38))), some),
        (in_arrow(pa.array([Decimal(10**70), Decimal(3)], pa.decimal256(76))), [10**70, 3]),
    ]
    for place, (table, expected) in enumerate(tables):
        assert raw(table) == expected, place


@pytest.mark.parametrize(
    ("amount", "reported"),
    [
        (1.5, r'row 2: column "amount_raw" is 1\.5 \(float\), expected integers, decimals or text'),
        (float("nan"), 'row 2: column "amount_raw" is missing'),
        (None, 'row 2: column "amount_raw" is missing'),
        (True, 'row 2: column "amount_raw" is True'),
        (-(2**100), f'row 2: column "amount_raw" is "-{2**100}"'),
        (2**256, f'row 2: column "amount_raw" is "{2**256}", .*256 bits'),
        (2**2_000, 'row 2: column "amount_raw" is "an integer of 2001 bits"'),
        (Decimal("5.5"), r'row 2: column "amount_raw" is "5\.5"'),
        (Decimal("1E+999999"), r'row 2: column "amount_raw" is "1E\+999999"'),
    ],
)
def test_an_amount_that_cannot_be_meant_is_named_with_its_row(amount: object, reported: str) -> None:
    rows = moved(LARGE, amount)
    for table in (rows, pd.DataFrame({**pd.DataFrame(rows), "amount_raw": pd.Series([LARGE, amount], dtype=object)})):
        with pytest.raises(hw.InvalidInput, match=f"transfers, {reported}"):
            hw.Ledger.from_frames(table)


def test_gaps_of_other_columns_stay_gaps() -> None:
    reported = zip(moved(1, 2), (True, None), (USDT, None), strict=True)
    rows = [{**row, "status": status, "contract": contract, "log_index": None} for row, status, contract in reported]
    gapped = pd.DataFrame(rows).astype({"amount_raw": object})
    gapped["status"] = pd.Series([True, np.nan], dtype=object)
    gapped["log_index"] = pd.Series([np.nan, np.nan], dtype=object)
    gapped["contract"] = pd.Series([USDT, np.nan], dtype=object)
    for table in (rows, gapped):
        made = hw.Ledger.from_frames(table).transactions(ALICE, order="asc", include_unverified=True)
        assert made.frame["status"].to_list() == ["success", "unknown"]
        assert made.frame["log_index"].to_list() == [None, None]
    assert made.frame["contract"].to_list() == [USDT, None]


def test_input_that_is_not_a_table_is_named() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise OverflowError("too large")

    asks: list[tuple[Callable[[], object], str]] = [
        (lambda: hw.Ledger.from_frames(None), "transfers: expected a table"),
        (lambda: hw.Ledger.from_frames("rows"), "transfers: expected a table"),
        (lambda: hw.Ledger.from_frames([(1, 2)]), r"transfers, row 1: it is \(1, 2\), expected a dict"),
        (lambda: hw.Ledger.from_frames(Broken()), "transfers: it cannot be read as an Arrow table: too large"),
        (lambda: hw.Ledger.from_frames([], prices=Broken()), "prices: it cannot be read"),
        (lambda: hw.Ledger.from_frames([], tokens=Broken()), "tokens: it cannot be read"),
        (
            lambda: hw.Ledger.from_frames([{**moved(1)[0], "timestamp": object()}]),
            'row 1: column "timestamp" is <object',
        ),
        (
            lambda: hw.Ledger.from_frames([*moved(1), {**moved(1)[0], "timestamp": b"x"}]),
            r'row 2: column "timestamp" is b\'x\' \(bytes\), expected what stands above it: int',
        ),
        (lambda: metrics.balances(5), "transfers: expected a table"),
    ]
    for ask, reported in asks:
        with pytest.raises(hw.InvalidInput, match=reported):
            ask()


def test_frames_of_labels_are_held_and_bad_ones_name_the_row() -> None:
    claims = [{"address": ALICE, "blockchain": "ethereum", "code": "mixer", "level": "forensic"}]
    made = hw.Ledger.from_frames(moved(5), claims)
    assert made.labels(ALICE).labels == ["mixer"]
    assert made.labels([ALICE, ALICE]).frame["label"].to_list() == ["mixer", "mixer"]
    assert made.labels(ALICE).frame["date_basis"].to_list() == [None]
    row = {"address": ALICE, "blockchain": "ethereum", "code": "mixer", "asserted_at": "2024-05-06"}
    for basis, table in (("address", row), ("entity", {**row, "date_basis": "entity"})):
        dated = hw.Ledger.from_frames(moved(5), labels=[table])
        assert dated.labels(ALICE).frame["date_basis"].to_list() == [basis]
    assert hw.Ledger.from_frames(moved(5), None).labels(ALICE).confidence == 0.0
    with pytest.raises(hw.InvalidInput, match="labels"):
        hw.Ledger.from_frames(moved(5), [{"code": "mixer"}])


def test_registry_table_ignores_native_coins() -> None:
    whole = ledger().registry()
    assert None in whole.frame["contract"].to_list()
    transfers = [{**moved(2_500_000)[0], "contract": USDT}]
    for tokens in (whole, whole.frame, whole.frame.to_pandas()):
        made = hw.Ledger.from_frames(transfers, tokens=tokens).transactions(ALICE)
        assert made.frame.select("symbol", "amount").rows() == [("usdt", Decimal("2.5"))]


@pytest.mark.parametrize(
    ("row", "reported"),
    [
        ({"contract": "0x12"}, 'tokens, row 3: column "contract" is "0x12", expected an address of ethereum'),
        ({"contract": None}, "tokens, row 3: column \"contract\" is missing, expected the address of 'ABC'"),
        ({"blockchain": "doge"}, 'tokens, row 3: column "blockchain" is "doge"'),
        ({"decimals": 300}, 'tokens, row 3: column "decimals" is "300"'),
    ],
)
def test_bad_token_is_named_by_row_and_column(row: dict[str, Any], reported: str) -> None:
    coin = {**TOKEN, "contract": None, "symbol": "ETH", "decimals": 18}
    with pytest.raises(hw.InvalidInput, match=reported):
        hw.Ledger.from_frames(moved(1), tokens=[coin, TOKEN, {**TOKEN, **row}])


def test_address_columns_of_every_kind_may_have_gaps() -> None:
    columns: list[Any] = [
        [LOWER, None, "x"],
        (text for text in (LOWER, None, "x")),
        pl.Series([LOWER, None, "x"]),
        pd.Series([LOWER, None, "x"]),
        pd.Series([LOWER, np.nan, "x"], dtype=object),
        pd.Series([LOWER, pd.NA, "x"], dtype="string"),
        pa.array([LOWER, None, "x"]),
        pa.chunked_array([[LOWER, None], ["x"]]),
        np.array([LOWER, None, "\ud800"], dtype=object),
    ]
    for column in columns:
        given = list(column) if isinstance(column, Iterable) and not hasattr(column, "__len__") else column
        assert hw.address.validate(given) == [True, False, False], type(column)
        assert hw.address.checksum(given) == ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", None, None], type(column)
    for wrong, reported in (
        (5, "addresses: expected text"),
        (None, "addresses: expected"),
        (["x", 5], r"addresses\[1\] is 5"),
    ):
        with pytest.raises(hw.InvalidInput, match=reported):
            hw.address.validate(wrong)  # type: ignore[arg-type]
    with pytest.raises(hw.InvalidInput, match="chain"):
        hw.address.checksum(LOWER, chain=5)  # type: ignore[call-overload]


def test_balances_of_256_bits_are_measured_in_every_library() -> None:
    # A quarter and three: the poorer half has a quarter, so Gini is 1/4.
    decimals = pa.array([Decimal(10**60), Decimal(3 * 10**60)], pa.decimal256(76))
    table = pa.table({"contract": ["a", "a"], "balance_raw": decimals})
    for column in (decimals, pa.chunked_array([decimals]), pd.Series([10**60, 3 * 10**60], dtype=object)):
        assert metrics.gini(column) == 0.25, type(column)
    rows = [{"contract": "a", "balance_raw": 10**60}, {"contract": "a", "balance_raw": 3 * 10**60}]
    frames: list[Any] = [table, table.to_batches()[0], table.to_reader(), table.to_pandas(), pd.DataFrame(rows), rows]
    for frame in [*frames, table.to_pandas(types_mapper=pd.ArrowDtype)]:
        found = metrics.concentration(frame).select("total", "gini").rows()
        assert found == [(str(4 * 10**60), 0.25)], type(frame)
    small = pa.array([Decimal("0.0000001"), Decimal(10**60)], pa.decimal256(76, 7))
    assert metrics.concentration(small)["total"] == Decimal(f"{10**60}.0000001")


def test_numbers_that_do_not_fit_are_named_with_their_place() -> None:
    rows = [{"from_address": "b", "to_address": "a", "contract": "x", "amount_raw": amount} for amount in (1, 2**130)]
    assert metrics.balances(rows[:1])["net"].to_list() == [1, -1]
    for table in (rows, pd.DataFrame(rows)):
        with pytest.raises(hw.InvalidInput, match=rf"amount_raw\[1\] is {2**130}: sums here"):
            metrics.balances(table)
    with pytest.raises(hw.InvalidInput, match=rf"balance_raw\[1\] is no balance.*{2**256}.*256 bits"):
        metrics.concentration([{"contract": "a", "balance_raw": amount} for amount in (1, 2**256)])
    for values, reported in (
        ([1, 2**2_000], r"values\[1\].*an integer of 2001 bits"),
        ([1.0, 10**400], r"values\[1\] is an integer of 1329 bits"),
        (pd.Series([10**30, np.nan], dtype=object), r"values\[1\] is missing"),
    ):
        with pytest.raises(hw.InvalidInput, match=reported):
            metrics.gini(values)


def test_tables_are_given_back_as_they_are_asked_for() -> None:
    transfers = [{"from_address": "b", "to_address": "a", "contract": "x", "amount_raw": 2**100}]
    bare = metrics.balances(transfers, as_="arrow")
    assert not isinstance(bare, pl.DataFrame)
    assert pa.table(bare).to_pylist()[0]["received"] == str(2**100)
    assert metrics.balances(transfers, as_="pandas")["net"].tolist() == [str(2**100), str(-(2**100))]
    assert pa.table(metrics.lorenz([3, 1], as_="arrow")).to_pydict()["share_of_supply"] == [0.0, 0.25, 1.0]
    held = [{"contract": "a", "balance_raw": 5}]
    assert pl.DataFrame(metrics.concentration(held, as_="arrow"))["total"].to_list() == ["5"]
    for listed in (ledger().read_all("registry", as_="arrow"), ledger().registry().to_frame("arrow")):
        assert not isinstance(listed, pl.DataFrame)
        assert {"btc", "bnb", "eth", "usdt", "trx"} <= set(pa.table(listed).to_pydict()["symbol"])
    assert list(ledger().read_all("registry", as_="pandas")["symbol"])[:2] == ["btc", "bnb"]
    asks: list[Callable[[], object]] = [
        lambda: metrics.balances(transfers, as_="excel"),
        lambda: metrics.lorenz([1], as_="excel"),
        lambda: metrics.concentration(held, as_="excel"),
        lambda: metrics.concentration([1], as_="arrow"),
        lambda: ledger().read_all("registry", as_="excel"),
        lambda: ledger().chains().to_frame("excel"),
    ]
    for ask in asks:
        with pytest.raises(hw.InvalidInput) as caught:
            ask()
        assert caught.value.field == "as_"


ETHER_ONLY: list[Any] = [
    {"eth"},
    ("eth",),
    np.array(["eth"]),
    pd.Series(["eth"]),
    pl.Series(["eth"]),
    pa.array(["eth"]),
    {"eth": 1}.keys(),
]


def test_numbers_times_and_collections_of_any_library_are_plain() -> None:
    made = ledger()
    for symbols in ETHER_ONLY:
        assert made.transactions(ALICE, symbols=symbols).frame.height == 2, type(symbols)
        assert made.prices(symbols, at=1_600_000_500).rows[0]["price_usd"] == 2000.0
    for limit in (np.int64(1), np.uint8(1)):
        assert made.transactions(ALICE, limit=limit).frame.height == 1
    assert made.transactions(ALICE, include_failed=np.bool_(True)).frame.height == 3
    # Movements are 12, 24 and 36 seconds behind 1,600,000,000; what is below a second is cut.
    utc = datetime(2020, 9, 13, 12, 27, 4, 999_999, tzinfo=timezone.utc)
    elsewhere = utc.astimezone(timezone(timedelta(hours=5, minutes=30)))
    for start in (utc, elsewhere, pd.Timestamp(utc)):
        assert made.transactions(ALICE, start_time=start).rows[0]["timestamp"] == 1_600_000_036
        times = made.transactions(ALICE, start_time=start).frame["timestamp"]
        assert times.to_list() == [utc.replace(second=16, microsecond=0), utc.replace(second=4, microsecond=0)]
    for least, rows in ((Decimal(3), 1), (Decimal("3.000000000000000001"), 0)):
        criteria = [{"symbol": "eth", "min_value": least, "sign": "+"}]
        assert made.transactions(ALICE, symbols=["eth"], filter_criterias=criteria).frame.height == rows
    contracts = pd.Series([None, USDT])
    assert made.transactions(ALICE, contracts=contracts).frame.height == 3
    # What can be gone through only once is there for every address.
    many = made.transactions([ALICE, ALICE], symbols=(symbol for symbol in ["eth"]))
    assert [report.frame.height for report in many] == [2, 2]
    for addresses in (np.array([ALICE]), pd.Series([ALICE]), pl.Series([ALICE]), pa.array([ALICE]), {ALICE}):
        assert made.wallet(addresses).addresses == [ALICE]
        assert made.flows(addresses).frame["address"].to_list() == [ALICE]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("start_time", datetime(2020, 1, 1)),
        ("start_time", pd.NaT),
        ("start_time", np.datetime64("2020-01-01T00:00")),
        ("start_time", np.datetime64(1_577_836_800_000_000_000, "ns")),
        ("start_time", "2020-01-01T12:00"),
        ("start_time", "2020-13-01"),
        ("start_time", float("inf")),
        ("limit", float("nan")),
        ("limit", float("inf")),
        ("limit", 2**2_000),
        ("limit", object()),
        ("symbols", b"eth"),
        ("symbols", 5),
        ("cursor", "\ud800"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_named(field: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(hw.InvalidInput) as caught:
        ledger().transactions(ALICE, **{field: value})
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")


def test_addresses_symbols_and_paths_that_are_none_are_named() -> None:
    made = ledger()
    asks: list[tuple[Callable[[], object], str]] = [
        (lambda: made.transactions(None), "address"),  # type: ignore[call-overload]
        (lambda: made.transactions(5), "address"),  # type: ignore[call-overload]
        (lambda: made.transactions(b"0x12"), "address"),  # type: ignore[arg-type]
        (lambda: made.transactions([ALICE, None]), "address[1]"),  # type: ignore[list-item]
        (lambda: made.wallet([SHOP, ALICE, 5]), "address[2]"),  # type: ignore[list-item]
        (lambda: made.flows(None), "addresses"),  # type: ignore[arg-type]
        (lambda: made.prices(None), "symbols"),  # type: ignore[arg-type]
        (lambda: made.prices(["eth", 5]), "symbols[1]"),  # type: ignore[list-item]
        (lambda: made.export("never", chains=5), "chains"),  # type: ignore[arg-type]
        (lambda: made.export(5), "out"),  # type: ignore[arg-type]
        (lambda: made.write("chains", 5), "path"),  # type: ignore[arg-type]
        (lambda: hw.open(5), "path"),  # type: ignore[arg-type]
        (lambda: made.query(None), "endpoint"),  # type: ignore[arg-type]
        (lambda: made.query("chains", [1]), "request"),  # type: ignore[arg-type]
    ]
    for ask, field in asks:
        with pytest.raises(hw.InvalidInput) as caught:
            ask()
        assert caught.value.field == field
