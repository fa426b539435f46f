"""Fixtures of the tests on clusters: the engine that is installed, stores, and jobs on one machine to compare with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headwater as hw
import pytest
from conftest import headwater
from headwater.parts import ScoreFolder
from spark_cluster import Cluster, SailServer, session

IS_FULL = bool(os.environ.get("HEADWATER_FULL"))
COLUMNS = ("risk", "class", "features")


@dataclass
class Job:
    """A job whose parts are small: the store, its chain, and addresses of a part."""

    store: Path
    chain: str
    size: int

    def arguments(self, file: Path | None, **changed: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the arguments of a job on a cluster."""
        given = {
            "store": str(self.store),
            "chain": self.chain,
            "columns": COLUMNS,
            "output": None if file is None else str(file),
            "part_size": (self.size, 1 << 20),
        }
        return {**given, **changed}

    def command(self, store: Path | None = None) -> list[str | Path]:
        """Return the command of the job on one machine, without its output."""
        named = ["--columns", ",".join(COLUMNS), "--addresses-per-part", str(self.size)]
        return ["score", "--store", store or self.store, "--chain", self.chain, *named]


@dataclass
class Straight:
    """A job and its results on one machine: the folder of parts, and the file."""

    job: Job
    parts: Path
    file: Path

    def names(self) -> list[str]:
        """Return the names of the part files."""
        return sorted(path.name for path in self.parts.glob("part-*"))

    def assert_equal(self, parts: Path, file: Path) -> None:
        """Compare names and bytes of all part files, and the bytes of the file."""
        assert sorted(path.name for path in parts.glob("part-*")) == self.names()
        for name in self.names():
            assert (parts / name).read_bytes() == (self.parts / name).read_bytes(), name
        assert file.read_bytes() == self.file.read_bytes()


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster | SailServer]:
    """A cluster of Spark, or the server that HEADWATER_CLUSTER names."""
    folder = tmp_path_factory.mktemp("engine")
    is_sail = os.environ.get("HEADWATER_CLUSTER", "spark") == "sail"
    made = SailServer(folder) if is_sail else Cluster(folder)
    os.environ.update(made.environment())
    yield made
    made.stop()


@pytest.fixture(scope="session")
def spark(engine: Cluster | SailServer) -> Iterator[Any]:
    """A session of it."""
    made = session(engine.url)
    yield made
    made.stop()


@pytest.fixture(scope="session")
def job(demo: Path) -> Job:
    """A job of some dozens of parts."""
    return Job(demo, "ethereum", 50)


@pytest.fixture(scope="session")
def long_job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job that takes long enough to be interrupted."""
    store = tmp_path_factory.mktemp("long") / "store"
    headwater("simulate", "--store", store, "--preset", "s")
    return Job(store, "ethereum", 512)


def shard_of(job: Job, folder: Path) -> Path:
    """Run a job on one machine, as one shard, whose parts stay."""
    output = folder / "shard.parquet"
    headwater(*job.command(), "--output", output, "--shard", "1/1")
    return output.with_name("shard.parquet.parts")


@pytest.fixture(scope="session")
def straight(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Straight:
    """The job on one machine."""
    folder = tmp_path_factory.mktemp("straight")
    file = folder / "straight.parquet"
    headwater(*job.command(), "--output", file)
    return Straight(job, shard_of(job, folder), file)


@pytest.fixture(scope="session")
def long_straight(long_job: Job, tmp_path_factory: pytest.TempPathFactory) -> Straight:
    """The long job on one machine, whose parts are joined instead of computed twice."""
    folder = tmp_path_factory.mktemp("straight")
    parts, file = shard_of(long_job, folder), folder / "straight.parquet"
    shutil.copytree(parts, folder / "straight.parquet.parts")
    headwater("score", "--join", folder / "straight.parquet.parts")
    return Straight(long_job, parts, file)


@pytest.fixture(scope="session")
def exported(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of the account chains of the job's store."""
    folder = tmp_path_factory.mktemp("exported") / "export"
    hw.open(job.store).export(folder, chains=["ethereum", "tron"])
    return folder


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder into which parts are copied before they are joined."""
    copy = tmp_path / "kept"
    join: Callable[..., dict[str, Any]] = ScoreFolder.join

    def copied_and_joined(folder: ScoreFolder, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        shutil.copytree(folder.path, copy)
        return join(folder, **options)

    monkeypatch.setattr(ScoreFolder, "join", copied_and_joined)
    return copy


def commit(store: Path, folder: Path) -> None:
    """Commit something that changes the scores of a store."""
    address = hw.open(store).features(blockchain="ethereum")["address"][0]
    labels = folder / "labels.csv"
    labels.write_text(f"address,blockchain,code\n{address},ethereum,sanctions\n")
    headwater("labels", "import", "--store", store, labels)
