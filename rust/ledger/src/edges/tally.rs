//! Groups the postings of one account by counterparty and asset.

use std::cmp::Reverse;

use headwater_types::{Amount, Timestamp, Usd};

use super::records::{EdgeFlows, EdgeOrder};
use crate::read::Direction;
use crate::segment::RawPosting;

const NONE: u32 = u32::MAX;

/// A counterparty of an account in one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PairRow {
    /// Local id.
    pub(crate) other: u32,
    /// Over the default scope.
    pub(crate) flows: EdgeFlows,
    /// How many asset rows it has, which follow those of the pairs before.
    pub(crate) assets: u32,
}

/// A counterparty and an asset in one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AssetRow {
    /// Local id.
    pub(crate) asset: u32,
    pub(crate) flows: EdgeFlows,
    pub(crate) received: Option<Amount>,
    pub(crate) sent: Option<Amount>,
}

/// All of an account in one segment: pairs by weight, asset rows in order of their pair, then by weight.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AccountEdges {
    pub(crate) pairs: Vec<PairRow>,
    pub(crate) rows: Vec<AssetRow>,
}

/// What a posting is worth, and whether it is in the default scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Valued {
    pub(crate) time: Timestamp,
    pub(crate) usd: Option<Usd>,
    pub(crate) verified: bool,
}

/// The transaction seen last, by what counts distinct ones.
#[derive(Clone, Copy)]
struct Latest {
    either: u32,
    received: u32,
    sent: u32,
}

struct Tracked {
    key: u64,
    flows: EdgeFlows,
    latest: Latest,
}

struct Row {
    tracked: Tracked,
    pair: u32,
    received: Option<Amount>,
    sent: Option<Amount>,
}

/// Groups one account after the other, keeping its tables. Distinct transactions are counted by adjacency, so postings
/// must come in their order.
#[derive(Default)]
pub(crate) struct Tally {
    pairs: Vec<Tracked>,
    rows: Vec<Row>,
    pair_slots: Slots,
    row_slots: Slots,
}

impl Tally {
    /// Begins an account with at most so many postings.
    pub(crate) fn begin(&mut self, postings: u64) {
        self.pairs.clear();
        self.rows.clear();
        let expected = usize::try_from(postings.min(1024)).unwrap_or(1024);
        self.pair_slots.clear(expected);
        self.row_slots.clear(expected);
    }

    /// Adds a posting that moved something, did not fail, and has another account on its other side.
    pub(crate) fn add(&mut self, other: u32, posting: &RawPosting, valued: &Valued) {
        let key = u64::from(other) << 32 | u64::from(posting.asset);
        let place = self.row_slots.find(key, self.rows.len(), |row| self.rows[row].tracked.key) as usize;
        if place == self.rows.len() {
            let pair = self.pair_slots.find(u64::from(other), self.pairs.len(), |pair| self.pairs[pair].key);
            if pair as usize == self.pairs.len() {
                self.pairs.push(Tracked::new(u64::from(other)));
            }
            self.rows.push(Row {
                tracked: Tracked::new(key),
                pair,
                received: Some(Amount::ZERO),
                sent: Some(Amount::ZERO),
            });
        }
        let row = &mut self.rows[place];
        row.tracked.add(posting, valued);
        let sum = match posting.direction() {
            Direction::In => &mut row.received,
            Direction::Out | Direction::Own => &mut row.sent,
        };
        *sum = sum.and_then(|sum| sum.checked_add(posting.amount));
        if valued.verified {
            self.pairs[row.pair as usize].add(posting, valued);
        }
    }

    /// The account in order.
    pub(crate) fn finish(&mut self) -> AccountEdges {
        // Pairs and rows are large: what tells their order is sorted, and each is copied to its place once.
        let weighed = |(place, pair): (usize, &Tracked)| (Reverse(pair.weight()), pair.key, id(place));
        let mut order: Vec<(Reverse<Weight>, u64, u32)> = self.pairs.iter().enumerate().map(weighed).collect();
        order.sort_unstable();
        // Mostly each pair has one row, which was added with it.
        let rows = (self.rows.len() > self.pairs.len()).then(|| self.rows_of_pairs());
        let mut edges =
            AccountEdges { pairs: Vec::with_capacity(order.len()), rows: Vec::with_capacity(self.rows.len()) };
        for (_, key, pair) in order {
            let of_pair = rows.as_ref().map_or(std::slice::from_ref(&pair), |rows| rows.of(pair as usize));
            let assets = id(of_pair.len());
            edges.pairs.push(PairRow { other: low(key), flows: self.pairs[pair as usize].flows, assets });
            edges.rows.extend(of_pair.iter().map(|&row| {
                let Row { tracked, received, sent, .. } = &self.rows[row as usize];
                AssetRow { asset: low(tracked.key), flows: tracked.flows, received: *received, sent: *sent }
            }));
        }
        edges
    }

