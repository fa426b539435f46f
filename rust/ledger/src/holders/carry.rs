//! A holder table taken over by a generation in which segments that it covers were merged.
//!
//! What everybody holds is the same, and so is the order; only the names of accounts are others. Each keeps to the
//! first segment that has it, and the merged one is the first.

use std::io::Write;
use std::ops::ControlFlow;

use super::batch::Balances;
use super::build::Data;
use super::file::{ASSETS, BLOCKS, DATA, HolderFile, LARGE, MARKS, MOMENTS, SUMMARY, Summary};
use crate::Cancel;
use crate::error::Result;
use crate::external::Scratch;
use crate::primitives::unpack;
use crate::segment::{Segment, SegmentFile, Spool};

const NONE: u32 = u32::MAX;

/// Writes the table anew for `merged` and what it does not hold of the segments `covered`, which are in the order that
/// the table numbers them, each with its number behind the merge; none for those that were merged. In memory are four
/// bytes for each account of each segment.
///
/// # Errors
/// When the table or a segment is damaged, the table cannot be written, or the work is cancelled.
pub(crate) fn carry(
    table: &HolderFile,
    covered: &[(&Segment, Option<u32>)],
    merged: &Segment,
    (scratch, out): (&Scratch, &mut dyn Write),
    cancel: &Cancel,
) -> Result<()> {
    let mut ids = Vec::with_capacity(covered.len());
    for (segment, _) in covered {
        ids.push(new_ids(segment, merged, cancel)?);
    }
    merged.release();
    let renamed = |place: u32, id: u32| {
        let new = ids.get(place as usize).and_then(|ids| ids.get(id as usize)).filter(|id| **id != NONE);
        let kept = || covered.get(place as usize)?.1.map(|place| (place, id));
        new.map(|id| (0, *id)).or_else(kept)
    };
    let places: Vec<u32> = (0..).take(covered.len()).collect();
    let mut data = Data::new(&Spool::within(scratch));
    let (mut blocks, mut rows) = (Vec::new(), Vec::new());
    for of_asset in table.all_rows(&places)? {
        let mut outcome = Ok(());
        let _ = of_asset.visit(0, &mut |batch| {
            rows.clear();
            for (at, account) in batch.accounts.iter().enumerate() {
                let (place, id) = unpack(account.0);
                let balance = match batch.balances {
                    Balances::Small(balances) => balances[at],
                    Balances::Large(_) => 0,
                };
                rows.extend(renamed(place, id).map(|(place, id)| (balance, place, id)));
            }
            outcome = if rows.len() == batch.accounts.len() { Ok(()) } else { Err(table.unknown_account()) };
            if outcome.is_ok() {
                outcome = cancel.check().map_err(Into::into).and_then(|()| data.put(&rows)).map(|at| blocks.push(at));
            }
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        outcome?;
    }
    blocks.push(data.part.len());
    let segments = 1 + covered.iter().filter(|(_, kept)| kept.is_some()).count() as u64;
    let mut out = SegmentFile::begin(out, merged.chain(), merged.network())?;
    out.put(SUMMARY, &[Summary { segments, ..table.summary() }])?;
    out.put(ASSETS, table.assets()?)?;
    out.put(BLOCKS, &blocks)?;
    out.part(DATA, data.part)?;
    out.put(LARGE, table.large()?)?;
    let (moments, marks) = table.measures()?;
    out.put(MOMENTS, moments)?;
    out.put(MARKS, marks)?;
    out.finish()?;
    Ok(())
}

/// The ids in another segment of all accounts of one. Both are in order of keys.
fn new_ids(old: &Segment, new: &Segment, cancel: &Cancel) -> Result<Vec<u32>> {
    let (count, end) = (old.accounts()?, new.accounts()?);
    let mut ids = Vec::with_capacity(count as usize);
    let mut at = 0;
    for id in 0..count {
        if id % 4096 == 0 {
            cancel.check()?;
        }
        let key = old.account_key(id)?;
        while at < end && new.account_key(at)? < key {
            at += 1;
        }
        ids.push(if at < end && new.account_key(at)? == key { at } else { NONE });
    }
    old.release();
    Ok(ids)
}
