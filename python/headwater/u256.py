"""Exact amounts of 256 bits as polars expressions over columns of text.

No column type of polars holds an integer of 256 bits, so raw amounts are text: decimal digits. The functions here add,
compare and convert such columns without a float on the way. Each returns an expression, so they work in ``select``,
``filter``, ``group_by(...).agg(...)`` and ``over``, lazily and on all threads.

A column is a name or an expression; integers of Python stand for themselves. Columns of integers are taken too. Text is
digits as Headwater writes them; :func:`from_text` checks any other.

Examples
--------
>>> import polars as pl
>>> from headwater import u256
>>> frame = pl.DataFrame({"of": ["a", "a", "b"], "amount_raw": [str(2**256 - 1), "1", "70"]})
>>> frame.group_by("of", maintain_order=True).agg(u256.sum("amount_raw"))["amount_raw"].to_list() == [str(2**256), "70"]
True
>>> frame.filter(u256.gt("amount_raw", 69)).height
2
"""

from __future__ import annotations

from numbers import Integral
from typing import Final

import polars as pl

from headwater._objects import shown
from headwater.errors import InvalidInput

__all__ = [
    "MAX",
    "eq",
    "from_text",
    "ge",
    "gt",
    "le",
    "lt",
    "max",
    "min",
    "ne",
    "sort_key",
    "sum",
    "to_decimal",
    "to_float",
]

MAX: Final = 2**256 - 1
"""The largest integer of 256 bits."""

Column = str | pl.Expr
Operand = str | pl.Expr | int

# A number is three limbs of so many decimal digits: sums of 10**11 limbs fit into 128 bits.
_DIGITS = 27
_LIMB = 10**_DIGITS
# Digits of MAX, and of whatever is compared.
_WIDTH = 78
# Digits that a decimal of polars holds.
_PRECISION = 38


def sum(column: Column) -> pl.Expr:  # noqa: A001
    """Add up a column.

    Parameters
    ----------
    column : str or polars.Expr
        Text of digits, or integers. Nulls are left out.

    Returns
    -------
    polars.Expr
        The exact sum as text, past 256 bits too; ``"0"`` of nothing.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["10", None, "5"]}).select(u256.sum("raw")).item()
    '15'
    """
    return _joined([limb.sum() for limb in _limbs(_digits(column))])


def max(column: Column) -> pl.Expr:  # noqa: A001
    """Give the largest number of a column, as text; null of nothing.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["9", "10"]}).select(u256.max("raw")).item()
    '10'
    """
    return _without_zeros(sort_key(column).max())


def min(column: Column) -> pl.Expr:  # noqa: A001
    """Give the smallest number of a column, as text; null of nothing.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["9", "10"]}).select(u256.min("raw")).item()
    '9'
    """
    return _without_zeros(sort_key(column).min())


def sort_key(column: Operand) -> pl.Expr:
    """Give text that sorts as the numbers do: the digits behind zeros, 78 in all.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["10", "9"]}).sort(u256.sort_key("raw"))["raw"].to_list()
    ['9', '10']
    """
    return _digits(column).str.pad_start(_WIDTH, "0")


def lt(left: Operand, right: Operand) -> pl.Expr:
    """Say where ``left < right``, columns or integers.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["9", "10"]}).select(u256.lt("raw", 10)).to_series().to_list()
    [True, False]
    """
    return sort_key(left) < sort_key(right)


def le(left: Operand, right: Operand) -> pl.Expr:
    """Say where ``left <= right``, columns or integers.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["9", "10"]}).select(u256.le("raw", 9)).to_series().to_list()
    [True, False]
    """
    return sort_key(left) <= sort_key(right)


def eq(left: Operand, right: Operand) -> pl.Expr:
    """Say where two numbers are equal, columns or integers.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["9", "10"]}).select(u256.eq("raw", 9)).to_series().to_list()
    [True, False]
    """
    return sort_key(left) == sort_key(right)


