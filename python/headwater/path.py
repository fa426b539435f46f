"""How money can have gone from one address to others: what ``ledger.path`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from headwater._records import TEXTS, TIME, table
from headwater.reports import Report

if TYPE_CHECKING:
    from headwater._records import Schema

_PATHS: Schema = {"path": pl.Int64, "target": pl.String, "hops": pl.Int64, "bottleneck_usd": pl.Float64}
_EDGES: Schema = {
    "path": pl.Int64,
    "hop": pl.Int64,
    "from_address": pl.String,
    "to_address": pl.String,
    "symbol": pl.String,
    "contract": pl.String,
    "amount": pl.String,
    "amount_raw": pl.String,
    "amount_usd": pl.Float64,
    "tx_count": pl.Int64,
    "first_activity": TIME,
    "last_activity": TIME,
    "tx_hashes": TEXTS,
    "is_change": pl.Boolean,
}


class PathReport(Report):
    """Paths along which money can have gone, widest first.

    A path is a possibility, not a proof: coins in one account cannot be told apart. ``report.truncated`` says whether
    there may be further paths, ``report.explored_nodes`` how many addresses were looked through.
    """

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The hops of all paths, path by path, which ``path`` numbers from 1."""
        return [
            {**edge, "path": number, "hop": edge["depth"]}
            for number, path in enumerate(self.data["paths"], start=1)
            for edge in path["edges"]
        ]

    @property
    def frame(self) -> pl.DataFrame:
        """The hops of all paths: ``amount`` is exact text in whole units, ``amount_raw`` in the smallest."""
        return table(self.rows, _EDGES)

    @property
    def paths(self) -> pl.DataFrame:
        """The paths: where each leads, its hops, and the US dollars of the hop that carried least."""
        return table([{**path, "path": number} for number, path in enumerate(self.data["paths"], start=1)], _PATHS)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the hops through the Arrow C stream interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Name the source, and what was found."""
        data = self.data
        found = f"{len(data['paths'])} paths, {data['explored_nodes']} addresses looked through"
        cut = f", cut by {', '.join(data['truncation_reasons'])}" if data["truncated"] else ""
        return f"<PathReport {data['blockchain']} {data['source']}: {found}{cut}>"
