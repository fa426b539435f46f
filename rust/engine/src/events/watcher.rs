//! Applies a subscription to the feed.

use headwater_ledger::feed::{FeedItem, ItemKind};
use headwater_types::Chain;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use super::balance_threshold::LaterChanges;
use super::event::{Draft, MAX_PER_ITEM, Sense, id, seq};
use super::pending::{BUDGET, DraftBudget, PendingDrafts};
use super::{Event, EventType, FeedStep, Subscription};
use crate::{Error, ErrorKind, Reason};

/// Makes the events of one subscription behind a position of the feed. The events depend on the feed only: a watcher of the
/// same subscription that starts at an earlier position makes the same ones, with equal ids and numbers.
pub struct Watcher {
    subscription: Subscription,
    position: u64,
    /// The blocks with drafts that lack confirmations, in order of position; `None` before the first item.
    pending: Option<Vec<PendingBlock>>,
    later: LaterChanges,
    /// The budget of the drafts of these blocks.
    budget: &'static DraftBudget,
}

/// A block that lacks confirmations.
#[derive(Debug)]
struct PendingBlock {
    item: FeedItem,
    /// The number of its drafts.
    count: usize,
    /// `None` when they are made again from the feed when they are due.
    drafts: Option<PendingDrafts>,
}

impl Watcher {
    /// Starts behind a position.
    #[must_use]
    pub fn new(subscription: Subscription, from_position: u64) -> Self {
        let later = LaterChanges::default();
        Self { subscription, position: from_position, pending: None, later, budget: &BUDGET }
    }

    /// Returns the subscription.
    #[must_use]
    pub const fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Returns the position of the last processed item.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the events of the next item, in order of `seq`. Steps at or before the watcher's position make none; other
    /// steps must be consecutive.
    ///
    /// # Errors
    /// When the store cannot be read: the position stays unchanged, and the step may be retried. `too_many_items` when the
    /// step makes too many events, and `cursor_expired` when pending blocks are no longer in the feed: then the events are
    /// lost, and a retry does not help. A step that is not the next one is an error of the caller.
    pub fn advance(&mut self, step: &FeedStep) -> Result<Vec<Event>, Error> {
        let position = step.position();
        if position <= self.position {
            return Ok(Vec::new());
        }
        if position != self.position + 1 {
            let message = format!("a watcher at position {} was shown item {position}", self.position);
            return Err(Error::new(ErrorKind::Internal, message));
        }
        let mut events = Vec::new();
        if self.subscription.can_fire() {
            let mut pending = match self.pending.take() {
                Some(pending) => pending,
                None => self.pending_at(step)?,
            };
            let made = self.process(step, &mut pending);
            self.pending = Some(pending);
            events = made?;
        }
        self.position = position;
        Ok(events)
    }

    /// Returns the pending blocks at the watcher's position, which later items confirm.
    fn pending_at(&mut self, step: &FeedStep) -> Result<Vec<PendingBlock>, Error> {
        let mut pending = Vec::new();
        let depth = self.subscription.min_confirmations - 1;
        if depth == 0 {
            return Ok(pending);
        }
        let feed = &step.view.feed;
        let count = usize::try_from(self.position.saturating_sub(feed.oldest() - 1)).unwrap_or(usize::MAX);
        let before = feed.after(feed.oldest() - 1, count)?;
        let Some(first) = first_pending(&before, depth, self.subscription.chain) else { return Ok(pending) };
        for item in before.into_iter().filter(|item| item.position >= first) {
            let earlier = step.view.step(item)?;
            self.process(&earlier, &mut pending)?;
        }
        Ok(pending)
    }