    /// Rows by pair, those of each by weight.
    fn rows_of_pairs(&self) -> RowsOfPairs {
        let mut starts = vec![0_u32; self.pairs.len() + 1];
        self.rows.iter().for_each(|row| starts[row.pair as usize + 1] += 1);
        for pair in 0..self.pairs.len() {
            starts[pair + 1] += starts[pair];
        }
        let mut next = starts.clone();
        let mut rows = vec![0_u32; self.rows.len()];
        for (place, row) in self.rows.iter().enumerate() {
            let slot = &mut next[row.pair as usize];
            rows[*slot as usize] = id(place);
            *slot += 1;
        }
        for pair in starts.windows(2).filter(|pair| pair[1] - pair[0] > 1) {
            rows[pair[0] as usize..pair[1] as usize].sort_unstable_by_key(|&row| {
                let row = &self.rows[row as usize].tracked;
                (Reverse(row.weight()), row.key)
            });
        }
        RowsOfPairs { starts, rows }
    }
}

/// Places of rows, by pair.
struct RowsOfPairs {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl RowsOfPairs {
    fn of(&self, pair: usize) -> &[u32] {
        &self.rows[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }
}

/// What edges are ordered by: US dollars, then movements.
type Weight = (Usd, u64);

impl Tracked {
    fn new(key: u64) -> Self {
        Self { key, flows: EdgeFlows::NONE, latest: Latest { either: NONE, received: NONE, sent: NONE } }
    }

    fn weight(&self) -> Weight {
        self.flows.weight(EdgeOrder::Total)
    }

    fn add(&mut self, posting: &RawPosting, valued: &Valued) {
        let row = posting.row;
        let flows = &mut self.flows;
        flows.transactions += u64::from(std::mem::replace(&mut self.latest.either, row) != row);
        flows.first = flows.first.min(valued.time);
        flows.last = flows.last.max(valued.time);
        let (side, latest) = match posting.direction() {
            Direction::In => (&mut flows.received, &mut self.latest.received),
            Direction::Out | Direction::Own => (&mut flows.sent, &mut self.latest.sent),
        };
        side.transactions += u64::from(std::mem::replace(latest, row) != row);
        side.transfers += 1;
        match valued.usd {
            Some(usd) => side.usd += usd,
            None => side.unpriced += 1,
        }
    }
}

/// A table from keys to places in a list, by open addressing; cleared in proportion to what it is to hold.
#[derive(Default)]
struct Slots {
    places: Vec<u32>,
    bits: u32,
}

impl Slots {
    fn clear(&mut self, expected: usize) {
        self.bits = (expected.max(4) * 2).next_power_of_two().trailing_zeros();
        self.places.clear();
        self.places.resize(1 << self.bits, NONE);
    }

    /// The place of a key; `length` when it is new, which it then has.
    fn find(&mut self, key: u64, length: usize, key_at: impl Fn(usize) -> u64) -> u32 {
        if length * 2 >= self.places.len() {
            self.bits += 1;
            self.places.clear();
            self.places.resize(1 << self.bits, NONE);
            for place in 0..length {
                let slot = self.slot(key_at(place), |_| false);
                self.places[slot] = id(place);
            }
        }
        let slot = self.slot(key, |place| key_at(place) == key);
        if self.places[slot] == NONE {
            self.places[slot] = id(length);
        }
        self.places[slot]
    }

    /// The slot that holds a key, or the free one where it would go.
    fn slot(&self, key: u64, is_key: impl Fn(usize) -> bool) -> usize {
        let mask = self.places.len() - 1;
        let mixed = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.bits);
        let mut slot = usize::try_from(mixed).unwrap_or(0) & mask;
        while self.places[slot] != NONE && !is_key(self.places[slot] as usize) {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

fn id(place: usize) -> u32 {
    u32::try_from(place).expect("counterparties are numbered in 32 bits as accounts are")
}

fn low(key: u64) -> u32 {
    u32::try_from(key & u64::from(u32::MAX)).expect("32 bits were kept")
}
