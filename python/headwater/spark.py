"""Scores and features on a cluster of Apache Spark, or on Sail, which speaks the same protocol.

>>> from headwater import spark as hws  # doctest: +SKIP
>>> hws.score(spark, "/mnt/chain.hw", "ethereum", output="/mnt/scores.parquet", progress=True)  # doctest: +SKIP
>>> hws.score(spark, "/mnt/chain.hw", "ethereum", columns="risk").where("risk_score > 70")  # doctest: +SKIP

``spark`` is a session of Spark 4 or newer, classic or over Spark Connect. Every executor needs this package in the same
version, and pyarrow: ``pip install 'headwater[spark]'``. ``docs/clusters.md`` describes clusters and their pitfalls.
"""

from __future__ import annotations

import os
import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload
from weakref import WeakKeyDictionary

from headwater import _batch, _executor, _objects, _stage, errors
from headwater._progress import Bar
from headwater._request import Texts
from headwater.errors import InvalidInput, StorageError
from headwater.ledger import Ledger, Paths
from headwater.parts import ScorePlan, score_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterable["pa.RecordBatch"]

_NEEDED = "headwater.spark needs PySpark 4 or newer, and pyarrow: pip install pyspark pyarrow, or 'headwater[spark]'"
# Time between two counts of the part files.
_COUNT_SECS = 0.5
# The line of a traceback on an executor that names an error of ours.
_RAISED = re.compile(r"^headwater\.errors\.(\w+): (.+)$", re.MULTILINE)
# The generations that frames read, by the session that may compute them.
_HELD: WeakKeyDictionary[Any, list[Ledger]] = WeakKeyDictionary()


@overload
def score(
    spark: SparkSession,
    store: str | PathLike[str],
    chain: str,
    *,
    columns: Texts = ("risk", "class"),
    output: None = None,
    addresses: Any = None,  # noqa: ANN401
    generation: int | None = None,
    stage: Literal["shared", "local"] = "shared",
    classifiers: Paths = None,
    progress: bool = False,
    part_size: tuple[int, int] | None = None,
) -> DataFrame: ...


@overload
def score(
    spark: SparkSession,
    store: str | PathLike[str],
    chain: str,
    *,
    columns: Texts = ("risk", "class"),
    output: str | PathLike[str],
    addresses: Any = None,  # noqa: ANN401
    generation: int | None = None,
    stage: Literal["shared", "local"] = "shared",
    classifiers: Paths = None,
    progress: bool = False,
    part_size: tuple[int, int] | None = None,
) -> dict[str, Any]: ...


def score(
    spark: SparkSession,
    store: str | PathLike[str],
    chain: str,
    *,
    columns: Texts = ("risk", "class"),
    output: str | PathLike[str] | None = None,
    addresses: Any = None,
    generation: int | None = None,
    stage: Literal["shared", "local"] = "shared",
    classifiers: Paths = None,
    progress: bool = False,
    part_size: tuple[int, int] | None = None,
) -> DataFrame | dict[str, Any]:
    """Score many addresses on a cluster: rows, part files and the joined file are those of ``ledger.score``.

    Each part is a task of its own, and those with the most movements start first. Tasks that are repeated, because a
    machine failed or by speculation, write the same bytes. Before its first part, every process computes a small part
    and compares it with the driver's: one that has another version, store or arithmetic of the processor is refused.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        A session of Spark 4 or newer, classic or over Spark Connect.
    store : path-like or str
        Folder of the store. The driver and every executor reach it by this path. With ``stage="local"`` it may be a URI
        that ``pyarrow.fs`` supports, such as ``s3://bucket/chain.hw``; nobody may change the store behind it meanwhile.
    chain : str
        The chain.
    columns : str or sequence of str, optional
        As in :meth:`headwater.Ledger.score`.
    output : path-like, optional
        A file that ends in ``.parquet``, in a folder that the driver and every executor mount. Executors write parts
        into ``output.parts``, and the driver joins them. The same call resumes after an interruption, and computes
        missing parts only.
    addresses : pyspark.sql.DataFrame, table or column of str, optional
        As in :meth:`headwater.Ledger.score`. Of a frame of Spark the column ``address`` is collected on the driver, its
        duplicates are dropped, and the rows are sorted by address. Missing: all addresses of the chain.
    generation : int, optional
        The generation of the store to read. Missing: the newest one when the call starts. It is kept as long as the
        job runs, and for a frame as long as the session exists.
    stage : {"shared", "local"}, optional
        ``"shared"``: executors map the files of the store in place. ``"local"``: each machine first copies the files of
        the generation once, into a folder below the first of ``HEADWATER_STAGE``, ``SPARK_LOCAL_DIRS`` and
        ``LOCAL_DIRS`` that is set, else the folder of temporary files.
    classifiers : path-like or sequence of path-like, optional
        As in :func:`headwater.open`: files of the driver, which are sent with the tasks.
    progress : bool, optional
        With ``output``: show on standard error how many parts are done.
    part_size : (int, int), optional
        As in :meth:`headwater.Ledger.score_plan`; for tests.

    Returns
    -------
    pyspark.sql.DataFrame or dict
        A frame that is computed when it is used, and again each time unless it is cached. With ``output``: as
        :meth:`headwater.Ledger.score`.

    Raises
    ------
    ImportError
        When PySpark is not installed.
    InvalidInput
        When an argument cannot be met, a process would compute other rows, or ``output.parts`` contains parts of
        another job.
    StorageError
        When the store cannot be read, the output cannot be written, or another driver writes it.
    """
    _check_pyspark()
    path = _path(store, "store", allow_uri=stage == "local")
    if stage not in ("shared", "local"):
        message = f'stage: {_objects.shown(stage)} is unknown; use "shared" or "local"'
        raise InvalidInput(message, reason="invalid_value", field="stage")
    models = tuple((Path(file).name, Path(file).read_bytes()) for file in _objects.paths(classifiers, "classifiers"))
    source, ledgers = _opened(path, generation, models, stage == "local")
    ledger = ledgers[-1]
    plan = ledger.score_plan(_collected(addresses), chain, columns=columns, part_size=part_size)
    _batch.warn("score", plan.warnings, 3)
    if output is None:
        import pyarrow as pa  # noqa: PLC0415

        _HELD.setdefault(spark, []).extend(ledgers)
        work = _executor.PartWork(source, plan.job, pa.schema(ledger.score_schema(chain, columns=plan.columns)))
        return _mapped(spark, plan, list(range(plan.parts.height)), work)
    return _written(spark, plan, source, _path(output, "output"), progress)


