"""DuckDB and polars over the postings: sorted by account with integer keys (their best case), and DuckDB over the
transfers in order of time with text addresses (what most people have)."""

import os
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

WRAP = 1 << 128
SAMPLED = 997


class Tables:
    """The plain columns on disk, mapped and not copied."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.transfers = self.path("transfers", "time.u32").stat().st_size // 4

    def path(self, table, name):
        return self.folder / table / name

    def column(self, table, name):
        return np.memmap(self.path(table, name), dtype=name.split(".")[1].replace("u", "uint"), mode="r")

    def amounts(self, table):
        path = self.path(table, "amount.i128")
        count = path.stat().st_size // 16
        data = pa.py_buffer(np.memmap(path, dtype="uint8", mode="r"))
        return pa.Array.from_buffers(pa.decimal128(38, 0), count, [None, data])

    def arrow(self, table, columns):
        arrays = {name.split(".")[0]: plain(self.column(table, name)) for name in columns}
        arrays["amount"] = self.amounts(table)
        return pa.table(arrays)

    def postings(self):
        columns = ["account.u32", "row.u32", "time.u32", "other.u32", "token.u8", "direction.u8"]
        return self.arrow("postings", columns)

    def addresses(self):
        return self.path("transfers", "addresses.txt").read_text().split("\n")[:-1]


def plain(column):
    types = {"uint32": pa.uint32(), "uint8": pa.uint8()}
    return pa.Array.from_buffers(types[str(column.dtype)], len(column), [None, pa.py_buffer(column)])


def rows(found):
    return {"rows": [[*row[:4], str(int(row[4]) % WRAP)] for row in found]}


def groups(found):
    if found and len(found[0]) == 2:
        return {"groups": [[other, 255, count, "0", 0, 0] for other, count in found]}
    return {"groups": [[*row[:3], str(int(row[3]) % WRAP), *row[4:]] for row in found]}


def balances(frame):
    if isinstance(frame, pa.Table):
        frame = pl.from_arrow(frame)
    sample = frame.filter(pl.col("account") % SAMPLED == 0).sort("account", "token")
    return {"balances": [len(frame), [[account, token, str(int(sum_) % WRAP)] for account, token, sum_ in sample.rows()]]}


def translate(query, found):
    if query in ("page", "deep page", "filter"):
        return rows(found)
    if query == "balances":
        return balances(found)
    return groups(found)


class Duck:
    """A native table sorted by account, so that its zone maps find an account at once."""

    name = "duckdb"

    @staticmethod
    def version():
        return duckdb.__version__

    @classmethod
    def open(cls, tables):
        path = tables.folder / "sorted.duckdb"
        built = not path.exists()
        if built:
            part = path.with_suffix(".part")
            part.unlink(missing_ok=True)
            connection = duckdb.connect(str(part))
            postings = tables.postings()  # noqa: F841  (DuckDB finds it by its name)
            connection.execute(
                "CREATE TABLE postings AS SELECT account, row, time, other, token, direction,"
                " CAST(amount AS HUGEINT) AS amount FROM postings ORDER BY account, row"
            )
            connection.close()
            part.rename(path)
        engine = cls()
        engine.path = path
        engine.connection = duckdb.connect(str(path), read_only=True)
        return engine, built

    def bytes(self):
        return self.path.stat().st_size

    translate = staticmethod(translate)

    def all(self, sql, *values):
        return self.connection.execute(sql, values).fetchall()

    ROW = "SELECT time, other, token, direction, amount FROM postings WHERE account = ?"
    NEWEST = " ORDER BY row DESC LIMIT 100"
    FULL = "SELECT other, token, count(*) AS n, sum(amount), min(time), max(time) FROM postings WHERE account = ? AND direction < 2"
    BY_PAIR = " GROUP BY other, token ORDER BY n DESC, other, token LIMIT 20"

    def balances(self, of):
        sql = (
            "SELECT account, token, sum(CASE direction WHEN 0 THEN amount WHEN 1 THEN -amount ELSE 0 END) AS balance"
            " FROM postings WHERE direction < 2 GROUP BY account, token"
        )
        return self.connection.sql(sql).to_arrow_table()

    @property
    def queries(self):
        return {
            "page": lambda of: self.all(self.ROW + self.NEWEST, of["account"]),
            "deep page": lambda of: self.all(self.ROW + " AND time <= ?" + self.NEWEST, of["account"], of["until"]),
            "filter": lambda of: self.all(
                self.ROW + " AND token = ? AND time BETWEEN ? AND ?" + self.NEWEST,
                of["account"],
                of["token"],
                of["since"],
                of["until"],
            ),
            "count": lambda of: self.all(
                "SELECT other, count(*) AS n FROM postings WHERE account = ? AND direction < 2 GROUP BY other ORDER BY n DESC, other LIMIT 20",
                of["account"],
            ),
            "full": lambda of: self.all(self.FULL + self.BY_PAIR, of["account"]),
            "full, windowed": lambda of: self.all(
                self.FULL + " AND time BETWEEN ? AND ?" + self.BY_PAIR, of["account"], of["since"], of["until"]
            ),
            "balances": self.balances,
        }


class DuckText:
    """Transfers in order of time, addresses as text."""

    name = "duckdb, text in order of time"
    version = Duck.version

    @classmethod
    def open(cls, tables):
        path = tables.folder / "text.duckdb"
        built = not path.exists()
        engine = cls()
        engine.addresses = tables.addresses()
        if built:
            part = path.with_suffix(".part")
            part.unlink(missing_ok=True)
            connection = duckdb.connect(str(part))
            connection.execute(
                'CREATE TABLE transfers (row UINTEGER, time UINTEGER, "from" VARCHAR, "to" VARCHAR, token UTINYINT,'
                " amount HUGEINT)"
            )
            names = pl.Series("address", engine.addresses)
            sides = [tables.column("transfers", f"{side}.u32") for side in ("from", "to")]
            times, tokens = tables.column("transfers", "time.u32"), tables.column("transfers", "token.u8")
            amounts = tables.amounts("transfers")
            step = 2_000_000
            for first in range(0, len(times), step):
                part_of = slice(first, min(first + step, len(times)))
                chunk = pa.table(  # noqa: F841
                    {
                        "row": pa.array(np.arange(part_of.start, part_of.stop, dtype="uint32")),
                        "time": pa.array(times[part_of]),
                        "from": names.gather(sides[0][part_of]).to_arrow(),
                        "to": names.gather(sides[1][part_of]).to_arrow(),
                        "token": pa.array(tokens[part_of]),
                        "amount": amounts[part_of],
                    }
                )
                connection.execute("INSERT INTO transfers SELECT * FROM chunk")
            connection.close()
            part.rename(path)
        engine.path = path
        engine.connection = duckdb.connect(str(path), read_only=True)
        return engine, built

    def bytes(self):
        return self.path.stat().st_size

    def sides(self, columns):
        return (
            f'SELECT {columns}, "to" AS other, CASE WHEN "to" = $1 THEN 2 ELSE 1 END AS direction'
            ' FROM transfers WHERE "from" = $1'
            f' UNION ALL SELECT {columns}, "from", 0 FROM transfers WHERE "to" = $1 AND "from" <> $1'
        )

    def page(self, of):
        sql = (
            f"SELECT time, other, token, direction, amount FROM ({self.sides('row, time, token, amount')})"
            " ORDER BY row DESC LIMIT 100"
        )
        return self.connection.execute(sql, [self.addresses[of["account"]]]).fetchall()

    def count(self, of):
        sql = f"SELECT other, count(*) AS n FROM ({self.sides('row')}) WHERE direction < 2 GROUP BY other ORDER BY n DESC, other LIMIT 20"
        return self.connection.execute(sql, [self.addresses[of["account"]]]).fetchall()

    def translate(self, query, found):
        places = {address: place for place, address in enumerate(self.addresses)}
        if query == "page":
            return rows([(row[0], places[row[1]], *row[2:]) for row in found])
        return groups([(places[other], count) for other, count in found])

    @property
    def queries(self):
        return {"page": self.page, "count": self.count}


class Polars:
    """A frame over the mapped columns, copied nowhere, with the place of every account known."""

    name = "polars, mapped"

    @staticmethod
    def version():
        return pl.__version__

    @classmethod
    def open(cls, tables):
        engine = cls()
        engine.frame = pl.from_arrow(tables.postings(), rechunk=False)
        accounts = tables.column("postings", "account.u32")
        counts = np.bincount(accounts)
        engine.starts = np.concatenate([[0], np.cumsum(counts)])
        return engine, False

    def bytes(self):
        return None

    translate = staticmethod(translate)

    def of(self, of):
        start, end = self.starts[of["account"]], self.starts[of["account"] + 1]
        return self.frame.slice(int(start), int(end - start))

    def page(self, of):
        return self.newest(self.of(of))

    @staticmethod
    def newest(frame):
        return frame.tail(100).reverse().select("time", "other", "token", "direction", "amount").rows()

    def deep(self, of):
        frame = self.of(of)
        return self.newest(frame.head(frame["time"].search_sorted(of["until"], side="right")))

    def filter(self, of):
        within = pl.col("time").is_between(of["since"], of["until"])
        return self.newest(self.of(of).filter((pl.col("token") == of["token"]) & within))

    def count(self, of):
        counted = self.of(of).filter(pl.col("direction") < 2).group_by("other").len()
        return counted.sort(["len", "other"], descending=[True, False]).head(20).rows()

    @staticmethod
    def grouped(frame):
        sums = [pl.len().alias("n"), pl.col("amount").sum(), pl.col("time").min().alias("a"), pl.col("time").max().alias("z")]
        grouped = frame.filter(pl.col("direction") < 2).group_by("other", "token").agg(sums)
        return grouped.sort(["n", "other", "token"], descending=[True, False, False]).head(20).rows()

    def windowed(self, of):
        frame = self.of(of)
        low = frame["time"].search_sorted(of["since"], side="left")
        high = frame["time"].search_sorted(of["until"], side="right")
        return self.grouped(frame.slice(low, high - low))

    def balances(self, of):
        amount = pl.col("amount").cast(pl.Int128)
        zero = pl.lit(0, dtype=pl.Int128)
        way = pl.col("direction")
        signed = pl.when(way == 0).then(amount).when(way == 1).then(zero - amount).otherwise(zero)
        return self.frame.lazy().filter(way < 2).group_by("account", "token").agg(signed.sum().alias("balance")).collect()

    @property
    def queries(self):
        return {
            "page": self.page,
            "deep page": self.deep,
            "filter": self.filter,
            "count": self.count,
            "full": lambda of: self.grouped(self.of(of)),
            "full, windowed": self.windowed,
            "balances": self.balances,
        }


class PolarsParquet:
    """A lazy scan of a Parquet file sorted by account, row groups of 64 Ki rows."""

    name = "polars, parquet"
    version = Polars.version

    @classmethod
    def open(cls, tables):
        path = tables.folder / "postings.parquet"
        built = not path.exists()
        if built:
            part = path.with_suffix(".part")
            pq.write_table(tables.postings(), part, row_group_size=65_536, compression="zstd", compression_level=3)
            part.rename(path)
        engine = cls()
        engine.path = path
        return engine, built

    def bytes(self):
        return self.path.stat().st_size

    def forget(self):
        with self.path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    translate = staticmethod(translate)

    def scan(self, of):
        return pl.scan_parquet(self.path).filter(pl.col("account") == of["account"])

    def page(self, of):
        newest = self.scan(of).tail(100).select("time", "other", "token", "direction", "amount")
        return newest.collect().reverse().rows()

    def count(self, of):
        counted = self.scan(of).filter(pl.col("direction") < 2).group_by("other").len()
        return counted.sort(["len", "other"], descending=[True, False]).head(20).collect().rows()

    @property
    def queries(self):
        return {"page": self.page, "count": self.count, "full": self.full}

    def full(self, of):
        return Polars.grouped(self.scan(of).select("direction", "other", "token", "amount", "time").collect())


ENGINES = [Duck, DuckText, Polars, PolarsParquet]
