"""Files of chain data into a store, and stores of simulated economies."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import polars as pl

from headwater import _headwater, _load, _objects, _times
from headwater._load import Files
from headwater._request import Time
from headwater.ledger import Ledger, Paths
from headwater.ledger import open as open_ledger

_FILES = {
    "path": pl.String,
    "state": pl.String,
    "format": pl.String,
    "chain": pl.String,
    "chain_source": pl.String,
    "rows": pl.Int64,
    "skipped": pl.Int64,
    "omitted": pl.Int64,
    "problem": pl.String,
}
_CHAINS = {
    "blockchain": pl.String,
    "blocks": pl.Int64,
    "transactions": pl.Int64,
    "transfers": pl.Int64,
    "addresses": pl.Int64,
}
_HIGHLIGHTS = {"blockchain": pl.String, "title": pl.String, "address": pl.String, "why": pl.String}


@dataclass(frozen=True, repr=False)
class IngestReport(_load.Notes):
    """The report of a load: what each file was read as, and what the store gained.

    Attributes
    ----------
    store : pathlib.Path
        Folder of the store.
    generation : int or None
        Generation of the store that has all of it; ``None`` where the load committed nothing.
    files : int
        Files that were read.
    rows : int
        Rows that were read.
    skipped : int
        Rows that were left out, because they cannot be understood or contradict others.
    transactions : int
        Transactions that the store did not have before.
    completed : int
        Transactions that it had, and of which it has more facts now.
    known : int
        Transactions of which nothing new was said.
    movements : int
        Movements that the store gained. A call that moves no coins counts as one of zero.
    blocks : int
        Blocks that are new, or of which more is known now.
    notes : list of str
        Sentences for people: why rows and files were left out, warnings about files, and what to do next.
    frame : polars.DataFrame
        One row per file: ``path``, ``state`` (``read``, or ``left out`` of files in no known format and empty ones),
        ``format``, ``chain``, ``chain_source`` (``detected``, ``given``, ``inferred`` or ``assumed``), ``rows``,
        ``skipped``, ``omitted`` (rows that are well formed and must not count, such as those of orphaned blocks), and
        ``problem`` (null where there is none).

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> from headwater import examples
    >>> folder = tempfile.mkdtemp()
    >>> report = hw.ingest(examples.exports(folder), f"{folder}/store")
    >>> report.files, report.rows, report.transactions, report.to_dict()["movements"]
    (2, 5, 4, 5)
    >>> report.open().wallet(examples.ALICE).tx_count
    3
    """

    store: Path
    generation: int | None
    files: int
    rows: int
    skipped: int
    transactions: int
    completed: int
    known: int
    movements: int
    blocks: int
    notes: list[str]
    frame: pl.DataFrame
    _data: dict[str, Any]

    def open(self, classifiers: Paths = None) -> Ledger:
        """Open the store, as :func:`headwater.open` does."""
        return open_ledger(self.store, classifiers)

    def to_dict(self) -> dict[str, Any]:
        """Give the report as ``headwater ingest --json`` prints it."""
        return self._data

    def _lines(self) -> list[str]:
        files = "1 file" if self.files == 1 else f"{self.files:,} files"
        return [
            f"<IngestReport {files}, {self.rows:,} rows, {self.skipped:,} of them left out>",
            f"  {self.store}, generation {self.generation}: {self.transactions:,} transactions new, "
            f"{self.completed:,} completed, {self.known:,} known; {self.movements:,} movements; {self.blocks:,} blocks",
        ]


@dataclass(frozen=True, repr=False)
class SimulateReport(_load.Notes):
    """The report of an economy that was made.

    Attributes
    ----------
    store : pathlib.Path
        Folder of the store.
    preset : str
        The size.
    seed : int
        The seed.
    days : int
        Length of the period.
    generation : int
        Generation of the store that has the chains; the public lists and freezes come after it.
    transfers, tokens, prices : int
        Transfers of all chains, tokens of the registry, and daily prices.
    notes : list of str
        Empty: an economy has no problems of that kind.
    frame : polars.DataFrame
        One row per chain: ``blockchain``, ``blocks``, ``transactions``, ``transfers``, ``addresses``.
    highlights : polars.DataFrame
        Addresses worth a look: ``blockchain``, ``title``, ``address``, ``why``.

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> made = hw.simulate(tempfile.mkdtemp())
    >>> made.preset, made.seed, made.to_dict()["days"] == made.days
    ('demo', 1, True)
    >>> made.open().chains().frame.height
    4
    """

    store: Path
    preset: str
    seed: int
    days: int
    generation: int
    transfers: int
    tokens: int
    prices: int
    notes: list[str]
    frame: pl.DataFrame
    highlights: pl.DataFrame
    _data: dict[str, Any]

    def open(self, classifiers: Paths = None) -> Ledger:
        """Open the store, as :func:`headwater.open` does."""
        return open_ledger(self.store, classifiers)

    def to_dict(self) -> dict[str, Any]:
        """Give the report as ``headwater simulate --json`` prints it."""
        return self._data

    def _lines(self) -> list[str]:
        return [
            f"<SimulateReport {self.store}: {self.transfers:,} transfers in {self.days:,} days, preset "
            f"{self.preset}, seed {self.seed}; addresses worth a look in .highlights>"
        ]


def ingest(
    paths: Files,
    store: str | PathLike[str],
    *,
    chain: str | None = None,
    format: str | None = None,  # noqa: A002
    network: str | None = None,
    contract: str | None = None,
    at_block: int | None = None,
    at_time: Time = None,
    decimals: int | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    events: bool = False,
    batch_transactions: int | None = None,
    max_line_bytes: int | None = None,
    max_document_bytes: int | None = None,
    max_document_values: int | None = None,
    max_document_depth: int | None = None,
    max_column_bytes: int | None = None,
    progress: bool | None = None,
) -> IngestReport:
    """Load files of chain data into a store, as ``headwater ingest`` does.

    Format, compression and chain of each file are detected. The store joins what it has with what is offered: files may
    overlap, the same load repeated changes nothing, and one that was stopped continues. Ctrl-C ends a load after the
    commit that is being made.

    Parameters
    ----------
    paths : path-like or sequence of path-like
        Files, folders and patterns such as ``"exports/*.csv.gz"``; ``~`` is the folder of the user.
    store : path-like
        Folder of the store, which is created where it is missing.
    chain : str, optional
        Chain of files that do not name one; files of other chains are refused. Missing: the one that the name of the
        file or the files beside it show, else Ethereum, with a note.
    format : str, optional
        Name of the input format, or its part before the slash. Missing: it is detected.
    network : str, optional
        Network of Bitcoin files that do not state it: ``mainnet``, ``testnet``, ``signet`` or ``regtest``.
    contract : str, optional
        Token contract of a list of holders, or of token transfers exported by a web page.
    at_block : int, optional
        Block at whose end the balances of a list of holders were held.
    at_time : int, date, datetime or str, optional
        Time of that block, where the store does not have the block.
    decimals : int, optional
        Decimals of that token, where amounts are in whole units.
    on_error : {"stop", "skip"}
        Treatment of rows that cannot be understood or contradict others: an error that names file, row, column and
        value; or the row is left out and counted.
    events : bool
        Emit events for new data to webhooks and streams, as for followed blocks.
    batch_transactions : int, optional
        Transactions per commit (500,000). Fewer take less memory and more time.
    max_line_bytes, max_document_bytes, max_document_values, max_document_depth, max_column_bytes : int, optional
        Bounds on parts of files that are in memory as a whole; ``docs/loading-data.md`` has their defaults.
    progress : bool, optional
        Show progress on standard error. Missing: after a second, in a terminal or a notebook.

    Returns
    -------
    IngestReport
        ``report.open()`` opens the store.

    Raises
    ------
    InvalidInput
        At a file that is in no known format, damaged or of another chain, and at the first row that is not understood.
        The message names the place. What was committed before stays.
    StorageError
        When another process writes to the store for more than ten minutes, or a file cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> from headwater import examples
    >>> folder = tempfile.mkdtemp()
    >>> report = hw.ingest(examples.exports(folder), f"{folder}/store")
    >>> report.transactions, report.movements, report.blocks
    (4, 5, 4)
    >>> report.frame.select("format", "chain", "state", "rows").rows()
    [('etherscan-export', 'ethereum', 'read', 4), ('etherscan-export', 'ethereum', 'read', 1)]
    >>> ledger = report.open()
    >>> ledger.transactions(examples.ALICE).to_frame(amounts="text").select("action", "amount", "symbol").rows()
    [('send', '2.5', 'usdt'), ('send', '1', 'eth'), ('receive', '3', 'eth')]
    """
    texts = {"chain": chain, "format": format, "network": network, "contract": contract, "on_error": on_error}
    numbers = {
        "at_block": at_block,
        "at_time": _times.seconds("at_time", at_time, is_end=False),
        "decimals": decimals,
        "batch_transactions": batch_transactions,
        "max_line_bytes": max_line_bytes,
        "max_document_bytes": max_document_bytes,
        "max_document_values": max_document_values,
        "max_document_depth": max_document_depth,
        "max_column_bytes": max_column_bytes,
    }
    options: dict[str, Any] = {name: _load.text(value, name) for name, value in texts.items()}
    options |= {name: _load.number(value, name) for name, value in numbers.items()}
    options["events"] = bool(events)
    files, folder = _load.files(paths, "paths"), _objects.path(store, "store")
    with _load.errors_in_python(), _load.LoadBar("ingest", progress) as bar:
        data, notes = _headwater.ingest(files, folder, options, bar.show)
    return IngestReport(
        store=Path(folder),
        generation=data["generation"],
        files=len(data["files"]),
        rows=data["rows"],
        skipped=data["skipped"],
        transactions=data["added"],
        completed=data["enriched"],
        known=data["unchanged"],
        movements=data["movements"],
        blocks=data["blocks"],
        notes=[_load.in_python(note) for note in notes],
        frame=_frame(data),
        _data=data,
    )


def simulate(
    store: str | PathLike[str],
    preset: str = "demo",
    seed: int = 1,
    *,
    truth: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> SimulateReport:
    """Make an economy on four chains with a known truth in a store, as ``headwater simulate`` does.

    The same seed gives the same store; the same call on it changes nothing, and continues one that was stopped.

    Parameters
    ----------
    store : path-like
        Folder of the store, which is created where it is missing. One store has one economy.
    preset : {"demo", "s", "m", "l"}
        The size: about 50 thousand transfers, 1 million, 20 million or 200 million.
    seed : int
        Seed of all chance.
    truth : path-like, optional
        Folder for the ground truth: who owns an address, which output is change, where loot went.
    progress : bool, optional
        Show progress on standard error. Missing: after a second, in a terminal or a notebook.

    Returns
    -------
    SimulateReport
        ``report.open()`` opens the store.

    Raises
    ------
    InvalidInput
        When the preset is unknown, or the store has other data.
    StorageError
        When another process writes to the store for more than ten minutes, or a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> made = hw.simulate(tempfile.mkdtemp(), seed=1)
    >>> made.days, sorted(made.frame["blockchain"])
    (400, ['bitcoin', 'bsc', 'ethereum', 'tron'])
    >>> first = made.highlights.row(0, named=True)
    >>> made.open().transactions(first["address"], blockchain=first["blockchain"]).frame.is_empty()
    False
    """
    folder = _objects.path(store, "store")
    known = None if truth is None else _objects.path(truth, "truth")
    chance = _load.number(seed, "seed")
    with _load.errors_in_python(), _load.LoadBar("simulate", progress) as bar:
        data = _headwater.simulate(folder, str(preset), chance or 0, known, bar.show)
    return SimulateReport(
        store=Path(folder),
        preset=data["preset"],
        seed=data["seed"],
        days=data["days"],
        generation=data["generation"],
        transfers=data["transfers"],
        tokens=data["tokens"],
        prices=data["prices"],
        notes=[],
        frame=pl.DataFrame(data["chains"], _CHAINS),
        highlights=pl.DataFrame(data["highlights"], _HIGHLIGHTS),
        _data=data,
    )


def _frame(data: dict[str, Any]) -> pl.DataFrame:
    rows = [{**file, "state": "read", **_problems(file)} for file in data["files"]]
    left_out = [{**file, "state": "left out", "problem": file["reason"]} for file in data["left_out"]]
    shown = [{name: row.get(name) for name in _FILES} for row in rows + left_out]
    return pl.DataFrame(shown, _FILES)


def _problems(file: dict[str, Any]) -> dict[str, Any]:
    """Count the rows that must not count, and give all problems of a file as one text."""
    omitted = [f"{one['rows']:,} rows are not counted: {one['reason']}" for one in file["omitted"]]
    problems = [*file["skipped_reasons"], *omitted, *file["warnings"]]
    joined = "; ".join(map(_load.in_python, problems))
    return {"omitted": sum(one["rows"] for one in file["omitted"]), "problem": joined or None}
