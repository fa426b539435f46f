"""Balances over time, holders, concentration and flows: the part of a ledger that is about who has how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from headwater._objects import whole_texts
from headwater._request import Addresses, Contracts, Texts, Time, given

if TYPE_CHECKING:
    from headwater.reports import Report, Reports


class Holdings:
    """Who has how much; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:

        def query(self, endpoint: str, request: Mapping[str, Any] | None = None, **fields: Any) -> Report:  # noqa: ANN401
            """Ask an endpoint."""
            ...

        def _each(
            self, endpoint: str, address: Addresses, request: dict[str, Any], progress: bool
        ) -> Report | Reports: ...

    @overload
    def balance_history(
        self,
        address: str,
        *,
        blockchain: str = ...,
        symbols: Texts = ...,
        contracts: Contracts = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        output_asset: str | None = ...,
        timezone: int | None = ...,
        tz: str | None = ...,
        include_unverified: bool | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Report: ...
    @overload
    def balance_history(
        self,
        address: Iterable[str],
        *,
        blockchain: str = ...,
        symbols: Texts = ...,
        contracts: Contracts = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        output_asset: str | None = ...,
        timezone: int | None = ...,
        tz: str | None = ...,
        include_unverified: bool | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Reports: ...
    def balance_history(
        self,
        address: Addresses,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        start_time: Time = None,
        end_time: Time = None,
        output_asset: str | None = None,
        timezone: int | None = None,
        tz: str | None = None,
        include_unverified: bool | None = None,
        progress: bool = False,
        **fields: Any,
    ) -> Report | Reports:
        """Give what an address held at the end of each day.

        Parameters
        ----------
        address : str or column of str
            One address or many.
        blockchain : str
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.
        symbols, contracts : sequence, optional
            Only these assets; ``None`` among contracts is the native coin. Contracts prevail, and show unverified
            tokens too.
        start_time, end_time : int or datetime, optional
            Epoch seconds, or a datetime with a time zone: the first day, and the time the history ends at; at most
            3,660 days. Missing: 30 days, up to the last block held.
        output_asset : str, optional
            Adds ``amount_out``: ``"usd"`` or a registry symbol, at the closing price of the day.
        timezone : int, optional
            Where days begin: hours from UTC, -12 to 14.
        tz : str, optional
            Where days begin: a zone such as ``"Asia/Kolkata"``; stands before ``timezone``.
        include_unverified : bool, optional
            Count tokens that no registry vouches for.
        progress : bool, optional
            Show on standard error how many of many addresses are answered.
        **fields
            Further fields of the request.

        Returns
        -------
        Report or Reports
            One row per day and asset. Every day is there; one on which nothing was held has a row without an asset.
            ``report.data_points`` has the days as the answer groups them, ``report.final_balance`` the end.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> history = ledger().balance_history(ALICE, start_time=1_600_000_000 - 86_400)
        >>> history.frame.select("date", "symbol", "balance", "balance_usd").rows()
        [('2020-09-12', None, None, None), ('2020-09-13', 'eth', '2', 4000.0)]
        """
        return self._each("balance-history", address, given(locals(), "address"), progress)

    def holders(
        self,
        contract: str | None = None,
        *,
        blockchain: str = "ethereum",
        limit: int | None = None,
        offset: int | None = None,
    ) -> Report:
        """Rank the holders of a token.

        Parameters
        ----------
        contract : str, optional
            The token, or ``"native"`` for the coin of the chain. Left out for Bitcoin.
        blockchain : str
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.
        limit, offset : int, optional
            Holders per page (10, at most 100), and how many to leave out before it. All holders at once:
            ``ledger.read_all("token/holders", ...)``.

        Returns
        -------
        Report
            Rows are holders, the largest first. ``report.excluded`` names balances that can never be spent, which are
            neither ranked nor counted.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> report = ledger().holders("native")
        >>> report.frame.select("rank", "balance", "balance_raw").rows()
        [(1, 2.0, '2000000000000000000'), (2, 0.75, '750000000000000000')]
        >>> report.holder_count, report.warnings[-1]["code"]
        (2, 'history_incomplete')

        Bob sent what the ledger never saw him receive, which the warning says.
        """
        fields = {"contract": contract, "blockchain": blockchain, "limit": limit, "offset": offset}
        return self.query("token/holders", given(fields))

    def concentration(self, contract: str | None = None, *, blockchain: str = "ethereum") -> Report:
        """Measure how concentrated the holdings of a token are.

        Parameters
        ----------
        contract : str, optional
            The token, or ``"native"`` for the coin of the chain. Left out for Bitcoin.
        blockchain : str
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.

        Returns
        -------
        Report
            ``report.concentration`` holds the measures: shares of the largest, HHI, Gini and Nakamoto coefficient from
            integers, each rounded once; Theil index and entropy in doubles. The frame has them as one row. For plain
            columns of balances there is :mod:`headwater.metrics`.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> report = ledger().concentration("native")
        >>> report.frame.select("holder_count", "nakamoto", "top10_pct").rows()
        [(2, 1, 100.0)]
        >>> round(report.concentration["gini"], 6)
        0.227273
        """
        return self.query("token/concentration", given({"contract": contract, "blockchain": blockchain}))

    def flows(
        self,
        addresses: Addresses,
        contract: str | None = None,
        *,
        blockchain: str = "ethereum",
        start_time: Time = None,
        end_time: Time = None,
    ) -> Report:
        """Sum up what a set of addresses received and sent of one asset.

        Parameters
        ----------
        addresses : str or column of str
            At most 100; one that is named twice counts once.
        contract : str, optional
            The token; missing, the coin of the chain.
        blockchain : str
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.
        start_time, end_time : int or datetime, optional
            Epoch seconds, or a datetime with a time zone, both included.

        Returns
        -------
        Report
            Rows are the addresses in the order given. ``report.aggregate`` is all of them together, and tells what
            moved inside the set from what came from or went to others.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> report = ledger().flows([ALICE, BOB])
        >>> report.frame.select("received", "sent", "net_flow").rows()
        [(3.0, 1.0, 2.0), (0.25, 3.0, -2.75)]
        >>> report.aggregate["internal_total"], report.aggregate["external_received_total"]
        (3.0, 0.25)
        """
        named = [addresses] if isinstance(addresses, str) else whole_texts(addresses, "addresses")
        fields = {"contract": contract, "blockchain": blockchain, "start_time": start_time, "end_time": end_time}
        return self.query("token/addresses_flow", {"addresses": named, **given(fields)})

    @overload
    def counterparty_list(
        self,
        address: str,
        *,
        blockchain: str = ...,
        direction: str | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        sort: str | None = ...,
        order: str | None = ...,
        min_interactions: int | None = ...,
        limit: int | None = ...,
        offset: int | None = ...,
        cursor: str | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Report: ...
    @overload
    def counterparty_list(
        self,
        address: Iterable[str],
        *,
        blockchain: str = ...,
        direction: str | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        sort: str | None = ...,
        order: str | None = ...,
        min_interactions: int | None = ...,
        limit: int | None = ...,
        offset: int | None = ...,
        cursor: str | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Reports: ...
    def counterparty_list(
        self,
        address: Addresses,
        *,
        blockchain: str = "bitcoin",
        direction: str | None = None,
        start_time: Time = None,
        end_time: Time = None,
        sort: str | None = None,
        order: str | None = None,
        min_interactions: int | None = None,
        include_change: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        progress: bool = False,
        **fields: Any,
    ) -> Report | Reports:
        """Rank the counterparties of a Bitcoin address, or of any other, by offset.

        Parameters
        ----------
        address : str or column of str
            One address or many.
        blockchain : str
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.
        direction : {"all", "in", "out"}, optional
            Which movements are summed.
        start_time, end_time : int or datetime, optional
            Epoch seconds, or a datetime with a time zone, both included.
        sort, order, min_interactions
            As in :meth:`counterparties`.
        include_change : bool, optional
            List the change of Bitcoin too, which went back to whoever paid.
        limit, offset : int, optional
            Rows per page (20, at most 1,000), and how many to leave out before it.
        cursor : str, optional
            ``report.next_cursor`` of the page before: leads on behind its last row, however deep.
        progress : bool, optional
            Show on standard error how many of many addresses are answered.
        **fields
            Further fields of the request.

        Returns
        -------
        Report or Reports
            Rows are counterparties. On Bitcoin, what a transaction pays is attributed to its payers in proportion to
            their net inputs (``report.attribution``). CoinJoins make no pairs; ``report.coinjoin_count`` counts them.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> report = ledger().counterparty_list(ALICE, blockchain="ethereum")
        >>> report.frame.select("total_count", "total_amount_usd").rows()
        [(2, 6002.5), (1, 2000.0)]
        """
        return self._each("counterparty/list", address, given(locals(), "address"), progress)
