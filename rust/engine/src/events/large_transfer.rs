//! Large transfers: movements of at least a value, whoever takes part.

use super::address_activity::{self, draft, has_wanted_label};
use super::event::Draft;
use super::kind::{EventKind, Filter};
use super::{FeedStep, Subscription};

/// The default of the least value, in US dollars.
const LARGE_USD: f64 = 100_000.0;

/// The event.
pub(super) const KIND: EventKind = EventKind {
    name: "large_transfer",
    needs_addresses: false,
    needs_threshold: false,
    default_min_usd: Some(LARGE_USD),
    ignored: &[Filter::Threshold],
};

/// Returns the large movements of a block, in its order.
pub(super) fn drafts(subscription: &Subscription, step: &FeedStep) -> Vec<Draft> {
    if !subscription.addresses.is_empty() {
        return address_activity::drafts(subscription, step);
    }
    let block = &step.block;
    if subscription.min_amount_usd.is_some_and(|min| block.largest_usd < min) {
        return Vec::new();
    }
    let wanted = block.rows.iter().filter(|row| row.represents_movement() && subscription.wants(row));
    let seen = wanted.map(|row| (row, block.labelled(row.neutral())));
    let wanted = seen.filter(|(_, seen)| has_wanted_label(subscription, block, seen));
    wanted.map(|(row, seen)| draft(row, None, &seen)).collect()
}
