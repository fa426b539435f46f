//! Tables of cryo, as Parquet, CSV or JSON: one file per dataset and range of blocks.
//!
//! Most tables are those of ethereum-etl under other names and types, and are read as such. The file is named
//! `<network>__<dataset>__<first>_to_<last>.<ending>`: it is complete for these blocks unless its rows show that it was
//! made for one contract, event, sender or receiver only, which the name does not say.
//!
//! Internal movements stand in three datasets. `traces` and `geth_calls` state how frames lie in each other, which of
//! them failed and which were calls of another account's code; they are read as the traces of any other source.
//! `native_transfers` states none of that: see [`native`].

mod datasets;
mod extent;
mod native;
mod values;

use headwater_ledger::facts::TokenFacts;
use headwater_types::Chain;

use super::ethereum_etl::Reader;
use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError};
use crate::source::{Content, Probe, Row, each_row};
use crate::{IngestError, Sink};
use datasets::{COLUMNS, DATASETS, Dataset, FileName, Read};
use extent::Extent;
use native::NativeTransfers;

pub(super) struct Cryo;

impl Format for Cryo {
    fn name(&self) -> &'static str {
        "cryo"
    }

    fn describe(&self) -> &'static str {
        "datasets of cryo (blocks, transactions, logs, traces, geth_calls, native_transfers, erc20_transfers, contracts), Parquet, CSV or JSON"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        DATASETS.iter().map(|dataset| (dataset.name, dataset.needed)).collect()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        if !matches!(probe.content(), Content::Csv | Content::Json | Content::Parquet) {
            return None;
        }
        let name = FileName::of(&probe.input().name());
        let known = |dataset: &Dataset| probe.has(dataset.columns) && !dataset.not.iter().any(|not| probe.has(&[not]));
        let named = |dataset: &Dataset| {
            name.as_ref().is_some_and(|name| name.dataset == dataset.name && probe.has(dataset.needed))
        };
        let place = DATASETS.iter().position(|dataset| named(dataset) || known(dataset))?;
        let first_row = probe.first("block_number").and_then(|text| text.parse().ok());
        Some(Sniffed {
            chain: chain(probe.first("chain_id"), name.as_ref()),
            table: u8::try_from(place).expect("the table of datasets is short"),
            rank: DATASETS[place].rank,
            first_block: name.and_then(|name| name.blocks).map(|(first, _)| first).or(first_row),
        })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let dataset = &DATASETS[usize::from(job.sniffed.table)];
        if dataset.read == Read::Not {
            sink.warn(format!(
                "{} is not read: it tells what balances came to, not what moved; cryo's traces tell that",
                dataset.name
            ));
            return Ok(());
        }
        let mut reading = Reading {
            reader: Reader::new(job, values::amount),
            native: NativeTransfers::default(),
            extent: Extent::default(),
        };
        each_row(&job.input, &job.content, COLUMNS, sink, |row: &Row<'_>, sink: &mut Sink<'_>| {
            check_chain(row, sink.chain())?;
            reading.extent.see(row)?;
            let named = row.renamed(dataset.names);
            reading.row(dataset, &named, sink).map_err(|fault| fault.renamed(dataset.names))
        })?;
        reading.native.finish(sink)?;
        reading.reader.judge(sink)?;
        let blocks = FileName::of(&job.input.name()).and_then(|name| name.blocks);
        reading.extent.claim(dataset, blocks, sink);
        Ok(())
    }
}

/// The chain by its number, or by the network in the name of the file.
fn chain(id: Option<&str>, name: Option<&FileName>) -> SniffedChain {
    let by_id = id.and_then(|id| Chain::from_caip2(&format!("eip155:{id}")));
    let by_name = name.and_then(|name| match name.network.as_str() {
        "bnb" => Some(Chain::BSC),
        other => other.parse().ok().filter(|chain: &Chain| chain.caip2().starts_with("eip155:")),
    });
    by_id.or(by_name).map_or(SniffedChain::Usually(Chain::ETHEREUM), SniffedChain::Is)
}

fn check_chain(row: &Row<'_>, chain: Chain) -> Result<(), FieldError> {
    match row.text("chain_id")? {
        Some(id) if chain.caip2().strip_prefix("eip155:").is_some_and(|known| known != id) => {
            let known = chain.caip2().trim_start_matches("eip155:");
            Err(FieldError::new("chain_id", Some(&id), format!("{known}, the number of {chain}")))
        }
        _ => Ok(()),
    }
}

struct Reading {
    reader: Reader,
    native: NativeTransfers,
    extent: Extent,
}

impl Reading {
    fn row(&mut self, dataset: &Dataset, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let chain = sink.chain();
        match dataset.read {
            Read::Table(kind) => {
                self.reader.row(kind, row, sink)?;
                return Ok(());
            }
            Read::Transactions => sink.transaction(values::transaction(row, chain)?),
            Read::Traces => self.reader.frame(values::trace(row, chain)?, row.place(), sink)?,
            Read::GethCalls => self.reader.frame(values::geth_call(row, chain)?, row.place(), sink)?,
            Read::NativeTransfers => self.native.row(row, sink)?,
            Read::Erc721Transfers => {
                let (head, movement) = values::erc721_transfer(row, chain)?;
                sink.count_non_fungible(1);
                sink.movement(head, movement);
            }
            Read::TokenMetadata => sink.token(metadata(row, chain)?),
            Read::Not => {}
        }
        sink.boundary()?;
        Ok(())
    }
}

fn metadata(row: &Row<'_>, chain: Chain) -> Result<TokenFacts, FieldError> {
    let contract = row.address("erc20", chain)?;
    let text = |column| Ok::<_, FieldError>(row.text(column)?.map(std::borrow::Cow::into_owned));
    Ok(TokenFacts {
        contract: contract.ok_or_else(|| FieldError::new("erc20", None, "the address of a token"))?,
        symbol: text("symbol")?,
        name: text("name")?,
        decimals: row.u64("decimals")?.and_then(|decimals| decimals.try_into().ok()),
        is_non_fungible: false,
    })
}
