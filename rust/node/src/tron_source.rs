//! Blocks and infos of TRON's HTTP interface.
//!
//! Blocks are verified against their id. No hash covers the infos (fees, logs, internal transactions): each is joined to its
//! transaction by id, and what follows from the block is compared.
//!
//! TRON's JSON-RPC has neither the contracts of the system nor tokens of TRC-10, so it brings no blocks.

use std::sync::atomic::{AtomicU64, Ordering};

use headwater_ledger::Cancel;
use headwater_ledger::read::CoverageTable;
use headwater_types::{BlockHash, Chain, Family};
use serde_json::{Value, json};

use crate::error::{CallError, FetchError};
use crate::source::{BlockCounts, FetchedBlocks, NodeHeads, Source};
use crate::transport::Provider;
use headwater_verify::tron::{Producer, verify_block, verify_infos, verify_transactions};

/// The id of the first block, which names the network.
const GENESIS: &str = "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc";
/// The chain id of TRON's JSON-RPC: the end of that id.
const CHAIN_ID: &str = "0x2b6653dc";

/// TRON.
#[derive(Debug, Default)]
pub(crate) struct TronSource {
    /// Calls of contracts that were loaded, and internal transactions in their infos.
    calls: AtomicU64,
    internal: AtomicU64,
}

fn number_of(block: &Value) -> Option<u64> {
    // A value of nothing is left out by the node.
    let header = block.pointer("/block_header/raw_data")?;
    header.get("number").map_or(Some(0), Value::as_u64)
}

fn id_of(block: &Value) -> Option<BlockHash> {
    BlockHash::parse(Family::Tron, block["blockID"].as_str()?).ok()
}

impl TronSource {
    /// Fetches blocks in order, in parts where the provider refuses so many at once.
    fn blocks(provider: &Provider, (first, last): (u64, u64), cancel: &Cancel) -> Result<Vec<Value>, FetchError> {
        let range = json!({"startNum": first, "endNum": last + 1, "visible": false});
        let mut answer = match provider.ask("/wallet/getblockbylimitnext", &range, cancel) {
            Err(CallError::TooMuch(_)) if last > first => {
                let middle = first + (last - first) / 2;
                let mut blocks = Self::blocks(provider, (first, middle), cancel)?;
                blocks.extend(Self::blocks(provider, (middle + 1, last), cancel)?);
                return Ok(blocks);
            }
            answer => answer?,
        };
        let mut blocks = match answer["block"].take() {
            Value::Array(blocks) => blocks,
            _ => Vec::new(),
        };
        blocks.sort_by_key(number_of);
        let is_foreign = |block: &&Value| number_of(block).is_none_or(|number| !(first..=last).contains(&number));
        // Another block than those asked for is a lie, a missing one is not.
        if let Some(block) = blocks.iter().find(is_foreign) {
            verify_block(first, block)?;
        }
        let is_missing = |number: &u64| blocks.binary_search_by_key(&Some(*number), number_of).is_err();
        match (first..=last).find(is_missing) {
            Some(number) => Err(CallError::Missing(format!("block {number}")).into()),
            None => Ok(blocks),
        }
    }

    /// Fetches the infos of the transactions of a block.
    fn infos(provider: &Provider, number: u64, count: usize, cancel: &Cancel) -> Result<Value, CallError> {
        // Nodes answer `{}` for block 0, whose transactions have no infos, and `[]` for a block without transactions.
        if count == 0 || number == 0 {
            return Ok(if number == 0 { json!({}) } else { json!([]) });
        }
        provider.ask("/wallet/gettransactioninfobyblocknum", &json!({"num": number, "visible": false}), cancel)
    }

    fn count(&self, block: &Value, infos: &Value) {
        let transactions = block["transactions"].as_array().into_iter().flatten();
        let calls = transactions.filter(|one| {
            let kind = one.pointer("/raw_data/contract/0/type").and_then(Value::as_str);
            matches!(kind, Some("TriggerSmartContract" | "CreateSmartContract"))
        });
        self.calls.fetch_add(calls.count() as u64, Ordering::Relaxed);
        let internal =
            infos.as_array().into_iter().flatten().filter_map(|info| info["internal_transactions"].as_array());
        self.internal.fetch_add(internal.map(|list| list.len() as u64).sum(), Ordering::Relaxed);
    }
}

