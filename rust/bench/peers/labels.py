"""The join of asked addresses with a list of labels, in DuckDB and polars.

Reads what ``cargo run --release -p headwater-bench --example labels -- N FOLDER`` wrote.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import duckdb
import polars as pl


def timed(what: str, run: object) -> object:
    """Run it twice and print the second time."""
    run()  # type: ignore[operator]
    begun = time.perf_counter()
    result = run()  # type: ignore[operator]
    print(f"{what}: {time.perf_counter() - begun:.3f} s", flush=True)
    return result


def main() -> None:
    """Load both files, join them, and look up one address."""
    folder = Path(sys.argv[1])
    begun = time.perf_counter()
    connection = duckdb.connect()
    connection.execute(f"create table labels as from read_csv('{folder}/labels.csv') order by address")
    print(f"duckdb {duckdb.__version__}, load: {time.perf_counter() - begun:.2f} s")
    connection.execute(f"create table asked as from read_csv('{folder}/asked.csv')")
    join = "select count(*), count(code) from asked left join labels using (address)"
    print(timed("duckdb, join of all asked", lambda: connection.execute(join).fetchall()))
    one = connection.execute("select address from asked limit 1").fetchone()
    point = "select code from labels where address = ?"
    timed("duckdb, one address", lambda: connection.execute(point, one).fetchall())

    begun = time.perf_counter()
    labels = pl.read_csv(folder / "labels.csv")
    print(f"polars {pl.__version__}, load: {time.perf_counter() - begun:.2f} s")
    asked = pl.read_csv(folder / "asked.csv")
    joined = timed("polars, join of all asked", lambda: asked.join(labels, on="address", how="left"))
    print(joined.select(pl.len(), pl.col("code").count()).row(0))  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
