//! The data set `crypto_bitcoin`: the rows of bitcoin-etl, with the types of `BigQuery`.

use super::super::bitcoin_etl::{read, satoshis, sniffed};
use super::super::{Format, Job, Sniffed};
use super::exported;
use crate::source::{Content, Probe};
use crate::{IngestError, Sink};

pub(in super::super) struct BigQueryBitcoin;

impl Format for BigQueryBitcoin {
    fn name(&self) -> &'static str {
        "bigquery/bitcoin"
    }

    fn describe(&self) -> &'static str {
        "blocks and transactions of bigquery-public-data.crypto_bitcoin, exported as Parquet or JSON lines"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let is = *probe.content() != Content::Csv && exported(probe, &["block_timestamp", "timestamp"]);
        let doubles = ["output_value", "difficulty"].iter().any(|column| probe.is_float(column));
        if is && !doubles { sniffed(probe) } else { None }
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        read(job, satoshis, sink)
    }
}
