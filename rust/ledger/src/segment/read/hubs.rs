//! Holdings of accounts, by asset and by day: from the sub-index of hubs, from the postings of all others.

use std::ops::Range;
use std::sync::Arc;

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use super::super::container::{Container, search};
use super::super::fee::saturating_add;
use super::super::layout::{self, Counts, HUB, SECS_PER_DAY};
use super::super::opening::HistoryStart;
use super::super::pack::{AmountTable, Ints, Table};
use super::super::posting::RawPosting;
use super::Segment;
use super::postings::index;
use crate::error::Result;
use crate::primitives::{ColumnBuffer, ColumnSet, Direction, LARGE, MovementKind};

/// Postings read at once.
const CHUNK: u64 = 4096;

/// Sums of one account and asset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) asset: u32,
    /// As a list of holders states it.
    pub(crate) opening: Amount,
    pub(crate) received: Amount,
    /// Fees included.
    pub(crate) sent: Amount,
    pub(crate) fees: Amount,
}

/// Movements in and out of one day; fees are part of the latter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DayChange {
    /// Days since 1970-01-01, UTC.
    pub(crate) day: i64,
    pub(crate) received: Amount,
    pub(crate) sent: Amount,
    pub(crate) fees: Amount,
}

/// The postings of a hub in one asset, by their numbers, ascending.
pub(crate) struct AssetPlaces<'a> {
    places: &'a Ints,
    range: Range<usize>,
    first: u64,
}

impl AssetPlaces<'_> {
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    /// The number of the posting at a place.
    pub(crate) fn get(&self, at: usize) -> Result<u64> {
        if at >= self.range.len() {
            return Err(self.places.outside(self.range.start.saturating_add(at)));
        }
        Ok(self.first.saturating_add(self.places.get(self.range.start + at)?))
    }

    /// First place whose posting is not numbered below one.
    pub(crate) fn lower_bound(&self, posting: u64) -> Result<usize> {
        let bound = posting.saturating_sub(self.first);
        Ok(self.places.lower_bound(self.range.clone(), bound)? - self.range.start)
    }

    /// Appends the numbers of the postings of a range of places.
    pub(crate) fn read(&self, range: Range<usize>, into: &mut Vec<u64>) -> Result<()> {
        let start = into.len();
        let end = self.range.start.saturating_add(range.end).min(self.range.end);
        self.places.read(self.range.start.saturating_add(range.start).min(end)..end, into)?;
        into[start..].iter_mut().for_each(|place| *place = place.saturating_add(self.first));
        Ok(())
    }
}

/// Sums of hubs, and fees.
pub(super) struct Hubs {
    accounts: Table<2>,
    count: usize,
    pairs: Table<4>,
    received: AmountTable,
    sent: AmountTable,
    places: Ints,
    days: Ints,
    day_received: AmountTable,
    day_sent: AmountTable,
    pub(super) fee_payers: usize,
    pub(super) fee_accounts: Ints,
    pub(super) fee_sums: AmountTable,
}

/// One asset of a hub.
struct Pair {
    asset: u32,
    places: Range<usize>,
    days: Range<usize>,
    is_held: bool,
}

impl Hubs {
    pub(super) fn open(file: &Arc<Container>, counts: &Counts) -> Result<Self> {
        Ok(Self {
            count: index(counts.hubs),
            accounts: Table::open(file, layout::HUBS)?,
            pairs: Table::open(file, layout::PAIRS)?,
            received: AmountTable::open(file, layout::PAIR_RECEIVED)?,
            sent: AmountTable::open(file, layout::PAIR_SENT)?,
            places: Ints::open(file, layout::PAIR_PLACES)?,
            days: Ints::open(file, layout::DAYS)?,
            day_received: AmountTable::open(file, layout::DAY_RECEIVED)?,
            day_sent: AmountTable::open(file, layout::DAY_SENT)?,
            fee_payers: index(counts.fee_payers),
            fee_accounts: Ints::open(file, layout::FEE_ACCOUNTS)?,
            fee_sums: AmountTable::open(file, layout::FEE_SUMS)?,
        })
    }

    /// The pairs of a hub.
    fn pairs_of(&self, account: u32) -> Result<Option<Range<usize>>> {
        let hub = search(0..self.count, |at| Ok(self.accounts.value(at, 0)? < u64::from(account)))?;
        if hub == self.count || self.accounts.value(hub, 0)? != u64::from(account) {
            return Ok(None);
        }
        let start = if hub == 0 { 0 } else { self.accounts.value(hub - 1, 1)? };
        Ok(Some(index(start)..index(self.accounts.value(hub, 1)?)))
    }

    fn pair(&self, at: usize) -> Result<Pair> {
        let [asset, places_end, days_end, is_held] = self.pairs.row(at)?;
        let [_, places, days, _] = if at == 0 { [0; 4] } else { self.pairs.row(at - 1)? };
        let asset = u32::try_from(asset).map_err(|_| self.pairs.wrong(at, "is not an asset"))?;
        if places > places_end || days > days_end {
            return Err(self.pairs.wrong(at, "ends before it begins"));
        }
        let (places, days) = (index(places)..index(places_end), index(days)..index(days_end));
        Ok(Pair { asset, places, days, is_held: is_held != 0 })
    }

