"""Predicates of polars as filters of a stored table.

A filter that is made of a predicate lets every row pass that the predicate does, and maybe more: the caller applies the
whole predicate to what comes back. What is not understood filters nothing.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timezone
from math import floor
from typing import Any

import polars as pl

Filter = dict[str, Any]

# Columns whose values the filter of the same name lists.
_LISTED = ("blockchain", "address", "from_address", "to_address", "contract", "tx_hash", "symbol")
# Columns that a pair of bounds narrows.
_RANGES = {"block_number": ("from_block", "to_block"), "timestamp": ("start_time", "end_time")}
_MIRRORED = {"Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq", "Eq": "Eq"}
_MAX_VALUES = 10_000
# The form of expressions is polars' own and may change: then the store reads more rows, and the answer is the same.
_UNKNOWN_FORM = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


def filter_of(predicate: pl.Expr, filters: Iterable[str]) -> Filter:
    """Return the filter of a predicate; empty where no part of it has such a form."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except _UNKNOWN_FORM:
        return {}
    known = set(filters)
    return {name: value for name, value in _of(tree).items() if name in known}


def _of(node: Any) -> Filter:  # noqa: ANN401
    try:
        return _translated(node)
    except _UNKNOWN_FORM:
        return {}


def _translated(node: Any) -> Filter:  # noqa: ANN401
    if not isinstance(node, dict) or len(node) != 1:
        return {}
    kind, body = next(iter(node.items()))
    if kind == "BinaryExpr":
        operator = body["op"]
        if operator in ("And", "LogicalAnd"):
            return _both(_of(body["left"]), _of(body["right"]))
        if operator in ("Or", "LogicalOr"):
            return _either(_of(body["left"]), _of(body["right"]))
        return _compared(body["left"], operator, body["right"])
    if kind == "Function":
        return _called(body["function"], body["input"])
    return {}


def _compared(left: Any, operator: str, right: Any) -> Filter:  # noqa: ANN401
    if operator not in _MIRRORED:
        return {}
    column, value = _column(left), right
    if column is None:
        column, value, operator = _column(right), left, _MIRRORED[operator]
    if column is None:
        return {}
    (constant,) = _values(value)
    if column in _RANGES:
        low, high = (None if operator in without else constant for without in (("Lt", "LtEq"), ("Gt", "GtEq")))
        return _bounded(column, low, high)
    if operator == "Eq" and column in _LISTED and isinstance(constant, str):
        return {column: [constant]}
    return {}


def _called(function: Any, inputs: list[Any]) -> Filter:  # noqa: ANN401
    name = function.get("Boolean") if isinstance(function, dict) else None
    if isinstance(name, dict):
        name = next(iter(name))
    column = _column(inputs[0]) if inputs else None
    if column is None:
        return {}
    if name == "IsNull" and column == "contract":
        return {"contract": [None]}
    if name == "IsIn" and column in _LISTED:
        values = list(_values(inputs[1]))
        if len(values) == 1 and isinstance(values[0], (list, pl.Series)):
            values = list(values[0])
        if len(values) <= _MAX_VALUES and all(isinstance(value, str) for value in values):
            return {column: values}
    if name == "IsBetween" and column in _RANGES:
        (low,), (high,) = _values(inputs[1]), _values(inputs[2])
        return _bounded(column, low, high)
    return {}


def _bounded(column: str, low: Any, high: Any) -> Filter:  # noqa: ANN401
    names = _RANGES[column]
    whole: Callable[[Any], int | None] = _seconds if column == "timestamp" else _number
    bounds = {name: whole(value) for name, value in zip(names, (low, high), strict=True) if value is not None}
    made = {name: value for name, value in bounds.items() if value is not None}
    if column == "block_number" and "from_block" in made:
        made["from_block"] = max(0, made["from_block"])
    # A bound that no block has is left to the predicate.
    return {name: value for name, value in made.items() if column == "timestamp" or 0 <= value < 2**63}


def _number(value: Any) -> int | None:  # noqa: ANN401
    return floor(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _seconds(value: Any) -> int | None:  # noqa: ANN401
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        return None
    return floor((value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp())


def _both(one: Filter, other: Filter) -> Filter:
    """Return a filter that is narrower than both, or as narrow as one of them where their parts do not join."""
    joined = dict(one)
    for name, value in other.items():
        if name not in joined:
            joined[name] = value
        elif name in ("from_block", "start_time"):
            joined[name] = max(joined[name], value)
        elif name in ("to_block", "end_time"):
            joined[name] = min(joined[name], value)
        else:
            joined[name] = [item for item in joined[name] if item in value]
    return joined


def _either(one: Filter, other: Filter) -> Filter:
    """Return a filter that is wider than both, for parts of one column or of both ends of a movement."""
    if len(one) != 1 or len(other) != 1:
        return {}
    (name, values), (another, others) = *one.items(), *other.items()
    if name in _RANGES or not isinstance(values, list) or not isinstance(others, list):
        return {}
    if name == another:
        return {name: [*values, *(item for item in others if item not in values)]}
    if {name, another} <= {"from_address", "to_address", "address"}:
        return {"address": [*values, *(item for item in others if item not in values)]}
    return {}


def _column(node: Any) -> str | None:  # noqa: ANN401
    return node.get("Column") if isinstance(node, dict) and len(node) == 1 else None


def _values(node: Any) -> list[Any]:  # noqa: ANN401
    """Return the values of a constant; anything else is an error, which filters nothing."""
    if not _is_constant(node):
        message = "the expression is not a constant"
        raise ValueError(message)
    expression = pl.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")
    return pl.select(expression).to_series().to_list()


def _is_constant(node: Any) -> bool:  # noqa: ANN401
    if not isinstance(node, dict) or len(node) != 1:
        return False
    kind, body = next(iter(node.items()))
    return kind == "Literal" or (kind == "Cast" and _is_constant(body.get("expr")))
