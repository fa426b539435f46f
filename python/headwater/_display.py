"""Reports as people see them: text for a prompt, HTML for a notebook."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl
import polars.selectors as cs

from headwater._shown import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

# Rows that are shown of a list.
_ROWS = 10
# Characters of a warning, and of a cell, that are shown.
_NOTE, _CELL = 200, 80
# Between the columns of a table: a space on both sides, and a line.
_GAP = 3
# Fields of requests that say whom a call is about, and between whom.
_SUBJECTS = ("address", "target", "source", "txid", "hash", "txhash", "contract", "symbol", "symbols", "q")
# Characters of texts of chains and lists that would move the cursor, or turn the direction of writing.
_UNSAFE = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]"
# Digits behind the point of numbers that are neither exact nor sums of US dollars; significant ones of small numbers.
_DIGITS = 6
# Columns in US dollars that are sums; prices keep their digits.
_SUMS = "(amount|balance|flow|volume)[a-z_]*_usd$"
_CONFIG: dict[str, Any] = {
    "tbl_cols": -1,
    "tbl_rows": _ROWS,
    "fmt_str_lengths": _CELL,
    "tbl_width_chars": 10_000,
    "tbl_hide_dataframe_shape": True,
    "tbl_hide_column_data_types": True,
    "tbl_cell_numeric_alignment": "RIGHT",
    "trim_decimal_zeros": True,
    "fmt_float": "full",
    "thousands_separator": ",",
}


class Report(Protocol):
    """The shown parts of a report."""

    endpoint: str
    request: dict[str, Any]

    _overview_name: str

    def _overview(self) -> pl.DataFrame: ...
    @property
    def total(self) -> int | None: ...
    @property
    def has_more(self) -> bool: ...
    @property
    def warnings(self) -> list[dict[str, Any]]: ...
    def title(self) -> str: ...
    def __len__(self) -> int: ...


class Reports(Protocol):
    """The shown parts of the reports about many addresses."""

    endpoint: str
    addresses: list[str]

    def _overview(self) -> pl.DataFrame: ...
    def title(self) -> str: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Report]: ...


def text(report: Report) -> str:
    """Return a report as text: its title, the first rows, and the warnings."""
    return "\n".join([safe(report.title()), *_text_table(_first(report._overview())), *more(report), *_notes(report)])


def html(report: Report) -> str:
    """Return a report as HTML; texts of chains and lists are escaped."""
    frame = _first(report._overview())
    lines = [f"<div><strong>{escape(safe(report.title()))}</strong></div>"]
    if frame.height:
        lines.append(_table(frame))
    lines += [f"<div>{escape(line)}</div>" for line in more(report)]
    lines += [f"<div><em>{escape(line)}</em></div>" for line in _notes(report)]
    return "\n".join(lines)


def title(report: Report) -> str:
    """Say what a report has, of whom, and how many rows."""
    name, _ = SHOWN.get(report.endpoint, ("rows", []))
    about, count = subject(report), len(report)
    rows = f"{count:,} {name}" if report.total in (None, count) else f"{count:,} of {report.total:,} {name}"
    if report.total is None and report.has_more:
        rows = f"the first {rows}"
    return f"{report.endpoint}{f' of {about}' if about else ''}: {rows}"


def subject(report: Report) -> str:
    """Say whom a report is about, and on which chain."""
    named = report.request
    about = next((_short(named[field]) for field in _SUBJECTS if named.get(field)), "")
    if "counterparty" in named:
        about = f"{about} with {named['counterparty']}"
    chain = named.get("blockchain") or named.get("chain")
    return f"{about} on {chain}" if about and chain else about or str(chain or "")


def more(report: Report) -> list[str]:
    """Say how to get the rows that are not shown, and those that the report does not have."""
    lines = []
    if (height := report._overview().height) > _ROWS:
        lines.append(f"{height - _ROWS:,} more rows: {report._overview_name} has all {height:,}")
    if report.has_more:
        lines.append("the list continues: limit=None gives all rows")
    return lines


def titles(reports: Reports) -> str:
    """Say what reports about many addresses have, and how many rows."""
    rows, cut = sum(len(report) for report in reports), sum(report.has_more for report in reports)
    name, _ = SHOWN.get(reports.endpoint, ("rows", []))
    shown = ", ".join([*reports.addresses[:2], *(["..."] if len(reports) > 2 else [])])
    addresses = f"{len(reports):,} address{'' if len(reports) == 1 else 'es'}"
    about = f"{reports.endpoint} of {addresses}{f' ({shown})' if shown else ''}: {rows:,} {name}"
    return about + (f"; {cut:,} lists continue: limit=None gives all rows" if cut else "")


def many_text(reports: Reports) -> str:
    """Return the reports about many addresses as text: their title, the first rows of all, and each warning once."""
    return "\n".join([safe(reports.title()), *_text_table(_first(reports._overview())), *_all_notes(reports)])


def many_html(reports: Reports) -> str:
    """Return the reports about many addresses as HTML, with the first rows of all."""
    lines = [
        f"<div><strong>{escape(safe(reports.title()))}</strong></div>",
        _table(_first(reports._overview())),
    ]
    return "\n".join([*lines, *(f"<div><em>{escape(note)}</em></div>" for note in _all_notes(reports))])


def safe(value: str) -> str:
    """Return text without characters that change how others are shown."""
    return str(pl.select(pl.lit(value).str.replace_all(_UNSAFE, "�")).item())


def _notes(report: Report) -> list[str]:
    notes = []
    for warning in report.warnings:
        said = safe(str(warning.get("message") or warning["code"]))
        notes.append(
            f"! {said if len(said) <= _NOTE else said[:_NOTE].rsplit(' ', 1)[0] + ' ... (whole in .warnings)'}"
        )
    return notes


def _all_notes(reports: Reports) -> Iterable[str]:
    return dict.fromkeys(note for report in reports for note in _notes(report))


def overview(endpoint: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the columns that people look at first."""
    first = [name for name in SHOWN.get(endpoint, ("", []))[1] if name in rows.columns]
    if not first:
        return rows
    return rows.select([*(name for name in ("queried_address",) if name in rows.columns), *first])


