"""The part on classification of EVALUATION.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from headwater import train
from headwater.train import Evaluation, Model
from headwater.train._evaluate import auc
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

BEGIN = "<!-- classification: written by `make models` -->"
END = "<!-- end of classification -->"
BITCOIN_BEGIN = "<!-- classification of bitcoin: written by `make models` -->"
BITCOIN_END = "<!-- end of classification of bitcoin -->"
PICTURE = "docs/images/reliability-ethereum.svg"
# Those who begin after it are the future, those who end before it the past: 2018-01-01. Ordinary wallets were collected until 2018 and
# scams from 2017 on, so that no border has many of both on both sides.
FORWARD_FROM = 1_514_764_800
UTXO_ALONE = [name for name in train.UTXO_FEATURES if name.startswith("utxo_")]
ARTEFACTS = ("own_history", "priced_ratio", "tx_in_file")


def write_section(root: Path, examples: pl.DataFrame, labels: pl.DataFrame, models: dict[str, Model]) -> None:
    """Write figures and picture."""
    ethereum, tron = models["ethereum"].evaluation, models["tron"].evaluation
    classes, odds = ethereum.classes, models["ethereum"].data["least_odds"]
    collected = examples.join(labels.select("address", *ARTEFACTS), on="address", how="left")
    baselines = {
        "this model": ethereum,
        "the same with all features, those of size too": train.cross_validate(
            examples, [*train.FEATURES, *train.SIZE_FEATURES], classes
        ),
        "logistic regression on the features of this model": train.cross_validate(
            examples, None, classes, learner=logistic
        ),
        "artefacts of collection alone": train.cross_validate(
            collected.filter((pl.col("source") == "real") & (pl.col("view") == "whole")), ARTEFACTS, classes
        ),
    }
    lines = [
        BEGIN,
        "### Ethereum, real addresses",
        "",
        _real_addresses(ethereum),
        "",
        *_classes(ethereum),
        "",
        *_measures(baselines),
        "",
        *_forward(examples, labels, classes, odds),
        "",
        *_views(examples, classes, odds),
        "",
        f"![Predicted and observed shares of scams]({PICTURE})",
        "",
        "### Tron, simulated addresses",
        "",
        "Trained and judged on the economy (six seeds, owners kept together): it shows that the model works, not what it is "
        "worth on the real chain.",
        "",
        *_classes(tron),
        END,
    ]
    _replace(root, lines)
    (root / PICTURE).parent.mkdir(parents=True, exist_ok=True)
    figure = ethereum.plot("Scam", ["Scam", "Unknown"]).figure
    figure.savefig(root / PICTURE, metadata={"Date": None}, bbox_inches="tight")


def write_bitcoin_section(
    root: Path, examples: pl.DataFrame, others: dict[str, pl.DataFrame], fitted: tuple[Model, int]
) -> None:
    """Write the figures of bitcoin, of economies that the model has not seen."""
    model, rounds = fitted
    classes, odds, learner = model.evaluation.classes, model.data["least_odds"], train.boosted(rounds)
    counts = ", ".join(f"{name} {count:,}" for name, count in _counts(examples, classes))
    lines = [
        BITCOIN_BEGIN,
        "### Bitcoin, simulated addresses",
        "",
        f"Trained on {_economies(examples)} economies of two sizes ({counts}) and judged on others: it shows that the "
        "model works, not what it is worth on the real chain. AUC is of a class against all others.",
    ]
    judged = pl.concat(others.values())
    of = train.predict(examples, judged, None, classes, learner=learner, least_odds=odds)
    lines += ["", *_classes_with_auc(of)]
    without = [name for name in train.UTXO_FEATURES if name not in UTXO_ALONE]
    every = [*train.FEATURES, *UTXO_ALONE, *train.FORM_FEATURES]
    rows: list[tuple[str, Callable[[Evaluation], float]]] = [
        ("macro-F1", lambda of: of.macro_f1()),
        ("mean AUC", lambda of: float(np.nanmean([_auc(of, name) for name in of.classes]))),
        ("calibration error of the called class", lambda of: of.calibration_error()),
        ("Brier score", lambda of: of.brier()),
        ("ordinary wallets called a service or a scam", lambda of: of.miscalled()),
    ]
    variants = {
        "this model": of,
        "without the features of transactions": train.predict(examples, judged, without, classes, learner=learner),
        "logistic regression": train.predict(examples, judged, None, classes, learner=logistic),
    }
    lines += ["", f"**{_economies(judged)} other economies of both sizes**, {judged.height:,} addresses", ""]
    lines += _table(variants, rows)
    large, small = examples.filter(~pl.col("group").str.contains("demo")), others["demo"]
    variants = {
        "features of this model": train.predict(large, small, None, classes, learner=learner),
        "without the features of transactions": train.predict(large, small, without, classes, learner=learner),
        "with amounts and forms of scripts": train.predict(large, small, every, classes, learner=learner),
        "logistic regression": train.predict(large, small, None, classes, learner=logistic),
    }
    lines += ["", f"**Trained on large economies alone, judged on small ones**, {small.height:,} addresses", ""]
    lines += _table(variants, rows)
    _replace(root, [*lines, BITCOIN_END])


def _economies(examples: pl.DataFrame) -> int:
    return examples["group"].str.split(", ").list.first().n_unique()


def _replace(root: Path, lines: list[str]) -> None:
    """Put lines in the place of those between the same marks."""
    page = root / "EVALUATION.md"
    before, rest = page.read_text().split(lines[0])
    page.write_text(before + "\n".join(lines) + rest.split(lines[-1])[1])


def _auc(of: Evaluation, name: str) -> float:
    at = of.classes.index(name)
    shares, is_one = of.probabilities[:, at], of.truth == at
    return auc(shares[is_one], shares[~is_one])


def _classes_with_auc(of: Evaluation) -> list[str]:
    head, rule, *rows = _classes(of)
    found = [of.interval(lambda some, name=name: _auc(some, name)) for name in of.classes]
    cells = [
        f" {_auc(of, name):.4f} ({low:.4f} to {high:.4f}) |"
        for name, (low, high) in zip(of.classes, found, strict=True)
    ]
    return [head + " AUC |", rule + "---|", *(row + cell for row, cell in zip(rows, cells, strict=True))]


def logistic(values: np.ndarray, truth: np.ndarray, weight: np.ndarray, classes: int) -> Callable[[Any], Any]:
    """Train a logistic regression; missing values are the median, and said."""
    middle = np.nan_to_num(np.nanmedian(values, axis=0))

    def prepared(rows: np.ndarray) -> np.ndarray:
        missing = np.isnan(rows)
        filled = np.where(missing, middle, rows)
        return np.hstack([np.sign(filled) * np.log1p(np.abs(filled)), missing])

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300, C=0.3))
    model.fit(prepared(values), truth, logisticregression__sample_weight=weight)

    def predict(rows: np.ndarray) -> np.ndarray:
        raw = np.full((len(rows), classes), -10.0)
        raw[:, model.classes_] = np.log(np.maximum(model.predict_proba(prepared(rows)), 1e-9))
        return raw

    return predict


def _real_addresses(of: Evaluation) -> str:
    return (
        f"{len(of.truth):,} addresses with at least five transfers, five folds, addresses of one entity together "
        f"({len(set(of.groups)):,} entities). Mixer: ten pools of one service, so its examples for training are simulated."
    )


def _classes(of: Evaluation) -> list[str]:
    lines = ["| class | addresses | precision | recall | F1 |", "|---|---|---|---|---|"]
    for row in of.table().iter_rows(named=True):
        precision = _share(row["precision"], row["precision_interval"])
        recall = _share(row["recall"], row["recall_interval"])
        f1 = "–" if row["f1"] is None else f"{row['f1']:.3f}"
        lines.append(f"| {row['class']} | {row['addresses']:,} | {precision} | {recall} | {f1} |")
    return lines


def _measures(of: dict[str, Evaluation]) -> list[str]:
    services = ("Exchange", "Deposit", "Defi", "Mixer", "MiningPool")
    rows: list[tuple[str, Callable[[Evaluation], float]]] = [
        ("AUC, Scam against Unknown", lambda of: of.auc("Scam", "Unknown")),
        (
            "calibration error, Scam among Scam and Unknown",
            lambda of: of.calibration_error("Scam", ["Scam", "Unknown"]),
        ),
        ("calibration error of the called class", lambda of: of.calibration_error()),
        ("Brier score", lambda of: of.brier()),
        ("macro-F1", lambda of: of.macro_f1()),
        ("macro-F1 without Mixer", lambda of: of.macro_f1(["Mixer"])),
        ("ordinary wallets called a service or a scam", lambda of: of.miscalled()),
        ("ordinary wallets called a scam", lambda of: of.miscalled(called=["Scam"])),
        ("services: macro-F1 among themselves", lambda of: _among(of, services)),
        ("services without Mixer", lambda of: _among(of, [name for name in services if name != "Mixer"])),
        ("right ones among the 100 most probable scams", lambda of: of.precision_at(100, "Scam")),
    ]
    return _table(of, rows)


def _table(of: dict[str, Evaluation], rows: list[tuple[str, Callable[[Evaluation], float]]]) -> list[str]:
    """Give measures by model, with an interval of the first."""
    lines = ["| measure | " + " | ".join(of) + " |", "|---|" + "---|" * len(of)]
    for name, measure in rows:
        cells = []
        for number, evaluation in enumerate(of.values()):
            low, high = evaluation.interval(measure) if number == 0 else (None, None)
            interval = "" if low is None else f" ({low:.4f} to {high:.4f})"
            cells.append(f"{measure(evaluation):.4f}{interval}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def _among(of: Evaluation, names: Sequence[str]) -> float:
    """Macro-F1 of some classes when only they can be answered."""
    numbers = [of.classes.index(name) for name in names]
    rows = np.flatnonzero(np.isin(of.truth, numbers))
    best = np.array(numbers)[of.probabilities[rows][:, numbers].argmax(axis=1)]
    some = of.rows(rows)
    return Evaluation(some.classes, some.truth, some.probabilities, best, some.groups).macro_f1()


def _forward(examples: pl.DataFrame, labels: pl.DataFrame, classes: list[str], odds: list[float]) -> list[str]:
    times = labels.select("address", "first", "last")
    timed = examples.join(times, on="address", how="left")
    past = timed.filter(pl.col("last").is_null() | (pl.col("last") < FORWARD_FROM))
    future = timed.filter(
        pl.col("evaluated") & (pl.col("first") >= FORWARD_FROM) & ~pl.col("group").is_in(past["group"].implode())
    )
    of = train.predict(past, future, classes=classes, least_odds=odds)
    day = pl.from_epoch(pl.Series([FORWARD_FROM])).dt.date()[0]
    known, counts = (
        ", ".join(f"{name} {count:,}" for name, count in _counts(some, classes))
        for some in (past.filter("evaluated"), future)
    )
    measures = (
        f"AUC of Scam against Unknown {of.auc('Scam', 'Unknown'):.4f}, calibration error of Scam "
        f"{of.calibration_error('Scam', ['Scam', 'Unknown']):.4f}, ordinary wallets called something else {of.miscalled():.4f}, "
        f"called a scam {of.miscalled(called=['Scam']):.4f}, right ones among the 100 most probable scams "
        f"{of.precision_at(100, 'Scam'):.2f}."
    )
    return [
        f"**Forward in time**: trained on addresses whose last movement is before {day} ({known}), judged on those whose "
        f"first one is later ({counts}): {measures}",
    ]


def _counts(examples: pl.DataFrame, classes: list[str]) -> list[tuple[str, int]]:
    found = dict(examples.group_by("class").len().iter_rows())
    return [(name, found[name]) for name in classes if name in found]


def _views(examples: pl.DataFrame, classes: list[str], odds: list[float]) -> list[str]:
    lines = [
        "**How much it depends on collection**: the same held-out addresses as if only a share of all addresses had been "
        "observed, so that histories are partial as those of services are in this data.",
        "",
        "| view | addresses | ordinary wallets called a service | scams called a service | AUC, Scam against Unknown |",
        "|---|---|---|---|---|",
    ]
    services = [name for name in classes if name not in ("Scam", "Unknown")]
    real = examples.filter(pl.col("source") == "real")
    all_views = train.cross_validate(examples, None, classes, judged=real, least_odds=odds)
    for view in real["view"].unique(maintain_order=True):
        of = all_views.rows(np.flatnonzero((real["view"] == view).to_numpy()))
        lines.append(
            f"| {view} | {len(of.truth):,} | {of.miscalled('Unknown', services):.4f} | "
            f"{of.miscalled('Scam', services):.4f} | {of.auc('Scam', 'Unknown'):.4f} |"
        )
    return lines


def _share(share: float | None, interval: list[float] | None) -> str:
    return "–" if share is None or interval is None else f"{share:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"
