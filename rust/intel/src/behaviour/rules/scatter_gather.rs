//! Scatter then gather: money goes out to several, who soon bring it to one address.

use std::collections::BTreeMap;

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Usd};
use rustc_hash::FxHashSet;
use serde::Deserialize;

use crate::behaviour::evidence::{Detection, Evidence, Fact};
use crate::behaviour::history::{Counterparty, History, Roles};
use crate::behaviour::others::Reading;
use crate::behaviour::transfer::{NOBODY, Transfer};
use crate::behaviour::windows::distinct;
use crate::behaviour::{DetectAmongOthers, Needs, ratio};

/// Several intermediaries each pay most of what they got on to one common address within `window_secs`, in the same
/// asset. An exchange, or a hub, gathers from everybody and is no such address.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScatterGather {
    /// Intermediaries.
    pub least_intermediaries: usize,
    /// How soon they pay.
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
        if distinct(&history.outs) < self.least_intermediaries {
            return Ok(None);
        }
        let mut by_sink: BTreeMap<Address, Vec<Carried>> = BTreeMap::new();
        let recipients = self.recipients(history);
        for (place, (recipient, outs)) in recipients.iter().enumerate() {
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
            let usd: Usd = carried.iter().map(|one| one.out_usd).sum();
            let is_enough = carried.len() >= self.least_intermediaries && usd.to_f64() >= self.least_usd;
            let is_more = found.as_ref().is_none_or(|(_, most)| carried.len() > most.len());
            if is_enough && is_more && others.is_readable(&sink)? {
                found = Some((sink, carried));
            }
        }
        Ok(found.map(|(sink, carried)| self.detection(sink, carried)))
    }
}

impl ScatterGather {
    /// Those who got something and may be intermediaries, largest sums first, each with what they got.
    fn recipients<'h>(&self, history: &'h History) -> Vec<(&'h Counterparty, Vec<&'h Transfer>)> {
        let mut of_each: Vec<Vec<&Transfer>> = vec![Vec::new(); history.counterparties.len()];
        for out in history.outs.iter().filter(|out| out.other != NOBODY) {
            of_each[out.other as usize].push(out);
        }
        let pairs = history.counterparties.iter().zip(of_each);
        let mut recipients: Vec<_> = pairs
            .filter(|(other, outs)| {
                !outs.is_empty() && !other.roles.holds(Roles::EXCHANGE) && !other.roles.holds(Roles::DEPOSIT)
            })
            .collect();
        recipients.sort_by_cached_key(|(other, outs)| {
            (std::cmp::Reverse(outs.iter().map(|out| out.usd).sum::<Usd>()), other.address)
        });
        recipients
    }

    /// Adds what an intermediary brought to others, for each of them by the first payment that suffices.
    fn carried(
        &self,
        history: &History,
        (recipient, outs): (&Counterparty, &[&Transfer]),
        of_recipient: &History,
        by_sink: &mut BTreeMap<Address, Vec<Carried>>,
    ) {
        let mut done: FxHashSet<u32> = FxHashSet::default();
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
                if is_most && !sink.roles.holds(Roles::EXCHANGE) && done.insert(other) {
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

    fn detection(&self, sink: Address, mut carried: Vec<Carried>) -> Detection {
        carried.sort_by_key(|one| (one.times, one.by));
        let out: Usd = carried.iter().map(|one| one.out_usd).sum();
        let brought: Usd = carried.iter().map(|one| one.brought_usd).sum();
        let mut intermediaries: Vec<_> = carried.iter().map(|one| one.by).collect();
        intermediaries.sort_unstable();
        intermediaries.truncate(crate::behaviour::MOST_LISTED);
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
