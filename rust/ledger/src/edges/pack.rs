//! The record of one account: blocks of up to 128 rows, each column of a block packed to the width it needs there.
//!
//! ```text
//! record   pairs, flow rows, asset rows (varints)
//!          past one block of a kind: pairs by order (two varints), and of each block where it ends and what it begins with
//!          pair blocks, flow blocks, asset blocks
//!          past one pair block: pairs by sent, by received, by counterparty; past 4,096 asset rows: those by asset
//! ```
//!
//! A block begins with the widths of its columns, one byte each. Most counterparties deal in one asset that is in the
//! default scope; the flows of that asset are those of the pair and are not written twice. Asset rows whose flows
//! differ from those of their pair have flow rows of their own.

use std::cmp::Reverse;
use std::ops::Range;

use headwater_types::{Amount, Timestamp, Usd};

use super::records::{EdgeFlows, EdgeOrder, EdgeSide};
use super::tally::{AccountEdges, AssetRow, PairRow};
use crate::bits::{get, get_small, packed_bytes, put_column, put_varint, width};

/// Rows of a block.
pub(super) const BLOCK: usize = 128;
/// Accounts with more asset rows than this have them in order of the asset too.
pub(super) const ASSET_ORDER: usize = 4096;

/// Columns that flows are written in.
pub(super) const FLOW_COLUMNS: usize = 11;
/// The flows, the counterparty, the number of its asset rows.
pub(super) const PAIR_COLUMNS: usize = FLOW_COLUMNS + 2;
const OTHER: usize = FLOW_COLUMNS;
const ASSETS: usize = FLOW_COLUMNS + 1;

/// Asset, sides, whether the row has flows of its own; by side, exponent and bytes of the sum.
const ASSET_COLUMNS: usize = 5;
const RECEIVED: u128 = 1;
const SENT: u128 = 2;
/// The length that stands for a sum past 256 bits.
const OVERFLOWN: u128 = 33;

type Columns<const N: usize> = [Vec<u128>; N];

/// The buffers that are reused from one record to the next.
#[derive(Default)]
pub(super) struct Encoder {
    columns: Columns<PAIR_COLUMNS>,
    mantissas: Vec<u8>,
    /// The flows of asset rows that have some of their own.
    own: Vec<bool>,
    own_flows: Vec<EdgeFlows>,
    /// First asset row of each pair block.
    firsts: Vec<usize>,
    blocks: [Blocks; 3],
}

impl Encoder {
    /// Writes the record of an account; `base` is the first time of the segment.
    pub(super) fn encode(&mut self, edges: &AccountEdges, base: Timestamp, out: &mut Vec<u8>) {
        let AccountEdges { pairs, rows } = edges;
        let Self { columns, mantissas, own, own_flows, firsts, blocks } = self;
        own.clear();
        own_flows.clear();
        firsts.clear();
        blocks.iter_mut().for_each(Blocks::clear);
        let mut first = 0;
        for (place, pair) in pairs.iter().enumerate() {
            if place.is_multiple_of(BLOCK) {
                firsts.push(first);
            }
            let of_pair = &rows[first..first + pair.assets as usize];
            let is_shared = of_pair.len() == 1 && pair.flows.transfers() > 0;
            for row in of_pair {
                own.push(!is_shared);
                own_flows.extend((!is_shared).then_some(row.flows));
            }
            first += of_pair.len();
        }

        let [pair_bytes, flow_bytes, asset_bytes] = blocks;
        for (block, first) in pairs.chunks(BLOCK).zip(firsts.iter()) {
            columns.iter_mut().for_each(Vec::clear);
            for pair in block {
                push_flows(&pair.flows, base, columns);
                columns[OTHER].push(u128::from(pair.other));
                columns[ASSETS].push(u128::from(pair.assets));
            }
            put_columns(columns, &mut pair_bytes.bytes);
            pair_bytes.end(*first);
        }
        for block in own_flows.chunks(BLOCK) {
            columns.iter_mut().for_each(Vec::clear);
            for flows in block {
                push_flows(flows, base, columns);
            }
            put_columns(&columns[..FLOW_COLUMNS], &mut flow_bytes.bytes);
            flow_bytes.end(0);
        }
        let mut first_flow = 0;
        for (block, own) in rows.chunks(BLOCK).zip(own.chunks(BLOCK)) {
            columns.iter_mut().for_each(Vec::clear);
            mantissas.clear();
            put_assets(block, own, (&mut columns[..ASSET_COLUMNS], mantissas), &mut asset_bytes.bytes);
            asset_bytes.end(first_flow);
            first_flow += own.iter().filter(|own| **own).count();
        }
        put_record(edges, own_flows.len(), blocks, out);
    }
}

