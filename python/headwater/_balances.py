"""Balances from a table of transfers, added up by polars as exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import polars as pl

from headwater import _tables, _values
from headwater.errors import InvalidInput

# Sums of 128 bits are made of two halves where one might pass them.
_HALF = 2**64


@overload
def balances(
    transfers: Any,  # noqa: ANN401
    by: Sequence[str] = ...,
    *,
    as_: Literal["polars"] = ...,
) -> pl.DataFrame: ...
@overload
def balances(transfers: Any, by: Sequence[str] = ..., *, as_: str) -> Any: ...  # noqa: ANN401
def balances(transfers: Any, by: Sequence[str] = ("address", "contract"), *, as_: str = "polars") -> Any:
    """Add up what each address received and sent, from a table of transfers.

    Parameters
    ----------
    transfers : table
        ``from_address``, ``to_address``, ``amount_raw`` (integers, decimals or text of digits, never floats), and the
        columns of ``by``; any table, such as that of ``ledger.read_all("transactions", ...)``. Rows whose ``status`` is
        ``"failed"`` moved nothing and are left out; so are transfers of an address to itself. Addresses are compared as
        they stand: give them in one form.
    by : sequence of str
        What a balance is of: ``"address"`` and columns of the table, such as ``"blockchain"``.
    as_ : {"polars", "arrow", "pandas"}
        ``"arrow"`` is a bare capsule object with ``__arrow_c_stream__``. Sums are text but in polars.

    Returns
    -------
    polars.DataFrame, ArrowTable or pandas.DataFrame
        The columns of ``by``, which rows are in order of, then ``received``, ``sent`` and ``net`` as integers of 128
        bits. A ``net`` below zero says that the table does not hold everything. Fees are in none of it.

    Raises
    ------
    InvalidInput
        When an amount is no integer, or a sum passes 127 bits: some tokens move amounts that no balance can be.

    Examples
    --------
    >>> rows = [
    ...     {"from_address": None, "to_address": "ann", "contract": "a", "amount_raw": "5000000000000000000000"},
    ...     {"from_address": "ann", "to_address": "bob", "contract": "a", "amount_raw": "2000000000000000000000"},
    ... ]
    >>> balances(rows).select("address", "received", "sent", "net").rows()[0]
    ('ann', 5000000000000000000000, 2000000000000000000000, 3000000000000000000000)
    """
    _tables.check_form(as_)
    table = _tables.frame(transfers, "transfers")
    keys = list(by)
    if "address" not in keys:
        message = f"by: expected 'address' among the columns, got {', '.join(map(repr, keys))}"
        raise InvalidInput(message, reason="invalid_value", field="by")
    others = [key for key in keys if key != "address"]
    _values.named(table, "from_address", "to_address", "amount_raw", *others)
    table = table.with_columns(_values.amounts(table["amount_raw"]).alias("amount_raw"))
    table = table.filter(pl.col("from_address").ne_missing(pl.col("to_address")))
    if "status" in table.columns:
        table = table.filter(pl.col("status").ne_missing(pl.lit("failed")))

    def side(address: str, sums: str) -> pl.DataFrame:
        amounts = [pl.col("amount_raw").alias(sums)]
        return table.select(pl.col(address).alias("address"), *others, *amounts).filter(pl.col("address").is_not_null())

    sides = [side("to_address", "received"), side("from_address", "sent")]
    moved = pl.concat(sides, how="diagonal").with_columns(pl.col("received", "sent").fill_null(0))
    sums = _summed(moved, keys, "received", "sent")
    made = sums.with_columns((pl.col("received") - pl.col("sent")).alias("net")).sort(keys)
    return _tables.given_as(made, as_)


def _summed(moved: pl.DataFrame, keys: list[str], *names: str) -> pl.DataFrame:
    """Add up columns of integers of 128 bits, whose sums polars would let run over without a word."""
    largest: int = moved.select(pl.max_horizontal(pl.col(*names).max().fill_null(0))).item() if moved.height else 0
    if largest * moved.height < _HALF * _HALF // 2:
        return moved.group_by(keys).agg(pl.col(*names).sum())
    half = pl.lit(_HALF, dtype=pl.Int128)
    high = [(pl.col(name) // half).sum().alias(f"{name}.high") for name in names]
    low = [(pl.col(name) % half).sum().alias(f"{name}.low") for name in names]
    sums = moved.group_by(keys).agg(*high, *low)
    carried = [pl.col(f"{name}.high") + pl.col(f"{name}.low") // half for name in names]
    over = sums.filter(pl.any_horizontal(*(part >= pl.lit(_HALF // 2, dtype=pl.Int128) for part in carried)))
    if over.height > 0:
        group = ", ".join(
            f"{key} {value}" for key, value in zip(keys, over.select(keys).sort(keys).row(0), strict=True)
        )
        message = f"what {group} moved passes {2**127 - 1}: sums here are exact up to it, so leave out its asset"
        raise InvalidInput(message, reason="invalid_value", field="amount_raw")
    whole = [(pl.col(f"{name}.high") * half + pl.col(f"{name}.low")).alias(name) for name in names]
    return sums.select(*keys, *whole)
