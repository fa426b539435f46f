"""Imports of labels, prices and tokens into the store of a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from headwater import _headwater, _load
from headwater.imports import ImportReport

if TYPE_CHECKING:
    from headwater._answers import Answers

_VERSIONS = {
    "version": pl.Int64,
    "source": pl.String,
    "path": pl.String,
    "entries": pl.Int64,
    "skipped": pl.Int64,
}
_TABLE = "table"


class Imports:
    """Imports into a store; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:
        _answers: Answers

    def import_prices(
        self,
        prices: Any,  # noqa: ANN401
        *,
        symbol: str | None = None,
        fx: bool = False,
        source: str | None = None,
        progress: bool | None = None,
    ) -> ImportReport:
        """Import prices in US dollars, or exchange rates, as ``headwater prices import`` does.

        Each path, and a table, becomes a version that can be rolled back (``headwater prices rollback``). The next call
        of the ledger uses it.

        Parameters
        ----------
        prices : path-like, sequence of path-like, or table
            Files, folders and patterns; or any object with ``__arrow_c_stream__`` (polars, pandas, pyarrow, DuckDB) or
            list of dicts. Columns of files and tables: ``symbol``, ``ts`` and ``price_usd``; ``Date`` and ``Close``; or
            ``Unix`` and ``Close``. Prices of a day count from its end.
        symbol : str, optional
            The rate symbol of all rows, where no column has it. Files may have it in their names
            (``ETH-USD-1d.csv``).
        fx : bool
            Read exchange rates: ``date``, ``currency``, ``units_per_usd``; or ``Date`` and a column per currency code.
        source : str, optional
            Name of the source. Missing: the name of the file or folder, or ``"table"``.
        progress : bool, optional
            Show progress on standard error. Missing: after a second, in a terminal or a notebook.

        Returns
        -------
        ImportReport

        Raises
        ------
        InvalidInput
            At a file or row that is not understood, with its place; nothing is imported then.
        StorageError
            When another process writes the store.
        Unsupported
            Over a server, and of a ledger that was built from tables.

        Examples
        --------
        >>> import tempfile
        >>> import headwater as hw
        >>> from headwater import examples
        >>> folder = tempfile.mkdtemp()
        >>> ledger = hw.ingest(examples.exports(folder), f"{folder}/store").open()
        >>> ledger.import_prices([{"symbol": "ETH", "ts": 1600000000, "price_usd": 2000.0}], source="desk")
        <ImportReport 1 price: version 1>
        >>> ledger.transactions(examples.SHOP, symbols=["eth"]).frame["amount_usd"].to_list()
        [500.0, 2000.0]
        """
        options = {"symbol": _load.text(symbol, "symbol"), "source": _load.text(source, "source")}
        return self._import_market("exchange rates" if fx else "prices", (prices, "prices"), options, progress)

    def import_tokens(
        self,
        tokens: Any,  # noqa: ANN401
        *,
        chain: str | None = None,
        source: str | None = None,
        progress: bool | None = None,
    ) -> ImportReport:
        """Import a registry: which contracts are the tokens that people mean, as ``headwater tokens import`` does.

        Each path, and a table, becomes a version that can be rolled back (``headwater tokens rollback``). The next call
        of the ledger uses it.

        Parameters
        ----------
        tokens : path-like, sequence of path-like, or table
            Token lists (ethereum-lists, MetaMask, Uniswap), or files and tables with ``address`` (or ``contract``),
            ``symbol``, ``decimals``, and where known ``blockchain``, ``name``, ``verified``.
        chain : str, optional
            The chain of entries that do not name one. Missing: the one in the name of the file, else Ethereum.
        source : str, optional
            Name of the source. Missing: the name of the file or folder, or ``"table"``.
        progress : bool, optional
            Show progress on standard error. Missing: after a second, in a terminal or a notebook.

        Returns
        -------
        ImportReport

        Raises
        ------
        InvalidInput
            At a file that is not a registry, or has no token that can be used; nothing is imported then. Entries that
            cannot be used are left out and counted.
        StorageError, Unsupported
            As of :meth:`import_prices`.

        Examples
        --------
        >>> import tempfile
        >>> import headwater as hw
        >>> from headwater import examples
        >>> folder = tempfile.mkdtemp()
        >>> ledger = hw.ingest(examples.exports(folder), f"{folder}/store").open()
        >>> mine = [{"blockchain": "ethereum", "contract": "0x" + "ab" * 20, "symbol": "MINE", "decimals": 18}]
        >>> ledger.import_tokens(mine, source="mine")
        <ImportReport 1 token: version 1>
        >>> ledger.resolve(symbols=["mine"]).frame["contract"][0] == mine[0]["contract"]
        True
        """
        options = {"chain": _load.text(chain, "chain"), "source": _load.text(source, "source")}
        return self._import_market("tokens", (tokens, "tokens"), options, progress)

    def _import_market(
        self, kind: str, handed: tuple[object, str], options: Mapping[str, str | None], progress: bool | None
    ) -> ImportReport:
        store = self._answers.store_folder()
        with _load.handed_files(*handed) as (files, is_table), _load.LoadBar(f"import {kind}", progress) as bar:
            wanted = {**options, "source": options["source"] or (_TABLE if is_table else None)}
            imports = _headwater.import_market(kind, store, files, wanted, bar.show)
        if is_table:
            imports = [{**one, "path": None} for one in imports]
        notes = [f"left out: {_load.in_python(reason)}" for one in imports for reason in one["skipped_reasons"]]
        return ImportReport(
            kind=kind,
            versions=[one["version"] for one in imports],
            entries=sum(one["entries"] for one in imports),
            skipped=sum(one["skipped"] for one in imports),
            notes=notes,
            frame=pl.DataFrame([{name: one[name] for name in _VERSIONS} for one in imports], _VERSIONS),
            _data={"imports": imports},
        )
