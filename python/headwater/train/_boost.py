"""The learner: gradient-boosted trees of LightGBM."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from headwater.errors import Unsupported

if TYPE_CHECKING:
    import lightgbm as lgb

    from headwater.train._evaluate import Floats, Ints

# Small trees, because examples are few, and at most 180 per class, because the engine evaluates all trees for each
# address.
PARAMETERS: dict[str, Any] = {
    "objective": "multiclass",
    "learning_rate": 0.08,
    "num_leaves": 15,
    "min_data_in_leaf": 10,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.4,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
    "seed": 1,
    # For few examples one thread is fast enough; on a busy machine several took ten times as long, waiting for each
    # other. The model does not depend on their number.
    "num_threads": 1,
}
ROUNDS = 180

# Gets values, classes, weights and the number of classes; gives a function from values to raw scores.
Learner: TypeAlias = Callable[["Floats", "Ints", "Floats", int], Callable[["Floats"], "Floats"]]


def boosted(rounds: int = ROUNDS, parameters: dict[str, Any] | None = None) -> Learner:
    """Give the learner of :func:`fit`: gradient-boosted trees of LightGBM, on one thread unless told otherwise."""

    def learn(values: Floats, truth: Ints, weight: Floats, classes: int) -> Callable[[Floats], Floats]:
        booster = booster_of((values, truth, weight), classes, rounds, parameters)
        threads = {**PARAMETERS, **(parameters or {})}["num_threads"]

        def scores(rows: Floats) -> Floats:
            return np.asarray(booster.predict(rows, raw_score=True, num_threads=threads), dtype=np.float64)

        return scores

    return learn


def booster_of(
    rows: tuple[Floats, Ints, Floats], classes: int, rounds: int, parameters: dict[str, Any] | None
) -> lgb.Booster:
    """Train on values, classes and weights."""
    lightgbm, (values, truth, weight) = _lightgbm(), rows
    data = lightgbm.Dataset(values, truth, weight=weight)
    booster: lgb.Booster = lightgbm.train({**PARAMETERS, **(parameters or {}), "num_class": classes}, data, rounds)
    return booster


def _lightgbm() -> Any:  # noqa: ANN401
    try:
        import lightgbm  # noqa: PLC0415
    except ImportError:
        message = "training needs LightGBM: pip install 'headwater[train]'"
        raise Unsupported(message) from None
    return lightgbm
