"""The interface over a store or over frames in memory."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from headwater import _headwater
from headwater._answers import Answers
from headwater._lists import WholeLists
from headwater._market import MarketData
from headwater._request import Addresses, Contracts, Texts
from headwater._request import given as _given
from headwater._tables import optional_table, table
from headwater._tokens import Holdings
from headwater.reports import Report, Reports

Criteria = Sequence[Mapping[str, Any]] | None


def open(path: str | PathLike[str]) -> Ledger:  # noqa: A001
    """Open a store that ``headwater ingest`` or ``headwater simulate`` wrote.

    Parameters
    ----------
    path : path-like
        Folder of the store. Commits of other processes are seen by the next call.

    Returns
    -------
    Ledger

    Raises
    ------
    StorageError
        When there is no store, or it cannot be read.
    """
    return Ledger(_headwater.open_store(path))


class Ledger(MarketData, Holdings, WholeLists):
    """Answers about addresses.

    :func:`headwater.open` a store, :func:`headwater.connect` to a server, or build one with :meth:`from_frames`.
    Every method takes one address or many; many give :class:`Reports`. Keyword arguments that are ``None`` are left
    out of the request. Methods raise :class:`headwater.InvalidInput` when an argument cannot be met, and can be
    interrupted with Ctrl-C.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    @staticmethod
    def from_frames(transfers: Any, prices: Any = None, tokens: Any = None) -> Ledger:  # noqa: ANN401
        """Build a ledger in memory from tables.

        Parameters
        ----------
        transfers : table
            Any object with ``__arrow_c_stream__`` (polars, pandas, pyarrow, DuckDB), or a list of dicts. Columns:
            ``blockchain``, ``block_number``, ``timestamp`` (epoch seconds or a datetime), ``tx_hash``,
            ``from_address``, ``to_address``, ``contract`` (null is the native coin), ``amount_raw`` (integer, decimal
            or text, never a float), and where known ``log_index``, ``tx_index``, ``status``, ``symbol``, ``decimals``.
            Account chains only: transfers do not tell the inputs and outputs of Bitcoin.
        prices : table, optional
            ``symbol``, ``timestamp`` (or ``ts``; epoch seconds), ``price_usd``.
        tokens : table, optional
            ``blockchain``, ``contract``, ``symbol``, ``decimals``, and where known ``name``, ``verified`` (true unless
            said otherwise).

        Returns
        -------
        Ledger

        Raises
        ------
        InvalidInput
            Names the row, the column and the value.
        """
        return Ledger(_headwater.from_frames(table(transfers), optional_table(prices), optional_table(tokens)))

    def query(self, endpoint: str, request: Mapping[str, Any] | None = None, **fields: Any) -> Report:  # noqa: ANN401
        """Ask any data endpoint by its path without the version, as ``headwater query`` does.

        Parameters
        ----------
        endpoint : str
            For example ``"transactions"`` or ``"counterparty/overview"``.
        request : mapping, optional
            The request body; ``fields`` are added to it.
        **fields
            Fields of the request.

        Returns
        -------
        Report
        """
        body = {**(request or {}), **fields}
        return Report(endpoint, self._answers.answer(endpoint, json.dumps(body)))

    def transactions(
        self,
        address: Addresses,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        direction: str | None = None,
        start_time: int | None = None,
        end_time: int | None = None,
        filter_criterias: Criteria = None,
        sort: str | None = None,
        order: str | None = None,
        output_asset: str | None = None,
        limit: int | None = None,
        page: int | None = None,
        cursor: str | None = None,
        include_unverified: bool | None = None,
        include_zero_value: bool | None = None,
        include_failed: bool | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> Report | Reports:
        """List the movements of an address, newest first.

        Parameters
        ----------
        address : str or sequence of str
            One address or many.
        blockchain : str
            The chain.
        symbols, contracts : sequence, optional
            Only these assets; ``None`` among contracts is the native coin. Contracts prevail, and show unverified
            tokens too.
        direction : {"all", "in", "out"}, optional
            Relative to the address.
        start_time, end_time : int, optional
            Epoch seconds, both included.
        filter_criterias : sequence of mappings, optional
            Amount ranges: ``{"symbol": "eth", "min_value": 1, "max_value": 5, "sign": "+"}``; all but the symbol may be
            missing, and ``"+"`` is what came in.
        sort : {"timestamp", "amount_usd"}, optional
            What the rows are ordered by.
        order : {"desc", "asc"}, optional
            Newest or largest first, or last.
        output_asset : str, optional
            Adds ``amount_out`` to each row: ``"usd"`` or a registry symbol.
        limit, page, cursor : optional
            Page size (20, at most 1,000) and place; ``report.pagination["next_cursor"]`` leads on without a window.
        include_unverified, include_zero_value, include_failed : bool, optional
            Show what is hidden: tokens that no registry vouches for, movements of nothing, failed transactions.
        **fields
            Further fields of the request.

        Returns
        -------
        Report or Reports
            Rows are transfers, see the HTTP documentation of ``/v1/transactions``.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> ledger().transactions(ALICE, symbols=["eth"]).frame.select("action", "amount", "amount_usd").rows()
        [('send', '1', 2000.0), ('receive', '3', 6000.0)]
        """
        return self._each("transactions", address, _given(locals(), "address"))

    def counterparties(
        self,
        address: Addresses,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        direction: str | None = None,
        start_time: int | None = None,
        end_time: int | None = None,
        sort: str | None = None,
        order: str | None = None,
        min_interactions: int | None = None,
        output_asset: str | None = None,
        limit: int | None = None,
        page: int | None = None,
        cursor: str | None = None,
        include_unverified: bool | None = None,
        include_zero_value: bool | None = None,
        include_failed: bool | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> Report | Reports:
        """Rank the counterparties of an address.

        Parameters
        ----------
        address : str or sequence of str
            One address or many.
        blockchain : str
            The chain.
        symbols, contracts, direction, start_time, end_time
            As in :meth:`transactions`.
        sort : str, optional
            ``total_amount`` (default), ``received_amount``, ``sent_amount``, their ``_usd`` forms, ``total_count``,
            ``received_count``, ``sent_count``, ``total_transfers``, ``first_activity`` or ``last_activity``.
        order : {"desc", "asc"}, optional
            Ties are broken by address, ascending.
        min_interactions : int, optional
            Only counterparties with at least so many transactions.
        output_asset : str, optional
            Unit of the amounts: ``"usd"``, a registry symbol, or ``"per_symbol"`` for one row per counterparty and
            asset. Missing: own units of the one symbol in scope, US dollars where there are several.
        limit, page, cursor, include_unverified, include_zero_value, include_failed
            As in :meth:`transactions`; ``include_*`` counts what is left out else.
        **fields
            Further fields of the request.

        Returns
        -------
        Report or Reports

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> best = ledger().counterparties(ALICE, limit=1).rows[0]
        >>> best["address"] == BOB, best["sent_amount_usd"], best["received_amount_usd"]
        (True, 2.5, 6000.0)
        """
        return self._each("counterparty", address, _given(locals(), "address"))

    def transfers_between(
        self,
        target: str,
        counterparty: str,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        direction: str | None = None,
        start_time: int | None = None,
        end_time: int | None = None,
        sort: str | None = None,
        order: str | None = None,
        output_asset: str | None = None,
        limit: int | None = None,
        page: int | None = None,
        cursor: str | None = None,
        include_unverified: bool | None = None,
        include_zero_value: bool | None = None,
        include_failed: bool | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> Report:
        """List the movements between two addresses.

        Parameters
        ----------
        target, counterparty : str
            The two addresses; directions are relative to ``target``.
        blockchain : str
            The chain.
        symbols, contracts, start_time, end_time, order, output_asset, limit, page, cursor
            As in :meth:`transactions`.
        direction : {"all", "in", "out"}, optional
            Relative to ``target``.
        sort : {"timestamp", "amount", "amount_usd"}, optional
            What the rows are ordered by.
        include_unverified, include_zero_value, include_failed : bool, optional
            As in :meth:`transactions`.
        **fields
            Further fields of the request.

        Returns
        -------
        Report
            Rows are transfers.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> ledger().transfers_between(ALICE, BOB).frame.select("direction", "amount", "symbol").rows()
        [('To', '2.5', 'usdt'), ('From', '3', 'eth')]
        """
        return self.query("counterparty/transfer-between", _given(locals()))

    def overview(
        self,
        target: str,
        counterparty: str,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        start_time: int | None = None,
        end_time: int | None = None,
        output_asset: str | None = None,
        include_unverified: bool | None = None,
        include_zero_value: bool | None = None,
        include_failed: bool | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> Report:
        """Sum up what moved between two addresses.

        Parameters
        ----------
        target, counterparty : str
            The two addresses; ``send`` and ``receive`` are relative to ``target``.
        blockchain : str
            The chain.
        symbols, contracts, start_time, end_time
            As in :meth:`transactions`.
        output_asset : str, optional
            Unit of the sums: ``"usd"`` or a registry symbol. Missing: own units of the one symbol in scope, US dollars
            where there are several.
        include_unverified, include_zero_value, include_failed : bool, optional
            Count what is left out else.
        **fields
            Further fields of the request.

        Returns
        -------
        Report
            Rows are the two directions; the sums stand in ``report.total_amount`` and the like.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> ledger().overview(ALICE, BOB).total_amount_usd
        '6002.5'
        """
        return self.query("counterparty/overview", _given(locals()))

    def wallet(
        self,
        address: Addresses,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        output_asset: str | None = None,
        include_unverified: bool | None = None,
        include_zero_value: bool | None = None,
        include_failed: bool | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> Report | Reports:
        """Give balances, counts, first and last activity of an address.

        Parameters
        ----------
        address : str or sequence of str
            One address or many.
        blockchain : str
            The chain.
        symbols, contracts : sequence, optional
            Only these assets.
        output_asset : str, optional
            Unit of ``received_amount`` and ``sent_amount``: ``"usd"`` or a registry symbol. Missing: own units.
        include_unverified, include_zero_value, include_failed : bool, optional
            Count what is left out else.
        **fields
            Further fields of the request.

        Returns
        -------
        Report or Reports
            Rows are the assets held or once moved.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> ledger().wallet(ALICE).frame.select("symbol", "balance", "balance_usd").rows()
        [('eth', '2', 4000.0), ('usdt', '0', 0.0)]
        """
        return self._each("wallet-overview", address, _given(locals(), "address"))

    def transaction(self, tx_hash: str, *, blockchain: str | None = None, include: str | None = None) -> Report:
        """Give all that is known of one transaction.

        Parameters
        ----------
        tx_hash : str
            Its hash.
        blockchain : str, optional
            The chain; found out from the hash when missing.
        include : str, optional
            Comma list of ``logs``, ``input``, ``labels``.

        Returns
        -------
        Report
            Rows are its movements.

        Raises
        ------
        NotFound
            When no chain held has it.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().transaction(f"0x{2:064x}").amount
        '1'
        """
        return self.query("transaction", _given({"hash": tx_hash, "blockchain": blockchain, "include": include}))

    def resolve(self, *, blockchain: str = "ethereum", symbols: Texts = None, contracts: Contracts = None) -> Report:
        """Resolve symbols or contracts to assets.

        Parameters
        ----------
        blockchain : str
            The chain.
        symbols, contracts : sequence, optional
            What to resolve; neither gives every asset of the chain.

        Returns
        -------
        Report
            ``report.unresolved`` names what was not found or is ambiguous.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().resolve(symbols=["USDT"]).assets[0]["contract"]
        '0xdac17f958d2ee523a2206206994597c13d831ec7'
        """
        fields = {"blockchain": blockchain, "symbols": symbols, "contracts": contracts}
        return self.query("resolve", _given(fields))

    def chains(self) -> Report:
        """Give the supported chains and what is held of each.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> [chain["chain"] for chain in ledger().chains().rows]
        ['bitcoin', 'bsc', 'ethereum', 'tron']
        """
        return self.query("chains")

    def registry(self) -> Report:
        """Give every token of the registry.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().registry().frame["symbol"].to_list()
        ['btc', 'bnb', 'eth', 'usdt', 'trx']
        """
        return self.query("registry")

    def assets(self, chain: str) -> Report:
        """Give the tokens of one chain, the native coin first.

        Parameters
        ----------
        chain : str
            The chain.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().assets("ethereum").frame["symbol"].to_list()
        ['eth', 'usdt']
        """
        return self.query("assets", chain=chain)

    def resolve_address(self, query: str, *, chain: str | None = None) -> Report:
        """Validate an address and correct its form without guessing.

        Parameters
        ----------
        query : str
            What somebody typed or pasted.
        chain : str, optional
            Only this chain.

        Returns
        -------
        Report
            ``report.address`` is the canonical form, or ``None``; guesses stand in ``report.candidates`` only.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> report = ledger().resolve_address(" T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb ")
        >>> report.chain, report.address, report.corrections
        ('tron', 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', ['trimmed'])
        """
        return self.query("addresses/resolve", _given({"q": query, "chain": chain}))

    def autocomplete(self, prefix: str, *, chain: str | None = None, limit: int | None = None) -> Report:
        """Give known addresses that begin with a prefix, the most active first.

        Parameters
        ----------
        prefix : str
            At least 5 characters.
        chain : str, optional
            Only this chain.
        limit : int, optional
            At most so many (10, at most 50).

        Returns
        -------
        Report

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().autocomplete("0xaaa").total
        1
        """
        return self.query("addresses/autocomplete", _given({"q": prefix, "chain": chain, "limit": limit}))

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
        written: dict[str, Any] = json.loads(self._answers.export_transfers(out, builtins.list(chains or [])))
        return written

    def _each(self, endpoint: str, address: Addresses, request: dict[str, Any]) -> Report | Reports:
        if isinstance(address, str):
            return self.query(endpoint, {**request, "address": address})
        addresses = list(address)
        return Reports(addresses, self._all(endpoint, [{**request, "address": each} for each in addresses]))

    def _all(self, endpoint: str, requests: Sequence[Mapping[str, Any]]) -> list[Report]:
        return [self.query(endpoint, request) for request in requests]

    def __repr__(self) -> str:
        """Name where the data comes from."""
        return f"<Ledger {self._answers.source}>"
