//! Changes that segments outside of the table make, found once per generation.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use headwater_types::{Address, Amount, Asset, Balance};

use super::batch::{Balances, HolderBatch, VisitHolders};
use super::build::{Accounts, assets_of, balances, begins_of};
use super::file::AssetRows;
use super::moments::{Moments, Top};
use super::ordered::{HolderChange, OrderedRows};
use crate::error::Result;
use crate::primitives::AccountRef;
use crate::primitives::{pack, unpack};
use crate::segment::{Segment, search};

/// Up to one change in so many holders, changes are applied to the sums of the table one by one; each reads a block.
const MAX_SINGLE: u64 = 64;

/// The changes of one asset.
#[derive(Default)]
pub(super) struct AssetChanges {
    /// Holders of the table that hold another amount now, or none.
    pub(super) gone: HashSet<AccountRef>,
    /// The same with what they held.
    pub(super) old: OrderedRows,
    /// Holders that are new or hold another amount.
    pub(super) new: OrderedRows,
    pub(super) negative_gone: u64,
    pub(super) negative_new: u64,
    moments: OnceLock<Moments>,
}

/// The place in a table and its changes where something begins.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TablePosition {
    pub(super) block: usize,
    /// The number of new holders before it.
    new: usize,
}

/// The changes found of one asset, in no order.
#[derive(Default)]
struct HolderDiff {
    old: Vec<HolderChange>,
    new: Vec<HolderChange>,
    negative_gone: u64,
    negative_new: u64,
}

/// A balance as computed: a debt is never clipped to zero.
#[derive(PartialEq, Eq)]
enum Standing {
    Nothing,
    Holds(Amount),
    Negative,
}

impl Standing {
    fn of(balance: &Balance) -> Self {
        match balance.received().checked_sub(balance.sent()) {
            None => Self::Negative,
            Some(held) if held.is_zero() => Self::Nothing,
            Some(held) => Self::Holds(held),
        }
    }
}

pub(super) fn find(segments: &[Arc<Segment>], covered: &[u32], newer: &[u32]) -> Result<BTreeMap<Asset, AssetChanges>> {
    let at = |place: &u32| &*segments[*place as usize];
    let all: Vec<&Segment> = covered.iter().chain(newer).map(at).collect();
    let (assets, numbers) = assets_of(&all)?;
    let begins = begins_of(&all)?;
    let newer_segments = &all[covered.len()..];
    let first_newer = u32::try_from(covered.len()).unwrap_or(u32::MAX);
    let handle = |place: u32, id: u32| {
        let place = if place < first_newer { covered[place as usize] } else { newer[(place - first_newer) as usize] };
        AccountRef(pack(place, id))
    };
    let mut found: BTreeMap<Asset, HolderDiff> = BTreeMap::new();
    let mut accounts = Accounts::new(newer_segments)?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    while let Some(places) = accounts.next()? {
        let address = newer_segments[places[0].0 as usize].address(places[0].1)?;
        before.clear();
        for (place, segment) in (0..first_newer).zip(&all) {
            before.extend(segment.account(&address)?.map(|id| (place, id)));
        }
        after.clear();
        after.extend_from_slice(&before);
        after.extend(places.iter().map(|(place, id)| (place + first_newer, *id)));
        let account = handle(after[0].0, after[0].1);
        let held_before = balances(&all, (&numbers, &begins), &before)?;
        for (asset, balance) in balances(&all, (&numbers, &begins), &after)? {
            let known = held_before.iter().find(|(known, _)| *known == asset);
            let (old, new) = (known.map_or(Standing::Nothing, |(_, old)| Standing::of(old)), Standing::of(&balance));
            if old == new {
                continue;
            }
            let changes = found.entry(assets[asset]).or_default();
            let row = |balance| HolderChange { balance, address, account };
            match old {
                Standing::Nothing => {}
                Standing::Negative => changes.negative_gone += 1,
                Standing::Holds(held) => changes.old.push(row(held)),
            }
            match new {
                Standing::Nothing => {}
                Standing::Negative => changes.negative_new += 1,
                Standing::Holds(held) => changes.new.push(row(held)),
            }
        }
    }
    Ok(found.into_iter().map(|(asset, found)| (asset, found.into())).collect())
}

impl From<HolderDiff> for AssetChanges {
    fn from(found: HolderDiff) -> Self {
        Self {
            gone: found.old.iter().map(|row| row.account).collect(),
            old: OrderedRows::new(found.old),
            new: OrderedRows::new(found.new),
            negative_gone: found.negative_gone,
            negative_new: found.negative_new,
            moments: OnceLock::new(),
        }
    }
}

impl AssetChanges {
    /// Those who hold at least so much, given those of the table.
    pub(super) fn over(&self, top: Top, balance: Amount) -> Top {
        top.without(self.old.at_least(balance)).with(self.new.at_least(balance))
    }

