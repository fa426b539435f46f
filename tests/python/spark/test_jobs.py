"""Scores and features on a cluster: rows and files are those of one machine."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headwater as hw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import headwater
from hand_model import MODEL

pytest.importorskip("pyspark", reason="left out: PySpark is not installed: make test-spark")

from engines import COLUMNS, Job, Straight, commit
from headwater import spark as hws
from spark_cluster import Cluster, SailServer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(rows: Any) -> pl.DataFrame:  # noqa: ANN401
    """Return the rows of a frame of Spark, in the order of addresses."""
    return pl.DataFrame(rows.toArrow()).sort("address", maintain_order=True)


def test_part_files_equal_those_of_one_machine(
    spark: SparkSession, straight: Straight, kept: Path, tmp_path: Path
) -> None:
    job = straight.job
    output = tmp_path / "scores.parquet"
    written = hws.score(spark, **job.arguments(output))
    straight.assert_equal(kept, output)
    assert len(straight.names()) > 20
    assert (written["file"], written["resumed"]) == (str(output), 0)
    assert written["rows"] == pl.read_parquet(output).height
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "scores.parquet"]


def test_rows_equal_those_of_one_machine(spark: SparkSession, job: Job) -> None:
    ledger = hw.open(job.store)
    rows = hws.score(spark, **job.arguments(None))
    wanted = pa.schema(ledger.score_schema(job.chain, columns=COLUMNS))
    assert rows.columns == wanted.names
    assert rows.toArrow().schema.equals(wanted)
    scores = ledger.score(blockchain=job.chain, columns=COLUMNS)
    assert frame_of(rows).equals(scores.sort("address"))
    assert rows.where("risk_score > 50").count() == scores.filter(pl.col("risk_score") > 50).height > 0


def test_listed_addresses_keep_order_in_the_file(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    some = hw.open(job.store).features(blockchain=job.chain)["address"].to_list()[::3]
    listed = [some[5], None, "0x12", *reversed(some), some[5]]
    output, straight = tmp_path / "scores.parquet", tmp_path / "straight.parquet"
    hws.score(spark, **job.arguments(output, addresses=listed))
    pl.DataFrame({"address": listed}).write_parquet(tmp_path / "listed.parquet")
    headwater(*job.command(), "--input", tmp_path / "listed.parquet", "--output", straight)
    assert output.read_bytes() == straight.read_bytes()
    rows = hws.score(spark, **job.arguments(None, addresses=listed))
    assert frame_of(rows).equals(pl.read_parquet(straight).sort("address", maintain_order=True))


def test_frame_of_addresses_is_sorted_without_duplicates(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    some = hw.open(job.store).features(blockchain=job.chain)["address"].to_list()[:120]
    given = spark.createDataFrame(pa.table({"n": range(240), "address": [*reversed(some), *some]}))
    output = tmp_path / "scores.parquet"
    written = hws.score(spark, **job.arguments(output, addresses=given))
    assert written["rows"] == 120
    assert pl.read_parquet(output)["address"].to_list() == sorted(some)
    with pytest.raises(hw.InvalidInput, match="no column `address`; the columns are n"):
        hws.score(spark, **job.arguments(output, addresses=given.select("n")))


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of copies of the driver; executors have those of their workers."""
    folder = tmp_path / "stage"
    monkeypatch.setenv("HEADWATER_STAGE", str(folder))
    return folder


@pytest.mark.parametrize("is_uri", [False, True], ids=["path", "uri"])
def test_staged_copies_give_the_same_file(
    engine: Cluster | SailServer,
    spark: SparkSession,
    straight: Straight,
    stage: Path,
    is_uri: bool,
) -> None:
    job = straight.job
    store = stage.parent / "store"
    shutil.copytree(job.store, store)
    output = stage.parent / "scores.parquet"
    named = store.as_uri() if is_uri else str(store)
    hws.score(spark, **job.arguments(output, store=named, stage="local"))
    assert output.read_bytes() == straight.file.read_bytes()
    # The driver's copy, which opens as a store of its own.
    (copy,) = [path for path in stage.glob("headwater-stage-*/*") if path.is_dir()]
    assert hw.open(copy).score(["0x12"], blockchain=job.chain).height == 1
    if isinstance(engine, Cluster):
        copies = engine.folder.glob("*/local/**/headwater-stage-*/*/manifest-*.json")
        assert {copy.relative_to(engine.folder).parts[0] for copy in copies} == engine.workers_with_executors()


