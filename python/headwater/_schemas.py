"""Column types of the frames, so that an empty or all-null column has the type it always has."""

from __future__ import annotations

from functools import cache

import polars as pl
from polars.datatypes import DataTypeClass

from headwater import _headwater

Schema = dict[str, DataTypeClass | pl.DataType]

_TEXTS = pl.List(pl.String)

TRANSFER_ROW: Schema = {
    "id": pl.String,
    "blockchain": pl.String,
    "tx_hash": pl.String,
    "block_number": pl.Int64,
    "timestamp": pl.Int64,
    "tx_index": pl.Int64,
    "log_index": pl.Int64,
    "transfer_type": pl.String,
    "from_address": pl.String,
    "to_address": pl.String,
    "counterparty": pl.String,
    "action": pl.String,
    "direction": pl.String,
    "symbol": pl.String,
    "contract": pl.String,
    "decimals": pl.Int64,
    "amount": pl.String,
    "amount_raw": pl.String,
    "amount_usd": pl.Float64,
    "status": pl.String,
    "verified": pl.Boolean,
    "flags": _TEXTS,
    "counterparty_label": pl.String,
}

COUNTERPARTY_ROW: Schema = {
    "address": pl.String,
    "blockchain": pl.String,
    "symbol": pl.String,
    "symbols": _TEXTS,
    "total_amount": pl.String,
    "total_amount_usd": pl.Float64,
    "received_amount": pl.String,
    "received_amount_usd": pl.Float64,
    "sent_amount": pl.String,
    "sent_amount_usd": pl.Float64,
    "net_amount": pl.String,
    "net_amount_usd": pl.Float64,
    "total_count": pl.Int64,
    "received_count": pl.Int64,
    "sent_count": pl.Int64,
    "total_transfers": pl.Int64,
    "unpriced_count": pl.Int64,
    "first_activity": pl.Int64,
    "last_activity": pl.Int64,
    "labels": _TEXTS,
    "entity_name": pl.String,
}

ASSET_OVERVIEW: Schema = {
    "symbol": pl.String,
    "contract": pl.String,
    "decimals": pl.Int64,
    "balance": pl.String,
    "balance_raw": pl.String,
    "price_usd": pl.Float64,
    "balance_usd": pl.Float64,
    "verified": pl.Boolean,
    "received_amount": pl.String,
    "sent_amount": pl.String,
    "received_amount_usd": pl.Float64,
    "sent_amount_usd": pl.Float64,
    "received_count": pl.Int64,
    "sent_count": pl.Int64,
    "first_activity": pl.Int64,
    "last_activity": pl.Int64,
}

REGISTRY_ENTRY: Schema = {
    "chain": pl.String,
    "symbol": pl.String,
    "display_name": pl.String,
    "contract": pl.String,
    "decimals": pl.Int64,
    "verified": pl.Boolean,
    "usd_mode": pl.String,
    "rate_symbol": pl.String,
    "cg_id": pl.String,
    "market_cap_usd": pl.Float64,
    "mcap_updated_at": pl.Int64,
    "rate_source": pl.String,
}

RESOLVED: Schema = {**REGISTRY_ENTRY, "query": pl.String, "matched_by": pl.String}

# The sums of one direction between two addresses, and of each symbol within it.
_SYMBOL_SUM: Schema = {"amount": pl.String, "amount_usd": pl.String, "count": pl.Int64, "symbol": pl.String}

DIRECTION_SUM: Schema = {
    "action": pl.String,
    "amount": pl.String,
    "amount_usd": pl.String,
    "count": pl.Int64,
    "direction": pl.String,
    "symbols": pl.List(pl.Struct(_SYMBOL_SUM)),
}

