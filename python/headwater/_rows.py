"""The rows of answers as frames, with columns whose names and types the engine gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from headwater import _calls, _headwater
from headwater._shown import SHOWN
from headwater.errors import InternalError, InvalidInput

if TYPE_CHECKING:
    from headwater._headwater import _ArrowStream

# What only a server answers, the engine has no columns of.
_USAGE = {"endpoint": pl.String, "calls": pl.Int64, "failed": pl.Int64, "credits": pl.Int64}

# Fields that hold records of their own, which a frame has as columns in their place: one record in a row, or a list of
# them, and then a row for each.
NESTED = {"balance-history": "balances", "token/concentration": "concentration"}

# Digits before and behind the point of amounts as decimals: 38 is the most that polars and Arrow have in 128 bits.
_DIGITS = 38
_SCALES = {"amount": 18, "raw_amount": 0}


@cache
def kinds(endpoint: str) -> dict[str, str]:
    """Give what each column of an answer holds."""
    return dict(_headwater.columns(endpoint))


def frame(endpoint: str, answer: _headwater.Answer) -> pl.DataFrame | None:
    """Give the rows of an answer; ``None`` where it has no list."""
    if endpoint == "usage":
        return pl.DataFrame(answer.data["by_endpoint"], schema=_USAGE)
    table = stream(endpoint, answer)
    return None if table is None else _spread(endpoint, pl.DataFrame(table))


def stream(endpoint: str, answer: _headwater.Answer) -> _ArrowStream | None:
    """Return the rows of an answer in Arrow's memory, the columns first that people look at first."""
    return answer.rows(SHOWN.get(endpoint, ("", []))[1])


def table(endpoint: str, path: str, answer: _headwater.Answer | None = None) -> pl.DataFrame:
    """Return a list of records within an answer as a frame; without an answer, one without rows."""
    found = (_headwater.Answer(endpoint, {}, {}) if answer is None else answer).table(path)
    if found is None:
        message = f"reports of {endpoint!r} have no list at {path!r}"
        raise InternalError(message)
    return pl.DataFrame(found)


def as_text(rows: pl.DataFrame, amounts: Iterable[str]) -> pl.DataFrame:
    """Give columns of decimals as text, without zeros behind the last digit."""
    decimals = [name for name in amounts if isinstance(rows.schema[name], pl.Decimal)]
    texts = pl.col(decimals).cast(pl.String)
    # Without a point, zeros at the end are digits of the number.
    return rows.with_columns(
        pl.when(texts.str.contains(".", literal=True)).then(texts.str.replace(r"\.?0+$", "")).otherwise(texts)
    )


def united(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return frames under one another; amounts that are text in one of them are text."""
    texts = {name for frame in frames for name, dtype in frame.schema.items() if dtype == pl.String}
    return pl.concat([as_text(frame, texts & set(frame.columns)) for frame in frames], how="diagonal_relaxed")


def empty(endpoint: str) -> pl.DataFrame:
    """Give the frame of an answer without rows."""
    rows = _calls.route(endpoint).rows
    if rows is None:
        return pl.DataFrame()
    answer = _headwater.Answer(endpoint, {rows: []}, {})
    made = frame(endpoint, answer)
    return pl.DataFrame() if made is None else made


def _spread(endpoint: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Give the columns of records that stand in a column in its place."""
    nested = NESTED.get(endpoint)
    if nested is None:
        return rows
    if not isinstance(rows.schema[nested], pl.List):
        return rows.unnest(nested)
    # A row whose list is empty stays, without a record: a day on which nothing was held.
    held = pl.when(pl.col(nested).list.len() > 0).then(pl.col(nested))
    spread = rows.with_columns(held).explode(nested).unnest(nested).select(*kinds(endpoint))
    return with_amounts(endpoint, ordered(endpoint, spread), "auto")


def ordered(endpoint: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the columns first that people look at first."""
    first = [name for name in SHOWN.get(endpoint, ("", []))[1] if name in rows.columns]
    return rows.select(*first, *(name for name in rows.columns if name not in first))


def check_amounts(amounts: object) -> None:
    """Refuse a type of amounts that there is not, before there are any."""
    if amounts not in ("auto", "text", "decimal", "float"):
        message = f"amounts={amounts!r} is unknown: give 'auto', 'text', 'decimal' or 'float'"
        raise InvalidInput(message, reason="invalid_value", field="amounts")


def with_amounts(endpoint: str, rows: pl.DataFrame, amounts: str) -> pl.DataFrame:
    """Give the columns of amounts in a type: ``"auto"`` is decimals where all values of a column fit, else text."""
    scales = {name: _SCALES[kind] for name, kind in kinds(endpoint).items() if kind in _SCALES and name in rows.columns}
    # Frames of other records than the rows, such as the edges of a trace, have amounts as decimals already.
    scales |= {name: dtype.scale for name, dtype in rows.schema.items() if isinstance(dtype, pl.Decimal)}
    if not scales:
        return rows
    if amounts == "auto":
        texts = {name: scale for name, scale in scales.items() if rows.schema[name] == pl.String}
        return pl.DataFrame(_headwater.decimals(rows, texts)) if texts else rows
    if amounts == "float":
        return rows.with_columns(pl.col(*scales).cast(pl.Float64))
    rows = as_text(rows, scales)
    if amounts == "text":
        return rows
    for name, scale in scales.items():
        # A cast would round digits away, so that they are counted first.
        fraction = pl.col(name).str.extract(r"\.(\d*?)0*$").str.len_chars().fill_null(0)
        decimal = pl.col(name).cast(pl.Decimal(_DIGITS, scale), strict=False)
        unfit = pl.col(name).is_not_null() & (decimal.is_null() | (fraction > scale))
        if (places := rows.select(unfit.arg_true()).to_series()).len() > 0:
            place = f"{name}[{places[0]}]"
            message = (
                f"{place} is {rows[name][places[0]]}: decimals have {_DIGITS - scale} digits before the point and "
                f"{scale} behind it; leave the row out, or take amounts='text' or amounts='float'"
            )
            raise InvalidInput(message, reason="invalid_value", field=place)
        rows = rows.with_columns(decimal)
    return rows
