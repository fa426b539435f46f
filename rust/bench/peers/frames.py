"""polars over the postings sorted by account: mapped columns, and a Parquet file."""

import os

import numpy as np
import polars as pl
import pyarrow.parquet as pq

import features
from tables import Peer, prepared

ROW = ("time", "other", "token", "direction", "amount")


def counted(frame):
    grouped = frame.filter(pl.col("direction") < 2).group_by("other").len()
    return grouped.sort(["len", "other"], descending=[True, False]).head(20)


def grouped(frame):
    sums = [
        pl.len().alias("n"),
        pl.col("amount").sum(),
        pl.col("time").min().alias("a"),
        pl.col("time").max().alias("z"),
    ]
    grouped = frame.filter(pl.col("direction") < 2).group_by("other", "token").agg(sums)
    return grouped.sort(["n", "other", "token"], descending=[True, False, False]).head(20)


class Polars(Peer):
    """A frame over the mapped columns, copied nowhere, with the place of every account known."""

    name = "polars, mapped"
    version = pl.__version__

    def __init__(self, tables):
        self.frame = pl.from_arrow(tables.postings(), rechunk=False)
        self.stablecoins = tables.stablecoins()
        large = np.zeros(len(self.frame), dtype=bool)
        large[tables.column("postings", "large.u32")] = True
        self.frame = self.frame.with_columns(pl.Series("large", large))
        counts = np.bincount(tables.column("postings", "account.u32"))
        self.starts = np.concatenate([[0], np.cumsum(counts)])

    def of(self, of):
        start, end = self.starts[of["account"]], self.starts[of["account"] + 1]
        return self.frame.slice(int(start), int(end - start))

    @staticmethod
    def newest(frame):
        return frame.tail(100).reverse().select(ROW).rows()

    def deep(self, of):
        frame = self.of(of)
        return self.newest(frame.head(frame["time"].search_sorted(of["until"], side="right")))

    def filter(self, of):
        within = pl.col("time").is_between(of["since"], of["until"])
        return self.newest(self.of(of).filter((pl.col("token") == of["token"]) & within))

    def windowed(self, of):
        frame = self.of(of)
        low = frame["time"].search_sorted(of["since"], side="left")
        high = frame["time"].search_sorted(of["until"], side="right")
        return grouped(frame.slice(low, high - low)).rows()

    def balances(self, of):
        amount = pl.col("amount").cast(pl.Int128)
        zero = pl.lit(0, dtype=pl.Int128)
        way = pl.col("direction")
        signed = pl.when(way == 0).then(amount).when(way == 1).then(zero - amount).otherwise(zero)
        return (
            self.frame.lazy().filter(way < 2).group_by("account", "token").agg(signed.sum().alias("balance")).collect()
        )

    def features(self, of):
        return features.of_every_account(self.frame, self.stablecoins)

    @property
    def queries(self):
        return {
            "page": lambda of: self.newest(self.of(of)),
            "deep page": self.deep,
            "filter": self.filter,
            "count": lambda of: counted(self.of(of)).rows(),
            "full": lambda of: grouped(self.of(of)).rows(),
            "full, windowed": self.windowed,
            "balances": self.balances,
            "features": self.features,
        }


class PolarsParquet(Peer):
    """A lazy scan of a Parquet file sorted by account, row groups of 64 Ki rows."""

    name = "polars, parquet"
    version = pl.__version__

    def __init__(self, tables):
        self.path = tables.folder / "postings.parquet"
        options = {"row_group_size": 65_536, "compression": "zstd", "compression_level": 3}
        self.build = prepared(self.path, lambda part: pq.write_table(tables.postings(), part, **options))

    def forget(self):
        with self.path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def scan(self, of):
        return pl.scan_parquet(self.path).filter(pl.col("account") == of["account"])

    @property
    def queries(self):
        return {
            "page": lambda of: self.scan(of).tail(100).select(ROW).collect().reverse().rows(),
            "count": lambda of: counted(self.scan(of)).collect().rows(),
            "full": lambda of: grouped(self.scan(of)).collect().rows(),
        }


ENGINES = [Polars, PolarsParquet]
