//! What public lists say about addresses.

use headwater_types::{Address, Chain};

use super::table::{Cell, Cells, Kind, Row};

/// A claim of a public list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicLabel {
    /// The chain.
    pub chain: Chain,
    /// The address.
    pub address: Address,
    /// What the list says it is.
    pub code: String,
    /// The family of the code.
    pub category: String,
    /// Whom the list names; empty when it names nobody.
    pub entity: String,
    /// The list.
    pub source: String,
    /// How sure the list is by its kind, in hundredths.
    pub confidence_percent: u64,
    /// Whether the claim is true. Not in the published form.
    pub correct: bool,
}

impl Row for PublicLabel {
    const NAME: &'static str = "labels";
    const COLUMNS: &'static [(&'static str, Kind)] = &[
        ("blockchain", Kind::Text),
        ("address", Kind::Text),
        ("code", Kind::Text),
        ("category", Kind::Text),
        ("entity", Kind::Text),
        ("source", Kind::Text),
        ("confidence_percent", Kind::Number),
        ("correct", Kind::Flag),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.chain),
            Cell::text(&self.address),
            Cell::text(&self.code),
            Cell::text(&self.category),
            Cell::text(&self.entity),
            Cell::text(&self.source),
            Cell::Number(self.confidence_percent),
            Cell::Flag(self.correct),
        ]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let chain = cells.chain()?;
        Some(Self {
            chain,
            address: cells.address(chain)?,
            code: cells.text()?,
            category: cells.text()?,
            entity: cells.text()?,
            source: cells.text()?,
            confidence_percent: cells.number(),
            correct: cells.flag(),
        })
    }
}

impl PublicLabel {
    /// First line of the published form.
    pub(super) const CSV_HEADER: &'static str = "blockchain,address,code,category,entity,source,confidence\n";

    /// A line of the published form, which does not tell whether the claim is right.
    pub(super) fn csv_line(&self) -> String {
        let Self { chain, address, code, category, entity, source, confidence_percent, .. } = self;
        let (whole, hundredths) = (confidence_percent / 100, confidence_percent % 100);
        format!("{chain},{address},{code},{category},{entity},{source},{whole}.{hundredths:02}\n")
    }
}
