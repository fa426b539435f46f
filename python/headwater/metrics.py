"""How concentrated holdings are: functions of plain columns and tables that need no ledger.

Balances are integers of any size, decimals, or decimal text, and then every ratio is computed from integers and rounded
once; or floats, which are measured in doubles. Any column will do: a list, a numpy array, a series of polars or pandas,
an array of pyarrow. Whoever has nothing is no holder: zeros are left out. What cannot be a balance (below zero, not a
number, missing) is refused with its position.

>>> from headwater import metrics
>>> metrics.gini([3, 2, 1]), metrics.hhi([3, 2, 1]), metrics.nakamoto([3, 2, 1])
(0.2222222222222222, 0.3888888888888889, 2)
>>> metrics.gini(["0.75", "0.5", "0.25"]) == metrics.gini([3 * 2**200, 2 * 2**200, 2**200]) == 2 / 9
True
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, overload

import polars as pl

from headwater import _headwater, _plots, _tables, _values
from headwater._balances import balances
from headwater._values import Values
from headwater.errors import InvalidInput
from headwater.reports import Report, Reports

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "balances",
    "concentration",
    "entropy",
    "gini",
    "hhi",
    "lorenz",
    "nakamoto",
    "plot_lorenz",
    "tau_index",
    "theil",
    "top_share",
]

Table = pl.DataFrame | pl.LazyFrame | Report | Reports

_TOPS = (1, 10, 100, 1000)
# What a vote of consensus needs.
_TAU = Fraction(2, 3)
_VALUE = "headwater.value"


def gini(values: Values) -> float:
    """Give the Gini coefficient: ``2 Σ i·x(i) / (n·S) - (n + 1) / n`` over balances ``x`` in rising order.

    Parameters
    ----------
    values : column of numbers
        Balances.

    Returns
    -------
    float
        0 where all have the same, towards 1 where one has all; without the correction ``n / (n - 1)``.

    Examples
    --------
    >>> gini([100] + [1] * 99) == 9801 / 19900
    True
    """
    return float(_measured(values)["gini"])


def hhi(values: Values) -> float:
    """Give the Herfindahl-Hirschman index: the sum of squared shares.

    Parameters
    ----------
    values : column of numbers
        Balances.

    Returns
    -------
    float
        ``1 / n`` where all have the same, 1 where one has all; others print it times 10,000.

    Examples
    --------
    >>> hhi([1, 1, 1]) == 1 / 3
    True
    """
    return float(_measured(values)["hhi"])


def nakamoto(values: Values) -> int:
    """Give the Nakamoto coefficient: the fewest holders who together have more than half.

    Parameters
    ----------
    values : column of numbers
        Balances.

    Returns
    -------
    int

    Examples
    --------
    Three of six is not more than half.

    >>> nakamoto([3, 2, 1])
    2
    """
    return int(_measured(values)["nakamoto"])


def top_share(values: Values, n: int) -> float:
    """Give the share that the largest holders have together.

    Parameters
    ----------
    values : column of numbers
        Balances.
    n : int
        How many of the largest; 1 or more.

    Returns
    -------
    float
        0 to 1; 1 where there are no more than ``n``.

    Examples
    --------
    >>> top_share([3, 2, 1], 1), top_share([3, 2, 1], 5)
    (0.5, 1.0)
    """
    return float(_measured(values, tops=[n])[f"top{n}_share"])


def tau_index(values: Values, tau: float | Fraction | Decimal = _TAU) -> int:
    """Give the fewest holders who together have at least the share ``tau``.

    Parameters
    ----------
    values : column of numbers
        Balances.
    tau : float, Fraction or Decimal
        Above 0, at most 1. It stands for the nearest fraction with a denominator of at most 10^9, so that ``2 / 3`` is
        two thirds and ``0.1`` a tenth.

    Returns
    -------
    int

    Examples
    --------
    Three of six are half: at least, but not more.

    >>> tau_index([3, 2, 1], 0.5), nakamoto([3, 2, 1])
    (1, 2)
    """
    return int(_measured(values, tau=tau)["tau_index"])


def theil(values: Values) -> float:
    """Give the Theil index ``(1/n) Σ (x/μ) ln(x/μ)``, in doubles.

    Parameters
    ----------
    values : column of numbers
        Balances.

    Returns
    -------
    float
        0 where all have the same, ``ln n`` where one has all.

    Examples
    --------
    >>> round(theil([3, 2, 1]), 6)
    0.087208
    """
    return float(_measured(values)["theil"])


def entropy(values: Values) -> float:
    """Give the Shannon entropy of the shares in bits, in doubles.

    Parameters
    ----------
    values : column of numbers
        Balances.

    Returns
    -------
    float
        ``log2 n`` where all have the same, 0 where one has all.

    Examples
    --------
    >>> round(entropy([7] * 8), 12)
    3.0
    """
    return float(_measured(values)["entropy_bits"])


@overload
def concentration(  # type: ignore[overload-overlap]
    values: Table,
    *,
    by: str | Sequence[str] | None = "contract",
    value: str = "balance_raw",
    tops: Sequence[int] = _TOPS,
    tau: float | Fraction | Decimal = _TAU,
    as_: Literal["polars"] = "polars",
) -> pl.DataFrame: ...
@overload
def concentration(
    values: Table | Values,
    *,
    by: str | Sequence[str] | None = "contract",
    value: str = "balance_raw",
    tops: Sequence[int] = _TOPS,
    tau: float | Fraction | Decimal = _TAU,
    as_: str,
) -> Any: ...  # noqa: ANN401
@overload
def concentration(
    values: Values, *, tops: Sequence[int] = _TOPS, tau: float | Fraction | Decimal = _TAU
) -> dict[str, Any]: ...
def concentration(
    values: Any,
    *,
    by: str | Sequence[str] | None = "contract",
    value: str = "balance_raw",
    tops: Sequence[int] = _TOPS,
    tau: float | Fraction | Decimal = _TAU,
    as_: str = "polars",
) -> Any:
    """Give all measures of a column, or of each group of a table.

    Parameters
    ----------
    values : column of numbers, or table
        Balances; or any table with a column of them: a frame of polars or pandas, a table of pyarrow, a report.
    by : str, sequence of str or None
        Columns of the table that tell groups apart; ``None`` measures all rows together.
    value : str
        The column of balances.
    tops : sequence of int
        Whose share is wanted: that of the largest so many.
    tau : float, Fraction or Decimal
        See :func:`tau_index`.
    as_ : {"polars", "arrow", "pandas"}
        What a table gives: ``"arrow"`` is a bare capsule object with ``__arrow_c_stream__``. A column gives a dict.

    Returns
    -------
    dict, polars.DataFrame, ArrowTable or pandas.DataFrame
        ``holders``, ``total``, ``top1_share`` and so on, ``hhi``, ``gini``, ``nakamoto``, ``tau_index``, ``theil``,
        ``theil_normalised``, ``entropy_bits``; of a table one row per group, in order of ``by``, and there an exact
        ``total`` is text.

    Raises
    ------
    InvalidInput
        When a value is no balance, or balances together pass 256 bits.

    Examples
    --------
    >>> found = concentration([3, 2, 1, 0])
    >>> found["holders"], found["total"], found["gini"], found["top1_share"]
    (3, 6, 0.2222222222222222, 0.5)
    >>> held = pl.DataFrame({"contract": ["a", "b", "a"], "balance_raw": ["1", "7", "3"]})
    >>> concentration(held).select("contract", "holders", "total", "gini").rows()
    [('a', 2, '4', 0.25), ('b', 1, '7', 0.0)]
    """
    _tables.check_form(as_)
    if not _is_table(values):
        if as_ != "polars":
            message = f"as_={as_!r}: the measures of a column are a dict, only those of a table are one"
            raise InvalidInput(message, reason="invalid_value", field="as_")
        return _measured(values, tops, tau)
    table = _tables.frame(values)
    keys = [by] if isinstance(by, str) else list(by or [])
    _values.named(table, value, *keys)
    try:
        measured = _by_group(table.select(keys), _values.column(table[value]), tops, tau)
    except InvalidInput as error:
        place = re.fullmatch(r"values\[(\d+)\]", error.field or "")
        if place is None:
            raise
        # Groups take the rows out of their order: name the row that the caller knows.
        rows = pl.int_range(table.height, eager=True)
        row = _grouped(table.select(keys), rows)[_VALUE].explode()[int(place[1])]
        name = f"{value}[{row}]"
        raise InvalidInput(str(error).replace(place[0], name, 1), reason=error.reason, field=name) from None
    return _tables.given_as(measured, as_)


@overload
def lorenz(values: Values, points: int | None = None, *, as_: Literal["polars"] = "polars") -> pl.DataFrame: ...
@overload
def lorenz(values: Values, points: int | None = None, *, as_: str) -> Any: ...  # noqa: ANN401
def lorenz(values: Values, points: int | None = None, *, as_: str = "polars") -> Any:
    """Give the Lorenz curve: what share of everything the poorest part of the holders has.

    Parameters
    ----------
    values : column of numbers
        Balances.
    points : int, optional
        Give as many points behind the origin, evenly spaced by holders; missing, one for each holder.
    as_ : {"polars", "arrow", "pandas"}
        ``"arrow"`` is a bare capsule object with ``__arrow_c_stream__``.

    Returns
    -------
    polars.DataFrame, ArrowTable or pandas.DataFrame
        ``share_of_holders`` and ``share_of_supply``, from 0 to 1. Sums are exact, each share is rounded once; about a
        microsecond per holder.

    Examples
    --------
    >>> lorenz([3, 2, 0, 1]).rows()[2:]
    [(0.6666666666666666, 0.5), (1.0, 1.0)]
    >>> lorenz([1] * 100, points=4)["share_of_supply"].to_list()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    _tables.check_form(as_)
    column = _values.column(values)
    _measured(column)
    sums = list(accumulate(sorted(held for held in _values.integers(column) if held > 0), initial=0))
    n = len(sums) - 1
    steps = n if points is None or points >= n else max(int(points), 1)
    ranks = [step * n // steps for step in range(steps + 1)] if n else [0]
    shares = {
        "share_of_holders": [rank / max(n, 1) for rank in ranks],
        "share_of_supply": [sums[rank] / max(sums[-1], 1) for rank in ranks],
    }
    return _tables.given_as(pl.DataFrame(shares, schema=dict.fromkeys(shares, pl.Float64)), as_)


def plot_lorenz(values: Values, ax: Axes | None = None, *, points: int = 1000, label: str | None = None) -> Axes:
    """Draw the Lorenz curve beside that of equal balances.

    Parameters
    ----------
    values : column of numbers
        Balances.
    ax : matplotlib.axes.Axes, optional
        Where to draw; missing, on the current axes.
    points : int
        As in :func:`lorenz`.
    label : str, optional
        Name in the legend, where the Gini coefficient stands behind it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        When matplotlib is not installed: ``pip install 'headwater[plot]'``.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> plot_lorenz([3, 2, 1]).get_legend_handles_labels()[1]
    ['equal', 'Gini 0.2222']
    """
    column = _values.column(values)
    return _plots.lorenz(lorenz(column, points), gini(column), ax, label)


def _is_table(values: object) -> bool:
    if isinstance(values, (Report, Reports)) or hasattr(values, "column_names") or hasattr(values, "columns"):
        return True
    if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "__len__"):
        # A stream of batches: series have a length.
        return True
    return isinstance(values, Sequence) and len(values) > 0 and isinstance(values[0], dict)


