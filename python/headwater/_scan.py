"""The tables of a store as lazy frames and Arrow streams: the part of a ledger that other engines query."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import polars as pl
from polars.io.plugins import register_io_source

from headwater import _headwater, _objects, _pushdown, _times
from headwater._tables import check_form, given_as
from headwater.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from headwater._answers import Answers

Texts = str | Iterable[str] | None
Contracts = str | Iterable[str | None] | None
# Epoch seconds, a datetime with a time zone, a date, or one of them in ISO 8601, as in the other methods.
ScanTime = int | datetime | date | str | None

# Columns of lists have a schema of their own in polars.
_TYPES: dict[str, pl.DataType] = {
    "text": pl.String(),
    "integer": pl.Int64(),
    "double": pl.Float64(),
    "boolean": pl.Boolean(),
    "time in UTC": pl.Datetime("us", "UTC"),
    "list of text": pl.List(pl.String()),
}


class _Table(NamedTuple):
    name: str
    row: str
    order: str
    filters: list[str]
    columns: list[tuple[str, str, str]]

    @property
    def pushable(self) -> list[str]:
        """The filters that a predicate over the columns of the same names may become."""
        # A claim of all EVM chains also holds on each of them.
        return [name for name in self.filters if (self.name, name) != ("labels", "blockchain")]

    @property
    def schema(self) -> dict[str, pl.DataType]:
        return {name: _TYPES[kind] for name, kind, _ in self.columns}


@cache
def _tables() -> dict[str, _Table]:
    return {table.name: table for table in (_Table(*entry) for entry in _headwater.stored_tables())}


class Scan:
    """A table of a store under a filter, for whatever reads ``__arrow_c_stream__``.

    Every reader gets the rows from the beginning, and all of them see the generation of the store that the scan was
    made from. Rows are read as they are taken, some ten thousand at a time.

    Attributes
    ----------
    table : str
        The table.
    columns : list of str
        Its columns, in order.
    generation : int
        The generation of the store.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater.examples import ledger
    >>> scan = ledger().scan("movements", as_="arrow", columns=["symbol", "amount"])
    >>> pl.DataFrame(scan).rows()[0]
    ('eth', '3')
    >>> scan.table, scan.columns, scan.generation > 0
    ('movements', ['symbol', 'amount'], True)
    """

    def __init__(self, native: _headwater.StoredScan, table: str, columns: list[str], limit: int | None) -> None:
        self._native = native
        self._limit = limit
        self.table = table
        self.columns = columns

    @property
    def generation(self) -> int:
        """The generation of the store that is read."""
        return self._native.generation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows through the Arrow C stream interface, from the first one."""
        return self._native.open(self.columns, None, self._limit).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Name the table and its columns."""
        return f"<Scan {self.table}: {', '.join(self.columns)}>"


class Scans:
    """Tables of a store for other engines; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:
        _answers: Answers

    def tables(self) -> pl.DataFrame:
        """List the tables of a store that :meth:`scan` reads, with their columns.

        Returns
        -------
        polars.DataFrame
            One row per column: ``table``, ``column``, ``type``, ``meaning``.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().tables()["table"].unique(maintain_order=True).to_list()
        ['movements', 'transactions', 'logs', 'edges', 'balances', 'accounts', 'labels', 'tokens', 'prices']
        """
        rows = [(table.name, *column) for table in _tables().values() for column in table.columns]
        return pl.DataFrame(rows, schema=["table", "column", "type", "meaning"], orient="row")

    @overload
    def scan(
        self,
        table: str,
        *,
        as_: Literal["polars"] = "polars",
        columns: Sequence[str] | None = None,
        blockchain: Texts = None,
        address: Texts = None,
        from_address: Texts = None,
        to_address: Texts = None,
        contract: Contracts = None,
        tx_hash: Texts = None,
        symbol: Texts = None,
        from_block: int | None = None,
        to_block: int | None = None,
        start_time: ScanTime = None,
        end_time: ScanTime = None,
        limit: int | None = None,
    ) -> pl.LazyFrame: ...
    @overload
    def scan(
        self,
        table: str,
        *,
        as_: Literal["arrow"],
        columns: Sequence[str] | None = None,
        blockchain: Texts = None,
        address: Texts = None,
        from_address: Texts = None,
        to_address: Texts = None,
        contract: Contracts = None,
        tx_hash: Texts = None,
        symbol: Texts = None,
        from_block: int | None = None,
        to_block: int | None = None,
        start_time: ScanTime = None,
        end_time: ScanTime = None,
        limit: int | None = None,
    ) -> Scan: ...
    @overload
    def scan(
        self,
        table: str,
        *,
        as_: Literal["pandas"],
        columns: Sequence[str] | None = None,
        blockchain: Texts = None,
        address: Texts = None,
        from_address: Texts = None,
        to_address: Texts = None,
        contract: Contracts = None,
        tx_hash: Texts = None,
        symbol: Texts = None,
        from_block: int | None = None,
        to_block: int | None = None,
        start_time: ScanTime = None,
        end_time: ScanTime = None,
        limit: int | None = None,
    ) -> Any: ...  # noqa: ANN401
    def scan(
        self,
        table: str,
        *,
        as_: str = "polars",
        columns: Sequence[str] | None = None,
        blockchain: Texts = None,
        address: Texts = None,
        from_address: Texts = None,
        to_address: Texts = None,
        contract: Contracts = None,
        tx_hash: Texts = None,
        symbol: Texts = None,
        from_block: int | None = None,
        to_block: int | None = None,
        start_time: ScanTime = None,
        end_time: ScanTime = None,
        limit: int | None = None,
    ) -> Any:
        """Query a table of the store with polars, DuckDB or pandas, without an export.

        :meth:`tables` and ``docs/query-the-store.md`` list the tables and their columns. Rows come from the generation
        of the store at the time of this call, in one order.

        Parameters
        ----------
        table : str
            ``"movements"``, ``"transactions"``, ``"logs"``, ``"edges"``, ``"balances"``, ``"accounts"``, ``"labels"``,
            ``"tokens"`` or ``"prices"``.
        as_ : {"polars", "arrow", "pandas"}, optional
            A ``polars.LazyFrame``, whose columns and filters reach the store; a :class:`headwater.Scan`, which DuckDB,
            pyarrow and pandas read through ``__arrow_c_stream__``; or a frame of pandas with all rows.
        columns : sequence of str, optional
            Only these columns, in this order.
        blockchain, address, from_address, to_address, contract, tx_hash, symbol : str or list of str, optional
            Only rows of these. ``address`` is either side of a movement; ``None`` or ``"native"`` among contracts is
            the coin of the chain. Addresses are looked up in the index of the store.
        from_block, to_block : int, optional
            Only these blocks, both included.
        start_time, end_time : int, datetime, date or str, optional
            Only these times, both included; a date that ends the range includes its day.
        limit : int, optional
            The number of rows at most.

        Returns
        -------
        polars.LazyFrame or Scan or pandas.DataFrame

        Raises
        ------
        InvalidInput
            When a table, a column or a filter is unknown, or a value is not valid.
        Unsupported
            For a ledger over a server.

        Examples
        --------
        >>> import polars as pl
        >>> from headwater.examples import ALICE, ledger
        >>> movements = ledger().scan("movements")
        >>> movements.filter(pl.col("to_address") == ALICE).select("symbol", "amount").collect().rows()
        [('eth', '3')]
        >>> ledger().scan("balances", address=ALICE).select("symbol", "balance").collect().rows()
        [('eth', '2'), ('usdt', '0')]
        """
        check_form(as_)
        if not isinstance(self._answers, _headwater.NativeLedger):
            message = (
                "scan reads a store on this machine: open one with hw.open; over a server, ledger.read_all gives whole "
                "lists of one address"
            )
            raise Unsupported(message)
        known = _known(table)
        chosen = _chosen(known, columns)
        texts = {
            "blockchain": blockchain,
            "address": address,
            "from_address": from_address,
            "to_address": to_address,
            "tx_hash": tx_hash,
            "symbol": symbol,
        }
        given: dict[str, Any] = {name: _listed(name, value) for name, value in texts.items()}
        given["contract"] = _contracts(contract)
        given |= {"from_block": _whole("from_block", from_block), "to_block": _whole("to_block", to_block)}
        given |= {"start_time": _seconds("start_time", start_time), "end_time": _seconds("end_time", end_time)}
        limit = _whole("limit", limit)
        native = self._answers.stored_scan(table, {name: value for name, value in given.items() if value is not None})
        if as_ == "arrow":
            return Scan(native, table, chosen, limit)
        frame = _lazy(native, known, chosen, limit)
        return frame if as_ == "polars" else given_as(frame.collect(), as_)


