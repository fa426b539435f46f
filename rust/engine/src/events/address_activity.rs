//! Activity of addresses: movements from or to watched addresses.

use headwater_types::Address;
use serde_json::{Value, json};

use super::event::Draft;
use super::kind::{EventKind, Filter};
use super::rows::{BlockRows, Row};
use super::{FeedStep, Subscription};
use crate::rows::TransferRow;

/// The event.
pub(super) const KIND: EventKind = EventKind {
    name: "address_activity",
    needs_addresses: true,
    needs_threshold: false,
    default_min_usd: None,
    ignored: &[Filter::Threshold],
};

/// Returns the movements from or to watched addresses, in the order of the block; one between two of them comes twice.
pub(super) fn drafts(subscription: &Subscription, step: &FeedStep) -> Vec<Draft> {
    let (block, addresses) = (&step.block, &subscription.addresses);
    let mut places: Vec<u32> = if addresses.len() < block.by_address.len() {
        addresses.iter().filter_map(|address| block.by_address.get(address)).flatten().copied().collect()
    } else {
        let watched = block.by_address.iter().filter(|(address, _)| addresses.contains(*address));
        watched.flat_map(|(_, places)| places).copied().collect()
    };
    places.sort_unstable();
    places.dedup();
    let mut drafts = Vec::new();
    for row in places.into_iter().map(|place| &block.rows[place as usize]).filter(|row| subscription.wants(row)) {
        for address in row.parties().filter(|address| addresses.contains(address)) {
            if subscription.wants_direction(row.direction(&address)) {
                let seen = block.labelled(row.seen_by(&address));
                if has_wanted_label(subscription, block, &seen) {
                    drafts.push(draft(row, Some(address), &seen));
                }
            }
        }
    }
    drafts
}

/// Returns whether a party of a movement has a label of the filter, or there is none.
pub(super) fn has_wanted_label(subscription: &Subscription, block: &BlockRows, row: &TransferRow) -> bool {
    subscription.labels.is_empty() || block.has_label(row, &subscription.labels)
}

/// Makes the draft of a movement.
pub(super) fn draft(row: &Row, matched: Option<Address>, seen: &TransferRow) -> Draft {
    let Ok(Value::Object(mut data)) = serde_json::to_value(seen) else { unreachable!("a row is an object") };
    data.insert("matched_address".to_owned(), json!(matched.map(|address| address.to_string())));
    Draft { cause: Some(row.cause), matched, data, has_confirmations: true }
}
