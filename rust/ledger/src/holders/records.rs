//! The records that holder tables hand out.

use std::ops::ControlFlow;

use headwater_types::Amount;

use super::batch::{HolderBatch, VisitHolders};
use super::changes::{AssetChanges, TablePosition};
use super::file::AssetRows;
use super::moments::{Moments, Top};
use super::slots::SlotView;
use crate::error::Result;
use crate::primitives::AccountRef;

/// The holders of one asset, by balance, largest first, then by address.
pub struct Holders<'a> {
    pub(super) view: SlotView<'a>,
    pub(super) rows: Option<AssetRows<'a>>,
    pub(super) changes: Option<&'a AssetChanges>,
    pub(super) count: u64,
    pub(super) negative: u64,
    pub(super) total: Option<Amount>,
}

impl Holders<'_> {
    /// Those of an asset on a chain of which nothing is held.
    pub(crate) const NOBODY: Self = Self {
        view: SlotView { segments: &[], covered: &[], places: None },
        rows: None,
        changes: None,
        count: 0,
        negative: 0,
        total: Some(Amount::ZERO),
    };

    /// Number of accounts that hold some.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Number of accounts that sent more than they received: history is missing there, and they are not holders.
    #[must_use]
    pub const fn negative(&self) -> u64 {
        self.negative
    }

    /// All balances of holders together; `None` when they pass 256 bits.
    #[must_use]
    pub const fn total(&self) -> Option<Amount> {
        self.total
    }

    /// Shows the holders in order, in batches, until `visit` breaks off.
    ///
    /// # Errors
    /// When stored data cannot be read or is damaged.
    pub fn visit(&self, visit: VisitHolders<'_>) -> Result<()> {
        match (&self.rows, self.changes) {
            (None, None) => Ok(()),
            (Some(rows), None) => rows.visit(0, visit).map(|_| ()),
            (rows, Some(changes)) => changes.visit(rows.as_ref(), self.view, TablePosition::default(), visit),
        }
    }

    /// The same from a rank on, 0 for the largest; blocks before it are not read.
    ///
    /// # Errors
    /// When stored data cannot be read or is damaged.
    pub fn visit_from(&self, rank: u64, visit: VisitHolders<'_>) -> Result<()> {
        if rank >= self.count {
            return Ok(());
        }
        let none = AssetChanges::default();
        let changes = self.changes.unwrap_or(&none);
        let (place, before) = changes.seek(self.rows.as_ref(), self.view, rank)?;
        let mut skipped = usize::try_from(rank - before).unwrap_or(usize::MAX);
        let mut rest = |batch: HolderBatch<'_>| {
            let skip = skipped.min(batch.accounts.len());
            skipped -= skip;
            if skip == batch.accounts.len() { ControlFlow::Continue(()) } else { visit(batch.from(skip)) }
        };
        match (&self.rows, self.changes) {
            (Some(rows), None) => rows.visit(place.block, &mut rest).map(|_| ()),
            (rows, _) => changes.visit(rows.as_ref(), self.view, place, &mut rest),
        }
    }

    pub(super) fn moments(&self) -> Result<Moments> {
        match (&self.rows, self.changes) {
            (None, None) => Ok(Moments::default()),
            (Some(rows), None) => rows.moments(),
            (rows, Some(changes)) => changes.moments(rows.as_ref(), self.view),
        }
    }

    /// All that hold at least so much.
    pub(super) fn at_least(&self, balance: Amount) -> Result<Top> {
        let top = self.rows.as_ref().map_or(Ok(Top::default()), |rows| rows.at_least(balance))?;
        Ok(self.changes.map_or(top, |changes| changes.over(top, balance)))
    }

    /// The largest holders.
    ///
    /// # Errors
    /// When stored data cannot be read or is damaged.
    pub fn first(&self, limit: usize) -> Result<Vec<(AccountRef, Amount)>> {
        let mut first = Vec::with_capacity(limit.min(usize::try_from(self.count).unwrap_or(limit)));
        if limit == 0 {
            return Ok(first);
        }
        self.visit(&mut |batch| {
            let left = limit - first.len();
            first.extend(batch.rows().take(left));
            if first.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(first)
    }
}
