from collections.abc import Sequence
from os import PathLike
from typing import Protocol, final

__all__ = [
    "NativeLedger",
    "Rows",
    "__version__",
    "address_checksum",
    "address_valid",
    "from_frames",
    "main",
    "open_store",
]

__version__: str

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class NativeLedger:
    @property
    def source(self) -> str: ...
    def answer(self, name: str, request: str) -> str: ...
    def export_transfers(self, out: str | PathLike[str], chains: Sequence[str]) -> str: ...

@final
class Rows:
    def __new__(cls, key: str | None, like: _ArrowStream) -> Rows: ...
    def read(self, answer: str) -> _ArrowStream: ...

def open_store(path: str | PathLike[str]) -> NativeLedger: ...
def from_frames(
    transfers: _ArrowStream, prices: _ArrowStream | None = None, tokens: _ArrowStream | None = None
) -> NativeLedger: ...
def address_valid(addresses: Sequence[str | None], chain: str) -> list[bool]: ...
def address_checksum(addresses: Sequence[str | None], chain: str) -> list[str | None]: ...
def main(arguments: Sequence[str]) -> int: ...