/// Puts the blocks of a record together, with what finds them.
fn put_record(AccountEdges { pairs, rows }: &AccountEdges, flows: usize, blocks: &[Blocks; 3], out: &mut Vec<u8>) {
    for count in [pairs.len(), flows, rows.len()] {
        put_varint(count as u64, out);
    }
    let is_long = Shape::new(pairs.len(), flows, rows.len()).is_long();
    let by_order = |order| if pairs.len() > BLOCK { places_by(pairs, order) } else { Vec::new() };
    let (by_sent, by_received) = (by_order(EdgeOrder::Sent), by_order(EdgeOrder::Received));
    if is_long {
        put_varint(by_sent.len() as u64, out);
        put_varint(by_received.len() as u64, out);
        for blocks in blocks {
            blocks.directory.iter().flatten().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        }
    }
    for blocks in blocks {
        out.extend_from_slice(&blocks.bytes);
    }
    if pairs.len() > BLOCK {
        let by_other = places_of(pairs.iter().map(|pair| pair.other));
        for places in [&by_sent, &by_received, &by_other] {
            put_places(places, pairs.len(), out);
        }
    }
    if rows.len() > ASSET_ORDER {
        put_places(&places_of(rows.iter().map(|row| row.asset)), rows.len(), out);
    }
}

/// Places in order of ids, and of places where those are equal.
fn places_of(ids: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut places: Vec<(u32, usize)> = ids.zip(0..).collect();
    places.sort_unstable();
    places.into_iter().map(|(_, place)| place).collect()
}

/// Places of the pairs that an order holds, in it.
pub(super) fn places_by(pairs: &[PairRow], order: EdgeOrder) -> Vec<usize> {
    let held = pairs.iter().enumerate().filter(|(_, pair)| order.holds(&pair.flows));
    let mut places: Vec<_> = held.map(|(place, pair)| (Reverse(pair.flows.weight(order)), pair.other, place)).collect();
    places.sort_unstable();
    places.into_iter().map(|(.., place)| place).collect()
}

/// The first of some places, with their asset rows.
pub(super) fn selected(edges: &AccountEdges, places: Vec<usize>, limit: usize) -> AccountEdges {
    let mut starts = vec![0];
    starts.extend(edges.pairs.iter().scan(0, |end, pair| {
        *end += pair.assets as usize;
        Some(*end)
    }));
    let mut selected = AccountEdges::default();
    for place in places.into_iter().take(limit) {
        selected.pairs.push(edges.pairs[place]);
        selected.rows.extend_from_slice(&edges.rows[starts[place]..starts[place + 1]]);
    }
    selected
}

/// Bits of a place among so many rows.
pub(super) fn place_width(rows: usize) -> u32 {
    usize::BITS - rows.saturating_sub(1).leading_zeros()
}

fn put_places(places: &[usize], rows: usize, out: &mut Vec<u8>) {
    let places: Vec<u128> = places.iter().map(|place| *place as u128).collect();
    put_column(&places, place_width(rows), out);
}

#[derive(Default)]
struct Blocks {
    bytes: Vec<u8>,
    /// The end of each block, and the first row that belongs to it.
    directory: Vec<[u64; 2]>,
}

impl Blocks {
    fn clear(&mut self) {
        self.bytes.clear();
        self.directory.clear();
    }

    fn end(&mut self, first: usize) {
        self.directory.push([self.bytes.len() as u64, first as u64]);
    }
}

