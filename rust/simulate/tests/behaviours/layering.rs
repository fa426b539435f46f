//! Rules about ways of money, several hops long.

use std::collections::BTreeSet;

use headwater_types::{Address, Chain};

use super::view::{Moved, View, ins, outs, usd, windows};

const DAY: i64 = 86_400;

pub fn gather_scatter(of: &[&Moved], who: Address) -> bool {
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

pub fn scatter_gather(view: &View, chain: Chain, who: Address) -> bool {
    let went = outs(&view.valued(chain, who), who);
    let mut sinks: BTreeSet<Address> = BTreeSet::new();
    for moved in &went {
        sinks.extend(outs(&view.valued(chain, moved.to), moved.to).iter().map(|moved| moved.to));
    }
    sinks.into_iter().any(|sink| {
        let mut carriers = BTreeSet::new();
        for moved in &went {
            let onward: Vec<_> = outs(&view.valued(chain, moved.to), moved.to)
                .into_iter()
                .filter(|later| later.to == sink && (moved.time..=moved.time + 3 * DAY).contains(&later.time))
                .collect();
            if usd(&onward) >= 0.7 * moved.usd.unwrap() {
                carriers.insert(moved.to);
            }
        }
        carriers.len() >= 5
    })
}

/// Whether an address was never seen before a time.
fn fresh(view: &View, chain: Chain, who: Address, before: i64) -> bool {
    view.all(chain, who).first().is_none_or(|first| first.time >= before)
}

/// Where a hop passes to: 70 to 99 % of its inflow to one fresh address within 72 h, the rest peeled.
fn peels_to(view: &View, chain: Chain, who: Address) -> Option<Address> {
    let of = view.valued(chain, who);
    let came = ins(&of, who);
    let went = outs(&of, who);
    let first = came.first()?;
    went.iter()
        .find(|moved| {
            let ratio = moved.raw / came.iter().map(|moved| moved.raw).sum::<f64>();
            (0.70..=0.99).contains(&ratio)
                && moved.time - first.time <= 3 * DAY
                && fresh(view, chain, moved.to, moved.time)
                && went.len() >= 2
        })
        .map(|moved| moved.to)
}

pub fn peel_chain(view: &View, chain: Chain, who: Address) -> bool {
    let next = |at: Address| peels_to(view, chain, at);
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

/// Where a young address passes at least 90 % of what came, within a day.
fn layers_to(view: &View, chain: Chain, who: Address) -> Option<Address> {
    let of = view.valued(chain, who);
    let (came, went) = (ins(&of, who), outs(&of, who));
    let first = view.all(chain, who).first()?.time;
    let received: f64 = came.iter().map(|moved| moved.raw).sum();
    went.iter()
        .find(|moved| moved.raw >= 0.9 * received && moved.time - came[0].time <= DAY && moved.time - first <= 7 * DAY)
        .map(|moved| moved.to)
}

pub fn layering_hop(view: &View, chain: Chain, who: Address) -> bool {
    let next = |at: Address| layers_to(view, chain, at);
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

pub fn round_trip(view: &View, chain: Chain, who: Address) -> bool {
    let mine = view.valued(chain, who);
    outs(&mine, who).iter().any(|first| {
        first.usd >= Some(1_000.0) && {
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
                            found = true;
                        } else if fits && !path.contains(&moved.to) {
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
