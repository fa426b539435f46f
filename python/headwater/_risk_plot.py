"""The picture of a risk: whether the data suffices, what was looked at, and what the score is made of."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

from headwater._records import points_text, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Bands of the levels of risk, of the parameters that come with the program.
_LEVELS = (("low", 0, 30, "tab:green"), ("medium", 30, 70, "tab:orange"), ("high", 70, 101, "tab:red"))
_GATES = ("ofac_sanctioned", "confirmed_illicit", "direct_sanctioned_edge")
# Names and colours of what a score is made of.
_FLOOR = ("what a floor adds", "dimgrey")
_DIMENSIONS = {
    "intel": ("labels", "tab:purple"),
    "behavior": ("behaviours", "tab:blue"),
    "graph": ("counterparties", "tab:brown"),
}
_ASSESSMENTS = {
    "full": "the data suffices",
    "partial": "a part of the data is missing",
    "insufficient": "not enough data to judge",
}
_REASONS = {
    "behavior_unavailable": "behaviours were not judged",
    "few_transfers": "fewer than 5 valued transfers",
    "rules_deferred": "some rules could not be decided",
    "graph_unavailable": "counterparties could not be looked at",
    "history_incomplete": "the history is incomplete",
}
# Why counterparties were not looked up.
_NOT_LOOKED_UP = {
    "intel_gate": "a floor of the own labels decides",
    "intel_decisive": "the address is a trusted service",
    "already_high": "the score is high without them",
    "no_activity": "the address was never seen on the chain",
    "unsupported_chain": "not judged on this chain",
    "data_unavailable": "the store has no data of the chain",
}
# Characters of a line of text.
_LINE = 100


def draw_risk(data: dict[str, Any], ax: Axes) -> Axes:
    """Draw a risk: the dimensions above, the factors below."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable  # noqa: PLC0415

    # What a floor adds stands on top of all else.
    factors = sorted(data["factors"], key=lambda factor: factor["code"] in _GATES)
    rows = max(1, len(factors))
    above = make_axes_locatable(ax).append_axes("top", size=f"{min(150, 40 + 180 / rows):.0f}%", pad=0.55)
    _draw_dimensions(data, above)
    above.set_title("\n".join(_title(data)), loc="left", fontsize="medium")
    _draw_levels(ax)
    reached = 0.0
    for place, factor in enumerate(factors):
        # Each begins where the last one ends, so that all of them together end at the score.
        name, color = _FLOOR if factor["code"] in _GATES else _DIMENSIONS[factor["dimension"]]
        known = ax.get_legend_handles_labels()[1]
        ax.barh(place, factor["points"], left=reached, color=color, label=None if name in known else name)
        reached += factor["points"]
        if factor["code"] in _GATES and (floor := re.match(r"at least ([\d.]+)", factor["detail"])):
            ax.axvline(float(floor[1]), color="black", linestyle="--", label=f"floor {floor[1]}: {factor['code']}")
        doubt = "disputed; " if factor["disputed"] else ""
        detail = textwrap.shorten(doubt + factor["detail"], _LINE, placeholder=" …")
        ax.text(0.5, place + 0.46, detail, fontsize="x-small", va="bottom", clip_on=True)
    if not factors:
        ax.text(50, 0, "no factor adds points", ha="center", va="center")
    score = data["composite_score"]
    ax.axvline(score, color="black", linewidth=1)
    ax.set_yticks(range(len(factors)), [f"{factor['code']}  {points_text(factor['points'])}" for factor in factors])
    # The strongest stands on top; below them is room for the names of the levels.
    ax.set(xlabel=f"points of the factors, added up to the score of {score:.2f}", xlim=(0, 101), ylim=(rows, -0.6))
    if factors:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=4, ncols=3, fontsize="small")
    return ax


def _title(data: dict[str, Any]) -> list[str]:
    """Return the lines of the title: the assessment first."""
    meta = data["meta"]
    reasons = ", ".join(_REASONS.get(reason, reason) for reason in meta["assessment_reasons"])
    assessment = _ASSESSMENTS.get(meta["assessment"], meta["assessment"])
    decision = data["decision"]
    floor = f", by the floor {decision['gate_reason']}" if decision["gated"] else ""
    verdict = (
        f"{short(data['address'])} on {data['blockchain']}: {data['composite_score']:.2f}, {data['risk_level']}{floor}"
    )
    first = f"{assessment}: {reasons}" if reasons else assessment
    return [*textwrap.wrap(first[0].upper() + first[1:], _LINE), verdict]


def _draw_levels(ax: Axes) -> None:
    for name, left, right, color in _LEVELS:
        ax.axvspan(left, right, color=color, alpha=0.12, linewidth=0)
        ax.text((left + right) / 2, 0.02, name, transform=ax.get_xaxis_transform(), ha="center", alpha=0.6)


def _draw_dimensions(data: dict[str, Any], ax: Axes) -> None:
    """Draw the score of each dimension, with what was looked at."""
    dimensions = data["dimensions"]
    rows = [
        ("intel", dimensions["intel"], _labels(dimensions["intel"])),
        ("behavior", dimensions["behavior"], _behaviours(dimensions["behavior"])),
        ("graph", dimensions["graph"], _counterparties(dimensions["graph"])),
    ]
    names = []
    for place, (dimension, found, text) in enumerate(rows):
        name, color = _DIMENSIONS[dimension]
        is_judged = found is not None and (dimension != "graph" or found["edge"] is not None)
        score = found["score"] if is_judged else None
        names.append(f"{name}  {'not judged' if score is None else points_text(score)}")
        ax.barh(place, score or 0.0, height=0.45, color=color)
        ax.text(0.5, place + 0.5, text, fontsize="x-small", va="bottom")
    ax.set_yticks(range(len(rows)), names)
    ax.set(xlim=(0, 101), ylim=(len(rows) - 0.4, -0.4))
    ax.tick_params(labelbottom=False)
    ax.set_xlabel("scores of the dimensions, 0 to 100", fontsize="small")


def _labels(intel: dict[str, Any]) -> str:
    codes = [f"{code['code']} {code['confidence']:.2f}" for code in intel["codes"]]
    named = intel["entity"] or ""
    if not codes:
        return f"{named}; no list gives it a code" if named else "no list names it"
    return textwrap.shorten(f"{named}{': ' if named else ''}{', '.join(codes)}", _LINE, placeholder=" …")


def _behaviours(behavior: dict[str, Any] | None) -> str:
    if behavior is None:
        return "not judged: no transfers of the address are held, or no rules exist for the chain"
    found, rules = len(behavior["behaviors"]), len(behavior["evaluated"])
    window = behavior["data_window"]
    deferred = len(behavior["deferred"])
    unclear = f"; {deferred} rules could not be decided" if deferred else ""
    if rules == 0:
        return f"no rule could be decided from {window['tx_count']:,} transactions"
    return f"{found} of {rules} rules found something in {window['tx_count']:,} transactions{unclear}"


def _counterparties(graph: dict[str, Any] | None) -> str:
    if graph is None:
        return "not looked up"
    edge = graph["edge"]
    if edge is None:
        return f"not looked up: {_NOT_LOOKED_UP.get(graph['reason'], graph['reason'])}"
    hits = edge["neighbors_hit"]
    risky = "none risky" if hits == 0 else f"{hits:,} risky"
    return f"{edge['neighbors_screened']:,} of {edge['neighbors_total']:,} looked up, {risky}"
