//! What holder tables hand out.

use std::ops::ControlFlow;
use std::sync::Arc;

use headwater_types::Amount;

use super::changes::AssetChanges;
use super::file::AssetRows;
use crate::read::{AccountRef, Result};
use crate::segment::Segment;

/// The holders of one asset, by balance, largest first, then by address.
pub struct Holders<'a> {
    pub(super) segments: &'a [Arc<Segment>],
    pub(super) rows: Option<AssetRows<'a>>,
    pub(super) changes: Option<&'a AssetChanges>,
    pub(super) count: u64,
    pub(super) negative: u64,
    pub(super) total: Option<Amount>,
}

/// Balances of neighbouring holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balances<'b> {
    /// Those of at least 2^128, which come first.
    Large(&'b [Amount]),
    /// The others.
    Small(&'b [u128]),
}

/// Some holders in order, as columns of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HolderBatch<'b> {
    /// Who holds.
    pub accounts: &'b [AccountRef],
    /// How much, in the smallest unit of the asset.
    pub balances: Balances<'b>,
}

/// What is done with each batch; breaking ends the visit.
pub type VisitHolders<'v> = &'v mut dyn FnMut(HolderBatch<'_>) -> ControlFlow<()>;

impl Holders<'_> {
    /// Number of accounts that hold some.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Number of accounts that sent more than they received: history is missing there, and they are no holders.
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
            (Some(rows), None) => rows.visit(visit).map(|_| ()),
            (rows, Some(changes)) => changes.visit(rows.as_ref(), self.segments, visit),
        }
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

impl HolderBatch<'_> {
    /// Its rows.
    pub fn rows(&self) -> impl Iterator<Item = (AccountRef, Amount)> {
        self.accounts.iter().enumerate().map(|(place, account)| (*account, self.balance(place)))
    }

    fn balance(&self, place: usize) -> Amount {
        match self.balances {
            Balances::Large(amounts) => amounts[place],
            Balances::Small(amounts) => Amount::from_u128(amounts[place]),
        }
    }
}
