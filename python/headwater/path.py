"""How money can have gone from one address to others: what ``ledger.path`` returns."""

from __future__ import annotations

from typing import Any

import polars as pl

from headwater import records
from headwater._records import flattened, short
from headwater.pictures import Picture
from headwater.reports import Report

_EDGES = [
    "path",
    "hop",
    "from_address",
    "to_address",
    "symbol",
    "contract",
    "amount",
    "amount_raw",
    "amount_usd",
    "tx_count",
    "first_activity",
    "last_activity",
    "tx_hashes",
    "is_change",
]


class PathReport(Report[records.PathReport]):
    """Paths along which money can have gone, widest first.

    A path is a possibility, not a proof: coins in one account cannot be told apart. ``report.truncated`` says whether
    there may be further paths, ``report.explored_nodes`` how many addresses were looked through.

    Examples
    --------
    >>> from headwater.examples import ALICE, BOB, ledger
    >>> report = ledger().path(ALICE, BOB)
    >>> report.paths["hops"].to_list(), report.frame["path"].to_list()
    ([2, 1], [1, 1, 2])
    >>> [row["symbol"] for row in report.rows]
    ['eth', 'eth', 'usdt']
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
        hops = flattened(self._paths.select("path", "edges"), "edges")
        return hops.rename({"depth": "hop"}).select(_EDGES)

    @property
    def paths(self) -> pl.DataFrame:
        """The paths: where each leads, its hops, and the US dollars of the hop that carried least."""
        return self._paths.drop("edges")

    @property
    def _paths(self) -> pl.DataFrame:
        return self._table("paths").with_row_index("path", offset=1).with_columns(pl.col("path").cast(pl.Int64))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the hops through the Arrow C stream interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    def plot(self) -> Picture:
        """Draw the paths.

        Returns
        -------
        Picture
            Its columns are hops from the source.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> "TARGET" in ledger().path(ALICE, BOB).plot().svg
        True
        """
        return Picture(self._native.picture(), f"paths from {short(self.data['source'])}")

    def show(self) -> None:
        """Show the picture of the paths: in a notebook below the cell, elsewhere in the browser.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> ledger().path(ALICE, BOB).show()  # doctest: +SKIP
        """
        self.plot().show()

    def title(self) -> str:
        """Name the source, and what was found."""
        data = self.data
        found = f"{len(data['paths'])} paths, {data['explored_nodes']} addresses looked through"
        cut = f", cut by {', '.join(data['truncation_reasons'])}" if data["truncated"] else ""
        return f"paths from {data['source']} on {data['blockchain']}: {found}{cut}"
