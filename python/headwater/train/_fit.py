"""Training: the model on all examples, with its calibration, its odds and its card."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from headwater import _headwater
from headwater.errors import InvalidInput
from headwater.train._boost import ROUNDS, boosted, booster_of
from headwater.train._calibrate import calibrate
from headwater.train._evaluate import UNKNOWN, Evaluation
from headwater.train._export import export
from headwater.train._validate import FOLDS, Progress, Trial, classes_of, names_of, rows_of

# With fewer real entities than this a class counts as learnt from simulated addresses, if there are any.
ENOUGH_ENTITIES = 20


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
        """Write the model file, which ends in ``.json.gz`` by custom; equal models give equal bytes.

        The file is for ``classifiers=`` of :func:`headwater.open`, ``--model`` of ``headwater score`` and
        ``intel.classifiers`` of the settings.
        """
        text = json.dumps(self.data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        path = Path(path).expanduser()
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
    """Train a classifier, calibrate it, and judge it on entities that were held out.

    One model per fold is trained for the cross-validation, and one on all examples, which is returned. The same
    examples give the same model.

    Parameters
    ----------
    examples : polars.DataFrame
        From :func:`headwater.train.examples`.
    chain, version : str
        The chain, and a name of the model, which answers show.
    features : sequence of str, optional
        What the model reads; :data:`headwater.train.FEATURES` by default, on bitcoin
        :data:`headwater.train.UTXO_FEATURES`.
    classes : sequence of str, optional
        The classes in their order; by default those of the examples, ``Unknown`` last.
    priors : dict, optional
        Shares of the classes on the chain, divided by their sum: the probabilities of addresses with fewer than five
        transfers are drawn towards them. By default 0.95 for ``Unknown`` and equal shares of the rest: an assumption,
        not a measurement.
    most_miscalled : float
        Largest share of held-out ``Unknown`` addresses that are called something else: the odds that a class needs
        against ``Unknown`` are raised until it holds, to 20 at most. They are chosen on the addresses of the
        evaluation, which is a little too good for that.
    folds : int
        Number of parts that the entities are divided into.
    rounds : int
        Number of trees per class.
    parameters : dict, optional
        Of LightGBM, in place of or besides the default ones. ``{"num_threads": 8}`` is for very many examples.
    card : dict, optional
        Added to the model card: what the data is, what the model is for.
    progress : callable, optional
        Called with the name of each step when it begins.

    Returns
    -------
    Model

    Raises
    ------
    Unsupported
        When LightGBM or SciPy is not installed.
    InvalidInput
        When there are fewer than two classes or ``folds`` entities, a class of the examples is missing in
        ``classes``, a feature is missing in the examples, or the priors are not shares of the classes.
    """
    names, order = names_of(examples, features), classes_of(examples, classes)
    shares = _priors(order, priors)
    trial = Trial(examples, examples.filter("evaluated"), names, order, folds)
    raw = trial.held_out(boosted(rounds, parameters), progress)
    evaluation, odds = trial.evaluation(raw, None, most_miscalled)
    calibration = calibrate(raw, evaluation.truth)
    if progress is not None:
        progress("training on all examples")
    data = export(
        booster_of(rows_of(examples, names, order), len(order), rounds, parameters),
        names,
        order,
        chain=chain,
        version=version,
        features_version=_headwater.features_version(),
        priors=shares,
        least_odds=odds,
        temperature=calibration.temperature,
        offsets=calibration.offsets,
        card=_card(examples, order, evaluation) | (card or {}),
    )
    return Model(data, evaluation)


def _priors(classes: list[str], given: dict[str, float] | None) -> list[float]:
    if given is not None:
        total = sum(given.values())
        if not set(given) <= set(classes) or min(given.values(), default=0.0) < 0 or not 0 < total < float("inf"):
            message = f"priors: {given}; expected shares of the classes {', '.join(classes)}, 0 or more"
            raise InvalidInput(message, reason="invalid_value", field="priors")
        return [given.get(name, 0.0) / total for name in classes]
    if UNKNOWN not in classes:
        return [1 / len(classes)] * len(classes)
    rest = 0.05 / (len(classes) - 1)
    return [0.95 if name == UNKNOWN else rest for name in classes]


def _card(examples: pl.DataFrame, classes: list[str], evaluation: Evaluation) -> dict[str, Any]:
    counts = (
        examples.filter(pl.col("view") == "whole")
        .group_by("class", "source")
        .agg(pl.len().alias("addresses"), pl.col("group").n_unique().alias("entities"))
    )
    enough = (pl.col("source") == "real") & (pl.col("entities") >= ENOUGH_ENTITIES)
    simulated = set(counts.filter(pl.col("source") != "real")["class"]) - set(counts.filter(enough)["class"])
    has_unknown = UNKNOWN in classes and bool((evaluation.truth == classes.index(UNKNOWN)).any())
    return {
        "examples": counts.sort("class", "source").to_dicts(),
        "simulated_classes": [name for name in classes if name in simulated],
        "evaluated_addresses": len(evaluation.truth),
        "cross_validation": {
            "macro_f1": round(evaluation.macro_f1(), 4),
            "calibration_error": round(evaluation.calibration_error(), 4),
            "miscalled_unknown": round(evaluation.miscalled(), 4) if has_unknown else None,
        },
    }
