//! Rows of the GraphSense transformation for account chains (Ethereum and TRON): blocks, transactions, fees, logs, traces
//! and token transfers as JSON lines or CSV with camelCase names.
//!
//! Binary values are base64 or hex after `0x`, addresses of TRON their 20 bytes without the prefix.

mod rows;
mod values;

use headwater_ledger::read::CoverageTable;
use headwater_types::Chain;

use super::ethereum_etl::{Complete, Extent};
use super::evm_frames::Frames;
use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::Fault;
use crate::source::{Content, Probe, Row, each_row};
use crate::{IngestError, Sink};

pub(super) struct GraphsenseAccount;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Block,
    Transaction,
    TokenTransfer,
    Log,
    Trace,
    Fee,
}

/// In order of rank: what others refer to comes first.
#[rustfmt::skip]
const TABLES: &[(Kind, &[&str])] = &[
    (Kind::Block, &["blockId", "blockHash", "parentHash", "timestamp"]),
    (Kind::Transaction, &["txHash", "blockId", "fromAddress", "value", "blockTimestamp"]),
    (Kind::Log, &["txHash", "blockId", "logIndex", "address", "topics", "data"]),
    (Kind::TokenTransfer, &["txHash", "blockId", "logIndex", "tokenAddress", "from", "to", "value"]),
    (Kind::Trace, &["blockId", "traceId", "toAddress", "value", "callType"]),
    (Kind::Fee, &["txHash", "fee", "energyFee", "netFee"]),
];

/// Token transfers do not state of which of the two they are.
const BOTH: &[Chain] = &[Chain::ETHEREUM, Chain::TRON];

impl Format for GraphsenseAccount {
    fn name(&self) -> &'static str {
        "graphsense-account"
    }

    fn describe(&self) -> &'static str {
        "rows of the GraphSense transformation for ethereum and tron (blocks, transactions, fees, logs, traces, token transfers), JSON lines or CSV"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        const NAMES: [&str; 6] = ["blocks", "transactions", "logs", "token transfers", "traces", "fees"];
        NAMES.into_iter().zip(TABLES.iter().map(|(_, columns)| *columns)).collect()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        if !matches!(probe.content(), Content::Csv | Content::Json) {
            return None;
        }
        // A receiver is missing where there is none.
        let place = TABLES.iter().position(|(_, columns)| probe.has(columns))?;
        let (kind, _) = TABLES[place];
        let chain = match (kind, probe.first("blockId"), probe.first("blockHash")) {
            (Kind::Fee, _, _) => SniffedChain::Is(Chain::TRON),
            (_, Some(number), Some(hash)) if values::is_numbered(number, hash) => SniffedChain::Is(Chain::TRON),
            (_, Some(_), Some(_)) | (Kind::Trace, _, _) => SniffedChain::Usually(Chain::ETHEREUM),
            _ => SniffedChain::OneOf(BOTH),
        };
        let place = u8::try_from(place).expect("the table of tables is short");
        Some(Sniffed {
            chain,
            table: place,
            rank: place,
            first_block: probe.first("blockId").and_then(|text| text.parse().ok()),
        })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (kind, _) = TABLES[usize::from(job.sniffed.table)];
        let mut frames = Frames::new(job.input.path());
        let mut extent = Extent::default();
        each_row(&job.input, &job.content, &[], sink, |row: &Row<'_>, sink: &mut Sink<'_>| {
            let chain = sink.chain();
            match kind {
                Kind::Block => {
                    let block = rows::block(row)?;
                    extent.see(CoverageTable::Blocks, block.number);
                    sink.block(block);
                }
                Kind::Transaction => sink.transaction(rows::transaction(row, chain)?),
                Kind::Log => {
                    let (head, log, movement) = rows::log(row, chain)?;
                    sink.count_non_fungible(u64::from(movement.as_ref().is_some_and(rows::is_non_fungible)));
                    sink.log(head, log, movement);
                }
                Kind::TokenTransfer => {
                    let (head, movement) = rows::token_transfer(row, chain)?;
                    sink.movement(head, movement);
                }
                Kind::Trace => frames.take(rows::frame(row, chain)?, row.place(), sink)?,
                Kind::Fee => {
                    let facts = rows::fee(row, sink)?;
                    sink.transaction(facts);
                }
            }
            sink.boundary()?;
            Ok::<(), Fault>(())
        })?;
        frames.resolve_all(sink)?;
        if sink.skipped() == 0 {
            extent.claim(Complete::Unknown, sink);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
