//! Hubs: for each account with many postings and each asset it moved, which of its postings those are, what came and
//! went in all, and day by day.

use std::sync::Arc;

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use super::super::container::SegmentFile;
use super::super::fee::saturating_add;
use super::super::layout;
use super::super::pack::{AmountTableWriter, IntWriter, TableWriter};
use super::super::posting::RawPosting;
use super::super::spool::Spool;
use super::summary::Frame;
use crate::error::Result;
use crate::primitives::Direction;

/// Days are stored for pairs that have this many postings for each; for others reading the postings costs less.
const POSTINGS_PER_DAY: usize = 8;

pub(super) struct HubsWriter {
    frame: Frame,
    accounts: TableWriter<2>,
    pairs: TableWriter<4>,
    received: AmountTableWriter,
    sent: AmountTableWriter,
    places: IntWriter,
    days: IntWriter,
    day_received: AmountTableWriter,
    day_sent: AmountTableWriter,
    /// The hub being written: its assets, and for each posting which of them.
    slots: FxHashMap<u32, u32>,
    assets: Vec<Pair>,
    filed: Vec<u32>,
}

struct Pair {
    asset: u32,
    slot: u32,
    postings: usize,
    is_held: bool,
    received: Amount,
    sent: Amount,
    days: Vec<Day>,
}

struct Day {
    number: u32,
    received: Amount,
    sent: Amount,
}

impl HubsWriter {
    pub(super) fn new(spool: &Arc<Spool>, frame: Frame) -> Self {
        Self {
            frame,
            accounts: TableWriter::new(spool),
            pairs: TableWriter::new(spool),
            received: AmountTableWriter::new(spool),
            sent: AmountTableWriter::new(spool),
            places: IntWriter::new(spool),
            days: IntWriter::new(spool),
            day_received: AmountTableWriter::new(spool),
            day_sent: AmountTableWriter::new(spool),
            slots: FxHashMap::default(),
            assets: Vec::new(),
            filed: Vec::new(),
        }
    }

    /// The next posting of a hub.
    pub(super) fn push(&mut self, place: usize, raw: &RawPosting) {
        debug_assert_eq!(place, self.filed.len());
        let slot = *self.slots.entry(raw.asset).or_insert_with(|| {
            let slot = u32::try_from(self.assets.len()).expect("assets are numbered by 32 bits");
            let (received, sent, days) = (Amount::ZERO, Amount::ZERO, Vec::new());
            self.assets.push(Pair { asset: raw.asset, slot, postings: 0, is_held: false, received, sent, days });
            slot
        });
        self.filed.push(slot);
        let pair = &mut self.assets[slot as usize];
        pair.postings += 1;
        if !raw.counts() {
            return;
        }
        pair.is_held = true;
        let (received, sent) = match raw.direction() {
            Direction::In => (raw.amount, Amount::ZERO),
            Direction::Out => (Amount::ZERO, raw.amount),
            Direction::Own => return,
        };
        pair.received = saturating_add(pair.received, received);
        pair.sent = saturating_add(pair.sent, sent);
        let first = self.frame.first_time.rem_euclid(layout::SECS_PER_DAY).cast_unsigned();
        let day =
            u32::try_from((first + u64::from(raw.time)) / layout::SECS_PER_DAY.cast_unsigned()).unwrap_or(u32::MAX);
        // Times nearly ascend: on UTXO chains a block may be older than the one before it.
        let behind = pair.days.iter().rposition(|held| held.number <= day).map_or(0, |place| place + 1);
        if behind == 0 || pair.days[behind - 1].number != day {
            pair.days.insert(behind, Day { number: day, received, sent });
        } else {
            let held = &mut pair.days[behind - 1];
            held.received = saturating_add(held.received, received);
            held.sent = saturating_add(held.sent, sent);
        }
    }

    /// Ends a hub.
    pub(super) fn end(&mut self, account: u32) -> Result<()> {
        let mut pairs = std::mem::take(&mut self.assets);
        pairs.sort_unstable_by_key(|pair| pair.asset);
        // Places by pair: counted, then filed, in order inside each.
        let mut next = vec![0; pairs.len()];
        let mut start = 0;
        for pair in &pairs {
            next[pair.slot as usize] = start;
            start += pair.postings;
        }
        let mut places = vec![0_u32; self.filed.len()];
        for (place, &slot) in (0..).zip(&self.filed) {
            places[next[slot as usize]] = place;
            next[slot as usize] += 1;
        }
        places.into_iter().try_for_each(|place| self.places.push([u64::from(place)]))?;
        let mut end = self.places.len() - self.filed.len() as u64;
        for pair in &pairs {
            end += pair.postings as u64;
            if pair.days.len() * POSTINGS_PER_DAY <= pair.postings {
                for day in &pair.days {
                    self.days.push([u64::from(day.number)])?;
                    self.day_received.push(day.received)?;
                    self.day_sent.push(day.sent)?;
                }
            }
            self.pairs.push([u64::from(pair.asset), end, self.days.len(), u64::from(pair.is_held)])?;
            self.received.push(pair.received)?;
            self.sent.push(pair.sent)?;
        }
        self.accounts.push([u64::from(account), self.pairs.len()])?;
        self.slots.clear();
        self.filed.clear();
        Ok(())
    }

    /// The number of hubs.
    pub(super) fn put(self, out: &mut SegmentFile<'_>) -> Result<u64> {
        let count = self.accounts.len();
        self.accounts.put(out, layout::HUBS)?;
        self.pairs.put(out, layout::PAIRS)?;
        self.received.put(out, layout::PAIR_RECEIVED)?;
        self.sent.put(out, layout::PAIR_SENT)?;
        self.places.put(out, layout::PAIR_PLACES)?;
        self.days.put(out, layout::DAYS)?;
        self.day_received.put(out, layout::DAY_RECEIVED)?;
        self.day_sent.put(out, layout::DAY_SENT)?;
        Ok(count)
    }
}
