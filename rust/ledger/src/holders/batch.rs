//! Holders in order, some at a time.

use std::ops::ControlFlow;

use headwater_types::Amount;

use crate::primitives::AccountRef;

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
    /// The holders.
    pub accounts: &'b [AccountRef],
    /// The balances, in the smallest unit of the asset.
    pub balances: Balances<'b>,
}

/// The function that takes each batch; breaking ends the visit.
pub type VisitHolders<'v> = &'v mut dyn FnMut(HolderBatch<'_>) -> ControlFlow<()>;

impl HolderBatch<'_> {
    /// Its rows.
    pub fn rows(&self) -> impl Iterator<Item = (AccountRef, Amount)> {
        self.accounts.iter().enumerate().map(|(place, account)| (*account, self.balance(place)))
    }

    pub(super) fn from(self, first: usize) -> Self {
        let balances = match self.balances {
            Balances::Large(amounts) => Balances::Large(&amounts[first..]),
            Balances::Small(amounts) => Balances::Small(&amounts[first..]),
        };
        Self { accounts: &self.accounts[first..], balances }
    }

    fn balance(&self, place: usize) -> Amount {
        match self.balances {
            Balances::Large(amounts) => amounts[place],
            Balances::Small(amounts) => Amount::from_u128(amounts[place]),
        }
    }
}
