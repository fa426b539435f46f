"""DuckDB over the postings sorted by account with integer keys (its best case), and over the transfers in order of time
with text addresses (what most people have)."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from tables import Peer, counts, prepared, rows

BALANCES = (
    "SELECT account, token, sum(CASE direction WHEN 0 THEN amount WHEN 1 THEN -amount ELSE 0 END) AS balance"
    " FROM postings WHERE direction < 2 GROUP BY account, token"
)


class Duck(Peer):
    """A native table sorted by account, so that its zone maps find an account at once, and holders sorted by token."""

    name = "duckdb"
    version = duckdb.__version__

    def __init__(self, tables):
        self.path = tables.folder / "sorted.duckdb"
        self.build = prepared(self.path, lambda part: self.make(part, tables))
        self.connection = duckdb.connect(str(self.path), read_only=True)

    @staticmethod
    def make(part, tables):
        with duckdb.connect(str(part)) as connection:
            postings = tables.postings()  # noqa: F841  (DuckDB finds it by its name)
            connection.execute(
                "CREATE TABLE postings AS SELECT account, row, time, other, token, direction,"
                " CAST(amount AS HUGEINT) AS amount FROM postings ORDER BY account, row"
            )
            connection.execute(
                f"CREATE TABLE holders AS SELECT token, account, balance FROM ({BALANCES}) WHERE balance > 0"
                " ORDER BY token, balance DESC, account"
            )

    def all(self, sql, *values):
        return self.connection.execute(sql, values).fetchall()

    ROW = "SELECT time, other, token, direction, amount FROM postings WHERE account = ?"
    NEWEST = " ORDER BY row DESC LIMIT 100"
    COUNT = "SELECT other, count(*) AS n FROM postings WHERE account = ? AND direction < 2"
    BY_OTHER = " GROUP BY other ORDER BY n DESC, other LIMIT 20"
    FULL = (
        "SELECT other, token, count(*) AS n, sum(amount), min(time), max(time) FROM postings"
        " WHERE account = ? AND direction < 2"
    )
    BY_PAIR = " GROUP BY other, token ORDER BY n DESC, other, token LIMIT 20"

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
            "count": lambda of: self.all(self.COUNT + self.BY_OTHER, of["account"]),
            "full": lambda of: self.all(self.FULL + self.BY_PAIR, of["account"]),
            "full, windowed": lambda of: self.all(
                self.FULL + " AND time BETWEEN ? AND ?" + self.BY_PAIR, of["account"], of["since"], of["until"]
            ),
            "holders": lambda of: self.all(
                "SELECT account, balance FROM holders WHERE token = ? ORDER BY balance DESC, account LIMIT 100",
                of["token"],
            ),
            "balances": lambda of: self.connection.sql(BALANCES).to_arrow_table(),
        }


class DuckText(Peer):
    """Transfers in order of time, addresses as text."""

    name = "duckdb, text in order of time"
    version = duckdb.__version__

    def __init__(self, tables):
        self.addresses = tables.addresses()
        self.path = tables.folder / "text.duckdb"
        self.build = prepared(self.path, lambda part: self.make(part, tables))
        self.connection = duckdb.connect(str(self.path), read_only=True)

    def make(self, part, tables):
        names = pl.Series("address", self.addresses)
        sides = [tables.column("transfers", f"{side}.u32") for side in ("from", "to")]
        times, tokens = tables.column("transfers", "time.u32"), tables.column("transfers", "token.u8")
        amounts = tables.amounts("transfers")
        with duckdb.connect(str(part)) as connection:
            connection.execute(
                'CREATE TABLE transfers (row UINTEGER, time UINTEGER, "from" VARCHAR, "to" VARCHAR, token UTINYINT,'
                " amount HUGEINT)"
            )
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

    @staticmethod
    def sides(columns):
        return (
            f'SELECT {columns}, "to" AS other, CASE WHEN "to" = $1 THEN 2 ELSE 1 END AS direction'
            ' FROM transfers WHERE "from" = $1'
            f' UNION ALL SELECT {columns}, "from", 0 FROM transfers WHERE "to" = $1 AND "from" <> $1'
        )

    def all(self, sql, of):
        return self.connection.execute(sql, [self.addresses[of["account"]]]).fetchall()

    @property
    def queries(self):
        page = (
            f"SELECT time, other, token, direction, amount FROM ({self.sides('row, time, token, amount')})"
            " ORDER BY row DESC LIMIT 100"
        )
        count = (
            f"SELECT other, count(*) AS n FROM ({self.sides('row')}) WHERE direction < 2"
            " GROUP BY other ORDER BY n DESC, other LIMIT 20"
        )
        return {"page": lambda of: self.all(page, of), "count": lambda of: self.all(count, of)}

    def translate(self, query, found):
        places = {address: place for place, address in enumerate(self.addresses)}
        if query == "page":
            return rows([(row[0], places[row[1]], *row[2:]) for row in found])
        return counts([(places[other], count) for other, count in found])


ENGINES = [Duck, DuckText]
