//! Wash trading: a few accounts pass one asset around, and nobody ends up with more or less of it.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Amount, Asset};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Episodes, Evidence, Fact, intensity, join, measure, note};
use crate::behaviour::history::{AssetKind, History, NOBODY, Roles, Transfer, Way};
use crate::behaviour::others::Reading;
use crate::behaviour::{DetectAmongOthers, MAX_LISTED, Needs};

/// A set of at most `most_accounts` that can all reach each other by repeated transfers of one asset, and within one of
/// the windows transfer it so among each other that the net change of each is a small part of what it moved (after Victor
/// and Weintraud 2021).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WashTrading {
    /// The windows, each tried.
    pub windows_secs: Vec<i64>,
    /// Accounts of the set.
    pub most_accounts: usize,
    /// Transfers from one account to another within a window that make it a partner.
    pub least_repeats: usize,
    /// Transfers of the address itself within a window.
    pub least_own: usize,
    /// Transfers of the set in the window.
    pub least_transfers: usize,
    /// The number of transfers from which the intensity is 1.
    pub full_transfers: usize,
    /// Net change of an account, as a share of what it moved.
    pub most_net: f64,
}

/// A transfer of the asset within the set.
#[derive(Clone, Copy)]
struct Inside {
    time: i64,
    from: usize,
    to: usize,
    raw: u128,
    transaction: TransactionRef,
}

impl DetectAmongOthers for WashTrading {
    const NEEDS: Needs = Needs::Movements;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        let by_asset = self.by_asset(history);
        if by_asset.is_empty() {
            return Ok(None);
        }
        if others.is_hub(history.all.len()) {
            return Ok(others.miss());
        }
        let longest = self.windows_secs.iter().copied().max().unwrap_or_default();
        let mut found: Option<Episodes<Evidence>> = None;
        for transfers in by_asset {
            let asset = history.asset(transfers[0]);
            let mut tried: FxHashSet<Vec<Address>> = FxHashSet::default();
            for secs in &self.windows_secs {
                for window in time_windows(&transfers, *secs) {
                    if !self.may_be_washed(window) {
                        continue;
                    }
                    let times = (window[0].time.saturating_sub(*secs), window[0].time.saturating_add(*secs));
                    let set = self.set(history, others, (&asset, times))?;
                    if set.len() >= 2 && set.len() <= self.most_accounts && tried.insert(set.clone()) {
                        let of_set = self.within(history, others, (&asset, longest), &set)?;
                        found = join(found, of_set);
                    }
                }
            }
        }
        Ok(found.map(|found| Detection {
            intensity: intensity(found.measure, measure(self.least_transfers), measure(self.full_transfers)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        }))
    }
}

fn time_windows<'t, 'h>(transfers: &'t [&'h Transfer], secs: i64) -> impl Iterator<Item = &'t [&'h Transfer]> {
    let mut end = 0;
    (0..transfers.len()).map(move |start| {
        let until = transfers[start].time.saturating_add(secs);
        end = end.max(start);
        while transfers.get(end).is_some_and(|transfer| transfer.time <= until) {
            end += 1;
        }
        &transfers[start..end]
    })
}