def _grouped(keys: pl.DataFrame, values: pl.Series) -> pl.DataFrame:
    """Put the values of each group into a list; the same rows in the same order every time."""
    column = values.alias(_VALUE)
    if not keys.columns:
        return column.to_frame().select(pl.col(_VALUE).implode())
    table = keys.with_columns(column)
    return table.group_by(keys.columns, maintain_order=True).agg(_VALUE).sort(keys.columns)


def _by_group(
    keys: pl.DataFrame, values: pl.Series, tops: Sequence[int], tau: float | Fraction | Decimal
) -> pl.DataFrame:
    groups = _grouped(keys, values)
    lists = groups.select(_VALUE).rechunk()
    measured = pl.DataFrame(_headwater.measures(lists, _numbers(tops), _ratio(tau)))
    return pl.concat([groups.drop(_VALUE), measured], how="horizontal")


def _measured(values: Values, tops: Sequence[int] = (), tau: float | Fraction | Decimal = _TAU) -> dict[str, Any]:
    column = _values.column(values)
    found = _by_group(pl.DataFrame(), column, tops, tau).row(0, named=True)
    if isinstance(found["total"], str):
        total = found["total"]
        found["total"] = Decimal(total) if "." in total else int(total)
    return found


def _numbers(tops: Sequence[int]) -> list[int]:
    wrong = [top for top in tops if isinstance(top, bool) or not isinstance(top, Integral) or not 0 < top < 2**64]
    if wrong:
        message = f"{wrong[0]!r} is no number of holders: expected an integer of 1 or more"
        raise InvalidInput(message, reason="invalid_value", field="tops")
    return [int(top) for top in tops]


def _ratio(tau: float | Fraction | Decimal) -> tuple[int, int]:
    # As it is written, not as the float it became: 0.1 is a tenth.
    try:
        ratio = Fraction(str(tau)).limit_denominator(10**9)
    except ValueError:
        ratio = Fraction(0)
    if not 0 < ratio <= 1:
        message = f"tau={tau!r}: expected a share above 0, at most 1"
        raise InvalidInput(message, reason="invalid_value", field="tau")
    return ratio.numerator, ratio.denominator
