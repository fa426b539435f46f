"""What calls return: the ``data`` of the answer, the warnings, and a frame of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, cast

import polars as pl

from headwater import _calls, _display, _headwater, _plots, _rows
from headwater._tables import check_form, given_as

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import TypeVar

    Data = TypeVar("Data", bound=Mapping[str, Any], default=dict[str, Any])
else:
    from typing import TypeVar

    Data = TypeVar("Data")


class Report(Generic[Data]):
    """The answer to one call, the same as the HTTP interface gives.

    It has a length, can be gone over and indexed, row by row; at a prompt and in a notebook it shows its first rows and
    its warnings.

    Attributes
    ----------
    endpoint : str
        Name of the call.
    request : dict
        The fields of the request.
    data : dict
        The ``data`` of the answer. Its keys can be read as attributes too: ``report.as_of_block``.
    warnings : list of dict
        What the caller should know, one entry per code: ``code``, ``field``, ``message``, and ``count`` where there are
        several of it.

    Examples
    --------
    >>> from headwater.examples import ALICE, ledger
    >>> report = ledger().transactions(ALICE)
    >>> report.endpoint, report.data["address"] == report.address == ALICE, report.to_dict() == report.data
    ('transactions', True, True)
    >>> report.rows[0]["symbol"], report.frame["symbol"].to_list()
    ('usdt', ['usdt', 'eth', 'eth'])
    >>> len(report), report[0]["action"], [row["amount"] for row in report]
    (3, 'send', ['2.5', '1', '3'])
    >>> cut = ledger().transactions(ALICE, limit=1)
    >>> len(cut), cut.total, cut.has_more, cut.request["limit"]
    (1, 3, True, 1)
    >>> cut.title().endswith("on ethereum: 1 of 3 movements")
    True
    >>> [warning["code"] for warning in report.warnings] == [warning["code"] for warning in report.meta["warnings"]]
    True
    """

    _overview_name = ".frame"

    def __init__(self, endpoint: str, answer: _headwater.Answer, request: Mapping[str, Any] | None = None) -> None:
        self.endpoint = endpoint
        self.request = dict(request or {})
        self._native = answer

    @property
    def data(self) -> Data:
        """The ``data`` of the answer; :mod:`headwater.records` has its types."""
        return cast("Data", self._native.data)

    @property
    def meta(self) -> dict[str, Any]:
        """What stands beside the ``data``.

        Where they apply ``pagination`` and ``warnings``; of a server also ``credit_cost``, ``credit_remaining`` and
        ``request_id``.
        """
        return self._native.meta

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """What the caller should know."""
        warnings: list[dict[str, Any]] = self.meta.get("warnings", [])
        return warnings

    def _table(self, path: str) -> pl.DataFrame:
        """Return a list of records within the data as a frame, by its path, such as ``"summary.divisions"``."""
        return _rows.table(self.endpoint, path, self._native)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Read a key of ``data`` as an attribute."""
        if name.startswith("_"):
            # Asked by those who copy and pickle, before there is anything to answer from.
            raise AttributeError(name)
        try:
            return self.data[name]
        except KeyError:
            pass
        if name == "plot":
            raise AttributeError(_plots.without_picture(self.endpoint))
        message = f"{type(self).__name__} of {self.endpoint!r} has no {name!r}: it holds {', '.join(self.data)}"
        raise AttributeError(message)

    def to_dict(self) -> Data:
        """Give the ``data`` of the answer as plain Python."""
        return self.data

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the answer, or the answer itself as the only row."""
        key, data = _calls.route(self.endpoint).rows, self._native.data
        return [data] if key is None or key not in data else data[key]

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a polars frame: the columns first that people look at first.

        Times are datetimes in UTC. Amounts are decimals where all of a column fit, and exact text else, since an amount
        may have 78 digits and polars has 38: :meth:`to_frame` gives types that do not depend on the data. US dollars
        are null where there is no price. Records within a row have their fields as columns: of a balance history there
        is a row per day and asset.
        """
        return self._frame

    @cached_property
    def _frame(self) -> pl.DataFrame:
        rows = _rows.frame(self.endpoint, self._native)
        return pl.DataFrame(self.rows, infer_schema_length=None) if rows is None else rows

    @property
    def total(self) -> int | None:
        """The number of rows of the whole list; ``None`` where they were not counted."""
        total: int | None = self._paging.get("total")
        return total if total is not None or self.has_more else len(self)

    @property
    def has_more(self) -> bool:
        """Whether the list continues after the rows of this report."""
        head, paging = self._head, self._paging
        if "has_more" in paging:
            return bool(paging["has_more"])
        if "next_cursor" in head:
            return head["next_cursor"] is not None
        total = paging.get("total")
        return total is not None and paging.get("offset", 0) + len(self) < total

    @cached_property
    def _head(self) -> dict[str, Any]:
        return self._native.head

    @property
    def _paging(self) -> dict[str, Any]:
        paging: dict[str, Any] = self._head.get("pagination") or self.meta.get("pagination") or {}
        return paging

    def to_frame(self, as_: str = "polars", *, amounts: str = "auto") -> Any:  # noqa: ANN401
        """Give the rows as a table.

        Parameters
        ----------
        as_ : {"polars", "arrow", "pandas"}
            ``"arrow"`` is a bare capsule object with ``__arrow_c_stream__``, for any library that reads Arrow.
        amounts : {"auto", "text", "decimal", "float"}
            The type of columns of amounts: ``"auto"`` as in :attr:`frame`; exact text; decimals of 38 digits, 18 of
            them behind the point (none in ``*_raw``); or the nearest doubles.

        Returns
        -------
        polars.DataFrame, ArrowTable or pandas.DataFrame

        Raises
        ------
        InvalidInput
            When an amount does not fit a decimal, as of tokens that somebody made up; the message names its row.

        Examples
        --------
        >>> from headwater.examples import ALICE, ledger
        >>> ledger().transactions(ALICE).to_frame(amounts="decimal").select("symbol", "amount").rows()[0]
        ('usdt', Decimal('2.500000000000000000'))
        """
        check_form(as_)
        _rows.check_amounts(amounts)
        return given_as(_rows.with_amounts(self.endpoint, self.frame, amounts), as_)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows through the Arrow C stream interface."""
        table = None if self.endpoint in _rows.NESTED else _rows.stream(self.endpoint, self._native)
        return (self.frame if table is None else table).__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.rows) if self.endpoint in _rows.NESTED else self.frame.height

    def __bool__(self) -> bool:
        """Be true, also without rows."""
        return True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go over the rows."""
        return iter(self.rows)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401
        """Give a row by its position, rows by a slice, or a field of ``data`` by its name."""
        return self.data[index] if isinstance(index, str) else self.rows[index]

    def _overview(self) -> pl.DataFrame:
        """Return what a prompt shows."""
        return _display.overview(self.endpoint, self.frame)

    def title(self) -> str:
        """Say what the report has, and of whom."""
        return _display.title(self)

    def __repr__(self) -> str:
        """Show what the report has, of whom, its first rows, and its warnings."""
        return _display.text(self)

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        return _display.html(self)