impl Source for TronSource {
    fn format(&self) -> &'static str {
        "tron-node"
    }

    fn tables(&self) -> &'static [CoverageTable] {
        use CoverageTable::{Blocks, Logs, Receipts, TokenTransfers, Transactions, VerifiedTransactions};
        &[Blocks, Transactions, Receipts, TokenTransfers, Logs, VerifiedTransactions]
    }

    fn check_chain(&self, provider: &Provider, cancel: &Cancel) -> Result<(), FetchError> {
        let first = provider.ask("/wallet/getblockbynum", &json!({"num": 0, "visible": false}), cancel);
        let answer = match first {
            Ok(answer) => answer,
            Err(error @ (CallError::Cancelled | CallError::Refused(_) | CallError::RateLimited { .. })) => {
                return Err(error.into());
            }
            Err(error) => {
                let is_json_rpc =
                    provider.call("eth_chainId", json!([]), cancel).is_ok_and(|answer| answer == json!(CHAIN_ID));
                return Err(if is_json_rpc {
                    FetchError::Unknown(
                        "this is the JSON-RPC of TRON, which lacks contracts of the system and tokens of TRC-10: give the \
                         address of the HTTP interface, such as http://HOST:8090"
                            .to_owned(),
                    )
                } else {
                    error.into()
                });
            }
        };
        let id = answer["blockID"].as_str().unwrap_or_default();
        if id == GENESIS {
            return Ok(());
        }
        let text = format!("its first block is {id:?}, that of tron is {GENESIS}");
        Err(FetchError::Lie { code: "chain_id", block: 0, text })
    }

    fn heads(&self, provider: &Provider, cancel: &Cancel) -> Result<NodeHeads, CallError> {
        let latest = provider.ask("/wallet/getnowblock", &json!({"visible": false}), cancel)?;
        let newest =
            number_of(&latest).ok_or_else(|| CallError::Malformed("no number of the newest block".to_owned()))?;
        let usual = newest.saturating_sub(Chain::TRON.finality_depth().into());
        let newest_final = match provider.ask("/walletsolidity/getnowblock", &json!({"visible": false}), cancel) {
            Ok(answer) => number_of(&answer).map_or(usual, |solid| solid.min(newest)),
            Err(CallError::Failed(_) | CallError::NoMethod(_) | CallError::Malformed(_)) => usual,
            Err(error) => return Err(error),
        };
        Ok(NodeHeads { newest, hash: id_of(&latest), newest_final })
    }

    fn hashes(
        &self,
        provider: &Provider,
        numbers: &[u64],
        cancel: &Cancel,
    ) -> Result<Vec<Option<BlockHash>>, CallError> {
        let hash = |number: &u64| {
            let answer = provider.ask("/wallet/getblockbynum", &json!({"num": number, "visible": false}), cancel)?;
            Ok(id_of(&answer))
        };
        numbers.iter().map(hash).collect()
    }

    fn fetch(
        &self,
        provider: &Provider,
        (first, last): (u64, u64),
        cancel: &Cancel,
    ) -> Result<FetchedBlocks, FetchError> {
        let blocks = Self::blocks(provider, (first, last), cancel)?;
        let mut fetched = FetchedBlocks { complete: self.tables().to_vec(), ..FetchedBlocks::default() };
        for (number, block) in (first..).zip(&blocks) {
            // A block that is there twice takes the place of the next one here.
            let header = verify_block(number, block)?;
            if header.producer() == Producer::Unsigned && number > 0 {
                let text = format!("block {number}: its header has no signature");
                return Err(FetchError::Lie { code: "signature", block: number, text });
            }
            let transactions = verify_transactions(&header, block)?;
            let infos = Self::infos(provider, number, transactions.count(), cancel)?;
            verify_infos(&header, &transactions, &infos)?;
            match fetched.hashes.last() {
                None => fetched.parent = Some(header.parent_hash()),
                Some(before) => header.verify_parent(*before)?,
            }
            fetched.hashes.push(header.id());
            fetched.blocks += 1;
            fetched.counts.push(BlockCounts { transactions: transactions.count() as u64, logs: None });
            self.count(block, &infos);
            fetched.add_lines([block]);
            if infos.as_array().is_some_and(|infos| !infos.is_empty()) {
                fetched.add_lines([&infos]);
            }
        }
        Ok(fetched)
    }

    fn notes(&self) -> Vec<String> {
        let (calls, internal) = (self.calls.load(Ordering::Relaxed), self.internal.load(Ordering::Relaxed));
        if calls == 0 {
            return Vec::new();
        }
        vec![format!(
            "fees, logs and internal transactions of {calls} calls of contracts are as the nodes state them, which no hash \
             covers; only nodes with vm.saveInternalTx keep internal transactions, and {internal} were loaded, so internal \
             movements are not known to be complete"
        )]
    }
}
