"""Disputes of claims about addresses: the part of a ledger that a store keeps for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from headwater._answers import Answers

_DISPUTES = {
    "action": pl.String,
    "address": pl.String,
    "blockchain": pl.String,
    "code": pl.String,
    "source": pl.String,
    "group": pl.String,
    "by": pl.String,
    "at": pl.Int64,
    "reason": pl.String,
    "in_force": pl.Boolean,
}


class Disputes:
    """Disputes of claims; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:
        _answers: Answers

    def dispute(
        self,
        address: str,
        reason: str,
        *,
        blockchain: str | None = None,
        source: str | None = None,
        code: str | None = None,
    ) -> pl.DataFrame:
        """Mark claims about an address as disputed: they count half until they are confirmed.

        The store keeps who (``python:`` and the user of the process), when and why, for ever. Claims of the levels
        ``sanctions_list``, ``issuer_freeze`` and ``ledger_immanent`` are marked and count in full.

        Parameters
        ----------
        address : str
            An address that lists name.
        reason : str
            Why, in one line of at most 1,000 characters.
        blockchain : str, optional
            Only claims that hold on this chain.
        source : str, optional
            Only claims of this source or provenance group.
        code : str, optional
            Only claims of this code.

        Returns
        -------
        polars.DataFrame
            A row for each claim that is disputed now and was not before, as in :meth:`disputes`.

        Raises
        ------
        NotFound
            When no list in force makes such a claim; the message names the claims that there are.
        InvalidInput
            When all of the claims are disputed already, or an argument is invalid.
        StorageError
            When another process writes to the store for more than ten minutes.
        Unsupported
            Over a server, whose back office records disputes, and of a ledger that was built from tables.

        Examples
        --------
        >>> import headwater as hw
        >>> from headwater.examples import SHOP
        >>> ledger = hw.open(store)  # the folder of a store of these examples
        >>> ledger.dispute(SHOP, "closed in 2021").select("action", "code", "in_force").rows()
        [('dispute', 'merchant', True)]
        >>> ledger.labels(SHOP).rows[0]["disputed"]["reason"]
        'closed in 2021'
        """
        return self._record("dispute", address, reason, (blockchain, source, code))

    def confirm(
        self,
        address: str,
        reason: str,
        *,
        blockchain: str | None = None,
        source: str | None = None,
        code: str | None = None,
    ) -> pl.DataFrame:
        """End disputes of claims about an address: the claims count in full again.

        Parameters
        ----------
        address, reason, blockchain, source, code
            As of :meth:`dispute`.

        Returns
        -------
        polars.DataFrame
            A row for each dispute that has ended, as in :meth:`disputes`.

        Raises
        ------
        InvalidInput
            When none of the claims is disputed; the message names the disputed ones.
        StorageError, Unsupported
            As of :meth:`dispute`.

        Examples
        --------
        >>> import headwater as hw
        >>> from headwater.examples import SHOP
        >>> ledger = hw.open(store)  # the folder of a store of these examples
        >>> disputed = ledger.dispute(SHOP, "closed in 2021")
        >>> ledger.confirm(SHOP, "it is open again").select("action", "code", "in_force").rows()
        [('confirm', 'merchant', False)]
        >>> ledger.disputes()["action"].to_list()
        ['confirm', 'dispute']
        """
        return self._record("confirm", address, reason, (blockchain, source, code))

    def disputes(self, address: str | None = None) -> pl.DataFrame:
        """Give the history of disputes, the newest first.

        Parameters
        ----------
        address : str, optional
            Only those about this address.

        Returns
        -------
        polars.DataFrame
            One row for each claim that was disputed or confirmed: ``action`` (``dispute`` or ``confirm``), ``address``,
            ``blockchain`` (a chain, or ``evm``), ``code``, ``source``, ``group``, ``by``, ``at``, ``reason``, and
            ``in_force``: whether it is a dispute that nobody has ended. At most 10,000 rows.

        Raises
        ------
        Unsupported
            Over a server.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> ledger().disputes().height
        0
        """
        return _frame(self._answers.list_disputes(address))

    def _record(
        self, action: str, address: str, reason: str, only: tuple[str | None, str | None, str | None]
    ) -> pl.DataFrame:
        return _frame(self._answers.record_dispute(action, address, reason, only))


def _frame(records: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(records, _DISPUTES).with_columns(pl.from_epoch("at").cast(pl.Datetime("us", "UTC")))
