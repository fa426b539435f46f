//! The blocks that a file states completely.
//!
//! A list of receipts or traces does not say that it is that of a whole block. It is taken as one when it has the
//! transactions of its block from the first on without a gap, and no transaction behind its last one is known.

use std::collections::BTreeMap;

use headwater_ledger::facts::Claim;
use headwater_ledger::read::CoverageTable;

use crate::{IngestError, Sink};

/// The count of transactions of a block that rows state, and the place behind the last of them.
#[derive(Debug, Default)]
struct SeenTransactions {
    count: u64,
    end: u32,
}

impl SeenTransactions {
    fn see(&mut self, index: u32) {
        self.count += 1;
        self.end = self.end.max(index.saturating_add(1));
    }
}

#[derive(Debug, Default)]
pub(super) struct Extent {
    receipts: BTreeMap<u64, SeenTransactions>,
    traces: BTreeMap<u64, SeenTransactions>,
}

impl Extent {
    pub(super) fn receipt(&mut self, block: u64, index: u32) {
        self.receipts.entry(block).or_default().see(index);
    }

    /// The traces of the transaction at a place; of what moved without one where there is none.
    pub(super) fn trace(&mut self, block: u64, index: Option<u32>) {
        let seen = self.traces.entry(block).or_default();
        if let Some(index) = index {
            seen.see(index);
        }
    }

    pub(super) fn claim(&self, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let of_receipts = [CoverageTable::Receipts, CoverageTable::Logs, CoverageTable::TokenTransfers];
        for (all, tables) in [(&self.receipts, &of_receipts[..]), (&self.traces, &[CoverageTable::Traces])] {
            for (block, seen) in all {
                if seen.count == u64::from(seen.end) && sink.transaction_at(*block, seen.end)?.is_none() {
                    for table in tables {
                        sink.claim(Claim::Blocks { first: *block, last: *block, table: *table });
                    }
                }
            }
        }
        Ok(())
    }
}
