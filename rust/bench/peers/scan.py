"""`ledger.scan` beside DuckDB and polars over the same rows as Parquet: time, and memory of the process.

    python scan.py STORE

Each question is asked by each engine in a process of its own, three times; the fastest counts. All engines have to give
one answer. Prints a table of milliseconds and of peak memory in MB, less that of the process before the question.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import polars as pl

import headwater as hw

COLUMNS = ["timestamp", "from_address", "to_address", "amount_raw", "amount_usd"]
ROUNDS = 3


def polars_of(frame, question, of):
    if question == "count":
        return frame.select(pl.len()).collect().item()
    if question == "rows of an address":
        either = (pl.col("from_address") == of["address"]) | (pl.col("to_address") == of["address"])
        found = frame.filter(either).select(pl.len(), pl.col("amount_usd").sum()).collect()
        return [found["len"][0], round(found["amount_usd"][0] or 0)]
    if question == "by day":
        day = pl.col("timestamp").dt.date().alias("day")
        days = frame.group_by(day).agg(pl.len(), pl.col("amount_usd").sum()).sort("day").collect()
        return [days.height, days["len"].max(), round(days["amount_usd"].sum())]
    if question == "top senders":
        senders = frame.filter(pl.col("from_address").is_not_null()).group_by("from_address").len()
        top = senders.sort(["len", "from_address"], descending=[True, False]).head(10)
        return [list(row) for row in top.collect().rows()]
    own = pl.LazyFrame({"from_address": of["senders"], "team": [place % 7 for place in range(len(of["senders"]))]})
    joined = frame.join(own, on="from_address").group_by("team").agg(pl.len()).sort("team").collect()
    return [list(row) for row in joined.rows()]


def duck_of(source, question, of):
    if question == "count":
        return duckdb.sql(f"select count(*) from {source}").fetchall()[0][0]
    if question == "rows of an address":
        either = f"from_address = '{of['address']}' or to_address = '{of['address']}'"
        count, usd = duckdb.sql(f"select count(*), sum(amount_usd) from {source} where {either}").fetchall()[0]
        return [count, round(usd or 0)]
    if question == "by day":
        duckdb.sql("set timezone = 'UTC'")
        days = f"select timestamp::date as day, count(*) as n, sum(amount_usd) as usd from {source} group by all"
        days, most, usd = duckdb.sql(f"select count(*), max(n), sum(usd) from ({days})").fetchall()[0]
        return [days, most, round(usd)]
    if question == "top senders":
        senders = f"select from_address, count(*) as n from {source} where from_address is not null group by all"
        return [list(row) for row in duckdb.sql(f"{senders} order by n desc, from_address limit 10").fetchall()]
    own = pl.DataFrame({"from_address": of["senders"], "team": [place % 7 for place in range(len(of["senders"]))]})  # noqa: F841
    joined = f"select team, count(*) from {source} join own using (from_address) group by team order by team"
    return [list(row) for row in duckdb.sql(joined).fetchall()]


def ask(engine, question, of):
    # Each engine reads the columns that the question needs.
    needs = {
        "count": ["timestamp"],
        "rows of an address": ["from_address", "to_address", "amount_usd"],
        "by day": ["timestamp", "amount_usd"],
        "top senders": ["from_address"],
        "join": ["from_address"],
    }[question]
    if engine == "scan, polars":
        return polars_of(hw.open(of["store"]).scan("movements"), question, of)
    if engine == "scan, DuckDB":
        narrow = {"address": of["address"]} if question == "rows of an address" else {}
        scan = hw.open(of["store"]).scan("movements", as_="arrow", columns=needs, **narrow)  # noqa: F841
        connection = duckdb.default_connection()
        connection.register("scan", scan)
        return duck_of("scan", question, of)
    if engine == "Parquet, DuckDB":
        return duck_of(f"'{of['parquet']}'", question, of)
    return polars_of(pl.scan_parquet(of["parquet"]), question, of)


def measured(engine, question, of):
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = memory_of("VmRSS")
    start = time.perf_counter()
    answer = ask(engine, question, of)
    seconds = time.perf_counter() - start
    return {"answer": answer, "ms": 1000 * seconds, "mb": (memory_of("VmHWM") - before) / 1024}


def memory_of(field):
    """Return a figure of this process in KiB, as Linux has it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def main():
    if sys.argv[1] == "--ask":
        print(json.dumps(measured(sys.argv[2], sys.argv[3], json.loads(sys.stdin.read()))))
        return
    store = sys.argv[1]
    movements = hw.open(store).scan("movements")
    with tempfile.TemporaryDirectory() as folder:
        parquet = os.path.join(folder, "movements.parquet")
        start = time.perf_counter()
        movements.select(COLUMNS).sink_parquet(parquet)
        print(f"{movements.select(pl.len()).collect().item():,} movements, "
              f"written as Parquet in {time.perf_counter() - start:.1f} s, "
              f"{os.path.getsize(parquet) / 2**20:.0f} MB")
        counts = pl.scan_parquet(parquet).group_by("from_address").len().drop_nulls().collect()
        some = counts.filter(pl.col("len") < 200).sort("len", "from_address")["from_address"]
        senders = counts.sort("from_address")["from_address"].gather_every(max(1, counts.height // 1000)).to_list()
        of = {"store": store, "parquet": parquet, "address": some[-1], "senders": senders}
        engines = ["scan, polars", "scan, DuckDB", "Parquet, polars", "Parquet, DuckDB"]
        print("| question | " + " | ".join(engines) + " |\n|---" + "|---:" * len(engines) + "|")
        for question in ("count", "rows of an address", "by day", "top senders", "join"):
            cells, answers = [], []
            for engine in engines:
                runs = []
                for _ in range(ROUNDS):
                    child = [sys.executable, __file__, "--ask", engine, question]
                    done = subprocess.run(child, input=json.dumps(of), capture_output=True, text=True, check=True)
                    runs.append(json.loads(done.stdout))
                best = min(runs, key=lambda run: run["ms"])
                answers.append(best["answer"])
                cells.append(f"{best['ms']:,.0f} ms, {best['mb']:.0f} MB")
            assert all(answer == answers[0] for answer in answers), (question, answers)
            print(f"| {question} | " + " | ".join(cells) + " |", flush=True)


main()
