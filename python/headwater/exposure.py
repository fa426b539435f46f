"""From whom the money of an address came, and to whom it went: what ``ledger.exposure`` returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import polars as pl

from headwater import _rows, records
from headwater._records import flattened, with_dispute_secs
from headwater.reports import ChartReport, Reports

_KINDS = ("direct", "indirect")


class ExposureReport(ChartReport[records.ExposureReport]):
    """Which part of the money of an address came from, or went to, exchanges, mixers and other named addresses.

    ``report.total_usd`` is the sum of the rows and of ``report.unattributed_usd``, for which no named address was
    found. ``docs/tracing.md`` explains the numbers.

    Examples
    --------
    >>> from headwater.examples import ALICE, ledger
    >>> report = ledger().exposure(ALICE)
    >>> report.frame.select("kind", "category", "direction", "amount_usd").rows()
    [('direct', 'merchant', 'out', 2000.0)]
    >>> report.unattributed.select("direction", "reason").rows()
    [('in', 'depth_limit'), ('out', 'depth_limit')]
    >>> report.top["entity_name"].to_list(), len(report.rows)
    (['Corner Shop'], 1)
    """

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The exposures, direct ones first, with their ``kind``."""
        return [{"kind": kind, **record} for kind in _KINDS for record in self._native.data[kind]]

    @property
    def frame(self) -> pl.DataFrame:
        """The exposures: ``kind`` (direct or indirect), category, direction, US dollars, share, addresses, hops."""
        return self._shares.drop("top")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the exposures through the Arrow C stream interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    @property
    def unattributed(self) -> pl.DataFrame:
        """What no named address was found for, in US dollars, by direction and reason."""
        return self._table("unattributed")

    @property
    def top(self) -> pl.DataFrame:
        """The largest named addresses of each row, at most ten."""
        return with_dispute_secs(flattened(self._shares.select("kind", "category", "direction", "top"), "top"))

    @property
    def _shares(self) -> pl.DataFrame:
        return pl.concat([_of_kind(kind, self._table(kind)) for kind in _KINDS])

    def title(self) -> str:
        """Name the address and its largest exposures."""
        data = self.data
        shares = sorted(self.rows, key=lambda row: -row["share"])[:3]
        largest = ", ".join(f"{row['share']:.1%} {row['direction']} {row['category']}" for row in shares)
        cut = f", cut by {', '.join(data['truncation_reasons'])}" if data["truncated"] else ""
        return f"exposure of {data['address']} on {data['blockchain']}: {largest or 'no named address'}{cut}"


class ExposureReports(Reports[records.ExposureReport]):
    """Exposures of many addresses, in the order given.

    Examples
    --------
    >>> from headwater.examples import ALICE, BOB, ledger
    >>> ledger().exposure([ALICE, BOB]).frame["category"].unique().to_list()
    ['merchant']
    """

    def __iter__(self) -> Iterator[ExposureReport]:
        """Go over the reports."""
        return iter(cast("list[ExposureReport]", self._reports))

    @property
    def frame(self) -> pl.DataFrame:
        """The exposures of all addresses, the queried address in the first column."""
        return super().frame

    def _without_rows(self) -> pl.DataFrame:
        return _of_kind(_KINDS[0], _rows.table(self.endpoint, _KINDS[0])).drop("top")


def _of_kind(kind: str, shares: pl.DataFrame) -> pl.DataFrame:
    return shares.select(pl.lit(kind).alias("kind"), pl.all())
