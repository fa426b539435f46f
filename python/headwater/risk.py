"""How risky addresses are, and why: what ``ledger.risk`` returns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from headwater._records import DISPUTE as _DISPUTE
from headwater._records import TEXTS as _TEXTS
from headwater._records import TIME as _TIME
from headwater._records import points_text as _points_text
from headwater._records import table as _table
from headwater.reports import Report, Reports

if TYPE_CHECKING:
    from headwater._records import Schema

_FACTORS: Schema = {
    "dimension": pl.String,
    "code": pl.String,
    "points": pl.Float64,
    "effect": pl.String,
    "weight": pl.Float64,
    "detail": pl.String,
    "disputed": _DISPUTE,
}
_BEHAVIORS: Schema = {
    "code": pl.String,
    "name_zh": pl.String,
    "family": pl.String,
    "severity": pl.String,
    "base": pl.Float64,
    "intensity": pl.Float64,
    "occurrence_count": pl.Int64,
    "recency_weight": pl.Float64,
    "score": pl.Float64,
    "context_weight": pl.Float64,
    "score_after_context": pl.Float64,
    "contribution": pl.Float64,
    "first_detected_at": _TIME,
    "last_detected_at": _TIME,
    "window_seconds": pl.Int64,
    "p_value": pl.Float64,
    "tx_hashes": _TEXTS,
    "evidence": pl.String,
}
_CODES: Schema = {
    "code": pl.String,
    "family": pl.String,
    "severity": pl.Float64,
    "confidence": pl.Float64,
    "contribution": pl.Float64,
    "disputed": _DISPUTE,
}
_NEIGHBORS: Schema = {
    "address": pl.String,
    "entity_name": pl.String,
    "labels": _TEXTS,
    "direction": pl.String,
    "amount_usd": pl.Float64,
    "share": pl.Float64,
    "tx_count": pl.Int64,
    "last_activity": _TIME,
    "sanctioned": pl.Boolean,
    "listed_since": _TIME,
    "dust": pl.Boolean,
    "disputed": _DISPUTE,
}
_CATEGORIES: Schema = {
    "category": pl.String,
    "direction": pl.String,
    "before_listing": pl.Boolean,
    "factor": pl.Float64,
    "severity": pl.Float64,
    "amount_usd": pl.Float64,
    "share": pl.Float64,
    "confidence": pl.Float64,
    "contribution": pl.Float64,
}
_SUMMARY: Schema = {
    "blockchain": pl.String,
    "address": pl.String,
    "assessment": pl.String,
    "assessment_reasons": _TEXTS,
    "composite_score": pl.Float64,
    "risk_level": pl.String,
    "gated": pl.Boolean,
    "gate_reason": pl.String,
    "context": pl.String,
    "base_score": pl.Float64,
    "intel_score": pl.Float64,
    "behavior_score": pl.Float64,
    "graph_score": pl.Float64,
    "factors": _TEXTS,
}


class RiskReport(Report):
    """How risky an address is, with everything the score is made of.

    Read :attr:`assessment` first: where it is ``insufficient``, a low score says nothing. The score orders addresses by
    the evidence that is held. It is no probability and no proof, and a low one says only that little is known.
    ``report.composite_score``, ``report.risk_level``, ``report.dimensions``, ``report.decision``
    and ``report.data["meta"]`` are those of the answer; ``docs/risk.md`` explains them.
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
        factors: list[dict[str, Any]] = self.data["factors"]
        return factors

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
        return _table(self.rows, _FACTORS)

    @property
    def behaviors(self) -> pl.DataFrame:
        """What the address did: one row per detected pattern, with what its score is made of and its evidence.

        ``p_value`` is how probable a pattern at least as marked is by chance, null for most rules.
        ``tx_hashes`` are at most ten transactions by which it can be checked; ``evidence`` is what was measured, as
        JSON text by the names of ``docs/behaviours.md``.
        """
        behavior = self.data["dimensions"]["behavior"] or {"behaviors": [], "score_breakdown": {"items": []}}
        items = {item["code"]: item for item in behavior["score_breakdown"]["items"]}
        return _table([_behavior(found, items[found["code"]]) for found in behavior["behaviors"]], _BEHAVIORS)

    @property
    def codes(self) -> pl.DataFrame:
        """Who the address is: one row per label code, with the points of the intel score that it stands for."""
        return _table(self.data["dimensions"]["intel"]["codes"], _CODES)

    @property
    def neighbors(self) -> pl.DataFrame:
        """The strongest risky counterparties, at most five; none where counterparties were not looked at."""
        return _table((self.data["dimensions"]["graph"]["edge"] or {}).get("risky_neighbors", []), _NEIGHBORS)

    @property
    def categories(self) -> pl.DataFrame:
        """Exposure by category of risk; none where counterparties were not looked at."""
        return _table((self.data["dimensions"]["graph"]["edge"] or {}).get("categories", []), _CATEGORIES)

    @property
    def summary(self) -> pl.DataFrame:
        """The verdict in one row."""
        return _table([_summary(self.data)], _SUMMARY)

    def __repr__(self) -> str:
        """Name the address, whether data suffices to judge, the verdict, and the three factors with the most points."""
        data = self.data
        decision = data["decision"]
        floor = f", floor by {decision['gate_reason']}" if decision["gated"] else ""
        counted = [factor for factor in self.rows[:3] if factor["points"] > 0]
        strongest = [f"{factor['code']} {_points_text(factor['points'])}" for factor in counted]
        more = len(self.rows) - len(strongest)
        factors = ", ".join([*strongest, *([f"{more} more"] if strongest and more else [])])
        verdict = f"{data['composite_score']:.2f} {data['risk_level']}{floor}"
        if self.assessment == "insufficient":
            reasons = ", ".join(self.assessment_reasons)
            verdict = f"not enough data to judge ({reasons}); {verdict}"
        elif not factors:
            factors = "nothing held against it"
        return f"<RiskReport {data['blockchain']} {data['address']}: {verdict}{'; ' if factors else ''}{factors}>"


