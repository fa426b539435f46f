"""Jobs of scores in parts, for engines that distribute them over processes or machines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any

import polars as pl

from headwater import _batch, _headwater, _objects
from headwater._progress import Bar
from headwater._request import Texts
from headwater.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from typing_extensions import Self

    from headwater._answers import Answers
    from headwater._chain import ChainFinder
    from headwater._headwater import _PartRow

_ENDING = ".parts"


@dataclass(frozen=True, repr=False)
class ScorePlan:
    """The parts of a job of scores, and everything that their bytes depend on. It can be pickled.

    Attributes
    ----------
    job : str
        Description of the job as JSON: version, generation, labels, parameters, model, size of parts, and the checksum
        of a small part as the planning process computed it. Every part checks it.
    parts : polars.DataFrame
        A row per part: its number ``part``, its ``first`` and ``last`` address, the numbers of ``addresses`` and
        ``movements``, the ``checksum`` of number and addresses, and ``texts``, the addresses themselves where a list of
        them was given. An address with at least 1,048,576 movements is a part of its own.
    warnings : list of dict
        ``code`` and ``message`` of what a reader of the rows should know.

    Examples
    --------
    >>> from headwater.examples import ledger
    >>> plan = ledger().score_plan(columns=["risk", "features"])
    >>> plan.blockchain, plan.columns, plan.generation, plan.rows
    ('ethereum', ('risk', 'features'), 5, 4)
    """

    job: str
    parts: pl.DataFrame
    warnings: list[dict[str, Any]]

    @property
    def _described(self) -> dict[str, Any]:
        described: dict[str, Any] = json.loads(self.job)
        return described

    @property
    def blockchain(self) -> str:
        """The chain."""
        return str(self._described["versions"]["chain"])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows, besides the address: ``risk``, ``class``, ``features``."""
        return tuple(self._described["versions"]["columns"].split(","))

    @property
    def generation(self) -> int:
        """The generation of the store."""
        return int(self._described["versions"]["generation"])

    @property
    def rows(self) -> int:
        """The number of addresses."""
        return int(self._described["rows"])

    def __repr__(self) -> str:
        """Say what the plan is of."""
        parts = f"{self.parts.height:,} part{'' if self.parts.height == 1 else 's'}"
        return f"ScorePlan of {self.rows:,} addresses of {self.blockchain} in {parts}, generation {self.generation}"


