"""The interface over a store or over frames in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from headwater import _calls, _frames, _headwater, _objects, _request, _typed
from headwater._addresses import AddressMethods
from headwater._answers import Answers
from headwater._batch import Batch
from headwater._bitcoin import BitcoinMethods
from headwater._disputes import Disputes
from headwater._holdings import HoldingMethods
from headwater._judgements import JudgementMethods
from headwater._lists import WholeLists
from headwater._market import MarketMethods
from headwater._movements import MovementMethods
from headwater._progress import Bar
from headwater._request import Addresses, Texts
from headwater._request import given as _given
from headwater._scan import Scans
from headwater._tracing import TracingMethods
from headwater.classify import CALL, MOST_ADDRESSES, ClassReport, ClassReports, each
from headwater.errors import InvalidInput, Unsupported
from headwater.reports import Report

if TYPE_CHECKING:
    from typing_extensions import Self


# Paths of files: one or many.
Paths = str | PathLike[str] | Iterable[str | PathLike[str]] | None


def open(path: str | PathLike[str], classifiers: Paths = None) -> Ledger:  # noqa: A001
    """Open a store that ``headwater ingest`` or ``headwater simulate`` wrote.

    Parameters
    ----------
    path : path-like
        Folder of the store. Commits of other processes are seen by the next call.
    classifiers : path-like or sequence of path-like, optional
        Model files, each of which classifies the addresses of its chain in place of the built-in classifier.

    Returns
    -------
    Ledger

    Raises
    ------
    InvalidInput
        When a model file cannot be used; the message says why.
    StorageError
        When there is no store, or it cannot be read.
    """
    return Ledger(_headwater.open_store(_objects.path(path, "path"), _objects.paths(classifiers, "classifiers")))


class Ledger(
    MovementMethods,
    HoldingMethods,
    JudgementMethods,
    TracingMethods,
    BitcoinMethods,
    MarketMethods,
    AddressMethods,
    Batch,
    Disputes,
    WholeLists,
    Scans,
):
    """Answers about addresses.

    :func:`headwater.open` a store, :func:`headwater.connect` to a server, or build one with :meth:`from_frames`.
    Every method takes one address or many; many give :class:`Reports`. Keyword arguments that are ``None`` are left
    out of the request. Numbers may be those of numpy, decimals keep all their digits, times may be datetimes with a
    time zone, and lists any collection. Methods raise :class:`headwater.InvalidInput` when an argument cannot be met,
    and can be interrupted with Ctrl-C. A keyword that the call does not have raises :class:`headwater.UnknownField`,
    which is a ``TypeError`` too, with the nearest known names in ``error.candidates``. Where one of many addresses
    fails, ``error.answered`` has the answers to the others. A text that is not a valid address of the chain is refused
    before the first call.

    A ledger may be shared between threads, and used in a ``with``. It cannot be copied or pickled: each process opens
    or connects its own.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def close(self) -> None:
        """Do nothing: only a ledger over a server has what is to be closed."""

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
        return _typed.report(name, self._answers.answer(name, _request.body(request, fields, parts)))

    def cross_chain(
        self, txhash: str | Iterable[str], *, label: str | None = None, chain: str | None = None
    ) -> Report[Any]:
        """Give the transfers over bridges that transactions are legs of.

        Parameters
        ----------
        txhash : str or column of str
            One transaction, or up to 50, on either side of a bridge.
        label : str, optional
            Given back with every result; missing: the name of the bridge.
        chain : str, optional
            Their chain; missing: every chain that writes hashes in their form.

        Returns
        -------
        Report
            Rows are transfers, several where a transaction has several. Of many transactions each has at least one row,
            whose ``error`` says why there is no answer. ``row["result"]`` names both sides, as far as they are known.

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
        queries = [_given({"txhash": each, "label": label}) for each in txhash]
        return self.query("cross-chain/batch", _given({"queries": queries, "chain": chain}))

    def export(self, out: str | PathLike[str], *, chains: Texts = None) -> dict[str, Any]:
        """Write every movement under both its ends as Parquet, for other engines, as ``headwater export`` does.

        Files stand at ``out/transfers/chain=C/bucket=BB/part-0.parquet``, sorted by address and then oldest first;
        ``BB`` is the first byte of the SHA-256 of the address as text, in hex.

        Parameters
        ----------
        out : path-like
            A new or empty folder.
        chains : sequence of str, optional
            Only these chains.

        Returns
        -------
        dict
            What was written, by chain: files, addresses, rows, movements, bytes. An export that fails or is
            interrupted leaves nothing behind.

        Raises
        ------
        InvalidInput
            When the folder is in use or a chain is not held.
        StorageError
            When a file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import polars as pl
        >>> from headwater import examples
        >>> folder = tempfile.mkdtemp()
        >>> written = examples.ledger().export(folder)
        >>> written["chains"]["ethereum"]["rows"], written["chains"]["ethereum"]["movements"]
        (8, 4)
        >>> rows = pl.read_parquet(f"{folder}/transfers/**/*.parquet")
        >>> rows.filter("is_primary").sort("block").select("block", "direction", "amount").rows()[0]
        (1, 'out', '3000000000000000000')
        """
        named = [] if chains is None else _objects.whole_texts(chains, "chains")
        return self._answers.export_transfers(_objects.path(out, "out"), named)

    def _each(self, endpoint: str, address: Addresses, request: dict[str, Any], progress: bool) -> Any:  # noqa: ANN401
        if isinstance(address, str):
            return self.query(endpoint, {**request, "address": address})
        addresses = _objects.whole_texts(address, "address")
        requests = _request.bodies(request, addresses)
        _refuse_what_is_none(addresses, request.get("blockchain"))
        with Bar(endpoint, "addresses", len(requests), shown=progress) as bar:
            return _typed.reports(endpoint, addresses, self._all(endpoint, requests, bar))

    def _classified(self, address: Addresses, request: dict[str, Any], progress: bool) -> ClassReport | ClassReports:
        if isinstance(address, str):
            return each(self.query(CALL, {**request, "addresses": [address]}))[0]
        addresses = _objects.whole_texts(address, "address")
        requests = _request.batches(request, addresses, MOST_ADDRESSES)
        _refuse_what_is_none(addresses, request.get("blockchain"))
        with Bar(CALL, f"calls of {MOST_ADDRESSES} addresses", len(requests), shown=progress) as bar:
            try:
                answered = self._all(CALL, requests, bar)
            except BaseException as error:
                calls: dict[int, Report[Any]] = vars(error)["answered"]
                vars(error)["answered"] = {
                    MOST_ADDRESSES * call + place: report
                    for call, whole in calls.items()
                    for place, report in enumerate(each(whole))
                }
                raise
        return ClassReports(CALL, addresses, [report for whole in answered for report in each(whole)])

    def _all(self, endpoint: str, requests: Sequence[dict[str, Any]], bar: Bar) -> list[Report[Any]]:
        reports: list[Report[Any]] = []
        try:
            for request in requests:
                reports.append(_typed.report(endpoint, self._answers.answer(endpoint, request)))
                bar.reach(len(reports))
        except BaseException as error:
            vars(error)["answered"] = dict(enumerate(reports))
            raise
        return reports

    def __repr__(self) -> str:
        """Name where the data comes from."""
        return f"<Ledger {self._answers.source}>"


def _refuse_what_is_none(addresses: Sequence[str], chain: object) -> None:
    """Refuse texts that are no addresses of the chain, before others are asked about and paid for."""
    if not isinstance(chain, str):
        return
    try:
        valid = _headwater.address_valid(addresses, chain)
    except InvalidInput:
        # What knows the chains of the data says what is wrong with this one.
        return
    if not all(valid):
        place = valid.index(False)
        message = f"address[{place}]: {_headwater.address_error(addresses[place], chain)}"
        raise InvalidInput(message, reason="invalid_address", field=f"address[{place}]")
