//! Prices as the economy used them.

use super::table::{Cell, Cells, Kind, Row};

/// The price of a symbol over one day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayPrice {
    /// The symbol, in lower case.
    pub symbol: String,
    /// First second of the day in which the price is in force, epoch seconds.
    pub time_secs: u64,
    /// The price in millionths of a US dollar.
    pub usd_micros: u64,
}

impl Row for DayPrice {
    const NAME: &'static str = "prices";
    const COLUMNS: &'static [(&'static str, Kind)] =
        &[("symbol", Kind::Text), ("time", Kind::Number), ("usd_micros", Kind::Number)];

    fn cells(&self) -> Vec<Cell> {
        vec![Cell::text(&self.symbol), Cell::Number(self.time_secs), Cell::Number(self.usd_micros)]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        Some(Self { symbol: cells.text()?, time_secs: cells.number(), usd_micros: cells.number() })
    }
}