def _first(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the first rows, without the columns that have nothing there."""
    frame = rows.head(_ROWS)
    kept = [column.name for column in frame.get_columns() if column.null_count() < len(column)]
    return _for_people(frame.select(kept))


def _for_people(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame of plain texts, empty where they are missing, and of numbers without useless digits."""
    sums = cs.matches(_SUMS) & cs.float()
    others = cs.float() - sums
    texts = frame.with_columns(
        pl.col(pl.List(pl.String)).list.join(", "),
        sums.round(2),
        pl.when(others.abs() < 1).then(others.round_sig_figs(_DIGITS)).otherwise(others.round(_DIGITS)),
    )
    return texts.with_columns(pl.col(pl.String).fill_null("").str.replace_all(_UNSAFE, "�"))


def _text_table(frame: pl.DataFrame) -> list[str]:
    """Return a frame as a table for a prompt, nothing for no rows."""
    if not frame.height:
        return []
    shown = _fitting(frame, shutil.get_terminal_size().columns)
    left_out = ", ".join(frame.columns[len(shown.columns) :])
    with pl.Config(**_CONFIG):
        return [str(shown), *([f"not shown: {left_out}"] if left_out else [])]


def _fitting(frame: pl.DataFrame, width: int) -> pl.DataFrame:
    """Return the columns that fit a width, at least two; cells are shown whole."""
    kept: list[str] = []
    used = 1
    for column in frame.get_columns():
        used += max(len(column.name), *(len(_cell(value)) for value in column)) + _GAP
        if used > width and len(kept) > 1:
            break
        kept.append(column.name)
    return frame.select(kept)


def _cell(value: Any) -> str:  # noqa: ANN401
    """Return a value as text, as the table of a prompt shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (float, Decimal)):
        whole, _, fraction = f"{Decimal(str(value)):,f}".partition(".")
        digits = fraction.rstrip("0")
        return f"{whole}.{digits}" if digits else whole
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    text = str(value)
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


def _table(frame: pl.DataFrame) -> str:
    """Return a frame as an HTML table, numbers aligned right."""
    sides = ["right" if column.dtype.is_numeric() else "left" for column in frame.get_columns()]
    rows = [("th", frame.columns), *(("td", map(_cell, row)) for row in frame.rows())]
    lines = [
        "".join(
            f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
        )
        for tag, cells in rows
    ]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _short(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        named = [str(each) for each in value]
        return ", ".join(named[:2]) + (f" and {len(named) - 2:,} more" if len(named) > 2 else "")
    return str(value)
