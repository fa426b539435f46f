//! The blocks for which a file is complete.
//!
//! The name of a file gives the blocks that were asked for, but not whether only one contract, event, sender or receiver
//! was: a file of which all rows have the same one is taken for such an extract and claims nothing.

use headwater_ledger::facts::Claim;
use headwater_ledger::read::CoverageTable;

use super::datasets::Dataset;
use crate::Sink;
use crate::error::FieldError;
use crate::source::Row;

/// The filters of an extract of cryo.
const FILTERS: [&str; 6] = ["address", "topic0", "erc20", "from_address", "to_address", "action_from"];

/// The findings of the rows.
#[derive(Debug, Default)]
pub(super) struct Extent {
    rows: u64,
    /// All rows state what their receipt states.
    receipts: bool,
    same: [Option<String>; FILTERS.len()],
}

impl Extent {
    pub(super) fn see(&mut self, row: &Row<'_>) -> Result<(), FieldError> {
        self.rows += 1;
        self.receipts = (self.receipts || self.rows == 1) && row.text("gas_used")?.is_some();
        for (column, same) in FILTERS.iter().zip(&mut self.same) {
            if self.rows == 1 {
                *same = row.text(column)?.map(std::borrow::Cow::into_owned);
            } else if same.is_some() && row.text(column)?.as_deref() != same.as_deref() {
                *same = None;
            }
        }
        Ok(())
    }

    pub(super) fn claim(&self, dataset: &Dataset, blocks: Option<(u64, u64)>, sink: &mut Sink<'_>) {
        let Some((first, last)) = blocks.filter(|_| sink.skipped() == 0) else { return };
        let one = FILTERS.iter().zip(&self.same).find_map(|(column, same)| Some((column, same.as_deref()?)));
        if let (Some((column, value)), true, false) = (one, self.rows > 1, dataset.claims.is_empty()) {
            sink.warn(format!(
                "all rows have the {column} {value}: taken for an extract, not for all {} of the blocks",
                dataset.name
            ));
            return;
        }
        let receipts = [CoverageTable::Receipts];
        let with_receipts = self.receipts && dataset.claims.contains(&CoverageTable::Transactions);
        for table in dataset.claims.iter().chain(receipts.iter().filter(|_| with_receipts)) {
            sink.claim(Claim::Blocks { first, last, table: *table });
        }
    }
}
