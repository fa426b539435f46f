"""Prices: the part of a ledger that knows no addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headwater._objects import whole_texts
from headwater._request import Addresses, Time, given

if TYPE_CHECKING:
    from headwater.reports import Report


class MarketData:
    """Prices of symbols; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:

        def query(self, endpoint: str, request: Mapping[str, Any] | None = None, **fields: Any) -> Report:  # noqa: ANN401
            """Ask an endpoint."""
            ...

    def prices(self, symbols: Addresses, *, at: Time = None, quote: str | None = None) -> Report:
        """Give prices, the latest or those at a time.

        Parameters
        ----------
        symbols : str or column of str
            Rate symbols, such as ``"btc"``.
        at : int or datetime, optional
            Epoch seconds, or a datetime with a time zone: the latest price at or before, not older than a day.
        quote : str, optional
            A currency of ``price_symbols().fiat``: adds the price in it (``price``) beside that in US dollars.

        Returns
        -------
        Report
            ``report.missing`` names the symbols without a price that can be meant. The ``source`` of a row is
            ``import``, or ``peg`` for a pegged stablecoin of which no price was imported: it is worth one US dollar.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> report = ledger().prices(["eth", "doge"], at=1600000500)
        >>> report.rows, report.missing
        ([{'symbol': 'eth', 'price_usd': 2000.0, 'ts': 1600000000, 'source': 'import'}], ['doge'])
        """
        joined = symbols if isinstance(symbols, str) else ",".join(whole_texts(symbols, "symbols"))
        return self.query("rates", given({"symbols": joined, "at": at, "quote": quote}))

    def price_history(self, symbol: str, start: Time = None, end: Time = None) -> Report:
        """Give the price of a symbol at each midnight (UTC), in US dollars.

        Parameters
        ----------
        symbol : str
            A rate symbol.
        start, end : int or datetime, optional
            Epoch seconds, or a datetime with a time zone, both included; at most 3,660 days. Missing: the last 30 days
            up to the newest price held.

        Returns
        -------
        Report
            Rows are ``ts`` and ``price_usd``, ascending: the last price at or before each midnight, not older than a
            day. Days without one have no row. A pegged stablecoin of which no price was imported has one US dollar on
            every day, and ``report.source`` is ``peg``.

        Raises
        ------
        InvalidInput
            When no price of the symbol is held.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().price_history("eth").rows
        [{'ts': 1600041600, 'price_usd': 2000.0}]
        """
        return self.query("rates/history", given({"symbol": symbol, "start": start, "end": end}))

    def price_symbols(self, *, detail: bool = False) -> Report:
        """Give the symbols with prices, and the currencies that prices can be told in.

        Parameters
        ----------
        detail : bool, optional
            Also tell where the prices come from and how far they reach: the rows of the report.

        Returns
        -------
        Report
            ``report.symbols`` and ``report.fiat``; with ``detail`` also ``report.coverage``. Pegged stablecoins without
            imported prices are listed too, with the source ``peg``.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> report = ledger().price_symbols(detail=True)
        >>> "eth" in report.symbols, report.fiat
        (True, ['USD'])
        >>> report.frame.filter(source="peg").height, report.frame.filter(symbol="usdt")["points"].to_list()
        (10, [1])
        """
        return self.query("rates/symbols", given({"detail": detail or None}))