def test_commit_during_the_job_changes_no_byte(
    spark: SparkSession, straight: Straight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = straight.job
    store = tmp_path / "store"
    shutil.copytree(job.store, store)
    planned = hw.Ledger.score_plan

    def planned_before_a_commit(ledger: hw.Ledger, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        plan = planned(ledger, *arguments, **options)
        commit(store, tmp_path)
        return plan

    output, after = tmp_path / "scores.parquet", tmp_path / "after.parquet"
    with monkeypatch.context() as patched:
        patched.setattr(hw.Ledger, "score_plan", planned_before_a_commit)
        hws.score(spark, **job.arguments(output, store=str(store)))
    assert output.read_bytes() == straight.file.read_bytes()
    hws.score(spark, **job.arguments(after, store=str(store)))
    assert after.read_bytes() != straight.file.read_bytes()


@pytest.mark.parametrize(
    "case",
    [("program", r"program was 0\.0\.0, is "), ("probe", "probe was 1 addresses, 0, is "), ("store", "store was ")],
    ids=lambda case: case[0],
)
def test_process_with_other_rows_is_refused(
    spark: SparkSession,
    job: Job,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, str],
) -> None:
    name, message = case
    planned = hw.Ledger.score_plan

    def planned_elsewhere(ledger: hw.Ledger, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        plan = planned(ledger, *arguments, **options)
        described = json.loads(plan.job)
        if name == "program":
            described["versions"]["program"] = "0.0.0"
        else:
            described[name] = "1 addresses, 0"
        return dataclasses.replace(plan, job=json.dumps(described))

    monkeypatch.setattr(hw.Ledger, "score_plan", planned_elsewhere)
    with pytest.raises(hw.InvalidInput, match=message):
        hws.score(spark, **job.arguments(tmp_path / "scores.parquet"))
    assert not list(tmp_path.glob("**/part-*"))
    assert not (tmp_path / "scores.parquet").exists()


def test_models_of_the_driver_are_sent_with_the_tasks(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    # A model that only the driver has: it is deleted before the tasks start.
    model = tmp_path / "by-hand.json"
    model.write_text(json.dumps(MODEL))
    wanted = hw.open(job.store, classifiers=model).score(blockchain=job.chain, columns="class")
    rows = hws.score(spark, **job.arguments(None, columns="class", classifiers=model))
    model.unlink()
    assert frame_of(rows).equals(wanted.sort("address"))


def test_bar_counts_parts(spark: SparkSession, job: Job, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hws.score(spark, **job.arguments(tmp_path / "scores.parquet", progress=True))
    parts = -(-hw.open(job.store).features(blockchain=job.chain).height // job.size)
    assert f"score [####################] {parts} of {parts} parts" in capfd.readouterr().err


def test_second_driver_of_an_output_is_refused(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    output = tmp_path / "scores.parquet"
    with hw.score_folder(output), pytest.raises(hw.StorageError, match="another process"):
        hws.score(spark, **job.arguments(output))


def test_complete_parts_are_joined_without_tasks(spark: SparkSession, straight: Straight, tmp_path: Path) -> None:
    job = straight.job
    output = tmp_path / "scores.parquet"
    shutil.copytree(straight.parts, tmp_path / "scores.parquet.parts")
    started = time.monotonic()
    written = hws.score(spark, **job.arguments(output))
    assert written["resumed"] == written["rows"] > 0
    assert output.read_bytes() == straight.file.read_bytes()
    assert time.monotonic() - started < 60
    # A part that is damaged is computed again.
    shutil.copytree(straight.parts, tmp_path / "scores.parquet.parts")
    damaged = sorted((tmp_path / "scores.parquet.parts").glob("part-*"))[3]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    assert written["rows"] - hws.score(spark, **job.arguments(output))["resumed"] == job.size
    assert output.read_bytes() == straight.file.read_bytes()


@pytest.fixture(scope="module")
def transfers(engine: Cluster | SailServer, spark: SparkSession, exported: Path) -> DataFrame:
    """Exported transfers."""
    if isinstance(engine, Cluster):
        return spark.read.parquet(str(exported / "transfers"))
    # Sail does not read columns that Arrow stores as dictionaries.
    table = pq.read_table(exported / "transfers")
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return spark.createDataFrame(table.cast(pa.schema(list(zip(table.schema.names, kinds, strict=True)))))


@pytest.mark.parametrize("chain", ["ethereum", "tron"])
def test_features_of_an_export_equal_those_of_the_store(transfers: DataFrame, job: Job, chain: str) -> None:
    ledger = hw.open(job.store)
    rows = hws.features(transfers, chain, columns=("class", "features"), groups=7)
    # An export has the addresses with transfers alone.
    wanted = ledger.score(blockchain=chain, columns=("class", "features")).filter(pl.col("error").is_null())
    assert frame_of(rows).equals(wanted.sort("address"))
    cases: list[tuple[str, dict[str, Any]]] = [
        ("risk", {"columns": "risk"}),
        ("an export has bitcoin, bsc, ethereum, tron", {"chain": "eth"}),
        ("bitcoin", {"chain": "bitcoin"}),
        ("give at least 1", {"groups": 0}),
        ("creates_contract", {"df": transfers.drop("creates_contract")}),
    ]
    for message, changed in cases:
        with pytest.raises(hw.InvalidInput, match=message):
            hws.features(**{"df": transfers, "chain": chain, **changed})


def test_arguments_that_other_machines_cannot_use_are_refused(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    output = tmp_path / "scores.parquet"
    cases: list[tuple[str, dict[str, Any]]] = [
        ('is a URI; give a path that every machine mounts, or stage="local"', {"store": "s3://bucket/chain.hw"}),
        ("output: 's3://bucket/scores.parquet' is a URI", {"output": "s3://bucket/scores.parquet"}),
        ("unknown; use", {"stage": "remote"}),
        ("contains no manifest", {"store": tmp_path.as_uri(), "stage": "local"}),
        ("cannot be opened", {"store": "gopher://bucket/chain.hw", "stage": "local"}),
        ("generation", {"generation": 999}),
        (r"does not end in \.parquet", {"output": str(tmp_path / "scores.csv")}),
        ("unknown chain", {"chain": "solana"}),
    ]
    for message, changed in cases:
        with pytest.raises(hw.HeadwaterError, match=message):
            hws.score(spark, **job.arguments(output, **changed))
    assert os.listdir(tmp_path) == []
