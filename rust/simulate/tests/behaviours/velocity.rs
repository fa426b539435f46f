//! Rules about time.

use std::collections::BTreeSet;

use headwater_types::Address;

use super::view::{ValueTransfer, ins, outs, usd};

const DAY: i64 = 86_400;

/// Inflow against later outflow of the same asset, first in first out: seconds held and dollars.
fn matched(of: &[&ValueTransfer], who: Address) -> Vec<(usize, i64, f64)> {
    let mut open: Vec<(usize, &ValueTransfer, f64)> = Vec::new();
    let mut pairs = Vec::new();
    for (number, moved) in of.iter().enumerate() {
        if moved.to == who {
            open.push((number, moved, moved.raw));
            continue;
        }
        let mut left = moved.raw;
        for lot in open.iter_mut().filter(|lot| lot.1.asset == moved.asset) {
            let taken = lot.2.min(left);
            if taken > 0.0 {
                lot.2 -= taken;
                left -= taken;
                pairs.push((lot.0, moved.time - lot.1.time, lot.1.usd.unwrap() * taken / lot.1.raw));
            }
        }
    }
    pairs
}

pub fn rapid_in_out(of: &[&ValueTransfer], who: Address) -> bool {
    let quick: Vec<_> = matched(of, who).into_iter().filter(|pair| pair.1 <= 3_600).collect();
    let worth: f64 = quick.iter().map(|pair| pair.2).sum();
    let mut inflows: Vec<_> = quick.iter().filter(|pair| pair.2 > 1.0).map(|pair| pair.0).collect();
    inflows.dedup();
    worth >= 0.8 * usd(&ins(of, who)) && inflows.len() >= 3 && worth >= 1_000.0
}

pub fn pass_through(of: &[&ValueTransfer], who: Address) -> bool {
    let (came, went) = (ins(of, who), outs(of, who));
    let (received, sent) = (usd(&came), usd(&went));
    let distinct = |addresses: Vec<Address>| {
        let mut addresses = addresses;
        addresses.sort_unstable();
        addresses.dedup();
        addresses.len()
    };
    let mut holds: Vec<_> = matched(of, who).into_iter().map(|pair| pair.1).collect();
    holds.sort_unstable();
    received >= 1_000.0
        && (received - sent).abs() <= 0.05 * received
        && stays(of, who) <= 0.05 * received
        && !holds.is_empty()
        && holds[(holds.len() - 1) / 2].midpoint(holds[holds.len() / 2]) <= DAY
        && distinct(came.iter().map(|moved| moved.from).collect()) <= 10
        && distinct(went.iter().map(|moved| moved.to).collect()) <= 10
}

/// Returns what came in and did not leave, at what it was worth when it came.
fn stays(of: &[&ValueTransfer], who: Address) -> f64 {
    let assets: BTreeSet<_> = of.iter().map(|moved| moved.asset).collect();
    let of_asset = |asset| {
        let came: Vec<_> = ins(of, who).into_iter().filter(|moved| moved.asset == asset).collect();
        let left: f64 = outs(of, who).iter().filter(|moved| moved.asset == asset).map(|moved| moved.raw).sum();
        let raw: f64 = came.iter().map(|moved| moved.raw).sum();
        if raw > 0.0 { usd(&came) * ((raw - left) / raw).max(0.0) } else { 0.0 }
    };
    assets.into_iter().map(of_asset).sum()
}

pub fn burner_wallet(of: &[&ValueTransfer], who: Address, end: i64) -> bool {
    let (received, sent) = (usd(&ins(of, who)), usd(&outs(of, who)));
    let (first, last) = (of[0].time, of[of.len() - 1].time);
    last - first <= 7 * DAY
        && (2..=20).contains(&of.len())
        && sent > 0.0
        && stays(of, who) <= 0.01 * received
        && end - last >= 30 * DAY
        && received >= 1_000.0
}

pub fn dormant_reactivation(of: &[&ValueTransfer], who: Address) -> bool {
    of.windows(2).enumerate().any(|(place, pair)| {
        let before = &of[..=place];
        let balance = usd(&ins(before, who)) - usd(&outs(before, who));
        let later = &of[place + 1..];
        let later: Vec<_> = later.iter().copied().filter(|moved| moved.time <= pair[1].time + 3 * DAY).collect();
        // The share that leaves, weighted by what each asset was worth when it came.
        let assets: BTreeSet<_> = before.iter().map(|moved| moved.asset).collect();
        let (mut left, mut held) = (0.0, 0.0);
        for asset in assets {
            let of_asset = |moved: &[&ValueTransfer], sign: fn(&ValueTransfer) -> f64| -> f64 {
                let signed = moved.iter().filter(|moved| moved.asset == asset);
                signed.map(|moved| sign(moved) * if moved.to == who { 1.0 } else { -1.0 }).sum()
            };
            let raw = of_asset(before, |moved| moved.raw);
            let worth = of_asset(before, |moved| moved.usd.unwrap_or(0.0));
            let gone: f64 = outs(&later, who).iter().filter(|moved| moved.asset == asset).map(|moved| moved.raw).sum();
            if raw > 0.0 && worth > 0.0 {
                left += worth * (gone / raw).min(1.0);
                held += worth;
            }
        }
        pair[1].time - pair[0].time >= 180 * DAY && balance >= 1_000.0 && left >= 0.5 * held
    })
}

fn gaps(of: &[&ValueTransfer]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "seconds of two years")]
    of.windows(2).map(|pair| (pair[1].time - pair[0].time) as f64).collect()
}

pub fn high_frequency(of: &[&ValueTransfer]) -> bool {
    let most = |secs| super::view::windows(of, secs).map(<[_]>::len).max().unwrap_or(0);
    let mut gaps = gaps(of);
    gaps.sort_by(f64::total_cmp);
    most(3_600) >= 100 || most(DAY) >= 500 || (of.len() >= 200 && gaps[gaps.len() / 2] <= 30.0)
}

pub fn always_on(of: &[&ValueTransfer]) -> bool {
    let mut hours = [0_u32; 24];
    let mut days = Vec::new();
    for moved in of {
        hours[usize::try_from(moved.time.rem_euclid(DAY) / 3_600).unwrap()] += 1;
        days.push(moved.time / DAY);
    }
    days.dedup();
    let total = f64::from(hours.iter().sum::<u32>());
    let entropy: f64 =
        hours.iter().filter(|&&count| count > 0).map(|&count| f64::from(count) / total).map(|p| -p * p.ln()).sum();
    // The longest silent stretch of the mean day, which wraps around midnight.
    let (mut silent, mut longest) = (0, 0);
    for hour in 0..48 {
        silent = if hours[hour % 24] == 0 { silent + 1 } else { 0 };
        longest = longest.max(silent);
    }
    of.len() >= 200 && days.len() >= 14 && entropy >= 0.95 * 24_f64.ln() && longest <= 3
}

pub fn fixed_interval(of: &[&ValueTransfer]) -> bool {
    let gaps = gaps(of);
    if of.len() < 20 {
        return false;
    }
    #[expect(clippy::cast_precision_loss, reason = "few transfers")]
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let spread = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count).sqrt();
    if mean == 0.0 {
        return false;
    }
    // No time between two is not an interval.
    let near =
        |one: f64| if one == 0.0 { 0 } else { gaps.iter().filter(|&&gap| (gap - one).abs() <= 0.05 * one).count() };
    let most = gaps.iter().map(|&gap| near(gap)).max().unwrap();
    spread / mean <= 0.10 || most * 10 >= gaps.len() * 6
}
