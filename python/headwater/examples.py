"""A ledger of four transfers, small enough to check every answer by hand.

Bob sends Alice 3 ETH; Alice pays the shop 1 ETH, and Bob 2.5 USDT; the shop pays Bob 0.25 ETH. One ether is worth 2,000
dollars all the while, one USDT one dollar. One list knows the shop.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import polars as pl

from headwater.ledger import Ledger

ALICE = "0x" + "aa" * 20
BOB = "0x" + "bb" * 20
SHOP = "0x" + "cc" * 20
USDT = "0xdac17f958d2ee523a2206206994597c13d831ec7"

_ETHER = 10**18
_TRANSFERS = [
    (1, BOB, ALICE, None, 3 * _ETHER),
    (2, ALICE, SHOP, None, _ETHER),
    (3, ALICE, BOB, USDT, 2_500_000),
    (4, SHOP, BOB, None, _ETHER // 4),
]
_START = 1_600_000_000


def exports(folder: str | PathLike[str]) -> list[Path]:
    """Write the transfers to a folder, as exports of Etherscan are.

    Parameters
    ----------
    folder : path-like
        An existing folder.

    Returns
    -------
    list of pathlib.Path
        The file of transactions and the file of token transfers.

    Examples
    --------
    >>> import tempfile
    >>> from headwater import examples
    >>> [file.name for file in examples.exports(tempfile.mkdtemp())]
    ['transactions.csv', 'token_transfers.csv']
    """
    coins, tokens = [], []
    for number, sender, receiver, contract, amount in _TRANSFERS:
        row = {
            "blockNumber": number,
            "timeStamp": _START + 12 * number,
            "hash": f"0x{number:064x}",
            "from": sender,
            "to": contract or receiver,
            "value": 0 if contract else amount,
            "gasPrice": 0,
            "gasUsed": 21_000,
            "isError": 0,
        }
        coins.append(row)
        if contract:
            moved = {"to": receiver, "value": amount, "contractAddress": contract, "tokenDecimal": 6}
            tokens.append({**row, **moved})
    files = [Path(folder) / "transactions.csv", Path(folder) / "token_transfers.csv"]
    for file, rows in zip(files, (coins, tokens), strict=True):
        pl.DataFrame(rows).write_csv(file)
    return files


def ledger() -> Ledger:
    """Build the ledger.

    Returns
    -------
    Ledger

    Examples
    --------
    >>> from headwater.examples import ALICE, ledger
    >>> ledger().transactions(ALICE).to_frame(amounts="text").select("action", "amount", "symbol").rows()
    [('send', '2.5', 'usdt'), ('send', '1', 'eth'), ('receive', '3', 'eth')]
    """
    transfers = [
        {
            "blockchain": "ethereum",
            "block_number": number,
            "timestamp": _START + 12 * number,
            "tx_hash": f"0x{number:064x}",
            "from_address": sender,
            "to_address": receiver,
            "contract": contract,
            "amount_raw": str(amount),
        }
        for number, sender, receiver, contract, amount in _TRANSFERS
    ]
    prices = [
        {"symbol": symbol, "timestamp": _START, "price_usd": usd} for symbol, usd in (("eth", 2000.0), ("usdt", 1.0))
    ]
    tokens = [{"blockchain": "ethereum", "contract": USDT, "symbol": "USDT", "name": "Tether USD", "decimals": 6}]
    labels = [
        {
            "blockchain": "ethereum",
            "address": SHOP,
            "code": "merchant",
            "entity": "Corner Shop",
            "level": "service_data",
        }
    ]
    return Ledger.from_frames(transfers, labels, prices, tokens)
