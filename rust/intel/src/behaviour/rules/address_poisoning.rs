//! Address poisoning sender: sends bait that looks as if it came from, or went to, somebody whom the victim has paid.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Usd};
use rustc_hash::FxHashSet;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity, measure};
use crate::behaviour::history::{AssetKind, History, Transfer, Way};
use crate::behaviour::others::Reading;
use crate::behaviour::patterns::{ends, transactions};
use crate::behaviour::{DetectAmongOthers, MAX_LISTED, Needs};

/// Movements of nothing, of dust or of counterfeit tokens with many victims, each with an address that looks like one that
/// the victim paid within `window_secs` before. They are movements of the address itself, those in the transactions
/// that it sends, and those of addresses to which it sent dust.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressPoisoning {
    /// How soon after the true payment.
    pub window_secs: i64,
    /// Equal leading characters, `0x` apart.
    pub leading: usize,
    /// Equal trailing characters.
    pub trailing: usize,
    /// Bait is worth less.
    pub most_usd: f64,
    /// Distinct victims.
    pub least_victims: usize,
    /// The number of victims from which the intensity is 1.
    pub full_victims: usize,
}

/// What may be bait.
#[derive(Clone, Copy)]
struct Bait {
    time: i64,
    transaction: TransactionRef,
    victim: Address,
    twin: Address,
    what: &'static str,
}

/// Bait with the address that its twin imitates.
struct Proven {
    bait: Bait,
    imitated: Address,
}

impl DetectAmongOthers for AddressPoisoning {
    const NEEDS: Needs = Needs::Movements;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        let own = self.own(history, others.subject());
        let mut baits = own.clone();
        self.sent(history, others, &mut baits)?;
        let victims: FxHashSet<Address> = baits.iter().map(|bait| bait.victim).collect();
        if victims.len() < self.least_victims {
            return Ok(None);
        }
        for recipient in own.iter().map(|bait| bait.victim).collect::<BTreeSet<_>>() {
            let since = own.iter().filter(|bait| bait.victim == recipient).map(|bait| bait.time).min();
            if let (Some(of_recipient), Some(since)) = (others.history(&recipient)?, since) {
                let further = self.own(&of_recipient, recipient);
                let is_soon = |bait: &Bait| (since..=since.saturating_add(self.window_secs)).contains(&bait.time);
                baits.extend(further.into_iter().filter(is_soon));
            }
        }
        baits.sort_by_key(|bait| (bait.time, bait.victim, bait.twin));
        let mut proven = Vec::new();
        for bait in baits.into_iter().filter(|bait| bait.victim != others.subject()) {
            if let Some(of_victim) = others.history(&bait.victim)?
                && let Some(imitated) = self.imitated(&of_victim, &bait)
            {
                proven.push(Proven { bait, imitated });
            }
        }
        Ok(self.detection(&proven))
    }
}

impl AddressPoisoning {
    /// What makes bait of a movement; `None` where it is none. Calls of contracts move nothing of the coin, and are none.
    fn what(&self, kind: AssetKind, raw: u128, usd: Usd) -> Option<&'static str> {
        if kind == AssetKind::Counterfeit {
            return Some("counterfeit");
        }
        if raw == 0 {
            return (kind != AssetKind::Native).then_some("zero_value");
        }
        (usd > Usd::ZERO && usd.to_f64() < self.most_usd).then_some("dust")
    }

    /// What an address itself sends.
    fn own(&self, history: &History, who: Address) -> Vec<Bait> {
        let bait = |sent: &Transfer| {
            let what = self.what(history.kind(sent), sent.raw, sent.usd)?;
            let victim = history.other(sent)?.address;
            Some(Bait { time: sent.time, transaction: sent.transaction, victim, twin: who, what })
        };
        history.all.iter().filter(|sent| sent.way == Way::Out).filter_map(bait).collect()
    }

    /// Adds what moves between others in transactions that the address sends and in which nothing of its own moves.
    fn sent(&self, history: &History, others: &Reading<'_>, baits: &mut Vec<Bait>) -> Result<(), LedgerError> {
        for movements in transactions(&history.all) {
            let is_call =
                |one: &Transfer| one.way == Way::Out && one.raw == 0 && history.kind(one) == AssetKind::Native;
            let [call] = movements else { continue };
            if !is_call(call) {
                continue;
            }
            let Some(whole) = others.transaction(call.transaction)? else { return Ok(()) };
            if whole.sender != Some(others.subject()) {
                continue;
            }
            for moved in &whole.movements {
                let Some(what) = self.what(moved.kind, moved.raw, moved.usd) else { continue };
                let (time, transaction) = (call.time, call.transaction);
                for (victim, twin) in [(moved.from, moved.to), (moved.to, moved.from)] {
                    if !victim.is_zero() && !twin.is_zero() {
                        baits.push(Bait { time, transaction, victim, twin, what });
                    }
                }
            }
        }
        Ok(())
    }

    /// Whom a victim paid shortly before bait from an address that looks the same.
    fn imitated(&self, of_victim: &History, bait: &Bait) -> Option<Address> {
        let start = of_victim.outs.partition_point(|paid| paid.time < bait.time.saturating_sub(self.window_secs));
        let mut paid = of_victim.outs[start..].iter().take_while(|paid| paid.time <= bait.time).peekable();
        paid.peek()?;
        let look = ends(&bait.twin, self.leading, self.trailing)?;
        paid.filter(|paid| paid.usd.to_f64() >= self.most_usd)
            .filter_map(|paid| of_victim.other(paid))
            .map(|other| other.address)
            .find(|other| *other != bait.twin && ends(other, self.leading, self.trailing).as_ref() == Some(&look))
    }

    fn detection(&self, proven: &[Proven]) -> Option<Detection> {
        let victims: BTreeSet<Address> = proven.iter().map(|one| one.bait.victim).collect();
        if victims.len() < self.least_victims {
            return None;
        }
        let mut pairs: BTreeMap<Address, Address> = BTreeMap::new();
        for one in proven {
            pairs.entry(one.bait.twin).or_insert(one.imitated);
        }
        let kinds: BTreeSet<&'static str> = proven.iter().map(|one| one.bait.what).collect();
        let evidence = Evidence::by(proven.iter().map(|one| one.bait.transaction))
            .within(self.window_secs)
            .count("victims", victims.len())
            .with("pairs", Fact::Pairs(pairs.into_iter().take(MAX_LISTED).collect()))
            .with("kinds", Fact::Words(kinds.into_iter().collect()));
        Some(Detection {
            intensity: intensity(measure(victims.len()), measure(self.least_victims), measure(self.full_victims)),
            occurrences: proven.len() as u64,
            first: proven.first()?.bait.time,
            last: proven.last()?.bait.time,
            evidence,
        })
    }
}