CHAIN: Schema = {
    "chain": pl.String,
    "display_name": pl.String,
    "family": pl.String,
    "caip2": pl.String,
    "native_symbol": pl.String,
    "native_decimals": pl.Int64,
    "indexed_from_block": pl.Int64,
    "indexed_to_block": pl.Int64,
    "indexed_to_ts": pl.Int64,
    "head_block": pl.Int64,
    "lag_seconds": pl.Int64,
    "finality_depth": pl.Int64,
    "endpoints": pl.Struct(dict.fromkeys(sorted(name for name, *_ in _headwater.calls()), pl.String)),
    "tokens": pl.List(pl.Struct(REGISTRY_ENTRY)),
}

_CANDIDATE: Schema = {"chain": pl.String, "address": pl.String, "edits": pl.Int64, "reason": pl.String}

RESOLVED_ADDRESS: Schema = {
    "query": pl.String,
    "valid": pl.Boolean,
    "chain": pl.String,
    "address": pl.String,
    "corrected": pl.Boolean,
    "corrections": _TEXTS,
    "format": pl.String,
    "checksum": pl.String,
    "kind": pl.String,
    "chains": _TEXTS,
    "candidates": pl.List(pl.Struct(_CANDIDATE)),
    "active": pl.Boolean,
    "reason": pl.String,
}

COMPLETION: Schema = {"candidates": _TEXTS, "chain": pl.String, "query": pl.String, "total": pl.Int64}

# The fields of one asset within a day; the frame has a row for each of them, with the fields of the day beside.
_HELD: Schema = {
    "symbol": pl.String,
    "contract": pl.String,
    "decimals": pl.Int64,
    "balance": pl.String,
    "balance_raw": pl.String,
    "price_usd": pl.Float64,
    "balance_usd": pl.Float64,
    "verified": pl.Boolean,
    "amount_out": pl.String,
}

DAILY_POINT: Schema = {
    "date": pl.String,
    "timestamp": pl.Int64,
    "balances": pl.List(pl.Struct(_HELD)),
    "total_usd": pl.Float64,
    "received_usd": pl.Float64,
    "sent_usd": pl.Float64,
    "tx_count": pl.Int64,
}

HOLDER: Schema = {
    "rank": pl.Int64,
    "address": pl.String,
    "balance": pl.Float64,
    "balance_raw": pl.String,
    "balance_usd": pl.Float64,
    "pct_of_supply": pl.Float64,
}

_MEASURES: Schema = {
    "top10_pct": pl.Float64,
    "top100_pct": pl.Float64,
    "top1000_pct": pl.Float64,
    "hhi": pl.Float64,
    "gini": pl.Float64,
    "nakamoto": pl.Int64,
    "theil": pl.Float64,
    "theil_normalised": pl.Float64,
    "entropy_bits": pl.Float64,
    "effective_holders_1usd": pl.Int64,
    "effective_holders_100usd": pl.Int64,
    "effective_holders_0_001_btc": pl.Int64,
    "effective_holders_0_1_btc": pl.Int64,
}

CONCENTRATION: Schema = {
    "blockchain": pl.String,
    "contract": pl.String,
    "symbol": pl.String,
    "decimals": pl.Int64,
    "holder_count": pl.Int64,
    "total_supply": pl.Float64,
    "total_supply_raw": pl.String,
    "concentration": pl.Struct(_MEASURES),
}

ADDRESS_FLOW: Schema = {
    "address": pl.String,
    "received": pl.Float64,
    "sent": pl.Float64,
    "net_flow": pl.Float64,
    "net_flow_usd": pl.Float64,
    "received_count": pl.Int64,
    "sent_count": pl.Int64,
    "tx_count": pl.Int64,
    "first_activity_ts": pl.Int64,
    "last_activity_ts": pl.Int64,
}

RATE: Schema = {"symbol": pl.String, "price_usd": pl.Float64, "ts": pl.Int64}

RATE_COVERAGE: Schema = {
    "symbol": pl.String,
    "first_ts": pl.Int64,
    "last_ts": pl.Int64,
    "source": pl.String,
    "points": pl.Int64,
}

USE: Schema = {"endpoint": pl.String, "calls": pl.Int64, "failed": pl.Int64, "credits": pl.Int64}

