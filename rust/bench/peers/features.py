"""Features of every account as a polars user computes them: expressions over groups, all in one lazy plan.

Columns are named like the features of the engine; those that need a running state (balances, holding times) are left out.
"""

import math

import polars as pl

HOUR, DAY = 3600, 86_400
IN, OUT = pl.col("direction") == 0, pl.col("direction") == 1
TIME = pl.col("time")
SAME = pl.col("account") == pl.col("account").shift()


def prepared(frame):
    """The postings with what expressions over groups would compute again and again: gaps, the ends of each life."""
    time = TIME.cast(pl.Int64)
    return (
        frame.lazy()
        .with_columns(pl.col("account").set_sorted(), time=time)
        .with_columns(
            gap=pl.when(SAME).then(TIME.diff()),
            since=TIME - TIME.first().over("account"),
            until=TIME.last().over("account") - TIME,
        )
    )


def by_account(postings):
    """Counts and times."""
    hour, weekday = TIME % DAY // HOUR, (TIME // DAY + 3) % 7
    gap, since, until = pl.col("gap"), pl.col("since"), pl.col("until")
    within = pl.col("since") / (pl.col("since") + pl.col("until"))
    return postings.group_by("account", maintain_order=True).agg(
        IN.sum().alias("in_count"),
        OUT.sum().alias("out_count"),
        (pl.col("direction") == 2).sum().alias("own_count"),
        (IN.sum() / (IN | OUT).sum()).alias("in_ratio"),
        pl.len().alias("transaction_count"),
        pl.col("token").n_unique().alias("asset_count"),
        (since.last() / DAY).alias("life_days"),
        gap.mean().alias("gap_mean_secs"),
        gap.quantile(0.5, "lower").alias("gap_median_secs"),
        gap.max().alias("gap_max_secs"),
        (gap.std(ddof=0) / gap.mean()).alias("gap_variation"),
        *(hour.is_between(start, start + 5).mean().alias(f"hours_{start}_ratio") for start in (0, 6, 12)),
        (weekday > 4).mean().alias("weekend_ratio"),
        within.mean().alias("time_mean"),
        within.std(ddof=0).alias("time_deviation"),
        (since <= 30 * DAY).mean().alias("early_30_ratio"),
        (until <= 30 * DAY).mean().alias("late_30_ratio"),
        (until <= 90 * DAY).mean().alias("late_90_ratio"),
    )


def by_way(postings):
    """Changes between in and out."""
    turns = (SAME & (pl.col("direction") != pl.col("direction").shift())).alias("turn")
    return (
        postings.filter(IN | OUT)
        .with_columns(turns)
        .group_by("account")
        .agg(
            (pl.col("turn").sum() / (pl.len().cast(pl.Int64) - 1)).alias("turn_ratio"),
            (pl.col("direction").first() == 0).alias("starts_in"),
            (pl.col("direction").last() == 1).alias("ends_out"),
        )
    )


def by_time(postings):
    """Days and hours with movements."""
    days = postings.group_by("account", (TIME // DAY).alias("day")).len()
    of_day = pl.col("len").cast(pl.Float64)
    days = days.group_by("account").agg(
        pl.len().alias("active_days"),
        of_day.mean().alias("per_day_mean"),
        of_day.max().alias("per_day_max"),
        of_day.std(ddof=0).alias("per_day_deviation"),
    )
    hours = postings.group_by("account", (TIME % DAY // HOUR).alias("hour")).len()
    entropy = pl.col("len").entropy(normalize=True) / math.log(24)
    return days, hours.group_by("account").agg(entropy.alias("hour_entropy"))


def by_party(postings):
    """Counterparties by movements."""
    pairs = postings.filter(IN | OUT).group_by("account", "other").agg(IN.sum().alias("ins"), OUT.sum().alias("outs"))
    ins, outs, n = pl.col("ins"), pl.col("outs"), pl.col("ins").sum() + pl.col("outs").sum()
    return pairs.group_by("account").agg(
        (ins > 0).sum().alias("sender_count"),
        (outs > 0).sum().alias("receiver_count"),
        ((ins > 0).sum() / ins.sum()).alias("senders_per_in"),
        ((outs > 0).sum() / outs.sum()).alias("receivers_per_out"),
        ((ins > 0) & (outs > 0)).mean().alias("overlap_ratio"),
        ((ins + outs == 1).sum() / n).alias("once_ratio"),
        ((ins == 1).sum() / ins.sum()).alias("in_once_ratio"),
        ((outs == 1).sum() / outs.sum()).alias("out_once_ratio"),
        ((ins + outs).max() / n).alias("top_party_ratio"),
    )


def of_stablecoins(postings, decimals):
    """Payments of stablecoins, each way."""
    one = pl.col("token").replace_strict({token: 10.0**places for token, places in decimals.items()}, default=None)
    paid = postings.filter((IN | OUT) & ~pl.col("large") & pl.col("token").is_in(list(decimals)))
    paid = paid.with_columns((pl.col("amount").cast(pl.Float64) / one).alias("units"))
    for side, way, party in (("in", IN, "sender"), ("out", OUT, "receiver")):
        units = pl.col("units")
        of_side = paid.filter(way)
        yield of_side.group_by("account").agg(
            pl.len().alias(f"stable_{side}_count"),
            units.sum().alias(f"stable_{side}_sum"),
            units.mean().alias(f"stable_{side}_mean"),
            units.quantile(0.5, "lower").alias(f"stable_{side}_median"),
            units.max().alias(f"stable_{side}_max"),
            units.min().alias(f"stable_{side}_min"),
            (units.std(ddof=0) / units.mean()).alias(f"stable_{side}_variation"),
            units.first().alias(f"stable_{side}_first"),
            units.last().alias(f"stable_{side}_last"),
            (units.max() / units.sum()).alias(f"stable_{side}_largest_share"),
        )
        parties = of_side.group_by("account", "other").agg(units.sum(), pl.len())
        share = units / units.sum()
        yield parties.group_by("account").agg(
            (share**2).sum().alias(f"stable_{side}_concentration"),
            share.max().alias(f"stable_top_{party}_share"),
            share.filter(pl.col("len") == 1).sum().alias(f"stable_{side}_once_share"),
        )


def of_every_account(frame, decimals):
    postings = prepared(frame)
    table = by_account(postings)
    others = [by_way(postings), *by_time(postings), by_party(postings), *of_stablecoins(postings, decimals)]
    for other in others:
        table = table.join(other, on="account", how="left")
    counts = pl.col("^.*(sender_count|receiver_count|stable_.*_count|stable_.*_sum)$")
    return table.with_columns(counts.fill_null(0)).collect()
