"""Which kind of report an answer becomes, by its call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.exposure import ExposureReport, ExposureReports
from headwater.path import PathReport
from headwater.reports import ChartReport, Report, Reports
from headwater.risk import RiskReport, RiskReports
from headwater.trace import TraceReport, TraceReports

if TYPE_CHECKING:
    from headwater._headwater import Answer

# Calls whose answers have more to them than rows, or a picture: the kind for one address, and for many.
_KINDS: dict[str, tuple[type[Report[Any]], type[Reports[Any]]]] = {
    "address-classify": (ChartReport, Reports),
    "address-risk": (RiskReport, RiskReports),
    "balance-history": (ChartReport, Reports),
    "counterparty": (ChartReport, Reports),
    "exposure": (ExposureReport, ExposureReports),
    "path": (PathReport, Reports),
    "rates/history": (ChartReport, Reports),
    "token/addresses_flow": (ChartReport, Reports),
    "token/concentration": (ChartReport, Reports),
    "token/holders": (ChartReport, Reports),
    "trace": (TraceReport, TraceReports),
    "wallet-overview": (ChartReport, Reports),
}
_PLAIN = (Report, Reports)


def report(endpoint: str, answer: Answer, request: Mapping[str, Any]) -> Report[Any]:
    """Give the report of an answer to a request."""
    return _KINDS.get(endpoint, _PLAIN)[0](endpoint, answer, request)


def reports(endpoint: str, addresses: Sequence[str], each: Sequence[Report[Any]]) -> Reports[Any]:
    """Give the reports of many addresses."""
    return _KINDS.get(endpoint, _PLAIN)[1](endpoint, addresses, each)
