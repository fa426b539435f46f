from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, final

__all__ = [
    "Answer",
    "Lines",
    "NativeLedger",
    "ScanReader",
    "StoredScan",
    "__version__",
    "address_checksum",
    "address_error",
    "address_valid",
    "calls",
    "columns",
    "decimals",
    "descriptions",
    "features",
    "features_version",
    "from_frames",
    "import_core_lists",
    "import_labels",
    "import_market",
    "ingest",
    "main",
    "measures",
    "open_store",
    "simulate",
    "stored_tables",
]

__version__: str

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

# Chain, columns with commas between, and the share and seed of observed addresses.
_Wanted = tuple[str, str, tuple[float, int] | None]
# Addresses done, all of them, and those that an earlier run had done.
_Progress = Callable[[int, int, int], None]
# The table, rows done, and all of them, or 0.
_TableProgress = Callable[[str, int, int], None]
# Part of the work, its unit, how much is done, and all of it.
_PartProgress = Callable[[str, str, int, int], None]

@final
class NativeLedger:
    @property
    def source(self) -> str: ...
    def answer(self, name: str, request: dict[str, Any]) -> Answer: ...
    def write_table(self, name: str, request: dict[str, Any], path: str | PathLike[str]) -> dict[str, Any]: ...
    def read_table(self, name: str, request: dict[str, Any]) -> _ArrowStream: ...
    def stored_scan(self, table: str, filter: dict[str, Any]) -> StoredScan: ...  # noqa: A002
    def export(
        self,
        out: str | PathLike[str],
        tables: Sequence[str],
        chains: Sequence[str],
        progress: _TableProgress | None,
    ) -> list[dict[str, Any]]: ...
    def score_table(
        self, addresses: _ArrowStream | None, wanted: _Wanted, progress: _Progress | None
    ) -> tuple[_ArrowStream, list[dict[str, Any]]]: ...
    def score_file(
        self,
        addresses: _ArrowStream | None,
        wanted: _Wanted,
        output: str | PathLike[str],
        progress: _Progress | None,
    ) -> dict[str, Any]: ...
    def store_folder(self) -> Path: ...
    def record_dispute(
        self, action: str, address: str, reason: str, only: tuple[str | None, str | None, str | None]
    ) -> list[dict[str, Any]]: ...
    def list_disputes(self, address: str | None) -> list[dict[str, Any]]: ...

@final
class StoredScan:
    @property
    def generation(self) -> int: ...
    def open(
        self,
        columns: Sequence[str] | None = None,
        pushed: dict[str, Any] | None = None,
        limit: int | None = None,
        batch_rows: int | None = None,
    ) -> ScanReader: ...

@final
class ScanReader:
    @property
    def decoded_rows(self) -> int: ...
    def next_batch(self) -> _ArrowStream | None: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Lines:
    def __new__(cls, name: str, path: str | PathLike[str] | None = None) -> Lines: ...
    def begin(
        self,
        total: int | None = None,
        as_of_block: int | None = None,
        amount_unit: str | None = None,
        next_cursor: str | None = None,
        pegged: Sequence[str] = ...,
    ) -> None: ...
    def add(self, lines: bytes) -> None: ...
    def finish(self) -> _ArrowStream | None: ...
    def give_up(self) -> None: ...

@final
class Answer:
    def __new__(cls, name: str, data: dict[str, Any], meta: dict[str, Any]) -> Answer: ...
    @property
    def data(self) -> dict[str, Any]: ...
    @property
    def meta(self) -> dict[str, Any]: ...
    @property
    def head(self) -> dict[str, Any]: ...
    def rows(self, first: Sequence[str]) -> _ArrowStream | None: ...
    def table(self, path: str) -> _ArrowStream | None: ...
    def graphml(self) -> str: ...

def open_store(path: str | PathLike[str], classifiers: Sequence[str | PathLike[str]] = ...) -> NativeLedger: ...
def from_frames(
    transfers: _ArrowStream,
    prices: _ArrowStream | None = None,
    tokens: _ArrowStream | None = None,
    labels: _ArrowStream | None = None,
    classifiers: Sequence[str | PathLike[str]] = ...,
) -> NativeLedger: ...
def calls() -> list[tuple[str, str, str, int, str | None, str | None]]: ...
def descriptions() -> dict[str, Any]: ...
def columns(name: str) -> list[tuple[str, str]]: ...
def decimals(table: _ArrowStream, scales: Mapping[str, int]) -> _ArrowStream: ...
def address_valid(addresses: Sequence[str | None], chain: str) -> list[bool]: ...
def address_checksum(addresses: Sequence[str | None], chain: str) -> list[str | None]: ...
def address_error(address: str, chain: str) -> str | None: ...
def export_tables() -> list[tuple[str, str, list[str], list[tuple[str, str, str]]]]: ...
def exported_scores(
    rows: _ArrowStream, blockchain: str, columns: str, classifiers: Sequence[str | PathLike[str]] = ...
) -> _ArrowStream: ...
def features() -> list[tuple[str, str, str]]: ...
def features_version() -> int: ...
def measures(lists: _ArrowStream, tops: Sequence[int], tau: tuple[int, int]) -> _ArrowStream: ...
def ingest(
    paths: Sequence[str | PathLike[str]],
    store: str | PathLike[str],
    options: dict[str, Any],
    progress: _PartProgress | None,
) -> tuple[dict[str, Any], list[str]]: ...
def simulate(
    store: str | PathLike[str],
    preset: str,
    seed: int,
    truth: str | PathLike[str] | None,
    progress: _PartProgress | None,
) -> dict[str, Any]: ...
def import_labels(
    store: str | PathLike[str], paths: Sequence[str | PathLike[str]], options: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]: ...
def import_core_lists(store: str | PathLike[str]) -> tuple[dict[str, Any], list[str]]: ...
def import_market(
    what: str,
    store: str | PathLike[str],
    paths: Sequence[str | PathLike[str]],
    options: dict[str, Any],
    progress: _PartProgress | None,
) -> list[dict[str, Any]]: ...
def stored_tables() -> list[tuple[str, str, str, list[str], list[tuple[str, str, str]]]]: ...
def main(arguments: Sequence[str]) -> int: ...
