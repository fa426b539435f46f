//! Scatter then gather: money goes out to several, who soon bring it to one address.

use std::collections::BTreeMap;

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Usd};
use rustc_hash::FxHashSet;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, Stretch, windows};
use crate::behaviour::history::{Counterparty, History, NOBODY, Roles, Transfer};
use crate::behaviour::others::Reading;
use crate::behaviour::{DetectAmongOthers, Needs, ratio};

/// Within `window_secs` several intermediaries get something, and within `window_secs` after that each pays most of it on to
/// one common address, in the same asset. An exchange, or a hub, gathers from everybody and is no such address.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScatterGather {
    /// Intermediaries.
    pub least_intermediaries: usize,
    /// How soon after each other they are paid, and how soon each pays on.
    pub window_secs: i64,
    /// Share of what they got.
    pub least_forwarded: f64,
    /// US dollars that went out to them, together.
    pub least_usd: f64,
}

/// What one intermediary brought to a sink.
struct Carried {
    by: Address,
    out_usd: Usd,
    brought_usd: Usd,
    times: (i64, i64),
    transactions: [TransactionRef; 2],
}

impl DetectAmongOthers for ScatterGather {
    const NEEDS: Needs = Needs::Values;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        if history.outs.len() < self.least_intermediaries || history.out_usd.to_f64() < self.least_usd {
            return Ok(None);
        }
        let mut by_sink: BTreeMap<Address, Vec<Carried>> = BTreeMap::new();
        let recipients = self.recipients(history);
        for (place, (recipient, outs)) in recipients.iter().enumerate() {
            let recipient = &history.counterparties[*recipient as usize];
            // What is left cannot make enough of any.
            let most = by_sink.values().map(Vec::len).max().unwrap_or_default();
            if most + (recipients.len() - place) < self.least_intermediaries {
                return Ok(None);
            }
            let Some(of_recipient) = others.history(&recipient.address)? else { continue };
            self.carried(history, (recipient, outs), &of_recipient, &mut by_sink);
        }
        by_sink.remove(&others.subject());
        let mut found: Option<(Address, Vec<Carried>)> = None;
        for (sink, carried) in by_sink {
            let carried = self.most_within(carried);
            let usd: Usd = carried.iter().map(|one| one.out_usd).sum();
            let is_enough = carried.len() >= self.least_intermediaries && usd.to_f64() >= self.least_usd;
            let is_more = found.as_ref().is_none_or(|(_, most)| carried.len() > most.len());
            if is_enough && is_more && others.is_readable(&sink)? {
                found = Some((sink, carried));
            }
        }
        Ok(found.map(|(sink, carried)| self.detection(sink, &carried)))
    }
}

impl ScatterGather {
    /// Those who may be intermediaries and got something within a window in which enough of them did, largest sums first,
    /// each with what they got.
    fn recipients(&self, history: &History) -> Vec<(u32, Vec<Transfer>)> {
        let may_carry = |out: &&Transfer| {
            let is = |role| history.roles(out.other).holds(role);
            out.other != NOBODY && !is(Roles::EXCHANGE) && !is(Roles::DEPOSIT)
        };
        let outs: Vec<Transfer> = history.outs.iter().filter(may_carry).copied().collect();
        let mut stretch = Stretch::new(&outs, history.counterparties.len());
        let (mut covered, mut of_each) = (0, BTreeMap::<u32, Vec<Transfer>>::new());
        for window in windows(&outs, self.window_secs) {
            stretch.slide(window.clone());
            if stretch.distinct() >= self.least_intermediaries && stretch.usd().to_f64() >= self.least_usd {
                for out in &outs[window.start.max(covered)..window.end] {
                    of_each.entry(out.other).or_default().push(*out);
                }
                covered = window.end;
            }
        }
        let mut recipients: Vec<_> = of_each.into_iter().collect();
        recipients.sort_by_cached_key(|(other, outs)| {
            let address = history.counterparties[*other as usize].address;
            (std::cmp::Reverse(outs.iter().map(|out| out.usd).sum::<Usd>()), address)
        });
        recipients
    }

