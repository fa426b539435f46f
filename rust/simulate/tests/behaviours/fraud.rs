//! Rules about mixers, bridges and deceit.

use std::collections::{BTreeMap, BTreeSet};

use headwater_simulate::truth::Role;
use headwater_types::{Address, Asset, Chain};

use super::view::{ValueTransfer, View, ins, outs, usd};

const DAY: i64 = 86_400;

fn role(view: &View, address: Address) -> Option<Role> {
    view.roles.get(&address).map(|role| role.0)
}

pub fn mixer_interaction(view: &View, chain: Chain, who: Address) -> bool {
    let of = view.valued(chain, who);
    let mixed = |other: Address| matches!(role(view, other), Some(Role::MixerPool | Role::MixerRelayer));
    let came: Vec<_> = ins(&of, who).into_iter().filter(|moved| mixed(moved.from)).collect();
    let spent = |came: &&ValueTransfer| {
        of.iter().any(|later| later.from == who && later.asset == came.asset && later.time >= came.time)
    };
    let dust =
        usd(&came) < 50.0 || (usd(&came) < 500.0 && usd(&came) < 0.01 * usd(&ins(&of, who)) && !came.iter().any(spent));
    outs(&of, who).iter().any(|moved| mixed(moved.to)) || (!came.is_empty() && !dust)
}

pub fn gas_funded_by_mixer(view: &View, chain: Chain, who: Address) -> bool {
    let of: Vec<_> = view.all(chain, who).into_iter().filter(|moved| moved.to == who && moved.from != who).collect();
    let money = |moved: &&&ValueTransfer| moved.asset == Asset::Native || super::view::is_stable(&moved.symbol);
    let came = of.iter().filter(|moved| !moved.exact.is_zero()).filter(money);
    let mixed = |moved: &ValueTransfer| matches!(role(view, moved.from), Some(Role::MixerPool | Role::MixerRelayer));
    let most = if chain == Chain::TRON { 500.0 } else { 0.5 };
    let native = came.take_while(|moved| mixed(moved)).filter(|moved| moved.asset == Asset::Native);
    native.take(3).any(|moved| moved.exact.to_f64(moved.decimals) <= most)
}

pub fn bridge_hopping(view: &View, of: &[&ValueTransfer], who: Address) -> bool {
    let vault = |moved: &&&ValueTransfer| role(view, moved.to) == Some(Role::BridgeVault);
    let received = usd(&ins(of, who));
    let went = outs(of, who);
    let deposits: Vec<_> = went.iter().filter(vault).copied().collect();
    super::view::windows(&deposits, DAY).any(|window| {
        let bridges: BTreeSet<_> = window.iter().map(|moved| &view.roles[&moved.to].1).collect();
        window.len() >= 3 && bridges.len() >= 2 && usd(window) >= 0.7 * received
    })
}

/// Returns whether two addresses share three digits in front and four behind.
fn alike(left: Address, right: Address) -> bool {
    let (left, right) = (left.to_string(), right.to_string());
    let front = |text: &str| text.trim_start_matches("0x")[..3].to_owned();
    left != right && front(&left) == front(&right) && left[left.len() - 4..] == right[right.len() - 4..]
}

/// Poison of one address: zero-value, under a dollar or counterfeit, within a day of a true payment of the victim to
/// somebody who looks the same. Gives the victims.
fn poisoned(view: &View, chain: Chain, sender: Option<Address>, of: &[&ValueTransfer]) -> BTreeSet<Address> {
    let mut victims = BTreeSet::new();
    for moved in of {
        if sender.is_some_and(|sender| moved.sender != sender && moved.from != sender) {
            continue;
        }
        let small = moved.exact.is_zero() || moved.usd.is_none() || moved.usd < Some(1.0);
        for (victim, twin) in [(moved.from, moved.to), (moved.to, moved.from)] {
            let true_payment = |paid: &&ValueTransfer| {
                paid.from == victim
                    && paid.usd > Some(1.0)
                    && (0..=DAY).contains(&(moved.time - paid.time))
                    && alike(paid.to, twin)
            };
            if small && view.all(chain, victim).iter().any(true_payment) {
                victims.insert(victim);
            }
        }
    }
    victims
}