ROWS: dict[str, str] = {
    "assets": "tokens",
    "balance-history": "data_points",
    "chains": "chains",
    "counterparty": "datas",
    "counterparty/list": "datas",
    "counterparty/overview": "transfer_betweens",
    "counterparty/transfer-between": "datas",
    "rates": "rates",
    "rates/history": "points",
    "rates/symbols": "coverage",
    "registry": "tokens",
    "resolve": "assets",
    "token/addresses_flow": "addresses",
    "token/holders": "holders",
    "transaction": "transfers",
    "transactions": "datas",
    "usage": "by_endpoint",
    "wallet-overview": "balances",
}

FRAMES: dict[str, Schema] = {
    "addresses/autocomplete": COMPLETION,
    "addresses/resolve": RESOLVED_ADDRESS,
    "assets": REGISTRY_ENTRY,
    "balance-history": DAILY_POINT,
    "chains": CHAIN,
    "counterparty": COUNTERPARTY_ROW,
    "counterparty/list": COUNTERPARTY_ROW,
    "counterparty/overview": DIRECTION_SUM,
    "counterparty/transfer-between": TRANSFER_ROW,
    "rates": RATE,
    "rates/history": {"ts": pl.Int64, "price_usd": pl.Float64},
    "rates/symbols": RATE_COVERAGE,
    "registry": REGISTRY_ENTRY,
    "resolve": RESOLVED,
    "token/addresses_flow": ADDRESS_FLOW,
    "token/concentration": CONCENTRATION,
    "token/holders": HOLDER,
    "transaction": TRANSFER_ROW,
    "transactions": TRANSFER_ROW,
    "usage": USE,
    "wallet-overview": ASSET_OVERVIEW,
}

# Columns that only some transfers have: with ``output_asset``, or on Bitcoin.
SOMETIMES: Schema = {
    "amount_out": pl.String,
    "counterparties": _TEXTS,
    "inputs_count": pl.Int64,
    "outputs_count": pl.Int64,
}
# And some prices: with ``quote``.
SOMETIMES_QUOTED: Schema = {"price": pl.Float64}


# Fields that hold records of their own, which a frame has as columns in their place: one record in a row, or a list of
# them, and then a row for each.
NESTED: dict[str, str] = {"balance-history": "balances", "token/concentration": "concentration"}


def spread(endpoint: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Give the columns of records that stand in a column in its place."""
    nested = NESTED.get(endpoint)
    if nested is None:
        return frame
    if isinstance(frame.schema[nested], pl.List):
        # A row whose list is empty stays, without a record: a day on which nothing was held.
        held = pl.when(pl.col(nested).list.len() > 0).then(pl.col(nested))
        frame = frame.with_columns(held).explode(nested)
    return frame.unnest(nested)


def empty(endpoint: str) -> pl.DataFrame:
    """Give the frame of an answer without rows."""
    return spread(endpoint, pl.DataFrame(schema=FRAMES.get(endpoint, {})))


def rows(endpoint: str, answer: str) -> _headwater.Rows | None:
    """Give what makes a table of an answer, where its columns are known beforehand and it has one."""
    key = ROWS.get(endpoint)
    if key is not None and f'"{key}":' not in answer:
        return None
    schema = FRAMES.get(endpoint)
    more = SOMETIMES if schema is TRANSFER_ROW else SOMETIMES_QUOTED if schema is RATE else {}
    return _rows(endpoint, tuple(name for name in more if f'"{name}":' in answer))


@cache
def _rows(endpoint: str, more: tuple[str, ...]) -> _headwater.Rows | None:
    schema = FRAMES.get(endpoint)
    if schema is None:
        return None
    known = {**SOMETIMES, **SOMETIMES_QUOTED}
    schema = {**schema, **{name: known[name] for name in more}}
    return _headwater.Rows(ROWS.get(endpoint), pl.DataFrame(schema=schema))
