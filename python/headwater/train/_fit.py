"""Training: gradient-boosted trees, calibrated on held-out entities."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headwater import _headwater
from headwater.errors import InvalidInput, Unsupported
from headwater.train._evaluate import UNKNOWN, Evaluation
from headwater.train._examples import FEATURES
from headwater.train._export import export

if TYPE_CHECKING:
    import lightgbm as lgb
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Small trees, because examples are few; so many rounds that a class has fewer than 200 of them, because the engine walks
# through all trees of all classes for every address.
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
}
ROUNDS = 180
FOLDS = 5

Progress = Callable[[str], None]

# Odds against `Unknown` that are tried for a class, in this order.
_ODDS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0)


@dataclass(frozen=True)
class Calibration:
    """Raw scores to probabilities: ``softmax(raw / temperature + offsets)``."""

    temperature: float
    offsets: list[float]

    def apply(self, raw: Floats) -> Floats:
        """Give the probabilities."""
        logits = raw / self.temperature + np.array(self.offsets)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: Floats = powers / powers.sum(axis=1, keepdims=True)
        return shares


# Gets values, classes, weights and the number of classes; gives what makes raw scores of values.
Learner = Callable[["Floats", "Ints", "Floats", int], Callable[["Floats"], "Floats"]]


@dataclass(frozen=True)
class Model:
    """A trained classifier.

    Attributes
    ----------
    data : dict
        The model as the engine reads it; ``data["card"]`` is the model card.
    evaluation : Evaluation
        Cross-validated predictions, calibrated on the folds that an address is not in.
    """

    data: dict[str, Any]
    evaluation: Evaluation

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the model file; equal models give equal bytes."""
        text = json.dumps(self.data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        path = Path(path)
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        return path


def fit(
    examples: pl.DataFrame,
    *,
    chain: str,
    version: str,
    features: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    priors: dict[str, float] | None = None,
    most_miscalled: float = 0.02,
    folds: int = FOLDS,
    rounds: int = ROUNDS,
    parameters: dict[str, Any] | None = None,
    card: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Model:
    """Train a classifier, calibrate it, and say what it is worth.

    Parameters
    ----------
    examples : polars.DataFrame
        From :func:`headwater.train.examples`.
    chain, version : str
        The chain, and a name for the model; answers show it.
    features : sequence of str, optional
        What the model reads; :data:`headwater.train.FEATURES` by default.
    classes : sequence of str, optional
        The classes in their order; by default those of the examples, ``Unknown`` last.
    priors : dict, optional
        Shares of the classes on the chain, for addresses with fewer than five transfers. By default 0.95 for
        ``Unknown`` and equal shares of the rest: an assumption, not a measurement.
    most_miscalled : float
        Largest share of held-out ``Unknown`` addresses that may be called something else: the odds that a class needs
        against ``Unknown`` are raised until it holds.
    folds, rounds, parameters
        Of the cross-validation, and of LightGBM.
    card : dict, optional
        Added to the model card.
    progress : callable, optional
        Hears what is being done.

    Returns
    -------
    Model

    Raises
    ------
    Unsupported
        When LightGBM is not installed.
    InvalidInput
        When there are fewer than two classes, or a feature that the examples lack.
    """
    names, order = _names(examples, features), list(classes or _classes(examples))
    learner = boosted(rounds, parameters)
    judged = examples.filter("evaluated")
    raw = _held_out(examples, judged, names, order, folds, learner, progress)
    evaluation, odds = _evaluation(raw, judged, order, folds, None, most_miscalled)
    calibration = _calibrate(raw, _truth(judged, order))
    if progress is not None:
        progress("training on all examples")
    data = export(
        _booster(*_rows(examples, names, order), len(order), rounds, parameters),
        names,
        order,
        chain=chain,
        version=version,
        features_version=_headwater.features_version(),
        priors=_priors(order, priors),
        least_odds=odds,
        temperature=calibration.temperature,
        offsets=calibration.offsets,
        card=_card(examples, order, evaluation) | (card or {}),
    )
    return Model(data, evaluation)


def cross_validate(
    examples: pl.DataFrame,
    features: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    *,
    judged: pl.DataFrame | None = None,
    folds: int = FOLDS,
    learner: Learner | None = None,
    least_odds: Sequence[float] | None = None,
    most_miscalled: float = 0.02,
    progress: Progress | None = None,
) -> Evaluation:
    """Judge each example by a model that saw no example of its entity, in any view.

    Parameters
    ----------
    examples : polars.DataFrame
        What is trained on.
    features, classes
        As those of :func:`fit`.
    judged : polars.DataFrame, optional
        Which examples are judged; by default those with ``evaluated``.
    folds : int
        Into so many parts the entities are divided.
    learner : callable, optional
        Gets values, classes, weights and the number of classes, and gives a function from values to raw scores.
        LightGBM by default.
    least_odds, most_miscalled
        The odds of a model, or the share by which they are chosen.
    progress : callable, optional
        Hears what is being done.
    """
    names, order = _names(examples, features), list(classes or _classes(examples))
    judged = examples.filter("evaluated") if judged is None else judged
    raw = _held_out(examples, judged, names, order, folds, learner or boosted(), progress)
    return _evaluation(raw, judged, order, folds, least_odds, most_miscalled)[0]


def predict(
    past: pl.DataFrame,
    future: pl.DataFrame,
    features: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    *,
    learner: Learner | None = None,
    least_odds: Sequence[float] | None = None,
    most_miscalled: float = 0.02,
    folds: int = FOLDS,
) -> Evaluation:
    """Train and calibrate on some examples and judge others, such as those that came later."""
    names, order = _names(past, features), list(classes or _classes(past))
    learner = learner or boosted()
    known = past.filter("evaluated")
    raw = _held_out(past, known, names, order, folds, learner, None)
    evaluation, odds = _evaluation(raw, known, order, folds, least_odds, most_miscalled)
    calibration = _calibrate(raw, evaluation.truth)
    values, _, _ = _rows(future, names, order)
    shares = calibration.apply(learner(*_rows(past, names, order), len(order))(values))
    return Evaluation(order, _truth(future, order), shares, called(shares, odds), future["group"].to_list())


def boosted(rounds: int = ROUNDS, parameters: dict[str, Any] | None = None) -> Learner:
    """Gradient-boosted trees of LightGBM, as :func:`fit` trains them."""

    def learn(values: Floats, truth: Ints, weight: Floats, classes: int) -> Callable[[Floats], Floats]:
        booster = _booster(values, truth, weight, classes, rounds, parameters)

        def scores(rows: Floats) -> Floats:
            raw: Floats = booster.predict(rows, raw_score=True)
            return raw

        return scores

    return learn


def _held_out(
    examples: pl.DataFrame,
    judged: pl.DataFrame,
    features: list[str],
    classes: list[str],
    folds: int,
    learner: Learner,
    progress: Progress | None,
) -> Floats:
    """Give raw scores, each by a model that saw no example of the entity."""
    groups = judged["group"].to_list()
    fold = _folds(groups, folds)
    raw = np.zeros((judged.height, len(classes)))
    values, _, _ = _rows(judged, features, classes)
    for number in range(folds):
        if progress is not None:
            progress(f"fold {number + 1} of {folds}")
        inside = fold == number
        held_out = {group for group, is_inside in zip(groups, inside, strict=True) if is_inside}
        kept = examples.filter(~pl.col("group").is_in(list(held_out)))
        raw[inside] = learner(*_rows(kept, features, classes), len(classes))(values[inside])
    return raw


def _evaluation(
    raw: Floats,
    judged: pl.DataFrame,
    classes: list[str],
    folds: int,
    least_odds: Sequence[float] | None,
    most_miscalled: float,
) -> tuple[Evaluation, list[float]]:
    """Calibrate each fold by the others, so that the evaluation does not flatter, and choose the odds."""
    truth, groups = _truth(judged, classes), judged["group"].to_list()
    fold = _folds(groups, folds)
    shares = np.zeros_like(raw)
    for number in range(folds):
        inside = fold == number
        shares[inside] = _calibrate(raw[~inside], truth[~inside]).apply(raw[inside])
    odds = list(least_odds) if least_odds is not None else _least_odds(shares, truth, classes, most_miscalled)
    return Evaluation(classes, truth, shares, called(shares, odds), groups), odds


def called(probabilities: Floats, least_odds: Sequence[float]) -> Ints:
    """Give the class that the engine answers."""
    best: Ints = np.argmax(probabilities / np.array(least_odds), axis=1)
    return best


def _booster(
    values: Floats, truth: Ints, weight: Floats, classes: int, rounds: int, parameters: dict[str, Any] | None
) -> lgb.Booster:
    lightgbm = _lightgbm()
    data = lightgbm.Dataset(values, truth, weight=weight)
    return lightgbm.train({**PARAMETERS, **(parameters or {}), "num_class": classes}, data, rounds)


def _rows(examples: pl.DataFrame, features: list[str], classes: list[str]) -> tuple[Floats, Ints, Floats]:
    """Give values, classes and weights; missing values are NaN."""
    values: Floats = examples.select(pl.col(features).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
    truth, weight = _truth(examples, classes), examples["weight"].to_numpy()
    # Rare classes count more, by the root of their share: enough to be learned, too little to be called for nothing.
    share = np.bincount(truth, weights=weight, minlength=len(classes)) / max(weight.sum(), 1e-9)
    return values, truth, weight / np.sqrt(np.maximum(share, 1e-9))[truth]


def _lightgbm() -> Any:  # noqa: ANN401
    try:
        import lightgbm  # noqa: PLC0415
    except ImportError:
        message = "training needs LightGBM: pip install 'headwater[train]'"
        raise Unsupported(message) from None
    return lightgbm


def _names(examples: pl.DataFrame, features: Sequence[str] | None) -> list[str]:
    names = list(FEATURES if features is None else features)
    missing = [name for name in names if name not in examples.columns]
    if missing:
        message = f"examples: the features {', '.join(missing)} are missing"
        raise InvalidInput(message)
    return names


def _classes(examples: pl.DataFrame) -> list[str]:
    found = sorted(set(examples["class"].to_list()), key=lambda name: (name == UNKNOWN, name))
    if len(found) < 2:
        message = f"examples: found the classes {', '.join(found) or 'none'}; expected at least two"
        raise InvalidInput(message)
    return found


def _truth(examples: pl.DataFrame, classes: list[str]) -> Ints:
    numbers = {name: number for number, name in enumerate(classes)}
    return np.array([numbers[name] for name in examples["class"]], dtype=np.int64)


def _folds(groups: list[str], folds: int) -> Ints:
    """Give each entity a fold: the largest first, each into the fold that has fewest addresses."""
    names, number, size = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    of_group = np.zeros(len(names), dtype=np.int64)
    filled = np.zeros(folds, dtype=np.int64)
    for at in np.lexsort((_mixed(names), -size)):
        of_group[at] = np.argmin(filled)
        filled[of_group[at]] += size[at]
    fold: Ints = of_group[number]
    return fold


def _mixed(names: NDArray[Any]) -> NDArray[np.uint64]:
    """Give numbers that do not follow the order of the names, the same on every machine."""
    digests = [hashlib.sha256(str(name).encode()).digest()[:8] for name in names]
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


def _calibrate(raw: Floats, truth: Ints) -> Calibration:
    """Fit temperature and offsets by their likelihood, with a light pull to no change."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]  # noqa: PLC0415

    count = raw.shape[1]
    one_hot = np.eye(count)[truth]

    def loss(values: Floats) -> tuple[float, Floats]:
        scale, offsets = np.exp(values[0]), values[1:]
        logits = raw * scale + offsets
        logits = logits - logits.max(axis=1, keepdims=True)
        log_shares = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        off = np.exp(log_shares) - one_hot
        pull = 1e-3
        value = -(log_shares * one_hot).sum() / len(truth) + pull * (values**2).sum()
        gradient = np.concatenate([[(off * raw).sum() * scale], off.sum(axis=0)]) / len(truth) + 2 * pull * values
        return value, gradient

    found = minimize(loss, np.zeros(count + 1), jac=True, method="L-BFGS-B").x
    return Calibration(float(np.exp(-found[0])), [float(offset) for offset in found[1:]])


def _least_odds(probabilities: Floats, truth: Ints, classes: list[str], most_miscalled: float) -> list[float]:
    """Raise the odds of the class that is called wrongly most often, until few enough are."""
    odds = [1.0] * len(classes)
    if UNKNOWN not in classes:
        return odds
    ordinary = probabilities[truth == classes.index(UNKNOWN)]
    while len(ordinary):
        now = called(ordinary, odds)
        wrong = np.bincount(now[now != classes.index(UNKNOWN)], minlength=len(classes))
        can_rise = [odd < _ODDS[-1] for odd in odds]
        if wrong.sum() <= most_miscalled * len(ordinary) or not (wrong * can_rise).any():
            break
        worst = int(np.argmax(wrong * can_rise))
        odds[worst] = _ODDS[_ODDS.index(odds[worst]) + 1]
    return odds


def _priors(classes: list[str], given: dict[str, float] | None) -> list[float]:
    if given is not None:
        total = sum(given.get(name, 0.0) for name in classes)
        return [given.get(name, 0.0) / total for name in classes]
    if UNKNOWN not in classes:
        return [1 / len(classes)] * len(classes)
    rest = 0.05 / (len(classes) - 1)
    return [0.95 if name == UNKNOWN else rest for name in classes]


def _card(examples: pl.DataFrame, classes: list[str], evaluation: Evaluation) -> dict[str, Any]:
    counts = examples.filter(pl.col("view") == "whole").group_by("class", "source").agg(
        pl.len().alias("addresses"), pl.col("group").n_unique().alias("entities")
    )
    real = {row["class"] for row in counts.iter_rows(named=True) if row["source"] == "real"}
    return {
        "examples": counts.sort("class", "source").to_dicts(),
        "simulated_classes": [name for name in classes if name not in real],
        "evaluated_addresses": len(evaluation.truth),
        "cross_validation": {
            "macro_f1": round(evaluation.macro_f1(), 4),
            "calibration_error": round(evaluation.calibration_error(), 4),
            "miscalled_unknown": round(evaluation.miscalled(), 4) if UNKNOWN in classes else None,
        },
    }