def features(
    df: DataFrame,
    chain: str,
    columns: Texts = ("features",),
    *,
    classifiers: Paths = None,
    groups: int = 256,
) -> DataFrame:
    """Compute features and classes from exported transfers, without a store.

    Numbers are those of ``ledger.score(columns=["class", "features"])`` for the same addresses. Account chains only. A
    risk cannot be computed from an export, since it depends on labels and on the counterparties of counterparties.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows of the table ``transfers`` that ``headwater export`` writes (format 2), with all rows of each address.
        Rows of other chains are left out.
    chain : str
        The chain.
    columns : str or sequence of str, optional
        ``"features"``, ``"class"`` or both.
    classifiers : path-like or sequence of path-like, optional
        As in :func:`headwater.open`: files of the driver, which are sent with the tasks.
    groups : int, optional
        Groups that the addresses are divided into by a hash. A Python process has the rows of one group in memory at a
        time, so that a chain of billions of rows needs thousands.

    Returns
    -------
    pyspark.sql.DataFrame
        A row per address, in no order: ``address``, the columns, and ``error``.

    Raises
    ------
    ImportError
        When PySpark is not installed.
    InvalidInput
        When the frame is not an export of format 2, or a column or the chain cannot be computed from one.
    """
    _check_pyspark()
    from pyspark.sql import functions as f  # noqa: PLC0415
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415

    if groups < 1:
        message = f"groups: {groups} is too small; give at least 1"
        raise InvalidInput(message, reason="invalid_value", field="groups")
    models = tuple((Path(file).name, Path(file).read_bytes()) for file in _objects.paths(classifiers, "classifiers"))
    work = _executor.feature_work(chain, columns, models, df.limit(0).toArrow())
    rows = df.where(f.col("chain") == chain) if "chain" in df.columns else df

    def run(table: pa.Table) -> pa.Table:
        _executor.use_task_cores()
        return work.table(table)

    group = f.expr(f"pmod(xxhash64(address), {groups})")
    return rows.groupBy(group).applyInArrow(run, from_arrow_schema(work.schema))


def _check_pyspark() -> None:
    try:
        import pyarrow as _  # noqa: F401, PLC0415
        import pyspark  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(_NEEDED) from error
    if int(pyspark.__version__.split(".")[0]) < 4:
        message = f"{_NEEDED}; this is PySpark {pyspark.__version__}"
        raise ImportError(message)


def _path(given: object, name: str, *, allow_uri: bool = False) -> str:
    """Return a path that other machines understand."""
    path = _objects.path(given, name)
    if not _stage.is_uri(path):
        return os.path.abspath(path)
    if allow_uri:
        return path
    remedy = 'or stage="local" to copy from it' if name == "store" else "or no output, and write the frame yourself"
    message = f"{name}: {path!r} is a URI; give a path that every machine mounts, {remedy}"
    raise InvalidInput(message, reason="invalid_value", field=name)


