"""Columns that callers hand over, in the few types that are measured: integers of 64 bits, doubles, decimal text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from headwater._tables import table
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
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        message = f"expected a column of numbers (a list, an array, a series), not {type(values).__name__}"
        raise InvalidInput(message, reason="invalid_type", field="values")
    if not hasattr(values, "__array__") and not hasattr(values, "__arrow_c_array__"):
        return _of_objects(list(values))
    try:
        return pl.Series(values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        # Integers past 64 bits, which arrays hold as objects.
        return _of_objects(values.to_pylist() if hasattr(values, "to_pylist") else list(values))


def _of_objects(items: list[Any]) -> pl.Series:
    kinds = {type(item) for item in items if item is not None}
    wrong = [kind for kind in kinds if kind is bool or not issubclass(kind, (Real, Decimal, str))]
    doubles = any(issubclass(kind, Real) and not issubclass(kind, Integral) for kind in kinds)
    if wrong or (doubles and str in kinds):
        names = " and ".join(sorted(kind.__name__ for kind in wrong or kinds))
        message = f"values are of type {names}: expected integers, floats, decimals or decimal text"
        raise InvalidInput(message, reason="invalid_type", field="values")
    if doubles:
        return pl.Series([None if item is None else float(item) for item in items], dtype=pl.Float64)
    if all(kind is int for kind in kinds):
        try:
            return pl.Series(items, dtype=pl.UInt64)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            pass  # Past 64 bits, or below zero.
    return pl.Series([None if item is None else _text(item) for item in items], dtype=pl.String)


def _text(item: Any) -> str:  # noqa: ANN401
    """Give the digits of a number, without an exponent."""
    if isinstance(item, str):
        return item
    return format(item, "f") if isinstance(item, Decimal) else str(int(item))


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


def frame(value: Any) -> pl.DataFrame:  # noqa: ANN401
    """Give any table as a polars frame."""
    if isinstance(value, pl.LazyFrame):
        return value.collect()
    made = table(value)
    if not isinstance(made, pl.DataFrame):
        made = table(pl.DataFrame(made))
    whole: pl.DataFrame = made
    return whole


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
