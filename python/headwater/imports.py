"""The reports of imports of labels, prices or tokens, and of fetches of prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from headwater import _load


@dataclass(frozen=True, repr=False)
class ImportReport(_load.Notes):
    """The versions that an import made in a store; ``headwater labels rollback`` and its like take one out of force.

    Attributes
    ----------
    kind : str
        ``"labels"``, ``"prices"``, ``"exchange rates"`` or ``"tokens"``.
    versions : list of int
        Numbers of the versions, in the order of ``frame``.
    entries : int
        Claims, prices, rates or tokens that the versions have together.
    skipped : int
        Rows that were left out.
    notes : list of str
        Sentences for people: why rows and files were left out, and warnings.
    frame : polars.DataFrame
        One row per version. Of labels: ``version``, ``state`` (``imported``; of core lists also ``unchanged`` and
        ``newer``: the version that the store had stays), ``format``, ``source``, ``list``, ``licence``, ``replaces``
        (the version of the list that it replaces), ``level`` (that of most claims), ``claims``, ``names`` (addresses
        with a name and without a code), ``skipped``. Of others: ``version``, ``source``, ``path`` (null of a table),
        ``entries``, ``skipped``.

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> from headwater import examples
    >>> folder = tempfile.mkdtemp()
    >>> ledger = hw.ingest(examples.exports(folder), f"{folder}/store").open()
    >>> report = ledger.import_prices([{"symbol": "ETH", "ts": 1600000000, "price_usd": 2000.0}], source="mine")
    >>> report.kind, report.versions, report.entries, report.skipped, len(report.to_dict()) > 0
    ('prices', [1], 1, 0, True)
    """

    kind: str
    versions: list[int]
    entries: int
    skipped: int
    notes: list[str]
    frame: pl.DataFrame
    _data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Give the report as the command line prints it with ``--json``."""
        return self._data

    def _lines(self) -> list[str]:
        named = "version" if len(self.versions) == 1 else "versions"
        left_out = f", {self.skipped:,} rows left out" if self.skipped else ""
        made = f"{self.entries:,} {_counted(self.kind, self.entries)}{left_out}"
        return [f"<ImportReport {made}: {named} {', '.join(map(str, self.versions))}>"]


@dataclass(frozen=True, repr=False)
class PriceReport(_load.Notes):
    """The prices that a fetch from a service stored, and those that it did not.

    Attributes
    ----------
    source : str
        The service, under whose name the prices are stored.
    step : str
        ``"1d"`` or ``"1h"``: the length of a period that has one price.
    version : int or None
        Number of the version that has the prices; ``None`` if the fetch stored no prices.
    stored : int
        Prices that were stored.
    requests : int
        Requests to the service; of a plan those that would be made.
    notes : list of str
        Sentences for people: prices that were refused or set aside, symbols that were not fetched, and days that lost
        their price.
    frame : polars.DataFrame
        One row per symbol: ``symbol``, ``id`` (at the service), ``first`` and ``last`` (ends of the first and the last
        period), ``asked``, and the periods by what became of them: ``held`` (the store had a price), ``stored``,
        ``set_aside``, ``missing`` (the service has no price), ``out_of_reach`` (of the key), ``open`` (not asked for).
        ``current_usd`` is the current price that was stored, and ``problem`` the reason for which a symbol is not
        fetched; both can be null.
    refused : polars.DataFrame
        The first prices that were refused or set aside, at most five per symbol: ``symbol``, ``time``, ``usd``,
        ``code`` (``no_price``, ``not_a_number``, ``zero``, ``negative``, ``out_of_range``, ``duplicate``,
        ``contradiction``, ``confidence``, ``neighbours``, ``other_source`` or ``stale``).

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> from headwater import examples
    >>> folder = tempfile.mkdtemp()
    >>> ledger = hw.ingest(examples.exports(folder), f"{folder}/store").open()
    >>> days = {"start": "2026-01-01", "end": "2026-01-03"}
    >>> report = ledger.fetch_prices("coingecko", "link", **days, key_type="pro", plan=True)
    >>> report
    <PriceReport coingecko 1d: 3 prices to ask for, in 2 requests>
    >>> report.frame.select("symbol", "id", "held", "open").rows()
    [('link', 'chainlink', 0, 3)]
    >>> report.to_dict()["source"]
    'coingecko'
    """

    source: str
    step: str
    version: int | None
    stored: int
    requests: int
    notes: list[str]
    frame: pl.DataFrame
    refused: pl.DataFrame
    _is_plan: bool
    _data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Give the report as the command line prints it with ``--json``."""
        return self._data

    def _lines(self) -> list[str]:
        requests = f"{self.requests:,} {_counted('requests', self.requests)}"
        if self._is_plan:
            count = int(self.frame["open"].sum())
            made = f"{count:,} {_counted('prices', count)} to ask for, in {requests}"
        elif self.version is None:
            made = f"no new price, {requests}"
        else:
            made = f"{self.stored:,} {_counted('prices', self.stored)}, {requests}: version {self.version}"
        return [f"<PriceReport {self.source} {self.step}: {made}>"]


def _counted(kind: str, count: int) -> str:
    """Name entries of a kind, in the singular for one."""
    named = "claims" if kind == "labels" else kind
    return named.removesuffix("s") if count == 1 else named
