"""LightGBM models in the format that Headwater reads."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from headwater.errors import InvalidInput

if TYPE_CHECKING:
    import lightgbm as lgb

FORMAT = "headwater-classifier/1"

# The bits of `decision_type` in a LightGBM model.
CATEGORICAL = 1
DEFAULT_LEFT = 2
MISSING_TYPES = ("None", "Zero", "NaN")


def export(
    booster: lgb.Booster,
    features: list[str],
    classes: list[str],
    *,
    chain: str,
    version: str,
    features_version: int,
    priors: list[float],
    least_odds: list[float],
    temperature: float,
    offsets: list[float],
    card: dict[str, Any],
) -> dict[str, Any]:
    """Convert a LightGBM classifier to the model format of Headwater.

    Parameters
    ----------
    booster
        Trained with objective ``multiclass``; the trees up to its best iteration are exported, as ``predict`` does.
    features, classes
        Names, in the order of the columns and of the class numbers of the training data.
    chain, version, features_version, card
        Written as they are.
    priors
        Share of each class among the addresses of the chain; they sum to 1.
    least_odds
        How many times as probable as ``Unknown`` a class has to be to be called, one per class, 1 or more.
    temperature, offsets
        The calibration ``softmax(raw / temperature + offsets)``.

    Returns
    -------
    dict
        The model, ready for ``json.dump``.

    Raises
    ------
    InvalidInput
        When the model has a property that the format cannot express.
    """
    header, *blocks = booster.model_to_string().split("\nTree=")
    model = _fields(header)
    objective = model["objective"].split()[0]
    if objective != "multiclass" or int(model["num_tree_per_iteration"]) != len(classes):
        message = f"objective {model['objective']!r} for {len(classes)} classes; expected multiclass with a tree each"
        raise InvalidInput(message)
    if "average_output" in header.splitlines():
        message = "a random forest averages its trees; expected boosting"
        raise InvalidInput(message)
    if booster.num_feature() != len(features):
        message = f"{len(features)} feature names for {booster.num_feature()} columns"
        raise InvalidInput(message)
    columns = ("feature", "threshold", "left", "right", "missing_left", "node_cover", "leaf", "leaf_cover")
    trees: dict[str, list[Any]] = {"class": [], "nodes": [], **{column: [] for column in columns}}
    for number, block in enumerate(blocks):
        tree = _tree(_fields(block.split("\nend of trees")[0]))
        trees["class"].append(number % len(classes))
        trees["nodes"].append(len(tree["feature"]))
        for column in columns:
            trees[column] += tree[column]
    return {
        "format": FORMAT,
        "chain": chain,
        "version": version,
        "features_version": features_version,
        "features": features,
        "classes": classes,
        "priors": priors,
        "least_odds": least_odds,
        "calibration": {"temperature": temperature, "offsets": offsets},
        # LightGBM adds its initial scores to the leaves of the first trees.
        "initial": [0.0] * len(classes),
        "trees": trees,
        "card": card,
    }


def _fields(text: str) -> dict[str, str]:
    """Return the ``key=value`` lines of a part of a LightGBM model."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _tree(fields: dict[str, str]) -> dict[str, list[Any]]:
    """Return the lists of one tree. LightGBM numbers children as the format does."""
    if fields["num_cat"] != "0" or fields.get("is_linear", "0") != "0":
        message = "a tree with categorical splits or linear leaves; expected numerical splits and constant leaves"
        raise InvalidInput(message)

    def numbers(key: str, kind: type) -> list[Any]:
        return [kind(number) for number in fields.get(key, "").split()]

    leaf = numbers("leaf_value", float)
    if len(leaf) == 1:  # LightGBM writes no cover, or 0, for a tree without splits.
        empty = ("feature", "threshold", "left", "right", "missing_left", "node_cover")
        return {**{column: [] for column in empty}, "leaf": leaf, "leaf_cover": [1]}
    threshold = [_threshold(limit) for limit in numbers("threshold", float)]
    decisions = zip(numbers("decision_type", int), threshold, strict=True)
    return {
        "feature": numbers("split_feature", int),
        "threshold": threshold,
        "left": numbers("left_child", int),
        "right": numbers("right_child", int),
        "missing_left": [_missing_left(decision, limit) for decision, limit in decisions],
        "node_cover": numbers("internal_count", int),
        "leaf": leaf,
        "leaf_cover": numbers("leaf_count", int),
    }


def _threshold(threshold: float) -> float:
    """Return a threshold in the form of the format, which writes infinity as the largest number."""
    if math.isnan(threshold) or threshold == -math.inf:
        message = f"threshold {threshold}; expected a number"
        raise InvalidInput(message)
    return min(threshold, sys.float_info.max)


def _missing_left(decision_type: int, threshold: float) -> int:
    """Return 1 if a NaN goes left at this split."""
    missing = MISSING_TYPES[(decision_type >> 2) & 3]
    if decision_type & CATEGORICAL or missing == "Zero":
        message = f"decision type {decision_type}; expected a numerical split without zero_as_missing"
        raise InvalidInput(message)
    if missing == "None":  # LightGBM replaces a NaN by 0 where the training data had none.
        return int(threshold >= 0.0)
    return int(decision_type & DEFAULT_LEFT != 0)
