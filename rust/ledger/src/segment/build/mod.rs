//! From joined facts to the bytes of a segment.

mod assets;
mod columns;
mod dictionary;
mod movements;
mod order;
mod ordinals;
mod postings;
mod transactions;
mod utxo;

use std::collections::HashMap;

use headwater_types::Amount;

use self::assets::Assets;
use self::dictionary::Dictionary;
use self::movements::Movements;
use self::postings::{ByAccount, saturating_add};
use self::transactions::TransactionColumns;
use super::SegmentInput;
use super::container::ContainerWriter;
use super::fee::fee_of;
use super::layout;
use crate::Cancel;
use crate::read::Result;

/// The bytes of a segment file: the same for the same facts, in whatever order and on however many threads.
///
/// # Errors
/// When a transaction names a block that is not there ([`crate::LedgerError::UnknownTime`]), when facts contradict
/// each other, when an address is of another chain or network, when the segment would pass its limits, or when
/// cancelled.
pub fn build(input: &SegmentInput, cancel: &Cancel) -> Result<Vec<u8>> {
    let blocks = order::blocks(input)?;
    let rows = order::rows(input, &blocks)?;
    let mut summary = order::summary(&rows)?;
    cancel.check()?;
    let dictionary = Dictionary::collect(input)?;
    let assets = Assets::collect(input, &dictionary)?;
    cancel.check()?;

    let mut columns = TransactionColumns::new(&dictionary, &assets, summary);
    let mut movements = Movements::new(&dictionary, &assets);
    let mut fees: HashMap<u32, Amount> = HashMap::new();
    for (place, row) in rows.iter().enumerate() {
        if place.is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        columns.add(row)?;
        movements.add(columns::id(place, "transactions")?, row.facts);
        let payer = row.facts.body.and_then(|body| body.from);
        if let (Some(payer), Some(fee)) = (payer, fee_of(row.facts)) {
            let paid = fees.entry(dictionary.id(&payer)).or_default();
            *paid = saturating_add(*paid, fee);
        }
    }
    cancel.check()?;
    let entries = &movements.entries;
    let by_account = ByAccount::sort(entries, dictionary.len());
    summary.movements = movements.count;
    summary.accounts = dictionary.len() as u64;
    summary.assets = assets.len() as u64;
    cancel.check()?;

    let mut out = ContainerWriter::new(input.chain, input.network);
    out.put(layout::SUMMARY, &[summary]);
    dictionary.put(&mut out, input.chain.family());
    assets.put(&mut out);
    assets::put_tokens(input, &dictionary, &mut columns.blobs, &mut out)?;
    order::put_blocks(&blocks, &mut out);
    order::put_hashes(input, &rows, &mut out)?;
    cancel.check()?;
    by_account.put(entries, &columns.heads, &mut out);
    postings::put_holdings(&by_account, entries, &fees, &dictionary, &assets, &mut out)?;
    cancel.check()?;
    columns.put(&mut out);
    columns.blobs.put(&mut out);
    Ok(out.finish())
}

/// Rows between two looks at the cancel token.
const CANCEL_STEP: usize = 4096;