    /// Returns the events of one item. An error leaves `pending` unchanged.
    fn process(&mut self, step: &FeedStep, pending: &mut Vec<PendingBlock>) -> Result<Vec<Event>, Error> {
        let item = *step.item();
        let drafts = match self.subscription.chain {
            Some(chain) if chain != item.chain => Vec::new(),
            _ => self.drafts(step)?,
        };
        let mut builder = EventBuilder { step, event_type: self.subscription.event_type(), events: Vec::new() };
        if item.removed {
            let is_same = |other: &FeedItem| {
                (other.chain, other.number, other.hash, other.adoption)
                    == (item.chain, item.number, item.hash, item.adoption)
            };
            let before = pending.len();
            pending.retain(|block| !is_same(&block.item));
            // Events that were never made need no retraction.
            if pending.len() == before {
                check_count(&item, drafts.len())?;
                builder.add(&item, drafts, Sense::Retraction);
            }
            return Ok(builder.events);
        }
        let depth = self.subscription.min_confirmations - 1;
        let is_deep = |other: &FeedItem| other.chain == item.chain && other.number.saturating_add(depth) <= item.head;
        let old = pending.iter().filter(|block| is_deep(&block.item)).map(|block| block.count);
        check_count(&item, old.sum::<usize>() + if is_deep(&item) { drafts.len() } else { 0 })?;
        let mut remade = Vec::new();
        for due in pending.iter().filter(|block| is_deep(&block.item) && block.drafts.is_none()) {
            remade.push(self.drafts(&step.view.step(due.item)?)?);
        }
        let mut remade = remade.into_iter();
        for due in pending.extract_if(.., |block| is_deep(&block.item)) {
            match due.drafts {
                Some(drafts) => builder.add(&due.item, drafts.unpack(), Sense::Occurrence),
                None => builder.add(&due.item, remade.next().unwrap_or_default(), Sense::Occurrence),
            }
        }
        // Imports of labels need no confirmation.
        if item.kind != ItemKind::Block || is_deep(&item) {
            builder.add(&item, drafts, Sense::Occurrence);
        } else if !drafts.is_empty() {
            let count = drafts.len();
            // Crossings of a threshold depend on later changes, so they cannot be made again.
            let only_now = self.subscription.threshold.is_some();
            pending.push(PendingBlock { item, count, drafts: self.budget.store(drafts, only_now) });
        }
        Ok(builder.events)
    }

    fn drafts(&mut self, step: &FeedStep) -> Result<Vec<Draft>, Error> {
        let find = self.subscription.event_type().find_drafts();
        find(&self.subscription, step, &mut self.later)
    }
}

/// Returns the position of the first item whose block lacks confirmations after all of these.
fn first_pending(items: &[FeedItem], depth: u64, chain: Option<Chain>) -> Option<u64> {
    let mut heads: FxHashMap<Chain, u64> = FxHashMap::default();
    let mut removed = FxHashSet::default();
    let mut first = None;
    let blocks = items.iter().rev().filter(|item| item.kind == ItemKind::Block);
    for item in blocks.filter(|item| chain.is_none_or(|chain| item.chain == chain)) {
        let name = (item.chain, item.number, item.hash, item.adoption);
        if item.removed {
            removed.insert(name);
            continue;
        }
        let head = heads.entry(item.chain).or_default();
        *head = item.head.max(*head);
        if item.number.saturating_add(depth) > *head && !(item.hash.is_some() && removed.contains(&name)) {
            first = Some(item.position);
        }
    }
    first
}

/// Checks the number of events of an item.
fn check_count(item: &FeedItem, events: usize) -> Result<(), Error> {
    if events <= MAX_PER_ITEM {
        return Ok(());
    }
    let message = format!("item {} of the change feed makes more than {MAX_PER_ITEM} events at once", item.position);
    Err(Error::invalid(Reason::TooManyItems, "filters", message))
}

/// The events of one item, while they are made.
struct EventBuilder<'a> {
    step: &'a FeedStep,
    event_type: EventType,
    events: Vec<Event>,
}

impl EventBuilder<'_> {
    /// Adds the events of a block, which may be earlier than that of the item.
    fn add(&mut self, of: &FeedItem, drafts: impl IntoIterator<Item = Draft>, sense: Sense) {
        let (item, store) = (self.step.item(), self.step.view.feed.store());
        for draft in drafts {
            let first = id(of, store, self.event_type, &draft, Sense::Occurrence);
            let (id, replaces) = match sense {
                Sense::Occurrence => (first, Value::Null),
                Sense::Retraction => (id(of, store, self.event_type, &draft, sense), Value::from(first)),
            };
            let mut data = draft.data;
            if draft.has_confirmations {
                let (confirmations, finalized) = confirmations(of, item, sense);
                data.insert("confirmations".to_owned(), confirmations.into());
                data.insert("finalized".to_owned(), finalized.into());
            }
            // A fork removes no import, and their field `removed` lists labels.
            if draft.cause.is_some() {
                data.insert("removed".to_owned(), (sense == Sense::Retraction).into());
                data.insert("replaces".to_owned(), replaces);
            }
            self.events.push(Event {
                id,
                event_type: self.event_type,
                seq: seq(item.position, self.events.len()),
                timestamp: item.time,
                data: Value::Object(data),
            });
        }
    }
}