def _lazy(native: _headwater.StoredScan, table: _Table, chosen: list[str], limit: int | None) -> pl.LazyFrame:
    schema = {name: table.schema[name] for name in chosen}

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = chosen if with_columns is None else with_columns
        read = list(wanted)
        pushed: Mapping[str, Any] = {}
        if predicate is not None:
            read += [name for name in predicate.meta.root_names() if name not in read]
            # The rows of a limit are counted before a predicate.
            if n_rows is None and limit is None:
                pushed = _pushdown.filter_of(predicate, table.pushable)
        # A frame needs a column to have a height.
        reader = native.open(read or chosen[:1], dict(pushed), _smaller(limit, n_rows), batch_size)
        while (batch := reader.next_batch()) is not None:
            frame = pl.DataFrame(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(wanted) if read != wanted else frame

    return register_io_source(source, schema=schema, explain_name=f"headwater {table.name}")


def _smaller(one: int | None, other: int | None) -> int | None:
    given = [number for number in (one, other) if number is not None]
    return min(given) if given else None


def _known(table: str) -> _Table:
    tables = _tables()
    if table in tables:
        return tables[table]
    raise _unknown("table", table, list(tables))


def _chosen(table: _Table, columns: Sequence[str] | None) -> list[str]:
    known = [name for name, _, _ in table.columns]
    if columns is None:
        return known
    if isinstance(columns, str):
        columns = [columns]
    chosen = _objects.whole_texts(columns, "columns")
    for name in chosen:
        if name not in known:
            raise _unknown("column", name, known)
    if not chosen or len(set(chosen)) < len(chosen):
        message = "columns: name one column or more, each once, or leave it out for all"
        raise InvalidInput(message, reason="invalid_value", field="columns")
    return chosen


def _unknown(what: str, name: object, known: list[str]) -> InvalidInput:
    near = difflib.get_close_matches(str(name), known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"use one of {', '.join(known)}"
    message = f"unknown {what} {_objects.shown(name)}; {hint}"
    return InvalidInput(message, reason="invalid_value", field=what, candidates=near or known)


def _listed(name: str, value: Texts) -> list[str] | None:
    if value is None:
        return None
    return [value] if isinstance(value, str) else _objects.whole_texts(value, name)


def _contracts(value: Contracts) -> list[str | None] | None:
    if value is None:
        return None
    return [value] if isinstance(value, str) else _objects.texts(value, "contract")


def _whole(name: str, value: int | None) -> int | None:
    if value is None or (_objects.is_whole(type(value)) and 0 <= int(value) < 2**63):
        return None if value is None else int(value)
    message = f"{name}: {_objects.shown(value)} is not a whole number of 0 or more"
    raise InvalidInput(message, reason="invalid_value", field=name)


def _seconds(name: str, value: ScanTime) -> int | None:
    seconds = _times.seconds(name, value, is_end=name == "end_time")
    if seconds is None or (isinstance(seconds, int) and not isinstance(seconds, bool)):
        return seconds
    message = f"{name}: {_objects.shown(value)} is not a time: give epoch seconds, a datetime, a date or ISO 8601"
    raise InvalidInput(message, reason="invalid_type", field=name)
