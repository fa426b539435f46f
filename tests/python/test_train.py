"""Classifiers trained through the Python interface: the engine answers as LightGBM does, and figures are honest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import headwater as hw
import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from headwater import train
from headwater.examples import ALICE, BOB, SHOP
from headwater.train._calibrate import Calibration, called, lowest_odds
from headwater.train._evaluate import auc, calibration_error, wilson
from headwater.train._validate import rows_of

ROUNDS = 20
CLASSES = ["Exchange", "Scam", "Unknown"]


@pytest.fixture(scope="module")
def ledger(demo: Path) -> hw.Ledger:
    return hw.open(demo)


@pytest.fixture(scope="module")
def labels(ledger: hw.Ledger) -> pl.DataFrame:
    """Classes that features show, but for every ninth address; two addresses each belong to one entity."""
    table = ledger.features()
    reported = pl.when(pl.col("in_ratio") > 0.7).then(0).when(pl.col("night_ratio") > 0.1).then(1).otherwise(2)
    number = pl.int_range(pl.len())
    shifted = (reported + (number % 9 == 0).cast(pl.Int32)) % 3
    return table.select(
        "address",
        shifted.replace_strict({0: "Exchange", 1: "Scam", 2: "Unknown"}).alias("class"),
        (number // 2).alias("group"),
    )


@pytest.fixture(scope="module")
def examples(ledger: hw.Ledger, labels: pl.DataFrame) -> pl.DataFrame:
    return train.examples(ledger, labels, observed=[(0.5, 1)])


@pytest.fixture(scope="module")
def model(examples: pl.DataFrame) -> train.Model:
    return fitted(examples)


def fitted(examples: pl.DataFrame, **options: Any) -> train.Model:  # noqa: ANN401
    return train.fit(examples, chain="ethereum", version="mine-1", rounds=ROUNDS, folds=3, **options)


def evaluation(truth: list[int], probabilities: list[list[float]], classes: list[str] = CLASSES) -> train.Evaluation:
    shares = np.array(probabilities)
    groups = [str(number) for number in range(len(truth))]
    return train.Evaluation(classes, np.array(truth), shares, shares.argmax(axis=1), groups)


def by_hand(groups: list[str], classes: list[str], **columns: list[float]) -> pl.DataFrame:
    """Examples without a ledger, with columns as features."""
    fixed = {"view": "whole", "source": "real", "evaluated": True, "weight": 1.0}
    table = pl.DataFrame({"group": groups, "class": classes, **columns})
    return table.with_columns(**{name: pl.lit(value) for name, value in fixed.items()})


def test_engine_gives_the_probabilities_of_lightgbm(
    demo: Path, examples: pl.DataFrame, model: train.Model, tmp_path: Path
) -> None:
    data = model.data
    whole = examples.filter("evaluated")
    values, _, _ = rows_of(whole, data["features"], data["classes"])
    assert np.isnan(values).any()
    scores = train.boosted(ROUNDS)(*rows_of(examples, data["features"], data["classes"]), len(CLASSES))(values)
    calibration = Calibration(data["calibration"]["temperature"], data["calibration"]["offsets"])
    wanted = calibration.apply(scores)

    ledger = hw.open(demo, classifiers=[model.save(tmp_path / "mine.json.gz")])
    answered = ledger.score(whole["address"], columns=("class",))
    shares = answered.select(f"p_{name.lower()}" for name in data["classes"]).to_numpy()
    assert len(shares) > 300
    assert np.abs(shares - wanted).max() < 1e-6
    names = [data["classes"][at] for at in called(wanted, data["least_odds"])]
    assert answered["predicted_class"].to_list() == names
    assert len(set(names)) == 3
    assert ledger.classify(whole["address"][0]).model["version"] == "mine-1"


def test_same_examples_give_the_same_file(examples: pl.DataFrame, model: train.Model, tmp_path: Path) -> None:
    first, second = model.save(tmp_path / "first.json.gz"), fitted(examples).save(tmp_path / "second.json.gz")
    assert first.read_bytes() == second.read_bytes()


def test_examples_have_views_groups_and_weights(ledger: hw.Ledger, labels: pl.DataFrame) -> None:
    table = labels.select(pl.col("address").str.to_uppercase().str.replace("0X", "0x"), "class")
    some = train.examples(ledger, table.to_arrow(), observed=[(0.5, 1), (0.2, 7)], view_weight=0.25)
    assert some["view"].unique(maintain_order=True).to_list() == [
        "whole",
        "0.5 of addresses, seed 1",
        "0.2 of addresses, seed 7",
    ]
    assert some.group_by("view", maintain_order=True).agg("weight", "evaluated").select(
        pl.col("weight").list.unique(), pl.col("evaluated").list.unique()
    ).rows() == [([1.0], [True]), ([0.25], [False]), ([0.25], [False])]
    assert some["group"].str.to_lowercase().to_list() == some["address"].to_list()
    assert some.select((pl.col("in_count") + pl.col("out_count") + pl.col("own_count")).min()).item() >= 5
    whole = some.filter("evaluated")
    features = ledger.features(whole["address"])
    assert whole.select(train.FEATURES).equals(features.select(train.FEATURES))
    assert set(train.FEATURES) | set(train.SIZE_FEATURES) == set(features.columns) - {"address", "error"}
    assert not any(name.startswith("utxo_") for name in features.columns)


def test_labels_that_cannot_be_used_are_refused(ledger: hw.Ledger) -> None:
    cases: list[tuple[str, Any]] = [
        ("column 'class' is missing; found address", {"address": [ALICE]}),
        ("column 'address' is missing", [{"wallet": ALICE, "class": "Scam"}]),
        (f"{ALICE} is there twice", {"address": [ALICE, ALICE], "class": ["Scam", "Unknown"]}),
        (f"{ALICE} is there twice", {"address": [ALICE, ALICE.upper().replace("X", "x")], "class": ["Scam", "Scam"]}),
        (f"weight of {BOB} is 0.0", {"address": [ALICE, BOB], "class": ["Scam", "Scam"], "weight": [1, 0]}),
    ]
    for wanted, table in cases:
        with pytest.raises(hw.InvalidInput, match=wanted):
            train.examples(ledger, table)
    none = train.examples(ledger, {"address": [ALICE, None, "0x12", SHOP], "class": ["Scam", "Scam", "Scam", None]})
    assert none.height == 0


def test_examples_that_cannot_be_used_are_refused(examples: pl.DataFrame) -> None:
    names = ["in_ratio", "night_ratio"]
    with pytest.raises(hw.InvalidInput, match="found the classes Scam; expected at least two"):
        fitted(examples.filter(pl.col("class") == "Scam"))
    with pytest.raises(hw.InvalidInput, match="features age, size are missing"):
        train.cross_validate(examples, ["in_ratio", "age", "size"])
    with pytest.raises(hw.InvalidInput, match="classes: Unknown of the examples is missing; found Exchange, Scam"):
        train.cross_validate(examples, names, ["Exchange", "Scam"])
    with pytest.raises(hw.InvalidInput, match="folds: 1 for"):
        train.cross_validate(examples, names, folds=1)
    with pytest.raises(hw.InvalidInput, match="folds: 5 for 2 entities"):
        train.cross_validate(by_hand(["a", "b", "b"], ["Scam", "Unknown", "Scam"], x=[1, 2, 3]), ["x"])
    for priors in ({"Scam": -1.0, "Unknown": 2.0}, {"Robber": 1.0}, {"Scam": 0.0}, {}):
        with pytest.raises(hw.InvalidInput, match="expected shares of the classes Exchange, Scam, Unknown"):
            fitted(examples, priors=priors)


@pytest.mark.parametrize("module", ["lightgbm", "scipy.optimize"])
def test_missing_library_is_named_with_its_remedy(
    module: str, examples: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(hw.Unsupported, match=r"pip install 'headwater\[train\]'"):
        train.cross_validate(examples, ["in_ratio"], learner=train.boosted(1))


def test_package_imports_no_library_of_training() -> None:
    script = (
        "import sys, headwater\n"
        "assert not {'numpy', 'lightgbm', 'scipy', 'headwater.train'} & set(sys.modules), sorted(sys.modules)\n"
        "sys.modules['numpy'] = None\n"
        "try:\n    import headwater.train\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'headwater[train]'" in done.stdout


def learner_of_shares(reported: list[set[float]]) -> Callable[..., Any]:
    """A learner that answers the shares of the classes, and notes which entities it was trained on."""

    def learn(values: Any, truth: Any, weight: Any, classes: int) -> Any:  # noqa: ANN401
        reported.append(set(values[:, 0]))
        shares = np.bincount(truth, weights=weight, minlength=classes) + 1e-6

        def scores(rows: Any) -> Any:  # noqa: ANN401
            assert not reported[-1] & set(rows[:, 0]), "an entity is in training and among the held-out addresses"
            return np.tile(np.log(shares / shares.sum()), (len(rows), 1))

        return scores

    return learn


def test_entities_are_never_in_two_folds() -> None:
    # Entities of 1 to 12 addresses, each once whole and once in a view.
    entities = [number for number in range(1, 13) for _ in range(number)] * 2
    views = ["whole"] * 78 + ["half"] * 78
    table = by_hand(
        [f"entity {number}" for number in entities],
        ["Scam" if number % 3 else "Unknown" for number in entities],
        entity=[float(number) for number in entities],
    ).with_columns(view=pl.Series(views), evaluated=pl.Series(views) == "whole")
    reported: list[set[float]] = []
    of = train.cross_validate(table, ["entity"], folds=4, learner=learner_of_shares(reported))
    assert len(of.truth) == 78
    left_out = [set(range(1, 13)) - trained for trained in reported]
    assert sorted(number for fold in left_out for number in fold) == list(range(1, 13))
    # 78 addresses in four folds of nearly equal size.
    assert all(abs(sum(fold) - 78 / 4) <= 2 for fold in left_out)


def test_prediction_uses_earlier_examples_alone() -> None:
    past = by_hand(list("abcdef"), ["Scam", "Unknown"] * 3, entity=[1, 2, 3, 4, 5, 6])
    future = by_hand(["g", "h"], ["Unknown", "Scam"], entity=[7, 8])
    reported: list[set[float]] = []
    of = train.predict(past, future, ["entity"], folds=3, learner=learner_of_shares(reported))
    assert reported[-1] == {1, 2, 3, 4, 5, 6}
    assert of.truth.tolist() == [1, 0]
    assert of.groups == ["g", "h"]
    assert of.probabilities == pytest.approx(np.full((2, 2), 0.5), abs=0.01)


def test_odds_hold_the_share_of_miscalled() -> None:
    # Ten ordinary addresses; the scams among them are less and less probable.
    scam = np.array([0.95, 0.85, 0.75, 0.65, 0.55, 0.4, 0.3, 0.2, 0.1, 0.05])
    shares = np.stack([np.zeros(10), scam, 1 - scam], axis=1)
    truth = np.full(10, 2)
    for share, wrong, odds in ((1.0, 5, 1.0), (0.4, 4, 1.5), (0.3, 3, 2.0), (0.1, 1, 6.0), (0.0, 0, 20.0)):
        found = lowest_odds(shares, truth, CLASSES, share)
        assert (called(shares, found) == 1).sum() == wrong <= share * 10
        assert found == [1.0, odds, 1.0]
    # Beyond 20 the odds do not rise, and without a class `Unknown` there is nothing to hold.
    assert lowest_odds(np.array([[0.0, 0.99, 0.01]]), np.array([2]), CLASSES, 0.0) == [1.0, 20.0, 1.0]
    assert lowest_odds(shares, truth, ["Exchange", "Scam", "Deposit"], 0.0) == [1.0, 1.0, 1.0]


def test_odds_of_a_model_keep_ordinary_addresses_unflagged(examples: pl.DataFrame) -> None:
    learner = train.boosted(5)
    free = train.cross_validate(examples, folds=3, learner=learner, most_miscalled=1.0)
    held = train.cross_validate(examples, folds=3, learner=learner, most_miscalled=0.05)
    assert held.miscalled() <= 0.05 < free.miscalled()
    assert held.probabilities.tolist() == free.probabilities.tolist()


def test_measures_are_those_worked_by_hand() -> None:
    # Called: Exchange, Scam, Scam, Unknown, Scam.
    of = evaluation(
        [0, 1, 0, 2, 2],
        [[0.8, 0.1, 0.1], [0.0, 0.9, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.0, 0.6, 0.4]],
    )
    rows = of.table().select("class", "addresses", "precision", "recall", "f1").rows()
    assert rows == [
        ("Exchange", 2, 1.0, 0.5, pytest.approx(2 / 3)),
        ("Scam", 1, pytest.approx(1 / 3), 1.0, 0.5),
        ("Unknown", 2, 1.0, 0.5, pytest.approx(2 / 3)),
    ]
    assert of.macro_f1() == pytest.approx((2 / 3 + 1 / 2 + 2 / 3) / 3)
    assert of.macro_f1(["Scam"]) == pytest.approx(2 / 3)
    assert of.confusion().rows() == [
        ("Exchange", "Exchange", 1),
        ("Exchange", "Scam", 1),
        ("Scam", "Scam", 1),
        ("Unknown", "Scam", 1),
        ("Unknown", "Unknown", 1),
    ]
    assert of.miscalled() == 0.5
    assert of.miscalled("Unknown", ["Exchange"]) == 0.0
    assert of.miscalled("Exchange", ["Scam", "Unknown"]) == 0.5
    # Probabilities of Scam, the largest first: 0.9 right, 0.7 and 0.6 wrong.
    assert (of.precision_at(1, "Scam"), of.precision_at(2, "Scam")) == (1.0, 0.5)
    assert of.precision_at(100, "Scam") == 0.2
    # Of Exchange 0.8 and 0.2, of the others 0.1 and 0: all larger. Of Unknown 0.8 and 0.4 against 0.1 and 0.1.
    assert of.auc("Exchange", "Unknown") == of.auc("Unknown", "Exchange") == 1.0
    # Of Scam 0.9 against 0.1 and 0.6.
    assert of.auc("Scam", "Unknown") == 1.0
    squares = [0.04 + 0.01 + 0.01, 0.01 + 0.01, 0.64 + 0.49 + 0.01, 0.01 + 0.01 + 0.04, 0.36 + 0.36]
    assert of.brier() == pytest.approx(sum(squares) / 5)


def test_auc_counts_ties_half() -> None:
    # 0.9 is above both; 0.5 is above one and ties with the other; 0.1 is below both: 2 + 1.5 + 0 of 6.
    assert auc(np.array([0.9, 0.5, 0.1]), np.array([0.5, 0.2])) == pytest.approx(3.5 / 6)
    assert np.isnan(auc(np.array([]), np.array([0.5])))


def test_calibration_error_is_the_mean_gap_of_bins() -> None:
    # Bins are a fifteenth wide. 0.35 and 0.36 share one, of which 0.5 is right: a gap of 0.145. 1.0 is in the last.
    sure, right = np.array([0.35, 0.36, 0.8, 1.0]), np.array([True, False, False, True])
    assert calibration_error(sure, right) == pytest.approx((2 * 0.145 + 0.8 + 0.0) / 4)
    of = evaluation([0, 1, 1, 0], [[share, 1 - share] for share in sure], ["Scam", "Unknown"])
    assert of.calibration_error("Scam") == pytest.approx((2 * 0.145 + 0.8) / 4)
    assert of.calibration_error("Scam", ["Unknown"]) == pytest.approx((0.36 + 0.8) / 2)
    table = of.reliability("Scam")
    assert table.select("bin", "observed", "addresses").rows() == [(5, 0.5, 2), (12, 0.0, 1), (14, 1.0, 1)]
    assert table["predicted"].to_list() == pytest.approx([0.355, 0.8, 1.0])
    assert table["observed_interval"].to_list()[0] == pytest.approx(list(wilson(1, 2) or ()))


def test_interval_of_wilson_is_that_of_the_formula() -> None:
    # p = 0.8, n = 10, z = 1.96: (0.8 + 3.84 / 20 ± 1.96 · sqrt(0.016 + 3.84 / 400)) / (1 + 3.84 / 10).
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 4) == pytest.approx((0.0, 0.4899), abs=1e-4)
    assert wilson(0, 0) is None


def test_interval_draws_whole_entities() -> None:
    half = evaluation([0, 0, 1, 1] * 25, [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]] * 25, ["Scam", "Unknown"])
    low, high = half.interval(lambda of: of.miscalled())
    assert 0.3 < low < 0.5 < high < 0.7
    one = train.Evaluation(half.classes, half.truth, half.probabilities, half.called, ["same"] * 100)
    assert one.interval(lambda of: of.miscalled()) == (0.5, 0.5)
    assert half.interval(lambda of: of.brier()) == half.interval(lambda of: of.brier())


def test_measures_of_no_address_are_not_numbers() -> None:
    of = evaluation([0, 0], [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    assert np.isnan([of.miscalled(), of.auc("Scam", "Exchange"), of.calibration_error("Scam", ["Scam"])]).all()
    assert of.table().filter(pl.col("class") == "Unknown").row(0) == ("Unknown", 0, None, None, None, None, None)
    with pytest.raises(hw.InvalidInput, match="unknown class 'Robber'; the classes are Exchange, Scam, Unknown"):
        of.precision_at(1, "Robber")


@pytest.fixture
def axes() -> Iterator[Any]:
    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    _, axes = pyplot.subplots()
    yield axes
    pyplot.close("all")


def test_picture_shows_observed_beside_predicted_shares(axes: Any) -> None:  # noqa: ANN401
    of = evaluation([0, 1, 1, 0], [[0.35, 0.65], [0.35, 0.65], [0.8, 0.2], [0.8, 0.2]], ["Scam", "Unknown"])
    assert of.plot("Scam", ax=axes) is axes
    assert np.asarray(axes.lines[1].get_xydata()).tolist() == [[pytest.approx(0.35), 0.5], [pytest.approx(0.8), 0.5]]
    assert axes.get_title() == "Scam: calibration error 0.225"


def test_card_says_what_the_model_was_trained_on(examples: pl.DataFrame, model: train.Model) -> None:
    card = model.data["card"]
    counts = examples.filter("evaluated").group_by("class").len().sort("class").rows()
    assert [(row["class"], row["addresses"]) for row in card["examples"]] == counts
    assert card["simulated_classes"] == []
    assert card["cross_validation"]["macro_f1"] == round(model.evaluation.macro_f1(), 4)
    assert model.data["priors"] == pytest.approx([0.025, 0.025, 0.95])

    made = examples.with_columns(
        source=pl.when(pl.col("class") == "Scam").then(pl.lit("simulated")).otherwise("source")
    )
    other = fitted(made, priors={"Scam": 1.0, "Unknown": 3.0}, card={"about": "a test"})
    assert other.data["card"]["simulated_classes"] == ["Scam"]
    assert other.data["card"]["about"] == "a test"
    assert other.data["priors"] == [0.0, 0.25, 0.75]


def test_trees_that_the_format_cannot_express_are_refused(examples: pl.DataFrame) -> None:
    with pytest.raises(hw.InvalidInput, match="expected multiclass with a tree each"):
        fitted(examples, features=["in_ratio"], parameters={"objective": "multiclassova"})
    with pytest.raises(hw.InvalidInput, match="without zero_as_missing"):
        fitted(examples, features=["in_ratio"], parameters={"zero_as_missing": True})
