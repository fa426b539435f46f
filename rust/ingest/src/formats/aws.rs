//! AWS Public Blockchain Data: the tables of ethereum-etl and bitcoin-etl as Parquet, by day, with amounts as doubles.
//!
//! A double counts all satoshis there can be, so Bitcoin is exact. It keeps 53 bits of wei or of the units of a token, so
//! on Ethereum the amounts of transactions, traces and token transfers are approximate. Logs hold the exact amounts of
//! tokens, and what they say stands before the table of transfers.
//!
//! A day may lie in several files that share its blocks, so but for runs of blocks nothing is claimed.

use headwater_types::Amount;

use super::ethereum_etl::{COLUMNS, Complete, Reader, kind_of};
use super::{Format, Job, Sniffed, bitcoin_etl, ethereum_etl};
use crate::bitcoin::object::Object;
use crate::error::FieldError;
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

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let doubles = ["value", "difficulty", "total_difficulty"].iter().any(|column| probe.is_float(column));
        if is_parquet(probe) && (doubles || is_partition(probe)) { ethereum_etl::sniffed(probe, None) } else { None }
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let kind = kind_of(job.sniffed.table);
        let mut reader = Reader::new(job, approximate);
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

/// Whether the file lies or was made where the tables are kept by day.
fn is_partition(probe: &Probe) -> bool {
    let by_day = probe.path().components().any(|part| part.as_os_str().to_string_lossy().starts_with("date="));
    by_day || probe.has(&["last_modified"]) || probe.has(&["date"])
}

/// An amount that was kept as a double: the one number of at most 15 digits before its zeros that becomes this double, as
/// amounts that people choose are; else what the double counts, which is off by half its last bit at most.
fn approximate(row: &Row<'_>, column: &str) -> Result<Option<Amount>, FieldError> {
    const KEPT_DIGITS: usize = 15;
    let Some(text) = row.text(column)? else { return Ok(None) };
    if let Ok(exact) = Amount::parse_raw(&text) {
        return Ok(Some(exact));
    }
    let whole = text.parse::<f64>().ok().and_then(|double| {
        let shortest = double.to_string();
        let is_kept = shortest.trim_end_matches('0').len() <= KEPT_DIGITS;
        let counted = if double.fract() == 0.0 { format!("{double:.0}") } else { shortest.clone() };
        Amount::parse_raw(if is_kept { &shortest } else { &counted }).ok()
    });
    let expected = "a double that is an unsigned whole number of at most 256 bits";
    whole.map(Some).ok_or_else(|| FieldError::new(column, Some(&text), expected))
}