/// Everything that an operator sends, and what the look-alikes send to which it sent dust.
pub fn emitted(view: &View, chain: Chain, who: Address) -> Vec<&ValueTransfer> {
    let dust = outs(&view.all(chain, who), who).into_iter().filter(|moved| moved.usd < Some(1.0));
    let funded: BTreeSet<_> = dust.map(|moved| moved.to).collect();
    let senders = funded.into_iter().chain([who]);
    senders.flat_map(|sender| view.sent(chain, sender)).collect()
}

pub fn address_poisoning(view: &View, chain: Chain, who: Address) -> bool {
    poisoned(view, chain, None, &emitted(view, chain, who)).len() >= 10
}

/// Dust: at least a hundred recipients of less than a dollar in a day, none of whom replies.
pub fn dusting(view: &View, chain: Chain, who: Address) -> bool {
    let of = view.valued(chain, who);
    let grains: Vec<_> = outs(&of, who).into_iter().filter(|moved| moved.usd < Some(1.0)).collect();
    super::view::windows(&grains, DAY).any(|window| {
        let recipients: BTreeSet<_> = window.iter().map(|moved| moved.to).collect();
        let replies = ins(&of, who).iter().filter(|moved| recipients.contains(&moved.from)).count();
        recipients.len() >= 100 && replies == 0
    })
}

/// Returns whether an address got poison, dust apart.
pub fn is_poisoned(view: &View, chain: Chain, who: Address) -> bool {
    poisoned(view, chain, None, &view.all(chain, who)).contains(&who)
}

pub fn poisoning_target(view: &View, chain: Chain, who: Address) -> bool {
    let of = view.all(chain, who);
    let dusters: BTreeSet<_> =
        of.iter().filter(|moved| moved.to == who && moved.usd < Some(1.0)).map(|moved| moved.from).collect();
    poisoned(view, chain, None, &of).contains(&who) || dusters.into_iter().any(|from| dusting(view, chain, from))
}

pub fn new_token_dump(view: &View, chain: Chain, who: Address) -> bool {
    let all = view.all(chain, who);
    let mut minted: BTreeMap<Asset, (i64, f64, f64)> = BTreeMap::new();
    for moved in &all {
        let born = view.born.get(&(chain, moved.asset)) == Some(&moved.time);
        let is_listed = moved.usd.is_some();
        // What is given for something, as liquidity or in a swap, is sold.
        let is_sale = || all.iter().any(|other| other.hash == moved.hash && other.to == who && !other.exact.is_zero());
        if born && moved.from.is_zero() && moved.to == who && moved.asset != Asset::Native && !is_listed {
            minted.entry(moved.asset).or_insert((moved.time, moved.raw, 0.0));
        } else if let Some(held) = minted.get_mut(&moved.asset)
            && moved.from == who
            && moved.time <= held.0 + 3 * DAY
            && is_sale()
        {
            held.2 += moved.raw;
        }
    }
    minted.into_values().any(|(_, got, sold)| got > 0.0 && sold >= 0.8 * got)
}

pub fn approval_drain(view: &View, chain: Chain, who: Address) -> bool {
    let mut drains: Vec<(i64, Address, Address)> = Vec::new();
    for moved in view.all(chain, who).into_iter().filter(|moved| moved.to == who && moved.asset != Asset::Native) {
        if moved.sender == moved.from {
            continue;
        }
        let before: f64 = view
            .all(chain, moved.from)
            .iter()
            .filter(|other| {
                other.asset == moved.asset
                    && (other.time, other.block, other.index) < (moved.time, moved.block, moved.index)
            })
            .map(|other| if other.to == moved.from { other.raw } else { -other.raw })
            .sum();
        if moved.raw >= 0.7999 * before {
            drains.push((moved.time, moved.from, moved.sender));
        }
    }
    drains.iter().any(|first| {
        let window: Vec<_> = drains.iter().filter(|drain| (0..=7 * DAY).contains(&(drain.0 - first.0))).collect();
        let owners: BTreeSet<_> = window.iter().map(|drain| drain.1).collect();
        let senders: BTreeSet<_> = window.iter().map(|drain| drain.2).collect();
        owners.len() >= 3 && senders.len() <= 2
    })
}