def _opened(
    path: str, generation: int | None, models: _executor.Models, is_staged: bool
) -> tuple[_executor.StoreSource, list[Ledger]]:
    """Open the store on the driver: the last ledger is the one to read, and all keep the generation."""
    files = _stage.files_of(path, generation)
    source = _executor.StoreSource(path, files.generation, files if is_staged else None, models)
    folders = [] if _stage.is_uri(path) else [path]
    # Not through the cache of a process, which would keep the generation after the job.
    return source, [
        _executor.opened(folder, files.generation, models)
        for folder in ([*folders, _stage.stage(files)] if is_staged else folders)
    ]


def _collected(addresses: Any) -> Any:  # noqa: ANN401
    """Return addresses that are in a frame of Spark as a table."""
    if hasattr(addresses, "sparkSession") and hasattr(addresses, "toArrow"):
        if "address" not in addresses.columns:
            message = f"addresses: no column `address`; the columns are {', '.join(addresses.columns)}"
            raise InvalidInput(message, reason="invalid_value", field="addresses")
        return addresses.select("address").distinct().orderBy("address").toArrow()
    return addresses


def _written(
    spark: SparkSession, plan: ScorePlan, source: _executor.StoreSource, output: str, progress: bool
) -> dict[str, Any]:
    """Compute the missing parts of a plan as files, and join them."""
    import pyarrow as pa  # noqa: PLC0415

    counts = pa.schema([("part", pa.int64()), ("rows", pa.int64()), ("failed", pa.int64())])
    computed: set[int] = set()
    # The join finds parts of an earlier run that are damaged, and a second round computes them.
    for is_last in (False, True):
        with score_folder(output) as folder:
            missing = folder.missing(plan.job, verify=is_last)
            work = _executor.PartWork(source, plan.job, counts, folder.path)
            with _followed(folder.path, plan.parts.height, plan.parts.height - len(missing), progress):
                if missing:
                    _run(spark, _mapped(spark, plan, missing, work))
            if lost := set(missing).intersection(folder.missing(plan.job)):
                message = (
                    f"output: {len(lost)} of the parts that executors wrote are not in {folder.path}: the driver and "
                    "every executor must mount the same folder"
                )
                raise StorageError(message)
            computed.update(missing)
            try:
                joined = folder.join(progress=progress)
                break
            except StorageError:
                if is_last:
                    raise
    rows = plan.parts["addresses"].filter(plan.parts["part"].is_in(list(computed))).sum()
    return {**joined, "resumed": joined["rows"] - rows, "warnings": plan.warnings}


def _mapped(spark: SparkSession, plan: ScorePlan, numbers: list[int], work: _executor.PartWork) -> DataFrame:
    """Return the frame whose tasks do the work of some parts."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415

    parts = plan.parts.filter(plan.parts["part"].is_in(numbers)).sort(["movements", "part"], descending=[True, False])
    schema = from_arrow_schema(work.schema)
    if parts["texts"].null_count() < parts.height:
        # Lists may be large: each task gets its own rows alone.
        table = _executor.as_spark(_executor.as_arrow(parts))
        frame = spark.createDataFrame(table).repartition(parts.height, "part")
        return frame.mapInArrow(_task(work, None), schema)
    # Partitions of a range start in order, and are not moved to where data lies.
    listed = parts.to_dicts()
    return spark.range(0, len(listed), 1, max(len(listed), 1)).mapInArrow(_task(work, listed), schema)


def _task(work: _executor.PartWork, listed: list[dict[str, Any]] | None) -> Callable[[Batches], Batches]:
    """Return the function of a task, whose rows are parts, or positions of them in a list."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        _executor.use_task_cores()
        for batch in batches:
            for row in batch.to_pylist():
                yield from work.batches(row if listed is None else listed[row["id"]])

    return run


def _run(spark: SparkSession, frame: DataFrame) -> None:
    """Compute a frame; an interrupt ends its tasks."""
    tag = f"headwater-{uuid.uuid4()}"
    spark.addTag(tag)
    try:
        frame.collect()
    except Exception as error:
        raised = _RAISED.findall(str(error))
        if not raised:
            raise
        name, message = raised[-1]
        raise getattr(errors, name, errors.InternalError)(message) from error
    except BaseException:
        spark.interruptTag(tag)
        raise
    finally:
        spark.removeTag(tag)


@contextmanager
def _followed(folder: str, total: int, before: int, shown: bool) -> Iterator[None]:
    """Show how many part files there are while other processes write them."""
    ended = threading.Event()
    with Bar("score", "parts", total, shown=shown) as bar:

        def follow() -> None:
            while not ended.wait(_COUNT_SECS):
                bar.follow(_count(folder), total, before)

        thread = threading.Thread(target=follow, name="headwater-parts", daemon=True)
        if shown:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if shown:
                thread.join()
            bar.follow(_count(folder), total, before)


def _count(folder: str) -> int:
    return len({name.split("-")[1] for name in os.listdir(folder) if name.startswith("part-")})
