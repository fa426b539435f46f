//! Opening balances of several segments, by account.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::accounts::Ids;
use super::rows::RowOrder;
use super::{CANCEL_STEP, Source};
use crate::Cancel;
use crate::error::Result;
use crate::segment::opening::{OpeningEntry, OpeningsWriter};
use crate::segment::spool::Spool;

/// The opening balances of all sources under new ids, on their way to the file.
pub(super) fn merge(
    sources: &[Source<'_>],
    ids: &Ids,
    merged: &RowOrder,
    spool: &Arc<Spool>,
    cancel: &Cancel,
) -> Result<OpeningsWriter> {
    let mut writer = OpeningsWriter::new(spool);
    let mut next = vec![0; sources.len()];
    let mut advance = |source: usize| -> Result<Option<OpeningEntry>> {
        while let Some(entry) = sources[source].segment.opening_at(next[source])? {
            next[source] += 1;
            if !sources[source].is_out(entry.row) {
                let of = &ids.sources[source];
                let (account, asset) = (of.account(entry.account), of.asset(entry.asset));
                let row = merged.rows[source].get(entry.row);
                return Ok(Some(OpeningEntry { account, row, asset, ..entry }));
            }
        }
        Ok(None)
    };
    let mut heads: Vec<Option<OpeningEntry>> = Vec::with_capacity(sources.len());
    let mut order = BinaryHeap::with_capacity(sources.len());
    for source in 0..sources.len() {
        let head = advance(source)?;
        order.extend(head.map(|head| Reverse((head.account, head.row, source))));
        heads.push(head);
    }
    let mut count = 0_u64;
    while let Some(Reverse((.., source))) = order.pop() {
        if count.is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        count += 1;
        let head = advance(source)?;
        order.extend(head.map(|head| Reverse((head.account, head.row, source))));
        if let Some(entry) = std::mem::replace(&mut heads[source], head) {
            writer.push(&entry)?;
        }
    }
    Ok(writer)
}
