//! Holds a subscription against the feed.

use headwater_ledger::feed::{FeedItem, ItemKind};
use headwater_types::Chain;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};

use super::event::{Draft, MOST_OF_ITEM, Told, id, seq};
use super::held::{self, Held, Room};
use super::labels::label_changes;
use super::risk::risk_changes;
use super::rows::{BlockRows, Row};
use super::threshold::{Ahead, crossings};
use super::{Event, EventType, FeedStep, Subscription};
use crate::rows::TransferRow;
use crate::{Error, ErrorKind, Reason};

/// Makes the events of one subscription from a position of the feed on. What it makes depends on the feed only, so a
/// watcher of the same subscription that begins at an earlier position makes the same events, ids and numbers included.
pub struct Watcher {
    subscription: Subscription,
    position: u64,
    /// Blocks with something to tell that are not deep enough yet, in order of position; `None` before the first item.
    waiting: Option<Vec<Waiting>>,
    ahead: Ahead,
    /// Where the drafts of those blocks have room.
    room: &'static Room,
}

/// A block that is not deep enough yet.
#[derive(Debug)]
struct Waiting {
    item: FeedItem,
    /// How many events it is going to make.
    count: usize,
    /// `None` where they are made again from the feed when they are due.
    held: Option<Held>,
}

impl Watcher {
    /// Tells of what comes behind a position.
    #[must_use]
    pub fn new(subscription: Subscription, from_position: u64) -> Self {
        Self { subscription, position: from_position, waiting: None, ahead: Ahead::default(), room: &held::ROOM }
    }

    /// What it is asked for.
    #[must_use]
    pub const fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Position of the last item that was told.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The events of the next item, in order of `seq`. Steps at or before the watcher's position make none; the others
    /// must come one after the other.
    ///
    /// # Errors
    /// When the store cannot be read: the watcher stays where it was, and the step may be tried again. `too_many_items`
    /// where the step makes more events than one may, and `cursor_expired` where blocks that it waited with are no longer
    /// kept: those of this subscription are lost, and trying again does not help. A step that is not the next one is an
    /// error of the caller.
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
            let mut waiting = match self.waiting.take() {
                Some(waiting) => waiting,
                None => self.waiting_at(step)?,
            };
            let told = self.tell(step, &mut waiting);
            self.waiting = Some(waiting);
            events = told?;
        }
        self.position = position;
        Ok(events)
    }

    /// What waits at the watcher's position: blocks before it, which a later item makes deep enough.
    fn waiting_at(&mut self, step: &FeedStep) -> Result<Vec<Waiting>, Error> {
        let mut waiting = Vec::new();
        let depth = self.subscription.min_confirmations - 1;
        if depth == 0 {
            return Ok(waiting);
        }
        let feed = &step.view.feed;
        let count = usize::try_from(self.position.saturating_sub(feed.oldest() - 1)).unwrap_or(usize::MAX);
        let before = feed.after(feed.oldest() - 1, count)?;
        let Some(first) = first_waiting(&before, depth, self.subscription.chain) else { return Ok(waiting) };
        for item in before.into_iter().filter(|item| item.position >= first) {
            let earlier = step.view.step(item)?;
            self.tell(&earlier, &mut waiting)?;
        }
        Ok(waiting)
    }

    /// The events of one item. On an error `waiting` is what it was.
    fn tell(&mut self, step: &FeedStep, waiting: &mut Vec<Waiting>) -> Result<Vec<Event>, Error> {
        let item = *step.item();
        let drafts = match self.subscription.chain {
            Some(chain) if chain != item.chain => Vec::new(),
            _ => self.drafts(step)?,
        };
        let mut telling = Telling { step, event_type: self.subscription.event_type(), events: Vec::new() };
        if item.removed {
            let is_same = |other: &FeedItem| {
                (other.chain, other.number, other.hash, other.adoption)
                    == (item.chain, item.number, item.hash, item.adoption)
            };
            let before = waiting.len();
            waiting.retain(|waiting| !is_same(&waiting.item));
            // What was never told need not be taken back.
            if waiting.len() == before {
                check_count(&item, drafts.len())?;
                telling.add(&item, drafts, Told::TakenBack);
            }
            return Ok(telling.events);
        }
        let depth = self.subscription.min_confirmations - 1;
        let is_deep = |other: &FeedItem| other.chain == item.chain && other.number.saturating_add(depth) <= item.head;
        let old = waiting.iter().filter(|waiting| is_deep(&waiting.item)).map(|waiting| waiting.count);
        check_count(&item, old.sum::<usize>() + if is_deep(&item) { drafts.len() } else { 0 })?;
        let mut again = Vec::new();
        for due in waiting.iter().filter(|waiting| is_deep(&waiting.item) && waiting.held.is_none()) {
            again.push(self.drafts(&step.view.step(due.item)?)?);
        }
        let mut again = again.into_iter();
        for due in waiting.extract_if(.., |waiting| is_deep(&waiting.item)) {
            match due.held {
                Some(held) => telling.add(&due.item, held.unpack(), Told::Happened),
                None => telling.add(&due.item, again.next().unwrap_or_default(), Told::Happened),
            }
        }
        // Nothing confirms an import.
        if item.kind != ItemKind::Block || is_deep(&item) {
            telling.add(&item, drafts, Told::Happened);
        } else if !drafts.is_empty() {
            let count = drafts.len();
            // What crosses a threshold is known only now.
            let only_now = self.subscription.threshold.is_some();
            waiting.push(Waiting { item, count, held: self.room.hold(drafts, only_now) });
        }
        Ok(telling.events)
    }

    fn drafts(&mut self, step: &FeedStep) -> Result<Vec<Draft>, Error> {
        let subscription = &self.subscription;
        match (subscription.event_type(), &subscription.threshold) {
            (EventType::BalanceThreshold, Some(threshold)) => {
                crossings(threshold, &subscription.addresses, &mut self.ahead, step)
            }
            (EventType::LargeTransfer, _) if subscription.addresses.is_empty() => Ok(large(subscription, step)),
            (EventType::LargeTransfer | EventType::AddressActivity, _) => Ok(activity(subscription, step)),
            (EventType::LabelChange, _) => label_changes(subscription, step),
            (EventType::RiskAlert, _) => risk_changes(subscription, step),
            (EventType::BalanceThreshold, None) => Ok(Vec::new()),
        }
    }
}

