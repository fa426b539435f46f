"""Imports of labels, prices and tokens into the store of a ledger, and fetches of prices."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from headwater import _headwater, _load, _objects, _times
from headwater._request import Time
from headwater.errors import InvalidInput, Unavailable
from headwater.imports import ImportReport, PriceReport

if TYPE_CHECKING:
    from headwater._answers import Answers

_VERSIONS = {
    "version": pl.Int64,
    "source": pl.String,
    "path": pl.String,
    "entries": pl.Int64,
    "skipped": pl.Int64,
}
_LISTS = {
    "version": pl.Int64,
    "state": pl.String,
    "format": pl.String,
    "source": pl.String,
    "list": pl.String,
    "licence": pl.String,
    "replaces": pl.Int64,
    "level": pl.String,
    "claims": pl.Int64,
    "names": pl.Int64,
    "skipped": pl.Int64,
}
# Rows of lists that say nothing of an address, by their reason.
_SKIPPED = (
    "other_ticker",
    "bad_checksum",
    "malformed",
    "no_address",
    "cut",
    "denied",
    "unknown_chain",
    "unknown_contract",
)
_FETCHED = {
    "symbol": pl.String,
    "id": pl.String,
    "first": pl.Datetime("us", "UTC"),
    "last": pl.Datetime("us", "UTC"),
    "asked": pl.Int64,
    "held": pl.Int64,
    "stored": pl.Int64,
    "set_aside": pl.Int64,
    "missing": pl.Int64,
    "out_of_reach": pl.Int64,
    "open": pl.Int64,
    "current_usd": pl.Float64,
    "problem": pl.String,
}
_REFUSED = {"symbol": pl.String, "time": pl.Datetime("us", "UTC"), "usd": pl.Float64, "code": pl.String}
# The variables of the environment for what a call leaves out.
_KEY_VARIABLE = "HEADWATER_PRICES_KEY"
_URL_VARIABLE = "HEADWATER_PRICES_URL"
_TABLE = "table"
_CORE = "core"


class Imports:
    """Imports into a store; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:
        _answers: Answers

    def import_labels(
        self,
        labels: Any,  # noqa: ANN401
        *,
        source: str | None = None,
        list: str | None = None,  # noqa: A002
        format: str | None = None,  # noqa: A002
        chain: str | None = None,
        level: str | None = None,
        trust: bool = False,
        group: str | None = None,
        entity: str | None = None,
        code: str | None = None,
        licence: str | None = None,
        columns: Mapping[str, str] | None = None,
        accept_shrinking: bool = False,
    ) -> ImportReport:
        """Import lists of labels, as ``headwater labels import`` does.

        The files of one format, or a table, become a version, which replaces the one before of the same source and
        list. All versions of a call are made, or none. They can be rolled back (``headwater labels rollback``). The
        next call of the ledger uses them.

        Parameters
        ----------
        labels : path-like, sequence of path-like, table, or ``"core"``
            Files, folders and patterns in the formats of ``docs/label-lists.md``; any object with
            ``__arrow_c_stream__`` or list of dicts, with the columns of a plain table: ``address``, ``chain``,
            ``code``, and where known ``name``, ``entity``, ``source_url``, ``group``, ``level``, ``confidence``,
            ``asserted_at``, ``valid_until``; or ``"core"``: the lists that the program carries.
        source : str, optional
            Source of the claims. Missing: that of the format; of a plain table the name of the list.
        list : str, optional
            Which list of the source it is. Missing: the name of the file or folder, or ``"table"``. A later import of
            the same source and list is its next edition.
        format : str, optional
            Input format. Missing: it is detected.
        chain : str, optional
            The chain of EVM addresses, where rows do not name one.
        level : str, optional
            Trust level of the source. Missing: what rows say, else what the format is known for, else ``unknown``, on
            which no score rests alone.
        trust : bool
            Take the source for a trusted provider, whose claims decide scores by themselves, as
            ``level="trusted_provider"``.
        group : str, optional
            The provenance group: claims of one group count once. Missing: the site of the source.
        entity : str, optional
            Entity of rows that name none.
        code : str, optional
            The code, such as ``"scam"``: of all rows of a plain table, of rows without one in other formats.
        licence : str, optional
            The licence of the list. Missing: that of the source, where it is known.
        columns : mapping, optional
            Columns of a plain table under other names, ours first: ``{"address": "wallet"}``.
        accept_shrinking : bool
            Take an edition that repeats too little of the one before it, or is older.

        Returns
        -------
        ImportReport

        Raises
        ------
        InvalidInput
            At a file or row that is not understood, an edition that shrinks, and a list without a claim; nothing is
            imported then.
        StorageError, Unsupported
            As of :meth:`import_prices`.

        Examples
        --------
        >>> import tempfile
        >>> import headwater as hw
        >>> from headwater import examples
        >>> folder = tempfile.mkdtemp()
        >>> ledger = hw.ingest(examples.exports(folder), f"{folder}/store").open()
        >>> mine = [{"address": examples.SHOP, "chain": "ethereum", "code": "merchant", "entity": "Corner Shop"}]
        >>> report = ledger.import_labels(mine, source="mine", trust=True)
        >>> report.frame.select("source", "list", "level", "claims").rows()
        [('mine', 'table', 'trusted_provider', 1)]
        >>> ledger.labels(examples.SHOP).entity_name
        'Corner Shop'
        """
        texts = {
            "source": source,
            "list": list,
            "format": format,
            "chain": chain,
            "level": level,
            "group": group,
            "entity": entity,
            "code": code,
            "licence": licence,
        }
        options: dict[str, Any] = {name: _load.text(value, name) for name, value in texts.items()}
        options |= {"trust": bool(trust), "accept_shrinking": bool(accept_shrinking)}
        options["columns"] = [[ours, theirs] for ours, theirs in (columns or {}).items()]
        store = self._answers.store_folder()
        if isinstance(labels, str) and labels == _CORE:
            _refuse_options(options)
            with _load.errors_in_python():
                data, notes = _headwater.import_core_lists(store)
        else:
            with _load.handed_files(labels, "labels") as (files, is_table):
                options["list"] = options["list"] or (_TABLE if is_table else None)
                data, notes = _headwater.import_labels(store, files, options)
        rows = [_list_row(one) for one in data["lists"]]
        return ImportReport(
            kind="labels",
            versions=[row["version"] for row in rows],
            entries=sum(row["claims"] for row in rows),
            skipped=sum(row["skipped"] for row in rows),
            notes=[_load.in_python(note) for note in notes],
            frame=pl.DataFrame(rows, _LISTS),
            _data=data,
        )

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
            When another process writes to the store for more than ten minutes.
        Unsupported
            Over a server, and of a ledger that was built from tables.

        Examples
        --------
        >>> import tempfile
        >>> import headwater as hw
        >>> from headwater import examples
        >>> folder = tempfile.mkdtemp()
        >>> ledger = hw.ingest(examples.exports(folder), f"{folder}/store").open()
        >>> ledger.import_prices([{"symbol": "ETH", "ts": 1600000000, "price_usd": 2000.0}], source="mine")
        <ImportReport 1 price: version 1>
        >>> ledger.transactions(examples.SHOP, symbols=["eth"]).frame["amount_usd"].to_list()
        [500.0, 2000.0]
        """
        options = {"symbol": _load.text(symbol, "symbol"), "source": _load.text(source, "source")}
        return self._import_market("exchange rates" if fx else "prices", (prices, "prices"), options, progress)

    def fetch_prices(
        self,
        source: Literal["coingecko", "defillama"],
        symbols: str | Sequence[str] = (),
        *,
        start: Time = None,
        end: Time = None,
        step: Literal["1d", "1h"] = "1d",
        url: str | None = None,
        key_env: str | None = None,
        key_file: str | PathLike[str] | None = None,
        key_type: Literal["demo", "pro"] = "demo",
        requests_per_second: float | None = None,
        current: bool = False,
        ask_again: bool = False,
        plan: bool = False,
        progress: bool | None = None,
    ) -> PriceReport:
        """Fetch prices in US dollars that the store does not have, as ``headwater prices fetch`` does.

        The prices become a version that can be rolled back (``headwater prices rollback``), and the next call of the
        ledger uses it. Only days or hours without a price are asked for: the same call repeated asks for nothing, and
        one that was stopped continues. Prices that cannot be meant are set aside and reported. Gaps stay gaps.

        Parameters
        ----------
        source : ``"coingecko"`` or ``"defillama"``
            The service, by the form of its interface.
        symbols : str or sequence of str
            Rate symbols; ``"symbol=id"`` also names the id at the service. Omitted: native coins and verified tokens
            of the store, without pegged ones of which no price was imported.
        start : date, datetime, str or int, optional
            First time, included. Omitted: the day before the first block.
        end : date, datetime, str or int, optional
            Last time, included. Omitted: now.
        step : ``"1d"`` or ``"1h"``
            Length of a period that has one price: that of its end.
        url : str, optional
            Address of a proxy or of a copy of the service; ``{key}`` in it becomes the key. Omitted: the environment
            variable ``HEADWATER_PRICES_URL``, else the address of the service.
        key_env : str, optional
            Environment variable that has the key. Omitted: ``HEADWATER_PRICES_KEY``, where it is set.
        key_file : path-like, optional
            File that has the key, in place of a variable.
        key_type : ``"demo"`` or ``"pro"``
            Plan of the key. ``"demo"`` reaches 365 days back at CoinGecko.
        requests_per_second : float, optional
            Requests a second. Omitted: what the service allows; of another address as many as it answers.
        current : bool
            Store the current prices too.
        ask_again : bool
            Also ask for periods of which the service had no price, or one that was set aside.
        plan : bool
            Report what would be asked for, and ask for nothing.
        progress : bool, optional
            Show progress on standard error. Omitted: after a second, in a terminal or a notebook.

        Returns
        -------
        PriceReport

        Raises
        ------
        InvalidInput
            When a symbol, a time, the key or the address cannot be used.
        Unavailable
            When the service fails or refuses. Prices that it answered before are stored.
        StorageError, Unsupported
            As of :meth:`import_prices`.

        Examples
        --------
        >>> import tempfile
        >>> import headwater as hw
        >>> from headwater import examples
        >>> folder = tempfile.mkdtemp()
        >>> ledger = hw.ingest(examples.exports(folder), f"{folder}/store").open()
        >>> days = {"start": "2026-01-01", "end": "2026-01-03"}
        >>> plan = ledger.fetch_prices("defillama", ["link", "eth"], **days, plan=True)
        >>> plan.frame.select("symbol", "id", "held", "open").rows()  # the program carries daily closes of ether
        [('eth', 'coingecko:ethereum', 3, 0), ('link', 'ethereum:0x514910771af9ca656af840dff83e8264ecf986ca', 0, 3)]
        """
        named = [symbols] if isinstance(symbols, str) else list(symbols)
        address = _load.text(url, "url") or os.environ.get(_URL_VARIABLE) or None
        options = {
            "source": _load.text(source, "source"),
            "symbols": [_load.text(symbol, "symbols") for symbol in named],
            "start": _times.seconds("start", start, is_end=False),
            "end": _times.seconds("end", end, is_end=True),
            "step": _load.text(step, "step"),
            "url": address,
            "key": _key(_load.text(key_env, "key_env"), key_file),
            "key_type": _load.text(key_type, "key_type"),
            "requests_per_second": requests_per_second,
            "current": bool(current),
            "ask_again": bool(ask_again),
            "plan": bool(plan),
        }
        store = self._answers.store_folder()
        with _load.errors_in_python(), _load.LoadBar("fetch prices", progress) as bar:
            data, notes = _headwater.fetch_prices(store, options, bar.show)
        report = _price_report(data, [_load.in_python(note) for note in notes], is_plan=bool(plan))
        if data["failure"] is not None:
            stored = f"{report.stored:,} prices were stored before" if report.stored else "nothing was stored"
            message = f"{_load.in_python(data['failure'])}; {stored}, and the same call continues"
            raise Unavailable(message, reason="price_service")
        return report

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


def _key(variable: str | None, file: str | PathLike[str] | None) -> str | None:
    """Return the key of a price service; no message repeats it."""
    if variable is not None and file is not None:
        message = "key_file: key_env names a key too, so leave one of them out"
        raise InvalidInput(message, reason="invalid_value", field="key_file")
    if file is not None:
        return Path(_objects.paths(file, "key_file")[0]).read_text(encoding="utf-8").strip()
    key = os.environ.get(variable or _KEY_VARIABLE) or None
    if variable is not None and key is None:
        message = f"key_env: the environment has no variable {variable!r}; set it to the key"
        raise InvalidInput(message, reason="invalid_value", field="key_env")
    return key


def _price_report(data: dict[str, Any], notes: list[str], *, is_plan: bool) -> PriceReport:
    rows = data["symbols"]
    refused = [{"symbol": row["symbol"], **price} for row in rows for price in row["refused"]]
    return PriceReport(
        source=data["source"],
        step=data["step"],
        version=data["version"],
        stored=data["stored"],
        requests=data["requests"],
        notes=notes,
        frame=_timed(rows, _FETCHED, ("first", "last")),
        refused=_timed(refused, _REFUSED, ("time",)),
        _is_plan=is_plan,
        _data=data,
    )


def _timed(rows: list[dict[str, Any]], schema: dict[str, Any], times: tuple[str, ...]) -> pl.DataFrame:
    """Give rows as a frame, with epoch seconds as times."""
    seconds = {name: pl.Int64 if name in times else dtype for name, dtype in schema.items()}
    frame = pl.DataFrame([{name: row[name] for name in schema} for row in rows], seconds)
    return frame.with_columns(pl.from_epoch(name, time_unit="s").cast(schema[name]) for name in times)


def _refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse options of files beside the core lists."""
    for name, value in options.items():
        if value:
            message = f'{name}: the core lists state this themselves, so leave it out; a file named core is "./core"'
            raise InvalidInput(message, reason="invalid_value", field=name)


def _list_row(one: Mapping[str, Any]) -> dict[str, Any]:
    counts, levels = one["counts"], one["levels"]
    of_most = max(levels, key=levels.__getitem__, default=None)
    known = {name: one[name] for name in ("version", "state", "format", "source", "list", "licence", "replaces")}
    sums = {"claims": counts["claims"], "names": counts["no_code"], "skipped": sum(counts[name] for name in _SKIPPED)}
    return {**known, "level": of_most, **sums}
