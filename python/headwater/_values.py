"""Columns that callers hand over, in the few types that are measured: integers of 64 bits, doubles, decimal text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from headwater._objects import (
    digits,
    is_collection,
    is_double,
    is_exact,
    is_missing,
    is_whole,
    items,
    kinds_of,
    shown,
    without_gaps,
)
from headwater.errors import InvalidInput

Values = Iterable[object]

_UNSIGNED = (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
_SIGNED = (pl.Int8, pl.Int16, pl.Int32, pl.Int64)
_LARGEST = 2**127 - 1


def column(values: Any) -> pl.Series:  # noqa: ANN401
    """Give any column of numbers as one that can be measured; nothing is rounded but what is a float already."""
    series: pl.Series = values if isinstance(values, pl.Series) else _series(values)
    dtype = series.dtype
    if dtype in _UNSIGNED or dtype == pl.Null:
        return _cast(series, pl.UInt64)
    if dtype in _SIGNED:
        return _cast(series, pl.Int64)
    if dtype.is_float():
        return _cast(series, pl.Float64)
    if dtype.is_integer() or dtype.is_decimal():
        return _cast(series, pl.String)
    if dtype == pl.Object:
        return _of_objects(series.to_list())
    if dtype != pl.String:
        message = f"values are of type {dtype}: expected integers, floats, decimals or decimal text"
        raise InvalidInput(message, reason="invalid_type", field="values")
    return series


def _cast(series: pl.Series, dtype: DataTypeClass) -> pl.Series:
    """Give another type; what has no form in it is missing."""
    made: pl.Series = series.cast(dtype, strict=False)
    return made


def _series(values: Any) -> pl.Series:  # noqa: ANN401
    if not is_collection(values):
        message = f"expected a column of numbers (a list, an array, a series), not {type(values).__name__}"
        raise InvalidInput(message, reason="invalid_type", field="values")
    # Arrays say what they hold as `dtype`, those of Arrow as `type`.
    kind = str(getattr(values, "dtype", getattr(values, "type", "object")))
    if kind == "object" or kind.startswith("decimal256"):
        return _of_objects(items(values))
    try:
        return pl.Series(values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return _of_objects(items(values))


def _of_objects(given: list[Any]) -> pl.Series:
    known = without_gaps(given)
    # Of nothing but NaNs the type is still that of floats.
    kinds = kinds_of(known) or kinds_of(given)
    doubles = any(map(is_double, kinds))
    wrong = {kind for kind in kinds if not is_exact(kind) and not is_double(kind)}
    if wrong or (doubles and any(issubclass(kind, str) for kind in kinds)):
        names = " and ".join(sorted(kind.__name__ for kind in wrong or kinds))
        message = f"values are of type {names}: expected integers, floats, decimals or decimal text"
        raise InvalidInput(message, reason="invalid_type", field="values")
    if doubles:
        return pl.Series([_double(place, item) for place, item in enumerate(given)], dtype=pl.Float64)
    there = [item for item in known if item is not None]
    if all(map(is_whole, kinds)) and (not there or (min(there) >= 0 and max(there) < 2**64)):
        return pl.Series([None if item is None else int(item) for item in known], dtype=pl.UInt64)
    return pl.Series([None if item is None else digits(item) for item in known], dtype=pl.String)


def _double(place: int, item: Any) -> float | None:  # noqa: ANN401
    if is_missing(item) and not is_double(type(item)):
        return None
    try:
        return float(item)
    except OverflowError:
        place_of = f"values[{place}]"
        message = f"{place_of} is {shown(item)}: that is no double, which its neighbours are"
        raise InvalidInput(message, reason="invalid_value", field=place_of) from None


def integers(series: pl.Series) -> list[int]:
    """Give the values of a measured column as integers of one unit: that of the last decimal or binary place."""
    values: list[Any] = series.to_list()
    if series.dtype == pl.Float64:
        ratios = [value.as_integer_ratio() for value in values]
        unit = max((denominator for _, denominator in ratios), default=1)
        return [numerator * (unit // denominator) for numerator, denominator in ratios]
    if series.dtype != pl.String:
        return values
    parts = [text.partition(".") for text in values]
    decimals = max((len(fraction) for _, _, fraction in parts), default=0)
    return [int(whole + fraction.ljust(decimals, "0")) for whole, _, fraction in parts]


def named(table: pl.DataFrame, *names: str) -> None:
    """Refuse a table that lacks a column."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        message = f"the table has no column {', '.join(map(repr, missing))}: it has {', '.join(table.columns)}"
        raise InvalidInput(message, reason="missing_field", field=missing[0])


def amounts(series: pl.Series) -> pl.Series:
    """Give a column of raw amounts as integers of 128 bits."""
    if series.dtype.is_float():
        message = f"{series.name} is of type {series.dtype}: amounts are integers or text of digits, never floats"
        raise InvalidInput(message, reason="invalid_type", field=series.name)
    exact = column(series)
    whole = _cast(exact, pl.Int128)
    refused = (whole.is_null() | (whole < 0)).arg_true()
    if len(refused) == 0:
        return whole
    row = refused[0]
    value = exact[row]
    if value is None:
        why = "is missing"
    elif not str(value).isdecimal():
        why = f"is {value}: expected digits"
    else:
        why = f"is {value}: sums here are exact up to {_LARGEST}, so leave out its asset"
    place = f"{series.name}[{row}]"
    raise InvalidInput(f"{place} {why}", reason="invalid_value", field=place)
