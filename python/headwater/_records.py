"""Records of answers as frames whose columns do not depend on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from polars.datatypes import DataType, DataTypeClass

    Schema = dict[str, DataType | DataTypeClass]

TIME = pl.Datetime("us", "UTC")
TEXTS = pl.List(pl.String)
# A dispute of a claim: its author, time (epoch seconds) and reason.
DISPUTE = pl.Struct({"by": pl.String, "at": pl.Int64, "reason": pl.String})


def table(records: Sequence[Mapping[str, Any]], schema: Schema) -> pl.DataFrame:
    """Give records as a frame; times are epoch seconds in them."""
    read = {name: pl.Int64() if kind == TIME else kind for name, kind in schema.items()}
    frame = pl.DataFrame({name: [record.get(name) for record in records] for name in schema}, schema=read)
    times = [name for name, kind in schema.items() if kind == TIME]
    return frame.with_columns(pl.from_epoch(name).cast(TIME) for name in times)


def node_id(trace: dict[str, Any], row: dict[str, Any], end: str = "") -> str:
    """Name an address within a trace: by itself; on another chain than the trace's, with that chain before it."""
    chain, address = str(row[f"{end}blockchain"]), str(row[f"{end}address"])
    return address if chain == trace["blockchain"] else f"{chain}:{address}"


def points_text(points: float) -> str:
    """Write points with two decimals, or with two significant digits where that would read as nothing."""
    return f"{points:.2f}" if points >= 0.005 or points == 0 else f"{points:.2g}"
