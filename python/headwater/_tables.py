"""Tables that callers hand over, as Arrow streams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl


def table(value: Any) -> Any:  # noqa: ANN401
    """Give what has ``__arrow_c_stream__``, made from a list of dicts where needed."""
    if isinstance(value, Iterable) and not hasattr(value, "__arrow_c_stream__"):
        value = pl.DataFrame(list(value), infer_schema_length=None)
    if isinstance(value, pl.DataFrame):
        # A column of nothing but null has no type yet, and Arrow libraries disagree about how it is laid out.
        return value.with_columns(pl.col(pl.Null).cast(pl.String))
    if hasattr(value, "__arrow_c_stream__"):
        return value
    message = f"expected a table with __arrow_c_stream__ or a list of dicts, not {type(value).__name__}"
    raise TypeError(message)


def optional_table(value: Any) -> Any:  # noqa: ANN401
    """Give the table, or nothing where none was handed over."""
    return None if value is None else table(value)
