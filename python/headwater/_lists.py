"""Whole lists as files and frames: the part of a ledger that gives more than a page."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

import polars as pl

from headwater import _calls, _objects, _request, _rows
from headwater._progress import Bar
from headwater._tables import check_form, given_as
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from headwater._answers import Answers
    from headwater._headwater import _ArrowStream


# Warnings that every list of a kind has, whatever was asked: they are for those who look into an answer.
_ALWAYS = frozenset({"not_built"})


class WholeLists:
    """Lists from their first row to their last; :class:`headwater.Ledger` has all of it."""

    if TYPE_CHECKING:
        _answers: Answers

    def write(
        self,
        endpoint: str,
        path: str | PathLike[str],
        request: Mapping[str, Any] | None = None,
        *,
        progress: bool = False,
        **fields: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        """Write the rows of a list to a file, as ``headwater query --out`` does.

        All rows are written, however many, from one state of the data and in the memory of some thousand of them; a
        request with a ``limit`` gives as many, of a server at most 100,000.

        Parameters
        ----------
        endpoint : str
            A call whose answer is a list, such as ``"transactions"`` or ``"token/holders"``.
        path : path-like
            Its ending says the form: ``.csv`` (times have a second column in ISO 8601, lists are joined by ``;``),
            ``.ndjson``, ``.parquet`` or ``.arrow`` (an IPC stream). A file that stands there is replaced once the new
            one is whole.
        request : mapping, optional
            The request body; ``fields`` are added to it.
        progress : bool, optional
            Show on standard error how many rows came: of a server while its pages come, of a store when all are there.
        **fields
            Fields of the request.

        Returns
        -------
        dict
            ``rows``, how many were written; ``next_cursor``, which leads on where a ``limit`` ended the list;
            ``warnings``.

        Raises
        ------
        InvalidInput
            When the answer is no list, or the ending stands for no form.
        StorageError
            When the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from headwater.examples import ALICE, ledger
        >>> path = Path(tempfile.mkdtemp()) / "movements.csv"
        >>> written = ledger().write("transactions", path, blockchain="ethereum", address=ALICE)
        >>> written["rows"], written["next_cursor"]
        (3, None)
        >>> pl.read_csv(path).select("timestamp_iso", "action", "amount").rows()[0]
        ('2020-09-13T12:27:16Z', 'send', 2.5)
        """
        name, parts = _calls.named(endpoint)
        place = _objects.path(path, "path")
        with Bar(name, "rows", shown=progress) as bar:
            written = self._written(name, _request.body(name, request, fields, parts), place, bar)
            bar.reach(written["rows"])
        return written

    @overload
    def read_all(
        self,
        endpoint: str,
        request: Mapping[str, Any] | None = ...,
        *,
        as_: Literal["polars"] = ...,
        amounts: str = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> pl.DataFrame: ...
    @overload
    def read_all(
        self,
        endpoint: str,
        request: Mapping[str, Any] | None = ...,
        *,
        as_: str,
        amounts: str = ...,
        progress: bool = ...,
        **fields: Any,  # noqa: ANN401
    ) -> Any: ...  # noqa: ANN401
    def read_all(
        self,
        endpoint: str,
        request: Mapping[str, Any] | None = None,
        *,
        as_: str = "polars",
        amounts: str = "auto",
        progress: bool = False,
        **fields: Any,
    ) -> Any:
        """Give all rows of a list as a frame; :meth:`write` says what all means.

        Parameters
        ----------
        endpoint : str
            A call whose answer is a list.
        request : mapping, optional
            The request body; ``fields`` are added to it.
        as_ : {"polars", "arrow", "pandas"}
            ``"arrow"`` is a bare capsule object with ``__arrow_c_stream__``, for any library that reads Arrow.
        amounts : {"auto", "text", "decimal", "float"}
            The type of columns of amounts, see :meth:`headwater.reports.Report.to_frame`.
        progress : bool, optional
            As in :meth:`write`.
        **fields
            Fields of the request.

        Returns
        -------
        polars.DataFrame, ArrowTable or pandas.DataFrame
            A column for every field of a row, those that only some answers have among them. Times are datetimes in
            UTC; records within a row are JSON text.

        Warns
        -----
        UserWarning
            For what the caller should know, such as data that may be missing. Over a store these
            are the warnings of the first row, which is asked for besides: :meth:`write` gives those of all rows.

        Examples
        --------
        >>> from headwater.examples import ledger
        >>> frame = ledger().read_all("token/holders", blockchain="ethereum", contract="native")
        >>> frame.select("rank", "balance").rows()
        [(1, 2.0), (2, 0.75)]
        """
        check_form(as_)
        _rows.check_amounts(amounts)
        name, parts = _calls.named(endpoint)
        with Bar(name, "rows", shown=progress) as bar:
            stream, warned = self._read(name, _request.body(name, request, fields, parts), bar)
            table = pl.DataFrame(stream)
            bar.reach(table.height)
        for warning in warned:
            if warning["code"] not in _ALWAYS:
                said = warning["message"] or f"{warning['code']}: {warning['field'] or 'the answer'}"
                warnings.warn(f"{name}: {said}", UserWarning, stacklevel=2)
        return given_as(_rows.with_amounts(name, _rows.ordered(name, table), amounts), as_)

    def _written(self, name: str, body: dict[str, Any], path: str, bar: Bar) -> dict[str, Any]:
        return self._answers.write_table(name, body, path)

    def _read(self, name: str, body: dict[str, Any], bar: Bar) -> tuple[_ArrowStream, list[dict[str, Any]]]:
        table = self._answers.read_table(name, body)
        first = dict(body)
        if _calls.route(name).pages is not None:
            first["limit"] = 1
        head_warnings: list[dict[str, Any]] = []
        # The table does not carry them, and is there whatever becomes of the question for them.
        with contextlib.suppress(HeadwaterError):
            head_warnings = self._answers.answer(name, first).meta.get("warnings", [])
        return table, head_warnings
