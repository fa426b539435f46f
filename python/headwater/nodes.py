"""History from nodes, comparisons of a store with nodes, and what was seen of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from headwater import _headwater, _load, _objects
from headwater.errors import InvalidInput
from headwater.ledger import Ledger, Paths
from headwater.ledger import open as open_ledger

_PROVIDERS = {
    "provider": pl.String,
    "answered": pl.Int64,
    "p50_ms": pl.Float64,
    "p99_ms": pl.Float64,
    "failed": pl.Int64,
    "rate_limited": pl.Int64,
    "gaps": pl.Int64,
    "wrong": pl.Int64,
    "first_wrong": pl.String,
    "put_aside": pl.String,
}
_DIFFERENCES = {
    "address": pl.String,
    "what": pl.String,
    "contract": pl.String,
    "output": pl.String,
    "store": pl.String,
    "node": pl.String,
}


@dataclass(frozen=True, repr=False)
class NodeReport(_load.Notes):
    """The report of a load from nodes.

    Attributes
    ----------
    store : pathlib.Path
        Folder of the store.
    chain : str
        The chain.
    from_block, to_block : int
        The range that was asked for.
    held : int
        Blocks of it that the store held before, verified.
    blocks : int
        Blocks that were loaded and verified.
    transactions : int
        Transactions of them.
    movements : int
        Movements that the store gained.
    traced : int
        Blocks whose internal movements were loaded. No hash covers them.
    seconds : float
        Time of the load.
    notes : list of str
        Sentences for people: missing or unverified data, and providers that were excluded from the load.
    frame : polars.DataFrame
        One row per provider, as :func:`headwater.providers` gives them.

    Examples
    --------
    >>> import headwater as hw
    >>> report = hw.ingest_rpc("http://127.0.0.1:8545", "chain.hw", chain="ethereum")  # doctest: +SKIP
    >>> report.open().wallet("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")  # doctest: +SKIP
    >>> report.to_dict()["gaps"]  # doctest: +SKIP
    []
    """

    store: Path
    chain: str
    from_block: int
    to_block: int
    held: int
    blocks: int
    transactions: int
    movements: int
    traced: int
    seconds: float
    notes: list[str]
    frame: pl.DataFrame
    _data: dict[str, Any]

    def open(self, classifiers: Paths = None) -> Ledger:
        """Open the store, as :func:`headwater.open` does."""
        return open_ledger(self.store, classifiers)

    def to_dict(self) -> dict[str, Any]:
        """Give the report as ``headwater ingest --rpc --json`` prints it."""
        return self._data

    def _lines(self) -> list[str]:
        return [
            f"<NodeReport {self.chain}: blocks {self.from_block:,} to {self.to_block:,}, {self.blocks:,} loaded and "
            f"verified, {self.held:,} held already>",
            f"  {self.store}: {self.transactions:,} transactions, {self.movements:,} movements in {self.seconds:.1f} s",
        ]


@dataclass(frozen=True, repr=False)
class ComparisonReport(_load.Notes):
    """The comparison of a store with a node.

    Attributes
    ----------
    chain : str
        The chain.
    block : int
        The block at whose end balances are compared.
    since_block : int or None
        The block since whose end changes are compared; ``None`` where the store has the history from the beginning.
    accounts : int
        Accounts that were compared.
    equal, different : int
        Balances, supplies and outputs that agree, and that do not.
    notes : list of str
        What was not compared, with the reason.
    frame : polars.DataFrame
        One row per difference, at most 100: ``address``, ``what`` (``balance``, ``supply`` or ``output``),
        ``contract``, ``output``, and the amounts by ``store`` and ``node`` as text in the smallest unit.

    Examples
    --------
    >>> import headwater as hw
    >>> report = hw.verify_rpc("http://127.0.0.1:8545", "chain.hw", chain="ethereum")  # doctest: +SKIP
    >>> report.different, report.to_dict()["block"]  # doctest: +SKIP
    (0, 23000000)
    """

    chain: str
    block: int
    since_block: int | None
    accounts: int
    equal: int
    different: int
    notes: list[str]
    frame: pl.DataFrame
    _data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Give the report as ``headwater verify --rpc --json`` prints it."""
        return self._data

    def _lines(self) -> list[str]:
        return [
            f"<ComparisonReport {self.chain}: {self.accounts:,} accounts at block {self.block:,}: {self.equal:,} "
            f"amounts equal, {self.different:,} different>"
        ]