class ChartReport(Report[Data]):
    """An answer that matplotlib can draw.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.examples import ALICE, ledger
    >>> isinstance(ledger().balance_history(ALICE), hw.ChartReport), isinstance(ledger().labels(ALICE), hw.ChartReport)
    (True, False)
    """

    def plot(self, ax: Axes | None = None, *, asset: str | None = None) -> Axes:
        """Draw the answer.

        * ``balance-history``: US dollars by asset, stacked, or the balance of one asset;
        * ``address-classify``: the probabilities of the classes, and what the features count for one of them;
        * ``address-risk``: the assessment, the scores of the dimensions, and the factors with their points;
        * ``counterparty``: what came from each to the left, what went to each to the right;
        * ``exposure``: shares by category, in to the left and out to the right;
        * ``rates/history``: the prices of each symbol;
        * ``token/addresses_flow``: what each address received and sent;
        * ``token/holders``: the share of the supply that the first ranks have together;
        * ``token/concentration``: the same at 10, 100, 1,000 and all holders, with the Nakamoto coefficient;
        * ``wallet-overview``: the US dollars of each asset.

        Traces and paths have pictures of another kind: :class:`headwater.Picture`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; missing, on the current axes.
        asset : str, optional
            Of a balance history: a symbol, a contract, or ``"native"`` for the coin of the chain.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InvalidInput
            When there is nothing in the answer to draw.
        ImportError
            When matplotlib is not installed: ``pip install 'headwater[plot]'``.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> from headwater.examples import ledger
        >>> ledger().holders("native").plot().get_title()
        'eth: 2 holders'
        """
        return _plots.draw(self, ax, asset)


