"""Measures of plain columns: worked by hand, against fractions, and on real holders."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import headwater as hw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from headwater import metrics

# Balances, Gini, HHI, Nakamoto, Theil.
VECTORS: list[tuple[list[int], Fraction, Fraction, int, float]] = [
    ([3, 2, 1], Fraction(2, 9), Fraction(7, 18), 2, 0.087208),
    ([3, 2, 1, 1, 1, 1], Fraction(13, 54), Fraction(17, 81), 2, 0.114772),
    ([1, 1, 1], Fraction(0), Fraction(1, 3), 2, 0.0),
    ([5], Fraction(0), Fraction(1), 1, 0.0),
    ([100] + [1] * 99, Fraction(9801, 19900), Fraction(10099, 39601), 1, 1.626021),
    ([500, 250, 125, 100, 25], Fraction(11, 25), Fraction(271, 800), 2, 0.333880),
]


def by_the_book(values: Sequence[int | Decimal], tops: Sequence[int] = (1, 10, 100, 1000)) -> dict[str, Any]:
    """All exact measures by fractions, each rounded once."""
    held = sorted(Fraction(value) for value in values if value > 0)
    n, total = len(held), sum(held, Fraction(0))
    ranked = sum((rank * value for rank, value in enumerate(held, 1)), Fraction(0))
    sums = [Fraction(0)]
    for value in reversed(held):
        sums.append(sums[-1] + value)
    return {
        "holders": n,
        "total": total,
        **{f"top{top}_share": float(sums[min(top, n)] / total) for top in tops},
        "hhi": float(sum((value * value for value in held), Fraction(0)) / total**2),
        "gini": float(2 * ranked / (n * total) - Fraction(n + 1, n)),
        "nakamoto": next(count for count in range(n + 1) if 2 * sums[count] > total),
        "tau_index": next(count for count in range(n + 1) if 3 * sums[count] >= 2 * total),
    }


def exact(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in {"theil", "theil_normalised", "entropy_bits"}}


@pytest.fixture(scope="module")
def airdrop(corpus: Path) -> list[int]:
    with (corpus / "holders/torn_airdrop.csv").open() as file:
        return [int(amount) for _, amount in csv.reader(file)]


@pytest.fixture(scope="module")
def polis(corpus: Path) -> list[Decimal]:
    """Balances in whole units, some of them written like ``3E-18``."""
    with (corpus / "holders/polis_bsc_holders.csv").open() as file:
        return [Decimal(row["Balance"].replace(",", "")) for row in csv.DictReader(file)]


def test_the_published_vectors_hold_exactly() -> None:
    for values, gini, hhi, nakamoto, theil in VECTORS:
        assert metrics.gini(values) == float(gini), values
        assert metrics.hhi(values) == float(hhi), values
        assert metrics.nakamoto(values) == nakamoto, values
        assert metrics.theil(values) == pytest.approx(theil, abs=1e-6), values
        assert exact(metrics.concentration(values)) == by_the_book(values)
    huge = [2**255, 2**254, 1]
    assert exact(metrics.concentration(huge)) == by_the_book(huge)
    assert (round(metrics.gini(huge), 4), round(metrics.hhi(huge), 4)) == (0.4444, 0.5556)


def test_tau_share_is_reached_and_nakamoto_share_exceeded() -> None:
    assert (metrics.tau_index([3, 2, 1], 0.5), metrics.nakamoto([3, 2, 1])) == (1, 2)
    assert metrics.tau_index([3, 2, 1], 2 / 3) == metrics.tau_index([3, 2, 1]) == 2
    # Of ten, one has a tenth: the float nearest to it is a little more, and would need two.
    assert [metrics.tau_index([1] * 10, tau) for tau in (0.1, Fraction(1, 10), Decimal("0.1"), 0.11, 1)] == [
        1,
        1,
        1,
        2,
        10,
    ]
    for tau in (0, 1.01, -0.5, float("nan")):
        with pytest.raises(hw.InvalidInput, match="tau"):
            metrics.tau_index([1], tau)


def test_shares_of_the_largest_are_of_any_number() -> None:
    assert [metrics.top_share([5, 3, 2], n) for n in (1, 2, 3, 9)] == [0.5, 0.8, 1.0, 1.0]
    found = metrics.concentration([5, 3, 2], tops=[2, 1, 2])
    assert [name for name in found if name.startswith("top")] == ["top1_share", "top2_share"]
    for n in (0, -1, 1.5, True):
        with pytest.raises(hw.InvalidInput, match="number of holders"):
            metrics.top_share([1], n)  # type: ignore[arg-type]


def test_nobody_and_nothing_measure_zero() -> None:
    for values in ([], [0, 0], [0.0], pl.Series([], dtype=pl.String)):
        found = metrics.concentration(values)
        assert (found["holders"], found["total"], found["gini"], found["nakamoto"]) == (0, 0, 0.0, 0)
    assert metrics.lorenz([0]).rows() == [(0.0, 0.0)]
    assert metrics.gini([0, 3, 0, 2, 1]) == metrics.gini([3, 2, 1])


def test_any_kind_of_column_gives_the_same() -> None:
    values = [7, 1, 12, 7, 3]
    expected = exact(metrics.concentration(values))
    columns = [
        tuple(values),
        (value for value in values),
        [str(value) for value in values],
        [Decimal(value) for value in values],
        [np.uint8(value) for value in values],
        np.array(values, dtype=np.int32),
        np.array(values, dtype=np.uint64),
        np.array(values, dtype=object),
        pl.Series(values, dtype=pl.UInt8),
        pl.Series(values, dtype=pl.Int128),
        pl.Series(values, dtype=pl.Decimal(38, 0)),
        pl.Series(values).cast(pl.String),
        pd.Series(values),
        pd.Series(values, dtype="Int64"),
        pd.Series([str(value) for value in values]),
        pd.Series(values, dtype=object),
        pa.array(values),
        pa.chunked_array([values[:2], values[2:]]),
        pa.array(values).cast(pa.decimal128(38, 0)),
        pa.array([str(value) for value in values]),
    ]
    for column in columns:
        assert exact(metrics.concentration(column)) == expected, type(column)
    wide = [value * 2**130 for value in values]
    for column in (wide, np.array(wide, dtype=object), pd.Series(wide, dtype=object), [str(value) for value in wide]):
        assert exact(metrics.concentration(column)) == {**expected, "total": sum(wide)}, type(column)


def test_decimals_are_exact_in_one_unit() -> None:
    texts = ["0.3", "2", "0.000000000000000001", "10.50"]
    expected = by_the_book([Decimal(text) for text in texts])
    for column in (texts, [Decimal(text) for text in texts], pl.Series([Decimal(text) for text in texts])):
        assert exact(metrics.concentration(column)) == expected
    assert metrics.concentration(texts)["total"] == Decimal("12.800000000000000001")
    assert metrics.gini([Decimal("3E-18"), Decimal("2E-18"), Decimal("1E-18")]) == 2 / 9


def test_floats_are_measured_in_doubles() -> None:
    values = [0.5, 1.5, 1.0]
    found = metrics.concentration(values)
    assert (found["total"], found["gini"], found["hhi"], found["nakamoto"]) == (3.0, 2 / 9, 7 / 18, 2)
    for column in (np.array(values, dtype=np.float32), pl.Series(values), pd.Series(values), [0.5, Decimal("1.5"), 1]):
        assert metrics.concentration(column) == found, type(column)
    # Past the range in which squares are doubles.
    assert metrics.gini([3e300, 2e300, 1e300]) == pytest.approx(2 / 9, rel=1e-14)
    assert metrics.hhi([3e-320, 2e-320, 1e-320]) == pytest.approx(7 / 18, rel=1e-3)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([3, -5, 1], r"values\[1\] is -5"),
        ([3.0, 2.0, -1.0], r"values\[2\] is -1"),
        ([1.0, float("nan")], r"values\[1\] is NaN"),
        ([float("inf")], r"values\[0\] is inf"),
        (["1", "x"], r"values\[1\].*x"),
        (["1", "-2"], r"values\[1\] is -2"),
        (["1", "1e5"], r"values\[1\].*1e5"),
        ([1, None], r"values\[1\] is missing"),
        (pd.Series([1.0, None]), r"values\[1\] is missing"),
        ([str(2**256)], r"values\[0\].*256 bits"),
    ],
)
def test_what_is_no_balance_is_named_with_its_place(values: Any, place: str) -> None:  # noqa: ANN401
    with pytest.raises(hw.InvalidInput, match=place) as caught:
        metrics.gini(values)
    assert caught.value.field is not None
    assert place.replace("\\", "").startswith(caught.value.field)


def test_what_is_no_column_of_numbers_is_refused() -> None:
    for values in ("123", 5, [True], ["1", 1.5], [object()], pl.Series([[1]]), {"a": 1}):
        with pytest.raises(hw.InvalidInput, match="expected"):
            metrics.gini(values)  # type: ignore[arg-type]
    with pytest.raises(hw.InvalidInput, match="256 bits"):
        metrics.gini([2**256 - 1, 2**256 - 1])


def test_order_and_unit_change_nothing(airdrop: list[int]) -> None:
    expected = exact(metrics.concentration(airdrop))
    for values in (sorted(airdrop), airdrop[::-1], airdrop[1000:] + airdrop[:1000]):
        assert exact(metrics.concentration(values)) == expected
    scaled = exact(metrics.concentration([value * 10**40 for value in airdrop]))
    assert scaled == {**expected, "total": sum(airdrop) * 10**40}


def test_real_holders_are_measured_to_the_last_bit(airdrop: list[int], polis: list[Decimal]) -> None:
    torn = metrics.concentration(airdrop)
    assert exact(torn) == by_the_book(airdrop)
    assert (torn["holders"], round(torn["gini"], 6), round(torn["hhi"] * 10_000, 4)) == (7514, 0.697743, 8.2707)
    assert (round(torn["top10_share"], 6), torn["total"]) == (0.041931, sum(airdrop))
    found = metrics.concentration(polis)
    assert exact(found) == by_the_book(polis)
    assert (found["holders"], round(found["gini"], 6), round(found["hhi"] * 10_000, 2)) == (1010, 0.958233, 3776.04)
    assert (round(found["top1_share"], 6), round(found["top10_share"], 6)) == (0.602399, 0.811393)
    in_doubles = metrics.concentration([float(amount) for amount in airdrop])
    for name, value in torn.items():
        assert in_doubles[name] == pytest.approx(value, rel=1e-12), name


def test_groups_of_a_table_are_measured_as_if_they_were_alone(airdrop: list[int], polis: list[Decimal]) -> None:
    texts = [format(value, "f") for value in polis]
    rows = [("torn", str(value)) for value in airdrop] + [("polis", value) for value in texts] + [(None, "7")]
    table = pl.DataFrame(rows, schema=["contract", "balance_raw"], orient="row").sample(
        fraction=1, shuffle=True, seed=1
    )
    found = metrics.concentration(table)
    assert found["contract"].to_list() == [None, "polis", "torn"]
    for name, values in ((None, ["7"]), ("polis", texts), ("torn", airdrop)):
        row = found.filter(pl.col("contract").eq_missing(pl.lit(name))).drop("contract").row(0, named=True)
        alone = metrics.concentration(values)
        assert exact({**row, "total": Decimal(row["total"])}) == exact(alone)
        assert row["theil"] == pytest.approx(alone["theil"], rel=1e-12)
    arrow, pandas = pa.table({"contract": ["a", "a"], "x": [1, 3]}), pd.DataFrame({"contract": ["a", "a"], "x": [1, 3]})
    others: list[Any] = [arrow, pandas, [{"contract": "a", "x": 1}, {"contract": "a", "x": 3}]]
    for other in others:
        assert metrics.concentration(other, value="x").select("contract", "gini").rows() == [("a", 0.25)]
    assert metrics.concentration(pl.DataFrame(arrow), by=None, value="x").select("holders", "gini").rows() == [
        (2, 0.25)
    ]


def test_a_table_names_the_row_of_what_is_no_balance() -> None:
    table = pl.DataFrame({"contract": ["b", "a", "b", "a"], "balance_raw": [1, 2, 3, -4]})
    with pytest.raises(hw.InvalidInput, match=r"balance_raw\[3\] is -4") as caught:
        metrics.concentration(table)
    assert caught.value.field == "balance_raw[3]"
    with pytest.raises(hw.InvalidInput, match=r"no column 'balance'.*contract, balance_raw"):
        metrics.concentration(table, value="balance")
    assert metrics.concentration(table.head(0)).rows() == []


def test_the_curve_of_lorenz_encloses_the_gini_coefficient(airdrop: list[int]) -> None:
    assert metrics.lorenz([3, 2, 1]).rows() == [(0.0, 0.0), (1 / 3, 1 / 6), (2 / 3, 0.5), (1.0, 1.0)]
    assert metrics.lorenz([0.75, 0.25]).rows() == [(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)]
    assert metrics.lorenz(["0.75", "0.25"]).rows() == [(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)]
    curve = metrics.lorenz(airdrop)
    assert curve.height == len(airdrop) + 1
    shares = curve["share_of_supply"].to_list()
    below = sum(left + right for left, right in pairwise(shares)) / (2 * len(airdrop))
    assert 1 - 2 * below == pytest.approx(metrics.gini(airdrop), rel=1e-12)
    few = metrics.lorenz(airdrop, points=10)
    assert few.height == 11
    assert set(few.rows()) <= set(curve.rows())


TRANSFERS: list[dict[str, Any]] = [
    {"from_address": None, "to_address": "ann", "contract": "a", "amount_raw": "9", "status": "success"},
    {"from_address": "ann", "to_address": "bob", "contract": "a", "amount_raw": "4", "status": None},
    {"from_address": "ann", "to_address": "bob", "contract": "a", "amount_raw": "3", "status": "failed"},
    {"from_address": "bob", "to_address": "bob", "contract": "a", "amount_raw": "2", "status": "success"},
    {"from_address": "bob", "to_address": "ann", "contract": None, "amount_raw": "1", "status": "success"},
]


def test_balances_are_what_came_in_less_what_went_out() -> None:
    expected = [
        ("ann", None, 1, 0, 1),
        ("ann", "a", 9, 4, 5),
        ("bob", None, 0, 1, -1),
        ("bob", "a", 4, 0, 4),
    ]
    for table in (TRANSFERS, pl.DataFrame(TRANSFERS), pl.LazyFrame(TRANSFERS), pa.Table.from_pylist(TRANSFERS)):
        found = metrics.balances(table)
        assert found.rows() == expected
        assert [found.schema[name] for name in ("received", "sent", "net")] == [pl.Int128] * 3
    assert metrics.balances(TRANSFERS, by=["address"]).rows() == [("ann", 10, 4, 6), ("bob", 4, 1, 3)]
    assert metrics.balances(pl.DataFrame(TRANSFERS).head(0)).rows() == []
    with pytest.raises(hw.InvalidInput, match="'address'"):
        metrics.balances(TRANSFERS, by=["contract"])
    with pytest.raises(hw.InvalidInput, match="'chain'"):
        metrics.balances(TRANSFERS, by=["address", "chain"])


def test_sums_are_exact_to_their_limit_and_an_error_past_it() -> None:
    def moved(*amounts: object) -> pl.DataFrame:
        rows = [
            {**TRANSFERS[0], "to_address": f"{number % 2}", "amount_raw": str(amount)}
            for number, amount in enumerate(amounts)
        ]
        return metrics.balances(rows)

    largest = 2**127 - 1
    assert moved(largest, 5, 0, largest - 5)["net"].to_list() == [largest, largest]
    assert moved(2**126, 0, 2**126 - 1)["received"].to_list() == [largest, 0]
    with pytest.raises(hw.InvalidInput, match="address 1, contract a moved passes"):
        moved(1, largest, 1, 1)
    with pytest.raises(hw.InvalidInput, match=r"amount_raw\[2\].*sums here"):
        moved(1, 1, largest + 1)
    for amount in ("-1", "1.5", "", "0x1"):
        with pytest.raises(hw.InvalidInput, match=r"amount_raw\[1\].*digits"):
            moved(1, amount)
    with pytest.raises(hw.InvalidInput, match=r"amount_raw\[0\] is missing"):
        metrics.balances([{**TRANSFERS[0], "amount_raw": None}])
    with pytest.raises(hw.InvalidInput, match="never floats"):
        metrics.balances([{**TRANSFERS[0], "amount_raw": 1.0}])


@pytest.fixture(scope="module")
def token_transfers(corpus: Path) -> pl.DataFrame:
    """Equal rows of one export are separate movements, across exports the same ones: the largest count prevails."""
    keys = ["blockNumber", "hash", "from", "to", "contractAddress", "value"]
    rows = pl.read_parquet(corpus / "classifier/eth_token_transfers.parquet")
    counts = rows.group_by(*keys, "AccountId").agg(pl.len().alias("n")).group_by(keys).agg(pl.col("n").max())
    repeated = counts.select(pl.all().exclude("n").repeat_by("n")).explode(keys)
    names = {"from": "from_address", "to": "to_address", "contractAddress": "contract", "value": "amount_raw"}
    return repeated.rename(names)


def test_real_balances_are_those_of_an_independent_fold(exports: Path, token_transfers: pl.DataFrame) -> None:
    expected: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    past = set()
    moves = token_transfers.select("from_address", "to_address", "contract", "amount_raw").rows()
    for sender, receiver, contract, raw in moves:
        if int(raw) >= 2**127:
            past.add(contract)
        if sender != receiver:
            expected[receiver, contract][0] += int(raw)
            expected[sender, contract][1] += int(raw)
    assert past, "some tokens move amounts that are not balances"
    with pytest.raises(hw.InvalidInput, match="leave out its asset"):
        metrics.balances(token_transfers)
    found = metrics.balances(token_transfers.filter(~pl.col("contract").is_in(list(past))))
    kept = {key: (received, sent) for key, (received, sent) in expected.items() if key[1] not in past}
    assert {(who, contract): (received, sent) for who, contract, received, sent, _ in found.rows()} == kept
    assert (found["net"] == found["received"] - found["sent"]).all()

    # And those of the ledger, for the tokens with most holders and a few of the others.
    ledger = hw.open(exports)
    held = found.filter(pl.col("net") > 0)
    ranked = held.group_by("contract").len().sort("len", "contract", descending=True)["contract"].to_list()
    zero, dead, one = ("0x" + end.zfill(40) for end in ("0", "dead", "1"))
    for contract in ranked[:12] + ranked[20::400]:
        mine = held.filter((pl.col("contract") == contract) & ~pl.col("address").is_in([zero, dead, one, contract]))
        rows = ledger.read_all("token/holders", blockchain="ethereum", contract=contract, amounts="text")
        mine = mine.sort(["net", "address"], descending=[True, False])
        assert rows.select("address", "balance_raw").rows() == [
            (who, str(net)) for who, net in mine.select("address", "net").rows()
        ]
        report = ledger.concentration(contract)
        alone = metrics.concentration(mine["net"], tops=[10, 100, 1000])
        for name in ("hhi", "gini", "nakamoto"):
            assert report.concentration[name] == alone[name], contract
        for top in (10, 100, 1000):
            assert report.concentration[f"top{top}_pct"] == 100 * alone[f"top{top}_share"], contract
        assert report.holder_count == alone["holders"]
        for who, raw in rows.select("address", "balance_raw").head(1).rows():
            history = ledger.balance_history(who, contracts=[contract])
            assert isinstance(history, hw.Report)
            assert [item["balance_raw"] for item in history.final_balance["balances"]] == [raw]
