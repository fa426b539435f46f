//! Claims of public lists and issuers about addresses.

use headwater_types::{Address, Chain};

use super::table::{Cell, Cells, Kind, Row};

/// A claim of a public list, or a freeze that the chain itself states.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicLabel {
    /// The chain.
    pub chain: Chain,
    /// The address.
    pub address: Address,
    /// The code that the list gives.
    pub code: String,
    /// The entity that the list names; empty when it names nobody.
    pub entity: String,
    /// The list by its name, or `issuer-freezes`.
    pub list: String,
    /// The provenance group: lists of one group count once.
    pub group: String,
    /// The level of the source, such as `service_api`.
    pub level: String,
    /// When it was claimed, in epoch seconds.
    pub asserted_secs: Option<u64>,
    /// When the claim was withdrawn, the freeze lifted, or the address left the list.
    pub valid_until_secs: Option<u64>,
    /// True if the claim is true. Not in the published form.
    pub correct: bool,
}

impl Row for PublicLabel {
    const NAME: &'static str = "labels";
    const COLUMNS: &'static [(&'static str, Kind)] = &[
        ("blockchain", Kind::Text),
        ("address", Kind::Text),
        ("code", Kind::Text),
        ("entity", Kind::Text),
        ("list", Kind::Text),
        ("group", Kind::Text),
        ("level", Kind::Text),
        ("asserted_at", Kind::MaybeNumber),
        ("valid_until", Kind::MaybeNumber),
        ("correct", Kind::Flag),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.chain),
            Cell::text(&self.address),
            Cell::text(&self.code),
            Cell::text(&self.entity),
            Cell::text(&self.list),
            Cell::text(&self.group),
            Cell::text(&self.level),
            Cell::MaybeNumber(self.asserted_secs),
            Cell::MaybeNumber(self.valid_until_secs),
            Cell::Flag(self.correct),
        ]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let chain = cells.chain()?;
        Some(Self {
            chain,
            address: cells.address(chain)?,
            code: cells.text()?,
            entity: cells.text()?,
            list: cells.text()?,
            group: cells.text()?,
            level: cells.text()?,
            asserted_secs: cells.maybe_number(),
            valid_until_secs: cells.maybe_number(),
            correct: cells.flag(),
        })
    }
}
