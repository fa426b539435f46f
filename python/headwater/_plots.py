"""Pictures of answers; matplotlib is looked for when one is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from headwater._records import node_id, points_text
from headwater.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Assets of a history that are drawn apart; what is less stands together.
_MOST_ASSETS = 8

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


class Drawn(Protocol):
    """What of a report is drawn."""

    endpoint: str

    @property
    def data(self) -> Any:  # noqa: ANN401
        """The ``data`` of the answer."""
        ...

    @property
    def frame(self) -> pl.DataFrame:
        """The rows."""
        ...


def draw(report: Drawn, ax: Axes | None, asset: str | None) -> Axes:
    """Draw a report of an endpoint that has a picture."""
    picture = _PICTURES.get(report.endpoint)
    if picture is None:
        message = f"there is no picture of {report.endpoint!r}: there is one of {', '.join(map(repr, _PICTURES))}"
        raise InvalidInput(message, reason="invalid_value", field="endpoint")
    if asset is not None and report.endpoint != "balance-history":
        message = f"asset={asset!r}: only of a balance history one asset can be drawn"
        raise InvalidInput(message, reason="invalid_value", field="asset")
    return picture(report, ax, asset)


def lorenz(curve: pl.DataFrame, gini: float, ax: Axes | None, label: str | None) -> Axes:
    """Draw a Lorenz curve."""
    ax = _axes(ax)
    if "equal" not in ax.get_legend_handles_labels()[1]:
        ax.plot([0, 1], [0, 1], color="grey", linestyle=":", label="equal")
    name = f"Gini {gini:.4f}" if label is None else f"{label}, Gini {gini:.4f}"
    ax.plot(curve["share_of_holders"].to_list(), curve["share_of_supply"].to_list(), label=name)
    ax.set(xlabel="share of holders, the poorest first", ylabel="share of supply", xlim=(0, 1), ylim=(0, 1))
    ax.legend()
    return ax


def reliability(table: pl.DataFrame, error: float, name: str | None, ax: Axes | None) -> Axes:
    """Draw observed beside predicted shares; on the diagonal they agree."""
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="grey", linewidth=0.5)
    predicted = table["predicted"].to_list()
    ax.plot(predicted, table["observed"].to_list(), marker="o", linestyle="none")
    low, high = (table["observed_interval"].list.get(end).to_list() for end in (0, 1))
    ax.vlines(predicted, low, high, linewidth=1)
    ax.set(
        xlabel=f"predicted probability of {name}" if name else "probability of the predicted class",
        ylabel="share of addresses of the class" if name else "share of right predictions",
        title=f"{name or 'predicted class'}: calibration error {error:.3f}",
        box_aspect=1,
    )
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError as error:
        message = "pictures need matplotlib: pip install 'headwater[plot]'"
        raise ImportError(message) from error
    return pyplot.gca()


def _nothing(report: Drawn, why: str) -> InvalidInput:
    return InvalidInput(f"{report.endpoint}: {why}", reason="invalid_value", field="report")


def _balance_history(report: Drawn, ax: Axes | None, asset: str | None) -> Axes:
    frame = report.frame.with_columns(pl.col("date").str.to_date(), _name().alias("name"), _key().alias("asset"))
    days = frame.select(pl.col("date").unique().sort())
    held = frame.drop_nulls("balance_raw")
    if held.is_empty():
        raise _nothing(report, "nothing was held on any day")
    if asset is not None:
        names = ", ".join(held["name"].unique().sort())
        held = held.filter(_is(asset))
        if held.is_empty():
            raise _nothing(report, f"asset={asset!r} was never held: there are {names}")
    elif held["balance_usd"].is_null().all():
        if held["asset"].n_unique() > 1:
            raise _nothing(report, "nothing of it has a price: draw one asset, asset=...")
        asset = held["name"][0]
    ax = _axes(ax)
    if asset is None:
        _draw_stack(days, held, ax)
    else:
        _draw_one(days, held, ax)
    address = report.data["address"]
    ax.set_title(f"{address[:10]}… on {report.data['blockchain']}")
    ax.figure.autofmt_xdate()
    return ax


def _name() -> pl.Expr:
    """Name an asset by its symbol, else by its contract, shortened."""
    return pl.coalesce("symbol", pl.col("contract").str.slice(0, 10) + "…", pl.lit("native"))


def _key() -> pl.Expr:
    """Tell assets apart, the native coin among them."""
    return pl.col("contract").fill_null("native")


def _is(asset: str) -> pl.Expr:
    wanted = asset.lower()
    return (pl.col("asset").str.to_lowercase() == wanted) | pl.col("symbol").eq_missing(pl.lit(wanted))


def _draw_one(days: pl.DataFrame, held: pl.DataFrame, ax: Axes) -> None:
    name = held["name"][0]
    if held["asset"].n_unique() > 1:
        message = f"{name!r} is the symbol of several contracts: name one of them"
        raise InvalidInput(message, reason="ambiguous_symbol", field="asset")
    whole = held["balance"].null_count() == 0
    values = held.select("date", pl.col("balance" if whole else "balance_raw").cast(pl.Float64).alias("value"))
    ax.plot(days["date"].to_list(), _by_day(days, values), drawstyle="steps-mid", label=name)
    ax.set_ylabel(name if whole else f"{name}, smallest unit")
    ax.set_ylim(bottom=0)


def _draw_stack(days: pl.DataFrame, held: pl.DataFrame, ax: Axes) -> None:
    values = held.filter(pl.col("balance_usd").is_not_null()).with_columns(pl.col("balance_usd").alias("value"))
    ranked = values.group_by("asset").agg(pl.col("name").first(), pl.col("value").max())
    ranked = ranked.sort("value", "asset", descending=[True, False])
    shown = ranked.head(_MOST_ASSETS)
    layers = [_by_day(days, values.filter(pl.col("asset") == asset)) for asset in shown["asset"]]
    names = shown["name"].to_list()
    if ranked.height > len(names):
        layers.append(_by_day(days, values.join(shown, on="asset", how="anti")))
        names.append(f"{ranked.height - shown.height} others")
    ax.stackplot(days["date"].to_list(), layers, labels=names, step="mid")
    ax.set(ylabel="US dollars", ylim=(0, None))
    ax.legend(loc="upper left")


def _by_day(days: pl.DataFrame, values: pl.DataFrame) -> list[float]:
    sums = values.group_by("date").agg(pl.col("value").sum())
    return days.join(sums, on="date", how="left").sort("date")["value"].fill_null(0.0).to_list()


def _holders(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    rows = report.data["holders"]
    if not rows:
        raise _nothing(report, "nobody holds anything")
    if rows[0]["rank"] != 1:
        raise _nothing(report, "shares add up from the first rank: ask without an offset")
    shares = list(accumulate(row.get("pct_of_supply") or 0.0 for row in rows))
    ax = _axes(ax)
    ax.plot(range(1, len(rows) + 1), shares, marker="." if len(rows) <= 100 else None, label=_symbol(report))
    ax.set(xlabel="rank", ylabel="percent of circulating supply, added up", ylim=(0, 102))
    ax.set_title(f"{_symbol(report)}: {report.data['holder_count']:,} holders")
    return ax


def _concentration(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    measures, holders = report.data["concentration"], report.data["holder_count"]
    if holders == 0:
        raise _nothing(report, "nobody holds anything")
    ax = _axes(ax)
    tops = [(top, measures[f"top{top}_pct"]) for top in (10, 100, 1000) if top < holders]
    nakamoto = measures["nakamoto"]
    known = [(0, 0.0), *tops, (holders, 100.0)]
    if nakamoto not in (top for top, _ in known):
        # Half of the supply is passed there, by how much is not in the answer.
        known = sorted([*known, (nakamoto, max(50.0, _between(known, nakamoto)))])
    # What the largest have together rises ever more slowly, so that it is no less than straight lines between what is
    # known: straight by number of holders, which the axis has in logarithms.
    ranks = sorted({*(round(holders ** (step / 200)) for step in range(201)), *(top for top, _ in known[1:])})
    ax.plot(ranks, [_between(known, rank) for rank in ranks], label=f"{_symbol(report)}, at least")
    for top, percent in tops:
        ax.plot([top], [percent], marker="o", color="black", markersize=4)
        ax.annotate(f"top {top:,}: {percent:.1f} %", (top, percent), xytext=(6, -10), textcoords="offset points")
    ax.axvline(nakamoto, color="grey", linestyle=":", label=f"Nakamoto {nakamoto:,}")
    ax.axhline(50, color="grey", linewidth=0.5)
    ax.set(xscale="log", xlabel="largest holders", ylabel="percent of circulating supply", ylim=(0, 102))
    ax.set_title(f"{_symbol(report)}: {holders:,} holders, Gini {measures['gini']:.4f}, HHI {measures['hhi']:.4f}")
    ax.legend()
    return ax


def _risk(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    data = report.data
    score = data["composite_score"]
    # What a floor adds stands on top of all else.
    factors = sorted(data["factors"], key=lambda factor: factor["code"] in _GATES)
    ax = _axes(ax)
    for name, left, right, color in _LEVELS:
        ax.axvspan(left, right, color=color, alpha=0.12, linewidth=0)
        ax.text((left + right) / 2, 0.02, name, transform=ax.get_xaxis_transform(), ha="center", alpha=0.6)
    reached = 0.0
    for place, factor in enumerate(factors):
        # Each begins where the last one ends, so that all of them together end at the score.
        name, color = _FLOOR if factor["code"] in _GATES else _DIMENSIONS[factor["dimension"]]
        known = ax.get_legend_handles_labels()[1]
        ax.barh(place, factor["points"], left=reached, color=color, label=None if name in known else name)
        reached += factor["points"]
        if factor["code"] in _GATES and (floor := re.match(r"at least ([\d.]+)", factor["detail"])):
            ax.axvline(float(floor[1]), color="black", linestyle="--", label=f"floor {floor[1]}: {factor['code']}")
    ax.axvline(score, color="black", linewidth=1)
    ax.set_yticks(range(len(factors)), [f"{factor['code']}  {points_text(factor['points'])}" for factor in factors])
    # The strongest stands on top; below them is room for the names of the levels.
    ax.set(xlabel="points, added up", xlim=(0, 101), ylim=(len(factors), -0.6))
    unclear = "not enough data to judge; " if data["meta"]["assessment"] == "insufficient" else ""
    ax.set_title(f"{data['address'][:10]}… on {data['blockchain']}: {unclear}{score:.2f}, {data['risk_level']}")
    if factors:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    return ax


def _classes(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    results: list[dict[str, Any]] = report.data["results"]
    if len(results) != 1:
        raise _nothing(report, f"the answer is about {len(results)} addresses: draw one of them")
    result = results[0]
    if result["error"] is not None:
        raise _nothing(report, f"{result['address']} has no class: {result['error']}")
    probabilities = sorted(result["probabilities"].items(), key=lambda each: (-each[1], each[0]))
    ax = _axes(ax)
    names = [name for name, _ in probabilities]
    colors = ["tab:blue" if name == result["predicted_class"] else "lightgrey" for name in names]
    ax.barh(range(len(names)), [probability for _, probability in probabilities], color=colors)
    ax.set_yticks(range(len(names)), [f"{name}  {probability:.2f}" for name, probability in probabilities])
    ax.set(xlabel="probability", xlim=(0, 1), ylim=(len(names) - 0.4, -0.6))
    verdict = f"{result['predicted_class']}, {result['confidence']:.2f}"
    ax.set_title(f"{result['address'][:10]}… on {result['blockchain']}: {verdict}")
    if result["contributions"]:
        _draw_contributions(result, ax)
    return ax


def _draw_contributions(result: dict[str, Any], ax: Axes) -> None:
    """Draw what features count for a class, in the lower part of the axes of its probabilities."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable  # noqa: PLC0415

    below = make_axes_locatable(ax).append_axes("bottom", size="150%", pad=0.6)
    features: list[dict[str, Any]] = result["contributions"]
    counts = [feature["contribution"] for feature in features]
    below.barh(range(len(features)), counts, color=["tab:green" if count > 0 else "tab:red" for count in counts])
    values = ["none" if feature["value"] is None else f"{feature['value']:.6g}" for feature in features]
    named = [f"{feature['feature']} = {value}" for feature, value in zip(features, values, strict=True)]
    below.set_yticks(range(len(features)), named)
    below.axvline(0, color="black", linewidth=0.5)
    below.set(xlabel=f"log-odds for {result['explained_class']}", ylim=(len(features) - 0.4, -0.6))


