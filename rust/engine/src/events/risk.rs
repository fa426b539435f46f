//! When the risk of watched addresses changes.

use std::collections::BTreeSet;

use headwater_intel::label::{LabelSource, Moment, bridge_claim};
use headwater_intel::risk::{Assessment, DataEnd, GateReason, Place, RiskScope, RiskScorer};
use headwater_ledger::feed::{FeedItem, ItemKind};
use headwater_ledger::labels::{Claim, LabelTable};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain, Family, Timestamp};
use serde_json::{Value, json};

use super::event::Draft;
use super::kind::EventKind;
use super::subscription::Filter;
use super::{FeedStep, Subscription};
use crate::Error;
use crate::intelligence::Intelligence;

/// The event.
pub(super) const KIND: EventKind = EventKind {
    name: "risk_alert",
    needs_addresses: true,
    needs_threshold: false,
    default_min_usd: None,
    ignored: &[Filter::Symbols, Filter::Contracts, Filter::Direction, Filter::MinAmountUsd, Filter::Labels],
    drafts: |subscription, step, _| risk_changes(subscription, step),
};

/// A draft for each watched address whose level or gate an item of the feed changes, in order of address.
///
/// A block changes the risk of those who move in it, an import that of those whom it names and of those who deal with
/// them. Both are judged as of the item: what the address did until then, by the labels that were in force. A block that is
/// taken back makes nothing: what comes in its place is compared anew.
fn risk_changes(subscription: &Subscription, step: &FeedStep) -> Result<Vec<Draft>, Error> {
    let item = step.item();
    if item.removed {
        return Ok(Vec::new());
    }
    let view = &step.view;
    let ledger = &**view.feed.ledger();
    let next = view.next_import(item)?;
    let state = LabelState::of(item, next);
    let [labels_before, labels] = [state.before(item), state].map(|state| Labels { table: ledger.labels(), state });
    let (moment, head) = moment(ledger, item, next.is_none())?;
    let Intelligence { parameters, classifiers, .. } = &view.intelligence;
    let cancel = Cancel::new();
    let scope = |labels, before_block| RiskScope {
        labels,
        moment,
        until: Some(DataEnd { before_block, head }),
        ..RiskScope::present(ledger, Place::Chain(item.chain), (parameters, classifiers), &cancel)
    };
    let (blocks_before, blocks) = match item.kind {
        ItemKind::Block => (item.number, item.number.saturating_add(1)),
        ItemKind::Labels { .. } => [item.head.saturating_add(1); 2].into(),
    };
    let after = scope(&labels, blocks);
    let touched = touched(subscription, step, &after)?;
    let (mut before, mut after) = (RiskScorer::new(scope(&labels_before, blocks_before)), RiskScorer::new(after));
    let mut drafts = Vec::new();
    for address in touched {
        let (old, new) = (before.score(&address)?, after.score(&address)?);
        let gate = |of: &Assessment| of.gates.first().map(|gate| gate.reason);
        if old.level == new.level && gate(&old) == gate(&new) {
            continue;
        }
        let data = json!({
            "blockchain": item.chain.name(),
            "address": address.to_string(),
            "assessment": new.sufficiency.level.name(),
            "composite_score": shown(new.score),
            "previous_score": shown(old.score),
            "risk_level": new.level.name(),
            "gate_reason": gate(&new).map(GateReason::name),
        });
        let Value::Object(data) = data else { unreachable!("it is written as an object") };
        drafts.push(Draft { cause: None, matched: Some(address), data, has_confirmations: false });
    }
    Ok(drafts)
}

/// Two decimals, half to even.
fn shown(score: f64) -> f64 {
    (100.0 * score).round_ties_even() / 100.0
}

/// The moment of an item, and the time of the last block then, epoch seconds. With the last item these are the present of the
/// store.
fn moment(ledger: &dyn Ledger, item: &FeedItem, is_last_import: bool) -> Result<(Moment, i64), Error> {
    let coverage = ledger.coverage().get(&item.chain);
    let head = match item.kind {
        ItemKind::Block => Some(item.time),
        ItemKind::Labels { .. } => {
            let last = coverage.and_then(|of| of.last_time);
            match coverage.filter(|of| of.last_block != Some(item.head)) {
                Some(_) => ledger.block(item.chain, item.head)?.map(|block| block.time).or(last),
                None => last,
            }
        }
    };
    let imported_at = matches!(item.kind, ItemKind::Labels { .. }).then_some(item.time);
    let moment = match head {
        Some(head) if !is_last_import => Moment::of_state(head, imported_at),
        head => Moment::present(ledger.labels(), head),
    };
    Ok((moment, head.map_or(0, Timestamp::secs)))
}

/// The watched addresses whose risk an item may change, in order.
fn touched(subscription: &Subscription, step: &FeedStep, scope: &RiskScope<'_>) -> Result<Vec<Address>, Error> {
    let item = step.item();
    let watched: BTreeSet<Address> = subscription.addresses.iter().copied().collect();
    let ItemKind::Labels { version, .. } = item.kind else {
        return Ok(watched.into_iter().filter(|address| step.block.by_address.contains_key(address)).collect());
    };
    let labels = scope.ledger.labels();
    let is_any_named = |others: &mut dyn Iterator<Item = &Address>| -> Result<bool, Error> {
        for other in others {
            if labels.is_named_by(version, other)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut touched = Vec::new();
    for address in watched.into_iter().filter(|address| address.family() == item.chain.family()) {
        let history = scope.history(&address)?;
        let mut others = history.iter().flat_map(|history| &history.counterparties).map(|other| &other.address);
        if is_any_named(&mut std::iter::once(&address))?
            || is_any_named(&mut others)?
            || is_any_named(&mut labelled_beside(scope, item.chain, &address)?.iter())?
        {
            touched.push(address);
        }
    }
    Ok(touched)
}

/// The labelled addresses of the cluster of an address, from which it inherits claims.
fn labelled_beside<'a>(scope: &RiskScope<'a>, chain: Chain, address: &Address) -> Result<&'a [Address], Error> {
    let RiskScope { ledger, cancel, .. } = *scope;
    if chain.family() != Family::Utxo {
        return Ok(&[]);
    }
    let (Some(clusters), Some(account)) = (ledger.clusters(chain, cancel)?, ledger.account(chain, address)?) else {
        return Ok(&[]);
    };
    match clusters.of(&account)? {
        Some(cluster) => Ok(ledger.labelled(chain, &cluster, cancel)?),
        None => Ok(&[]),
    }
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
        let mut claims = match self.state {
            LabelState::InForce => self.table.claims(chain, address)?,
            LabelState::Before { version, is_rolled_back } => {
                change(version, is_rolled_back)?.map(|change| change.before).unwrap_or_default()
            }
            LabelState::After { version, is_rolled_back } => {
                change(version, is_rolled_back)?.map(|change| change.after).unwrap_or_default()
            }
        };
        claims.extend(bridge_claim(chain, address));
        Ok(claims)
    }

    fn has_none(&self) -> bool {
        false
    }
}
