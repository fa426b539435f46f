//! Alerts of changes of the risk of watched addresses.

use std::collections::BTreeSet;

use headwater_intel::label::{LabelState, StateLabels};
use headwater_intel::risk::{Assessor, GateReason, RiskScope};
use headwater_ledger::Cancel;
use headwater_ledger::feed::ItemKind;
use headwater_types::Address;
use serde_json::{Value, json};

use super::event::Draft;
use super::kind::{EventKind, Filter};
use super::{FeedStep, Subscription};
use crate::Error;

/// The event.
pub(super) const KIND: EventKind = EventKind {
    name: "risk_alert",
    needs_addresses: true,
    needs_threshold: false,
    default_min_usd: None,
    ignored: &[Filter::Symbols, Filter::Contracts, Filter::Direction, Filter::MinAmountUsd, Filter::Labels],
};

/// Returns a draft for each watched address whose level or gate an item of the feed changes, in order of address.
///
/// A block changes the risk of those who move in it, an import that of those whom it names and of those who deal with
/// them. Both are judged as of the item: by their movements until then, and by the labels that were in force. A block that is
/// taken back makes nothing: the block in its place is compared anew.
pub(super) fn drafts(subscription: &Subscription, step: &FeedStep) -> Result<Vec<Draft>, Error> {
    let item = step.item();
    if item.removed {
        return Ok(Vec::new());
    }
    let view = &step.view;
    let ledger = &**view.feed.ledger();
    let next = view.next_import(item)?;
    let state = LabelState::of(item, next);
    let labels = [state.before(item), state].map(|state| StateLabels { table: ledger.labels(), state });
    let cancel = Cancel::new();
    let [before, after] = RiskScope::around((item, next.is_none()), (ledger, &view.intelligence), &labels, &cancel)?;
    let affected = affected(subscription, step, &after)?;
    let (mut before, mut after) = (Assessor::new(before), Assessor::new(after));
    let mut drafts = Vec::new();
    for address in affected {
        let (old, new) = (before.assess(&address)?.judgement, after.assess(&address)?.judgement);
        if old.level == new.level && old.gate() == new.gate() {
            continue;
        }
        let data = json!({
            "blockchain": item.chain.name(),
            "address": address.to_string(),
            "assessment": new.sufficiency.level.name(),
            "composite_score": shown(new.score),
            "previous_score": shown(old.score),
            "risk_level": new.level.name(),
            "gate_reason": new.gate().map(GateReason::name),
        });
        let Value::Object(data) = data else { unreachable!("it is written as an object") };
        drafts.push(Draft { cause: None, matched: Some(address), data, has_confirmations: false });
    }
    Ok(drafts)
}

/// Rounds to two decimals, half to even.
fn shown(score: f64) -> f64 {
    (100.0 * score).round_ties_even() / 100.0
}

/// Returns the watched addresses whose risk an item may change, in order.
fn affected(subscription: &Subscription, step: &FeedStep, scope: &RiskScope<'_>) -> Result<Vec<Address>, Error> {
    let item = step.item();
    let watched: BTreeSet<Address> = subscription.addresses.iter().copied().collect();
    let ItemKind::Labels { version, .. } = item.kind else {
        return Ok(watched.into_iter().filter(|address| step.block.by_address.contains_key(address)).collect());
    };
    let mut affected = Vec::new();
    for address in watched.into_iter().filter(|address| address.family() == item.chain.family()) {
        if scope.is_changed_by(version, &address)? {
            affected.push(address);
        }
    }
    Ok(affected)
}
