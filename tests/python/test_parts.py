"""Scores in parts: the parts of a plan are the rows and the file of one process."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path

import headwater as hw
import polars as pl
import pyarrow as pa
import pytest
from conftest import Served
from headwater.errors import InvalidInput, StorageError, Unsupported

SIZE = (50, 200)
COLUMNS = ("risk", "class", "features")
FORKED = """
import os, sys, time
import headwater as hw
folder = hw.score_folder(sys.argv[1])
if os.fork() == 0:
    time.sleep(2)
    os._exit(0)
folder.release()
print("released", flush=True)
time.sleep(30)
"""


@pytest.fixture
def ledger(demo: Path) -> hw.Ledger:
    """A ledger over the demo economy."""
    return hw.open(demo)


def test_plan_parts_give_the_rows_of_one_process(ledger: hw.Ledger) -> None:
    for addresses in (None, ledger.features(blockchain="tron")["address"].head(220)):
        plan = pickle.loads(pickle.dumps(ledger.score_plan(addresses, "tron", columns=COLUMNS, part_size=SIZE)))
        assert (plan.blockchain, plan.columns, plan.rows) == ("tron", COLUMNS, plan.parts["addresses"].sum())
        assert plan.parts["part"].to_list() == list(range(plan.parts.height))
        assert plan.parts.filter(pl.col("movements") >= SIZE[1], addresses=1).height > 0
        frames = [ledger.score_part(plan.job, part) for part in plan.parts.iter_rows(named=True)]
        whole = ledger.score(addresses, "tron", columns=COLUMNS)
        assert pl.concat(frames).equals(whole)
        schema = pa.schema(ledger.score_schema("tron", columns=COLUMNS))
        assert schema.names == whole.columns
        assert schema.equals(pa.table(frames[0]).cast(schema).schema)


def test_parts_of_threads_join_to_the_file_of_one_process(ledger: hw.Ledger, tmp_path: Path) -> None:
    straight, output = tmp_path / "straight.parquet", tmp_path / "scores.parquet"
    written = ledger.score(blockchain="ethereum", columns=COLUMNS, output=straight)
    plan = ledger.score_plan(blockchain="ethereum", columns=COLUMNS)
    with hw.score_folder(output) as folder:
        assert folder.missing(plan.job) == plan.parts["part"].to_list()
        rows = list(plan.parts.iter_rows(named=True))
        # Everything twice, at the same time.
        work = [threading.Thread(target=ledger.score_part_file, args=(plan.job, row, folder.path)) for row in rows * 2]
        for thread in work:
            thread.start()
        with pytest.raises(StorageError, match="in use by another process"):
            hw.score_folder(output)
        for thread in work:
            thread.join()
        assert folder.missing(plan.job) == []
        joined = folder.join()
    assert (joined["rows"], joined["failed"]) == (written["rows"], written["failed"])
    assert output.read_bytes() == straight.read_bytes()
    assert not Path(folder.path).exists()
    with pytest.raises(InvalidInput, match="released"):
        folder.join()


def test_part_of_another_job_is_refused_by_name(ledger: hw.Ledger, demo: Path, tmp_path: Path) -> None:
    plan = ledger.score_plan(blockchain="ethereum", columns="risk", part_size=SIZE)
    row, second = plan.parts.filter(pl.col("addresses") > 1).head(2).to_dicts()
    for was, now, named in (
        ('"program": "', '"program": "0.0.', "program was 0.0."),
        ('"generation": "', '"generation": "9', "generation was 9"),
        ('"probe": "', '"probe": "1', "probe was 1"),
        ('"store": "', '"store": "a', "store was a"),
        ('"chain": "ethereum"', '"chain": "dogecoin"', "chain was dogecoin"),
    ):
        assert was in plan.job
        with pytest.raises(InvalidInput, match=named):
            ledger.score_part(plan.job.replace(was, now), row)
        with pytest.raises(InvalidInput, match=named):
            hw.open(demo).score_part_file(plan.job.replace(was, now), row, tmp_path / "parts")
    for wrong in (
        {**row, "addresses": row["addresses"] + 1},
        {**row, "part": row["part"] + 1},
        {**row, "first": second["first"], "last": second["last"]},
        {**row, "first": None, "last": None},
        {**row, "texts": [row["first"]]},
        {**row, "checksum": "?"},
    ):
        with pytest.raises(InvalidInput, match="other rows than the job: part "):
            ledger.score_part(plan.job, wrong)
    with pytest.raises(InvalidInput, match=r"expected a row of ScorePlan\.parts"):
        ledger.score_part(plan.job, {"part": 0})
    with pytest.raises(InvalidInput, match="not the description of a job"):
        ledger.score_part("no job", row)
    with pytest.raises(InvalidInput, match="part_size: a number is 0"):
        ledger.score_plan(blockchain="ethereum", part_size=(0, 1))


def test_join_without_parts_is_refused_by_number(ledger: hw.Ledger, demo: Path, tmp_path: Path) -> None:
    plan = ledger.score_plan(blockchain="ethereum", columns="risk", part_size=SIZE)
    folder = tmp_path / "scores.parquet.parts"
    ledger.score_part_file(plan.job, plan.parts.row(1, named=True), folder)
    with pytest.raises(StorageError, match="missing 0, 2, 3"):
        hw.score_join(folder)
    # The lock stays, so that the missing parts can be made.
    with hw.score_folder(tmp_path / "scores.parquet") as taken:
        with pytest.raises(StorageError, match="missing 0, 2, 3"):
            taken.join()
        for row in plan.parts[taken.missing(plan.job)].iter_rows(named=True):
            ledger.score_part_file(plan.job, row, taken.path)
        file = next(Path(taken.path).glob("part-000002-*"))
        file.write_bytes(file.read_bytes()[:-1] + b"?")
        with pytest.raises(StorageError, match=r"missing 2, and 1 files of parts that are damaged"):
            taken.join()
        assert (taken.missing(plan.job), taken.missing(plan.job, verify=True)) == ([], [2])
        hw.open(demo).score_part_file(plan.job, plan.parts.row(2, named=True), taken.path)
        assert taken.join()["rows"] == plan.rows
    with pytest.raises(InvalidInput, match="not a folder of parts"):
        hw.score_join(tmp_path, tmp_path / "scores.parquet")
    with pytest.raises(InvalidInput, match=r"does not end in \.parquet"):
        hw.score_folder(tmp_path / "scores.csv")


def test_lock_of_a_folder_ends_in_forked_processes_too(tmp_path: Path) -> None:
    folder = hw.score_folder(tmp_path / "scores.parquet")
    child = subprocess.Popen([sys.executable, "-c", FORKED, str(tmp_path / "forked.parquet")], stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"released\n"
        # Its own child still lives.
        hw.score_folder(tmp_path / "forked.parquet").release()
        child.kill()
    folder.release()


def test_parts_over_a_server_are_unsupported(served_example: Served) -> None:
    with pytest.raises(Unsupported, match="need the store itself"):
        hw.connect(served_example.url, served_example.key).score_plan(blockchain="ethereum")
