//! Changes of labels: an import that changes codes or entity of watched addresses.

use std::collections::BTreeSet;

use headwater_ledger::feed::ItemKind;
use headwater_types::Address;
use serde_json::{Value, json};

use super::event::Draft;
use super::kind::{EventKind, Filter};
use super::{FeedStep, Subscription};
use crate::Error;
use crate::labels::Labels;

/// The event.
pub(super) const KIND: EventKind = EventKind {
    name: "label_change",
    needs_addresses: true,
    needs_threshold: false,
    default_min_usd: None,
    ignored: &[Filter::Symbols, Filter::Contracts, Filter::Direction, Filter::MinAmountUsd, Filter::MinConfirmations],
};

/// Returns a draft for each watched address whose codes or entity an import changed, in order of address.
pub(super) fn drafts(subscription: &Subscription, step: &FeedStep) -> Result<Vec<Draft>, Error> {
    let item = step.item();
    let ItemKind::Labels { version, is_rolled_back } = item.kind else { return Ok(Vec::new()) };
    let ledger = step.view.feed.ledger();
    let labels = Labels::at_import(&**ledger, item.chain, item.time);
    let mut addresses: Vec<&Address> = subscription.addresses.iter().collect();
    addresses.sort_unstable();
    let mut drafts = Vec::new();
    for address in addresses {
        let Some(change) = ledger.labels().change((version, is_rolled_back), item.chain, address)? else { continue };
        let (before, after) = (labels.judge(&change.before), labels.judge(&change.after));
        let codes = |of: &headwater_intel::label::Aggregate<'_>| -> BTreeSet<&'static str> {
            of.codes.iter().map(|code| code.code.name()).collect()
        };
        let (old, new) = (codes(&before), codes(&after));
        let added: Vec<_> = new.difference(&old).copied().collect();
        let removed: Vec<_> = old.difference(&new).copied().collect();
        let is_wanted = subscription.labels.is_empty()
            || added.iter().chain(&removed).any(|code| subscription.labels.iter().any(|wanted| wanted == code));
        if !is_wanted || (added.is_empty() && removed.is_empty() && before.entity == after.entity) {
            continue;
        }
        let data = json!({
            "blockchain": item.chain.name(),
            "address": address.to_string(),
            "added": added,
            "removed": removed,
            "entity_name": after.entity,
        });
        let Value::Object(data) = data else { unreachable!("an object is written above") };
        drafts.push(Draft { cause: None, matched: Some(*address), data, has_confirmations: false });
    }
    Ok(drafts)
}
