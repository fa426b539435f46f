//! Rules about ways of money, several hops long.

use std::collections::{BTreeMap, BTreeSet};

use headwater_simulate::truth::Role;
use headwater_types::{Address, Asset, Chain, TxHash};

use super::view::{ValueTransfer, View, ins, outs, usd, windows};

const DAY: i64 = 86_400;

pub fn gather_scatter(of: &[&ValueTransfer], who: Address) -> bool {
    let came = ins(of, who);
    windows(&came, DAY).any(|window| {
        let (first, last) = (window[0].time, window[window.len() - 1].time);
        let onward: Vec<_> =
            outs(of, who).into_iter().filter(|moved| (first..=last + 2 * DAY).contains(&moved.time)).collect();
        let from: BTreeSet<_> = window.iter().map(|moved| moved.from).collect();
        let to: BTreeSet<_> = onward.iter().map(|moved| moved.to).collect();
        from.len() >= 10 && to.len() >= 10 && usd(&onward) >= 0.8 * usd(window)
    })
}

/// Returns whether an address belongs to an exchange, as one of these roles.
fn is_exchange(view: &View, who: Address, roles: &[Role]) -> bool {
    view.roles.get(&who).is_some_and(|(role, _)| roles.contains(role))
}

const EXCHANGE: [Role; 3] = [Role::ExchangeHot, Role::ExchangeCold, Role::ExchangeGas];
const EXCHANGE_OR_DEPOSIT: [Role; 4] =
    [Role::ExchangeHot, Role::ExchangeCold, Role::ExchangeGas, Role::ExchangeDeposit];

pub fn scatter_gather(view: &View, chain: Chain, who: Address) -> bool {
    let mut went = outs(&view.valued(chain, who), who);
    went.retain(|moved| !is_exchange(view, moved.to, &EXCHANGE_OR_DEPOSIT));
    // By sink: when who got how much that was passed on to it.
    let mut carried: BTreeMap<Address, Vec<(i64, Address, f64)>> = BTreeMap::new();
    for moved in &went {
        let mut onward: BTreeMap<Address, f64> = BTreeMap::new();
        for later in outs(&view.valued(chain, moved.to), moved.to) {
            let in_time = (moved.time..=moved.time + 3 * DAY).contains(&later.time);
            if in_time && later.asset == moved.asset && later.to != who && !is_exchange(view, later.to, &EXCHANGE) {
                *onward.entry(later.to).or_default() += later.raw;
            }
        }
        for (sink, raw) in onward {
            if raw >= 0.7 * moved.raw {
                carried.entry(sink).or_default().push((moved.time, moved.to, moved.usd.unwrap()));
            }
        }
    }
    carried.values().any(|carried| {
        carried.iter().any(|(first, ..)| {
            let mut by_carrier: BTreeMap<Address, f64> = BTreeMap::new();
            for (_, carrier, usd) in carried.iter().filter(|(at, ..)| (*first..=first + 3 * DAY).contains(at)) {
                by_carrier.entry(*carrier).or_insert(*usd);
            }
            by_carrier.len() >= 5 && by_carrier.values().sum::<f64>() >= 1_000.0
        })
    })
}

/// Returns whether an address was never seen before a time.
fn fresh(view: &View, chain: Chain, who: Address, before: i64) -> bool {
    view.all(chain, who).first().is_none_or(|first| first.time >= before)
}

/// The part of all that came of its asset that a transfer takes, if any came before.
fn part(of: &[&ValueTransfer], who: Address, moved: &ValueTransfer) -> Option<f64> {
    let came: Vec<_> = ins(of, who).into_iter().filter(|other| other.asset == moved.asset).collect();
    came.first().filter(|first| first.time <= moved.time)?;
    Some(moved.raw / came.iter().map(|moved| moved.raw).sum::<f64>())
}

/// Returns where a hop passes to: 70 to 99 % of its inflow to one fresh address within 72 h of its first transfer, the
/// rest peeled.
fn peels_to(view: &View, chain: Chain, who: Address) -> Option<Address> {
    let first = view.all(chain, who).first()?.time;
    let of = view.valued(chain, who);
    let went = outs(&of, who);
    went.iter()
        .find(|moved| {
            moved.time - first <= 3 * DAY
                && part(&of, who, moved).is_some_and(|part| (0.70..=0.99).contains(&part))
                && fresh(view, chain, moved.to, moved.time)
                && went.iter().filter(|other| other.asset == moved.asset).count() >= 2
        })
        .map(|moved| moved.to)
}

