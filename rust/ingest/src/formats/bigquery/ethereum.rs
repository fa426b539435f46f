//! The data set `crypto_ethereum`: the tables of ethereum-etl, with the types of `BigQuery`.

use super::super::ethereum_etl::{COLUMNS, Complete, Reader, kind_of, named_tables, sniffed};
use super::super::stated_amount::digits;
use super::super::{Format, Job, Sniffed};
use super::blockchain::height_in;
use super::exported;
use crate::source::{Probe, Row, each_row};
use crate::{IngestError, Sink};

pub(in super::super) struct BigQueryEthereum;

impl Format for BigQueryEthereum {
    fn name(&self) -> &'static str {
        "bigquery/ethereum"
    }

    fn describe(&self) -> &'static str {
        "the tables of bigquery-public-data.crypto_ethereum, exported as Parquet, JSON lines or CSV"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        named_tables()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let is = exported(probe, &["block_timestamp", "timestamp"]) && probe.first("item_id").is_none();
        let doubles = ["value", "difficulty", "total_difficulty"].iter().any(|column| probe.is_float(column));
        let tron = probe.first("block_hash").and_then(height_in).is_some();
        if is && !doubles && !tron { sniffed(probe, None) } else { None }
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let kind = kind_of(job.sniffed.table);
        let mut reader = Reader::new(job, digits);
        each_row(&job.input, &job.content, COLUMNS, sink, |row: &Row<'_>, sink: &mut Sink<'_>| {
            reader.row(kind, row, sink)
        })?;
        reader.finish(Complete::Unknown, sink)
    }
}