/// The number of rows of each kind a record has, and where that leaves its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) pairs: usize,
    pub(super) flows: usize,
    pub(super) rows: usize,
}

impl Shape {
    pub(super) const fn new(pairs: usize, flows: usize, rows: usize) -> Self {
        Self { pairs, flows, rows }
    }

    /// Returns whether there is more than one block of a kind, so that a directory says where they are.
    pub(super) const fn is_long(&self) -> bool {
        self.pairs > BLOCK || self.flows > BLOCK || self.rows > BLOCK
    }
}

fn put_columns(columns: &[Vec<u128>], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + columns.len(), 0);
    for (place, column) in columns.iter().enumerate() {
        let width = width(column);
        out[start + place] = u8::try_from(width).expect("at most 128 bits");
        put_column(column, width, out);
    }
}

fn push_flows(flows: &EdgeFlows, base: Timestamp, into: &mut [Vec<u128>]) {
    let EdgeFlows { received, sent, transactions, first, last } = flows;
    let raw = |side: &EdgeSide| side.usd.raw().unsigned_abs();
    let is_both = received.transfers > 0 && sent.transfers > 0;
    let distance = |from: Timestamp, to: Timestamp| to.secs().saturating_sub(from.secs()).unsigned_abs();
    let (first, span) = if flows.transfers() > 0 { (distance(base, *first), distance(*first, *last)) } else { (0, 0) };
    let values: [u128; FLOW_COLUMNS] = [
        received.transfers.into(),
        sent.transfers.into(),
        (received.transfers - received.transactions).into(),
        (sent.transfers - sent.transactions).into(),
        (received.transactions + sent.transactions - transactions).into(),
        received.unpriced.into(),
        sent.unpriced.into(),
        raw(received) + raw(sent),
        if is_both { raw(received) } else { 0 },
        first.into(),
        span.into(),
    ];
    into.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
}

fn put_assets(
    rows: &[AssetRow],
    own: &[bool],
    (columns, mantissas): (&mut [Vec<u128>], &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    for (row, own) in rows.iter().zip(own) {
        let sides = [(RECEIVED, row.flows.received, row.received), (SENT, row.flows.sent, row.sent)];
        let present = sides.into_iter().filter(|(_, side, _)| side.transfers > 0);
        columns[0].push(row.asset.into());
        columns[1].push(present.clone().map(|(bit, ..)| bit).sum());
        columns[2].push(u128::from(*own));
        for (_, _, sum) in present {
            let (exponent, length) = match sum {
                Some(sum) => put_amount(sum, mantissas),
                None => (0, OVERFLOWN),
            };
            columns[3].push(exponent);
            columns[4].push(length);
        }
    }
    put_columns(columns, out);
    out.extend_from_slice(mantissas);
}

/// Powers of ten that add up to any number of zeros, and their exponents.
const STEPS: [(u32, u64); 5] = [(16, 10_u64.pow(16)), (8, 10_u64.pow(8)), (4, 10_u64.pow(4)), (2, 100), (1, 10)];

/// Writes an amount without the zeros it ends with; gives their number and the bytes written.
fn put_amount(amount: Amount, out: &mut Vec<u8>) -> (u128, u128) {
    let before = out.len();
    let Some(mut mantissa) = amount.to_u128() else {
        let bytes = amount.to_be_bytes();
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        out.extend(bytes[zeros..].iter().rev());
        return (0, (out.len() - before) as u128);
    };
    let mut exponent = 0;
    for (step, unit) in STEPS {
        // What ten to a power divides, two to that power does.
        if mantissa.trailing_zeros() < step {
            continue;
        }
        // Almost all amounts fit 64 bits after the first step, where a division is cheap.
        let shorter = match u64::try_from(mantissa) {
            Ok(small) if small.is_multiple_of(unit) => Some(u128::from(small / unit)),
            Err(_) if mantissa.is_multiple_of(unit.into()) => Some(mantissa / u128::from(unit)),
            _ => None,
        };
        if let Some(shorter) = shorter.filter(|_| mantissa > 0) {
            mantissa = shorter;
            exponent += u128::from(step);
        }
    }
    let length = (128 - mantissa.leading_zeros()).div_ceil(8) as usize;
    out.extend_from_slice(&mantissa.to_le_bytes()[..length]);
    (exponent, length as u128)
}

fn take_amount(bytes: &[u8], exponent: u32) -> Option<Amount> {
    if bytes.len() <= 16 {
        let mut whole = [0; 16];
        whole[..bytes.len()].copy_from_slice(bytes);
        let unit = 10_u128.checked_pow(exponent)?;
        return u128::from_le_bytes(whole).checked_mul(unit).map(Amount::from_u128);
    }
    let mut whole = [0; 32];
    let zeros = whole.len().checked_sub(bytes.len())?;
    whole[zeros..].iter_mut().rev().zip(bytes).for_each(|(to, from)| *to = *from);
    Some(Amount::from_be_bytes(whole))
}

/// The columns of a block in its bytes.
#[derive(Clone, Copy)]
pub(super) struct Block<'a, const N: usize> {
    bytes: &'a [u8],
    widths: [u8; N],
    starts: [usize; N],
    /// The end of the columns.
    end: usize,
}

