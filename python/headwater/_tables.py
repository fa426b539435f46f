"""Tables that callers hand over, as Arrow streams of types that every reader of Arrow knows; and tables given back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

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

if TYPE_CHECKING:
    from headwater._headwater import _ArrowStream

# Columns of amounts: they keep all their digits, or are refused.
_AMOUNTS = frozenset({"amount_raw"})
_INTEGERS = frozenset({pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64})
# What reading a foreign table may raise; libraries of tables have errors of their own below these.
UNREADABLE: tuple[type[BaseException], ...] = (
    ArithmeticError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


class ArrowTable:
    """A bare table: nothing but ``__arrow_c_stream__``."""

    def __init__(self, table: _ArrowStream) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table through the Arrow C stream interface."""
        return self._table.__arrow_c_stream__(requested_schema)


class HandedTable(ArrowTable):
    """A table of a caller, which is called by its name where it breaks."""

    def __init__(self, value: Any, name: str) -> None:  # noqa: ANN401
        super().__init__(table(value, name))
        self._name = name

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table through the Arrow C stream interface."""
        try:
            return super().__arrow_c_stream__(requested_schema)
        except UNREADABLE as error:
            raise unreadable(self._name, error) from error


def given_as(table: pl.DataFrame | _ArrowStream, as_: str) -> Any:  # noqa: ANN401
    """Give a table back in the form that was asked for: integers past 64 bits are text but in polars."""
    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
    if as_ == "polars":
        return frame
    known = _of_polars(frame, "table")
    return ArrowTable(known) if as_ == "arrow" else known.to_pandas()


def check_form(as_: object) -> None:
    """Refuse a form that no table is given in, before there is one."""
    if as_ not in ("polars", "arrow", "pandas"):
        message = f"as_={as_!r} is unknown: give 'polars', 'arrow' or 'pandas'"
        raise InvalidInput(message, reason="invalid_value", field="as_")


def table(value: Any, name: str = "table") -> Any:  # noqa: ANN401
    """Give what has ``__arrow_c_stream__``, made from a list of dicts where needed; ``name`` is what messages call it.

    Integers past 64 bits have no type that all readers of Arrow know: they become text, which is exact.
    """
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, pl.DataFrame):
        return _of_polars(value, name)
    if hasattr(value, "__arrow_c_stream__"):
        return _of_pandas(value, name) if hasattr(value, "iloc") else value
    if is_collection(value):
        return _of_rows(items(value), name)
    message = f"{name}: expected a table with __arrow_c_stream__ or a list of dicts, not {type(value).__name__}"
    raise InvalidInput(message, reason="invalid_type", field=name)


def frame(value: Any, name: str = "table") -> pl.DataFrame:  # noqa: ANN401
    """Give any table as a polars frame, in which what polars has no exact type for is text."""
    made = _of_arrow(table(value, name), name)
    if isinstance(made, pl.DataFrame):
        return made
    try:
        return _of_polars(pl.DataFrame(made), name)
    except UNREADABLE as error:
        raise unreadable(name, error) from error


def unreadable(name: str, error: BaseException) -> InvalidInput:
    """Give the refusal of a table that breaks when it is read."""
    message = f"{name}: it cannot be read as an Arrow table: {error}"
    return InvalidInput(message, reason="invalid_type", field=name)


def _of_polars(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    made = []
    for column in frame.get_columns():
        if column.dtype == pl.Object:
            made.append(_column(name, column.name, column.to_list()))
        elif column.dtype == pl.Null or (column.dtype.is_integer() and column.dtype not in _INTEGERS):
            # A column of nothing but null has no type yet, and Arrow libraries disagree about how it is laid out.
            made.append(column.cast(pl.String))
    return frame.with_columns(made)


def _of_pandas(table: Any, name: str) -> Any:  # noqa: ANN401
    """Give a table of pandas whose columns of Python's own numbers are exact: Arrow has no integers as large."""
    made: dict[str, pl.Series] = {}
    if not table.columns.is_unique:
        return table
    for column, dtype in zip(table.columns, table.dtypes, strict=True):
        if isinstance(column, str) and (str(dtype) == "object" or str(dtype).startswith("decimal256")):
            held = table[column].to_list()
            kinds = kinds_of(held)
            if len(kinds) > 1 or any(is_exact(kind) and not issubclass(kind, str) for kind in kinds):
                exact = _column(name, column, held)
                # A list of integers with gaps would become floats again.
                made[column] = exact.cast(pl.String) if exact.dtype.is_integer() else exact
    if not made:
        return table
    copy = table.copy(deep=False)
    for column, series in made.items():
        copy[column] = series.to_list()
    return copy


