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
    return once(what, run)


def once(what: str, run: object) -> object:
    """Run it and print its time by the clock, and of all threads."""
    begun, cpu = time.perf_counter(), time.process_time()
    result = run()  # type: ignore[operator]
    clock, cpu = time.perf_counter() - begun, time.process_time() - cpu
    print(f"{what}: {clock:.4f} s ({cpu:.4f} s of processor)", flush=True)
    return result


def main() -> None:
    """Load both files, join them, and look up one address."""
    folder = Path(sys.argv[1])
    connection = duckdb.connect()
    load = f"create table labels as from read_csv('{folder}/labels.csv') order by address"
    once(f"duckdb {duckdb.__version__}, load", lambda: connection.execute(load))
    connection.execute(f"create table asked as from read_csv('{folder}/asked.csv')")
    join = "select count(*), count(code) from asked left join labels using (address)"
    print(timed("duckdb, join of all asked", lambda: connection.execute(join).fetchall()))
    one = connection.execute("select address from asked limit 1").fetchone()
    point = "select code from labels where address = ?"
    timed("duckdb, one address", lambda: connection.execute(point, one).fetchall())

    labels = once(f"polars {pl.__version__}, load", lambda: pl.read_csv(folder / "labels.csv"))
    asked = pl.read_csv(folder / "asked.csv")
    joined = timed("polars, join of all asked", lambda: asked.join(labels, on="address", how="left"))
    print(joined.select(pl.len(), pl.col("code").count()).row(0))  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