def _trace(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    data = report.data
    if not data["edges"]:
        raise _nothing(report, "no money was followed")
    hops: dict[int, list[dict[str, Any]]] = {}
    for node in data["nodes"]:
        hops.setdefault(node["depth"], []).append(node)
    places = {
        node_id(data, node): (depth, (len(of_hop) - 1) / 2 - place)
        for depth, of_hop in hops.items()
        for place, node in enumerate(of_hop)
    }
    ax = _axes(ax)
    for edge, share in zip(data["edges"], _shares(data["edges"]), strict=True):
        out = edge["direction"] == "out"
        ax.annotate(
            "",
            xy=places[node_id(data, edge, "to_")],
            xytext=places[node_id(data, edge, "from_")],
            arrowprops={
                "arrowstyle": "-|>",
                "linewidth": 0.5 + 5.5 * share,
                "color": "tab:blue" if out else "tab:orange",
                "alpha": 0.5,
                # Edges there and back do not lie on one another.
                "connectionstyle": "arc3,rad=0.08",
            },
        )
    ends: dict[str, list[dict[str, Any]]] = {}
    for end in data["ends"]:
        ends.setdefault(node_id(data, end), []).append(end)
    for node in data["nodes"]:
        identity = node_id(data, node)
        place, of_node = places[identity], ends.get(identity, [])
        is_start = identity == data["address"]
        ax.plot(*place, marker="s" if of_node else "o", color="black" if is_start else "dimgrey")
        if of_node or is_start:
            name = node["entity_name"] or next(iter(node["labels"]), None) or f"{identity[:10]}…"
            why = ["disputed"] if node.get("disputed") else []
            why += [_why(end) for end in of_node]
            ax.annotate("\n".join([name, *why]), place, xytext=(6, 4), textcoords="offset points", fontsize="x-small")
    height = max(map(len, hops.values())) / 2
    ax.set(xlabel="hops", xlim=(min(hops) - 0.4, max(hops) + 0.8), ylim=(-height - 0.2, height + 0.2))
    ax.set_xticks(sorted(hops))
    ax.set_yticks([])
    ax.set_title(f"{data['address'][:10]}… on {data['blockchain']}{', cut' if data['truncated'] else ''}")
    return ax


def _why(end: dict[str, Any]) -> str:
    """Name the reason of an end, and the part of the money that came to it."""
    share = end.get("share")
    return end["stop_reason"] if share is None else f"{end['stop_reason']}, {share:.1%}"


def _exposure(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    data = report.data
    rows = [(kind, row) for kind in ("direct", "indirect") for row in data[kind]]
    if not rows:
        raise _nothing(report, "no named address was found")
    categories: dict[str, float] = {}
    for _kind, row in rows:
        categories[row["category"]] = categories.get(row["category"], 0.0) + row["amount_usd"]
    order = sorted(categories, key=lambda category: (categories[category], category))
    ax = _axes(ax)
    ends: dict[tuple[str, str], float] = {}
    for kind, row in rows:
        sign = -1 if row["direction"] == "in" else 1
        place = (row["category"], row["direction"])
        begin = ends.get(place, 0.0)
        ends[place] = begin + sign * 100 * row["share"]
        color = "tab:orange" if sign < 0 else "tab:blue"
        ax.barh(
            order.index(row["category"]),
            sign * 100 * row["share"],
            left=begin,
            color=color,
            alpha=1.0 if kind == "direct" else 0.5,
        )
    ax.set_yticks(range(len(order)), order)
    ax.axvline(0, color="black", linewidth=0.5)
    ax.set(xlabel="% of what came in (left) and went out (right); pale: through others")
    ax.set_title(f"{data['address'][:10]}… on {data['blockchain']}{', cut' if data['truncated'] else ''}")
    return ax


def _shares(edges: list[dict[str, Any]]) -> list[float]:
    """Give what edges are worth beside the largest: in US dollars, or without any price by amounts of their asset."""
    worth: list[tuple[Any, float]]
    if any(edge["amount_usd"] for edge in edges):
        worth = [(None, edge["amount_usd"] or 0.0) for edge in edges]
    else:
        worth = [((edge["contract"], edge["symbol"]), float(edge["amount_raw"])) for edge in edges]
    largest: dict[Any, float] = {}
    for kind, amount in worth:
        largest[kind] = max(largest.get(kind, 0.0), amount)
    return [amount / largest[kind] if largest[kind] else 0.0 for kind, amount in worth]


def _between(known: list[tuple[int, float]], rank: int) -> float:
    """Give the height of straight lines between points at a place."""
    for (left, low), (right, high) in pairwise(known):
        if rank <= right:
            return low + (high - low) * (rank - left) / (right - left)
    return known[-1][1]


def _symbol(report: Drawn) -> str:
    data: dict[str, Any] = report.data
    contract = data["contract"]
    return data["symbol"] or (f"{contract[:10]}…" if contract else data["blockchain"])


_PICTURES: dict[str, Callable[[Drawn, Axes | None, str | None], Axes]] = {
    "address-classify": _classes,
    "address-risk": _risk,
    "balance-history": _balance_history,
    "exposure": _exposure,
    "token/concentration": _concentration,
    "token/holders": _holders,
    "trace": _trace,
}