/// Position of the first item that waits behind all of these for its block to be deep enough.
fn first_waiting(items: &[FeedItem], depth: u64, chain: Option<Chain>) -> Option<u64> {
    let mut heads: FxHashMap<Chain, u64> = FxHashMap::default();
    let mut taken_back = FxHashSet::default();
    let mut first = None;
    let blocks = items.iter().rev().filter(|item| item.kind == ItemKind::Block);
    for item in blocks.filter(|item| chain.is_none_or(|chain| item.chain == chain)) {
        let name = (item.chain, item.number, item.hash, item.adoption);
        if item.removed {
            taken_back.insert(name);
            continue;
        }
        let head = heads.entry(item.chain).or_default();
        *head = item.head.max(*head);
        if item.number.saturating_add(depth) > *head && !(item.hash.is_some() && taken_back.contains(&name)) {
            first = Some(item.position);
        }
    }
    first
}

/// Whether an item may make so many events.
fn check_count(item: &FeedItem, events: usize) -> Result<(), Error> {
    if events <= MOST_OF_ITEM {
        return Ok(());
    }
    let message = format!("item {} of the change feed makes more than {MOST_OF_ITEM} events at once", item.position);
    Err(Error::invalid(Reason::TooManyItems, "filters", message))
}

/// Events of one item that are being made.
struct Telling<'a> {
    step: &'a FeedStep,
    event_type: EventType,
    events: Vec<Event>,
}

impl Telling<'_> {
    /// Adds events of a block, which may be an earlier one than the item's.
    fn add(&mut self, of: &FeedItem, drafts: impl IntoIterator<Item = Draft>, told: Told) {
        let (item, store) = (self.step.item(), self.step.view.feed.store());
        for draft in drafts {
            let first = id(of, store, self.event_type, &draft, Told::Happened);
            let (id, replaces) = match told {
                Told::Happened => (first, Value::Null),
                Told::TakenBack => (id(of, store, self.event_type, &draft, told), Value::from(first)),
            };
            let mut data = draft.data;
            if draft.tells_depth {
                let (confirmations, finalized) = depth(of, item, told);
                data.insert("confirmations".to_owned(), confirmations.into());
                data.insert("finalized".to_owned(), finalized.into());
            }
            // Imports are not taken back by a fork, and `removed` of theirs names labels.
            if draft.cause.is_some() {
                data.insert("removed".to_owned(), (told == Told::TakenBack).into());
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

/// Confirmations of a block at an item, and whether it counts as final.
fn depth(of: &FeedItem, at: &FeedItem, told: Told) -> (u64, bool) {
    match told {
        Told::TakenBack => (0, false),
        Told::Happened => {
            let above = at.head.saturating_sub(of.number);
            (above + 1, above >= u64::from(of.chain.finality_depth()))
        }
    }
}

/// Movements of much value, whoever they concern.
fn large(subscription: &Subscription, step: &FeedStep) -> Vec<Draft> {
    let block = &step.block;
    if subscription.least_usd().is_some_and(|least| block.largest_usd < least) {
        return Vec::new();
    }
    let wanted = block.rows.iter().filter(|row| row.stands_alone() && subscription.wants(row));
    let seen = wanted.map(|row| (row, block.labelled(row.alone())));
    let wanted = seen.filter(|(_, seen)| wants_labels(subscription, block, seen));
    wanted.map(|(row, seen)| draft(row, None, &seen)).collect()
}

/// Movements from or to watched addresses, in the order of the block; one that concerns two of them is told for both.
fn activity(subscription: &Subscription, step: &FeedStep) -> Vec<Draft> {
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
                if wants_labels(subscription, block, &seen) {
                    drafts.push(draft(row, Some(address), &seen));
                }
            }
        }
    }
    drafts
}

