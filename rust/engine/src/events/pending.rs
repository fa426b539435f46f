//! Drafts that wait for confirmations, in little memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::event::Draft;

/// The budget of all watchers of this process: about a kilobyte per draft.
pub(super) static BUDGET: DraftBudget = DraftBudget::of(100_000);

/// The number of drafts that may be in memory. Drafts above it are made again from the feed when they are due.
#[derive(Debug)]
pub(super) struct DraftBudget {
    max: usize,
    used: AtomicUsize,
}

impl DraftBudget {
    pub const fn of(max: usize) -> Self {
        Self { max, used: AtomicUsize::new(0) }
    }

    /// Stores the drafts of a block, if the budget allows it or they cannot be made again.
    pub fn store(&'static self, drafts: Vec<Draft>, only_now: bool) -> Option<PendingDrafts> {
        let count = drafts.len();
        let before = self.used.fetch_add(count, Ordering::Relaxed);
        // Dropping it returns its share of the budget.
        let mut pending = PendingDrafts { drafts: Vec::new(), count, budget: self };
        if before.saturating_add(count) > self.max && !only_now {
            return None;
        }
        pending.drafts = drafts.into_iter().map(PackedDraft::new).collect();
        Some(pending)
    }
}

/// The drafts of a block.
#[derive(Debug)]
pub(super) struct PendingDrafts {
    drafts: Vec<PackedDraft>,
    count: usize,
    budget: &'static DraftBudget,
}

impl PendingDrafts {
    /// Returns the drafts.
    pub fn unpack(mut self) -> impl Iterator<Item = Draft> {
        std::mem::take(&mut self.drafts).into_iter().map(PackedDraft::unpack)
    }
}

impl Drop for PendingDrafts {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.count, Ordering::Relaxed);
    }
}

/// A draft with its data as text: as values they take several times as much.
#[derive(Debug)]
struct PackedDraft {
    draft: Draft,
    data: Box<str>,
}

impl PackedDraft {
    fn new(mut draft: Draft) -> Self {
        let data = serde_json::to_string(&std::mem::take(&mut draft.data)).expect("data are plain values").into();
        Self { draft, data }
    }

    fn unpack(self) -> Draft {
        let data = serde_json::from_str(&self.data).expect("it was written from data");
        Draft { data, ..self.draft }
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::read::MovementKind;
    use headwater_types::TxHash;
    use serde_json::{Map, Value, json};

    use super::super::event::{Cause, CausePlace};
    use super::*;

    fn draft(data: &Map<String, Value>) -> Draft {
        let cause = Cause { hash: TxHash::new([1; 32]), kind: MovementKind::Native, place: CausePlace::Fee };
        Draft { cause: Some(cause), matched: None, data: data.clone(), has_confirmations: true }
    }

    #[test]
    fn packed_draft_unpacks_to_equal_data() {
        let Value::Object(data) = json!({
            "value_usd": 0.1 + 0.2, "zero": -0.0, "whole": 5.0, "small": 5e-324, "max": u64::MAX, "min": i64::MIN,
            "symbol": "\u{0}\"\u{202e}é", "none": null, "a": {"z": [true, 1], "b": []},
        }) else {
            unreachable!("an object is written above")
        };
        let before = draft(&data);
        let after = PackedDraft::new(before.clone()).unpack();
        assert_eq!(
            (after.cause, after.matched, after.has_confirmations),
            (before.cause, before.matched, before.has_confirmations)
        );
        assert_eq!(after.data, data);
        let text = |data: &Map<String, Value>| serde_json::to_string(data).unwrap();
        assert_eq!(text(&after.data), text(&data), "in the same order");
    }

    #[test]
    fn budget_is_returned_when_drafts_are_dropped() {
        static THREE: DraftBudget = DraftBudget::of(3);
        let drafts = |count: usize| vec![draft(&Map::new()); count];
        let two = THREE.store(drafts(2), false).unwrap();
        assert!(THREE.store(drafts(2), false).is_none());
        let anyway = THREE.store(drafts(2), true).unwrap();
        assert!(THREE.store(drafts(1), false).is_none());
        assert_eq!(two.unpack().count(), 2);
        drop(anyway);
        assert_eq!(THREE.store(drafts(3), false).unwrap().unpack().count(), 3);
    }
}
