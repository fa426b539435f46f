"""Concentration of five million balances: exact sum and largest thousand, Herfindahl index, Gini coefficient."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from tables import Peer


class Holders(Peer):
    exact = True

    @property
    def queries(self):
        return {"concentration": self.concentration}

    def translate(self, query, found):
        total, top, hhi, gini = found
        text = str(int(total)) if self.exact else ""
        share = float(top) / float(total)
        return {"concentration": {"sum": text, "top": share, "hhi": float(hhi), "gini": float(gini)}}


def balances(tables):
    return tables.amounts("holders", "balance.i128")


class DuckHolders(Holders):
    name = "duckdb, holders"
    version = duckdb.__version__

    def __init__(self, tables):
        self.connection = duckdb.connect()
        balances_of = pa.table({"balance": balances(tables)})  # noqa: F841
        self.connection.execute("CREATE TABLE holders AS SELECT CAST(balance AS HUGEINT) AS balance FROM balances_of")

    def concentration(self, of):
        # Ranks count from the smallest: the Gini coefficient is 2 sum(rank * balance) / (n * sum) - (n + 1) / n.
        total, count, squares, ranked, top = self.connection.execute(
            "WITH ranked AS (SELECT balance, row_number() OVER (ORDER BY balance) AS rank FROM holders)"
            " SELECT sum(balance), count(*), sum(balance::DOUBLE * balance::DOUBLE), sum(rank * balance),"
            " sum(balance) FILTER (rank > (SELECT count(*) FROM holders) - 1000) FROM ranked"
        ).fetchone()
        return total, top, squares / float(total) ** 2, 2 * ranked / (count * total) - (count + 1) / count


class PolarsHolders(Holders):
    name = "polars, holders"
    version = pl.__version__

    def __init__(self, tables):
        self.column = pl.from_arrow(balances(tables)).cast(pl.Int128)

    def concentration(self, of):
        column = self.column.sort()
        count = len(column)
        total = column.sum()
        floats = column.cast(pl.Float64)
        ranks = pl.int_range(1, count + 1, dtype=pl.Int128, eager=True)
        ranked = (ranks * column).sum()
        top = column.tail(1000).sum()
        hhi = (floats * floats).sum() / float(total) ** 2
        return total, top, hhi, 2 * ranked / (count * total) - (count + 1) / count


class NumpyHolders(Holders):
    """In doubles, so not exact."""

    name = "numpy in doubles, holders"
    version = np.__version__
    exact = False

    def __init__(self, tables):
        words = np.memmap(tables.path("holders", "balance.i128"), dtype="uint64", mode="r").reshape(-1, 2)
        self.column = words[:, 1].astype("float64") * 2.0**64 + words[:, 0].astype("float64")

    def concentration(self, of):
        column = np.sort(self.column)
        count, total = len(column), column.sum()
        ranked = np.dot(np.arange(1, count + 1, dtype="float64"), column)
        return (
            total,
            column[-1000:].sum(),
            np.dot(column, column) / total**2,
            2 * ranked / (count * total) - (count + 1) / count,
        )


ENGINES = [DuckHolders, PolarsHolders, NumpyHolders]
