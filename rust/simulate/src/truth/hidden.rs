//! True balances where `Transfer` events do not show them: tokens that rebase, that take fees, and coins that were
//! destroyed.

use headwater_types::{Address, Amount, Chain};

use super::table::{Cell, Cells, Kind, Row};

/// The true balance of an address in a token at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrueBalance {
    /// The chain.
    pub chain: Chain,
    /// The holder.
    pub address: Address,
    /// The token.
    pub contract: Address,
    /// The amount, raw: what the contract would answer, not what its transfers add up to.
    pub amount: Amount,
}

impl Row for TrueBalance {
    const NAME: &'static str = "true_balances";
    const COLUMNS: &'static [(&'static str, Kind)] =
        &[("blockchain", Kind::Text), ("address", Kind::Text), ("contract", Kind::Text), ("amount_raw", Kind::Text)];

    fn cells(&self) -> Vec<Cell> {
        vec![Cell::text(&self.chain), Cell::text(&self.address), Cell::text(&self.contract), Cell::text(&self.amount)]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let chain = cells.chain()?;
        Some(Self { chain, address: cells.address(chain)?, contract: cells.address(chain)?, amount: cells.amount()? })
    }
}
