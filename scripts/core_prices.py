"""Packs the core prices, which are part of the program.

    python3 scripts/core_prices.py

Reads `daily.csv` in `rust/ledger/src/market/core_prices` and writes `daily.gz` beside it: for each coin, in the order of the
columns, its first day as days since 1970 and its number of days (32 bits each, little endian), then the bytes of its prices
as doubles, those of the lowest place first. Equal places of neighbouring days compress well. The same table gives the same
bytes under one version of zlib; a test in `rust/ledger/src/market` compares every price with the table.
"""

import csv
import gzip
import struct
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "rust/ledger/src/market/core_prices"
EPOCH = date(1970, 1, 1)


def packed(cells: list[tuple[str, str]]) -> bytes:
    """The prices of one coin, of consecutive days."""
    days = [(date.fromisoformat(day) - EPOCH).days for day, _ in cells]
    if days != list(range(days[0], days[0] + len(days))):
        raise SystemExit("daily.csv: a day is missing or out of order")
    doubles = struct.pack(f"<{len(cells)}d", *(float(usd) for _, usd in cells))
    return struct.pack("<iI", days[0], len(days)) + b"".join(doubles[place::8] for place in range(8))


with (FOLDER / "daily.csv").open(newline="") as table:
    _, *rows = csv.reader(table)
columns = [[(row[0], row[place]) for row in rows if row[place]] for place in range(1, len(rows[0]))]
content = gzip.compress(b"".join(map(packed, columns)), compresslevel=9, mtime=0)
(FOLDER / "daily.gz").write_bytes(content)
print(f"{len(content)} bytes, {sum(map(len, columns))} prices")
