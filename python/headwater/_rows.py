"""The rows of answers as frames, with columns whose names and types the engine gives."""

from __future__ import annotations

from functools import cache

import polars as pl

from headwater import _calls, _headwater
from headwater.errors import InternalError, InvalidInput

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
    table = answer.rows()
    return None if table is None else _spread(endpoint, pl.DataFrame(table))


def table(endpoint: str, path: str, answer: _headwater.Answer | None = None) -> pl.DataFrame:
    """Return a list of records within an answer as a frame; without an answer, one without rows."""
    found = (_headwater.Answer(endpoint, {}, {}) if answer is None else answer).table(path)
    if found is None:
        message = f"reports of {endpoint!r} have no list at {path!r}"
        raise InternalError(message)
    return pl.DataFrame(found)


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
    return rows.with_columns(held).explode(nested).unnest(nested).select(*kinds(endpoint))


def check_amounts(amounts: object) -> None:
    """Refuse a type of amounts that there is not, before there are any."""
    if amounts not in ("text", "decimal", "float"):
        message = f"amounts={amounts!r} is unknown: give 'text', 'decimal' or 'float'"
        raise InvalidInput(message, reason="invalid_value", field="amounts")


def with_amounts(endpoint: str, rows: pl.DataFrame, amounts: str) -> pl.DataFrame:
    """Give the columns of amounts in a type, which does not depend on how large they are."""
    scales = {name: _SCALES[kind] for name, kind in kinds(endpoint).items() if kind in _SCALES and name in rows.columns}
    if amounts == "text":
        return rows
    if amounts == "float":
        return rows.with_columns(pl.col(*scales).cast(pl.Float64)) if scales else rows
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
