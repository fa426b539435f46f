"""The report of an import of labels, prices or tokens."""

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


def _counted(kind: str, count: int) -> str:
    """Name entries of a kind, in the singular for one."""
    named = "claims" if kind == "labels" else kind
    return named.removesuffix("s") if count == 1 else named