impl<'a, const N: usize> Block<'a, N> {
    /// The columns of so many rows; `None` when the bytes end before them.
    pub(super) fn new(bytes: &'a [u8], rows: usize) -> Option<Self> {
        Self::uneven(bytes, |_| rows)
    }

    fn uneven(bytes: &'a [u8], rows: impl Fn(usize) -> usize) -> Option<Self> {
        let widths: [u8; N] = bytes.get(..N)?.try_into().ok()?;
        let mut starts = [0; N];
        let mut end = N;
        for column in 0..N {
            starts[column] = end;
            end += packed_bytes(rows(column), widths[column].into());
        }
        let fits = widths.iter().all(|width| *width <= 128) && end <= bytes.len();
        fits.then_some(Self { bytes, widths, starts, end })
    }

    /// Length of the columns.
    pub(super) const fn length(&self) -> usize {
        self.end
    }

    fn large(&self, column: usize, row: usize) -> u128 {
        get(&self.bytes[self.starts[column]..], row, self.widths[column].into())
    }

    /// The first rows of a column, as many as there is place for.
    fn read(&self, column: usize, into: &mut [u64]) {
        let (bytes, width) = (&self.bytes[self.starts[column]..], u32::from(self.widths[column]));
        for (row, value) in into.iter_mut().enumerate() {
            *value = get_small(bytes, row, width);
        }
    }

    /// Movements of the first rows, either way, as many as there is place for.
    pub(super) fn transfers(&self, into: &mut [u64]) {
        let mut sent = [0; BLOCK];
        let sent = &mut sent[..into.len()];
        self.read(0, into);
        self.read(1, sent);
        into.iter_mut().zip(sent).for_each(|(sum, sent)| *sum += *sent);
    }

    pub(super) fn get(&self, column: usize, row: usize) -> u64 {
        get_small(&self.bytes[self.starts[column]..], row, self.widths[column].into())
    }

    /// US dollars received and sent.
    fn usd(&self, row: usize) -> [Usd; 2] {
        let dollars = |raw: u128| Usd::from_raw(i128::try_from(raw).unwrap_or(i128::MAX));
        let total = self.large(7, row);
        if self.get(1, row) == 0 {
            return [dollars(total), Usd::ZERO];
        }
        let received = if self.get(0, row) == 0 { 0 } else { self.large(8, row) };
        [dollars(received), dollars(total.saturating_sub(received))]
    }

    /// Returns the weight that an order sorts by.
    pub(super) fn weight(&self, row: usize, order: EdgeOrder) -> (Usd, u64) {
        let (received, sent) = (self.get(0, row), self.get(1, row));
        let [usd_received, usd_sent] = self.usd(row);
        match order {
            EdgeOrder::Total => (usd_received + usd_sent, received + sent),
            EdgeOrder::Sent => (usd_sent, sent),
            EdgeOrder::Received => (usd_received, received),
        }
    }