impl WashTrading {
    /// The transfers of each asset that could be traded so: in the order in which assets moved first.
    fn by_asset<'h>(&self, history: &'h History) -> Vec<Vec<&'h Transfer>> {
        if history.all.len() < self.least_own {
            return Vec::new();
        }
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        let mut by_asset: Vec<Vec<&Transfer>> = Vec::new();
        for transfer in history.all.iter().filter(|transfer| counts(history, transfer)) {
            let place = *places.entry(transfer.asset).or_insert_with(|| {
                by_asset.push(Vec::new());
                by_asset.len() - 1
            });
            by_asset[place].push(transfer);
        }
        // Whoever sent or got it too seldom over all time did so within every window.
        for transfers in &mut by_asset {
            let mut counts_of: FxHashMap<(Way, u32), usize> = FxHashMap::default();
            for transfer in transfers.iter() {
                *counts_of.entry((transfer.way, transfer.other)).or_default() += 1;
            }
            transfers.retain(|transfer| counts_of[&(transfer.way, transfer.other)] >= self.least_repeats);
        }
        by_asset.retain(|transfers| {
            let is_there = |way| transfers.iter().any(|transfer| transfer.way == way);
            transfers.len() >= self.least_own && is_there(Way::In) && is_there(Way::Out)
        });
        by_asset
    }

    /// Whether the transfers of the address in a window may be those of a member: with some of its partners what came
    /// and what left are about equal.
    fn may_be_washed(&self, window: &[&Transfer]) -> bool {
        if window.len() < self.least_own {
            return false;
        }
        let mut sums: BTreeMap<(Way, u32), (usize, u128)> = BTreeMap::new();
        for transfer in window {
            let (count, raw) = sums.entry((transfer.way, transfer.other)).or_default();
            (*count, *raw) = (*count + 1, raw.saturating_add(transfer.raw));
        }
        let repeated = |way: Way| {
            let of_way = sums.iter().filter(move |((of, _), (count, _))| *of == way && *count >= self.least_repeats);
            of_way.map(|(_, (_, raw))| *raw).collect::<Vec<_>>()
        };
        let (came, left) = (repeated(Way::In), repeated(Way::Out));
        let sum = |of: &[u128]| of.iter().fold(0_u128, |sum, raw| sum.saturating_add(*raw));
        let is_pair = || came.iter().any(|came| left.iter().any(|left| self.is_level(*came, *left)));
        !came.is_empty() && !left.is_empty() && (self.is_level(sum(&came), sum(&left)) || is_pair())
    }

    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn is_level(&self, came: u128, left: u128) -> bool {
        came.abs_diff(left) as f64 <= self.most_net * (came as f64 + left as f64)
    }

    /// Those who reach the address and are reached by it through repeated transfers within a stretch of time, itself
    /// among them, in order.
    fn set(
        &self,
        history: &History,
        others: &Reading<'_>,
        (asset, times): (&Asset, (i64, i64)),
    ) -> Result<Vec<Address>, LedgerError> {
        let subject = others.subject();
        let mut partners: BTreeMap<Address, BTreeSet<Address>> = BTreeMap::new();
        let mut open = vec![subject];
        for _ in 1..self.most_accounts.max(2) {
            let mut next = Vec::new();
            for at in open {
                if partners.contains_key(&at) {
                    continue;
                }
                let of_one = if at == subject {
                    self.partners(history, asset, times)
                } else {
                    let Some(of_other) = others.history(&at)? else { continue };
                    self.partners(&of_other, asset, times)
                };
                next.extend(of_one.iter().copied().filter(|other| !partners.contains_key(other)));
                partners.insert(at, of_one);
            }
            open = next;
        }
        // The last ones are only asked whether they lead back.
        for at in open {
            if !partners.contains_key(&at)
                && let Some(of_other) = others.history(&at)?
            {
                partners.insert(at, self.partners(&of_other, asset, times));
            }
        }
        let mut members = BTreeSet::from([subject]);
        loop {
            let leads = |to: &BTreeSet<Address>| to.iter().any(|other| members.contains(other));
            let more: Vec<Address> =
                partners.iter().filter(|(at, to)| !members.contains(*at) && leads(to)).map(|(at, _)| *at).collect();
            if more.is_empty() {
                return Ok(members.into_iter().collect());
            }
            members.extend(more);
        }
    }

    /// To whom an address sends an asset again and again within a stretch of time.
    fn partners(&self, history: &History, asset: &Asset, (from, until): (i64, i64)) -> BTreeSet<Address> {
        let mut counts_of: BTreeMap<u32, usize> = BTreeMap::new();
        let start = history.all.partition_point(|transfer| transfer.time < from);
        for sent in history.all[start..].iter().take_while(|sent| sent.time <= until) {
            if sent.way == Way::Out && counts(history, sent) && history.asset(sent) == *asset {
                *counts_of.entry(sent.other).or_default() += 1;
            }
        }
        let often = counts_of.into_iter().filter(|(_, count)| *count >= self.least_repeats);
        often.map(|(other, _)| history.counterparties[other as usize].address).collect()
    }

    /// The episodes of a set.
    fn within(
        &self,
        history: &History,
        others: &Reading<'_>,
        (asset, longest): (&Asset, i64),
        set: &[Address],
    ) -> Result<Option<Episodes<Evidence>>, LedgerError> {
        let own = set.iter().position(|member| *member == others.subject()).unwrap_or_default();
        let mut inside = Vec::new();
        let mut decimals = None;
        for (from, member) in set.iter().enumerate() {
            let of_member = if from == own { None } else { others.history(member)? };
            let of_member = match (&of_member, from == own) {
                (Some(of_member), _) => of_member,
                (None, true) => history,
                (None, false) => return Ok(None),
            };
            for sent in of_member.all.iter().filter(|sent| sent.way == Way::Out && counts(of_member, sent)) {
                let to = of_member.other(sent).and_then(|other| set.iter().position(|member| *member == other.address));
                if let Some(to) = to.filter(|_| of_member.asset(sent) == *asset) {
                    decimals = of_member.assets[sent.asset as usize].decimals;
                    let (time, raw, transaction) = (sent.time, sent.raw, sent.transaction);
                    inside.push(Inside { time, from, to, raw, transaction });
                }
            }
        }
        inside.sort_by_key(|one| (one.time, one.from, one.to, one.raw));
        let mut found = None;
        for secs in self.windows_secs.iter().filter(|secs| **secs <= longest) {
            let mut sums = vec![(0_u128, 0_u128); set.len()];
            let (mut start, mut end) = (0, 0);
            while start < inside.len() {
                while inside.get(end).is_some_and(|one| one.time <= inside[start].time.saturating_add(*secs)) {
                    sums[inside[end].from].1 = sums[inside[end].from].1.saturating_add(inside[end].raw);
                    sums[inside[end].to].0 = sums[inside[end].to].0.saturating_add(inside[end].raw);
                    end += 1;
                }
                let window = &inside[start..end];
                let is_level = sums.iter().all(|(came, left)| self.is_level(*came, *left));
                let is_part_of_it = sums[own] != (0, 0);
                if window.len() >= self.least_transfers && is_level && is_part_of_it {
                    let span = (window[0].time, window[window.len() - 1].time);
                    note(&mut found, span, measure(window.len()), || {
                        evidence(set, *asset, (window, &sums), decimals).within(*secs)
                    });
                }
                let first = &inside[start];
                sums[first.from].1 = sums[first.from].1.saturating_sub(first.raw);
                sums[first.to].0 = sums[first.to].0.saturating_sub(first.raw);
                start += 1;
            }
        }
        Ok(found)
    }
}

