"""The examples of docs/clusters.md run as they are, with the engines that are installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import headwater as hw
import pytest

pytest.importorskip("pyspark", reason="left out: PySpark is not installed: make test-spark")

from engines import Job
from spark_cluster import DEADLINE_SECS, Cluster, SailServer

PAGE = Path(__file__).parents[3] / "docs/clusters.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
OTHERS = ("ray", "dask", "daft")
# Examples continue each other, and begin with a session.
ON_SPARK = [block for block in BLOCKS if "hws." in block]


def run(script: str, job: Job, place: Path, engine: Cluster | SailServer | None = None) -> str:
    """Run an example with folders of the test in place of those of the page."""
    for named in ("ray.parquet", "dask.parquet", "scores.parquet", "rows"):
        script = script.replace(f"/mnt/{named}", str(place / named))
    file = place / "example.py"
    file.write_text(script.replace("/mnt/chain.hw", str(job.store)))
    here = Path(__file__).parent
    environment = {
        **(os.environ if engine is None else engine.environment()),
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parent)]),
        "HEADWATER_STAGE": str(place / "stage"),
        # Ray would write a token into the home folder.
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, timeout=DEADLINE_SECS, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_every_example_of_the_page_has_a_test() -> None:
    named = [block for block in BLOCKS if any(f"import {engine}" in block for engine in OTHERS) or "dask" in block]
    sessions = [block for block in BLOCKS if "builder.remote" in block]
    assert len(BLOCKS) == len(ON_SPARK) + len(named) + len(sessions)
    assert (len(ON_SPARK), len(named), len(sessions)) == (3, 3, 1)


def run_on(engine: Cluster | SailServer, blocks: list[str], job: Job, place: Path) -> str:
    """Run examples that continue each other with a session of the engine."""
    head = f"from headwater import spark as hws\nfrom spark_cluster import session\nspark = session({engine.url!r})\n"
    return run("\n".join([head, *blocks, "spark.stop()\n"]), job, place, engine)


def test_examples_of_spark_print_rows(engine: Cluster | SailServer, job: Job, tmp_path: Path) -> None:
    printed = run_on(engine, [block for block in ON_SPARK if "/mnt/export" not in block], job, tmp_path)
    assert f"{hw.open(job.store).features(blockchain='ethereum').height} " in printed
    assert "risk_score" in printed
    assert list((tmp_path / "rows").glob("*.parquet"))


def test_example_of_features_prints_rows(
    engine: Cluster | SailServer, job: Job, exported: Path, tmp_path: Path
) -> None:
    if isinstance(engine, SailServer):
        pytest.skip("left out: the example of an export, because Sail does not read columns that are dictionaries")
    named = [block.replace("/mnt/export", str(exported)) for block in ON_SPARK if "/mnt/export" in block]
    printed = run_on(engine, named, job, tmp_path)
    assert "predicted_class" in printed


@pytest.mark.parametrize("name", OTHERS)
def test_examples_of_other_engines_print_rows(job: Job, tmp_path: Path, name: str) -> None:
    if find_spec(name) is None:
        pytest.skip(f"left out: the example of {name}, which is not installed: make test-spark")
    (script,) = [block for block in BLOCKS if f"import {name}" in block or f"from {name}" in block]
    printed = run(script, job, tmp_path)
    if name == "daft":
        assert "risk_score" in printed
    else:
        assert str(hw.open(job.store).features(blockchain="ethereum").height) in printed