    /// What most intermediaries brought who were paid within a window, the first of each.
    fn most_within(&self, mut carried: Vec<Carried>) -> Vec<Carried> {
        carried.sort_by_key(|one| (one.times, one.by));
        let mut best = (0, 0..0);
        for start in 0..carried.len() {
            let until = carried[start].times.0.saturating_add(self.window_secs);
            let end = start + carried[start..].partition_point(|one| one.times.0 <= until);
            let distinct = carried[start..end].iter().map(|one| one.by).collect::<FxHashSet<_>>().len();
            if distinct > best.0 {
                best = (distinct, start..end);
            }
        }
        let mut seen = FxHashSet::default();
        carried.drain(best.1).filter(|one| seen.insert(one.by)).collect()
    }

    /// Adds what an intermediary brought to others of each payment that it got.
    fn carried(
        &self,
        history: &History,
        (recipient, outs): (&Counterparty, &[Transfer]),
        of_recipient: &History,
        by_sink: &mut BTreeMap<Address, Vec<Carried>>,
    ) {
        for out in outs {
            let start = of_recipient.outs.partition_point(|paid| paid.time < out.time);
            let until = out.time.saturating_add(self.window_secs);
            let paid = of_recipient.outs[start..].iter().take_while(|paid| paid.time <= until);
            let mut sums: BTreeMap<u32, (u128, Usd, &Transfer)> = BTreeMap::new();
            for paid in paid.filter(|paid| paid.other != NOBODY) {
                if of_recipient.asset(paid) == history.asset(out) {
                    let (raw, usd, last) = sums.entry(paid.other).or_insert((0, Usd::ZERO, paid));
                    (*raw, *usd, *last) = (raw.saturating_add(paid.raw), *usd + paid.usd, paid);
                }
            }
            for (other, (raw, brought_usd, last)) in sums {
                let sink = of_recipient.counterparties[other as usize];
                let is_most = is_share(raw, out.raw, self.least_forwarded);
                if is_most && !sink.roles.holds(Roles::EXCHANGE) {
                    by_sink.entry(sink.address).or_default().push(Carried {
                        by: recipient.address,
                        out_usd: out.usd,
                        brought_usd,
                        times: (out.time, last.time),
                        transactions: [out.transaction, last.transaction],
                    });
                }
            }
        }
    }

    fn detection(&self, sink: Address, carried: &[Carried]) -> Detection {
        let out: Usd = carried.iter().map(|one| one.out_usd).sum();
        let brought: Usd = carried.iter().map(|one| one.brought_usd).sum();
        let mut intermediaries: Vec<_> = carried.iter().map(|one| one.by).collect();
        intermediaries.sort_unstable();
        intermediaries.truncate(crate::behaviour::MAX_LISTED);
        let pairs = carried.iter().flat_map(|one| [one.times.0, one.times.1].into_iter().zip(one.transactions));
        let mut transactions: Vec<(i64, TransactionRef)> = pairs.collect();
        transactions.sort_by_key(|(time, _)| *time);
        let evidence = Evidence::by(transactions.into_iter().map(|(_, transaction)| transaction))
            .within(self.window_secs)
            .count("intermediaries", carried.len())
            .with("via", Fact::Addresses(intermediaries))
            .with("sink", Fact::Addresses(vec![sink]))
            .with("ratio", Fact::Ratio(ratio(brought, out)))
            .with("usd", Fact::Usd(out));
        Detection {
            intensity: 1.0,
            occurrences: 1,
            first: carried.iter().map(|one| one.times.0).min().unwrap_or_default(),
            last: carried.iter().map(|one| one.times.1).max().unwrap_or_default(),
            evidence,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn is_share(part: u128, of: u128, least: f64) -> bool {
    part as f64 >= least * of as f64
}
