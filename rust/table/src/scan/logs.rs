//! The table `logs`: the event logs of account chains, in the order of the chain.

use std::ops::ControlFlow;

use arrow::array::{ArrayRef, RecordBatch};
use headwater_engine::Error;
use headwater_ledger::logs::{Log, LogFilter, LogScan};
use headwater_ledger::read::TransactionRun;
use headwater_types::{Asset, Chain, Family};

use super::cells::{integers, repeated, texts, times};
use super::job::Job;
use super::output::Output;
use super::sources::chunks;
use super::tables::{StoredTable, columns};

pub(super) const TABLE: StoredTable = StoredTable {
    name: "logs",
    row: "one event log of an account chain",
    order: "chain, block, position of the transaction in the block, hash, log index",
    filters: &["blockchain", "from_block", "to_block", "start_time", "end_time", "contract", "tx_hash"],
    columns: columns! {
        "blockchain": Text = "the chain";
        "tx_hash": Text = "the transaction";
        "block_number": Integer = "number of the block";
        "timestamp": Time = "time of the block";
        "tx_index": Integer = "position of the transaction in the block; null where no source states it";
        "log_index": Integer = "index of the log in the block, from 0; on TRON in the order of the block";
        "contract": Text = "the contract that emitted it";
        "topic0": Text = "first topic in hex: the hash of the event's signature, unless the event is anonymous";
        "topic1": Text = "second topic in hex; null where there is none";
        "topic2": Text = "third topic in hex; null where there is none";
        "topic3": Text = "fourth topic in hex; null where there is none";
        "data": Text = "the other fields of the event, ABI-encoded, in hex; `0x` where there are none";
    },
    produce,
};

/// Logs of a batch of one contract.
const CHUNK: usize = 8192;

fn produce(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    for chain in job.chains().filter(|chain| chain.family() != Family::Utxo) {
        let flow = match job.filter.assets() {
            // Without hashes the index of logs by contract is read.
            Some(assets) if job.filter.hashes.is_empty() => of_contracts(job, chain, &assets, output)?,
            _ => {
                let decode = |runs: Vec<TransactionRun>| {
                    job.check()?;
                    let mut logs = Vec::new();
                    for transaction in runs.iter().flat_map(TransactionRun::transactions) {
                        let of_one = job.ledger.transaction_logs(transaction)?;
                        job.count(of_one.len() as u64);
                        logs.extend(of_one.into_iter().filter(|log| passes(job, log)));
                    }
                    batch(job, chain, &logs)
                };
                output.in_order(chunks(job, chain)?.0, decode)?
            }
        };
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// Reads the logs of contracts by the index, in the order of the chain.
fn of_contracts(job: &Job<'_>, chain: Chain, assets: &[Asset], output: &mut Output) -> Result<ControlFlow<()>, Error> {
    let filter = job.filter;
    let blocks = filter.from_block.unwrap_or(0)..=filter.to_block.unwrap_or(u64::MAX);
    let contracts = assets.iter().filter_map(Asset::contract).filter(|contract| contract.family() == chain.family());
    let mut scans: Vec<(Log, LogScan<'_>)> = Vec::new();
    for contract in contracts {
        let of_contract = LogFilter { blocks: blocks.clone(), ..LogFilter::of(*contract) };
        let mut scan = job.ledger.logs(chain, &of_contract, job.cancel)?;
        if let Some(first) = scan.next().transpose()? {
            scans.push((first, scan));
        }
    }
    let (mut logs, length) = (Vec::new(), job.chunk(CHUNK));
    while let Some(first) = (0..scans.len()).min_by_key(|place| scans[*place].0.key()) {
        let (log, scan) = &mut scans[first];
        let read = match scan.next().transpose()? {
            Some(next) => std::mem::replace(log, next),
            None => scans.swap_remove(first).0,
        };
        job.count(1);
        if passes(job, &read) {
            logs.push(read);
        }
        if logs.len() == length && output.push(batch(job, chain, &std::mem::take(&mut logs))?)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    output.push(batch(job, chain, &logs)?)
}

fn passes(job: &Job<'_>, log: &Log) -> bool {
    let filter = job.filter;
    filter.holds_block(log.head.block)
        && filter.window.contains(log.head.time)
        && (filter.contracts.is_empty() || filter.holds_asset(&Asset::Token(log.contract)))
}

fn batch(job: &Job<'_>, chain: Chain, logs: &[Log]) -> Result<RecordBatch, Error> {
    job.batch(|name| Ok(column(chain, logs, name)))
}

fn column(chain: Chain, logs: &[Log], name: &str) -> ArrayRef {
    let hex = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
    let topic = |place: usize| texts(logs.iter().map(|log| log.topics.get(place).map(|topic| hex(topic))));
    match name {
        "blockchain" => repeated(chain.name(), logs.len()),
        "tx_hash" => texts(logs.iter().map(|log| Some(log.head.hash.display(chain.family())))),
        "block_number" => integers(logs.iter().map(|log| Some(log.head.block))),
        "timestamp" => times(logs.iter().map(|log| Some(log.head.time))),
        "tx_index" => integers(logs.iter().map(|log| log.head.index.map(u64::from))),
        "log_index" => integers(logs.iter().map(|log| Some(log.index))),
        "contract" => texts(logs.iter().map(|log| Some(log.contract.to_string()))),
        "topic0" => topic(0),
        "topic1" => topic(1),
        "topic2" => topic(2),
        "topic3" => topic(3),
        "data" => texts(logs.iter().map(|log| Some(hex(&log.data)))),
        _ => unreachable!("the columns of a scan are those of its table"),
    }
}
