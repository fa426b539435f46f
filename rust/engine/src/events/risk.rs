//! When the risk of watched addresses changes.

use std::collections::BTreeSet;

use headwater_intel::behaviour::{Findings, History, HistoryGather, LabelSource, OthersInLedger};
use headwater_intel::label::{Moment, aggregate};
use headwater_intel::risk::{Assessment, GateReason, GraphScore, Parameters, Subject, assess, is_sent_by, neighbours};
use headwater_ledger::feed::{FeedItem, ItemKind};
use headwater_ledger::labels::{Claim, LabelTable};
use headwater_ledger::read::Scan;
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, Family};
use serde_json::{Value, json};

use super::event::Draft;
use super::{FeedStep, Subscription};
use crate::Error;
use crate::intelligence::Intelligence;

/// A draft for each watched address whose level or gate an item of the feed changes, in order of address.
///
/// A block changes the risk of those who move in it, an import that of those whom it names and of those who deal with
/// them. Both are judged as of the item: what the address did until then, by the labels that were in force. A block that is
/// taken back makes nothing: what comes in its place is compared anew.
pub(super) fn risk_changes(subscription: &Subscription, step: &FeedStep) -> Result<Vec<Draft>, Error> {
    let item = step.item();
    if item.removed {
        return Ok(Vec::new());
    }
    let ledger = &**step.view.feed.ledger();
    let state = LabelState::of(item, step.view.next_import(item)?);
    let before = Judge::new(ledger, item, state.before(item), &step.view.intelligence);
    let after = Judge::new(ledger, item, state, &step.view.intelligence);
    let mut drafts = Vec::new();
    for address in touched(subscription, step, &after)? {
        let block = if item.kind == ItemKind::Block { item.number } else { item.head };
        let until_before = if item.kind == ItemKind::Block { block.checked_sub(1) } else { Some(block) };
        let old = before.assess(&address, until_before)?;
        let new = after.assess(&address, Some(block))?;
        let gate = |of: &Assessment| of.gates.first().map(|gate| gate.reason);
        if old.level == new.level && gate(&old) == gate(&new) {
            continue;
        }
        let data = json!({
            "blockchain": item.chain.name(),
            "address": address.to_string(),
            "composite_score": shown(new.score),
            "previous_score": shown(old.score),
            "risk_level": new.level.name(),
            "gate_reason": gate(&new).map(GateReason::name),
        });
        let Value::Object(data) = data else { unreachable!("it is written as an object") };
        drafts.push(Draft { cause: None, matched: Some(address), data, tells_depth: false });
    }
    Ok(drafts)
}

/// Two decimals, half to even.
fn shown(score: f64) -> f64 {
    (100.0 * score).round_ties_even() / 100.0
}

/// The watched addresses whose risk an item may change, in order.
fn touched(subscription: &Subscription, step: &FeedStep, judge: &Judge<'_>) -> Result<Vec<Address>, Error> {
    let item = step.item();
    let watched: BTreeSet<Address> = subscription.addresses.iter().copied().collect();
    let ItemKind::Labels { version, .. } = item.kind else {
        return Ok(watched.into_iter().filter(|address| step.block.by_address.contains_key(address)).collect());
    };
    let labels = judge.ledger.labels();
    let mut touched = Vec::new();
    for address in watched.into_iter().filter(|address| address.family() == item.chain.family()) {
        let is_named = labels.is_named_by(version, &address)?
            || judge.history(&address, Some(item.head))?.is_some_and(|history| {
                let others = history.counterparties.iter();
                others.into_iter().any(|other| labels.is_named_by(version, &other.address).unwrap_or(true))
            });
        if is_named {
            touched.push(address);
        }
    }
    Ok(touched)
}

/// The labels as they stood with an item of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelState {
    /// No later import changed them.
    InForce,
    /// As an import found them.
    Before { version: u64, is_rolled_back: bool },
    /// As an import left them.
    After { version: u64, is_rolled_back: bool },
}

impl LabelState {
    /// The labels with an item, where this is the next import behind it.
    fn of(item: &FeedItem, next: Option<(u64, bool)>) -> Self {
        match (item.kind, next) {
            (ItemKind::Labels { version, is_rolled_back }, _) => Self::After { version, is_rolled_back },
            (ItemKind::Block, Some((version, is_rolled_back))) => Self::Before { version, is_rolled_back },
            (ItemKind::Block, None) => Self::InForce,
        }
    }