def _of_arrow(table: Any, name: str) -> Any:  # noqa: ANN401
    """Give a table of pyarrow without decimals of 256 bits, which polars cannot hold."""
    fields = [] if isinstance(table, pl.DataFrame) else getattr(table, "schema", None)
    wide = [field.name for field in fields or () if str(getattr(field, "type", "")).startswith("decimal256")]
    if not wide:
        return table
    whole = table.read_all() if hasattr(table, "read_all") else table
    narrow = pl.DataFrame(whole.select([field.name for field in whole.schema if field.name not in wide]))
    texts = [_column(name, column, whole.column(column).to_pylist()) for column in wide]
    return _of_polars(narrow, name).with_columns(texts).select(whole.schema.names)


def _of_rows(rows: list[Any], name: str) -> pl.DataFrame:
    columns: dict[object, list[Any]] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            message = f"{name}, row {number}: it is {shown(row)}, expected a dict"
            raise InvalidInput(message, reason="invalid_type", field=name)
        for column, item in row.items():
            held = columns.setdefault(column, [])
            if len(held) < number - 1:
                # Rows before the first that has the column have nothing there.
                held += [None] * (number - 1 - len(held))
            held.append(item)
    filled = {column: held + [None] * (len(rows) - len(held)) for column, held in columns.items()}
    return pl.DataFrame([_column(name, str(column), held) for column, held in filled.items()])


def _column(name: str, column: str, held: list[Any]) -> pl.Series:
    """Give Python objects as a column: exact ones stay exact, whatever their size."""
    known = without_gaps(held)
    kinds = kinds_of(known)
    if not all(map(is_exact, kinds)) or (not kinds and kinds_of(held)):
        return _inexact(name, column, held)
    # Among exact items a NaN is a gap, as pandas has it.
    if kinds and all(map(is_whole, kinds)):
        there = [item for item in known if item is not None]
        least, most = min(there), max(there)
        for dtype, low, high in ((pl.Int64, -(2**63), 2**63 - 1), (pl.UInt64, 0, 2**64 - 1)):
            if low <= least and most <= high:
                return pl.Series(column, [None if item is None else int(item) for item in known], dtype=dtype)
    return pl.Series(column, [None if item is None else digits(item) for item in known], dtype=pl.String)


def _inexact(name: str, column: str, held: list[Any]) -> pl.Series:
    """Give other objects as a column of the one type that they have; among floats a NaN is a number."""
    known = without_gaps(held)
    if not kinds_of(known) or any(map(is_double, kinds_of(known))):
        known = [None if is_missing(item) and not is_double(type(item)) else item for item in held]
    there = [(number, item) for number, item in enumerate(known, 1) if item is not None]
    expected = f"what stands above it: {type(there[0][1]).__name__}"
    odd = next((place for place in there if type(place[1]) is not type(there[0][1])), there[0])
    if column in _AMOUNTS:
        odd = next(place for place in there if not is_exact(type(place[1])))
        expected = "integers, decimals or text, never floats: they do not keep all digits of an amount"
        raise _refused(name, column, odd, expected)
    try:
        if all(is_double(kind) or is_whole(kind) for kind in kinds_of(known)):
            known = [None if item is None else float(item) for item in known]
        made = pl.Series(column, known, strict=True)
    except UNREADABLE:
        raise _refused(name, column, odd, expected) from None
    if made.dtype == pl.Object:
        raise _refused(name, column, odd, "text, a number, a boolean or a time")
    return made


def _refused(name: str, column: str, place: tuple[int, object], expected: str) -> InvalidInput:
    number, item = place
    message = f'{name}, row {number}: column "{column}" is {shown(item)} ({type(item).__name__}), expected {expected}'
    return InvalidInput(message, reason="invalid_type", field=column)