class Parts:
    """Scores in parts; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:
        _answers: Answers
        _chains: ChainFinder

    def score_schema(self, blockchain: str | None = None, *, columns: Texts = ("risk", "class")) -> Any:  # noqa: ANN401
        """Give the columns of scores as an Arrow schema.

        Parameters
        ----------
        blockchain : str, optional
            The chain. Omitted: the only one that the ledger holds, else ``ethereum``.
        columns : str or sequence of str, optional
            As in :meth:`score`.

        Returns
        -------
        object
            With ``__arrow_c_schema__``: ``pyarrow.schema`` takes it.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from headwater.examples import ledger
        >>> pa.schema(ledger().score_schema(columns="risk")).names[:4]
        ['address', 'assessment', 'assessment_reasons', 'risk_score']
        """
        chain = blockchain or self._chains.of_all([])
        return self._native().score_schema((chain, _names(columns), None))

    def score_plan(
        self,
        addresses: Any = None,  # noqa: ANN401
        blockchain: str | None = None,
        *,
        columns: Texts = ("risk", "class"),
        part_size: tuple[int, int] | None = None,
    ) -> ScorePlan:
        """Divide a job of scores into parts, each of which any process can compute that opens the same store.

        Parts of 16,384 addresses lie in the order of the addresses. The same ledger and addresses give the same parts,
        and those of `headwater score`.

        Parameters
        ----------
        addresses : table or column of str, optional
            As in :meth:`score`, of one chain.
        blockchain : str, optional
            As in :meth:`score`.
        columns : str or sequence of str, optional
            As in :meth:`score`.
        part_size : (int, int), optional
            Addresses of a part, and movements from which an address is a part of its own; for tests. Only parts of one
            size can be joined.

        Returns
        -------
        ScorePlan

        Raises
        ------
        InvalidInput
            When the column of addresses is missing, or the addresses are of several chains.
        Unsupported
            Over a server, which has no call for it.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> plan = ledger().score_plan(columns="risk")
        >>> plan
        ScorePlan of 4 addresses of ethereum in 1 part, generation 5
        >>> plan.parts.select("part", "addresses", "movements").rows()
        [(0, 4, 8)]
        """
        listed = _batch.listed(addresses)
        chain, *others = dict.fromkeys(_batch.chains_of(self._chains, listed, blockchain))
        if others:
            message = f"addresses: they are of {', '.join([chain, *others])}: plan a job for each chain"
            raise InvalidInput(message, reason="invalid_value", field="addresses")
        job, parts, warned = self._native().score_plan(listed, (chain, _names(columns), None), part_size)
        return ScorePlan(job, pl.DataFrame(parts), warned)

    def score_part(self, job: str, part: Mapping[str, Any]) -> pl.DataFrame:
        """Score a part of a job.

        Parameters
        ----------
        job : str
            The ``job`` of a :class:`ScorePlan`.
        part : mapping
            A row of its ``parts``.

        Returns
        -------
        polars.DataFrame
            As :meth:`score` gives it.

        Raises
        ------
        InvalidInput
            When this process would compute other rows than the one that planned the job: another version, generation,
            store, classifier or arithmetic of the processor. The message names what differs.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> here = ledger()
        >>> plan = here.score_plan(columns="risk")
        >>> frames = [here.score_part(plan.job, part) for part in plan.parts.iter_rows(named=True)]
        >>> frames[0].equals(here.score(columns="risk"))
        True
        """
        return pl.DataFrame(self._native().score_part(job, _row(part)))

    def score_part_file(self, job: str, part: Mapping[str, Any], folder: str | PathLike[str]) -> dict[str, Any]:
        """Write the file of a part of a job, unless it is there.

        The file appears whole or not at all. Its name contains its checksum, so that several processes may write the
        same part.

        Parameters
        ----------
        job : str
            The ``job`` of a :class:`ScorePlan`.
        part : mapping
            A row of its ``parts``.
        folder : path-like
            Folder of the parts, which all processes share: ``path`` of :func:`score_folder`.

        Returns
        -------
        dict
            ``part``, ``file``, ``rows`` and ``failed`` (rows with an error).

        Raises
        ------
        InvalidInput
            As :meth:`score_part`, and when the folder contains parts of another job.
        StorageError
            When the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import headwater as hw
        >>> from headwater.examples import ledger
        >>> output = Path(tempfile.mkdtemp()) / "scores.parquet"
        >>> here = ledger()
        >>> plan = here.score_plan(columns="risk")
        >>> with hw.score_folder(output) as folder:
        ...     for part in plan.parts[folder.missing(plan.job)].iter_rows(named=True):
        ...         made = here.score_part_file(plan.job, part, folder.path)
        ...     joined = folder.join()
        >>> joined["rows"], joined["parts"], output.exists()
        (4, 1, True)
        """
        path = _objects.path(folder, "folder")
        return self._native().score_part_file(job, _row(part), path)

    def _native(self) -> _headwater.NativeLedger:
        if isinstance(self._answers, _headwater.NativeLedger):
            return self._answers
        message = "scores in parts need the store itself: open it with headwater.open in each process"
        raise Unsupported(message)


class ScoreFolder:
    """The folder of the parts of a job; :func:`score_folder` gives it.

    Used in a ``with``. One process holds it at a time: the driver, which joins the parts. Those that write parts need
    the path alone.

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> from headwater.examples import ledger
    >>> here = ledger()
    >>> plan = here.score_plan(columns="risk")
    >>> with hw.score_folder(f"{tempfile.mkdtemp()}/scores.parquet") as folder:
    ...     made = here.score_part_file(plan.job, plan.parts.row(0, named=True), folder.path)
    ...     folder.missing(plan.job), folder.join()["rows"]
    ([], 4)
    """

    def __init__(self, native: _headwater.ScoreFolder, output: str) -> None:
        self._native, self._output = native, output

    @property
    def path(self) -> str:
        """The folder, which is ``.parts`` behind the name of the output."""
        return str(self._native.path)

    def missing(self, job: str, *, verify: bool = False) -> list[int]:
        """Give the numbers of the parts that have no file yet.

        Parameters
        ----------
        job : str
            The ``job`` of a :class:`ScorePlan`.
        verify : bool, optional
            Read each file too, and give the numbers of damaged ones, as after a join that found some.

        Returns
        -------
        list of int

        Raises
        ------
        InvalidInput
            When the folder contains parts of another job; the message names what differs.

        Examples
        --------
        >>> import tempfile
        >>> import headwater as hw
        >>> from headwater.examples import ledger
        >>> with hw.score_folder(f"{tempfile.mkdtemp()}/scores.parquet") as folder:
        ...     folder.missing(ledger().score_plan(columns="risk").job)
        [0]
        """
        return self._native.missing(job, verify)

    def join(self, *, progress: bool = False) -> dict[str, Any]:
        """Join the parts into the output, and remove the folder.

        Parameters
        ----------
        progress : bool, optional
            Show on standard error how many addresses are done.

        Returns
        -------
        dict
            ``file``, ``parts``, ``rows`` and ``failed`` (rows with an error).

        Raises
        ------
        StorageError
            When parts are missing or damaged; the message names them. Nothing is removed.

        Examples
        --------
        >>> import tempfile
        >>> import headwater as hw
        >>> from headwater.examples import ledger
        >>> plan = ledger().score_plan(columns="risk")
        >>> with hw.score_folder(f"{tempfile.mkdtemp()}/scores.parquet") as folder:
        ...     assert folder.missing(plan.job)
        ...     folder.join()
        Traceback (most recent call last):
        headwater.errors.StorageError: ...scores.parquet.parts has 0 of 1 parts: missing 0; run their shards again ...
        """
        with Bar("join", "addresses", shown=progress) as bar:
            return self._native.join(self._output, bar.follow if progress else None)

    def release(self) -> None:
        """Let another process take the folder.

        Examples
        --------
        >>> import tempfile
        >>> import headwater as hw
        >>> hw.score_folder(f"{tempfile.mkdtemp()}/scores.parquet").release()
        """
        self._native.release()

    def __enter__(self) -> Self:
        """Give the folder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""
        self.release()


