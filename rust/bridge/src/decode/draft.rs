//! Legs before those of one transaction that describe the same thing are merged.

use std::collections::BTreeMap;

use crate::half::Half;

/// A leg that may be one of several descriptions.
pub(super) struct Draft {
    pub(super) half: Half,
    /// True if a listed contract emitted it.
    pub(super) listed: bool,
    /// True if it is an envelope: another description of the same key is better.
    pub(super) transport: bool,
}

impl Draft {
    /// Sets fields of the leg.
    pub(super) fn with(mut self, set: impl FnOnce(&mut Half)) -> Self {
        set(&mut self.half);
        self
    }

    pub(super) fn transport(mut self) -> Self {
        self.transport = true;
        self
    }
}

/// One leg per transfer: envelopes complete the descriptions inside them, or stand alone.
pub(super) fn merged(drafts: Vec<Draft>) -> Vec<Half> {
    let mut envelopes: BTreeMap<_, Vec<Half>> = BTreeMap::new();
    let mut legs: Vec<Half> = Vec::new();
    for draft in drafts.into_iter().filter(|draft| draft.listed) {
        if draft.transport {
            let name = (draft.half.family.clone(), draft.half.step, draft.half.key().clone());
            envelopes.entry(name).or_default().push(draft.half);
        } else {
            legs.push(draft.half);
        }
    }
    for ((family, step, key), envelopes) in envelopes {
        let mut inside =
            legs.iter_mut().filter(|leg| leg.family == family && leg.step == step && *leg.key() == key).peekable();
        if inside.peek().is_none() {
            let mut envelopes = envelopes.into_iter();
            let Some(mut first) = envelopes.next() else { continue };
            envelopes.for_each(|other| complete(&mut first, &other));
            legs.push(first);
        } else {
            for leg in inside {
                for envelope in &envelopes {
                    complete(leg, envelope);
                }
            }
        }
    }
    legs.sort_by(|left, right| left.order().cmp(&right.order()));
    legs
}

/// Fills what a leg does not state from another description of it.
fn complete(leg: &mut Half, other: &Half) {
    fn fill<T: Clone>(field: &mut Option<T>, other: Option<&T>) {
        if field.is_none() {
            *field = other.cloned();
        }
    }
    fill(&mut leg.other_chain, other.other_chain.as_ref());
    fill(&mut leg.other_transaction, other.other_transaction.as_ref());
    fill(&mut leg.sender, other.sender.as_ref());
    fill(&mut leg.receiver, other.receiver.as_ref());
    // A token and its amount belong together.
    if leg.amount.is_none() && leg.token.as_ref().is_none_or(|token| Some(token) == other.token.as_ref()) {
        leg.amount = other.amount;
        fill(&mut leg.token, other.token.as_ref());
    }
    if leg.other_amount.is_none()
        && leg.other_token.as_ref().is_none_or(|token| Some(token) == other.other_token.as_ref())
    {
        leg.other_amount = other.other_amount;
        fill(&mut leg.other_token, other.other_token.as_ref());
    }
    for key in &other.keys {
        if !leg.keys.contains(key) {
            leg.keys.push(key.clone());
        }
    }
}
