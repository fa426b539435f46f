"""Predictions of held-out entities."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from headwater.errors import InvalidInput
from headwater.train._boost import Learner, boosted
from headwater.train._calibrate import calibrate, called, lowest_odds
from headwater.train._evaluate import UNKNOWN, Evaluation
from headwater.train._examples import FEATURES, UTXO_FEATURES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headwater.train._evaluate import Floats, Ints

FOLDS = 5

Progress: TypeAlias = Callable[[str], None]


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
        Examples to train on.
    features, classes
        As those of :func:`fit`.
    judged : polars.DataFrame, optional
        Examples to judge; by default those with ``evaluated``.
    folds : int
        Number of parts that the entities are divided into.
    learner : callable, optional
        Gets values, classes, weights and the number of classes, and gives a function from values to raw scores;
        :func:`boosted` by default.
    least_odds : sequence of float, optional
        The odds of a model, ``model.data["least_odds"]``. Missing: they are chosen by ``most_miscalled``.
    most_miscalled : float
        As that of :func:`fit`.
    progress : callable, optional
        Called with the name of each step when it begins.

    Returns
    -------
    Evaluation

    Raises
    ------
    Unsupported, InvalidInput
        As :func:`fit` does.
    """
    names, order = names_of(examples, features), classes_of(examples, classes)
    judged = examples.filter("evaluated") if judged is None else judged
    trial = Trial(examples, judged, names, order, folds)
    raw = trial.held_out(learner or boosted(), progress)
    return trial.evaluation(raw, least_odds, most_miscalled)[0]


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
    """Train and calibrate on some examples and judge others, such as those that came later.

    Parameters
    ----------
    past, future : polars.DataFrame
        Examples to train on, and to judge, all of them. Leave entities of ``past`` out of ``future`` unless the
        model is to be judged on entities that it knows.
    features, classes, learner, least_odds, most_miscalled, folds
        As those of :func:`cross_validate`.

    Returns
    -------
    Evaluation

    Raises
    ------
    Unsupported, InvalidInput
        As :func:`fit` does.
    """
    names, order = names_of(past, features), classes_of(past, classes)
    names_of(future, features)
    learner = learner or boosted()
    trial = Trial(past, past.filter("evaluated"), names, order, folds)
    raw = trial.held_out(learner, None)
    evaluation, odds = trial.evaluation(raw, least_odds, most_miscalled)
    calibration = calibrate(raw, evaluation.truth)
    values, _, _ = rows_of(future, names, order)
    shares = calibration.apply(learner(*rows_of(past, names, order), len(order))(values))
    return Evaluation(order, truth_of(future, order), shares, called(shares, odds), future["group"].to_list())


@dataclass(frozen=True)
class Trial:
    """Examples that are judged, each by a model that saw no example of its entity."""

    examples: pl.DataFrame
    judged: pl.DataFrame
    features: list[str]
    classes: list[str]
    folds: int

    def held_out(self, learner: Learner, progress: Progress | None) -> Floats:
        """Give raw scores."""
        groups, fold = self.judged["group"].to_numpy(), self._fold()
        raw = np.zeros((self.judged.height, len(self.classes)))
        values, _, _ = rows_of(self.judged, self.features, self.classes)
        for number in range(self.folds):
            if progress is not None:
                progress(f"fold {number + 1} of {self.folds}")
            inside = fold == number
            kept = self.examples.filter(~pl.col("group").is_in(sorted(set(groups[inside]))))
            raw[inside] = learner(*rows_of(kept, self.features, self.classes), len(self.classes))(values[inside])
        return raw

    def evaluation(
        self, raw: Floats, least_odds: Sequence[float] | None, most_miscalled: float
    ) -> tuple[Evaluation, list[float]]:
        """Calibrate each fold by the others, so that it is judged on other addresses, and choose the odds."""
        truth, fold = truth_of(self.judged, self.classes), self._fold()
        shares = np.zeros_like(raw)
        for number in range(self.folds):
            inside = fold == number
            shares[inside] = calibrate(raw[~inside], truth[~inside]).apply(raw[inside])
        odds = list(least_odds) if least_odds is not None else lowest_odds(shares, truth, self.classes, most_miscalled)
        groups = self.judged["group"].to_list()
        return Evaluation(self.classes, truth, shares, called(shares, odds), groups), odds

    def _fold(self) -> Ints:
        return _folds(self.judged["group"].to_list(), self.folds)


def rows_of(examples: pl.DataFrame, features: list[str], classes: list[str]) -> tuple[Floats, Ints, Floats]:
    """Give values, classes and weights; missing values are NaN."""
    values: Floats = examples.select(pl.col(features).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
    truth, weight = truth_of(examples, classes), examples["weight"].to_numpy()
    # Rare classes count more, by the root of their share: enough to be learnt, without many false predictions of them.
    share = np.bincount(truth, weights=weight, minlength=len(classes)) / max(weight.sum(), 1e-9)
    return values, truth, weight / np.sqrt(np.maximum(share, 1e-9))[truth]


def names_of(examples: pl.DataFrame, features: Sequence[str] | None) -> list[str]:
    """Give the features, and check that the examples have them; by default those of bitcoin where there are any."""
    is_utxo = "utxo_coinbase_ratio" in examples.columns
    names = list(features if features is not None else UTXO_FEATURES if is_utxo else FEATURES)
    missing = [name for name in names if name not in examples.columns]
    if missing:
        message = f"examples: the features {', '.join(missing)} are missing"
        raise InvalidInput(message, reason="invalid_value", field="features")
    return names


def classes_of(examples: pl.DataFrame, given: Sequence[str] | None) -> list[str]:
    """Give the classes in their order, and check that the examples have no other one."""
    found = sorted(set(examples["class"].to_list()), key=lambda name: (name == UNKNOWN, name))
    if len(found) < 2:
        message = f"examples: found the classes {', '.join(found) or 'none'}; expected at least two"
        raise InvalidInput(message, reason="invalid_value", field="examples")
    order = found if given is None else list(given)
    if missing := [name for name in found if name not in order]:
        message = f"classes: {', '.join(missing)} of the examples is missing; found {', '.join(order)}"
        raise InvalidInput(message, reason="invalid_value", field="classes")
    return order


def truth_of(examples: pl.DataFrame, classes: list[str]) -> Ints:
    """Give the class of each example, as its position."""
    numbers = {name: number for number, name in enumerate(classes)}
    return np.array([numbers[name] for name in examples["class"]], dtype=np.int64)


def _folds(groups: list[str], folds: int) -> Ints:
    """Give each entity a fold: the largest first, each into the fold that has fewest addresses."""
    if not 2 <= folds <= len(set(groups)):
        message = (
            f"folds: {folds} for {len(set(groups))} entities to judge; expected 2 to as many as there are entities"
        )
        raise InvalidInput(message, reason="invalid_value", field="folds")
    names, number, size = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    of_group = np.zeros(len(names), dtype=np.int64)
    filled = np.zeros(folds, dtype=np.int64)
    for at in np.lexsort((_mixed(names), -size)):
        of_group[at] = np.argmin(filled)
        filled[of_group[at]] += size[at]
    fold: Ints = of_group[number]
    return fold


def _mixed(names: NDArray[Any]) -> NDArray[np.uint64]:
    """Give numbers that are in no relation to the order of the names, the same on every machine."""
    digests = [hashlib.sha256(str(name).encode()).digest()[:8] for name in names]
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
