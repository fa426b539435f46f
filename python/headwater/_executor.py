"""Work on parts of a job of scores in a process of another machine, such as an executor of Spark."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from headwater import _objects, _stage
from headwater._exported import features_of_export
from headwater._request import Texts
from headwater.errors import InvalidInput, StorageError
from headwater.ledger import Ledger
from headwater.ledger import open as open_store

if TYPE_CHECKING:
    import pyarrow as pa

Part = Mapping[str, Any]
# The name and the bytes of model files.
Models = tuple[tuple[str, bytes], ...]

_OPENING = threading.Lock()
# Engines whose tasks are threads of one process would otherwise have the rows of all parts in memory.
_AT_ONCE = threading.BoundedSemaphore(os.cpu_count() or 1)


@dataclass(frozen=True)
class StoreSource:
    """The generation of a store as every process opens it."""

    store: str
    generation: int
    # The files to copy to the machine first; without them the store is mapped in place.
    staged: _stage.StoreFiles | None
    models: Models = ()

    def ledger(self) -> Ledger:
        """Open the store, once per process."""
        with _OPENING:
            return _ledger(self)


@dataclass(frozen=True)
class PartWork:
    """The work of a job: what tasks get besides the parts."""

    source: StoreSource
    job: str
    # The columns of the results, as an Arrow schema.
    schema: pa.Schema
    # The folder of part files; without one the rows themselves are the results.
    folder: str | None = None

    def batches(self, part: Part) -> list[pa.RecordBatch]:
        """Compute a part: give its rows, or write its file and give a row that counts it."""
        with _AT_ONCE:
            ledger = self.source.ledger()
            if self.folder is None:
                return as_batches(ledger.score_part(self.job, part), self.schema)
            _check_folder(self.folder)
            written = ledger.score_part_file(self.job, part, self.folder)
            return as_batches(pl.DataFrame([{name: written[name] for name in self.schema.names}]), self.schema)


@dataclass(frozen=True)
class FeatureWork:
    """The computation of features and classes from exported transfers."""

    chain: str
    columns: tuple[str, ...]
    models: Models
    # The columns of the results, as an Arrow schema.
    schema: pa.Schema

    def table(self, transfers: pa.Table) -> pa.Table:
        """Compute the rows of all addresses of a table."""
        with _AT_ONCE:
            return as_arrow(_features(transfers, self.chain, self.columns, self.models)).cast(self.schema)


def use_task_cores() -> None:
    """Use as many threads as the task has cores, before anything starts threads.

    Engines whose tasks are threads of one process have no context of a task: there, all share the cores.
    """
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    if context is not None:
        for name in ("RAYON_NUM_THREADS", "POLARS_MAX_THREADS"):
            os.environ.setdefault(name, str(max(int(context.cpus()), 1)))


def opened(path: str, generation: int, models: Models) -> Ledger:
    """Open a generation with models of these contents."""
    with _files(models) as paths:
        return open_store(path, paths, generation=generation)


def feature_work(chain: str, columns: Texts, models: Models, no_rows: pa.Table) -> FeatureWork:
    """Describe the computation of features and classes from exported transfers; a table of no rows checks it."""
    # Rows are selected by the name that the export has, not by another one.
    names = [each["chain"] for each in Ledger.from_frames([]).query("chains", include=["none"]).data["chains"]]
    if chain not in names:
        message = f"chain: {_objects.shown(chain)} is unknown; an export has {', '.join(names)}"
        raise InvalidInput(message, reason="invalid_value", field="chain")
    named = (columns,) if isinstance(columns, str) else tuple(_objects.whole_texts(columns, "columns"))
    return FeatureWork(chain, named, models, as_spark(as_arrow(_features(no_rows, chain, named, models))).schema)


def as_arrow(frame: pl.DataFrame) -> pa.Table:
    """Give a frame as a table of Arrow, of types that every version of Arrow has."""
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def as_spark(table: pa.Table) -> pa.Table:
    """Give a table in the types of Spark, which has one of text and one of lists."""
    import pyarrow as pa  # noqa: PLC0415

    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_large_list(kind):
            return pa.list_(plain(kind.value_type))
        return pa.string() if pa.types.is_large_string(kind) else kind

    return table.cast(pa.schema([(field.name, plain(field.type)) for field in table.schema]))


def as_batches(frame: pl.DataFrame, schema: pa.Schema) -> list[pa.RecordBatch]:
    """Give a frame as batches of exactly these types."""
    batches: list[pa.RecordBatch] = as_arrow(frame).cast(schema).combine_chunks().to_batches()
    return batches


# Few, since each keeps its generation from being collected.
@lru_cache(maxsize=4)
def _ledger(source: StoreSource) -> Ledger:
    path = source.store if source.staged is None else _stage.stage(source.staged)
    return opened(path, source.generation, source.models)


def _check_folder(folder: str) -> None:
    # A task that outlives its job must not create the folder anew.
    if not os.path.isdir(folder):
        message = (
            f"output: there is no folder {folder} on {socket.gethostname()}: either the job has ended, or this machine "
            "does not mount the file system of the output"
        )
        raise StorageError(message)


def _features(transfers: pa.Table, chain: str, columns: tuple[str, ...], models: Models) -> pl.DataFrame:
    with _files(models) as paths:
        return features_of_export(transfers, chain, columns, paths)


@contextmanager
def _files(models: Models) -> Iterator[list[str]]:
    """Write models into files for a while."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, str(number), name) for number, (name, _) in enumerate(models)]
        for path, (_, content) in zip(paths, models, strict=True):
            path.parent.mkdir()
            path.write_bytes(content)
        yield [str(path) for path in paths]