/// Returns the confirmations of a block at an item, and whether it is final.
fn confirmations(of: &FeedItem, at: &FeedItem, sense: Sense) -> (u64, bool) {
    match sense {
        Sense::Retraction => (0, false),
        Sense::Occurrence => {
            let above = at.head.saturating_sub(of.number);
            (above + 1, above >= u64::from(of.chain.finality_depth()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headwater_ledger::read::MovementKind;
    use headwater_ledger::store::Writer;
    use headwater_ledger::{Cancel, Store};
    use headwater_testkit::{Chainlet, address};
    use headwater_types::{BlockHash, Timestamp, TxHash};
    use serde_json::{Map, json};

    use super::super::Follower;
    use super::super::event::{Cause, CausePlace};
    use super::*;

    fn item(position: u64, number: u64, fork: u8, removed: bool, head: u64) -> FeedItem {
        let hash = Some(BlockHash::new([fork; 32]));
        let (chain, time) = (Chain::ETHEREUM, Timestamp::new(0));
        FeedItem { position, chain, number, hash, time, removed, adoption: 0, head, kind: ItemKind::Block }
    }

    #[test]
    fn first_pending_block_is_found_from_items() {
        // Blocks 1 to 3; 3 is removed and replaced.
        let items = [
            item(1, 1, 1, false, 1),
            item(2, 2, 1, false, 2),
            item(3, 3, 1, false, 3),
            item(4, 3, 1, true, 2),
            item(5, 3, 2, false, 3),
        ];
        let first = |items: &[FeedItem], depth| first_pending(items, depth, None);
        assert_eq!(first(&items, 1), Some(5), "block 2 is one below the head");
        assert_eq!(first(&items, 2), Some(2));
        assert_eq!(first(&items, 9), Some(1));
        assert_eq!(first(&items[..4], 1), None, "block 2 was deep enough before 3 was removed");
        assert_eq!(first_pending(&items, 9, Some(Chain::TRON)), None);
    }

    #[test]
    fn pending_blocks_stay_after_too_many_events() {
        let place = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(place.path()).unwrap();
        writer.begin_events();
        writer.commit(Chainlet::ethereum().at_block(5).transfer(1, 2, 10).batch(), &Cancel::new()).unwrap();
        drop(writer);
        let store = Arc::new(Store::open(place.path()).unwrap());
        let step = Follower::new(store.clone(), 0).next_steps(1).unwrap().remove(0);
        let ledger = headwater_ledger::read::Generations::current(&*store).unwrap();
        let filters = json!({"min_confirmations": 2});
        let (subscription, _) = Subscription::parse("large_transfer", &filters, &*ledger).unwrap();
        let cause = Cause { hash: TxHash::new([1; 32]), kind: MovementKind::Native, place: CausePlace::Fee };
        let draft = Draft { cause: Some(cause), matched: None, data: Map::new(), has_confirmations: true };
        let block = |number: u64, count: usize| {
            let drafts = BUDGET.store(vec![draft.clone()], true);
            PendingBlock { item: item(0, number, 1, false, number), count, drafts }
        };
        let mut pending = vec![block(3, 1), block(4, MAX_PER_ITEM), block(5, 1)];
        let mut watcher = Watcher::new(subscription, 0);
        let refused = watcher.process(&step, &mut pending).err().map(|error| error.kind);
        assert_eq!(refused, Some(ErrorKind::InvalidInput(Reason::TooManyItems)));
        assert_eq!(pending.iter().map(|one| one.item.number).collect::<Vec<_>>(), [3, 4, 5]);
        pending[1].count = 1;
        assert_eq!(watcher.process(&step, &mut pending).unwrap().len(), 2);
    }

    #[test]
    fn drafts_above_the_budget_make_equal_events() {
        static NONE: DraftBudget = DraftBudget::of(0);
        let place = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(place.path()).unwrap();
        writer.begin_events();
        for number in 5..15 {
            let block = Chainlet::ethereum().at_block(number).transfer(1, 2, 10).same_block().transfer(2, 1, number);
            writer.commit(block.batch(), &Cancel::new()).unwrap();
        }
        drop(writer);
        let store = Arc::new(Store::open(place.path()).unwrap());
        let steps = Follower::new(store.clone(), 0).next_steps(99).unwrap();
        let ledger = headwater_ledger::read::Generations::current(&*store).unwrap();
        let filters = json!({"addresses": [address(Chain::ETHEREUM, 1)], "min_confirmations": 4});
        let (subscription, _) = Subscription::parse("address_activity", &filters, &*ledger).unwrap();
        let mut storing = Watcher::new(subscription, 0);
        let mut remaking = Watcher { budget: &NONE, ..Watcher::new(storing.subscription().clone(), 0) };
        let mut count = 0;
        for step in &steps {
            let events = storing.advance(step).unwrap();
            count += events.len();
            assert_eq!(remaking.advance(step).unwrap(), events);
        }
        assert_eq!(count, 2 * 7);
        let stored = |watcher: &Watcher| -> Vec<bool> {
            watcher.pending.iter().flatten().map(|block| block.drafts.is_some()).collect()
        };
        assert_eq!((stored(&storing), stored(&remaking)), (vec![true; 3], vec![false; 3]));
    }
}
