"""What predictions on held-out addresses are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

#: The class of what is none of the others.
UNKNOWN = "Unknown"

_BINS = 15
_SAMPLES = 200
_Z = 1.959964


@dataclass(frozen=True)
class Evaluation:
    """Predictions on held-out addresses beside the truth.

    Attributes
    ----------
    classes : list of str
        The classes.
    truth : array of int
        The class of each address.
    probabilities : array
        One row per address, one column per class; calibrated where the model is.
    called : array of int
        The class that the engine would answer.
    groups : list of str
        The entity of each address: intervals draw whole entities.
    """

    classes: list[str]
    truth: Ints
    probabilities: Floats
    called: Ints
    groups: list[str]

    def table(self) -> pl.DataFrame:
        """Precision, recall and F1 of each class, with intervals of Wilson at 95 %."""
        rows = []
        for at, name in enumerate(self.classes):
            is_class, is_called = self.truth == at, self.called == at
            hits, called, count = int((is_class & is_called).sum()), int(is_called.sum()), int(is_class.sum())
            precision, recall = (hits / called if called else None), (hits / count if count else None)
            both = 2 * hits / (called + count) if called + count else None
            rows.append(
                {
                    "class": name,
                    "addresses": count,
                    "precision": precision,
                    "precision_interval": wilson(hits, called),
                    "recall": recall,
                    "recall_interval": wilson(hits, count),
                    "f1": both,
                }
            )
        schema = pl.Schema(
            {
                "class": pl.String(),
                "addresses": pl.Int64(),
                "precision": pl.Float64(),
                "precision_interval": pl.List(pl.Float64()),
                "recall": pl.Float64(),
                "recall_interval": pl.List(pl.Float64()),
                "f1": pl.Float64(),
            }
        )
        return pl.DataFrame(rows, schema=schema)

    def macro_f1(self, without: Sequence[str] = ()) -> float:
        """Mean F1 over the classes that have addresses."""
        table = self.table().filter((pl.col("addresses") > 0) & ~pl.col("class").is_in(list(without)))
        return float(table["f1"].fill_null(0.0).to_numpy().mean())

    def auc(self, positive: str, negative: str) -> float:
        """Chance that an address of one class has a larger probability of it than one of the other; ties count half."""
        at = self.classes.index(positive)
        is_positive, is_negative = self._is(positive), self._is(negative)
        return auc(self.probabilities[is_positive, at], self.probabilities[is_negative, at])

    def calibration_error(self, name: str | None = None, among: Sequence[str] | None = None) -> float:
        """Expected calibration error over 15 bins of equal width.

        Of the probability of one class, or without a name of the confidence in the called class; among the addresses of
        some classes, or all.
        """
        sure, right = self._sure(name)
        keep = self._among(among)
        return calibration_error(sure[keep], right[keep])

    def brier(self) -> float:
        """Mean squared distance of the probabilities from the truth, summed over classes (0 to 2)."""
        truth = np.eye(len(self.classes))[self.truth]
        return float(((self.probabilities - truth) ** 2).sum(axis=1).mean())

    def miscalled(self, name: str = UNKNOWN, called: Sequence[str] | None = None) -> float:
        """Share of the addresses of a class that are called another one, or one of some others."""
        is_class = self._is(name)
        wrong = self.called != self.classes.index(name)
        if called is not None:
            wrong = np.isin(self.called, [self.classes.index(other) for other in called])
        return float(wrong[is_class].mean())

    def precision_at(self, budget: int, name: str) -> float:
        """Share of right ones among the addresses with the largest probabilities of a class."""
        at = self.classes.index(name)
        first = np.argsort(-self.probabilities[:, at], kind="stable")[:budget]
        return float((self.truth[first] == at).mean())

    def interval(self, measure: Callable[[Evaluation], float], seed: int = 1) -> tuple[float, float]:
        """Give the 95 % interval of a measure, by drawing entities 200 times."""
        random = np.random.default_rng(seed)
        names, number = np.unique(np.array(self.groups), return_inverse=True)
        order = np.argsort(number, kind="stable")
        ends = np.searchsorted(number[order], np.arange(len(names) + 1))
        found = []
        for _ in range(_SAMPLES):
            drawn = random.integers(0, len(names), len(names))
            rows = np.concatenate([order[ends[at] : ends[at + 1]] for at in drawn])
            found.append(measure(self.rows(rows)))
        low, high = np.nanquantile(found, [0.025, 0.975])
        return float(low), float(high)

    def rows(self, rows: NDArray[Any]) -> Evaluation:
        """Give the evaluation of some addresses alone."""
        return Evaluation(
            self.classes, self.truth[rows], self.probabilities[rows], self.called[rows], [self.groups[at] for at in rows]
        )

    def reliability(self, name: str | None = None, among: Sequence[str] | None = None) -> pl.DataFrame:
        """Give predicted and observed shares of each of 15 bins, with counts."""
        sure, right = self._sure(name)
        keep = self._among(among)
        bins = np.minimum((sure[keep] * _BINS).astype(int), _BINS - 1)
        table = pl.DataFrame({"bin": bins, "predicted": sure[keep], "observed": right[keep].astype(float)})
        means = (pl.col("predicted").mean(), pl.col("observed").mean(), pl.len().alias("addresses"))
        return table.group_by("bin").agg(*means).sort("bin")

    def plot(self, name: str | None = None, among: Sequence[str] | None = None) -> Any:  # noqa: ANN401
        """Draw how far predicted shares are those that are observed; needs matplotlib."""
        import matplotlib.pyplot as plt  # noqa: PLC0415

        table = self.reliability(name, among)
        figure, axes = plt.subplots(figsize=(5, 5))
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axes.plot(table["predicted"], table["observed"], marker="o")
        error = self.calibration_error(name, among)
        axes.set_xlabel("predicted probability" if name else "confidence")
        axes.set_ylabel("share of right ones")
        axes.set_title(f"{name or 'called class'}: calibration error {error:.3f}")
        return figure

    def _is(self, name: str) -> NDArray[np.bool_]:
        is_class: NDArray[np.bool_] = self.truth == self.classes.index(name)
        return is_class

    def _among(self, among: Sequence[str] | None) -> NDArray[np.bool_]:
        if among is None:
            return np.ones(len(self.truth), dtype=bool)
        return np.isin(self.truth, [self.classes.index(name) for name in among])

    def _sure(self, name: str | None) -> tuple[Floats, NDArray[np.bool_]]:
        if name is not None:
            at = self.classes.index(name)
            return self.probabilities[:, at], self.truth == at
        return self.probabilities[np.arange(len(self.truth)), self.called], self.called == self.truth


def auc(positive: Floats, negative: Floats) -> float:
    """Chance that one of the first is larger than one of the second; ties count half. NaN where one is empty."""
    if len(positive) == 0 or len(negative) == 0:
        return float("nan")
    ordered = np.sort(negative)
    below, up_to = np.searchsorted(ordered, positive, "left"), np.searchsorted(ordered, positive, "right")
    return float((below + up_to).mean() / (2 * len(negative)))


def calibration_error(sure: Floats, right: NDArray[np.bool_]) -> float:
    """Give the mean distance between predicted and observed shares, over 15 bins of equal width, by their sizes."""
    bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    size = np.bincount(bins, minlength=_BINS)
    gaps = np.bincount(bins, weights=sure - right, minlength=_BINS)
    return float(np.abs(gaps).sum() / max(size.sum(), 1))


def wilson(part: int, whole: int) -> tuple[float, float] | None:
    """Give the interval of Wilson at 95 %."""
    if whole == 0:
        return None
    share, square = part / whole, _Z * _Z
    middle, scale = share + square / (2 * whole), 1 + square / whole
    reach = _Z * (share * (1 - share) / whole + square / (4 * whole * whole)) ** 0.5
    return ((middle - reach) / scale, (middle + reach) / scale)
