"""The interface over a store or over frames in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from headwater import _batches, _calls, _frames, _headwater, _objects, _request, _typed
from headwater._addresses import AddressMethods
from headwater._answers import Answers
from headwater._batch import Batch
from headwater._bitcoin import BitcoinMethods
from headwater._chain import ChainFinder
from headwater._disputes import Disputes
from headwater._export import Exports
from headwater._fields import LISTS, ON_A_CHAIN
from headwater._holdings import HoldingMethods
from headwater._imports import Imports
from headwater._judgements import JudgementMethods
from headwater._lists import WholeLists
from headwater._market import MarketMethods
from headwater._movements import MovementMethods
from headwater._progress import Bar
from headwater._request import Addresses
from headwater._request import given as _given
from headwater._scan import Scans
from headwater._tracing import TracingMethods
from headwater.classify import CALL, ClassReport, ClassReports, each
from headwater.errors import InvalidInput, Unsupported
from headwater.parts import Parts
from headwater.reports import Report

if TYPE_CHECKING:
    from typing_extensions import Self


# Paths of files: one or many.
Paths = str | PathLike[str] | Iterable[str | PathLike[str]] | None


def open(  # noqa: A001
    path: str | PathLike[str], classifiers: Paths = None, generation: int | None = None
) -> Ledger:
    """Open a store that ``headwater ingest`` or ``headwater simulate`` wrote.

    Parameters
    ----------
    path : path-like
        Folder of the store. Commits of other processes are seen by the next call.
    classifiers : path-like or sequence of path-like, optional
        Model files, each of which classifies the addresses of its chain in place of the built-in classifier.
    generation : int, optional
        Read this generation in every call, whatever other processes commit meanwhile. Imports into the ledger change
        the store, but not its answers. Without it each call reads the newest generation.

    Returns
    -------
    Ledger

    Raises
    ------
    InvalidInput
        When a model file cannot be used, or when the store does not have the generation; the message says why.
    StorageError
        When there is no store, or it cannot be read.

    Warns
    -----
    UserWarning
        When the folder of the store cannot be written to, so that the generation is read but not kept.

    Notes
    -----
    Each commit makes a generation, and ``headwater stats`` shows the number of the newest. One that was replaced is
    deleted 15 minutes later, unless a ledger was opened at it: a small file in the folder ``holds`` of the store keeps
    its files until that ledger is garbage-collected. After the end of a process that was killed, they are kept for
    another hour.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.examples import ALICE
    >>> ledger = hw.open(store)  # the folder of a store of these examples
    >>> [row["amount"] for row in ledger.transactions(ALICE)]
    ['2.5', '1', '3']
    """
    models = _objects.paths(classifiers, "classifiers")
    pinned = None if generation is None else _objects.count(generation, "generation")
    return Ledger(_headwater.open_store(_objects.path(path, "path"), models, pinned))


class Ledger(
    MovementMethods,
    HoldingMethods,
    JudgementMethods,
    TracingMethods,
    BitcoinMethods,
    MarketMethods,
    AddressMethods,
    Batch,
    Parts,
    Disputes,
    Exports,
    Imports,
    WholeLists,
    Scans,
):
    """Answers about addresses.

    :func:`headwater.open` a store, :func:`headwater.connect` to a server, or build one with :meth:`from_frames`.
    Every method takes one address or many; many give :class:`Reports`. Keyword arguments that are ``None`` are left
    out of the request. Numbers may be those of numpy, and decimals keep all their digits. Lists may be any collection;
    one text is a list of one, and commas separate several. Times are dates, datetimes with a time zone, ISO 8601 text
    or epoch seconds: a date is the first second of its day in UTC, and the last one where it ends a range.

    Where ``blockchain`` is omitted, each address has the chain whose addresses have its form. Several EVM chains have
    one form: there it is the only EVM chain whose movements the ledger holds, or ``ethereum`` where it holds several
    or none. The chains that a ledger holds are asked for once, free of charge.

    Methods raise :class:`headwater.InvalidInput` when an argument cannot be met, and can be interrupted with Ctrl-C. A
    keyword that the call does not have raises :class:`headwater.UnknownField`, which is a ``TypeError`` too, with the
    nearest known names in ``error.candidates``. Where one of many addresses fails, ``error.answered`` has the answers
    to the others. A text that is not a valid address of the chain is refused before the first call.

    A ledger may be shared between threads, and used in a ``with``. It cannot be copied or pickled: each process opens
    or connects its own.

    Examples
    --------
    >>> from headwater.examples import ALICE, BOB, ledger
    >>> with ledger() as made:
    ...     reports = made.transactions([ALICE, BOB], symbols="usdt", start_time="2020-09-13")
    >>> reports.to_frame(amounts="text").select("blockchain", "action", "amount").rows()
    [('ethereum', 'send', '2.5'), ('ethereum', 'receive', '2.5')]
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._chains = ChainFinder(answers)

    def close(self) -> None:
        """Do nothing: only a ledger over a server has what is to be closed.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().close()
        """

    def __enter__(self) -> Self:
        """Give the ledger."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: maps of memory and connections belong to one process."""
        message = "a ledger cannot be copied or sent to another process: open or connect one in each"
        raise Unsupported(message)

    @staticmethod
    def from_frames(
        transfers: Any,  # noqa: ANN401
        labels: Any = None,  # noqa: ANN401
        prices: Any = None,  # noqa: ANN401
        tokens: Any = None,  # noqa: ANN401
        classifiers: Paths = None,
    ) -> Ledger:
        """Build a ledger in memory from tables.

        Parameters
        ----------
        transfers : table
            Any object with ``__arrow_c_stream__`` (polars, pandas, pyarrow, DuckDB), or a list of dicts. Columns:
            ``blockchain``, ``block_number``, ``timestamp`` (epoch seconds or a datetime), ``tx_hash``,
            ``from_address``, ``to_address``, ``contract`` (null is the native coin), ``amount_raw`` (integer, decimal
            or text, never a float), and where known ``log_index``, ``tx_index``, ``status``, ``symbol``, ``decimals``.
            Account chains only: transfers do not tell the inputs and outputs of Bitcoin.
        labels : table, optional
            ``address``, ``blockchain``, ``code`` (or ``name``), and where known ``entity``, ``source``, ``source_url``,
            ``group``, ``level``, ``confidence``, ``asserted_at``, ``date_basis`` (``address`` or ``entity``),
            ``valid_until``.
        prices : table, optional
            ``symbol``, ``timestamp`` (or ``ts``; epoch seconds), ``price_usd``.
        tokens : table, optional
            ``blockchain``, ``contract``, ``symbol``, ``decimals``, and where known ``name``, ``verified`` (true unless
            said otherwise). Coins of chains, which have no contract, may be among them, as in ``ledger.registry()``.
        classifiers : path-like or sequence of path-like, optional
            Model files, as in :func:`headwater.open`.

        Returns
        -------
        Ledger

        Raises
        ------
        InvalidInput
            Names the row, the column and the value.

        Examples
        --------
        >>> import headwater as hw
        >>> import polars as pl
        >>> transfers = pl.DataFrame({
        ...     "blockchain": "ethereum", "block_number": 1, "timestamp": 1600000000, "tx_hash": "0x" + "01" * 32,
        ...     "from_address": "0x" + "aa" * 20, "to_address": "0x" + "bb" * 20, "contract": None, "amount_raw": "5",
        ... })
        >>> [row["amount_raw"] for row in hw.Ledger.from_frames(transfers).transactions("0x" + "bb" * 20)]
        ['5']
        """
        models = _objects.paths(classifiers, "classifiers")
        return Ledger(_frames.native_ledger(transfers, labels, prices, tokens, models))

    def query(self, endpoint: str, request: Mapping[str, Any] | None = None, **fields: Any) -> Report[Any]:  # noqa: ANN401
        """Ask any data endpoint by its path, as ``headwater query`` does.

        Parameters
        ----------
        endpoint : str
            For example ``"transactions"`` or ``"counterparty/overview"``; with the version (``"/v1/chains"``) or
            without it, and ``"transaction/0x…"`` with the hash in it.
        request : mapping, optional
            The request body; ``fields`` are added to it.
        **fields
            Fields of the request.

        Returns
        -------
        Report

        Raises
        ------
        UnknownField
            When the call has no such field; it is a ``TypeError`` too.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> ledger().query("transactions", blockchain="ethereum", address=ALICE, symbol="eth")
        Traceback (most recent call last):
        headwater.errors.UnknownField: unknown field "symbol"; did you mean "symbols"?
        """
        name, parts = _calls.named(endpoint)
        body = _request.body(name, request, fields, parts)
        return _typed.report(name, self._answers.answer(name, body), body)

    def cross_chain(
        self,
        txhash: str | Iterable[str],
        *,
        label: str | None = None,
        chain: str | None = None,
        progress: bool = False,
    ) -> Report[Any]:
        """Give the transfers over bridges that transactions are legs of.

        Parameters
        ----------
        txhash : str or column of str
            One transaction or many, on either side of a bridge.
        label : str, optional
            Given back with every result; missing: the name of the bridge.
        chain : str, optional
            Their chain; missing: every chain that writes hashes in their form.
        progress : bool, optional
            Show on standard error how many calls about many transactions are answered.

        Returns
        -------
        Report
            Rows are transfers, several where a transaction has several. Of many transactions each has at least one row,
            whose ``error`` says why there is no answer. ``row["result"]`` names both sides, as far as they are known.
            Where a call about many fails, ``error.answered`` has the reports of the calls before it, by the position of
            their first transaction.

        Raises
        ------
        NotFound
            When one transaction is asked for, and it is not held.

        Notes
        -----
        ``docs/bridges.md`` says which bridges are known, and how legs are matched.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().cross_chain(["0x" + "f" * 64]).rows[0]["result"]["status"] is None
        True
        """
        if isinstance(txhash, str):
            return self.query("cross-chain", _given({"txhash": txhash, "label": label, "chain": chain}))
        call, queries = "cross-chain/batch", [_given({"txhash": each, "label": label}) for each in txhash]
        size = LISTS[call]["queries"] or len(queries)
        # Without transactions one call is made, which the engine refuses.
        starts = range(0, max(len(queries), 1), size)
        requests = [
            _request.body(call, _given({"queries": queries[start : start + size], "chain": chain})) for start in starts
        ]
        with Bar(call, f"calls of {size} transactions", len(requests), shown=progress) as bar:
            try:
                reports = self._all(call, requests, bar)
            except BaseException as error:
                vars(error)["answered"] = {starts[place]: each for place, each in vars(error)["answered"].items()}
                raise
        return reports[0] if len(reports) == 1 else _batches.joined(reports)

    def _on_chain(self, endpoint: str, request: dict[str, Any], field: str) -> Report[Any]:
        """Ask a call about one chain, which follows from a field where it is not named."""
        body = _request.body(endpoint, request)
        if "blockchain" not in body:
            value = body.get(field)
            texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
            body["blockchain"] = self._chains.of_all(texts)
        return _typed.report(endpoint, self._answers.answer(endpoint, body), body)

    def _each(self, endpoint: str, address: Addresses, request: dict[str, Any], progress: bool) -> Any:  # noqa: ANN401
        is_on_a_chain = endpoint in ON_A_CHAIN and "blockchain" not in request
        if isinstance(address, str):
            whole = {**request, "address": address}
            return self._on_chain(endpoint, whole, "address") if is_on_a_chain else self.query(endpoint, whole)
        addresses = _objects.whole_texts(address, "address")
        requests = _request.bodies(endpoint, request, addresses)
        if is_on_a_chain:
            chains = self._chains.of_each(addresses)
            requests = [{**body, "blockchain": chain} for body, chain in zip(requests, chains, strict=True)]
        _refuse_invalid(addresses, [body.get("blockchain") for body in requests])
        with Bar(endpoint, "addresses", len(requests), shown=progress) as bar:
            return _typed.reports(endpoint, addresses, self._all(endpoint, requests, bar))

    def _classified(self, address: Addresses, request: dict[str, Any], progress: bool) -> ClassReport | ClassReports:
        if isinstance(address, str):
            return each(self._on_chain(CALL, {**request, "addresses": [address]}, "addresses"))[0]
        addresses = _objects.whole_texts(address, "address")
        shared = _request.body(CALL, request)
        named = [_request.plain(f"address[{place}]", text) for place, text in enumerate(addresses)]
        chains = [shared["blockchain"]] * len(named) if "blockchain" in shared else self._chains.of_each(named)
        _refuse_invalid(addresses, chains)
        calls = _batches.places_by([str(chain) for chain in chains], LISTS[CALL]["addresses"])
        requests = [
            {**shared, "blockchain": chains[places[0]], "addresses": [named[place] for place in places]}
            for places in calls
        ]
        with Bar(CALL, "calls of many addresses", len(requests), shown=progress) as bar:
            try:
                answered = dict(enumerate(self._all(CALL, requests, bar)))
            except BaseException as error:
                vars(error)["answered"] = _by_place(calls, vars(error)["answered"])
                raise
        reports = _by_place(calls, answered)
        return ClassReports(CALL, addresses, [reports[place] for place in range(len(addresses))])

    def _all(self, endpoint: str, requests: Sequence[dict[str, Any]], bar: Bar) -> list[Report[Any]]:
        reports: list[Report[Any]] = []
        try:
            for request in requests:
                reports.append(_typed.report(endpoint, self._answers.answer(endpoint, request), request))
                bar.reach(len(reports))
        except BaseException as error:
            vars(error)["answered"] = dict(enumerate(reports))
            raise
        return reports

    def __repr__(self) -> str:
        """Name where the data comes from."""
        return f"<Ledger {self._answers.source}>"


def _by_place(calls: Sequence[Sequence[int]], answered: Mapping[int, Report[Any]]) -> dict[int, ClassReport]:
    """Return the reports of calls about many addresses by the positions of the addresses."""
    return {
        place: report
        for call, whole in answered.items()
        for place, report in zip(calls[call], each(whole), strict=True)
    }


def _refuse_invalid(addresses: Sequence[str], chains: Sequence[object]) -> None:
    """Refuse text that is not an address of its chain, before others are asked about and paid for."""
    for chain in dict.fromkeys(chain for chain in chains if isinstance(chain, str)):
        places = [place for place, of in enumerate(chains) if of == chain]
        try:
            valid = _headwater.address_valid([addresses[place] for place in places], chain)
        except InvalidInput:
            # Whoever answers refuses a chain that it does not know.
            continue
        if not all(valid):
            place = places[valid.index(False)]
            message = f"address[{place}]: {_headwater.address_error(addresses[place], chain)}"
            raise InvalidInput(message, reason="invalid_address", field=f"address[{place}]")
