from collections.abc import Callable, Sequence
from os import PathLike
from typing import Protocol, final

__all__ = [
    "Answer",
    "Lines",
    "NativeLedger",
    "__version__",
    "address_checksum",
    "address_error",
    "address_valid",
    "calls",
    "columns",
    "from_frames",
    "main",
    "measures",
    "open_store",
]

__version__: str

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

# Chain, columns with commas between, and the share and seed of observed addresses.
_Wanted = tuple[str, str, tuple[float, int] | None]
# Addresses done, all of them, and those that an earlier run had done.
_Progress = Callable[[int, int, int], None]

@final
class NativeLedger:
    @property
    def source(self) -> str: ...
    def answer(self, name: str, request: str) -> Answer: ...
    def write_table(self, name: str, request: str, path: str | PathLike[str]) -> str: ...
    def read_table(self, name: str, request: str) -> _ArrowStream: ...
    def export_transfers(self, out: str | PathLike[str], chains: Sequence[str]) -> str: ...
    def score_table(
        self, addresses: _ArrowStream | None, wanted: _Wanted, progress: _Progress | None
    ) -> tuple[_ArrowStream, str]: ...
    def score_file(
        self,
        addresses: _ArrowStream | None,
        wanted: _Wanted,
        output: str | PathLike[str],
        progress: _Progress | None,
    ) -> str: ...

@final
class Lines:
    def __new__(cls, name: str, path: str | PathLike[str] | None = None) -> Lines: ...
    def begin(
        self,
        total: int | None = None,
        as_of_block: int | None = None,
        amount_unit: str | None = None,
        next_cursor: str | None = None,
    ) -> None: ...
    def add(self, lines: bytes) -> None: ...
    def finish(self) -> _ArrowStream | None: ...
    def give_up(self) -> None: ...

@final
class Answer:
    def __new__(cls, name: str, text: str) -> Answer: ...
    def text(self) -> str: ...
    def rows(self) -> _ArrowStream | None: ...

def open_store(path: str | PathLike[str], classifiers: Sequence[str | PathLike[str]] = ...) -> NativeLedger: ...
def from_frames(
    transfers: _ArrowStream,
    prices: _ArrowStream | None = None,
    tokens: _ArrowStream | None = None,
    labels: _ArrowStream | None = None,
    classifiers: Sequence[str | PathLike[str]] = ...,
) -> NativeLedger: ...
def calls() -> list[tuple[str, str, str, int, str | None, str | None]]: ...
def columns(name: str) -> list[tuple[str, str]]: ...
def address_valid(addresses: Sequence[str | None], chain: str) -> list[bool]: ...
def address_checksum(addresses: Sequence[str | None], chain: str) -> list[str | None]: ...
def address_error(address: str, chain: str) -> str | None: ...
def measures(lists: _ArrowStream, tops: Sequence[int], tau: tuple[int, int]) -> _ArrowStream: ...
def main(arguments: Sequence[str]) -> int: ...
