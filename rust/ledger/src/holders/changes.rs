//! Changes that segments outside of the table make to the holders of an asset.

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use headwater_types::Amount;
use rustc_hash::FxHashSet;

use super::batch::{Balances, HolderBatch, VisitHolders};
use super::file::AssetRows;
use super::moments::{Moments, Top};
use super::ordered::{HolderChange, OrderedRows};
use super::slots::SlotView;
use crate::error::Result;
use crate::primitives::AccountRef;
use crate::segment::search;

/// Up to one change in so many holders, changes are applied to the sums of the table one by one; each reads a block.
const MAX_SINGLE: u64 = 64;
/// Rows behind those of the table that are shown at once: each needs a handle, and few may be wanted.
const FLUSHED: usize = 128;
/// The number of updates after which the sums over all balances are dropped if no query read them.
const MAX_UNASKED: u32 = 64;

/// The changes of one asset.
#[derive(Clone, Default)]
pub(super) struct AssetChanges {
    /// Holders of the table that hold another amount now, or none, as the table numbers them.
    pub(super) gone: FxHashSet<(u32, u32)>,
    /// The same with what they held.
    pub(super) old: OrderedRows,
    /// Holders that are new or hold another amount.
    pub(super) new: OrderedRows,
    pub(super) negative_gone: u64,
    pub(super) negative_new: u64,
    moments: OnceLock<Moments>,
    /// Continued from those that were asked for some updates ago.
    continued: Option<(Moments, u32)>,
}

/// The place in a table and its changes where something begins.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TablePosition {
    pub(super) block: usize,
    /// The number of new holders before it.
    new: usize,
}

/// A balance as computed: a debt is never clipped to zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Nothing,
    Holds(Amount),
    Negative,
}

impl Standing {
    pub(super) fn of(came: Amount, sent: Amount) -> Self {
        match came.checked_sub(sent) {
            None => Self::Negative,
            Some(held) if held.is_zero() => Self::Nothing,
            Some(held) => Self::Holds(held),
        }
    }
}

impl AssetChanges {
    /// Called before the first row of an update is replaced.
    pub(super) fn begin_update(&mut self) {
        let asked = self.moments.take().map(|moments| (moments, 0));
        let continued = self.continued.map(|(moments, updates)| (moments, updates + 1));
        self.continued = asked.or(continued).filter(|(_, updates)| *updates < MAX_UNASKED);
    }

    /// Replaces what an account held by what it holds now; `is_replaced` says whether its row of the table was before.
    pub(super) fn replace(
        &mut self,
        rows: Option<&AssetRows<'_>>,
        (old, is_replaced): (Standing, bool),
        new: Standing,
        row: &dyn Fn(Amount) -> HolderChange,
    ) -> Result<()> {
        if let Standing::Holds(held) = old {
            if let Some((mut moments, updates)) = self.continued {
                moments.remove(held, &self.at_least(rows, held)?);
                self.continued = Some((moments, updates));
            }
            if is_replaced {
                self.new.remove(held, row(held).address);
            } else {
                self.gone.insert(row(held).account);
                self.old.insert(row(held));
            }
        }
        match (old, is_replaced) {
            (Standing::Negative, true) => self.negative_new -= 1,
            (Standing::Negative, false) => self.negative_gone += 1,
            _ => {}
        }
        match new {
            Standing::Nothing => {}
            Standing::Negative => self.negative_new += 1,
            Standing::Holds(held) => {
                if let Some((mut moments, updates)) = self.continued {
                    moments.insert(held, &self.at_least(rows, held)?);
                    self.continued = Some((moments, updates));
                }
                self.new.insert(row(held));
            }
        }
        Ok(())
    }

    fn at_least(&self, rows: Option<&AssetRows<'_>>, balance: Amount) -> Result<Top> {
        let top = rows.map_or(Ok(Top::default()), |rows| rows.at_least(balance))?;
        Ok(self.over(top, balance))
    }

    /// Those who hold at least so much, given those of the table.
    pub(super) fn over(&self, top: Top, balance: Amount) -> Top {
        top.without(self.old.at_least(balance)).with(self.new.at_least(balance))
    }

    /// Sums over all balances.
    pub(super) fn moments(&self, rows: Option<&AssetRows<'_>>, view: SlotView<'_>) -> Result<Moments> {
        if let Some(moments) = self.moments.get() {
            return Ok(*moments);
        }
        if let Some((moments, _)) = self.continued {
            return Ok(*self.moments.get_or_init(|| moments));
        }
        let mut moments = rows.map_or(Ok(Moments::default()), AssetRows::moments)?;
        match rows {
            Some(rows) if ((self.old.len() + self.new.len()) as u64) < moments.count() / MAX_SINGLE => {
                for (taken, row) in self.old.from(0).enumerate() {
                    let top = rows.at_least(row.balance)?.without(self.old.top(taken));
                    moments.remove(row.balance, &top);
                }
                for (put, row) in self.new.from(0).enumerate() {
                    let kept = rows.at_least(row.balance)?.without(self.old.at_least(row.balance));
                    moments.insert(row.balance, &kept.with(self.new.top(put)));
                }
            }
            rows => {
                moments = Moments::default();
                self.visit(rows, view, TablePosition::default(), &mut |batch| {
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
        view: SlotView<'_>,
        rank: u64,
    ) -> Result<(TablePosition, u64)> {
        let Some(rows) = rows else {
            let new = self.new.len().min(usize::try_from(rank).unwrap_or(usize::MAX));
            return Ok((TablePosition { block: 0, new }, new as u64));
        };
        let start = |block: usize| -> Result<(usize, u64)> {
            // New holders in front of the first block come behind its start.
            if block == 0 {
                return Ok((0, 0));
            }
            let (old, new, before) = (&self.old, &self.new, rows.before(block)?.count);
            if old.len() + new.len() == 0 {
                return Ok((0, before));
            }
            let Some((account, balance)) = rows.first(block)? else { return Ok((0, before)) };
            let key = (Reverse(balance), view.address(account)?);
            let among = |changed: &OrderedRows| changed.partition_point(|row| row.key() < key);
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
        view: SlotView<'_>,
        from: TablePosition,
        visit: VisitHolders<'_>,
    ) -> Result<()> {
        let mut out = RowBuffer { accounts: Vec::new(), small: Vec::new(), large: Vec::new(), is_over: false, visit };
        let mut changed = self.new.from(from.new).peekable();
        let mut fault = None;
        let is_gone = |account| view.numbered(account).is_some_and(|account| self.gone.contains(&account));
        if let Some(rows) = rows {
            let _ = rows.visit(from.block, &mut |batch| {
                for (account, balance) in batch.rows().filter(|(account, _)| !is_gone(*account)) {
                    let goes_before = |row: &&HolderChange| {
                        Ok(match row.balance.cmp(&balance) {
                            std::cmp::Ordering::Equal => row.address < view.address(account)?,
                            ordering => ordering.is_gt(),
                        })
                    };
                    while let Some(row) = changed.peek() {
                        match goes_before(row).and_then(|goes| goes.then(|| view.handle(row)).transpose()) {
                            Ok(Some(handle)) => out.push(handle, row.balance),
                            Ok(None) => break,
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
            out.push(view.handle(row)?, row.balance);
            if out.accounts.len() >= FLUSHED {
                let _ = out.flush();
            }
        }
        let _ = out.flush();
        Ok(())
    }
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
