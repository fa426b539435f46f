//! Tables of Google's public data sets, as `BigQuery` exports them: Parquet, JSON lines or CSV.
//!
//! Such a file may be a table, a partition or the answer of any query, and does not say which: but for runs of blocks it
//! claims to be complete for nothing.

mod bitcoin;
mod blockchain;
mod ethereum;

pub(super) use bitcoin::BigQueryBitcoin;
pub(super) use blockchain::BigQueryBlockchain;
pub(super) use ethereum::BigQueryEthereum;

use crate::source::{Content, Probe};

/// Returns true if a file is of a form that `BigQuery` exports, and its times are not numbers: the types distinguish its tables
/// from those of the projects they were made with.
fn exported(probe: &Probe, times: &[&str]) -> bool {
    match probe.content() {
        Content::Parquet => true,
        Content::Csv | Content::Json => {
            times.iter().any(|column| probe.first(column).is_some_and(|time| time.contains(':')))
        }
        Content::Empty | Content::Tsv | Content::Binary => false,
    }
}
