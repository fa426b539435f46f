"""What kind of service or user addresses are: what ``ledger.classify`` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import polars as pl

from headwater import _headwater, _rows, records
from headwater._records import flattened
from headwater.reports import ChartReport, Report, Reports

if TYPE_CHECKING:
    from polars.datatypes import DataType, DataTypeClass

    Schema = dict[str, DataType | DataTypeClass]

CALL = "address-classify"

_SUMMARY = ("blockchain", "address", "predicted_class", "confidence", "error")
# The classes of a model are the keys of a map.
_PROBABILITIES: Schema = {"class": pl.String, "probability": pl.Float64}


class ClassReport(ChartReport[records.AddressClassifyReport]):
    """The class of one address, such as ``Exchange`` or ``Deposit``, predicted from its transfers alone.

    The confidence is a probability under the assumptions of the model. It is no measure of risk, and a class is no
    proof of what an address is; ``docs/classification.md`` says what the numbers mean. Where the address cannot be
    classified ``report.error`` says why, the class is ``None`` and the confidence 0. ``report.model`` names the model,
    and the classes that it learnt from simulated addresses.

    Examples
    --------
    >>> from headwater.examples import ALICE, ledger
    >>> report = ledger().classify(ALICE, explain=True)
    >>> report.blockchain, report.address == ALICE, report.error is None
    ('ethereum', True, True)
    >>> report.predicted_class, report.explained_class == report.predicted_class
    ('Unknown', True)
    >>> report.probabilities["class"][0], round(report.probabilities["probability"].sum(), 6), report.confidence > 0.5
    ('Unknown', 1.0, True)
    >>> report.contributions.height, report.frame.equals(report.summary)
    (10, True)
    """

    @property
    def _result(self) -> records.AddressClassification:
        return self.data["results"][0]

    @property
    def blockchain(self) -> str:
        """The chain."""
        return str(self._result["blockchain"])

    @property
    def address(self) -> str:
        """The address as it was asked."""
        return str(self._result["address"])

    @property
    def predicted_class(self) -> str | None:
        """The class; ``None`` where there is an error. New models may bring new classes."""
        return self._result["predicted_class"]

    @property
    def confidence(self) -> float:
        """How probable the class is, 0 to 1; 0 where there is an error."""
        return float(self._result["confidence"])

    @property
    def error(self) -> str | None:
        """Why the address could not be classified."""
        return self._result["error"]

    @property
    def explained_class(self) -> str | None:
        """The class that :attr:`contributions` are about; ``None`` without ``explain=True``.

        It is the predicted class, or the most probable one where the model has no class ``Unknown`` and that is
        predicted for want of data.
        """
        return self._result["explained_class"]

    @property
    def probabilities(self) -> pl.DataFrame:
        """The probability of each class of the model, the most probable first; no rows where there is an error.

        Columns: ``class``, ``probability``.
        """
        held: Mapping[str, float] = self._result["probabilities"] or {}
        ordered = sorted(held.items(), key=lambda each: (-each[1], each[0]))
        return pl.DataFrame(ordered, schema=_PROBABILITIES, orient="row")

    @property
    def contributions(self) -> pl.DataFrame:
        """The ten features that count most for the class, the strongest first; no rows without ``explain=True``.

        Columns: ``feature`` (``docs/classification.md`` lists them), ``value`` (null where the address has none), and
        ``contribution``, in log-odds before calibration; below 0 it speaks against the class.
        """
        return flattened(self._table("results").select("contributions"), "contributions")

    @property
    def summary(self) -> pl.DataFrame:
        """The verdict in one row: ``blockchain``, ``address``, ``predicted_class``, ``confidence``, ``error``."""
        return self._table("results").select(_SUMMARY)

    @property
    def frame(self) -> pl.DataFrame:
        """The verdict as a frame: see :attr:`summary`."""
        return self.summary

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the verdict through the Arrow C stream interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    def title(self) -> str:
        """Name the address and the verdict."""
        verdict = self.error or f"{self.predicted_class} {self.confidence:.2f}"
        return f"class of {self.address} on {self.blockchain}: {verdict}"


class ClassReports(Reports[records.AddressClassifyReport]):
    """Classes of many addresses, in the order given.

    Examples
    --------
    >>> from headwater.examples import ALICE, BOB, ledger
    >>> reports = ledger().classify([ALICE, BOB], explain=True)
    >>> reports.summary["predicted_class"].to_list(), reports.frame.height
    (['Unknown', 'Unknown'], 2)
    >>> reports.probabilities["address"].n_unique(), reports.contributions.height
    (2, 20)
    """

    def __iter__(self) -> Iterator[ClassReport]:
        """Go over the reports."""
        return iter(cast("list[ClassReport]", self._reports))

    @property
    def frame(self) -> pl.DataFrame:
        """One row per address, the queried address in the first column: see :attr:`summary`."""
        return super().frame

    def _without_rows(self) -> pl.DataFrame:
        return _rows.table(self.endpoint, "results").select(_SUMMARY)

    @property
    def summary(self) -> pl.DataFrame:
        """One row per address: ``blockchain``, ``address``, ``predicted_class``, ``confidence``, ``error``."""
        return self.frame.drop("queried_address")

    @property
    def probabilities(self) -> pl.DataFrame:
        """One row per address and class: ``address``, ``class``, ``probability``."""
        nobody = pl.DataFrame(schema=_PROBABILITIES)
        return self._whole([(report.address, report.probabilities) for report in self], nobody)

    @property
    def contributions(self) -> pl.DataFrame:
        """One row per address and feature: ``address``, ``feature``, ``value``, ``contribution``."""
        nobody = flattened(_rows.table(self.endpoint, "results").select("contributions"), "contributions")
        return self._whole([(report.address, report.contributions) for report in self], nobody)

    @staticmethod
    def _whole(tables: Sequence[tuple[str, pl.DataFrame]], nobody: pl.DataFrame) -> pl.DataFrame:
        named = [("", nobody), *tables]
        return pl.concat([table.select(pl.lit(address).alias("address"), pl.all()) for address, table in named])

    def title(self) -> str:
        """Count the addresses by class."""
        classes = Counter(report.predicted_class or "without a class" for report in self)
        counts = ", ".join(f"{count} {name}" for name, count in classes.most_common())
        return f"classes of {len(self):,} addresses{f': {counts}' if counts else ''}"


def each(answered: Report) -> list[ClassReport]:
    """Give a report for each address of a call; what stands beside the results stays with each of them."""
    data, meta = answered.data, answered.meta
    each = [{**data, "results": [result]} for result in data["results"]]
    return [
        ClassReport(CALL, _headwater.Answer(CALL, data, meta), {**answered.request, "addresses": [result["address"]]})
        for data, result in zip(each, answered.data["results"], strict=True)
    ]
