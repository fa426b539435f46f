"""Copies of one generation of a store on the local disk of a machine, for jobs on several machines."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater import _headwater
from headwater.errors import InvalidInput, StorageError

# Where a machine has fast local disks, the first that is set: ours, and those of standalone Spark and of YARN.
_ROOTS = ("HEADWATER_STAGE", "SPARK_LOCAL_DIRS", "LOCAL_DIRS")
# Files that are copied at a time: a single stream does not fill a network.
_STREAMS = 4
_MANIFEST = re.compile(r"manifest-0*(\d+)\.json")


@dataclass(frozen=True)
class StoreFiles:
    """The files of one generation, with their lengths and digests, the manifest last."""

    store: str
    generation: int
    files: tuple[tuple[str, int, str], ...]

    @property
    def identity(self) -> str:
        """The digest of the manifest, which lists all other files with theirs."""
        return self.files[-1][2]


def is_uri(store: str) -> bool:
    """Return whether a store is named by a URI rather than a path."""
    return "://" in store


def files_of(store: str, generation: int | None) -> StoreFiles:
    """List the files of a generation, of the newest one where it is ``None``."""
    if not is_uri(store):
        return _listed(store, store, generation)
    # The manifest alone names all other files.
    with tempfile.TemporaryDirectory() as folder:
        for name in _manifests(store, generation):
            _copy(store, name, os.path.join(folder, name))
        return _listed(store, folder, generation)


def stage(files: StoreFiles) -> str:
    """Copy a generation into a local folder, unless it is there, and return the folder.

    One process of a machine copies, others wait for it. A file gets its name once its digest was checked, and the
    manifest comes last, so that a folder with a manifest is whole, and an interrupted copy continues.
    """
    root = _root()
    folder = root / files.identity
    with _locked(root / f"{files.identity}.lock"):
        missing = [file for file in files.files if not (folder / file[0]).exists()]
        if missing:
            _check_space(root, sum(length for _, length, _ in missing))
            *others, manifest = missing
            with ThreadPoolExecutor(_STREAMS) as streams:
                # Results are read so that errors are raised.
                list(streams.map(lambda file: _fetch(files.store, folder, file), others))
            _fetch(files.store, folder, manifest)
        # Writers make it in a store; readers of the copy hold their generation there.
        (folder / "holds").mkdir(exist_ok=True)
    return str(folder)


def _listed(store: str, folder: str, generation: int | None) -> StoreFiles:
    found, files = _headwater.generation_files(folder, generation)
    return StoreFiles(store, found, tuple(files))


def _root() -> Path:
    named = next((os.environ[name] for name in _ROOTS if os.environ.get(name)), tempfile.gettempdir())
    # Other users of the machine have folders of their own.
    root = Path(named.split(",")[0]) / f"headwater-stage-{os.getuid()}"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if root.stat().st_uid != os.getuid():
        message = f"stage: {root} belongs to another user; set HEADWATER_STAGE to a folder of this one"
        raise StorageError(message)
    return root


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _check_space(root: Path, needed: int) -> None:
    free = shutil.disk_usage(root).free
    if free < needed:
        message = (
            f"stage: {root} on {socket.gethostname()} has {free:,} free bytes, and the store needs {needed:,}: "
            "set HEADWATER_STAGE to a folder on a larger disk"
        )
        raise StorageError(message)


def _fetch(store: str, folder: Path, file: tuple[str, int, str]) -> None:
    """Copy a file and check it."""
    name, length, digest = file
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    _copy(store, name, str(partial))
    copied, found = _headwater.file_digest(partial)
    if (copied, found) != (length, digest):
        partial.unlink()
        message = (
            f"stage: {name} of {store} arrived with {copied:,} bytes and digest {found}, expected {length:,} and "
            f"{digest}: check the original with headwater verify"
        )
        raise StorageError(message)
    partial.replace(target)


def _copy(store: str, name: str, target: str) -> None:
    try:
        if is_uri(store):
            system, root = _opened(store)
            with system.open_input_stream(f"{root}/{name}") as source, open(target, "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
        else:
            shutil.copyfile(os.path.join(store, name), target)
    except OSError as error:
        message = f"stage: {name} of {store} cannot be copied on {socket.gethostname()}: {error}"
        raise StorageError(message) from error


def _manifests(store: str, generation: int | None) -> list[str]:
    """Return the name of the manifest of a generation behind a URI, or of all of them for its error."""
    from pyarrow.fs import FileSelector  # noqa: PLC0415

    system, root = _opened(store)
    try:
        names = [entry.base_name for entry in system.get_file_info(FileSelector(root))]
    except OSError as error:
        message = f"store: {store} cannot be read: {error}"
        raise StorageError(message) from error
    found = {int(match[1]): match[0] for match in map(_MANIFEST.fullmatch, names) if match}
    if not found:
        message = f"store: there is no store at {store}: it contains no manifest"
        raise StorageError(message)
    newest = max(found) if generation is None else generation
    return [found[newest]] if newest in found else list(found.values())


def _opened(uri: str) -> tuple[Any, str]:
    try:
        from pyarrow.fs import FileSystem  # noqa: PLC0415

        system, root = FileSystem.from_uri(uri)
    except (ImportError, OSError, ValueError) as error:
        message = f"store: {uri} cannot be opened: {error}; expected a path, or a URI that pyarrow.fs supports"
        raise InvalidInput(message, reason="invalid_value", field="store") from error
    return system, str(root).rstrip("/")
