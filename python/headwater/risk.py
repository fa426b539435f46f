"""How risky addresses are, and why: what ``ledger.risk`` returns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

import polars as pl

from headwater import _rows, records
from headwater._records import points_text, with_dispute_secs
from headwater.reports import ChartReport, Reports

# Columns of frames in their order, where it is not that of the records.
_FACTORS = ("dimension", "code", "points", "effect", "weight", "detail", "disputed")
_BEHAVIORS = [
    "code",
    "name_zh",
    "family",
    "severity",
    "base",
    "intensity",
    "occurrence_count",
    "recency_weight",
    "score",
    "context_weight",
    "score_after_context",
    "contribution",
    "first_detected_at",
    "last_detected_at",
    "window_seconds",
    "p_value",
    "tx_hashes",
    "evidence",
]
_SCORES = ("intel", "behavior", "graph")
_SUMMARY = [
    "blockchain",
    "address",
    "assessment",
    "assessment_reasons",
    "composite_score",
    "risk_level",
    "gated",
    "gate_reason",
    "context",
    "base_score",
    "intel_score",
    "behavior_score",
    "graph_score",
    "factors",
]
# What a prompt shows of many addresses.
_OVERVIEW = ["address", "assessment", "composite_score", "risk_level", "blockchain", "gate_reason", "factors"]


class RiskReport(ChartReport[records.AddressRiskReport]):
    """How risky an address is, with everything the score is made of.

    Read :attr:`assessment` first: where it is ``insufficient``, a low score says nothing. The score orders addresses by
    the evidence that is held. It is no probability and no proof, and a low one says only that little is known.
    ``report.composite_score``, ``report.risk_level``, ``report.dimensions``, ``report.decision``
    and ``report.data["meta"]`` are those of the answer; ``docs/risk.md`` explains them.

    Examples
    --------
    >>> from headwater.examples import SHOP, ledger
    >>> report = ledger().risk(SHOP)
    >>> report.assessment, report.assessment_reasons, report.risk_level
    ('partial', ['history_incomplete'], 'low')
    >>> report.factors.select("dimension", "code", "points").rows()
    [('behavior', 'scam_pattern', 1.42)]
    >>> report.frame.equals(report.factors), len(report.rows)
    (True, 1)
    >>> report.codes.select("code", "confidence").rows()
    [('merchant', 0.5)]
    >>> report.behaviors.height, report.neighbors.height, report.categories.height
    (0, 0, 0)
    >>> report.summary["composite_score"].item() == report.composite_score
    True
    """

    @property
    def assessment(self) -> str:
        """How much there is to judge by: ``full``, ``partial`` or ``insufficient``."""
        return str(self.data["meta"]["assessment"])

    @property
    def assessment_reasons(self) -> list[str]:
        """What is missing; empty for ``full``."""
        return [str(reason) for reason in self.data["meta"]["assessment_reasons"]]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The factors, most points first."""
        return cast("list[dict[str, Any]]", self.data["factors"])

    @property
    def frame(self) -> pl.DataFrame:
        """The factors as a frame: see :attr:`factors`."""
        return self.factors

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the factors through the Arrow C stream interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    @property
    def factors(self) -> pl.DataFrame:
        """What the score is made of, most points first: the points add up to ``composite_score``.

        Columns: ``dimension`` (``intel``, ``behavior`` or ``graph``), ``code`` (gate, label, behaviour or category),
        ``points``, ``effect`` of the context, ``weight`` (of a behaviour in its context, confidence of a label, share
        of a category), ``detail`` in words, ``disputed`` (``by``, ``at``, ``reason`` of the dispute of a claim behind
        it, or null).
        """
        return with_dispute_secs(self._table("factors")).select(_FACTORS)

    @property
    def behaviors(self) -> pl.DataFrame:
        """What the address did: one row per detected pattern, with what its score is made of and its evidence.

        ``p_value`` is how probable a pattern at least as marked is by chance, null for most rules.
        ``tx_hashes`` are at most ten transactions by which it can be checked; ``evidence`` is what was measured, as
        JSON text by the names of ``docs/behaviours.md``.
        """
        behavior = self.data["dimensions"]["behavior"]
        found = self._table("dimensions.behavior.behaviors").unnest("evidence")
        items = self._table("dimensions.behavior.score_breakdown.items").drop("context_weight")
        evidence = [_measured(found["evidence"]) for found in (behavior["behaviors"] if behavior else [])]
        found = found.with_columns(pl.Series("evidence", evidence, pl.String))
        return found.join(items, on="code", how="left", maintain_order="left").select(_BEHAVIORS)

    @property
    def codes(self) -> pl.DataFrame:
        """Who the address is: one row per label code, with the points of the intel score that it stands for."""
        return with_dispute_secs(self._table("dimensions.intel.codes")).drop("reliability")

    @property
    def neighbors(self) -> pl.DataFrame:
        """The strongest risky counterparties, at most five; none where counterparties were not looked at."""
        return with_dispute_secs(self._table("dimensions.graph.edge.risky_neighbors"))

    @property
    def categories(self) -> pl.DataFrame:
        """Exposure by category of risk; none where counterparties were not looked at."""
        return self._table("dimensions.graph.edge.categories")

    @property
    def summary(self) -> pl.DataFrame:
        """The verdict in one row."""
        return _summary(self._table(""))

    def title(self) -> str:
        """Name the address, whether data suffices to judge, the verdict, and the three factors with the most points."""
        data = self.data
        decision = data["decision"]
        floor = f", floor by {decision['gate_reason']}" if decision["gated"] else ""
        counted = [factor for factor in self.rows[:3] if factor["points"] > 0]
        strongest = [f"{factor['code']} {points_text(factor['points'])}" for factor in counted]
        more = len(self.rows) - len(strongest)
        factors = ", ".join([*strongest, *([f"{more} more"] if strongest and more else [])])
        verdict = f"{data['composite_score']:.2f} {data['risk_level']}{floor}"
        if self.assessment == "insufficient":
            reasons = ", ".join(self.assessment_reasons)
            verdict = f"not enough data to judge ({reasons}); {verdict}"
        elif not factors:
            factors = "nothing held against it"
        about = f"risk of {data['address']} on {data['blockchain']}"
        return f"{about}: {verdict}{'; ' if factors else ''}{factors}"


