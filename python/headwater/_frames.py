"""The tables that a ledger in memory is built from, and refusals that name the columns that the caller knows."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import polars as pl

from headwater import _headwater, _tables
from headwater._objects import shown
from headwater.errors import HeadwaterError, InvalidInput

# How tables of tokens write what a token is, by the name that the reader of every format gives it.
_SPELLINGS = {"address": ("address", "contract"), "chain": ("chainId", "blockchain", "chain")}


def native_ledger(
    transfers: Any,  # noqa: ANN401
    labels: Any,  # noqa: ANN401
    prices: Any,  # noqa: ANN401
    tokens: Any,  # noqa: ANN401
    classifiers: list[str],
) -> _headwater.NativeLedger:
    """Build a ledger in memory from tables and model files; all but the transfers may be missing."""
    moved = _tables.HandedTable(transfers, "transfers")
    priced = None if prices is None else _tables.HandedTable(prices, "prices")
    labelled = None if labels is None else _tables.HandedTable(labels, "labels")
    listed = None if tokens is None else _tables.frame(tokens, "tokens")
    if listed is None:
        return _built(moved, priced, None, labelled, classifiers)
    rows = _rows_of_tokens(listed)
    try:
        return _built(moved, priced, listed[rows], labelled, classifiers)
    except InvalidInput as error:
        raise _as_given(error, listed, rows) from None


def _built(
    transfers: Any,  # noqa: ANN401
    prices: Any,  # noqa: ANN401
    tokens: Any,  # noqa: ANN401
    labels: Any,  # noqa: ANN401
    classifiers: list[str],
) -> _headwater.NativeLedger:
    try:
        return _headwater.from_frames(transfers, prices, tokens, labels, classifiers)
    except HeadwaterError:
        raise
    except _tables.UNREADABLE as error:
        raise _tables.unreadable("the tables", error) from error


@cache
def _coins() -> frozenset[str]:
    """Give the symbols of the chains' own coins, which have no contract."""
    empty = _tables.table([], "transfers")
    registry = _headwater.from_frames(empty).answer("registry", {}).data
    return frozenset(entry["symbol"] for entry in registry["tokens"] if entry["contract"] is None)


def _rows_of_tokens(tokens: pl.DataFrame) -> list[int]:
    """Give the rows that are tokens: a registry also lists the coin of each chain, of which every ledger knows."""
    columns = [name for name in _SPELLINGS["address"] if name in tokens.columns]
    if not columns or "symbol" not in tokens.columns:
        return list(range(tokens.height))
    contracts = zip(*(tokens[name].to_list() for name in columns), strict=True)
    rows = []
    for number, (spelled, symbol) in enumerate(zip(contracts, tokens["symbol"].to_list(), strict=True)):
        if any(contract not in (None, "") for contract in spelled):
            rows.append(number)
        elif str(symbol).lower() not in _coins():
            message = (
                f'tokens, row {number + 1}: column "{columns[-1]}" is missing, expected the address of '
                f"{shown(symbol)}: only the coin of a chain has none"
            )
            raise InvalidInput(message, reason="invalid_contract", field=columns[-1])
    return rows


def _as_given(error: InvalidInput, tokens: pl.DataFrame, rows: list[int]) -> InvalidInput:
    """Give a refusal with the row and the name of the column that the caller's table of tokens has."""
    place = re.match(r'tokens, row (\d+): column "(\w+)"', str(error))
    if place is None:
        return error
    row, column = int(place[1]), place[2]
    known = [name for name in _SPELLINGS.get(column, ()) if name in tokens.columns]
    number = rows[row - 1] + 1 if 0 < row <= len(rows) else row
    name = known[0] if known else column
    message = f'tokens, row {number}: column "{name}"{str(error)[place.end() :]}'
    return InvalidInput(message, reason=error.reason, field=error.field or name)
