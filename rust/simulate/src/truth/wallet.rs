//! The software behind a bitcoin wallet, which shows in how its transactions are written.

use super::table::{Cell, Cells, Kind, Row};

/// A wallet and its habits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WalletTruth {
    /// The wallet, as the clusters name it.
    pub wallet: String,
    /// The owner.
    pub owner: String,
    /// Kind of software.
    pub software: String,
    /// Form of the scripts it receives at.
    pub script: String,
    /// The address of change: `fresh`, `reused`, `one_for_change` or `other_form`.
    pub change_address: String,
    /// The position of change: `first`, `last`, `anywhere` or `sorted` (BIP 69).
    pub change_place: String,
    /// The coins that are spent: `oldest`, `largest` or `changeless`.
    pub coin_choice: String,
    /// Version of its transactions.
    pub version: u32,
    /// Their lock time: `zero` or `newest_block`.
    pub lock_time: String,
    /// Sequence number of their inputs.
    pub sequence: u32,
}

impl Row for WalletTruth {
    const NAME: &'static str = "wallets";
    const COLUMNS: &'static [(&'static str, Kind)] = &[
        ("wallet", Kind::Text),
        ("owner", Kind::Text),
        ("software", Kind::Text),
        ("script", Kind::Text),
        ("change_address", Kind::Text),
        ("change_place", Kind::Text),
        ("coin_choice", Kind::Text),
        ("version", Kind::Number),
        ("lock_time", Kind::Text),
        ("sequence", Kind::Number),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.wallet),
            Cell::text(&self.owner),
            Cell::text(&self.software),
            Cell::text(&self.script),
            Cell::text(&self.change_address),
            Cell::text(&self.change_place),
            Cell::text(&self.coin_choice),
            Cell::Number(u64::from(self.version)),
            Cell::text(&self.lock_time),
            Cell::Number(u64::from(self.sequence)),
        ]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        Some(Self {
            wallet: cells.text()?,
            owner: cells.text()?,
            software: cells.text()?,
            script: cells.text()?,
            change_address: cells.text()?,
            change_place: cells.text()?,
            coin_choice: cells.text()?,
            version: u32::try_from(cells.number()).ok()?,
            lock_time: cells.text()?,
            sequence: u32::try_from(cells.number()).ok()?,
        })
    }
}