    fn pair_of(&self, pairs: Range<usize>, asset: u32) -> Result<Option<Pair>> {
        let at = search(pairs.clone(), |at| Ok(self.pairs.value(at, 0)? < u64::from(asset)))?;
        if at >= pairs.end {
            return Ok(None);
        }
        let pair = self.pair(at)?;
        Ok((pair.asset == asset).then_some(pair))
    }

    fn fee(&self, account: u32) -> Result<Option<Amount>> {
        let length = self.fee_payers;
        let place = self.fee_accounts.lower_bound(0..length, u64::from(account))?;
        let found = place < length && self.fee_accounts.get(place)? == u64::from(account);
        found.then(|| self.fee_sums.get(place)).transpose()
    }
}

impl Segment {
    /// Returns what an account was stated to hold, received, sent and paid in fees, by asset. What failed does not
    /// count, nor what moved before a token begins; an account that had nothing to do with a token behind that has no
    /// sums of it.
    pub(crate) fn holdings(&self, account: u32, begins: &[HistoryStart]) -> Result<Vec<Sums>> {
        let mut sums = self.moved(account)?;
        self.begin_holdings(account, begins, &mut sums)?;
        Ok(sums)
    }

    /// Returns what an account received, sent and paid in fees, by asset. What failed does not count.
    fn moved(&self, account: u32) -> Result<Vec<Sums>> {
        let hubs = &self.hubs;
        let mut sums = match self.hub(account)? {
            Some((_, pairs)) => {
                let mut sums = Vec::new();
                for at in pairs {
                    let pair = hubs.pair(at)?;
                    if pair.is_held {
                        let (received, sent) = (hubs.received.get(at)?, hubs.sent.get(at)?);
                        sums.push(Sums { asset: pair.asset, received, sent, ..Sums::default() });
                    }
                }
                sums
            }
            None => self.light_holdings(account)?,
        };
        if let Some(fee) = hubs.fee(account)? {
            if sums.first().is_none_or(|sums| sums.asset != 0) {
                sums.insert(0, Sums::default());
            }
            sums[0].sent = saturating_add(sums[0].sent, fee);
            sums[0].fees = fee;
        }
        Ok(sums)
    }

    /// Returns the same of one asset; `None` when the account had nothing to do with it.
    pub(crate) fn holding(&self, account: u32, asset: u32, begins: &[HistoryStart]) -> Result<Option<Sums>> {
        let hubs = &self.hubs;
        // The native coin pays fees, and what begins with an opening counts from there.
        if asset != 0
            && begins.is_empty()
            && let Some((_, pairs)) = self.hub(account)?
        {
            let end = pairs.end;
            let at = search(pairs, |at| Ok(hubs.pairs.value(at, 0)? < u64::from(asset)))?;
            if at == end {
                return Ok(None);
            }
            let pair = hubs.pair(at)?;
            if pair.asset != asset || !pair.is_held {
                return Ok(None);
            }
            let (received, sent) = (hubs.received.get(at)?, hubs.sent.get(at)?);
            return Ok(Some(Sums { asset, received, sent, ..Sums::default() }));
        }
        Ok(self.holdings(account, begins)?.into_iter().find(|sums| sums.asset == asset))
    }

    fn light_holdings(&self, account: u32) -> Result<Vec<Sums>> {
        let mut columns = ColumnBuffer::default();
        let wanted = ColumnSet::ASSETS.with(ColumnSet::AMOUNTS);
        self.postings().columns(self.postings().range(account)?, wanted, &mut columns)?;
        let mut large = columns.large.iter();
        let mut sums: Vec<Sums> = Vec::new();
        let mut places: FxHashMap<u32, usize> = FxHashMap::default();
        for (at, &asset) in columns.assets.iter().enumerate() {
            let (flags, small) = (columns.flags[at], columns.amounts[at]);
            let whole = if small == LARGE { large.next().map(|(_, amount)| *amount) } else { None };
            let amount = whole.unwrap_or_else(|| Amount::from_u128(small));
            if !flags.counts() {
                continue;
            }
            let place = *places.entry(asset).or_insert_with(|| {
                sums.push(Sums { asset, ..Sums::default() });
                sums.len() - 1
            });
            match flags.direction() {
                Direction::In => sums[place].received = saturating_add(sums[place].received, amount),
                Direction::Out => sums[place].sent = saturating_add(sums[place].sent, amount),
                Direction::Own => {}
            }
        }
        sums.sort_unstable_by_key(|sums| sums.asset);
        Ok(sums)
    }

