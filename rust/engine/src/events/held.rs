//! What waits for confirmations, in little memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::event::Draft;

/// The room of all watchers of this process: about a kilobyte for each draft.
pub(super) static ROOM: Room = Room::of(100_000);

/// Room for drafts. Those that find none are made again when they are told.
#[derive(Debug)]
pub(super) struct Room {
    most: usize,
    used: AtomicUsize,
}

impl Room {
    pub const fn of(most: usize) -> Self {
        Self { most, used: AtomicUsize::new(0) }
    }

    /// Holds the drafts of a block, where there is room for them or they cannot be made again.
    pub fn hold(&'static self, drafts: Vec<Draft>, only_now: bool) -> Option<Held> {
        let count = drafts.len();
        let before = self.used.fetch_add(count, Ordering::Relaxed);
        // From here on it gives its room back when it goes.
        let mut held = Held { drafts: Vec::new(), count, room: self };
        if before.saturating_add(count) > self.most && !only_now {
            return None;
        }
        held.drafts = drafts.into_iter().map(Packed::new).collect();
        Some(held)
    }
}

/// The drafts of a block.
#[derive(Debug)]
pub(super) struct Held {
    drafts: Vec<Packed>,
    count: usize,
    room: &'static Room,
}

impl Held {
    /// The drafts, as they were.
    pub fn unpack(mut self) -> impl Iterator<Item = Draft> {
        std::mem::take(&mut self.drafts).into_iter().map(Packed::unpack)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.used.fetch_sub(self.count, Ordering::Relaxed);
    }
}

/// A draft with its data as text: as values they take several times as much.
#[derive(Debug)]
struct Packed {
    draft: Draft,
    data: Box<str>,
}

impl Packed {
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
        Draft { cause: Some(cause), matched: None, data: data.clone(), tells_depth: true }
    }

    #[test]
    fn what_waits_says_the_same_when_it_is_told() {
        let Value::Object(data) = json!({
            "value_usd": 0.1 + 0.2, "zero": -0.0, "whole": 5.0, "small": 5e-324, "most": u64::MAX, "least": i64::MIN,
            "symbol": "\u{0}\"\u{202e}é", "none": null, "a": {"z": [true, 1], "b": []},
        }) else {
            unreachable!("an object was written")
        };
        let before = draft(&data);
        let told = Packed::new(before.clone()).unpack();
        assert_eq!((told.cause, told.matched, told.tells_depth), (before.cause, before.matched, before.tells_depth));
        assert_eq!(told.data, data);
        let text = |data: &Map<String, Value>| serde_json::to_string(data).unwrap();
        assert_eq!(text(&told.data), text(&data), "in the same order");
    }

    #[test]
    fn room_is_given_back() {
        static THREE: Room = Room::of(3);
        let drafts = |count: usize| vec![draft(&Map::new()); count];
        let two = THREE.hold(drafts(2), false).unwrap();
        assert!(THREE.hold(drafts(2), false).is_none());
        let anyway = THREE.hold(drafts(2), true).unwrap();
        assert!(THREE.hold(drafts(1), false).is_none());
        assert_eq!(two.unpack().count(), 2);
        drop(anyway);
        assert_eq!(THREE.hold(drafts(3), false).unwrap().unpack().count(), 3);
    }
}
