"""What predictions on held-out addresses are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from headwater import _plots
from headwater.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Bools: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

#: The class of addresses that are none of the others; the engine answers it where the data says too little.
UNKNOWN = "Unknown"

_BINS = 15
# Resamples of an interval, and the quantile of the normal distribution for 95 %.
_SAMPLES = 200
_Z = 1.959964


@dataclass(frozen=True)
class Evaluation:
    """Predictions on held-out addresses beside the truth.

    Measures of no address are NaN.

    Attributes
    ----------
    classes : list of str
        The classes.
    truth : array of int
        The class of each address, as its position in ``classes``.
    probabilities : array of float
        One row per address, one column per class; calibrated.
    called : array of int
        The predicted class: the most probable one by the odds of the model. On TRON the engine answers ``Unknown``
        besides where no class reaches 0.5.
    groups : list of str
        The entity of each address: intervals draw whole entities.

    Examples
    --------
    >>> import numpy as np
    >>> from headwater.train import Evaluation
    >>> shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> of = Evaluation(["Scam", "Unknown"], np.array([0, 1, 1]), shares, shares.argmax(axis=1), ["a", "b", "b"])
    >>> of.table().select("class", "precision", "recall").rows()
    [('Scam', 0.5, 1.0), ('Unknown', 1.0, 0.5)]
    >>> of.confusion().rows()
    [('Scam', 'Scam', 1), ('Unknown', 'Scam', 1), ('Unknown', 'Unknown', 1)]
    >>> of.miscalled(), of.auc("Scam", "Unknown"), of.precision_at(1, "Scam")
    (0.5, 1.0, 1.0)
    """

    classes: list[str]
    truth: Ints
    probabilities: Floats
    called: Ints
    groups: list[str]

    def table(self) -> pl.DataFrame:
        """Precision, recall and F1 of each class, with 95 % intervals of Wilson.

        The intervals take addresses as independent. Where one entity has many, :meth:`interval` is the honest one.
        Precision is null where nothing is called the class, recall where no address has it.
        """
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

    def confusion(self) -> pl.DataFrame:
        """Count addresses by true and predicted class.

        Columns: ``class``, ``called``, ``addresses``; pairs without an address are left out.
        """
        pairs, counts = np.unique(np.stack([self.truth, self.called]), axis=1, return_counts=True)
        names = ([self.classes[at] for at in row] for row in pairs)
        return pl.DataFrame(
            [*names, counts],
            {"class": pl.String(), "called": pl.String(), "addresses": pl.Int64()},
        )

    def macro_f1(self, without: Sequence[str] = ()) -> float:
        """Mean F1 over the classes that have addresses, some of them left out."""
        table = self.table().filter((pl.col("addresses") > 0) & ~pl.col("class").is_in(list(without)))
        return _mean(table["f1"].fill_null(0.0).to_numpy())

    def auc(self, positive: str, negative: str) -> float:
        """Chance that an address of one class has a larger probability of it than one of the other; ties count half."""
        at = self._number(positive)
        is_positive, is_negative = self._is(positive), self._is(negative)
        return auc(self.probabilities[is_positive, at], self.probabilities[is_negative, at])

    def calibration_error(self, name: str | None = None, among: Sequence[str] | None = None) -> float:
        """Mean distance between predicted and observed shares, over 15 bins of equal width weighted by their addresses.

        Parameters
        ----------
        name : str, optional
            The class whose probability is judged; missing: the probability of the predicted class.
        among : sequence of str, optional
            Only addresses of these classes are counted.
        """
        sure, right = self._sure(name)
        keep = self._among(among)
        return calibration_error(sure[keep], right[keep])

    def brier(self) -> float:
        """Mean squared distance of the probabilities from the truth, summed over classes (0 to 2)."""
        truth = np.eye(len(self.classes))[self.truth]
        return _mean(((self.probabilities - truth) ** 2).sum(axis=1))

    def miscalled(self, name: str = UNKNOWN, called: Sequence[str] | None = None) -> float:
        """Share of the addresses of a class that are called another class, or one of ``called``."""
        is_class = self._is(name)
        wrong = self.called != self._number(name)
        if called is not None:
            wrong = np.isin(self.called, [self._number(other) for other in called])
        return _mean(wrong[is_class])

    def precision_at(self, budget: int, name: str) -> float:
        """Share of a class among the ``budget`` addresses with the largest probabilities of it."""
        at = self._number(name)
        first = np.argsort(-self.probabilities[:, at], kind="stable")[:budget]
        return _mean(self.truth[first] == at)

    def interval(self, measure: Callable[[Evaluation], float], seed: int = 1) -> tuple[float, float]:
        """Give the 95 % interval of a measure, by drawing entities with replacement 200 times.

        It is about the addresses that were judged: how much another training would change is not in it.
        """
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
        groups = [self.groups[at] for at in rows]
        return Evaluation(self.classes, self.truth[rows], self.probabilities[rows], self.called[rows], groups)

    def reliability(self, name: str | None = None, among: Sequence[str] | None = None) -> pl.DataFrame:
        """Give mean predicted and observed shares of each of 15 bins that has addresses.

        Columns: ``bin``, ``predicted``, ``observed``, its 95 % interval of Wilson ``observed_interval``, ``addresses``.
        Parameters are those of :meth:`calibration_error`.
        """
        sure, right = self._sure(name)
        keep = self._among(among)
        table = pl.DataFrame({"bin": _bins(sure[keep]), "predicted": sure[keep], "right": right[keep]})
        table = table.group_by("bin").agg(
            pl.col("predicted").mean(), pl.col("right").sum(), pl.len().alias("addresses")
        )
        table = table.sort("bin").with_columns(observed=pl.col("right") / pl.col("addresses"))
        ends = [wilson(right, count) for right, count in table.select("right", "addresses").iter_rows()]
        interval = pl.Series("observed_interval", ends, pl.List(pl.Float64))
        return table.with_columns(interval).select("bin", "predicted", "observed", "observed_interval", "addresses")

    def plot(self, name: str | None = None, among: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
        """Draw observed beside predicted shares, with 95 % intervals: a calibrated model follows the diagonal.

        Parameters
        ----------
        name, among
            As those of :meth:`calibration_error`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; missing, on the current axes.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            When matplotlib is not installed: ``pip install 'headwater[plot]'``.
        """
        return _plots.reliability(self.reliability(name, among), self.calibration_error(name, among), name, ax)

    def _number(self, name: str) -> int:
        if name not in self.classes:
            message = f"unknown class {name!r}; the classes are {', '.join(self.classes)}"
            raise InvalidInput(message, reason="invalid_value", field="name")
        return self.classes.index(name)

    def _is(self, name: str) -> Bools:
        is_class: Bools = self.truth == self._number(name)
        return is_class

    def _among(self, among: Sequence[str] | None) -> Bools:
        if among is None:
            return np.ones(len(self.truth), dtype=bool)
        return np.isin(self.truth, [self._number(name) for name in among])

    def _sure(self, name: str | None) -> tuple[Floats, Bools]:
        if name is not None:
            return self.probabilities[:, self._number(name)], self._is(name)
        return self.probabilities[np.arange(len(self.truth)), self.called], self.called == self.truth


def auc(positive: Floats, negative: Floats) -> float:
    """Chance that one of the first is larger than one of the second; ties count half. NaN where one is empty.

    >>> auc(np.array([0.9, 0.4]), np.array([0.4, 0.1]))
    0.875
    """
    if len(positive) == 0 or len(negative) == 0:
        return float("nan")
    ordered = np.sort(negative)
    below, up_to = np.searchsorted(ordered, positive, "left"), np.searchsorted(ordered, positive, "right")
    return float((below + up_to).mean() / (2 * len(negative)))


def calibration_error(sure: Floats, right: Bools) -> float:
    """Give the mean distance between predicted and observed shares, over 15 bins of equal width, by their sizes.

    One half of the addresses is 0.05 off, the other half 0.1.

    >>> round(calibration_error(np.array([0.05, 0.05, 0.9, 0.9]), np.array([False, False, True, True])), 6)
    0.075
    """
    if len(sure) == 0:
        return float("nan")
    gaps = np.bincount(_bins(sure), weights=sure - right, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(sure))


def wilson(part: int, whole: int) -> tuple[float, float] | None:
    """Give the 95 % interval of Wilson (1927) of a share; ``None`` of nothing.

    >>> [round(end, 4) for end in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    if whole == 0:
        return None
    share, square = part / whole, _Z * _Z
    middle, scale = share + square / (2 * whole), 1 + square / whole
    reach = _Z * (share * (1 - share) / whole + square / (4 * whole * whole)) ** 0.5
    return ((middle - reach) / scale, (middle + reach) / scale)


def _bins(sure: Floats) -> Ints:
    bins: Ints = np.minimum((sure * _BINS).astype(np.int64), _BINS - 1)
    return bins


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")
