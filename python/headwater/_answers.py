"""The engine in this process or a server, both of which answer calls by name."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from headwater._headwater import Answer, _ArrowStream, _Progress, _TableProgress, _Wanted


class Answers(Protocol):
    """The source of answers: the engine in this process, or a server."""

    @property
    def source(self) -> str:
        """Where the data comes from, for people."""
        ...

    def answer(self, name: str, request: dict[str, Any], /) -> Answer:
        """Answer one call."""
        ...

    def write_table(self, name: str, request: dict[str, Any], path: str | PathLike[str], /) -> dict[str, Any]:
        """Write the rows of a list to a file; rows, cursor and warnings come back."""
        ...

    def read_table(self, name: str, request: dict[str, Any], /) -> _ArrowStream:
        """Give the rows of a list as a table."""
        ...

    def score_table(
        self, addresses: _ArrowStream | None, wanted: _Wanted, progress: _Progress | None, /
    ) -> tuple[_ArrowStream, list[dict[str, Any]]]:
        """Give scores of many addresses as a table, and warnings."""
        ...

    def score_file(
        self,
        addresses: _ArrowStream | None,
        wanted: _Wanted,
        output: str | PathLike[str],
        progress: _Progress | None,
        /,
    ) -> dict[str, Any]:
        """Write scores of many addresses to a file; what was written comes back."""
        ...

    def export(
        self,
        out: str | PathLike[str],
        tables: Sequence[str],
        chains: Sequence[str],
        progress: _TableProgress | None,
        /,
    ) -> list[dict[str, Any]]:
        """Write tables as partitioned Parquet; their manifests come back."""
        ...

    def store_folder(self, /) -> str | PathLike[str]:
        """Give the folder of the store."""
        ...

    def record_dispute(
        self, action: str, address: str, reason: str, only: tuple[str | None, str | None, str | None], /
    ) -> list[dict[str, Any]]:
        """Record that claims are disputed or confirmed; what was recorded comes back."""
        ...

    def list_disputes(self, address: str | None, /) -> list[dict[str, Any]]:
        """Give the history of disputes."""
        ...
