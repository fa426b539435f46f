//! Groups the postings of one account by counterparty and asset.

use std::cmp::Reverse;
use std::mem::size_of;

use headwater_types::{Amount, Timestamp, Usd};

use super::records::{EdgeFlows, EdgeOrder};
use crate::primitives::Direction;
use crate::segment::RawPosting;

const NONE: u32 = u32::MAX;

/// A counterparty of an account in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PairRow {
    /// Local id.
    pub(crate) other: u32,
    /// Over the default scope.
    pub(crate) flows: EdgeFlows,
    /// The number of asset rows it has, which follow those of the pairs before.
    pub(crate) assets: u32,
}

/// A counterparty and an asset in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl AccountEdges {
    /// Bytes that it takes.
    pub(crate) const fn bytes(&self) -> usize {
        self.pairs.len() * size_of::<PairRow>() + self.rows.len() * size_of::<AssetRow>()
    }
}

/// The value of a posting, and whether it is in the default scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostingValue {
    pub(crate) time: Timestamp,
    pub(crate) usd: Option<Usd>,
    pub(crate) verified: bool,
}

/// The transaction seen last, by what counts distinct ones.
#[derive(Clone, Copy)]
struct LatestTransactions {
    either: u32,
    received: u32,
    sent: u32,
}

/// The state of a row while it is added to.
#[derive(Clone, Copy)]
struct RowMark {
    /// Counterparty and asset.
    key: u64,
    latest: LatestTransactions,
    pair: u32,
}

/// Groups one account after the other, keeping its tables. Distinct transactions are counted by adjacency, so postings
/// must come in their order.
///
/// A hub has millions of pairs, hundreds of bytes each: they are added up, ordered and handed out in one place.
#[derive(Default)]
pub(crate) struct Tally {
    edges: AccountEdges,
    pair_marks: Vec<LatestTransactions>,
    row_marks: Vec<RowMark>,
    pair_slots: Slots,
    row_slots: Slots,
    weighed: Vec<(Reverse<Weight>, u32, u32)>,
}

/// Pairs up to which the memory of an account is kept for the next.
const KEPT_PAIRS: usize = 1 << 16;

impl Tally {
    /// Begins an account with at most so many postings.
    pub(crate) fn begin(&mut self, postings: u64) {
        if self.row_marks.capacity() > KEPT_PAIRS {
            *self = Self::default();
        }
        self.edges.pairs.clear();
        self.edges.rows.clear();
        self.pair_marks.clear();
        self.row_marks.clear();
        let expected = usize::try_from(postings.min(1024)).unwrap_or(1024);
        self.pair_slots.clear(expected);
        self.row_slots.clear(expected);
    }

    /// Adds a posting that moved something, did not fail, and has another account on its other side.
    pub(crate) fn add(&mut self, other: u32, posting: &RawPosting, valued: &PostingValue) {
        let AccountEdges { pairs, rows } = &mut self.edges;
        let key = u64::from(other) << 32 | u64::from(posting.asset);
        let place = self.row_slots.find(key, rows.len(), |row| self.row_marks[row].key) as usize;
        if place == rows.len() {
            let pair = self.pair_slots.find(u64::from(other), pairs.len(), |pair| u64::from(pairs[pair].other));
            if pair as usize == pairs.len() {
                pairs.push(PairRow { other, flows: EdgeFlows::NONE, assets: 0 });
                self.pair_marks.push(LatestTransactions::NONE);
            }
            pairs[pair as usize].assets += 1;
            let (asset, zero) = (posting.asset, Some(Amount::ZERO));
            rows.push(AssetRow { asset, flows: EdgeFlows::NONE, received: zero, sent: zero });
            self.row_marks.push(RowMark { key, latest: LatestTransactions::NONE, pair });
        }
        let (row, mark) = (&mut rows[place], &mut self.row_marks[place]);
        mark.latest.count(&mut row.flows, posting, valued);
        let sum = match posting.direction() {
            Direction::In => &mut row.received,
            Direction::Out | Direction::Own => &mut row.sent,
        };
        *sum = sum.and_then(|sum| sum.checked_add(posting.amount));
        if valued.verified {
            let pair = mark.pair as usize;
            self.pair_marks[pair].count(&mut pairs[pair].flows, posting, valued);
        }
    }

