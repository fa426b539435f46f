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
>>> report.frame.select("action", "amount", "symbol").rows()
[('send', '1.5', 'eth')]
"""

from headwater import address, metrics
from headwater._headwater import __version__
from headwater.errors import Cancelled, HeadwaterError, InternalError, InvalidInput, NotFound, StorageError
from headwater.ledger import Ledger, open  # noqa: A004
from headwater.reports import Report, Reports

__all__ = [
    "Cancelled",
    "HeadwaterError",
    "InternalError",
    "InvalidInput",
    "Ledger",
    "NotFound",
    "Report",
    "Reports",
    "StorageError",
    "__version__",
    "address",
    "metrics",
    "open",
]
