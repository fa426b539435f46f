"""What a model is trained on: addresses with their classes and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from headwater import _headwater, _tables
from headwater.errors import InvalidInput

if TYPE_CHECKING:
    from headwater.ledger import Ledger

# Fewest transfers of an example: with fewer the engine answers `Unknown` whatever the model predicts.
MIN_TRANSFERS = 5

#: Features that grow with the number of collected transfers, which is a property of the store, not of the address.
SIZE_FEATURES = (
    "in_count",
    "out_count",
    "own_count",
    "transaction_count",
    "asset_count",
    "created_count",
    "sender_count",
    "receiver_count",
    "active_days",
    "per_day_max",
    "per_day_deviation",
    "per_day_mean",
    "parties_per_day",
    "max_in_24h",
    "max_out_24h",
    *(
        f"{money}_{name}"
        for money in ("native", "stable")
        for name in ("in_count", "out_count", "in_sum", "out_sum", "emptied_count", "sweep_targets")
    ),
)

#: The forms of the scripts of an address, on bitcoin. They tell its wallet software, and in the economy every service
#: has one that was chosen for it once and for all.
FORM_FEATURES = tuple(f"utxo_{form}_ratio" for form in ("p2pk", "p2pkh", "p2sh", "p2wpkh", "p2wsh", "p2tr"))

#: The features that models read by default, on every chain: all but :data:`SIZE_FEATURES` and those of bitcoin.
FEATURES = tuple(
    name for name, _, _ in _headwater.features() if name not in SIZE_FEATURES and not name.startswith("utxo_")
)

#: The features that models of bitcoin read by default, in place of :data:`FEATURES`: no amounts in coins, which tell
#: the era (a coin has been worth cents and many thousands of dollars), none of stablecoins, and what transactions look
#: like without :data:`FORM_FEATURES`.
UTXO_FEATURES = tuple(
    name
    for name, unit, _ in _headwater.features()
    if name not in (*SIZE_FEATURES, *FORM_FEATURES) and unit != "units" and not name.startswith("stable_")
)


def examples(
    ledger: Ledger,
    labels: Any,  # noqa: ANN401
    *,
    blockchain: str | None = None,
    observed: Sequence[tuple[float, int]] = ((0.5, 1), (0.3, 2), (0.15, 3), (0.3, 4)),
    view_weight: float = 0.1,
    source: Literal["real", "simulated"] = "real",
) -> pl.DataFrame:
    """Give features and classes of labelled addresses.

    Parameters
    ----------
    ledger : Ledger
        Over a store or frames in memory.
    labels : table
        Columns ``address`` and ``class``, and optionally ``group`` (the entity of the address; each address is its own
        where it is missing or null) and ``weight`` (1 where it is missing or null). Rows without a class are ignored.
        Put addresses that are none of your classes into the class ``Unknown``.
    blockchain : str, optional
        The chain. Omitted: that of the first address, see :class:`headwater.Ledger`.
    observed : sequence of (share, seed)
        Further views of each address, as if only this share of all addresses had been observed and the address through
        them alone, as in :meth:`Ledger.features`. Models are trained on them and never judged by them.
    view_weight : float
        The weight of an example in such a view, as a multiple of that of the address.
    source : str
        Where the addresses are from, for the model card.

    Returns
    -------
    polars.DataFrame
        ``address``, ``class``, ``group``, ``weight``, ``view``, ``source``, ``evaluated`` and all features. One row per
        view and address, in this order. Addresses with fewer than five transfers in a view have no row there, because
        the engine answers ``Unknown`` for them. Texts that are not addresses of the chain have none either.

    Raises
    ------
    InvalidInput
        When a column is missing, an address is there twice, or a weight is not a number above 0.
    Unsupported
        Over a server, which has no call for features.

    Examples
    --------
    >>> import headwater as hw
    >>> from headwater.examples import ALICE, BOB, SHOP
    >>> columns = ("blockchain", "block_number", "timestamp", "tx_hash", "from_address", "to_address", "contract")
    >>> rows = [("ethereum", n, 12 * n, f"0x{n:064x}", BOB if n < 5 else SHOP, ALICE, None) for n in range(1, 9)]
    >>> moved = [{**dict(zip(columns, row)), "amount_raw": "5"} for row in rows]
    >>> labels = {"address": [ALICE, BOB], "class": ["Scam", "Unknown"]}
    >>> examples(hw.Ledger.from_frames(moved), labels).select("class", "view", "weight", "in_count").rows()
    [('Scam', 'whole', 1.0, 8.0)]
    """
    table = _labels(labels)
    chain = ledger._chains.of_all(table["address"].drop_nulls().to_list()) if blockchain is None else blockchain

    def view(name: str, weight: float, seen: tuple[float, int] | None) -> pl.DataFrame:
        features = ledger.features(table["address"], blockchain=chain, observed=seen).drop("error")
        twice = features.filter(pl.col("address").is_not_null() & pl.col("address").is_duplicated())
        if twice.height:
            raise _refused(f"{twice['address'][0]} is there twice; give each address one class")
        shown = pl.lit(name).alias("view"), pl.lit(source).alias("source"), pl.lit(seen is None).alias("evaluated")
        joined = table.with_columns(pl.col("weight") * weight, *shown).with_columns(features)
        transfers = pl.col("in_count") + pl.col("out_count") + pl.col("own_count")
        return joined.filter(transfers >= MIN_TRANSFERS).sort("address")

    views = [view("whole", 1.0, None)]
    views += [view(f"{share} of addresses, seed {seed}", view_weight, (share, seed)) for share, seed in observed]
    return pl.concat(views)


def _labels(labels: Any) -> pl.DataFrame:  # noqa: ANN401
    """Check labels, and give each address a group and a weight."""
    table = pl.DataFrame(labels) if isinstance(labels, dict) else _tables.frame(labels, "labels")
    for column in ("address", "class"):
        if column not in table.columns:
            raise _refused(f"the column {column!r} is missing; found {', '.join(table.columns)}")
    group = pl.col("group").cast(pl.String) if "group" in table.columns else pl.lit(None, pl.String)
    weight = pl.col("weight").cast(pl.Float64) if "weight" in table.columns else pl.lit(None, pl.Float64)
    table = table.filter(pl.col("class").is_not_null()).select(
        pl.col("address").cast(pl.String),
        pl.col("class").cast(pl.String),
        pl.coalesce(group, pl.col("address").cast(pl.String)).alias("group"),
        weight.fill_null(1.0).alias("weight"),
    )
    bad = table.filter(~(pl.col("weight").is_finite() & (pl.col("weight") > 0)))
    if bad.height:
        raise _refused(f"the weight of {bad['address'][0]} is {bad['weight'][0]}; expected a number above 0")
    return table


def _refused(what: str) -> InvalidInput:
    return InvalidInput(f"labels: {what}", reason="invalid_value", field="labels")