class Reports(Sequence[Report[Data]]):
    """Answers to one call for many addresses, in the order given.

    Examples
    --------
    >>> from headwater.examples import ALICE, BOB, ledger
    >>> reports = ledger().transactions([ALICE, BOB], symbols="eth")
    >>> reports.addresses == [ALICE, BOB], len(reports), reports[1].address == BOB
    (True, 2, True)
    >>> reports.frame.group_by("queried_address", maintain_order=True).len()["len"].to_list()
    [2, 2]
    >>> reports.title().endswith(": 4 movements")
    True
    >>> list(reports.to_dict()) == [ALICE, BOB], reports.to_frame(amounts="float")["amount"].sum()
    (True, 7.25)
    """

    def __init__(self, endpoint: str, addresses: Sequence[str], reports: Sequence[Report[Data]]) -> None:
        self.endpoint = endpoint
        self.addresses = list(addresses)
        self._reports = list(reports)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401
        """Give one report by position."""
        return self._reports[index]

    def __len__(self) -> int:
        """Count the addresses."""
        return len(self._reports)

    def __iter__(self) -> Iterator[Report[Data]]:
        """Go over the reports."""
        return iter(self._reports)

    @property
    def frame(self) -> pl.DataFrame:
        """All rows under one another, the queried address in the first column ``queried_address``."""
        frames = [
            report.frame.select(pl.lit(address).alias("queried_address"), pl.all())
            for address, report in zip(self.addresses, self._reports, strict=True)
        ]
        nobody = self._without_rows().select(pl.lit("").alias("queried_address"), pl.all())
        return _rows.united(frames) if frames else nobody

    def _overview(self) -> pl.DataFrame:
        """Return what a prompt shows."""
        return _display.overview(self.endpoint, self.frame)

    def _without_rows(self) -> pl.DataFrame:
        """Return the frame of no address."""
        return _rows.empty(self.endpoint)

    def to_dict(self) -> dict[str, Any]:
        """Give ``{address: data}``."""
        return {address: report.data for address, report in zip(self.addresses, self._reports, strict=True)}

    def to_frame(self, as_: str = "polars", *, amounts: str = "auto") -> Any:  # noqa: ANN401
        """Give all rows as a table; see :meth:`Report.to_frame`."""
        check_form(as_)
        _rows.check_amounts(amounts)
        return given_as(_rows.with_amounts(self.endpoint, self.frame, amounts), as_)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export all rows through the Arrow C stream interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    def title(self) -> str:
        """Say what the reports have, and of whom."""
        return _display.titles(self)

    def __repr__(self) -> str:
        """Show the call, whom it was asked about, how many rows there are, and the warnings."""
        return _display.many_text(self)

    def _repr_html_(self) -> str:
        """Show the same in a notebook, with the first rows."""
        return _display.many_html(self)
