"""Jobs on a cluster whose processes are killed: the file is that of one machine, and parts are computed once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="left out: PySpark is not installed: make test-spark")

from engines import IS_FULL, Job, Straight, commit
from headwater import spark as hws
from spark_cluster import DEADLINE_SECS, Cluster, SailServer, kill, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(not IS_FULL, reason="left out: kills in jobs on clusters take minutes: make test-full")


@pytest.fixture
def cluster(engine: Cluster | SailServer) -> Cluster:
    """A cluster of Spark."""
    if not isinstance(engine, Cluster):
        pytest.skip("left out: Sail runs tasks in one process, which has a test of its own")
    return engine


def parts_of(output: Path) -> list[Path]:
    """Return the part files that are there."""
    return sorted(output.with_name(f"{output.name}.parts").glob("part-*"))


def started(spark: SparkSession, job: Job, output: Path) -> Future[Any]:
    """Start a job on a thread, and wait until some of its parts are there."""
    running = ThreadPoolExecutor(1).submit(lambda: hws.score(spark, **job.arguments(output)))
    wait_until(lambda: running.done() or len(parts_of(output)) >= 3, "the first parts")
    assert not running.done(), running.exception()
    return running


def started_driver(engine: Cluster | SailServer, job: Job, output: Path, parts: int) -> subprocess.Popen[str]:
    """Start a driver in a process of its own, and wait until some of its parts are there."""
    script = Path(__file__).with_name("driver.py")
    arguments = [sys.executable, str(script), engine.url, json.dumps(job.arguments(output))]
    paths = os.pathsep.join([str(script.parent), str(script.parents[1])])
    environment = {**engine.environment(), "PYTHONPATH": paths}
    driver = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: driver.poll() is not None or len(parts_of(output)) >= parts, "the first parts of a driver")
    assert driver.poll() is None, driver.communicate()
    return driver


def test_killed_worker_is_replaced_by_the_other(
    cluster: Cluster,
    spark: SparkSession,
    long_straight: Straight,
    kept: Path,
) -> None:
    output = kept.parent / "scores.parquet"
    running = started(spark, long_straight.job, output)
    cluster.kill_worker("first")
    assert running.result(DEADLINE_SECS)["rows"] > 0
    long_straight.assert_equal(kept, output)
    cluster.start_worker("first")


def test_killed_python_process_is_replaced(
    cluster: Cluster,
    spark: SparkSession,
    long_straight: Straight,
    kept: Path,
) -> None:
    output = kept.parent / "scores.parquet"
    running = started(spark, long_straight.job, output)
    processes = cluster.python_processes()
    assert processes
    kill(processes[0])
    assert running.result(DEADLINE_SECS)["rows"] > 0
    long_straight.assert_equal(kept, output)


def test_commit_between_parts_changes_no_byte(
    spark: SparkSession,
    long_straight: Straight,
    kept: Path,
) -> None:
    output, store = kept.parent / "scores.parquet", kept.parent / "store"
    shutil.copytree(long_straight.job.store, store)
    running = started(spark, replace(long_straight.job, store=store), output)
    commit(store, kept.parent)
    assert running.result(DEADLINE_SECS)["rows"] > 0
    long_straight.assert_equal(kept, output)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_driver_that_ended_is_resumed_with_missing_parts(
    engine: Cluster | SailServer,
    spark: SparkSession,
    long_straight: Straight,
    kept: Path,
    ending: signal.Signals,
) -> None:
    output = kept.parent / "scores.parquet"
    before = engine.executors()
    driver = started_driver(engine, long_straight.job, output, 5)
    driver.send_signal(ending)
    said = driver.communicate(timeout=DEADLINE_SECS)[1]
    assert ending == signal.SIGKILL or "KeyboardInterrupt" in said
    wait_until(lambda: engine.executors() == before, "the end of the executors of the driver")
    wait_until(lambda: is_still(output), "the end of the tasks of the driver")
    assert not output.exists()
    written_before = {path.name: path.stat().st_mtime_ns for path in parts_of(output)}
    assert 5 <= len(written_before) < len(long_straight.names())
    written = hws.score(spark, **long_straight.job.arguments(output))
    long_straight.assert_equal(kept, output)
    assert written["resumed"] >= (len(written_before) - 1) * long_straight.job.size
    assert written["resumed"] < written["rows"]
    # What was there has not been written again.
    assert {name: (kept / name).stat().st_mtime_ns for name in written_before} == written_before


def test_killed_server_of_sail_is_resumed_on_another(
    engine: Cluster | SailServer,
    spark: SparkSession,
    long_straight: Straight,
    kept: Path,
) -> None:
    if isinstance(engine, Cluster):
        pytest.skip("left out: Spark has tests of its own for each of its processes")
    output = kept.parent / "scores.parquet"
    server = SailServer(kept.parent)
    driver = started_driver(server, long_straight.job, output, 5)
    server.stop()
    driver.kill()
    driver.communicate()
    written = hws.score(spark, **long_straight.job.arguments(output))
    assert 0 < written["resumed"] < written["rows"]
    long_straight.assert_equal(kept, output)


def is_still(output: Path) -> bool:
    """Return whether no part was written for a while."""
    parts = parts_of(output)
    time.sleep(2)
    return parts == parts_of(output)