/// Whether somebody who takes part has a label that is asked for.
fn wants_labels(subscription: &Subscription, block: &BlockRows, row: &TransferRow) -> bool {
    subscription.labels.is_empty() || block.has_label(row, &subscription.labels)
}

fn draft(row: &Row, matched: Option<headwater_types::Address>, seen: &TransferRow) -> Draft {
    let Ok(Value::Object(mut data)) = serde_json::to_value(seen) else { unreachable!("a row is an object") };
    data.insert("matched_address".to_owned(), json!(matched.map(|address| address.to_string())));
    Draft { cause: Some(row.cause), matched, data, tells_depth: true }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headwater_ledger::read::MovementKind;
    use headwater_ledger::store::Writer;
    use headwater_ledger::{Cancel, Store};
    use headwater_testkit::{Chainlet, address};
    use headwater_types::{BlockHash, Timestamp, TxHash};
    use serde_json::Map;

    use super::super::Follower;
    use super::super::event::{Cause, CausePlace};
    use super::*;

    fn item(position: u64, number: u64, fork: u8, removed: bool, head: u64) -> FeedItem {
        let hash = Some(BlockHash::new([fork; 32]));
        let (chain, time) = (Chain::ETHEREUM, Timestamp::new(0));
        FeedItem { position, chain, number, hash, time, removed, adoption: 0, head, kind: ItemKind::Block }
    }

    #[test]
    fn the_first_block_that_waits_is_found_from_the_items_alone() {
        // Blocks 1 to 3; 3 is taken back and another comes.
        let items = [
            item(1, 1, 1, false, 1),
            item(2, 2, 1, false, 2),
            item(3, 3, 1, false, 3),
            item(4, 3, 1, true, 2),
            item(5, 3, 2, false, 3),
        ];
        let first = |items: &[FeedItem], depth| first_waiting(items, depth, None);
        assert_eq!(first(&items, 1), Some(5), "block 2 is one below the head");
        assert_eq!(first(&items, 2), Some(2));
        assert_eq!(first(&items, 9), Some(1));
        assert_eq!(first(&items[..4], 1), None, "block 2 was deep enough before 3 was taken back");
        assert_eq!(first_waiting(&items, 9, Some(Chain::TRON)), None);
    }

    #[test]
    fn what_waits_still_waits_where_an_item_makes_too_many_events() {
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
        let draft = Draft { cause: Some(cause), matched: None, data: Map::new(), tells_depth: true };
        let waits = |number: u64, count: usize| {
            let held = held::ROOM.hold(vec![draft.clone()], true);
            Waiting { item: item(0, number, 1, false, number), count, held }
        };
        let mut waiting = vec![waits(3, 1), waits(4, MOST_OF_ITEM), waits(5, 1)];
        let mut watcher = Watcher::new(subscription, 0);
        let refused = watcher.tell(&step, &mut waiting).err().map(|error| error.kind);
        assert_eq!(refused, Some(ErrorKind::InvalidInput(Reason::TooManyItems)));
        assert_eq!(waiting.iter().map(|one| one.item.number).collect::<Vec<_>>(), [3, 4, 5]);
        waiting[1].count = 1;
        assert_eq!(watcher.tell(&step, &mut waiting).unwrap().len(), 2);
    }

    #[test]
    fn what_had_no_room_is_told_the_same() {
        static NONE: Room = Room::of(0);
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
        let mut held = Watcher::new(subscription, 0);
        let mut again = Watcher { room: &NONE, ..Watcher::new(held.subscription().clone(), 0) };
        let mut told = 0;
        for step in &steps {
            let events = held.advance(step).unwrap();
            told += events.len();
            assert_eq!(again.advance(step).unwrap(), events);
        }
        assert_eq!(told, 2 * 7);
        let waits = |watcher: &Watcher| -> Vec<bool> {
            watcher.waiting.iter().flatten().map(|waiting| waiting.held.is_some()).collect()
        };
        assert_eq!((waits(&held), waits(&again)), (vec![true; 3], vec![false; 3]));
    }
}