def ingest_rpc(
    rpc: str | Sequence[str],
    store: str | PathLike[str],
    *,
    chain: str,
    from_block: int | None = None,
    to_block: int | None = None,
    requests_per_second: float | None = None,
    parallel: int = 8,
    traces: bool = True,
    progress: bool | None = None,
) -> NodeReport:
    """Load blocks from nodes into a store, as ``headwater ingest --rpc`` does.

    Every block is verified against its hash, and a provider whose answer does not fit is not asked again. Only blocks
    that the store does not hold verified are asked for: the same call continues a load that was stopped, and fills
    gaps.

    Parameters
    ----------
    rpc : str or sequence of str
        Addresses of nodes of the chain, also as one text with commas: JSON-RPC of EVM chains and Bitcoin Core, the HTTP
        interface of TRON. A login is written before the host.
    store : path-like
        Folder of the store, which is created where it is missing.
    chain : str
        The chain.
    from_block : int, optional
        First block. Missing: the first one that the store holds of the chain, else 0.
    to_block : int, optional
        Last block. Missing: the newest one that is final.
    requests_per_second : float, optional
        Requests that each provider may be asked. Missing: as many as it answers.
    parallel : int
        Requests at the same time.
    traces : bool
        Ask for internal movements, where a node has them.
    progress : bool, optional
        Show progress on standard error. Missing: after a second, in a terminal or a notebook.

    Returns
    -------
    NodeReport
        ``report.open()`` opens the store.

    Raises
    ------
    InvalidInput
        When an address is not valid, or the range is not final yet.
    Unavailable
        When no provider has blocks that can be verified. The message names what each of them answered. What was
        committed before stays.
    StorageError
        When another process writes to the store for more than ten minutes, or a file cannot be read or written.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.ingest_rpc("http://127.0.0.1:8545", "chain.hw", chain="ethereum")  # doctest: +SKIP
    """
    options = {
        "chain": str(chain),
        "from_block": _load.number(from_block, "from_block"),
        "to_block": _load.number(to_block, "to_block"),
        "requests_per_second": requests_per_second,
        "parallel": _load.number(parallel, "parallel") or 1,
        "traces": bool(traces),
    }
    folder = _objects.path(store, "store")
    with _load.errors_in_python(), _load.LoadBar("ingest", progress) as bar:
        data, notes = _headwater.ingest_rpc(_urls(rpc), folder, options, bar.show)
    return NodeReport(
        store=Path(folder),
        chain=data["chain"],
        from_block=data["from"],
        to_block=data["to"],
        held=data["held"],
        blocks=data["blocks"],
        transactions=data["transactions"],
        movements=data["movements"],
        traced=data["traced"],
        seconds=data["seconds"],
        notes=[_load.in_python(note) for note in notes],
        frame=_providers(data["providers"], {}),
        _data=data,
    )


def verify_rpc(
    rpc: str | Sequence[str],
    store: str | PathLike[str],
    *,
    chain: str,
    accounts: int = 100,
    requests_per_second: float | None = None,
    progress: bool | None = None,
) -> ComparisonReport:
    """Compare balances of a store with a node, as ``headwater verify --rpc`` does.

    Parameters
    ----------
    rpc : str or sequence of str
        Addresses of nodes of the chain, also as one text with commas. EVM nodes need the state of the last block that
        the store holds, and of the block before its first.
    store : path-like
        Folder of the store.
    chain : str
        The chain.
    accounts : int
        Accounts to compare: the largest, and others that are spread over all.
    requests_per_second : float, optional
        Requests that each provider may be asked. Missing: as many as it answers.
    progress : bool, optional
        Show progress on standard error. Missing: after a second, in a terminal or a notebook.

    Returns
    -------
    ComparisonReport
        Its ``frame`` has the differences.

    Raises
    ------
    InvalidInput
        When the history of the chain has gaps.
    Unavailable
        When no provider answers.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.verify_rpc("http://127.0.0.1:8545", "chain.hw", chain="ethereum").equal  # doctest: +SKIP
    """
    folder = _objects.path(store, "store")
    count = _load.number(accounts, "accounts") or 1
    with _load.errors_in_python(), _load.LoadBar("verify", progress) as bar:
        data = _headwater.verify_rpc(folder, _urls(rpc), str(chain), count, requests_per_second, bar.show)
    return ComparisonReport(
        chain=data["chain"],
        block=data["block"],
        since_block=data["since_block"],
        accounts=data["accounts"],
        equal=data["equal"],
        different=data["different"],
        notes=[f"not compared: {reason}" for reason in data["not_compared"]],
        frame=pl.DataFrame(data["differences"], _DIFFERENCES),
        _data=data,
    )


def providers(store: str | PathLike[str]) -> pl.DataFrame:
    """Return what loads of a store saw of the nodes that they asked, as ``headwater providers`` shows it.

    Parameters
    ----------
    store : path-like
        Folder of the store.

    Returns
    -------
    polars.DataFrame
        One row per chain and provider: ``chain``, ``last_used`` (epoch seconds), ``provider``, ``answered``, ``p50_ms``
        and ``p99_ms`` of the latest calls, ``failed``, ``rate_limited``, ``gaps`` (what it did not have), ``wrong``
        (answers that contradict the hashes), ``first_wrong`` and ``put_aside`` (sentences, or null).

    Examples
    --------
    >>> import tempfile
    >>> import headwater as hw
    >>> hw.providers(tempfile.mkdtemp()).height
    0
    """
    return _providers(
        _headwater.known_providers(_objects.path(store, "store")), {"chain": pl.String, "last_used": pl.Int64}
    )


def _providers(cards: list[dict[str, Any]], more: dict[str, Any]) -> pl.DataFrame:
    rows = [
        {
            **card,
            "wrong": sum(card["lies"].values()),
            "first_wrong": card["first_lie"],
            "put_aside": card["aside"],
        }
        for card in cards
    ]
    schema = {**more, **_PROVIDERS}
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema)


def _urls(rpc: str | Sequence[str]) -> list[str]:
    urls = rpc.split(",") if isinstance(rpc, str) else [str(url) for url in rpc]
    if not urls:
        message = "rpc: expected the address of at least one node"
        raise InvalidInput(message, reason="invalid_value", field="rpc")
    return urls