    /// Sums over all balances.
    pub(super) fn moments(&self, rows: Option<&AssetRows<'_>>, segments: &[Arc<Segment>]) -> Result<Moments> {
        if let Some(moments) = self.moments.get() {
            return Ok(*moments);
        }
        let mut moments = rows.map_or(Ok(Moments::default()), AssetRows::moments)?;
        let (old, new) = (self.old.rows(), self.new.rows());
        match rows {
            Some(rows) if ((old.len() + new.len()) as u64) < moments.count() / MAX_SINGLE => {
                for (taken, row) in old.iter().enumerate() {
                    let top = rows.at_least(row.balance)?.without(self.old.top(taken));
                    moments.remove(row.balance, &top);
                }
                for (put, row) in new.iter().enumerate() {
                    let kept = rows.at_least(row.balance)?.without(self.old.at_least(row.balance));
                    moments.insert(row.balance, &kept.with(self.new.top(put)));
                }
            }
            rows => {
                moments = Moments::default();
                self.visit(rows, segments, TablePosition::default(), &mut |batch| {
                    batch.rows().for_each(|(_, balance)| moments.push(balance));
                    ControlFlow::Continue(())
                })?;
            }
        }
        Ok(*self.moments.get_or_init(|| moments))
    }

    /// A place at or before the holder of a rank, and how many holders are before it.
    pub(super) fn seek(
        &self,
        rows: Option<&AssetRows<'_>>,
        segments: &[Arc<Segment>],
        rank: u64,
    ) -> Result<(TablePosition, u64)> {
        let Some(rows) = rows else {
            let new = self.new.rows().len().min(usize::try_from(rank).unwrap_or(usize::MAX));
            return Ok((TablePosition { block: 0, new }, new as u64));
        };
        let start = |block: usize| -> Result<(usize, u64)> {
            // New holders in front of the first block come behind its start.
            if block == 0 {
                return Ok((0, 0));
            }
            let (old, new, before) = (self.old.rows(), self.new.rows(), rows.before(block)?.count);
            if old.is_empty() && new.is_empty() {
                return Ok((0, before));
            }
            let Some((account, balance)) = rows.first(block)? else { return Ok((0, before)) };
            let key = (Reverse(balance), address_of(segments, account)?);
            let among = |changed: &[HolderChange]| changed.partition_point(|row| row.key() < key);
            let (gone, new) = (among(old), among(new));
            Ok((new, before - gone as u64 + new as u64))
        };
        let block = search(1..rows.blocks(), |block| Ok(start(block)?.1 <= rank))?.saturating_sub(1);
        let (new, before) = start(block)?;
        Ok((TablePosition { block, new }, before))
    }

    /// Shows the rows of a table with the changes among them, in order, from a place on.
    pub(super) fn visit(
        &self,
        rows: Option<&AssetRows<'_>>,
        segments: &[Arc<Segment>],
        from: TablePosition,
        visit: VisitHolders<'_>,
    ) -> Result<()> {
        let mut out = RowBuffer { accounts: Vec::new(), small: Vec::new(), large: Vec::new(), is_over: false, visit };
        let mut changed = self.new.rows()[from.new..].iter().peekable();
        let mut fault = None;
        let address = |account| address_of(segments, account);
        if let Some(rows) = rows {
            let _ = rows.visit(from.block, &mut |batch| {
                for (account, balance) in batch.rows().filter(|(account, _)| !self.gone.contains(account)) {
                    let goes_before = |row: &&HolderChange| {
                        Ok(match row.balance.cmp(&balance) {
                            std::cmp::Ordering::Equal => row.address < address(account)?,
                            ordering => ordering.is_gt(),
                        })
                    };
                    while let Some(row) = changed.peek() {
                        match goes_before(row) {
                            Ok(true) => out.push(row.account, row.balance),
                            Ok(false) => break,
                            Err(error) => {
                                fault = Some(error);
                                return ControlFlow::Break(());
                            }
                        }
                        changed.next();
                    }
                    out.push(account, balance);
                }
                out.flush()
            })?;
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        for row in changed {
            if out.is_over {
                break;
            }
            out.push(row.account, row.balance);
        }
        let _ = out.flush();
        Ok(())
    }
}

fn address_of(segments: &[Arc<Segment>], account: AccountRef) -> Result<Address> {
    let (place, id) = unpack(account.0);
    segments[place as usize].address(id)
}

/// Rows on their way out: all large, or all small.
struct RowBuffer<'v> {
    accounts: Vec<AccountRef>,
    small: Vec<u128>,
    large: Vec<Amount>,
    is_over: bool,
    visit: VisitHolders<'v>,
}

impl RowBuffer<'_> {
    fn push(&mut self, account: AccountRef, balance: Amount) {
        match balance.to_u128() {
            None => self.large.push(balance),
            Some(small) => {
                if !self.large.is_empty() {
                    let _ = self.flush();
                }
                self.small.push(small);
            }
        }
        self.accounts.push(account);
    }

    fn flush(&mut self) -> ControlFlow<()> {
        if !self.accounts.is_empty() && !self.is_over {
            let balances =
                if self.large.is_empty() { Balances::Small(&self.small) } else { Balances::Large(&self.large) };
            self.is_over = (self.visit)(HolderBatch { accounts: &self.accounts, balances }).is_break();
        }
        self.accounts.clear();
        self.small.clear();
        self.large.clear();
        if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
