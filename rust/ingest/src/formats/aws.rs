//! AWS Public Blockchain Data: the tables of ethereum-etl and bitcoin-etl as Parquet, by day, with amounts as doubles.
//!
//! A double counts all satoshis there can be, so Bitcoin is exact. It keeps 53 bits of wei or of the units of a token, so
//! on Ethereum the amounts of transactions, traces and token transfers are marked as approximate. Logs hold the exact
//! amounts of tokens, which take the place of those of the table of transfers.
//!
//! A day may lie in several files that share its blocks, so but for runs of blocks nothing is claimed.

use super::ethereum_etl::{COLUMNS, Complete, Reader, kind_of};
use super::stated_amount::double;
use super::{Format, Job, Sniffed, bitcoin_etl, ethereum_etl};
use crate::error::FieldError;
use crate::source::Object;
use crate::source::{Content, Probe, Row, each_row};
use crate::{IngestError, Sink};

pub(super) struct AwsEthereum;
pub(super) struct AwsBitcoin;

impl Format for AwsEthereum {
    fn name(&self) -> &'static str {
        "aws/ethereum"
    }

    fn describe(&self) -> &'static str {
        "Parquet of s3://aws-public-blockchain/v1.0/eth (blocks, transactions, logs, token_transfers, traces, contracts)"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        ethereum_etl::named_tables()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let doubles = ["value", "difficulty", "total_difficulty"].iter().any(|column| probe.is_float(column));
        if is_parquet(probe) && (doubles || is_partition(probe)) { ethereum_etl::sniffed(probe, None) } else { None }
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let kind = kind_of(job.sniffed.table);
        let mut reader = Reader::new(job, double);
        each_row(&job.input, &job.content, COLUMNS, sink, |row: &Row<'_>, sink: &mut Sink<'_>| {
            reader.row(kind, row, sink)
        })?;
        reader.finish(Complete::Unknown, sink)
    }
}

impl Format for AwsBitcoin {
    fn name(&self) -> &'static str {
        "aws/bitcoin"
    }

    fn describe(&self) -> &'static str {
        "Parquet of s3://aws-public-blockchain/v1.0/btc (blocks, transactions)"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let doubles = ["output_value", "difficulty"].iter().any(|column| probe.is_float(column));
        if is_parquet(probe) && (doubles || is_partition(probe)) { bitcoin_etl::sniffed(probe) } else { None }
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        bitcoin_etl::read(job, rounded, sink)
    }
}

fn rounded(object: &Object<'_>, name: &str) -> Result<Option<u64>, FieldError> {
    object.rounded_bitcoins(name)
}

fn is_parquet(probe: &Probe) -> bool {
    *probe.content() == Content::Parquet
}

/// Returns true if the file lies or was made where the tables are kept by day.
fn is_partition(probe: &Probe) -> bool {
    let by_day = probe.path().components().any(|part| part.as_os_str().to_string_lossy().starts_with("date="));
    by_day || probe.has(&["last_modified"]) || probe.has(&["date"])
}
