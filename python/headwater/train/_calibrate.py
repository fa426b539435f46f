"""Raw scores to probabilities, and probabilities to the class that is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headwater.errors import Unsupported
from headwater.train._evaluate import UNKNOWN

if TYPE_CHECKING:
    from headwater.train._evaluate import Floats, Ints

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


def called(probabilities: Floats, least_odds: Sequence[float]) -> Ints:
    """Give the most probable class by the odds: what the engine answers from five transfers on."""
    best: Ints = np.argmax(probabilities / np.array(least_odds), axis=1)
    return best


def calibrate(raw: Floats, truth: Ints) -> Calibration:
    """Fit temperature and offsets by maximum likelihood, with a slight penalty on any change of the scores."""
    try:
        from scipy.optimize import minimize  # noqa: PLC0415
    except ImportError:
        message = "calibration needs SciPy: pip install 'headwater[train]'"
        raise Unsupported(message) from None

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


def lowest_odds(probabilities: Floats, truth: Ints, classes: list[str], most_miscalled: float) -> list[float]:
    """Choose the odds of a model.

    The odds of the class that ``Unknown`` addresses are most often called are raised, step by step, until at most the
    share ``most_miscalled`` of these addresses is called anything else, or no odds can rise.
    """
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
