"""Copies of a generation on local disks, and what clusters need without PySpark."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import headwater as hw
import pytest
from headwater import _headwater, _stage
from headwater.examples import SHOP

COPY = "import sys; from headwater import _stage; print(_stage.stage(_stage.files_of(sys.argv[1], None)))"


@pytest.fixture
def store(labelled_example: Path, tmp_path: Path) -> Path:
    """A store of the four transfers that a test may damage."""
    store = tmp_path / "store"
    shutil.copytree(labelled_example, store)
    return store


@pytest.fixture(autouse=True)
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of copies."""
    folder = tmp_path / "stage"
    monkeypatch.setenv("HEADWATER_STAGE", f"{folder},{tmp_path}/second-disk")
    return folder


def copies(stage: Path) -> Iterator[Path]:
    """Return the files of all copies."""
    return (path for path in stage.glob("headwater-stage-*/*/**/*") if path.is_file())


@pytest.mark.parametrize("is_uri", [False, True], ids=["path", "uri"])
def test_copy_opens_with_the_answers_of_the_original(store: Path, stage: Path, is_uri: bool) -> None:
    files = _stage.files_of(store.as_uri() if is_uri else str(store), None)
    folder = _stage.stage(files)
    assert Path(folder).is_relative_to(stage)
    with hw.open(folder, generation=files.generation) as copy, hw.open(store) as original:
        assert copy.score([SHOP], columns="risk").equals(original.score([SHOP], columns="risk"))
    # The second call copies nothing.
    shutil.rmtree(store)
    assert _stage.stage(files) == folder


def test_processes_of_a_machine_share_one_copy(store: Path, stage: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", COPY, str(store)], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    folders = {process.communicate(timeout=60)[0].strip() for process in started}
    assert [process.returncode for process in started] == [0, 0, 0, 0]
    assert len(folders) == 1
    assert not [path for path in copies(stage) if path.suffix == ".partial"]


def test_interrupted_copy_continues_with_missing_files(store: Path, stage: Path) -> None:
    files = _stage.files_of(str(store), None)
    folder = Path(_stage.stage(files))
    (first, _, _), *_, (manifest, _, _) = files.files
    # As a process leaves it that ended before the manifest.
    (folder / manifest).unlink()
    (folder / first).rename(folder / f"{first}.partial")
    kept = {path: path.stat().st_mtime_ns for path in copies(stage) if path.suffix != ".partial"}
    assert _stage.stage(files) == str(folder)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert {str(path.relative_to(folder)) for path in copies(stage)} >= {name for name, _, _ in files.files}


def test_damaged_original_is_refused_by_name(store: Path, stage: Path) -> None:
    files = _stage.files_of(str(store), None)
    name = files.files[0][0]
    content = (store / name).read_bytes()
    (store / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(hw.StorageError, match=f"{name} of .* arrived with .* bytes and digest .* headwater verify"):
        _stage.stage(files)
    (store / name).unlink()
    with pytest.raises(hw.StorageError, match=f"{name} of .* cannot be copied on "):
        _stage.stage(files)
    assert not [path for path in copies(stage) if path.name.startswith("manifest")]


def test_small_disk_is_refused_before_the_copy(store: Path, stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(store)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    with pytest.raises(hw.StorageError, match=r"has 10 free bytes, and the store needs .* set HEADWATER_STAGE"):
        _stage.stage(_stage.files_of(str(store), None))
    assert list(copies(stage)) == []


def test_stores_that_are_missing_are_refused(store: Path, tmp_path: Path) -> None:
    cases: list[tuple[str, int | None, str]] = [
        (tmp_path.as_uri(), None, "it contains no manifest"),
        ((tmp_path / "none").as_uri(), None, "cannot be read"),
        ("gopher://host/store", None, "expected a path, or a URI that pyarrow.fs supports"),
        (store.as_uri(), 999, "999"),
        (str(store), 999, "999"),
    ]
    for named, generation, message in cases:
        with pytest.raises(hw.HeadwaterError, match=message):
            _stage.files_of(named, generation)


def test_digests_are_those_of_the_manifest(store: Path) -> None:
    generation, files = _headwater.generation_files(store, None)
    assert generation > 1
    assert [_headwater.file_digest(store / name) for name, _, _ in files] == [
        (length, digest) for _, length, digest in files
    ]
    with pytest.raises(hw.StorageError, match=r"none cannot be read: No such file"):
        _headwater.file_digest(store / "none")


def test_spark_without_pyspark_names_the_remedy(store: Path) -> None:
    script = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from headwater import spark\n"
        "try: spark.score(None, sys.argv[1], 'ethereum')\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(store)], capture_output=True, text=True, check=True)
    assert "headwater.spark needs PySpark 4 or newer, and pyarrow: pip install pyspark pyarrow" in done.stdout
