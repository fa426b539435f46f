//! The entries that go with rows left out of a merge: addresses and assets that nothing else names, and the edge of what
//! the segment spans.

use headwater_types::Asset;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Source;
use crate::Cancel;
use crate::error::Result;
use crate::segment::build::movements_of;
use crate::segment::layout::{account, head};
use crate::segment::marks::Marks;
use crate::segment::read::Segment;
use crate::segment::record::TransactionRecord;
use crate::segment::write::Frame;

/// The changes of a source by the rows it is left without.
#[derive(Default)]
pub(super) struct OmittedEntries {
    /// Accounts whose bits are others now; `None` for those that are gone.
    accounts: FxHashMap<u32, Option<u8>>,
    /// Assets that are gone.
    assets: FxHashSet<u32>,
    /// Accounts whose fees are to be counted anew.
    payers: FxHashSet<u32>,
    /// Movements of the rows.
    pub(super) movements: u64,
    /// The marks in them.
    pub(super) marks: Marks,
}

impl OmittedEntries {
    /// For the source at a place among others.
    pub(super) fn of(sources: &[Source<'_>], place: usize, cancel: &Cancel) -> Result<Self> {
        let Source { segment, without } = sources[place];
        let mut this = Self::default();
        if without.is_empty() {
            return Ok(this);
        }
        let mut named = FxHashSet::default();
        let mut moved = FxHashSet::default();
        let mut record = TransactionRecord::default();
        for &row in without {
            segment.record(row, &mut record)?;
            this.movements += movements_of(&record);
            this.marks.add(Marks::of(&record));
            this.payers.extend(record.from);
            each_account(segment, &record, |account, _| {
                named.insert(account);
            })?;
            moved.extend(record.movements.iter().map(|movement| movement.asset));
        }
        moved.remove(&0);
        // What replaces a row mostly names the same; then nothing is gone and nobody has to look for it.
        let others: Vec<&Segment> =
            sources.iter().filter(|other| other.without.is_empty()).map(|other| other.segment).collect();
        for account in named {
            if !is_named(segment, account, &others)? {
                this.accounts.insert(account, None);
            }
        }
        for asset in moved {
            if !is_moved(segment, asset, &others)? {
                this.assets.insert(asset);
            }
        }
        if !this.accounts.is_empty() || !this.assets.is_empty() {
            this.look_again(segment, without, cancel)?;
        }
        Ok(this)
    }

    /// Takes back what remaining rows name after all.
    fn look_again(&mut self, segment: &Segment, without: &[u32], cancel: &Cancel) -> Result<()> {
        let accounts = &mut self.accounts;
        let mut record = TransactionRecord::default();
        for row in 0..segment.transactions() {
            if row.is_multiple_of(4096) {
                cancel.check()?;
            }
            if without.binary_search(&row).is_ok() {
                continue;
            }
            segment.record(row, &mut record)?;
            each_account(segment, &record, |account, bits| {
                if let Some(flags) = accounts.get_mut(&account) {
                    *flags = Some(flags.unwrap_or(0) | bits);
                }
            })?;
            for movement in &record.movements {
                self.assets.remove(&movement.asset);
            }
        }
        for place in 0..segment.token_count() {
            if let Some(flags) = accounts.get_mut(&segment.token_of(place)?.0) {
                *flags = Some(flags.unwrap_or(0) | account::IMPLIED);
            }
        }
        for (account, flags) in accounts {
            let stated = segment.account_flags(*account)? & account::STATED;
            if stated != 0 {
                *flags = Some(flags.unwrap_or(0) | stated);
            }
        }
        Ok(())
    }

    /// The bits of an account, given those stored; `None` when it is gone.
    pub(super) fn flags(&self, account: u32, stored: u8) -> Option<u8> {
        self.accounts.get(&account).map_or(Some(stored), |now| *now)
    }

    pub(super) fn keeps_asset(&self, asset: u32) -> bool {
        !self.assets.contains(&asset)
    }

    /// Returns whether the fees of an account are counted from the rows that remain.
    pub(super) fn recounts(&self, payer: u32) -> bool {
        !self.payers.is_empty() && self.payers.contains(&payer)
    }
}

/// Returns whether another segment names an account too, and says as much of it.
fn is_named(segment: &Segment, account: u32, others: &[&Segment]) -> Result<bool> {
    let (address, flags) = (segment.address(account)?, segment.account_flags(account)?);
    for other in others {
        if let Some(id) = other.account(&address)?
            && other.account_flags(id)? & flags == flags
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_moved(segment: &Segment, asset: u32, others: &[&Segment]) -> Result<bool> {
    let asset: Asset = segment.asset(asset)?;
    for other in others {
        if other.asset_id(&asset)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Calls for every account that a record names, with the bits it gives to it.
fn each_account(segment: &Segment, record: &TransactionRecord, mut each: impl FnMut(u32, u8)) -> Result<()> {
    record.from.iter().chain(&record.to).for_each(|account| each(*account, 0));
    let created = if record.flags & head::FAILED == 0 { account::IMPLIED } else { 0 };
    record.created.iter().for_each(|account| each(*account, created));
    for movement in &record.movements {
        movement.from.iter().chain(&movement.to).for_each(|account| each(*account, 0));
        if let Some(contract) = segment.contract_of(movement.asset)? {
            each(contract, account::IMPLIED);
        }
    }
    record.logs.iter().for_each(|log| each(log.address, account::IMPLIED));
    let spent = record.inputs.iter().filter_map(|input| input.spent.as_ref());
    spent.chain(&record.outputs).filter_map(|output| output.owner).for_each(|owner| each(owner, 0));
    Ok(())
}

/// The blocks and times that the remaining rows of all sources span.
pub(super) fn frame(sources: &[Source<'_>], cancel: &Cancel) -> Result<Frame> {
    let mut whole = None;
    for source in sources.iter().filter(|source| source.without.is_empty()) {
        whole = united(whole, stored(source.segment));
    }
    for Source { segment, without } in sources.iter().filter(|source| !source.without.is_empty()) {
        let own = stored(segment);
        let with_it = united(whole, own);
        if with_it == whole || !is_at_edge(segment, without, own)? {
            whole = with_it;
            continue;
        }
        for row in 0..segment.transactions() {
            if row.is_multiple_of(4096) {
                cancel.check()?;
            }
            if without.binary_search(&row).is_err() {
                let head = segment.head(row)?;
                let (block, time) = (head.block, head.time.secs());
                let of_row = Frame { first_block: block, last_block: block, first_time: time, last_time: time };
                whole = united(whole, Some(of_row));
            }
        }
    }
    Ok(whole.unwrap_or_default())
}

fn stored(segment: &Segment) -> Option<Frame> {
    let ((first_block, last_block), (first, last)) = segment.block_range().zip(segment.time_range())?;
    Some(Frame { first_block, last_block, first_time: first.secs(), last_time: last.secs() })
}

fn united(a: Option<Frame>, b: Option<Frame>) -> Option<Frame> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    Some(Frame {
        first_block: a.first_block.min(b.first_block),
        last_block: a.last_block.max(b.last_block),
        first_time: a.first_time.min(b.first_time),
        last_time: a.last_time.max(b.last_time),
    })
}

/// Returns whether any of the rows is at an end of what its segment spans.
fn is_at_edge(segment: &Segment, rows: &[u32], frame: Option<Frame>) -> Result<bool> {
    let Some(frame) = frame else { return Ok(false) };
    for &row in rows {
        let head = segment.head(row)?;
        let (block, time) = (head.block, head.time.secs());
        if [frame.first_block, frame.last_block].contains(&block) || [frame.first_time, frame.last_time].contains(&time)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