/// Whether a movement may be one of a set: everybody can write movements of counterfeit tokens, mints have no sender, and
/// exchanges trade with everybody.
fn counts(history: &History, transfer: &Transfer) -> bool {
    let is_sound = transfer.raw > 0 && transfer.raw != u128::MAX && transfer.other != NOBODY;
    is_sound
        && history.kind(transfer) != AssetKind::Counterfeit
        && !history.roles(transfer.other).holds(Roles::EXCHANGE)
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn evidence(
    set: &[Address],
    asset: Asset,
    (window, sums): (&[Inside], &[(u128, u128)]),
    decimals: Option<u8>,
) -> Evidence {
    let net = |(came, left): &(u128, u128)| {
        let volume = *came as f64 + *left as f64;
        if volume > 0.0 { came.abs_diff(*left) as f64 / volume } else { 0.0 }
    };
    let volume = window.iter().fold(0_u128, |sum, one| sum.saturating_add(one.raw));
    let evidence = Evidence::by(window.iter().map(|one| one.transaction))
        .with("accounts", Fact::Addresses(set.iter().copied().take(MAX_LISTED).collect()))
        .with("asset", Fact::Asset(asset))
        .count("transfers", window.len())
        .with("net", Fact::Ratio(sums.iter().map(net).fold(0.0, f64::max)));
    let units = decimals.map(|decimals| Amount::from_u128(volume).to_f64(decimals));
    units.into_iter().fold(evidence, |evidence, units| evidence.with("volume", Fact::Units(units)))
}
