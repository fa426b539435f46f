"""Expressions over amounts of 256 bits agree with Python's own integers."""

from __future__ import annotations

import operator
import random
from collections import defaultdict
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import headwater as hw
import polars as pl
import pytest
from headwater import u256

EDGES = [0, 1, 9, 10, 10**27 - 1, 10**27, 10**54, 2**63, 2**64, 2**128, 2**255, 2**256 - 1]


def numbers(count: int, seed: int = 7) -> list[int]:
    """Random numbers of every length, with those at the edges."""
    made = random.Random(seed)
    return EDGES + [made.getrandbits(made.randint(1, 256)) for _ in range(count)]


def texts(values: list[int | None]) -> list[str | None]:
    """The numbers as text."""
    return [None if value is None else str(value) for value in values]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_sums_and_extremes_by_group_are_exact(engine: str) -> None:
    values = [None if place % 11 == 3 else value for place, value in enumerate(numbers(3000))]
    groups = [place % 13 for place in range(len(values))]
    frame = pl.LazyFrame({"of": groups, "raw": texts(values)})
    held: dict[int, list[int]] = defaultdict(list)
    for group, value in zip(groups, values, strict=True):
        held[group] += [] if value is None else [value]
    by_group = frame.group_by("of").agg(u256.sum("raw"), u256.max("raw").alias("most"), u256.min("raw").alias("least"))
    found = by_group.sort("of").collect(engine=engine)  # type: ignore[call-overload]
    assert found.rows() == [
        (of, str(sum(of_group)), str(max(of_group)), str(min(of_group))) for of, of_group in sorted(held.items())
    ]
    whole = frame.select(u256.sum("raw")).collect(engine=engine).item()  # type: ignore[call-overload]
    assert int(whole) == sum(value for value in values if value is not None) > 2**256
    over = frame.with_columns(u256.sum("raw").over("of").alias("total")).collect()
    assert over.columns == ["of", "raw", "total"]
    assert over["total"].to_list() == [str(sum(held[group])) for group in groups]


def test_sums_of_nothing_are_zero_and_extremes_null() -> None:
    for column in (pl.Series("raw", [], dtype=pl.String), pl.Series("raw", [None, None], dtype=pl.String)):
        frame = pl.DataFrame([column])
        found = frame.select(u256.sum("raw"), u256.max("raw").alias("most"), u256.min("raw").alias("least"))
        assert found.rows() == [("0", None, None)]


def test_sums_take_columns_of_integers_and_refuse_others() -> None:
    frame = pl.DataFrame({"whole": [1, 2, None], "float": [1.0, 2.5, None], "text": ["1", "-2", "x"]})
    assert frame.select(u256.sum("whole")).item() == "3"
    for name in ("float", "text"):
        with pytest.raises(pl.exceptions.PolarsError):
            frame.select(u256.sum(name))


@pytest.mark.parametrize("name", ["lt", "le", "eq", "ne", "ge", "gt"])
def test_comparisons_are_those_of_integers(name: str) -> None:
    compare: Callable[[int, int], bool] = getattr(operator, name)
    expression: Callable[..., pl.Expr] = getattr(u256, name)
    left = numbers(400)
    right = [
        value if place % 3 == 0 else other
        for place, (value, other) in enumerate(zip(left, numbers(400, 8), strict=True))
    ]
    frame = pl.DataFrame({"left": texts([*left]), "right": texts([*right])})
    found = frame.select(expression("left", "right")).to_series().to_list()
    assert found == [compare(one, other) for one, other in zip(left, right, strict=True)]
    for bound in (0, 10**18, 2**256 - 1):
        assert frame.filter(expression(pl.col("left"), bound)).height == sum(compare(value, bound) for value in left)
    assert frame.sort(u256.sort_key("left"))["left"].to_list() == texts(sorted(left))  # type: ignore[arg-type]
    assert pl.DataFrame({"raw": [None]}, schema={"raw": pl.String}).select(expression("raw", 1)).item() is None


def test_decimals_are_exact_or_null() -> None:
    made = random.Random(3)
    values = numbers(2000)
    places = [made.randint(0, 60) for _ in values]
    frame = pl.DataFrame({"raw": texts([*values]), "decimals": places})
    found = frame.select(u256.to_decimal("raw", "decimals", scale=10)).to_series().to_list()
    with localcontext(Context(prec=100)):
        for value, place, decimal in zip(values, places, found, strict=True):
            cut = value * 10**10 // 10**place
            assert decimal == (None if cut >= 10**38 else Decimal(cut).scaleb(-10)), (value, place)
    assert frame.select(u256.to_decimal("raw", 18)).schema["raw"] == pl.Decimal(38, 18)
    one = pl.DataFrame({"raw": ["1500000"], "decimals": [None]}, schema_overrides={"decimals": pl.Int64})
    assert one.select(u256.to_decimal("raw", 6)).item() == Decimal("1.5")
    assert one.select(u256.to_decimal("raw", "decimals")).item() is None
    assert one.select(u256.to_float("raw", "decimals")).item() is None


def test_doubles_are_the_nearest() -> None:
    made = random.Random(5)
    values = numbers(2000)
    places = [made.randint(0, 60) for _ in values]
    frame = pl.DataFrame({"raw": texts([*values]), "decimals": places})
    found = frame.select(u256.to_float("raw", "decimals")).to_series().to_list()
    assert found == [float(Fraction(value, 10**place)) for value, place in zip(values, places, strict=True)]


def test_text_is_read_and_checked() -> None:
    values = numbers(500)
    frame = pl.DataFrame({"hex": [hex(value) for value in values], "padded": [f"00{value}" for value in values]})
    for name in frame.columns:
        assert frame.select(u256.from_text(name)).to_series().to_list() == texts([*values])
    assert pl.DataFrame({"raw": [None, "0XfF"]}).select(u256.from_text("raw")).to_series().to_list() == [None, "255"]
    for wrong in ("", "-1", "+1", "1.0", " 1", "abc", "0x", "0x" + "f" * 65, str(2**256), "9" * 100):
        column = pl.DataFrame({"raw": ["5", wrong]})
        assert column.select(u256.from_text("raw", strict=False)).to_series().to_list() == ["5", None], wrong
        with pytest.raises(pl.exceptions.PolarsError, match="is not an integer of 256 bits"):
            column.select(u256.from_text("raw"))


def test_operands_out_of_range_are_refused() -> None:
    for wrong in (-1, 2**256, True, 1.5, None):
        with pytest.raises(hw.InvalidInput):
            u256.lt("raw", wrong)  # type: ignore[arg-type]
    for options in ({"scale": 39}, {"scale": -1}, {"decimals": 39}, {"decimals": 256, "scale": 1}):
        with pytest.raises(hw.InvalidInput):
            u256.to_decimal("raw", **options)
