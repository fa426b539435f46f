//! Rules about how many and how much.

use std::collections::{BTreeMap, BTreeSet};

use headwater_simulate::truth::Role;
use headwater_types::Address;

use super::view::{ValueTransfer, View, ins, outs, usd, windows};

const DAY: i64 = 86_400;

fn recipients(moved: &[&ValueTransfer]) -> BTreeSet<Address> {
    moved.iter().map(|moved| moved.to).collect()
}

fn senders(moved: &[&ValueTransfer]) -> BTreeSet<Address> {
    moved.iter().map(|moved| moved.from).collect()
}

pub fn fan_out(of: &[&ValueTransfer], who: Address) -> bool {
    let went = outs(of, who);
    windows(&went, DAY).any(|window| {
        let end = window[window.len() - 1].time;
        let funding: Vec<_> =
            ins(of, who).into_iter().filter(|moved| moved.time <= end && moved.usd > Some(1.0)).collect();
        let (targets, sources) = (recipients(window).len(), senders(&funding).len().max(1));
        targets >= 20 && sources <= 3 && targets >= 5 * sources && usd(window) >= 1_000.0
    })
}

pub fn fan_in(of: &[&ValueTransfer], who: Address) -> bool {
    let came = ins(of, who);
    windows(&came, DAY).any(|window| {
        let last = window[window.len() - 1].time;
        let onward: Vec<_> =
            outs(of, who).into_iter().filter(|moved| (window[0].time..=last + DAY).contains(&moved.time)).collect();
        let mut by_target: BTreeMap<Address, f64> = BTreeMap::new();
        for moved in &onward {
            *by_target.entry(moved.to).or_default() += moved.usd.unwrap();
        }
        let mut sums: Vec<_> = by_target.into_values().collect();
        sums.sort_by(|left, right| right.total_cmp(left));
        senders(window).len() >= 20 && sums.iter().take(2).sum::<f64>() >= 0.8 * usd(window)
    })
}

pub fn structuring(of: &[&ValueTransfer], who: Address) -> bool {
    [1_000.0, 3_000.0, 10_000.0].into_iter().any(|limit| {
        [ins(of, who), outs(of, who)].into_iter().any(|one| {
            let near: Vec<_> =
                one.into_iter().filter(|moved| moved.usd >= Some(0.8 * limit) && moved.usd < Some(limit)).collect();
            windows(&near, DAY).any(|window| window.len() >= 5 && usd(window) >= 3.0 * limit)
        })
    })
}

pub fn equal_amount_split(of: &[&ValueTransfer], who: Address) -> bool {
    let went = outs(of, who);
    windows(&went, DAY).any(|window| {
        window.iter().any(|first| {
            let same = |moved: &&&ValueTransfer| {
                moved.asset == first.asset && (moved.raw - first.raw).abs() <= 0.001 * first.raw
            };
            window.iter().filter(same).map(|moved| moved.to).collect::<BTreeSet<_>>().len() >= 10
        })
    })
}

fn is_round(moved: &ValueTransfer) -> bool {
    let text = moved.exact.to_string();
    let digits = text.trim_end_matches('0').len();
    digits <= 2 && moved.exact.to_f64(moved.decimals) >= 100.0
}

pub fn round_amounts(of: &[&ValueTransfer]) -> bool {
    let round = of.iter().filter(|moved| is_round(moved)).count();
    of.len() >= 10 && round * 10 >= of.len() * 6
}

pub fn multi_exchange_cashout(view: &View, of: &[&ValueTransfer], who: Address) -> bool {
    let went = outs(of, who);
    let total = usd(&went);
    let deposits: Vec<_> = went
        .into_iter()
        .filter(|moved| view.roles.get(&moved.to).is_some_and(|role| role.0 == Role::ExchangeDeposit))
        .collect();
    windows(&deposits, DAY).any(|window| {
        let exchanges: BTreeSet<_> = window.iter().map(|moved| &view.roles[&moved.to].1).collect();
        recipients(window).len() >= 3 && exchanges.len() >= 2 && usd(window) >= 0.5 * total
    })
}

pub fn ponzi_payout(of: &[&ValueTransfer], who: Address) -> bool {
    let (came, went) = (ins(of, who), outs(of, who));
    let payers = senders(&came);
    let payouts: Vec<_> = went.iter().filter(|moved| payers.contains(&moved.to)).collect();
    let earlier = payouts
        .iter()
        .filter(|payout| came.iter().any(|moved| moved.from == payout.to && moved.time < payout.time))
        .count();
    // A payout is covered when more came in since the recipient paid than went out to payers.
    let covered = payouts
        .iter()
        .filter(|payout| {
            let own = came.iter().filter(|moved| moved.from == payout.to).map(|moved| moved.time).min().unwrap();
            let later: f64 = came
                .iter()
                .filter(|moved| moved.time > own && moved.time <= payout.time && moved.from != payout.to)
                .filter_map(|moved| moved.usd)
                .sum();
            later >= payout.usd.unwrap()
        })
        .count();
    let hhi = |sums: BTreeMap<Address, f64>| {
        let total: f64 = sums.values().sum();
        sums.values().map(|sum| (sum / total).powi(2)).sum::<f64>()
    };
    let mut paid_in: BTreeMap<Address, f64> = BTreeMap::new();
    let mut paid_out: BTreeMap<Address, f64> = BTreeMap::new();
    for moved in &came {
        *paid_in.entry(moved.from).or_default() += moved.usd.unwrap();
    }
    for moved in &payouts {
        *paid_out.entry(moved.to).or_default() += moved.usd.unwrap();
    }
    let gains = paid_out.iter().any(|(payer, sum)| *sum > paid_in[payer] + 1e-6);
    payers.len() >= 50
        && gains
        && !payouts.is_empty()
        && earlier * 10 >= went.len() * 6
        && covered * 10 >= payouts.len() * 8
        && hhi(paid_out) >= 2.0 * hhi(paid_in)
}
