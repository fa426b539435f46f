//! Facts about a bitcoin wallet that only its owner has.

use headwater_types::{Address, Chain, TxHash};

use super::table::{Cell, Cells, Kind, Row};

/// The output of a payment that went back to its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangeOutput {
    /// The transaction.
    pub hash: TxHash,
    /// Position of the change among its outputs.
    pub output_index: u32,
}

impl Row for ChangeOutput {
    const NAME: &'static str = "change_outputs";
    const COLUMNS: &'static [(&'static str, Kind)] = &[("tx_hash", Kind::Text), ("output_index", Kind::Number)];

    fn cells(&self) -> Vec<Cell> {
        vec![Cell::text(&self.hash.display(Chain::BITCOIN.family())), Cell::Number(u64::from(self.output_index))]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        Some(Self { hash: cells.hash(Chain::BITCOIN)?, output_index: u32::try_from(cells.number()).ok()? })
    }
}

/// An address and the wallet it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterMember {
    /// The address.
    pub address: Address,
    /// The wallet: all addresses with this name are of one owner and one key store.
    pub wallet: String,
}

impl Row for ClusterMember {
    const NAME: &'static str = "clusters";
    const COLUMNS: &'static [(&'static str, Kind)] = &[("address", Kind::Text), ("wallet", Kind::Text)];

    fn cells(&self) -> Vec<Cell> {
        vec![Cell::text(&self.address), Cell::text(&self.wallet)]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        Some(Self { address: cells.address(Chain::BITCOIN)?, wallet: cells.text()? })
    }
}
