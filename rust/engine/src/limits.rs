//! Bounds of requests: what the checks refuse and what the documentation states.

/// Most entries of a list of symbols or contracts.
pub(crate) const MAX_ITEMS: usize = 100;
/// Most transactions of a batch of transfers over bridges.
pub(crate) const MAX_CROSSINGS: usize = 50;
/// Most addresses of a batch of risks.
pub(crate) const MAX_RISKS: usize = 50;
/// Longest text that `addresses/resolve` judges, in characters.
pub(crate) const MAX_QUERY: usize = 128;
/// Most characters of a symbol.
pub(crate) const MAX_SYMBOL: usize = 128;
/// Rows of a page where nothing is said.
pub(crate) const DEFAULT_LIMIT: u32 = 20;
/// Most rows of a page in JSON.
pub(crate) const MAX_LIMIT: u32 = 1000;
/// Most rows of a table.
pub(crate) const MAX_TABLE: u32 = 100_000;
/// Pages reach this many rows; a cursor has no such window.
pub(crate) const PAGE_WINDOW: u64 = 100_000;
/// Most characters of a cursor: several times as many as any has.
pub(crate) const MAX_CURSOR: usize = 1024;
/// Characters that the name of a zone may have; no zone has more.
pub(crate) const MAX_ZONE: usize = 64;
/// Hours that a fixed offset may have.
pub(crate) const HOURS: std::ops::RangeInclusive<i64> = -12..=14;
