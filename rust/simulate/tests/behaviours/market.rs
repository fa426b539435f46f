//! Rules about trades.

use std::collections::{BTreeMap, BTreeSet};

use headwater_simulate::truth::Role;
use headwater_types::{Address, Asset, Chain, TxHash};

use super::view::{ValueTransfer, View, outs};

const DAY: i64 = 86_400;

/// The most accounts that a ring of wash traders has.
const RING: usize = 5;

/// The accounts that trade an asset with each other and can all reach each other, around an address; of too many only so
/// many that they are seen to be.
fn ring(view: &View, chain: Chain, who: Address, asset: Asset) -> BTreeSet<Address> {
    // Up to the account that is looked for.
    let reach = |start: Address, end: Option<Address>| {
        let mut seen = BTreeSet::from([start]);
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            for &to in view.recipients(chain, at, asset) {
                let is_exchange = || {
                    view.roles.get(&to).is_some_and(|(role, _)| {
                        matches!(role, Role::ExchangeHot | Role::ExchangeCold | Role::ExchangeGas)
                    })
                };
                if seen.len() < 200 && !is_exchange() && seen.insert(to) {
                    open.push(to);
                    if end == Some(to) {
                        return seen;
                    }
                }
            }
        }
        seen
    };
    let mine = reach(who, None);
    let mutual = mine.into_iter().filter(|&other| other == who || reach(other, Some(who)).contains(&who));
    mutual.take(RING + 1).collect()
}

pub fn wash_trading(view: &View, chain: Chain, who: Address) -> bool {
    let assets: BTreeSet<_> = view.all(chain, who).iter().map(|moved| moved.asset).collect();
    assets.into_iter().any(|asset| {
        let set = ring(view, chain, who, asset);
        if !(2..=RING).contains(&set.len()) {
            return false;
        }
        let mut inside: Vec<&ValueTransfer> = set
            .iter()
            .flat_map(|&member| view.all(chain, member))
            .filter(|moved| moved.asset == asset && set.contains(&moved.from) && set.contains(&moved.to))
            .collect();
        inside.sort_by_key(|moved| (moved.time, moved.hash));
        inside.dedup_by_key(|moved| (moved.time, moved.hash));
        [3_600, DAY, 7 * DAY].into_iter().any(|secs| {
            super::view::windows(&inside, secs).any(|window| {
                let is_level = |member: &Address| {
                    let sum = |test: &dyn Fn(&ValueTransfer) -> bool| -> f64 {
                        window.iter().filter(|moved| test(moved)).map(|moved| moved.raw).sum()
                    };
                    let (came, went) = (sum(&|moved| moved.to == *member), sum(&|moved| moved.from == *member));
                    (came - went).abs() <= 0.01 * (came + went)
                };
                window.len() >= 10 && set.iter().all(is_level)
            })
        })
    })
}

/// Time, place in the block and hash of a transaction.
type ChainPosition = (i64, u32, TxHash);

/// Returns what an address gave to pools and got for it, transaction by transaction.
fn swaps(view: &View, chain: Chain, who: Address) -> Vec<(i64, String, String, TxHash)> {
    let is_dex = |address: &Address| {
        view.roles.get(address).is_some_and(|role| matches!(role.0, Role::DexPool | Role::DexRouter))
    };
    let mut by_place: BTreeMap<ChainPosition, (Option<String>, Option<String>)> = BTreeMap::new();
    for moved in view.all(chain, who) {
        let legs = by_place.entry((moved.time, moved.index, moved.hash)).or_default();
        if moved.from == who && is_dex(&moved.to) {
            legs.0 = Some(moved.symbol.clone());
        } else if moved.to == who && is_dex(&moved.from) {
            legs.1 = Some(moved.symbol.clone());
        }
    }
    by_place
        .into_iter()
        .filter_map(|((time, _, hash), (gave, got))| Some((time, gave?, got?, hash)))
        .filter(|(_, gave, got, _)| gave != got)
        .collect()
}

pub fn asset_hopping(view: &View, chain: Chain, who: Address) -> bool {
    let all = swaps(view, chain, who);
    all.windows(3).any(|three| {
        let (last, symbol) = (three[2].0, &three[2].2);
        let of_asset: Vec<_> = view.all(chain, who).into_iter().filter(|moved| moved.symbol == *symbol).collect();
        let came: f64 =
            of_asset.iter().filter(|moved| moved.to == who && moved.time == last).map(|moved| moved.raw).sum();
        let gone: f64 = outs(&of_asset, who)
            .iter()
            .filter(|moved| (last..=last + DAY).contains(&moved.time))
            .filter(|moved| !all.iter().any(|swap| swap.0 == moved.time && swap.3 == moved.hash))
            .map(|moved| moved.raw)
            .sum();
        last - three[0].0 <= DAY && gone >= 0.8 * came
    })
}

pub fn sandwich_attack(view: &View, chain: Chain, who: Address) -> bool {
    let of = view.all(chain, who);
    of.iter().filter(|first| first.to == who && first.asset != Asset::Native).any(|first| {
        of.iter().any(|second| {
            let sides = second.from == who && second.to == first.from && second.asset == first.asset;
            let close = (second.raw - first.raw).abs() <= 0.01 * first.raw;
            sides
                && close
                && first.block == second.block
                && first.index < second.index
                && view.all(chain, first.from).iter().any(|victim| {
                    victim.from == first.from
                        && victim.asset == first.asset
                        && victim.block == first.block
                        && victim.to != who
                        && first.index < victim.index
                        && victim.index < second.index
                        && first.gas_price > victim.gas_price
                        && victim.gas_price >= second.gas_price
                })
        })
    })
}

/// When a transaction was, and what it paid and got of each asset.
type Gains = (i64, BTreeMap<Asset, (f64, f64)>);

pub fn mev_bot(view: &View, chain: Chain, who: Address) -> bool {
    let mut gains: BTreeMap<TxHash, Gains> = BTreeMap::new();
    for moved in view.all(chain, who) {
        let (_, assets) = gains.entry(moved.hash).or_insert_with(|| (moved.time, BTreeMap::new()));
        let sums = assets.entry(moved.asset).or_default();
        if moved.from == who {
            sums.0 += moved.raw;
        } else {
            sums.1 += moved.raw;
        }
    }
    let times: Vec<_> = gains
        .values()
        .filter(|(_, assets)| assets.values().any(|&(paid, got)| paid > 0.0 && got > paid))
        .map(|gain| gain.0)
        .collect();
    times.len() >= 50 && times.iter().max().unwrap() - times.iter().min().unwrap() >= 7 * DAY
}