def ne(left: Operand, right: Operand) -> pl.Expr:
    """Say where two numbers differ, columns or integers.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["9", "10"]}).select(u256.ne("raw", 9)).to_series().to_list()
    [False, True]
    """
    return sort_key(left) != sort_key(right)


def ge(left: Operand, right: Operand) -> pl.Expr:
    """Say where ``left >= right``, columns or integers.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["9", "10"]}).select(u256.ge("raw", 10)).to_series().to_list()
    [False, True]
    """
    return sort_key(left) >= sort_key(right)


def gt(left: Operand, right: Operand) -> pl.Expr:
    """Say where ``left > right``, columns or integers.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["9", "10"]}).select(u256.gt("raw", 9)).to_series().to_list()
    [False, True]
    """
    return sort_key(left) > sort_key(right)


def to_decimal(column: Column, decimals: Operand = 0, *, scale: int | None = None) -> pl.Expr:
    """Give raw amounts as decimals in whole units.

    Parameters
    ----------
    column : str or polars.Expr
        Raw amounts.
    decimals : int or column, optional
        Decimals of the asset, such as 18 or ``"decimals"``.
    scale : int, optional
        Digits behind the point, at most 38; missing: ``decimals`` where it is a number, else 18. Further digits are
        cut.

    Returns
    -------
    polars.Expr
        ``Decimal(38, scale)``, exact but for digits that are cut; null where it has more than 38 digits, or
        ``decimals`` is null.

    Raises
    ------
    InvalidInput
        When ``scale`` or ``decimals`` is out of range.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["1500000"]}).select(u256.to_decimal("raw", 6, scale=2)).item()
    Decimal('1.50')
    """
    if scale is None:
        scale = _small("decimals", decimals, _PRECISION) if isinstance(decimals, Integral) else 18
    return _with_point(column, decimals, _small("scale", scale, _PRECISION)).cast(
        pl.Decimal(_PRECISION, scale), strict=False
    )


def to_float(column: Column, decimals: Operand = 0) -> pl.Expr:
    """Give raw amounts as doubles in whole units, each the one nearest to the exact amount.

    Parameters
    ----------
    column : str or polars.Expr
        Raw amounts.
    decimals : int or column, optional
        Decimals of the asset.

    Returns
    -------
    polars.Expr
        ``Float64``; null where ``decimals`` is null.

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["1500000"]}).select(u256.to_float("raw", 6)).item()
    1.5
    """
    return _with_point(column, decimals, None).cast(pl.Float64)


def from_text(column: Column, *, strict: bool = True) -> pl.Expr:
    """Give numbers as Headwater writes them: decimal digits without zeros in front.

    Parameters
    ----------
    column : str or polars.Expr
        Decimal digits, or hex digits behind ``0x``.
    strict : bool, optional
        Whether text that is not a number of 256 bits is an error of polars, which shows it; else it is null.

    Returns
    -------
    polars.Expr

    Examples
    --------
    >>> import polars as pl
    >>> from headwater import u256
    >>> pl.DataFrame({"raw": ["007", "0xff"]}).select(u256.from_text("raw")).to_series().to_list()
    ['7', '255']
    """
    text = _expression(column).cast(pl.String)
    is_hex = text.str.contains(r"^0[xX][0-9a-fA-F]{1,64}$")
    digits = text.str.strip_chars_start("0")
    is_decimal = text.str.contains(r"^[0-9]+$") & (digits.str.pad_start(_WIDTH, "0") <= str(MAX).rjust(_WIDTH, "0"))
    is_decimal &= digits.str.len_bytes() <= _WIDTH
    known = (
        pl.when(is_hex)
        .then(_of_hex(text))
        .when(is_decimal)
        .then(pl.when(digits == "").then(pl.lit("0")).otherwise(digits))
    )
    if not strict:
        return known.otherwise(None)
    refusal = text + pl.lit(" is not an integer of 256 bits")
    # Only a cast fails on a value, and says which.
    checked = pl.when(text.is_null() | is_hex | is_decimal).then(pl.lit("0")).otherwise(refusal).cast(pl.Int64)
    return pl.when(checked == 0).then(known.otherwise(None)).otherwise(None)


