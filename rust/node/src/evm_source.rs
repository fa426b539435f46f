//! Blocks of an EVM node by JSON-RPC: blocks by number, receipts and traces by the hash of the block.

use headwater_ledger::Cancel;
use headwater_ledger::read::CoverageTable;
use headwater_types::{BlockHash, Chain, Family};
use serde_json::{Value, json};

use crate::batches::Batches;
use crate::error::{CallError, FetchError};
use crate::source::{BlockCounts, FetchedBlocks, HeldBlock, NodeHeads, Source};
use crate::transport::Provider;
use headwater_verify::evm::{Senders, VerifiedBlock, verify_all};

/// Calls of one request at first, and at most.
const FIRST_BATCH: usize = 10;
const MAX_BATCH: usize = 100;

/// The methods of traces, by preference.
const TRACES: [&str; 2] = ["trace_block", "debug_traceBlockByHash"];

/// An EVM chain.
#[derive(Debug)]
pub(crate) struct EvmSource {
    chain: Chain,
    batches: Batches,
}

impl EvmSource {
    pub fn new(chain: Chain) -> Self {
        Self { chain, batches: Batches::new(FIRST_BATCH, MAX_BATCH) }
    }

    /// Returns the receipts of blocks, by the hash of the block.
    fn receipts(&self, provider: &Provider, blocks: &[Value], cancel: &Cancel) -> Result<Vec<Value>, CallError> {
        if !provider.lacks("eth_getBlockReceipts") {
            let calls: Vec<Value> = blocks.iter().map(|block| json!([block["hash"]])).collect();
            match self.batches.call(provider, "eth_getBlockReceipts", &calls, cancel) {
                Err(CallError::NoMethod(_)) => {}
                outcome => return outcome,
            }
        }
        // Nodes without receipts of blocks have those of transactions.
        let hashes = |block: &Value| -> Vec<Value> {
            let transactions = block["transactions"].as_array();
            transactions.into_iter().flatten().map(|transaction| json!([transaction["hash"]])).collect()
        };
        let of_block = |block: &Value| {
            let receipts: Vec<Value> =
                self.batches.call(provider, "eth_getTransactionReceipt", &hashes(block), cancel)?;
            if receipts.iter().any(Value::is_null) {
                return Err(CallError::Missing(format!("receipts of block {}", block["number"])));
            }
            Ok(Value::from(receipts))
        };
        blocks.iter().map(of_block).collect()
    }
}

impl Source for EvmSource {
    fn format(&self) -> &'static str {
        "evm-rpc"
    }

    fn tables(&self) -> &'static [CoverageTable] {
        use CoverageTable::{
            Blocks, Logs, Receipts, TokenTransfers, Transactions, VerifiedReceipts, VerifiedTransactions,
        };
        &[Blocks, Transactions, Receipts, TokenTransfers, Logs, VerifiedTransactions, VerifiedReceipts]
    }

    fn check_chain(&self, provider: &Provider, cancel: &Cancel) -> Result<(), FetchError> {
        let answer = provider.call("eth_chainId", json!([]), cancel)?;
        let stated = answer.as_str().and_then(quantity);
        let expected = self.chain.caip2().rsplit(':').next().and_then(|id| id.parse().ok());
        if stated.is_some() && stated == expected {
            return Ok(());
        }
        let found = stated.map_or_else(|| answer.to_string(), |id| id.to_string());
        let expected = expected.map_or_else(String::new, |id: u64| id.to_string());
        let text = format!("its chain id is {found}, that of {} is {expected}", self.chain);
        Err(FetchError::Lie { code: "chain_id", block: 0, text })
    }

    fn heads(&self, provider: &Provider, cancel: &Cancel) -> Result<NodeHeads, CallError> {
        let block = |tag: &str| provider.call("eth_getBlockByNumber", json!([tag, false]), cancel);
        let number = |answer: &Value| answer["number"].as_str().and_then(quantity);
        let latest = block("latest")?;
        let newest = number(&latest).ok_or_else(|| CallError::Malformed("no number of the latest block".to_owned()))?;
        let usual = newest.saturating_sub(self.chain.finality_depth().into());
        // A node that does not know the tag, and one that has never heard of finality, leave it at the first block.
        let newest_final = match block("finalized").map(|answer| number(&answer)) {
            Ok(Some(block)) if block > 0 => block.min(newest),
            Ok(_)
            | Err(CallError::NoMethod(_) | CallError::Missing(_) | CallError::Failed(_) | CallError::TooMuch(_)) => {
                usual
            }
            Err(error) => return Err(error),
        };
        Ok(NodeHeads { newest, hash: hash_of(&latest), newest_final })
    }

    fn hashes(
        &self,
        provider: &Provider,
        numbers: &[u64],
        cancel: &Cancel,
    ) -> Result<Vec<Option<BlockHash>>, CallError> {
        let calls: Vec<Value> = numbers.iter().map(|number| json!([format!("{number:#x}"), false])).collect();
        let blocks: Vec<Value> = self.batches.call(provider, "eth_getBlockByNumber", &calls, cancel)?;
        Ok(blocks.iter().map(hash_of).collect())
    }

    fn fetch(
        &self,
        provider: &Provider,
        (first, last): (u64, u64),
        cancel: &Cancel,
    ) -> Result<FetchedBlocks, FetchError> {
        let calls: Vec<Value> = (first..=last).map(|number| json!([format!("{number:#x}"), true])).collect();
        let blocks: Vec<Value> = self.batches.call(provider, "eth_getBlockByNumber", &calls, cancel)?;
        if let Some((number, _)) = (first..).zip(&blocks).find(|(_, block)| block.is_null()) {
            return Err(CallError::Missing(format!("block {number}")).into());
        }
        let receipts = self.receipts(provider, &blocks, cancel)?;
        let mut fetched = FetchedBlocks { complete: self.tables().to_vec(), ..FetchedBlocks::default() };
        for ((number, block), receipts) in (first..).zip(&blocks).zip(receipts) {
            if receipts.is_null() {
                return Err(CallError::Missing(format!("receipts of block {number}")).into());
            }
            let VerifiedBlock { header, transactions, .. } =
                verify_all(self.chain, number, block, Some(&receipts), Senders::Recover)?;
            match fetched.hashes.last() {
                None => fetched.parent = Some(header.parent_hash()),
                Some(before) if *before != header.parent_hash() => {
                    let text = format!("block {number}: its parent is not block {} of the same provider", number - 1);
                    return Err(FetchError::Lie { code: "parent", block: number, text });
                }
                Some(_) => {}
            }
            fetched.hashes.push(header.hash());
            fetched.held.push(HeldBlock {
                number,
                hash: header.hash(),
                transactions: transactions
                    .as_slice()
                    .iter()
                    .map(headwater_verify::evm::VerifiedTransaction::hash)
                    .collect(),
            });
            fetched.blocks += 1;
            let logs = receipts.as_array().into_iter().flatten().filter_map(|receipt| receipt["logs"].as_array());
            fetched.counts.push(BlockCounts {
                transactions: transactions.as_slice().len() as u64,
                logs: Some(logs.map(|logs| logs.len() as u64).sum()),
            });
            fetched.add_lines([block, &without_uncovered_status(receipts)]);
        }
        Ok(fetched)
    }

    fn has_traces(&self) -> bool {
        true
    }

    fn fetch_traces(
        &self,
        provider: &Provider,
        blocks: &[HeldBlock],
        cancel: &Cancel,
    ) -> Result<FetchedBlocks, FetchError> {
        let mut missing = CallError::NoMethod(TRACES.join(", "));
        for method in TRACES {
            if provider.lacks(method) {
                continue;
            }
            match self.traces(provider, method, blocks, cancel) {
                Err(FetchError::Call(error @ CallError::NoMethod(_))) => missing = error,
                outcome => return outcome,
            }
        }
        Err(missing.into())
    }
}

