"""Records within answers: their frames, names and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl


def flattened(frame: pl.DataFrame, records: str) -> pl.DataFrame:
    """Return a row for each record of a column of lists, with its fields in place of the column."""
    return frame.filter(pl.col(records).list.len() > 0).explode(records).unnest(records)


def with_dispute_secs(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose disputes have epoch seconds as their time."""
    at = pl.col("disputed").struct.field("at").dt.epoch("s")
    secs = pl.col("disputed").struct.with_fields(at.alias("at"))
    return frame.with_columns(pl.when(pl.col("disputed").is_not_null()).then(secs).alias("disputed"))


def node_id(trace: Mapping[str, Any], row: Mapping[str, Any], end: str = "") -> str:
    """Name an address within a trace: by itself; on another chain than the trace's, with that chain before it."""
    chain, address = str(row[f"{end}blockchain"]), str(row[f"{end}address"])
    return address if chain == trace["blockchain"] else f"{chain}:{address}"


def short(address: str) -> str:
    """Return both ends of an address: the first six characters and the last four."""
    return address if len(address) <= 14 else f"{address[:6]}…{address[-4:]}"


def points_text(points: float) -> str:
    """Write points with two decimals, or with two significant digits where that would read as nothing."""
    return f"{points:.2f}" if points >= 0.005 or points == 0 else f"{points:.2g}"
