"""What a model is trained on: addresses with their classes and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from headwater import _headwater
from headwater.errors import InvalidInput

if TYPE_CHECKING:
    from headwater.ledger import Ledger

# Fewest transfers of an example: below, the engine answers `Unknown` whatever the model says.
MIN_TRANSFERS = 5

#: Features that grow with the number of rows at hand. How much of an address a store holds is a property of the store.
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

#: The features that models read by default: all but :data:`SIZE_FEATURES`.
FEATURES = tuple(name for name, _, _ in _headwater.features() if name not in SIZE_FEATURES)


def examples(
    ledger: Ledger,
    labels: Any,  # noqa: ANN401
    *,
    blockchain: str = "ethereum",
    observed: Sequence[tuple[float, int]] = ((0.5, 1), (0.3, 2), (0.15, 3), (0.3, 4)),
    view_weight: float = 0.1,
    source: str = "real",
) -> pl.DataFrame:
    """Give features and classes of labelled addresses.

    Parameters
    ----------
    ledger : Ledger
        Over a store or frames in memory.
    labels : table
        Columns ``address`` and ``class``; where known ``group`` (addresses of one entity have the same; missing: every
        address is its own) and ``weight`` (1 where it is missing). What is none of your classes belongs in the class
        ``Unknown``.
    blockchain : str
        The chain.
    observed : sequence of (share, seed)
        Further views of each address, as if only this share of all addresses had been observed and the address through
        them alone. They are trained on and never evaluated.
    view_weight : float
        The weight of an example in such a view, by that of the example.
    source : str
        Where the labels are from, for the model card: ``"real"`` or ``"simulated"``.

    Returns
    -------
    polars.DataFrame
        ``address``, ``class``, ``group``, ``view``, ``weight``, ``evaluated``, ``source`` and all features, of addresses
        with at least five transfers, in order of view and address.

    Raises
    ------
    InvalidInput
        When a column is missing, or an address has two classes.
    """
    table = labels if isinstance(labels, pl.DataFrame) else pl.DataFrame(labels)
    for column in ("address", "class"):
        if column not in table.columns:
            message = f"labels: the column {column!r} is missing; found {', '.join(table.columns)}"
            raise InvalidInput(message)
    table = table.filter(pl.col("class").is_not_null())
    twice = table.filter(pl.col("address").is_duplicated())
    if twice.height:
        message = f"labels: {twice['address'][0]} is there twice; give each address one class"
        raise InvalidInput(message)
    if "group" not in table.columns:
        table = table.with_columns(pl.col("address").alias("group"))
    if "weight" not in table.columns:
        table = table.with_columns(pl.lit(1.0).alias("weight"))
    table = table.select(
        "address",
        "class",
        pl.coalesce("group", "address").alias("group"),
        pl.col("weight").cast(pl.Float64).fill_null(1.0),
    )

    def view(name: str, weight: float, seen: tuple[float, int] | None) -> pl.DataFrame:
        features = ledger.features(table["address"], blockchain=blockchain, observed=seen).drop("error")
        joined = table.with_columns(pl.lit(name).alias("view"), pl.col("weight") * weight, source=pl.lit(source))
        joined = joined.with_columns(evaluated=pl.lit(seen is None)).with_columns(features.drop("address"))
        transfers = pl.col("in_count") + pl.col("out_count") + pl.col("own_count")
        return joined.filter(transfers >= MIN_TRANSFERS).sort("address")

    views = [view("whole", 1.0, None)]
    views += [view(f"{share} of addresses, seed {seed}", view_weight, (share, seed)) for share, seed in observed]
    return pl.concat(views)
