"""The start of all peers: the plain columns on disk, their answers in the words of the generator, and files that are
made once."""

import json
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

WRAP = 1 << 128
SAMPLED = 997


def timed(work):
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    outcome = work()
    return outcome, {"wall_ns": time.perf_counter_ns() - wall, "cpu_ns": time.process_time_ns() - cpu}


def prepared(path, make):
    """Makes a file unless it is there, and returns what that took, now or then."""
    kept = path.with_name(f"{path.name}.cost")
    if not kept.exists():
        part = path.with_name(f"{path.name}.part")
        part.unlink(missing_ok=True)
        _, cost = timed(lambda: make(part))
        part.rename(path)
        kept.write_text(json.dumps(cost))
    return json.loads(kept.read_text())


class Tables:
    """The plain columns on disk, mapped and not copied."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def path(self, table, name):
        return self.folder / table / name

    def column(self, table, name):
        return np.memmap(self.path(table, name), dtype=name.split(".")[1].replace("u", "uint"), mode="r")

    def amounts(self, table, name="amount.i128"):
        path = self.path(table, name)
        data = pa.py_buffer(np.memmap(path, dtype="uint8", mode="r"))
        return pa.Array.from_buffers(pa.decimal128(38, 0), path.stat().st_size // 16, [None, data])

    def postings(self):
        names = ["account.u32", "row.u32", "time.u32", "other.u32", "token.u8", "direction.u8"]
        columns = {name.split(".")[0]: plain(self.column("postings", name)) for name in names}
        return pa.table({**columns, "amount": self.amounts("postings")})

    def stablecoins(self):
        """Decimals of stablecoins, by token."""
        return dict(json.loads(self.path("postings", "stablecoins.json").read_text()))

    def addresses(self):
        return self.path("transfers", "addresses.txt").read_text().split("\n")[:-1]


def plain(column):
    types = {"uint32": pa.uint32(), "uint8": pa.uint8()}
    return pa.Array.from_buffers(types[str(column.dtype)], len(column), [None, pa.py_buffer(column)])


def rows(found):
    return {"rows": [[*row[:4], str(int(row[4]) % WRAP)] for row in found]}


def counts(found):
    return {"groups": [[other, 255, count, "0", 0, 0] for other, count in found]}


def groups(found):
    return {"groups": [[*row[:3], str(int(row[3]) % WRAP), *row[4:]] for row in found]}


def holders(found):
    return {"holders": [[account, str(balance)] for account, balance in found]}


def balances(frame):
    if isinstance(frame, pa.Table):
        frame = pl.from_arrow(frame)
    sample = frame.filter(pl.col("account") % SAMPLED == 0).sort("account", "token")
    return {
        "balances": [len(frame), [[account, token, str(int(sum_) % WRAP)] for account, token, sum_ in sample.rows()]]
    }


def features(frame):
    """Number of accounts, and the sum of each feature over all of them."""
    sums = frame.select(pl.exclude("account").cast(pl.Float64).fill_nan(None).sum()).row(0, named=True)
    return {"features": [len(frame), sums]}


WORDS = {
    "page": rows,
    "deep page": rows,
    "filter": rows,
    "count": counts,
    "full": groups,
    "full, windowed": groups,
    "holders": holders,
    "balances": balances,
    "features": features,
}


class Peer:
    """A library with the postings: its questions by name, and how its answers read."""

    #: What making its data took, where that is kept.
    build = None

    def bytes(self):
        """Bytes of its data on disk, where it has any."""
        return self.path.stat().st_size if hasattr(self, "path") else None

    def translate(self, query, found):
        return WORDS[query](found)