    /// The most postings that any account has, or more where none is a hub.
    pub(crate) fn max_postings(&self) -> Result<u64> {
        let hubs = &self.hubs;
        let mut most = HUB as u64;
        for place in 0..hubs.count {
            let account = hubs.accounts.value(place, 0)?;
            let range = self.postings().range(u32::try_from(account).unwrap_or(u32::MAX))?;
            most = most.max(range.end - range.start);
        }
        Ok(most)
    }

    /// The first posting of a hub, and its pairs; `None` for other accounts.
    fn hub(&self, account: u32) -> Result<Option<(u64, Range<usize>)>> {
        let range = self.postings().range(account)?;
        if range.end - range.start <= HUB as u64 {
            return Ok(None);
        }
        Ok(self.hubs.pairs_of(account)?.map(|pairs| (range.start, pairs)))
    }

    /// Returns which postings of an account are of one asset. `None` for accounts without a sub-index, whose postings
    /// are few: reading them all costs little.
    pub(crate) fn asset_places(&self, account: u32, asset: u32) -> Result<Option<AssetPlaces<'_>>> {
        let Some((first, pairs)) = self.hub(account)? else { return Ok(None) };
        let hubs = &self.hubs;
        let range = hubs.pair_of(pairs, asset)?.map_or(0..0, |pair| pair.places);
        Ok(Some(AssetPlaces { places: &hubs.places, range, first }))
    }

    #[allow(dead_code, reason = "balance histories read it")]
    /// Returns what came to and went from an account in an asset on each day that it did, ascending. What failed moves
    /// nothing, but pays its fee.
    pub(crate) fn daily(&self, account: u32, asset: u32) -> Result<Vec<DayChange>> {
        let mut days = Days { base: self.base().1.secs(), days: Vec::new() };
        let range = self.postings().range(account)?;
        if let Some((first, pairs)) = self.hub(account)? {
            let hubs = &self.hubs;
            let Some(pair) = hubs.pair_of(pairs, asset)? else { return Ok(days.days) };
            if asset != 0 && !pair.days.is_empty() {
                return self.stored_days(&pair);
            }
            let mut numbers = Vec::new();
            AssetPlaces { places: &hubs.places, range: pair.places, first }.read(0..usize::MAX, &mut numbers)?;
            let mut postings = Vec::new();
            for run in numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
                postings.clear();
                self.postings().read(run[0]..run[run.len() - 1].saturating_add(1), &mut postings)?;
                self.add_days(asset, &postings, &mut days)?;
            }
            return Ok(days.days);
        }
        let mut postings = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let next = at.saturating_add(CHUNK).min(range.end);
            postings.clear();
            self.postings().read(at..next, &mut postings)?;
            self.add_days(asset, &postings, &mut days)?;
            at = next;
        }
        Ok(days.days)
    }

    fn stored_days(&self, pair: &Pair) -> Result<Vec<DayChange>> {
        let hubs = &self.hubs;
        let first = self.base().1.secs().div_euclid(SECS_PER_DAY);
        let change = |at: usize| {
            Ok(DayChange {
                day: first.saturating_add(hubs.days.get(at)?.cast_signed()),
                received: hubs.day_received.get(at)?,
                sent: hubs.day_sent.get(at)?,
                fees: Amount::ZERO,
            })
        };
        pair.days.clone().map(change).collect()
    }

    fn add_days(&self, asset: u32, postings: &[RawPosting], days: &mut Days) -> Result<()> {
        for posting in postings.iter().filter(|posting| posting.asset == asset) {
            let direction = posting.direction();
            // The sender of a transaction pays its fee, whatever became of it; its native movement is its own one.
            let pays = asset == 0 && posting.kind() == MovementKind::Native && direction != Direction::In;
            let fee = if pays { self.transactions.fee(posting.row)? } else { None };
            let moves = posting.counts() && direction != Direction::Own;
            let amount = moves.then_some(posting.amount);
            if amount.is_none() && fee.is_none() {
                continue;
            }
            let day = days.of(posting.time);
            match (direction, amount) {
                (Direction::In, Some(amount)) => day.received = saturating_add(day.received, amount),
                (_, Some(amount)) => day.sent = saturating_add(day.sent, amount),
                (_, None) => {}
            }
            if let Some(fee) = fee {
                day.sent = saturating_add(day.sent, fee);
                day.fees = saturating_add(day.fees, fee);
            }
        }
        Ok(())
    }
}

/// Changes by day, ascending, while postings come in their order.
struct Days {
    base: i64,
    days: Vec<DayChange>,
}

impl Days {
    fn of(&mut self, time: u32) -> &mut DayChange {
        let day = self.base.saturating_add(i64::from(time)).div_euclid(SECS_PER_DAY);
        let behind = self.days.iter().rposition(|held| held.day <= day).map_or(0, |place| place + 1);
        if behind > 0 && self.days[behind - 1].day == day {
            return &mut self.days[behind - 1];
        }
        let (received, sent, fees) = (Amount::ZERO, Amount::ZERO, Amount::ZERO);
        self.days.insert(behind, DayChange { day, received, sent, fees });
        &mut self.days[behind]
    }
}
