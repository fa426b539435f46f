//! From joined facts to the bytes of a segment.

mod assets;
mod columns;
mod dictionary;
mod movements;
mod order;
mod ordinals;
mod packed;
mod postings;
mod record;
mod transactions;
mod utxo;

use std::io::Write;
use std::sync::Arc;

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use self::assets::Assets;
use self::columns::AmountBuilder;
use self::dictionary::Dictionary;
use self::movements::Movements;
use self::order::Row;
use self::postings::ByAccount;
use self::transactions::TransactionColumns;
use super::SegmentInput;
use super::container::ContainerWriter;
use super::fee::{fee_of, saturating_add};
use super::layout::{self, Summary};
use super::marks::Marks;
use super::opening::{self, OpenedRows, OpeningEntry};
use super::record::TransactionRecord;
use super::spool::Spool;
use crate::Cancel;
use crate::facts::BlockFacts;
use crate::read::Result;

/// How the columns of a segment are written. Both are read alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Format 1: elements as they are, fast to write and large.
    Raw,
    /// Format 2: bit-packed blocks.
    #[default]
    Packed,
}

/// The bytes of a segment file: the same for the same facts, in whatever order and on however many threads.
///
/// # Errors
/// When a transaction names a block that is not there ([`crate::LedgerError::UnknownTime`]), when facts contradict
/// each other, when an address is of another chain or network, when the segment would pass its limits, or when
/// cancelled.
pub fn build(input: &SegmentInput, cancel: &Cancel) -> Result<Vec<u8>> {
    build_as(input, Encoding::default(), cancel)
}

/// The same in either encoding.
///
/// # Errors
/// As [`build`].
pub fn build_as(input: &SegmentInput, encoding: Encoding, cancel: &Cancel) -> Result<Vec<u8>> {
    match encoding {
        Encoding::Raw => raw(input, &Prepared::new(input, cancel)?, cancel),
        Encoding::Packed => {
            let mut bytes = Vec::new();
            packed::build(input, &Prepared::new(input, cancel)?, &Spool::in_memory(), &mut bytes, cancel)?;
            Ok(bytes)
        }
    }
}

/// Writes a packed file to a sink; the number of its bytes. The facts are in memory, the file is not past the budget
/// of the spool.
pub(crate) fn build_into(
    input: &SegmentInput,
    spool: &Arc<Spool>,
    sink: &mut dyn Write,
    cancel: &Cancel,
) -> Result<u64> {
    packed::build(input, &Prepared::new(input, cancel)?, spool, sink, cancel)
}

/// How many movements a record stands for.
pub(super) fn movements_of(record: &TransactionRecord) -> u64 {
    let mut movements = Movements::new(usize::MAX);
    movements.add(0, record, false);
    movements.count
}

/// Facts in order, and the ids of their addresses and assets.
struct Prepared<'a> {
    blocks: Vec<&'a BlockFacts>,
    rows: Vec<Row<'a>>,
    summary: Summary,
    dictionary: Dictionary,
    assets: Assets,
}

impl<'a> Prepared<'a> {
    fn new(input: &'a SegmentInput, cancel: &Cancel) -> Result<Self> {
        cancel.check()?;
        let blocks = order::blocks(input)?;
        let rows = order::rows(input, &blocks)?;
        let summary = order::summary(&rows)?;
        cancel.check()?;
        let dictionary = Dictionary::collect(input, &rows)?;
        let assets = Assets::collect(&dictionary)?;
        cancel.check()?;
        Ok(Self { blocks, rows, summary, dictionary, assets })
    }

    /// How much of what is marked there is, told before anything is written.
    fn marks(&self) -> Marks {
        let mut marks = Marks::default();
        self.rows.iter().for_each(|row| marks.add(Marks::of_facts(row.facts)));
        marks
    }
}

fn raw(input: &SegmentInput, prepared: &Prepared<'_>, cancel: &Cancel) -> Result<Vec<u8>> {
    let Prepared { blocks, rows, summary, dictionary, assets } = prepared;
    let mut columns = TransactionColumns::new();
    let mut movements = Movements::new(dictionary.len());
    let mut fees: FxHashMap<u32, Amount> = FxHashMap::default();
    let mut record = TransactionRecord::default();
    let mut records = record::Records::new(*summary, assets, &dictionary.seen);
    let (mut openings, mut opened) = (Vec::new(), OpenedRows::default());
    for (place, row) in rows.iter().enumerate() {
        if place.is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        records.fill(row, &mut record);
        columns.add(row.facts, &record)?;
        let number = columns::id(place, "transactions")?;
        openings.extend(opening::entries(number, &record));
        opened.push(number, &record);
        movements.add(number, &record, row.facts.hash.is_made());
        if let (Some(payer), Some(fee)) = (record.from, fee_of(row.facts)) {
            let paid = fees.entry(payer).or_default();
            *paid = saturating_add(*paid, fee);
        }
    }
    cancel.check()?;
    let mut summary = *summary;
    summary.movements = movements.count;
    let entries = &movements.into_parts().flat_map(|(_, entries)| entries).collect::<Vec<_>>();
    let by_account = ByAccount::sort(entries, &(0..columns::id(dictionary.len(), "addresses")?));
    summary.accounts = dictionary.len() as u64;
    summary.assets = assets.len() as u64;
    cancel.check()?;

    let mut out = ContainerWriter::new(input.chain, input.network);
    out.put(layout::SUMMARY, &[summary]);
    dictionary.put(&mut out, input.chain.family());
    assets.put(&mut out);
    assets::put_tokens(input, dictionary, &mut columns.blobs, &mut out)?;
    order::put_blocks(blocks, &mut out);
    order::put_hashes(&order::by_hash(input, rows)?, &mut out);
    cancel.check()?;
    by_account.put(entries, &columns.heads, &mut out);
    postings::put_holdings(&by_account, entries, &fees, dictionary, assets, &mut out)?;
    cancel.check()?;
    columns.put(&mut out);
    columns.blobs.put(&mut out);
    openings.sort_by_key(|entry| (entry.account, entry.row));
    opening_columns(prepared.marks(), &openings, &opened, &mut out);
    Ok(out.finish())
}

fn opening_columns(marks: Marks, openings: &[OpeningEntry], opened: &OpenedRows, out: &mut ContainerWriter) {
    if marks.is_empty() {
        return;
    }
    out.put(layout::MARKS, &[marks]);
    let column = |of: fn(&OpeningEntry) -> u32| openings.iter().map(of).collect::<Vec<_>>();
    out.put(layout::OPENING_ACCOUNTS.raw, &column(|entry| entry.account));
    out.put(layout::OPENING_ROWS.raw, &column(|entry| entry.row));
    out.put(layout::OPENING_ASSETS.raw, &column(|entry| entry.asset));
    let mut amounts = AmountBuilder::default();
    for entry in openings {
        amounts.push(entry.amount);
    }
    amounts.put(out, layout::OPENING_AMOUNTS);
    out.put(layout::OPENED, &opened.list());
}

/// Rows between two looks at the cancel token.
const CANCEL_STEP: usize = 4096;