pub fn peel_chain(view: &View, chain: Chain, who: Address) -> bool {
    let next = |at: Address| peels_to(view, chain, at);
    if next(who).is_none() {
        return false;
    }
    let back = |at: Address| {
        let of = view.valued(chain, at);
        ins(&of, at).iter().map(|moved| moved.from).find(|&from| next(from) == Some(at))
    };
    let mut start = who;
    while let Some(earlier) = back(start) {
        start = earlier;
    }
    let mut hops = 0;
    while let Some(later) = next(start) {
        hops += 1;
        start = later;
    }
    hops >= 5
}

/// Returns where a young address passes at least 90 % of what came, within a day.
fn layers_to(view: &View, chain: Chain, who: Address) -> Option<Address> {
    let of = view.valued(chain, who);
    let first = view.all(chain, who).first()?.time;
    let came = |asset| ins(&of, who).into_iter().find(|moved| moved.asset == asset).map(|moved| moved.time);
    outs(&of, who)
        .iter()
        .find(|moved| {
            moved.time - first <= 7 * DAY
                && part(&of, who, moved).is_some_and(|part| part >= 0.9)
                && moved.time - came(moved.asset).unwrap() <= DAY
        })
        .map(|moved| moved.to)
}

pub fn layering_hop(view: &View, chain: Chain, who: Address) -> bool {
    let next = |at: Address| layers_to(view, chain, at);
    if next(who).is_none() {
        return false;
    }
    let back = |at: Address| {
        let of = view.valued(chain, at);
        ins(&of, at).iter().map(|moved| moved.from).find(|&from| next(from) == Some(at))
    };
    let mut start = who;
    let mut seen = BTreeSet::new();
    while let Some(earlier) = back(start)
        && seen.insert(earlier)
    {
        start = earlier;
    }
    let mut length = 0;
    while let Some(later) = next(start)
        && length < 50
    {
        length += 1;
        start = later;
    }
    length >= 3
}

/// Transactions by which an address gives one asset and gets another.
fn swapped(view: &View, chain: Chain, who: Address) -> BTreeSet<TxHash> {
    let mut assets: BTreeMap<TxHash, BTreeMap<Asset, f64>> = BTreeMap::new();
    for moved in view.all(chain, who) {
        *assets.entry(moved.hash).or_default().entry(moved.asset).or_default() +=
            if moved.to == who { moved.raw } else { -moved.raw };
    }
    let is_swap =
        |nets: &BTreeMap<Asset, f64>| nets.values().any(|net| *net > 0.0) && nets.values().any(|net| *net < 0.0);
    assets.into_iter().filter(|(_, nets)| is_swap(nets)).map(|(hash, _)| hash).collect()
}

pub fn round_trip(view: &View, chain: Chain, who: Address) -> bool {
    let swaps = swapped(view, chain, who);
    let mine = view.valued(chain, who);
    outs(&mine, who).iter().any(|first| {
        let carries = |to: Address| !to.is_zero() && !is_exchange(view, to, &EXCHANGE);
        first.usd >= Some(1_000.0) && !swaps.contains(&first.hash) && carries(first.to) && {
            let mut paths = vec![(first.to, first.time, vec![who, first.to])];
            let mut found = false;
            for _ in 1..4 {
                let mut longer = Vec::new();
                for (at, time, path) in &paths {
                    for moved in outs(&view.valued(chain, *at), *at) {
                        let fits = moved.asset == first.asset
                            && moved.time >= *time
                            && moved.time <= first.time + 7 * DAY
                            && moved.raw >= 0.8 * first.raw;
                        if fits && moved.to == who {
                            found |= !swaps.contains(&moved.hash);
                        } else if fits && !path.contains(&moved.to) && carries(moved.to) {
                            let mut path = path.clone();
                            path.push(moved.to);
                            longer.push((moved.to, moved.time, path));
                        }
                    }
                }
                paths = longer;
            }
            found
        }
    })
}
