//! The packed file of facts in memory: records and postings into the section writers.

use std::io::Write;
use std::sync::Arc;

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use super::movements::Movements;
use super::postings::ByAccount;
use super::{CANCEL_STEP, PreparedFacts, id, order};
use crate::Cancel;
use crate::error::Result;
use crate::segment::SegmentInput;
use crate::segment::container::SegmentFile;
use crate::segment::fee::{fee_of, saturating_add};
use crate::segment::layout::{NONE, stored_decimals};
use crate::segment::opening::{self, OpenedRows, OpeningEntry, OpeningsWriter};
use crate::segment::posting::{RawPosting, Shape};
use crate::segment::record::TransactionRecord;
use crate::segment::spool::Spool;
use crate::segment::write::{
    AccountsWriter, BlocksWriter, FeesWriter, Frame, HashesWriter, PostingsWriter, SpendersWriter, TokensWriter,
    Totals, TransactionsWriter, finish, put_assets,
};

/// Writes the file to a sink; the number of its bytes.
pub(super) fn build(
    input: &SegmentInput,
    prepared: &PreparedFacts<'_>,
    spool: &Arc<Spool>,
    sink: &mut dyn Write,
    cancel: &Cancel,
) -> Result<u64> {
    let PreparedFacts { blocks, rows, summary, dictionary, assets } = prepared;
    let frame = Frame {
        first_block: summary.first_block,
        last_block: summary.last_block,
        first_time: summary.first_time,
        last_time: summary.last_time,
    };
    let by_hash = order::by_hash(input, rows)?;
    cancel.check()?;
    let marks = prepared.marks();
    let mut out = SegmentFile::begin(sink, input.chain, input.network)?;
    let mut accounts = AccountsWriter::new(spool, input.chain.family());
    dictionary.write(&mut accounts, input.chain.family())?;
    accounts.put(&mut out)?;
    put_assets(spool, assets.contracts(), &mut out)?;
    let mut transactions = TransactionsWriter::new(spool, frame);
    let mut movements = Movements::new(dictionary.len());
    let mut fees: FxHashMap<u32, Amount> = FxHashMap::default();
    let (mut inputs, mut openings) = (Vec::new(), Vec::new());
    let mut record = TransactionRecord::default();
    let mut records = super::record::Records::new(*summary, assets, &dictionary.seen);
    let mut places = Vec::with_capacity(rows.len());
    for (place, row) in (0..).zip(rows) {
        if (place as usize).is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        records.fill(row, &mut record);
        places.push((record.block, record.time));
        for input in &record.inputs {
            inputs.push((input.hash, input.index, id(inputs.len(), "inputs")?));
        }
        openings.extend(opening::entries(place, &record));
        transactions.push(&record, &mut out)?;
        movements.add(place, &record, row.facts.hash.is_made());
        if let (Some(payer), Some(fee)) = (record.from, fee_of(row.facts)) {
            let paid = fees.entry(payer).or_default();
            *paid = saturating_add(*paid, fee);
        }
    }
    cancel.check()?;
    transactions.end_rows(&mut out)?;
    let mut tokens = TokensWriter::new(spool);
    for (account, token) in super::assets::tokens_in_order(input, dictionary) {
        let symbol = transactions.text(token.symbol.as_deref().map(str::as_bytes))?;
        let name = transactions.text(token.name.as_deref().map(str::as_bytes))?;
        tokens.push(account, symbol, name, stored_decimals(token))?;
    }
    let mut totals = Totals {
        frame,
        transactions: rows.len() as u64,
        movements: movements.count,
        accounts: dictionary.len() as u64,
        assets: assets.len() as u64,
        blocks: blocks.len() as u64,
        tokens: tokens.len(),
        inputs: transactions.inputs(),
        hubs: 0,
        fee_payers: 0,
        marks,
        times_ordered: summary.times_ordered == 1,
    };
    tokens.put(&mut out)?;
    let mut block_writer = BlocksWriter::new(spool);
    blocks.iter().try_for_each(|block| block_writer.push(block))?;
    totals.blocks = block_writer.len();
    block_writer.put(&mut out)?;
    let mut hashes = HashesWriter::new(spool);
    by_hash.iter().try_for_each(|&(prefix, row)| hashes.push(prefix >> 32, row))?;
    hashes.put(&mut out)?;
    inputs.sort_unstable();
    let mut spenders = SpendersWriter::new(spool);
    inputs.iter().try_for_each(|(hash, _, input)| spenders.push(hash, *input))?;
    spenders.put(&mut out)?;
    cancel.check()?;

    let (knots, opened) = (transactions.knots(), transactions.opened());
    let shape = Shape::new(totals.transactions, totals.accounts, totals.assets, knots.clone());
    transactions.put(&mut out)?;
    let mut postings = PostingsWriter::new(spool, shape, frame, &mut out);
    for (accounts, entries) in movements.into_parts() {
        cancel.check()?;
        for entry in ByAccount::sort(&entries, &accounts).entries(&entries) {
            let (block, time) = places[entry.row as usize];
            let posting = RawPosting {
                row: entry.row,
                block,
                time,
                other: (entry.other != NONE).then_some(entry.other),
                asset: entry.asset,
                ordinal: entry.ordinal,
                amount: entry.amount,
                flags: entry.flags,
            };
            postings.push(entry.account, &posting)?;
        }
    }
    totals.hubs = postings.put(totals.accounts)?;
    totals.fee_payers = put_fees(spool, fees, &mut out)?;
    put_openings(spool, openings, &opened, &mut out)?;
    finish(out, &knots, &totals)
}

/// Writes what accounts paid; returns how many did.
fn put_fees(spool: &Arc<Spool>, fees: FxHashMap<u32, Amount>, out: &mut SegmentFile<'_>) -> Result<u64> {
    let mut fees: Vec<_> = fees.into_iter().collect();
    fees.sort_unstable_by_key(|&(account, _)| account);
    let mut writer = FeesWriter::new(spool);
    fees.into_iter().try_for_each(|(account, fee)| writer.push(account, fee))?;
    let payers = writer.len();
    writer.put(out)?;
    Ok(payers)
}

fn put_openings(
    spool: &Arc<Spool>,
    mut openings: Vec<OpeningEntry>,
    opened: &OpenedRows,
    out: &mut SegmentFile<'_>,
) -> Result<()> {
    openings.sort_by_key(|entry| (entry.account, entry.row));
    let mut writer = OpeningsWriter::new(spool);
    openings.iter().try_for_each(|entry| writer.push(entry))?;
    writer.put(opened, out)
}
