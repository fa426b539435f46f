"""From whom the money of an address came, and to whom it went: what ``ledger.exposure`` returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from headwater._records import DISPUTE, table
from headwater.reports import Report, Reports

if TYPE_CHECKING:
    from headwater._records import Schema

_SHARES: Schema = {
    "kind": pl.String,
    "category": pl.String,
    "direction": pl.String,
    "amount_usd": pl.Float64,
    "share": pl.Float64,
    "addresses": pl.Int64,
    "hops": pl.Int64,
}
_UNATTRIBUTED: Schema = {"direction": pl.String, "reason": pl.String, "amount_usd": pl.Float64}
_TOP: Schema = {
    "kind": pl.String,
    "category": pl.String,
    "direction": pl.String,
    "address": pl.String,
    "entity_name": pl.String,
    "amount_usd": pl.Float64,
    "disputed": DISPUTE,
}


class ExposureReport(Report):
    """Which part of the money of an address came from, or went to, exchanges, mixers and other named addresses.

    ``report.total_usd`` is the sum of the rows and of ``report.unattributed_usd``, for which no named address was
    found. ``docs/tracing.md`` explains the numbers.
    """

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The exposures, direct ones first, with their ``kind``."""
        return [{"kind": kind, **record} for kind in ("direct", "indirect") for record in self.data[kind]]

    @property
    def frame(self) -> pl.DataFrame:
        """The exposures: ``kind`` (direct or indirect), category, direction, US dollars, share, addresses, hops."""
        return table(self.rows, _SHARES)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the exposures through the Arrow C stream interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    @property
    def unattributed(self) -> pl.DataFrame:
        """What no named address was found for, in US dollars, by direction and reason."""
        return table(self.data["unattributed"], _UNATTRIBUTED)

    @property
    def top(self) -> pl.DataFrame:
        """The largest named addresses of each row, at most ten."""
        named = [{**row, **address} for row in self.rows for address in row["top"]]
        columns = list(_TOP)
        return table([{name: record[name] for name in columns} for record in named], _TOP)

    def __repr__(self) -> str:
        """Name the address and its largest exposures."""
        data = self.data
        shares = sorted(self.rows, key=lambda row: -row["share"])[:3]
        told = ", ".join(f"{row['share']:.1%} {row['direction']} {row['category']}" for row in shares)
        cut = f", cut by {', '.join(data['truncation_reasons'])}" if data["truncated"] else ""
        return f"<ExposureReport {data['blockchain']} {data['address']}: {told or 'nobody named'}{cut}>"


class ExposureReports(Reports):
    """Exposures of many addresses, in the order given."""

    def __iter__(self) -> Iterator[ExposureReport]:
        """Go over the reports."""
        return iter(cast("list[ExposureReport]", self._reports))

    @property
    def frame(self) -> pl.DataFrame:
        """The exposures of all addresses, the queried address in the first column."""
        if not self._reports:
            return table([], {"queried_address": pl.String(), **_SHARES})
        return super().frame