impl EvmSource {
    fn traces(
        &self,
        provider: &Provider,
        method: &str,
        blocks: &[HeldBlock],
        cancel: &Cancel,
    ) -> Result<FetchedBlocks, FetchError> {
        let call = |block: &HeldBlock| match method {
            "trace_block" => json!([format!("{:#x}", block.number)]),
            _ => json!([block.hash.display(Family::Evm), {"tracer": "callTracer", "timeout": "60s"}]),
        };
        let calls: Vec<Value> = blocks.iter().map(call).collect();
        let answers: Vec<Value> = self.batches.call(provider, method, &calls, cancel)?;
        let mut fetched = FetchedBlocks { complete: vec![CoverageTable::Traces], ..FetchedBlocks::default() };
        for (block, answer) in blocks.iter().zip(answers) {
            let missing = || CallError::Missing(format!("traces of block {}", block.number));
            let entries = answer.as_array().ok_or_else(missing)?;
            check_traces(block, entries, method)?;
            fetched.blocks += 1;
            // A block without transactions has no traces, and readers do not recognise an empty list.
            if !entries.is_empty() {
                fetched.add_lines([&answer]);
            }
        }
        Ok(fetched)
    }
}

/// Checks what can be checked of traces, which no root covers: each transaction of the block in the store has its tree, in
/// order, and no other has one.
fn check_traces(block: &HeldBlock, entries: &[Value], method: &str) -> Result<(), FetchError> {
    let name = if method == "trace_block" { "transactionHash" } else { "txHash" };
    let mut found: Vec<&str> = entries.iter().filter_map(|entry| entry[name].as_str()).collect();
    found.dedup();
    let number = block.number;
    if method != "trace_block" && found.is_empty() && entries.len() == block.transactions.len() && !entries.is_empty() {
        let text = format!("block {number}: {method} of this node does not name the transactions: update the node");
        return Err(FetchError::Unknown(text));
    }
    let expected = block.transactions.iter().map(|hash| hash.display(Family::Evm));
    let hash = block.hash.display(Family::Evm);
    let is_of_block = method != "trace_block" || entries.iter().all(|entry| entry["blockHash"] == hash.as_str());
    if is_of_block && expected.eq(found.iter().map(|text| text.to_ascii_lowercase())) {
        return Ok(());
    }
    let text = format!(
        "block {number}: its traces are of {} transactions, the block has {}, or they are of others",
        found.len(),
        block.transactions.len()
    );
    Err(FetchError::Lie { code: "traces", block: number, text })
}

/// Removes statuses that no hash covers: receipts before block 4,370,000 are hashed with a state root in their place.
fn without_uncovered_status(mut receipts: Value) -> Value {
    const STATE_ROOT: usize = 66;
    for receipt in receipts.as_array_mut().into_iter().flatten() {
        let is_with_root = receipt["root"].as_str().is_some_and(|root| root.len() == STATE_ROOT);
        if let (true, Some(fields)) = (is_with_root, receipt.as_object_mut()) {
            fields.remove("status");
        }
    }
    receipts
}

fn hash_of(block: &Value) -> Option<BlockHash> {
    BlockHash::parse(Family::Evm, block["hash"].as_str()?).ok()
}

fn quantity(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