def score_folder(output: str | PathLike[str]) -> ScoreFolder:
    """Take the folder of the parts of an output, and create it where it is missing.

    Parameters
    ----------
    output : path-like
        The file that the parts are to become, which ends in ``.parquet``. Its parts lie in ``output.parts``.

    Returns
    -------
    ScoreFolder

    Raises
    ------
    StorageError
        When another process holds the folder, or it cannot be created.

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> with hw.score_folder(f"{tempfile.mkdtemp()}/scores.parquet") as folder:
    ...     folder.path.endswith("scores.parquet.parts")
    True
    """
    path = _parquet(output)
    return ScoreFolder(_headwater.ScoreFolder(path), path)


def score_join(
    folder: str | PathLike[str], output: str | PathLike[str] | None = None, *, progress: bool = False
) -> dict[str, Any]:
    """Join the parts of all shards into one file, without a store, and remove the folder.

    Parameters
    ----------
    folder : path-like
        Folder with the files of all parts.
    output : path-like, optional
        The file to write. Omitted: the name of the folder without ``.parts``.
    progress : bool, optional
        Show on standard error how many addresses are done.

    Returns
    -------
    dict
        As :meth:`ScoreFolder.join`.

    Raises
    ------
    InvalidInput
        When it is not a folder of parts.
    StorageError
        As :meth:`ScoreFolder.join`.

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> from headwater.examples import ledger
    >>> folder = f"{tempfile.mkdtemp()}/scores.parquet.parts"
    >>> here = ledger()
    >>> plan = here.score_plan(columns="risk")
    >>> made = [here.score_part_file(plan.job, part, folder) for part in plan.parts.iter_rows(named=True)]
    >>> hw.score_join(folder)["rows"]
    4
    """
    of = _objects.path(folder, "folder")
    into = of.rstrip("/").removesuffix(_ENDING) if output is None else output
    with ScoreFolder(_headwater.ScoreFolder.existing(of), _parquet(into)) as taken:
        return taken.join(progress=progress)


def _parquet(output: str | PathLike[str]) -> str:
    path = _objects.path(output, "output")
    if not path.lower().endswith(".parquet"):
        message = f"output: {path!r} does not end in .parquet: scores are written as Parquet"
        raise InvalidInput(message, reason="invalid_value", field="output")
    return path


def _names(columns: Texts) -> str:
    return columns if isinstance(columns, str) else ",".join(_objects.whole_texts(columns, "columns"))


def _row(part: Mapping[str, Any]) -> _PartRow:
    """Give a row of the plan as the engine takes it."""
    try:
        texts = part["texts"]
        return (
            int(part["part"]),
            part["first"],
            part["last"],
            int(part["addresses"]),
            str(part["checksum"]),
            None if texts is None else list(texts),
        )
    except (KeyError, TypeError) as error:
        message = "part: expected a row of ScorePlan.parts with part, first, last, addresses, checksum and texts"
        raise InvalidInput(message, reason="invalid_type", field="part") from error