class RiskReports(Reports):
    """Risks of many addresses, in the order given."""

    def __iter__(self) -> Iterator[RiskReport]:
        """Go over the reports."""
        return iter(cast("list[RiskReport]", self._reports))

    @property
    def frame(self) -> pl.DataFrame:
        """The factors of all addresses under one another, the queried address in the first column.

        An address that nothing is held against has no row here; :attr:`summary` has one for each.
        """
        if not self._reports:
            return _table([], {"queried_address": pl.String(), **_FACTORS})
        return super().frame

    @property
    def summary(self) -> pl.DataFrame:
        """One row per address: assessment, score, level, gate, context, scores of dimensions, codes of factors."""
        return _table([_summary(report.data) for report in self], _SUMMARY)

    def __repr__(self) -> str:
        """Count the addresses with too little data to judge, and the others by level."""
        judged = [report for report in self if report.assessment != "insufficient"]
        unjudged = len(self) - len(judged)
        levels = Counter(report.data["risk_level"] for report in judged)
        counts = ", ".join(f"{levels[level]} {level}" for level in ("high", "medium", "low"))
        unclear = f"{unjudged} without enough data to judge, " if unjudged else ""
        return f"<RiskReports {len(self)} addresses: {unclear}{counts}>"


def _behavior(found: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    evidence = dict(found["evidence"])
    beside = {name: evidence.pop(name) for name in ("tx_hashes", "window_seconds", "p_value")}
    return {**item, **found, **beside, "evidence": json.dumps(evidence, ensure_ascii=False)}


def _summary(data: Mapping[str, Any]) -> dict[str, Any]:
    dimensions = data["dimensions"]
    scores = {
        f"{name}_score": None if dimensions[name] is None else dimensions[name]["score"]
        for name in ("intel", "behavior", "graph")
    }
    codes = [factor["code"] for factor in data["factors"]]
    return {**data, **data["meta"], **data["decision"], **scores, "factors": codes}