def _expression(column: Operand) -> pl.Expr:
    if isinstance(column, pl.Expr):
        return column
    if isinstance(column, str):
        return pl.col(column)
    if isinstance(column, Integral) and not isinstance(column, bool):
        if not 0 <= int(column) <= MAX:
            message = f"{shown(column)} is not an integer of 256 bits: give one from 0 to 2**256 - 1"
            raise InvalidInput(message, reason="invalid_value", field="column")
        return pl.lit(str(int(column)))
    message = (
        f"{shown(column)} is of type {type(column).__name__}: give the name of a column, an expression or an integer"
    )
    raise InvalidInput(message, reason="invalid_type", field="column")


def _digits(column: Operand) -> pl.Expr:
    return _expression(column).cast(pl.String)


def _limbs(digits: pl.Expr) -> list[pl.Expr]:
    """Return the limbs of numbers, the highest first; it has all digits that the others do not hold."""
    padded = digits.str.pad_start(2 * _DIGITS + 1, "0")
    texts = (
        padded.str.head(-2 * _DIGITS),
        padded.str.slice(-2 * _DIGITS, _DIGITS),
        padded.str.tail(_DIGITS),
    )
    return [text.cast(pl.Int128) for text in texts]


def _joined(limbs: list[pl.Expr]) -> pl.Expr:
    """Return the text of a number from limbs that may be larger than one has room for."""
    high, middle, low = limbs
    middle = middle + low // _LIMB
    high = high + middle // _LIMB
    texts = [high.cast(pl.String)]
    texts += [(limb % _LIMB).cast(pl.String).str.pad_start(_DIGITS, "0") for limb in (middle, low)]
    return _without_zeros(pl.concat_str(texts))


def _without_zeros(text: pl.Expr) -> pl.Expr:
    # The last digit stays.
    return text.str.replace(r"^0+(\d)", "$1")


def _of_hex(text: pl.Expr) -> pl.Expr:
    digits = text.str.slice(2).str.pad_start(64, "0")
    limbs: list[pl.Expr] = []
    words = [digits.str.slice(8 * place, 8).str.to_integer(base=16, strict=False) for place in range(8)]
    for limb in (2, 1, 0):
        parts = [
            word.cast(pl.Int128) * ((2 ** (32 * (7 - place)) // _LIMB**limb) % _LIMB)
            for place, word in enumerate(words)
            if 2 ** (32 * (7 - place)) >= _LIMB**limb
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        limbs.append(total)
    return _joined(limbs)


def _small(name: str, value: object, most: int) -> int:
    if isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) <= most:
        return int(value)
    message = f"{name}: {shown(value)} is not a whole number from 0 to {most}"
    raise InvalidInput(message, reason="invalid_value", field=name)


def _with_point(column: Column, decimals: Operand, scale: int | None) -> pl.Expr:
    """Return decimal text in whole units, with at most so many digits behind the point."""
    whole = isinstance(decimals, Integral)
    places = pl.lit(_small("decimals", decimals, 255)) if whole else _expression(decimals).cast(pl.Int64)
    # As many zeros in front as there may be decimals, and one more.
    room = int(decimals) + 1 if isinstance(decimals, Integral) else 256
    padded = _digits(column).str.pad_start(room, "0")
    point = padded.str.len_bytes().cast(pl.Int64) - places
    kept = places if scale is None else pl.min_horizontal(places, pl.lit(scale))
    return padded.str.slice(0, point) + pl.lit(".") + padded.str.slice(point, kept) + pl.lit("0")