    pub(super) fn flows(&self, row: usize, base: Timestamp) -> EdgeFlows {
        let column = |column| self.get(column, row);
        let transfers = [column(0), column(1)];
        if transfers == [0, 0] {
            return EdgeFlows::NONE;
        }
        let transactions: [u64; 2] = std::array::from_fn(|way| transfers[way].saturating_sub(column(2 + way)));
        let usd = self.usd(row);
        let side = |way: usize| EdgeSide {
            transfers: transfers[way],
            transactions: transactions[way],
            unpriced: column(5 + way),
            usd: usd[way],
        };
        let later = |time: i64, distance: u64| time.saturating_add_unsigned(distance);
        let first = later(base.secs(), column(9));
        EdgeFlows {
            received: side(0),
            sent: side(1),
            transactions: (transactions[0] + transactions[1]).saturating_sub(column(4)),
            first: Timestamp::new(first),
            last: Timestamp::new(later(first, column(10))),
        }
    }
}

impl Block<'_, PAIR_COLUMNS> {
    pub(super) fn other(&self, row: usize) -> u32 {
        u32::try_from(self.get(OTHER, row)).unwrap_or(u32::MAX)
    }

    pub(super) fn assets(&self, row: usize) -> u32 {
        u32::try_from(self.get(ASSETS, row)).unwrap_or(u32::MAX)
    }

    pub(super) fn pair(&self, row: usize, base: Timestamp) -> PairRow {
        PairRow { other: self.other(row), flows: self.flows(row, base), assets: self.assets(row) }
    }
}

/// An asset row without its flows.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssetSums {
    pub(super) asset: u32,
    /// True if it has a flow row of its own.
    pub(super) has_flows: bool,
    pub(super) received: Option<Amount>,
    pub(super) sent: Option<Amount>,
}

/// Reads some rows of an asset block, and returns how many before them have flows of their own; `None` when the bytes are
/// none. Sums before them are stepped over.
pub(super) fn asset_block(bytes: &[u8], rows: usize, wanted: Range<usize>, into: &mut Vec<AssetSums>) -> Option<usize> {
    // The sides, which come first, state how many sums there are.
    let leading = Block::<ASSET_COLUMNS>::uneven(bytes, |column| if column < 3 { rows } else { 0 })?;
    let (mut sides, mut own) = ([0; BLOCK], [0; BLOCK]);
    let (sides, own) = (sides.get_mut(..rows)?, own.get_mut(..rows)?);
    leading.read(1, sides);
    leading.read(2, own);
    let count = |sides: &[u64]| -> usize { sides.iter().map(|sides| sides.count_ones() as usize).sum() };
    let sums = count(sides);
    let block = Block::<ASSET_COLUMNS>::uneven(bytes, |column| if column < 3 { rows } else { sums })?;
    let mut lengths = [0; 2 * BLOCK];
    let lengths = lengths.get_mut(..sums)?;
    block.read(4, lengths);
    let bytes_of = |length: u64| if u128::from(length) == OVERFLOWN { 0 } else { usize::try_from(length).unwrap_or(0) };
    let mut sum = count(sides.get(..wanted.start)?);
    let mut at = lengths[..sum].iter().fold(block.length(), |at, &length| at + bytes_of(length));
    let mut next = || -> Option<Option<Amount>> {
        let (length, exponent) = (*lengths.get(sum)?, u32::try_from(block.get(3, sum)).ok()?);
        let start = at;
        sum += 1;
        at += bytes_of(length);
        if u128::from(length) == OVERFLOWN {
            return Some(None);
        }
        take_amount(bytes.get(start..at)?, exponent).map(Some)
    };
    let before = own[..wanted.start].iter().filter(|own| **own == 1).count();
    for row in wanted {
        let sides = u128::from(*sides.get(row)?);
        let received = if sides & RECEIVED == 0 { Some(Amount::ZERO) } else { next()? };
        let sent = if sides & SENT == 0 { Some(Amount::ZERO) } else { next()? };
        let asset = u32::try_from(block.get(0, row)).ok()?;
        into.push(AssetSums { asset, has_flows: own[row] == 1, received, sent });
    }
    Some(before)
}