    /// The account in order.
    pub(crate) fn finish(&mut self) -> &mut AccountEdges {
        let AccountEdges { pairs, rows } = &mut self.edges;
        // Pairs and rows are large: only their sort keys are sorted, and each row is moved to its place once.
        self.weighed.clear();
        let weighed = |(place, pair): (usize, &PairRow)| (Reverse(weight(&pair.flows)), pair.other, id(place));
        self.weighed.extend(pairs.iter().enumerate().map(weighed));
        self.weighed.sort_unstable();
        let mut order: Vec<u32> = self.weighed.iter().map(|(.., pair)| *pair).collect();
        // Mostly each pair has one row, which was added with it.
        let mut row_order = if rows.len() > pairs.len() {
            let by_pair = RowsOfPairs::of(pairs, rows, &self.row_marks);
            order.iter().flat_map(|&pair| by_pair.rows(pair as usize)).copied().collect()
        } else {
            order.clone()
        };
        put_in_order(pairs, &mut order);
        put_in_order(rows, &mut row_order);
        &mut self.edges
    }
}

/// Moves what is at `order[n]` to place n, for all n: along each circle of places, with one of them held aside.
fn put_in_order<T: Copy>(list: &mut [T], order: &mut [u32]) {
    for start in 0..order.len() {
        if order[start] as usize == start {
            continue;
        }
        let aside = list[start];
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], id(at)) as usize;
            if from == start {
                break;
            }
            list[at] = list[from];
            at = from;
        }
        list[at] = aside;
    }
}

/// Places of rows, by pair, those of each by weight.
struct RowsOfPairs {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl RowsOfPairs {
    fn of(pairs: &[PairRow], rows: &[AssetRow], marks: &[RowMark]) -> Self {
        let mut starts = vec![0_u32; pairs.len() + 1];
        for (place, pair) in pairs.iter().enumerate() {
            starts[place + 1] = starts[place] + pair.assets;
        }
        let mut next = starts.clone();
        let mut places = vec![0_u32; rows.len()];
        for (place, mark) in marks.iter().enumerate() {
            let slot = &mut next[mark.pair as usize];
            places[*slot as usize] = id(place);
            *slot += 1;
        }
        for pair in starts.windows(2).filter(|pair| pair[1] - pair[0] > 1) {
            places[pair[0] as usize..pair[1] as usize].sort_unstable_by_key(|&row| {
                let row = &rows[row as usize];
                (Reverse(weight(&row.flows)), row.asset)
            });
        }
        Self { starts, rows: places }
    }

    fn rows(&self, pair: usize) -> &[u32] {
        &self.rows[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }
}

/// The weight that edges are ordered by: US dollars, then movements.
type Weight = (Usd, u64);

fn weight(flows: &EdgeFlows) -> Weight {
    flows.weight(EdgeOrder::Total)
}

impl LatestTransactions {
    const NONE: Self = Self { either: NONE, received: NONE, sent: NONE };

    /// Counts a posting among flows.
    fn count(&mut self, flows: &mut EdgeFlows, posting: &RawPosting, valued: &PostingValue) {
        let row = posting.row;
        flows.transactions += u64::from(std::mem::replace(&mut self.either, row) != row);
        flows.first = flows.first.min(valued.time);
        flows.last = flows.last.max(valued.time);
        let (side, latest) = match posting.direction() {
            Direction::In => (&mut flows.received, &mut self.received),
            Direction::Out | Direction::Own => (&mut flows.sent, &mut self.sent),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::put_in_order;

    proptest! {
        #[test]
        fn permutation_moves_every_element_to_its_place(keys in prop::collection::vec(0..50_u32, 0..40)) {
            let mut order: Vec<u32> = (0..).take(keys.len()).collect();
            order.sort_by_key(|&place| keys[place as usize]);
            let mut expected = keys.clone();
            expected.sort_unstable();
            let mut list = keys;
            put_in_order(&mut list, &mut order);
            prop_assert_eq!(list, expected);
        }
    }
}
