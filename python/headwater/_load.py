"""Paths, tables and options of loads and imports, their progress, and messages of the engine in terms of Python."""

from __future__ import annotations

import html
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from headwater import _objects, _request, _tables
from headwater._display import safe
from headwater._progress import Bar
from headwater.errors import HeadwaterError, InvalidInput

# Files, folders or patterns: one or many.
Files = str | PathLike[str] | Iterable[str | PathLike[str]]

# The name of a table in the place of a file: it states no symbol and no chain, as names of files do.
_TABLE_FILE = Path("table") / "_table.parquet"
_KILOBYTE = 1000
# How messages of the engine name methods and options, and how Python does; the first that fits counts.
_TERMS = [
    (re.compile(pattern), term)
    for pattern, term in (
        (r"`headwater tokens import( FILE)?`", "`ledger.import_tokens`"),
        (r"`headwater prices import( FILE)?`", "`ledger.import_prices`"),
        (r"`headwater labels import core`", '`ledger.import_labels("core")`'),
        (r"`headwater labels import( FILE)?`", "`ledger.import_labels`"),
        (
            r"have commands of their own: `headwater labels`, `prices`, `tokens`",
            "have methods of their own: `ledger.import_labels`, `import_prices`, `import_tokens`",
        ),
        (r"`headwater ingest --store (\S+?)(?: FILES)?`", r"`headwater.ingest(files, \1)`"),
        (r'(?<![\w/.-])--column (\w+)=("[^"]*")', r'columns={"\1": \2}'),
        (r'(?<![\w/.-])--(\w+) ("[^"]*")', r"\1=\2"),
        (r"(?<![\w/.-])--level override", 'level="override"'),
        (r"(?<![\w/.-])--on-error skip", 'on_error="skip"'),
        (r"(?<![\w/.-])--accept-shrinking", "accept_shrinking=True"),
        (r"(?<![\w/.-])--(fx|trust)\b", r"\1=True"),
        (r"(?<![\w/.-])--([a-z]+(?:-[a-z]+)*)", lambda found: f"{found[1].replace('-', '_')}="),
    )
]


def in_python(text: str) -> str:
    """Return a message of the engine with methods and arguments in place of commands and their options."""
    for pattern, term in _TERMS:
        text = pattern.sub(term, text)
    return text


@contextmanager
def errors_in_python(own: str = "", name: str = "") -> Iterator[None]:
    """Raise errors with their messages in terms of Python; the path of a file of our own becomes a name."""
    try:
        yield
    except HeadwaterError as error:
        text = str(error).replace(own, name) if own else str(error)
        error.args = (in_python(text), *error.args[1:])
        raise


def files(value: object, name: str) -> list[str]:
    """Return paths of files, folders and patterns as text; at least one."""
    paths = _objects.paths(value, name)
    if not paths:
        message = f"{name}: expected files, folders or patterns, and there are none"
        raise InvalidInput(message, reason="invalid_value", field=name)
    return paths


@contextmanager
def handed_files(value: object, name: str) -> Iterator[tuple[list[str], bool]]:
    """Give the files of an import, and whether they are a table: one is written to a file as long as it is read."""
    if _are_paths(value):
        with errors_in_python():
            yield files(value, name), False
        return
    frame = _tables.frame(value, name)
    named = [column for column, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    frame = frame.with_columns(pl.col(named).cast(pl.String))
    with tempfile.TemporaryDirectory(prefix="headwater-") as folder:
        path = Path(folder) / _TABLE_FILE
        path.parent.mkdir()
        frame.write_parquet(path)
        with errors_in_python(str(path), name):
            yield [str(path)], True


def _are_paths(value: object) -> bool:
    if isinstance(value, (str, PathLike)):
        return True
    if hasattr(value, "__arrow_c_stream__") or isinstance(value, pl.LazyFrame) or not isinstance(value, Iterable):
        return False
    return isinstance(value, Sequence) and len(value) > 0 and all(isinstance(item, (str, PathLike)) for item in value)


def text(value: object, name: str) -> str | None:
    """Return an argument that is text, or missing."""
    if value is None or isinstance(value, str):
        return value
    message = f"{name}: expected text, not {_objects.shown(value)}"
    raise InvalidInput(message, reason="invalid_type", field=name)


def number(value: Any, name: str) -> int | None:  # noqa: ANN401
    """Return an argument that is a whole number of zero or more, or missing."""
    plain = _request.plain(name, value)
    if plain is None or (isinstance(plain, int) and not isinstance(plain, bool) and plain >= 0):
        return plain
    message = f"{name}: expected a whole number, not {_objects.shown(value)}"
    raise InvalidInput(message, reason="invalid_type", field=name)


class LoadBar(Bar):
    """The progress of a load: its main work first, then the parts that follow."""

    def __init__(self, name: str, progress: bool | None) -> None:
        super().__init__(name, "steps", shown=progress)
        self._load = name

    def show(self, part: str, unit: str, done: int, total: int) -> None:
        """Show how much of a part is done; the main work has no name."""
        if unit == "bytes":
            unit, done, total = "kB", done // _KILOBYTE, total // _KILOBYTE
        self.turn_to(f"{self._load}, building {part}" if part else self._load, unit)
        self.follow(done, total, 0)


class Notes:
    """A report that has a frame, and notes in sentences, shown as a few lines."""

    frame: pl.DataFrame
    notes: list[str]

    def _lines(self) -> list[str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        """Show the report in a few lines."""
        return "\n".join([*self._lines(), *(f"  {safe(note)}" for note in self._first_notes())])

    def _repr_html_(self) -> str:
        lines = "<br>".join(map(html.escape, self._lines()))
        notes = "".join(f"<li>{html.escape(safe(note))}</li>" for note in self._first_notes())
        table: str = self.frame._repr_html_()
        return f"<p>{lines}</p>{table}" + (f"<ul>{notes}</ul>" if notes else "")

    def _first_notes(self) -> list[str]:
        shown, more = self.notes[:_NOTES_SHOWN], len(self.notes) - _NOTES_SHOWN
        return [*shown, f"{more:,} more in .notes"] if more > 0 else shown


_NOTES_SHOWN = 8
