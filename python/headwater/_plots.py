"""Pictures of answers; matplotlib is looked for when one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from headwater._records import short
from headwater._risk_plot import draw_risk
from headwater.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Assets of a history that are drawn apart; what is less stands together.
_MAX_ASSETS = 8

# Counterparties, addresses and assets that are drawn as bars, the largest first.
_MAX_BARS = 15


class Drawn(Protocol):
    """What of a report is drawn."""

    endpoint: str
    request: dict[str, Any]

    @property
    def data(self) -> Any:  # noqa: ANN401
        """The ``data`` of the answer."""
        ...

    @property
    def frame(self) -> pl.DataFrame:
        """The rows."""
        ...


def without_picture(endpoint: str) -> str:
    """Return the message of an error: a report without a picture."""
    known = ", ".join(map(repr, sorted([*_PICTURES, "path", "trace"])))
    return f"{endpoint!r} has no picture; calls with one: {known}"


def draw(report: Drawn, ax: Axes | None, asset: str | None) -> Axes:
    """Draw a report of an endpoint that has a picture."""
    picture = _PICTURES[report.endpoint]
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
    # A new figure, so that two pictures of one notebook cell do not overlap.
    return pyplot.subplots(layout="constrained")[1]


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
    shown = ranked.head(_MAX_ASSETS)
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


def _risk(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    return draw_risk(report.data, _axes(ax))


def _counterparties(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    rows = [row for row in report.frame.to_dicts() if row["total_amount_usd"] is not None][:_MAX_BARS]
    if not rows:
        raise _nothing(report, "no payment has a price, so that there are no US dollars to compare")
    names = [
        f"{row['entity_name']} · {short(row['address'])}" if row["entity_name"] else short(row["address"])
        for row in rows
    ]
    ax = _flow_bars(names, [row["received_amount_usd"] for row in rows], [row["sent_amount_usd"] for row in rows], ax)
    ax.set_xlabel("US dollars: received from (left) and sent to (right)")
    ax.set_title(f"{report.endpoint} of {short(report.request['address'])}: the {len(rows)} largest by US dollars")
    return ax


def _flows(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    rows = report.data["addresses"]
    if report.data["decimals"] is None:
        raise _nothing(report, "the decimals of the token are unknown: import a registry of tokens")
    if not rows:
        raise _nothing(report, "the answer has no addresses")
    ranked = sorted(rows, key=lambda row: -max(row["received"], row["sent"]))[:_MAX_BARS]
    names = [short(row["address"]) for row in ranked]
    ax = _flow_bars(names, [row["received"] for row in ranked], [row["sent"] for row in ranked], ax)
    ax.set_xlabel(f"{_symbol(report)}: received (left) and sent (right)")
    ax.set_title(f"{_symbol(report)} of {len(rows)} addresses")
    return ax


def _flow_bars(names: list[str], received: list[float | None], sent: list[float | None], ax: Axes | None) -> Axes:
    """Draw what came in to the left and what went out to the right, the first on top."""
    ax = _axes(ax)
    places = range(len(names))
    ax.barh(places, [-(amount or 0) for amount in received], color="tab:orange", label="received")
    ax.barh(places, [amount or 0 for amount in sent], color="tab:blue", label="sent")
    ax.set_yticks(places, names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.axvline(0, color="black", linewidth=0.5)
    ax.xaxis.set_major_formatter(lambda amount, _: f"{abs(amount):,.0f}" if abs(amount) >= 10 else f"{abs(amount):g}")
    ax.legend(loc="lower right")
    return ax


def _rates(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    frame = report.frame
    if frame.is_empty():
        raise _nothing(report, "no day of the range has a price: import prices, or ask for another range")
    ax = _axes(ax)
    symbol = report.data["symbol"]
    ax.plot(frame["ts"].to_list(), frame["price_usd"].to_list(), label=symbol)
    ax.set(ylabel=f"US dollars per {symbol}", title=f"{symbol}: {frame.height:,} daily prices, {report.data['source']}")
    ax.figure.autofmt_xdate()
    return ax


def _wallet(report: Drawn, ax: Axes | None, _: str | None) -> Axes:
    rows = sorted(
        (row for row in report.data["balances"] if (row["balance_usd"] or 0) > 0), key=lambda row: -row["balance_usd"]
    )
    if not rows:
        raise _nothing(report, "no asset with a price is held")
    shown, others = rows[:_MAX_ASSETS], rows[_MAX_ASSETS:]
    names = [row["symbol"] or short(row["contract"]) for row in shown]
    values = [row["balance_usd"] for row in shown]
    if others:
        names.append(f"{len(others)} others")
        values.append(sum(row["balance_usd"] for row in others))
    ax = _axes(ax)
    ax.barh(range(len(names)), values, color="tab:blue")
    total = sum(values)
    ax.set_yticks(
        range(len(names)), [f"{name}  {value / total:.1%}" for name, value in zip(names, values, strict=True)]
    )
    ax.set(xlabel="US dollars", ylim=(len(names) - 0.4, -0.6))
    unpriced = sum(row["balance_usd"] is None for row in report.data["balances"])
    note = f"; {unpriced} assets have no price" if unpriced else ""
    ax.set_title(f"{short(report.data['address'])} on {report.data['blockchain']}: ${total:,.2f}{note}")
    return ax


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
    "counterparty": _counterparties,
    "exposure": _exposure,
    "rates/history": _rates,
    "token/addresses_flow": _flows,
    "token/concentration": _concentration,
    "token/holders": _holders,
    "wallet-overview": _wallet,
}