class RiskReports(Reports[records.AddressRiskReport]):
    """Risks of many addresses, in the order given.

    Examples
    --------
    >>> from headwater.examples import ALICE, SHOP, ledger
    >>> reports = ledger().risk([ALICE, SHOP])
    >>> reports.summary["assessment"].to_list(), reports.frame["code"].to_list()
    (['insufficient', 'partial'], ['scam_pattern', 'scam_pattern'])
    """

    def __iter__(self) -> Iterator[RiskReport]:
        """Go over the reports."""
        return iter(cast("list[RiskReport]", self._reports))

    @property
    def frame(self) -> pl.DataFrame:
        """The factors of all addresses under one another, the queried address in the first column.

        An address that nothing is held against has no row here; :attr:`summary` has one for each.
        """
        return super().frame

    @property
    def summary(self) -> pl.DataFrame:
        """One row per address: assessment, score, level, gate, context, scores of dimensions, codes of factors."""
        nobody = _summary(_rows.table(self.endpoint, "").clear())
        return pl.concat([nobody, *(report.summary for report in self)])

    def _overview(self) -> pl.DataFrame:
        return self.summary.select(_OVERVIEW)

    def _without_rows(self) -> pl.DataFrame:
        return with_dispute_secs(_rows.table(self.endpoint, "factors")).select(_FACTORS)

    def title(self) -> str:
        """Count the addresses with too little data to judge, and the others by level."""
        judged = [report for report in self if report.assessment != "insufficient"]
        unjudged = len(self) - len(judged)
        levels = Counter(report.data["risk_level"] for report in judged)
        counts = ", ".join(f"{levels[level]} {level}" for level in ("high", "medium", "low"))
        unclear = f"{unjudged} without enough data to judge, " if unjudged else ""
        return f"risk of {len(self):,} addresses: {unclear}{counts}"


def _measured(evidence: Mapping[str, Any]) -> str:
    """Return the facts of an evidence as JSON text: what has columns of its own is left out."""
    facts = {name: fact for name, fact in evidence.items() if name not in ("tx_hashes", "window_seconds", "p_value")}
    return json.dumps(facts, ensure_ascii=False)


def _summary(reports: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts of reports, one a row."""
    scores = [pl.col("dimensions").struct.field(name).struct.field("score").alias(f"{name}_score") for name in _SCORES]
    codes = pl.col("factors").list.eval(pl.element().struct.field("code"))
    return reports.with_columns(*scores, codes).unnest("decision", "meta").select(_SUMMARY)
