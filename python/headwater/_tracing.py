"""Following money: the part of a ledger about where it went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from headwater._request import Addresses, Contracts, Texts, Time, given

if TYPE_CHECKING:
    from headwater.exposure import ExposureReport, ExposureReports
    from headwater.path import PathReport
    from headwater.reports import Report, Reports
    from headwater.trace import TraceReport, TraceReports

Method = Literal["none", "haircut", "fifo", "poison"]
Heading = Literal["in", "out", "all"]
Criteria = Sequence[Mapping[str, Any]] | None

# Arguments that stand in a record of the request, by its name.
_RECORDS = {
    "track_setting": (
        "outward_depth",
        "inward_depth",
        "limit",
        "method",
        "start_time",
        "end_time",
        "max_nodes",
        "time_ordered",
        "bridge_chains",
        "accumulate_amount",
    ),
    "stop_track_condition": ("stop_labels", "max_counterparties", "stop_at_contract"),
}
_NAMES = {"stop_labels": "labels"}


class Tracing:
    """Where money went; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:

        def _each(
            self, endpoint: str, address: Addresses, request: dict[str, Any], progress: bool
        ) -> Report | Reports: ...

        def query(self, endpoint: str, request: Mapping[str, Any] | None = None, **fields: Any) -> Report: ...  # noqa: ANN401

    @overload
    def trace(
        self,
        address: str,
        blockchain: str = ...,
        *,
        outward_depth: int | None = ...,
        inward_depth: int | None = ...,
        limit: int | None = ...,
        method: Method | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        max_nodes: int | None = ...,
        time_ordered: bool | None = ...,
        bridge_chains: Texts = ...,
        accumulate_amount: bool | None = ...,
        filter_criterias: Criteria = ...,
        stop_labels: Texts = ...,
        max_counterparties: int | None = ...,
        stop_at_contract: bool | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> TraceReport: ...
    @overload
    def trace(
        self,
        address: Iterable[str],
        blockchain: str = ...,
        *,
        outward_depth: int | None = ...,
        inward_depth: int | None = ...,
        limit: int | None = ...,
        method: Method | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        max_nodes: int | None = ...,
        time_ordered: bool | None = ...,
        bridge_chains: Texts = ...,
        accumulate_amount: bool | None = ...,
        filter_criterias: Criteria = ...,
        stop_labels: Texts = ...,
        max_counterparties: int | None = ...,
        stop_at_contract: bool | None = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> TraceReports: ...
    def trace(
        self,
        address: Addresses,
        blockchain: str = "ethereum",
        *,
        outward_depth: int | None = None,
        inward_depth: int | None = None,
        limit: int | None = None,
        method: Method | None = None,
        start_time: Time = None,
        end_time: Time = None,
        max_nodes: int | None = None,
        time_ordered: bool | None = None,
        bridge_chains: Texts = None,
        accumulate_amount: bool | None = None,
        filter_criterias: Criteria = None,
        stop_labels: Texts = None,
        max_counterparties: int | None = None,
        stop_at_contract: bool | None = None,
        progress: bool = False,
        **fields: Any,
    ) -> Report | Reports:
        """Follow money from an address, and to it, hop by hop.

        Parameters
        ----------
        address : str or column of str
            One address or many.
        blockchain : str
            The chain.
        outward_depth, inward_depth : int, optional
            Hops in the direction of payments and against it, 0 to 7; 2 where nothing is said.
        limit : int, optional
            Counterparties of an address that are followed, largest first; 10 where nothing is said.
        method : {"haircut", "fifo", "poison", "none"}, optional
            How traced money mixes with other money of an address; ``"haircut"`` where nothing is said. ``"none"``
            follows whole amounts.
        start_time, end_time : int or datetime, optional
            Movements outside of this range are not followed.
        max_nodes : int, optional
            Addresses in all; 500 where nothing is said.
        time_ordered : bool, optional
            Follow only money that came before it left; true where nothing is said. Without it the method is ``"none"``.
        bridge_chains : sequence of str, optional
            Chains on which the trace goes on over bridges; all that are held where nothing is said, none with ``[]``.
        accumulate_amount : bool, optional
            One edge per pair and asset (where nothing is said), or one per movement.
        filter_criterias : sequence of mapping, optional
            Amount ranges by symbol, as in ``transactions``.
        stop_labels : sequence of str, optional
            Codes of labels beyond which the trace does not go: services, where nothing is said.
        max_counterparties : int, optional
            An address that deals with more is a hub, beyond which the trace does not go.
        stop_at_contract : bool, optional
            Do not go beyond contracts.
        progress : bool, optional
            Show on standard error how many of many addresses are answered.
        **fields
            Further fields of the request.

        Returns
        -------
        TraceReport or TraceReports
            Rows are the edges. ``report.nodes``, ``report.edges``, ``report.ends`` and ``report.assets`` are frames;
            ``report.to_networkx()`` and ``report.to_graphml(path)`` are graphs; ``report.plot()`` draws it.

        Notes
        -----
        A trace is a hypothesis: coins in one account cannot be told apart. ``report.truncated`` says whether something
        was left out.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> report = ledger().trace(ALICE, inward_depth=0)
        >>> report.edges.select("depth", "symbol", "amount", "amount_usd").rows()
        [(1, 'eth', '1', 2000.0), (1, 'usdt', '2.5', 2.5), (2, 'eth', '0.25', 500.0)]
        >>> report.ends.select("hops", "stop_reason", "share").rows()
        [(1, 'time_range', 0.250936)]
        """
        plain = given(locals(), "address")
        request = {name: value for name, value in plain.items() if not any(name in of for of in _RECORDS.values())}
        for record, names in _RECORDS.items():
            held = {_NAMES.get(name, name): plain[name] for name in names if name in plain}
            own = request.get(record, {})
            # What is no mapping is refused as it is.
            if held and isinstance(own, Mapping):
                request[record] = {**held, **own}
        return self._each("trace", address, request, progress)

    def path(
        self,
        source: str,
        targets: Addresses,
        blockchain: str = "ethereum",
        *,
        max_hops: int | None = None,
        k: int | None = None,
        time_ordered: bool | None = None,
        min_amount_usd: float | None = None,
        symbols: Texts = None,
        contracts: Contracts = None,
        start_time: Time = None,
        end_time: Time = None,
        **fields: Any,  # noqa: ANN401
    ) -> PathReport:
        """Find the widest paths along which money can have gone from one address to others.

        Parameters
        ----------
        source : str
            Where the money was.
        targets : str or column of str
            Where it may have gone, 1 to 20 addresses.
        blockchain : str
            The chain.
        max_hops : int, optional
            Payments of a path, 1 to 7; 4 where nothing is said.
        k : int, optional
            Paths at most over all targets, 1 to 20; 3 where nothing is said.
        time_ordered : bool, optional
            Only payments that came after the one before; true where nothing is said.
        min_amount_usd : float, optional
            What every hop has to carry at least.
        symbols, contracts : sequence of str, optional
            Assets, one or the other.
        start_time, end_time : int or datetime, optional
            Only payments of this range.
        **fields
            Further fields of the request.

        Returns
        -------
        PathReport
            Rows are the hops of all paths; ``report.paths`` is a frame of the paths.

        Notes
        -----
        Paths keep to one asset and lead through no service: beyond one it is other people's money.

        Examples
        --------
        >>> from headwater.examples import ALICE, BOB, ledger
        >>> report = ledger().path(ALICE, BOB)
        >>> report.paths.select("path", "hops", "bottleneck_usd").rows()
        [(1, 2, 500.0), (2, 1, 2.5)]
        """
        request = given(locals(), "targets")
        request["targets"] = [targets] if isinstance(targets, str) else targets
        return cast("PathReport", self.query("path", request))

    @overload
    def exposure(
        self,
        address: str,
        blockchain: str = ...,
        *,
        direction: Heading | None = ...,
        max_hops: int | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        symbols: Texts = ...,
        contracts: Contracts = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> ExposureReport: ...
    @overload
    def exposure(
        self,
        address: Iterable[str],
        blockchain: str = ...,
        *,
        direction: Heading | None = ...,
        max_hops: int | None = ...,
        start_time: Time = ...,
        end_time: Time = ...,
        symbols: Texts = ...,
        contracts: Contracts = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> ExposureReports: ...
    def exposure(
        self,
        address: Addresses,
        blockchain: str = "ethereum",
        *,
        direction: Heading | None = None,
        max_hops: int | None = None,
        start_time: Time = None,
        end_time: Time = None,
        symbols: Texts = None,
        contracts: Contracts = None,
        progress: bool = False,
        **fields: Any,
    ) -> Report | Reports:
        """Tell which part of the money of an address came from, or went to, named others: exchanges, mixers, scams.

        Parameters
        ----------
        address : str or column of str
            One address or many.
        blockchain : str
            The chain.
        direction : {"in", "out", "all"}, optional
            Where the money came from, where it went, or both (where nothing is said).
        max_hops : int, optional
            Payments to a named address at most, 1 to 5; 1 where nothing is said, which is direct exposure alone.
        start_time, end_time : int or datetime, optional
            Only payments of this range.
        symbols, contracts : sequence of str, optional
            Assets, one or the other.
        progress : bool, optional
            Show on standard error how many of many addresses are answered.
        **fields
            Further fields of the request.

        Returns
        -------
        ExposureReport or ExposureReports
            Rows are the exposures by category and direction; ``report.unattributed`` says what has no name and why,
            ``report.top`` names the largest addresses; ``report.plot()`` draws it.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> report = ledger().exposure(ALICE)
        >>> report.frame.select("kind", "category", "direction", "amount_usd", "hops").rows()
        [('direct', 'merchant', 'out', 2000.0, 1)]
        >>> report.unattributed.rows()
        [('in', 'depth_limit', 6000.0), ('out', 'depth_limit', 2.5)]
        """
        return self._each("exposure", address, given(locals(), "address"), progress)
