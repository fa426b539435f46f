"""Classes of addresses through the Python interface: calls of a hundred, frames, and pictures."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from typing import Any

import headwater as hw
import matplotlib as mpl
import polars as pl
import pytest
from headwater import _headwater
from headwater.examples import ALICE, ledger

NOBODY = "0x" + "dd" * 20
MODEL = {"version": "by hand", "digest": "0" * 16, "simulated_classes": ["Mixer"]}


def address(number: int) -> str:
    return f"0x{number:040x}"


def result(named: str, *, explain: bool) -> dict[str, Any]:
    """Give the answer of the fake about an address: it fails where the number can be divided by seven."""
    if int(named, 16) % 7 == 0:
        nothing = ("predicted_class", "probabilities", "explained_class", "contributions")
        error = {"confidence": 0.0, "error": "no activity: it did nothing"}
        return {"address": named, "blockchain": "ethereum", **dict.fromkeys(nothing), **error}
    contributions = [
        {"feature": "in_count", "value": 3.0, "contribution": 1.5},
        {"feature": "in_gap_median_secs", "value": None, "contribution": -0.5},
    ]
    return {
        "address": named,
        "blockchain": "ethereum",
        "predicted_class": "Exchange",
        "confidence": 0.75,
        "probabilities": {"Deposit": 0.125, "Exchange": 0.75, "Mixer": 0.125},
        "explained_class": "Exchange" if explain else None,
        "contributions": contributions if explain else None,
        "error": None,
    }


class Fake:
    """Answers as a ledger with a model does."""

    source = "a fake"

    def __init__(self, fails_at: int | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self._fails_at = fails_at

    def answer(self, name: str, request: dict[str, Any], /) -> _headwater.Answer:
        if name == "chains":
            return _headwater.Answer(name, {"chains": []}, {})
        self.asked.append(request)
        if len(self.asked) - 1 == self._fails_at:
            message = "the store is broken"
            raise hw.StorageError(message)
        results = [result(each, explain=request["explain"]) for each in request["addresses"]]
        data = {"results": results, "model": MODEL, "as_of_block": 9}
        warnings = [{"code": "partial_data", "field": None, "message": "some of it"}]
        return _headwater.Answer(name, data, {"warnings": warnings})


def ledger_over(answers: Any) -> hw.Ledger:  # noqa: ANN401
    """A ledger that is asked for single answers alone."""
    return hw.Ledger(answers)


@pytest.fixture
def fake() -> hw.Ledger:
    return ledger_over(Fake())


@pytest.fixture
def axes() -> Iterator[Any]:
    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots()
    yield axes
    figure.canvas.draw()
    pyplot.close("all")


def test_one_address_is_one_report(fake: hw.Ledger) -> None:
    report = fake.classify(address(1), explain=True)
    assert isinstance(report, hw.ClassReport)
    assert (report.predicted_class, report.confidence, report.error) == ("Exchange", 0.75, None)
    assert (report.address, report.blockchain, report.explained_class) == (address(1), "ethereum", "Exchange")
    assert (report.model, report.as_of_block) == (MODEL, 9)
    assert [warning["code"] for warning in report.warnings] == ["partial_data"]
    assert report.probabilities.rows() == [("Exchange", 0.75), ("Deposit", 0.125), ("Mixer", 0.125)]
    assert report.contributions.rows() == [("in_count", 3.0, 1.5), ("in_gap_median_secs", None, -0.5)]
    assert report.frame.rows() == [("ethereum", address(1), "Exchange", 0.75, None)]
    assert pl.DataFrame(report).equals(report.summary)
    for other in (copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
        assert isinstance(other, hw.ClassReport)
        assert other.to_dict() == report.to_dict()


def test_address_without_a_class_says_why(fake: hw.Ledger) -> None:
    failed, classified = fake.classify(address(7)), fake.classify(address(1))
    assert (failed.predicted_class, failed.confidence, failed.error) == (None, 0.0, "no activity: it did nothing")
    for name in ("probabilities", "contributions", "summary"):
        assert getattr(failed, name).schema == getattr(classified, name).schema
    assert (failed.probabilities.height, failed.contributions.height, failed.frame.height) == (0, 0, 1)
    assert classified.contributions.is_empty()
    assert classified.explained_class is None


def test_many_addresses_are_asked_about_a_hundred_at_a_time() -> None:
    answers = Fake()
    addresses = [*map(address, range(1, 250)), address(1)]
    reports = ledger_over(answers).classify(pl.Series(addresses), explain=True)
    assert isinstance(reports, hw.ClassReports)
    assert [len(asked["addresses"]) for asked in answers.asked] == [100, 100, 50]
    assert [each for asked in answers.asked for each in asked["addresses"]] == addresses
    assert all(asked["explain"] is True and asked["blockchain"] == "ethereum" for asked in answers.asked)
    assert [report.address for report in reports] == addresses
    assert reports.summary["address"].to_list() == addresses
    assert reports.frame["queried_address"].to_list() == addresses
    failed = sum(number % 7 == 0 for number in range(1, 250))
    assert reports.summary["error"].is_not_null().sum() == failed
    assert reports.probabilities.height == 3 * (250 - failed)
    assert reports.contributions.filter(pl.col("address") == address(2))["contribution"].to_list() == [1.5, -0.5]
    assert reports.to_dict()[address(2)]["results"][0]["address"] == address(2)


def test_no_addresses_have_frames_with_the_usual_columns(fake: hw.Ledger) -> None:
    some, none = fake.classify([address(1)], explain=True), fake.classify([])
    assert len(none) == 0
    for name in ("frame", "summary", "probabilities", "contributions"):
        assert getattr(none, name).schema == getattr(some, name).schema
        assert getattr(none, name).is_empty()


def test_error_contains_the_answers_before_it() -> None:
    with pytest.raises(hw.StorageError) as failed:
        ledger_over(Fake(fails_at=1)).classify(map(address, range(1, 250)))
    answered = vars(failed.value)["answered"]
    assert list(answered) == list(range(100))
    assert isinstance(answered[99], hw.ClassReport)
    assert answered[99].address == address(100)


def test_requests_that_cannot_be_met_are_refused() -> None:
    made = ledger()
    with pytest.raises(hw.InvalidInput, match=r"^address\[1\]") as refused:
        made.classify([ALICE, "0x12"])
    assert refused.value.field == "address[1]"
    with pytest.raises(hw.InvalidInput, match=r"^addresses\[0\]"):
        made.classify("0x12")
    with pytest.raises(hw.InvalidInput, match="use one of tron, ethereum, bitcoin"):
        made.classify(ALICE, blockchain="bsc")
    with pytest.raises(hw.InvalidInput, match="explain"):
        made.query("address-classify", addresses=[ALICE], blockchain="ethereum", explain="perhaps")


def test_ledger_answers_each_of_several_addresses() -> None:
    made = ledger()
    reports = made.classify([NOBODY, NOBODY])
    assert [report.predicted_class for report in reports] == [None, None]
    assert all(report.error for report in reports)
    asked = made.query("/v1/address-classify", addresses=[NOBODY, NOBODY], blockchain="eth")
    assert [each["error"] for each in asked.rows] == [report.error for report in reports]
    assert asked.frame["address"].to_list() == [NOBODY, NOBODY]


def test_query_has_a_row_per_address_with_all_that_is_said_of_it(fake: hw.Ledger) -> None:
    asked = fake.query("address-classify", addresses=[address(1), address(7)], explain=True)
    rows = asked.frame.select("predicted_class", "confidence", "explained_class").rows()
    assert rows == [("Exchange", 0.75, "Exchange"), (None, 0.0, None)]
    assert json.loads(asked.frame["probabilities"][0]) == {"Deposit": 0.125, "Exchange": 0.75, "Mixer": 0.125}
    assert asked.frame["contributions"].to_list() == [asked.rows[0]["contributions"], None]


def test_reports_say_what_they_are(fake: hw.Ledger) -> None:
    assert repr(fake.classify(address(1))).splitlines()[0] == f"class of {address(1)} on ethereum: Exchange 0.75"
    assert repr(fake.classify(address(7))).splitlines()[0].endswith(": no activity: it did nothing")
    counted = fake.classify([address(1), address(2), address(7)])
    assert repr(counted).splitlines()[0] == "classes of 3 addresses: 2 Exchange, 1 without a class"
    assert repr(fake.classify([])) == "classes of 0 addresses"


def test_picture_of_a_class_has_a_bar_for_each_class(fake: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    fake.classify(address(1)).plot(axes)
    assert [bar.get_width() for bar in axes.patches] == [0.75, 0.125, 0.125]
    assert [label.get_text().split()[0] for label in axes.get_yticklabels()] == ["Exchange", "Deposit", "Mixer"]
    assert axes.get_title() == "0x00000000… on ethereum: Exchange, 0.75"
    assert axes.figure.axes == [axes]


def test_picture_of_an_explained_class_has_its_features_below(fake: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    fake.classify(address(1), explain=True).plot(axes)
    below = axes.figure.axes[1]
    assert [bar.get_width() for bar in below.patches] == [1.5, -0.5]
    assert [label.get_text() for label in below.get_yticklabels()] == ["in_count = 3", "in_gap_median_secs = none"]
    assert below.get_xlabel() == "log-odds for Exchange"


def test_picture_needs_one_address_with_a_class(fake: hw.Ledger, axes: Any) -> None:  # noqa: ANN401
    with pytest.raises(hw.InvalidInput, match="has no class: no activity"):
        fake.classify(address(7)).plot(axes)
    with pytest.raises(hw.InvalidInput, match="about 2 addresses"):
        fake.query("address-classify", addresses=[address(1), address(2)], explain=False).plot(axes)