    /// The labels before an item.
    const fn before(self, item: &FeedItem) -> Self {
        match (self, item.kind) {
            (Self::After { version, is_rolled_back }, ItemKind::Labels { .. }) => {
                Self::Before { version, is_rolled_back }
            }
            (state, _) => state,
        }
    }
}

/// The labels of a state.
struct Labels<'a> {
    table: &'a LabelTable,
    state: LabelState,
}

impl LabelSource for Labels<'_> {
    fn claims_on(&self, chain: Chain, address: &Address) -> Result<Vec<Claim<&str>>, LedgerError> {
        let change = |version, is_rolled_back| self.table.change((version, is_rolled_back), chain, address);
        Ok(match self.state {
            LabelState::InForce => self.table.claims(chain, address)?,
            LabelState::Before { version, is_rolled_back } => {
                change(version, is_rolled_back)?.map(|change| change.before).unwrap_or_default()
            }
            LabelState::After { version, is_rolled_back } => {
                change(version, is_rolled_back)?.map(|change| change.after).unwrap_or_default()
            }
        })
    }

    fn has_none(&self) -> bool {
        false
    }
}

/// Judges addresses as of an item.
struct Judge<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    head: i64,
    moment: Moment,
    labels: Labels<'a>,
    intelligence: &'a Intelligence,
}

impl<'a> Judge<'a> {
    fn new(ledger: &'a dyn Ledger, item: &FeedItem, state: LabelState, intelligence: &'a Intelligence) -> Self {
        let labels = Labels { table: ledger.labels(), state };
        let moment = Moment::of_import(item.time);
        Self { ledger, chain: item.chain, head: item.time.secs(), moment, labels, intelligence }
    }

    /// What an address did until a block; `None` where behaviours are not judged on the chain.
    fn history(&self, address: &Address, until: Option<u64>) -> Result<Option<History>, Error> {
        if !matches!(self.chain, Chain::ETHEREUM | Chain::TRON) || self.chain.family() == Family::Utxo {
            return Ok(None);
        }
        let (Some(account), Some(until)) = (self.ledger.account(self.chain, address)?, until) else {
            return Ok(Some(History::until(self.head)));
        };
        Ok(Some(self.gather(until).read(self.ledger, &account, &Cancel::new())?))
    }

    fn gather(&self, until: u64) -> HistoryGather<'_> {
        let of = &self.intelligence.parameters.scan;
        let scan = Scan { up_to_block: Some(until), ..Scan::default() };
        let gather = HistoryGather::new(self.ledger, self.chain, self.moment, &of.stablecoins, of.most_transfers);
        gather.with_labels(&self.labels).within(scan, self.head)
    }

    /// What the rules make of what an address did until a block.
    fn findings(&self, address: &Address, history: &History, until: Option<u64>) -> Result<Findings, Error> {
        let Parameters { scan, behaviours, .. } = &*self.intelligence.parameters;
        let cancel = Cancel::new();
        let others = OthersInLedger::new(self.ledger, self.gather(until.unwrap_or_default()), scan.others, &cancel);
        Ok(behaviours.scan(address, history, &others)?)
    }

    fn assess(&self, address: &Address, until: Option<u64>) -> Result<Assessment, Error> {
        let parameters = &*self.intelligence.parameters;
        let own = aggregate(&self.labels.claims_on(self.chain, address)?, &self.moment);
        let history = self.history(address, until)?;
        let findings = history.as_ref().map(|history| self.findings(address, history, until)).transpose()?;
        let seen = history.as_ref().zip(findings.as_ref());
        let subject = seen.map_or(Subject::UnsupportedChain, |(history, findings)| Subject::Seen(history, findings));
        assess(parameters, &own, subject, None, &mut |history| {
            let look_up =
                |other: &Address| Ok::<_, Error>(aggregate(&self.labels.claims_on(self.chain, other)?, &self.moment));
            let mut is_sent = is_sent_by(self.ledger, address);
            let is_own = |transaction| Ok(is_sent(transaction)?);
            let (screened, all) = neighbours(parameters, history, look_up, is_own)?;
            Ok(Some(GraphScore::of(parameters, &screened, all)))
        })
    }
}
