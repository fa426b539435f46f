"""What a ledger judges: how risky an address is, and of which class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, overload

from headwater._request import Addresses, given

if TYPE_CHECKING:
    from headwater.classify import ClassReport, ClassReports
    from headwater.reports import Report, Reports
    from headwater.risk import RiskReport, RiskReports

ThirdParty = Literal["auto", "force", "off"]


class Judgements:
    """How risky an address is, and of which class; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:

        def _each(
            self, endpoint: str, address: Addresses, request: dict[str, Any], progress: bool
        ) -> Report | Reports: ...

        def _classified(
            self, address: Addresses, request: dict[str, Any], progress: bool
        ) -> ClassReport | ClassReports: ...

    @overload
    def risk(
        self,
        address: str,
        *,
        blockchain: str = ...,
        third_party: ThirdParty = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> RiskReport: ...
    @overload
    def risk(
        self,
        address: Iterable[str],
        *,
        blockchain: str = ...,
        third_party: ThirdParty = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> RiskReports: ...
    def risk(
        self,
        address: Addresses,
        *,
        blockchain: str = "ethereum",
        third_party: ThirdParty = "auto",
        progress: bool = False,
        **fields: Any,
    ) -> Report | Reports:
        """Give how risky it is to deal with an address, from 0 to 100, and why.

        Parameters
        ----------
        address : str or column of str
            One address or many.
        blockchain : str
            The chain, or ``"evm"`` for the labels of one account on every EVM chain. Behaviours and counterparties are
            judged on ``ethereum`` and ``tron``.
        third_party : {"auto", "force", "off"}
            Whether a provider outside may be asked for further claims, where a server has one: where they could change
            the verdict, always, or never.
        progress : bool, optional
            Show on standard error how many of many addresses are answered.
        **fields
            Further fields of the request.

        Returns
        -------
        RiskReport or RiskReports
            Rows are the factors of the score, most points first. ``report.behaviors``, ``report.codes``,
            ``report.categories`` and ``report.neighbors`` are what they rest on, as frames; ``reports.summary`` has one
            row per address; ``report.plot()`` draws the factors.

        Notes
        -----
        The score orders addresses by the evidence that is held. It is no probability and no proof; a low score says
        that little is known against an address, not that it is clean.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> report = ledger().risk(ALICE)
        >>> report.assessment, report.composite_score, report.risk_level, report.factors.height
        ('insufficient', 3.28, 'low', 1)
        >>> ledger().risk([ALICE, BOB]).summary.select("assessment", "risk_level", "graph_score").rows()
        [('insufficient', 'low', 0.0), ('insufficient', 'low', 0.0)]
        """
        return self._each("address-risk", address, given(locals(), "address"), progress)

    @overload
    def classify(
        self,
        address: str,
        *,
        blockchain: str = ...,
        explain: bool = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> ClassReport: ...
    @overload
    def classify(
        self,
        address: Iterable[str],
        *,
        blockchain: str = ...,
        explain: bool = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> ClassReports: ...
    def classify(
        self,
        address: Addresses,
        *,
        blockchain: str = "ethereum",
        explain: bool = False,
        progress: bool = False,
        **fields: Any,
    ) -> ClassReport | ClassReports:
        """Give the class of an address, such as ``Exchange`` or ``Deposit``, predicted from its transfers alone.

        Parameters
        ----------
        address : str or column of str
            One address or many, which are asked about 100 per call.
        blockchain : str
            The chain: ``ethereum``, ``tron`` or ``bitcoin``.
        explain : bool, optional
            Name the ten features that count most for the class.
        progress : bool, optional
            Show on standard error how many calls about many addresses are answered.
        **fields
            Further fields of the request.

        Returns
        -------
        ClassReport or ClassReports
            ``report.predicted_class``, ``report.confidence``, and as frames ``report.probabilities`` and
            ``report.contributions``; ``reports.summary`` has one row per address; ``report.plot()`` draws them. What
            stands beside the results (``report.model``, ``report.meta``) is that of the call.

        Notes
        -----
        A class is the kind of address that behaves most alike in the training data of the model. It is neither proof
        nor a measure of risk. An address that cannot be classified has ``report.error`` and no class: check each.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> report = ledger().classify("0x" + "dd" * 20)  # an address that did nothing
        >>> report.predicted_class, report.confidence, report.error is None
        (None, 0.0, False)
        >>> ledger().classify(["0x" + "dd" * 20, "0x" + "ee" * 20]).summary["confidence"].to_list()
        [0.0, 0.0]
        """
        return self._classified(address, given(locals(), "address"), progress)
