"""Headwater: blockchain data and intelligence over your own chain data.

>>> import headwater as hw
>>> ledger = hw.Ledger.from_frames(
...     transfers=[
...         {"blockchain": "ethereum", "block_number": 1, "timestamp": 1600000000, "tx_hash": "0x" + "01" * 32,
...          "from_address": "0x" + "aa" * 20, "to_address": "0x" + "bb" * 20, "contract": None,
...          "amount_raw": "1500000000000000000"},
...     ]
... )
>>> report = ledger.transactions("0x" + "aa" * 20)
>>> report.to_frame(amounts="text").select("action", "amount", "symbol").rows()
[('send', '1.5', 'eth')]
"""

from headwater import address, metrics, u256
from headwater._exported import features_of_export
from headwater._headwater import __version__
from headwater._scan import Scan
from headwater.classify import ClassReport, ClassReports
from headwater.errors import (
    Cancelled,
    Conflict,
    Forbidden,
    HeadwaterError,
    InsufficientCredit,
    InternalError,
    InvalidInput,
    NotFound,
    RateLimited,
    ServerError,
    StorageError,
    TimedOut,
    Unauthorized,
    Unavailable,
    UnknownField,
    Unsupported,
)
from headwater.exposure import ExposureReport, ExposureReports
from headwater.following import Follow, FollowStep, follow
from headwater.imports import ImportReport, PriceReport
from headwater.ledger import Ledger, open  # noqa: A004
from headwater.load import IngestReport, SimulateReport, ingest, simulate
from headwater.nodes import ComparisonReport, NodeReport, ingest_rpc, providers, verify_rpc
from headwater.parts import ScoreFolder, ScorePlan, score_folder, score_join
from headwater.path import PathReport
from headwater.pictures import Picture
from headwater.remote import Credits, RemoteLedger, connect
from headwater.reports import ChartReport, Report, Reports
from headwater.risk import RiskReport, RiskReports
from headwater.trace import TraceReport, TraceReports

__all__ = [
    "Cancelled",
    "ChartReport",
    "ClassReport",
    "ClassReports",
    "ComparisonReport",
    "Conflict",
    "Credits",
    "ExposureReport",
    "ExposureReports",
    "Follow",
    "FollowStep",
    "Forbidden",
    "HeadwaterError",
    "ImportReport",
    "IngestReport",
    "InsufficientCredit",
    "InternalError",
    "InvalidInput",
    "Ledger",
    "NodeReport",
    "NotFound",
    "PathReport",
    "Picture",
    "PriceReport",
    "RateLimited",
    "RemoteLedger",
    "Report",
    "Reports",
    "RiskReport",
    "RiskReports",
    "Scan",
    "ScoreFolder",
    "ScorePlan",
    "ServerError",
    "SimulateReport",
    "StorageError",
    "TimedOut",
    "TraceReport",
    "TraceReports",
    "Unauthorized",
    "Unavailable",
    "UnknownField",
    "Unsupported",
    "__version__",
    "address",
    "connect",
    "features_of_export",
    "follow",
    "ingest",
    "ingest_rpc",
    "metrics",
    "open",
    "providers",
    "score_folder",
    "score_join",
    "simulate",
    "u256",
    "verify_rpc",
]
