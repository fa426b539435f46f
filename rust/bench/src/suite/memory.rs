//! Measurements that need a process of their own: pages from a cold cache, and the memory of the queries alone. Both
//! want a process of their own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Result;
use super::answer::Query;
use super::counters::{Reads, forget_pages, memory, watched};
use super::own::EngineUnderTest;
use super::peers::Engine;
use super::samples::{Figures, Samples};
use super::traces::StoredTraces;
use crate::generator::Ranks;

/// Pages read after the cache of the system forgot the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColdReads {
    /// Times.
    pub figures: Figures,
    /// Median of the bytes that the storage delivered.
    pub median_bytes: u64,
    /// The most.
    pub most_bytes: u64,
    /// Median of the major faults.
    pub median_faults: u64,
}

/// Asks each question once of a store that was forgotten before and is mapped anew; opening is not part of it.
///
/// # Errors
/// When it cannot be read.
pub fn cold(store: &Path, ranks: &Arc<Ranks>, queries: &[Query]) -> Result<Option<ColdReads>> {
    let mut samples = Samples::default();
    let (mut bytes, mut faults) = (Vec::new(), Vec::new());
    for &query in queries {
        forget_pages(store)?;
        let mut own = EngineUnderTest::open(store, Arc::clone(ranks))?;
        let before = Reads::now();
        let cost = own.time(query)?;
        let reads = Reads::now().since(before);
        samples.push(cost);
        bytes.push(reads.bytes);
        faults.push(reads.major_faults);
    }
    bytes.sort_unstable();
    faults.sort_unstable();
    let Some(figures) = samples.figures() else { return Ok(None) };
    Ok(Some(ColdReads {
        figures,
        median_bytes: bytes[bytes.len() / 2],
        most_bytes: bytes[bytes.len() - 1],
        median_faults: faults[faults.len() / 2],
    }))
}

/// Anonymous memory of a store that answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryMemory {
    /// With nothing but the names of the accounts loaded.
    pub before_bytes: u64,
    /// More than that, at most, from opening to the last answer.
    pub most_bytes: u64,
}

/// Asks each question once, and watches the anonymous memory of the process every millisecond meanwhile.
///
/// # Errors
/// When the store cannot be read.
pub fn of_queries(store: &Path, ranks: &Arc<Ranks>, queries: &[Query]) -> Result<QueryMemory> {
    let before = memory().anonymous;
    let (outcome, most) = watched(Duration::from_millis(1), || -> Result<()> {
        let mut own = EngineUnderTest::open(store, Arc::clone(ranks))?;
        let mut traces = StoredTraces::open(store, Arc::clone(ranks))?;
        for &query in queries {
            // The answer to that one is every balance there is, and nothing else.
            if own.takes(query) && query != Query::Balances {
                own.time(query)?;
            }
            if traces.takes(query) {
                traces.time(query)?;
            }
        }
        Ok(())
    });
    outcome?;
    Ok(QueryMemory { before_bytes: before, most_bytes: most.saturating_sub(before) })
}
