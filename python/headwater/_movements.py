"""Movements, counterparties and what went between two addresses: the part of a ledger about who paid whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from headwater._request import Addresses, Contracts, Texts, Time, given

if TYPE_CHECKING:
    from headwater.reports import Report, Reports

Criteria = Sequence[Mapping[str, Any]] | None


class Movements:
    """Who paid whom; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:

        def query(self, endpoint: str, request: Mapping[str, Any] | None = None, **fields: Any) -> Report:  # noqa: ANN401
            """Ask an endpoint."""
            ...

        def _each(
            self, endpoint: str, address: Addresses, request: dict[str, Any], progress: bool
        ) -> Report | Reports: ...

    @overload
    def transactions(
        self,
        address: str,
        *,
        blockchain: str = ...,
        symbols: Texts = ...,
        contracts: Contracts = ...,
        direction: str | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        filter_criterias: Criteria = ...,
        sort: str | None = ...,
        order: str | None = ...,
        output_asset: str | None = ...,
        limit: int | None = ...,
        page: int | None = ...,
        cursor: str | None = ...,
        include_unverified: bool | None = ...,
        include_zero_value: bool | None = ...,
        include_failed: bool | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Report: ...
    @overload
    def transactions(
        self,
        address: Iterable[str],
        *,
        blockchain: str = ...,
        symbols: Texts = ...,
        contracts: Contracts = ...,
        direction: str | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        filter_criterias: Criteria = ...,
        sort: str | None = ...,
        order: str | None = ...,
        output_asset: str | None = ...,
        limit: int | None = ...,
        page: int | None = ...,
        cursor: str | None = ...,
        include_unverified: bool | None = ...,
        include_zero_value: bool | None = ...,
        include_failed: bool | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Reports: ...
    def transactions(
        self,
        address: Addresses,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        direction: str | None = None,
        start_time: Time = None,
        end_time: Time = None,
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
        progress: bool = False,
        **fields: Any,
    ) -> Report | Reports:
        """List the movements of an address, newest first.

        Parameters
        ----------
        address : str or column of str
            One address or many.
        blockchain : str
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.
        symbols, contracts : sequence, optional
            Only these assets; ``None`` among contracts is the native coin. Contracts prevail, and show unverified
            tokens too.
        direction : {"all", "in", "out"}, optional
            Relative to the address.
        start_time, end_time : int or datetime, optional
            Epoch seconds, or a datetime with a time zone, both included.
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
        progress : bool, optional
            Show on standard error how many of many addresses are answered.
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
        return self._each("transactions", address, given(locals(), "address"), progress)

    @overload
    def counterparties(
        self,
        address: str,
        *,
        blockchain: str = ...,
        symbols: Texts = ...,
        contracts: Contracts = ...,
        direction: str | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        sort: str | None = ...,
        order: str | None = ...,
        min_interactions: int | None = ...,
        output_asset: str | None = ...,
        limit: int | None = ...,
        page: int | None = ...,
        cursor: str | None = ...,
        include_unverified: bool | None = ...,
        include_zero_value: bool | None = ...,
        include_failed: bool | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Report: ...
    @overload
    def counterparties(
        self,
        address: Iterable[str],
        *,
        blockchain: str = ...,
        symbols: Texts = ...,
        contracts: Contracts = ...,
        direction: str | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        sort: str | None = ...,
        order: str | None = ...,
        min_interactions: int | None = ...,
        output_asset: str | None = ...,
        limit: int | None = ...,
        page: int | None = ...,
        cursor: str | None = ...,
        include_unverified: bool | None = ...,
        include_zero_value: bool | None = ...,
        include_failed: bool | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Reports: ...
    def counterparties(
        self,
        address: Addresses,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        direction: str | None = None,
        start_time: Time = None,
        end_time: Time = None,
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
        progress: bool = False,
        **fields: Any,
    ) -> Report | Reports:
        """Rank the counterparties of an address.

        Parameters
        ----------
        address : str or column of str
            One address or many.
        blockchain : str
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.
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
        progress : bool, optional
            Show on standard error how many of many addresses are answered.
        **fields
            Further fields of the request.

        Returns
        -------
        Report or Reports
            ``assets`` of a row has the 20 largest assets in their own units. Rows have 0 US dollars where no movement
            has a price, and name such fields in ``unpriced_fields``; the frame has null there.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> best = ledger().counterparties(ALICE, limit=1).rows[0]
        >>> best["address"] == BOB, best["sent_amount_usd"], best["received_amount_usd"]
        (True, 2.5, 6000.0)
        """
        return self._each("counterparty", address, given(locals(), "address"), progress)

    def transfers_between(
        self,
        target: str,
        counterparty: str,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        direction: str | None = None,
        start_time: Time = None,
        end_time: Time = None,
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
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.
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
        return self.query("counterparty/transfer-between", given(locals()))

    def overview(
        self,
        target: str,
        counterparty: str,
        *,
        blockchain: str = "ethereum",
        symbols: Texts = None,
        contracts: Contracts = None,
        start_time: Time = None,
        end_time: Time = None,
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
            The chain, in any case or under a usual alias: ``"eth"``, ``"bnb"``, ``"trx"``, ``"btc"``.
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
        return self.query("counterparty/overview", given(locals()))
