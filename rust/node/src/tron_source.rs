//! Blocks and infos of TRON's HTTP interface.

use headwater_ledger::Cancel;
use headwater_ledger::read::CoverageTable;
use headwater_types::Chain;
use serde_json::{Value, json};

use crate::error::{CallError, FetchError};
use crate::source::{Fetched, Source};
use crate::transport::Provider;
use headwater_verify::tron::{verify_block, verify_infos, verify_transactions};

/// TRON.
#[derive(Debug)]
pub(crate) struct TronSource;

/// The id of the first block, which names the network.
const GENESIS: &str = "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc";

impl Source for TronSource {
    fn format(&self) -> &'static str {
        "tron-node"
    }

    fn file_name(&self, first: u64, last: u64) -> String {
        format!("{first}-{last}.jsonl")
    }

    fn tables(&self) -> &'static [CoverageTable] {
        use CoverageTable::{Blocks, Receipts, TokenTransfers, Transactions, VerifiedTransactions};
        &[Blocks, Transactions, Receipts, TokenTransfers, VerifiedTransactions]
    }

    fn check_chain(&self, provider: &Provider, cancel: &Cancel) -> Result<(), FetchError> {
        let answer = provider.ask("/wallet/getblockbynum", &json!({"num": 0}), cancel)?;
        let id = answer["blockID"].as_str().unwrap_or_default();
        if id == GENESIS {
            return Ok(());
        }
        let text = format!("its first block is {id:?}, that of tron is {GENESIS}");
        Err(FetchError::Lie { code: "chain_id", block: 0, text })
    }

    fn final_head(&self, provider: &Provider, cancel: &Cancel) -> Result<u64, CallError> {
        let number = |answer: &Value| answer.pointer("/block_header/raw_data/number").and_then(Value::as_u64);
        let newest = || {
            let answer = provider.ask("/wallet/getnowblock", &json!({}), cancel)?;
            let head =
                number(&answer).ok_or_else(|| CallError::Malformed("no number of the newest block".to_owned()))?;
            Ok(head.saturating_sub(Chain::TRON.finality_depth().into()))
        };
        match provider.ask("/walletsolidity/getnowblock", &json!({}), cancel) {
            Ok(answer) => number(&answer).map_or_else(newest, Ok),
            Err(CallError::Failed(_) | CallError::NoMethod(_) | CallError::Malformed(_)) => newest(),
            Err(error) => Err(error),
        }
    }

    fn fetch(&self, provider: &Provider, (first, last): (u64, u64), cancel: &Cancel) -> Result<Fetched, FetchError> {
        let range = json!({"startNum": first, "endNum": last + 1});
        let answer = provider.ask("/wallet/getblockbylimitnext", &range, cancel)?;
        let mut blocks: Vec<Value> = answer["block"].as_array().cloned().unwrap_or_default();
        blocks.sort_by_key(|block| block.pointer("/block_header/raw_data/number").and_then(Value::as_u64).unwrap_or(0));
        let mut fetched = Fetched { complete: vec![CoverageTable::VerifiedTransactions], ..Fetched::default() };
        for number in first..=last {
            let place = usize::try_from(number - first).unwrap_or(usize::MAX);
            let block = blocks.get(place).ok_or_else(|| CallError::Missing(format!("block {number}")))?;
            let header = verify_block(number, block)?;
            let transactions = verify_transactions(&header, block)?;
            let infos = provider.ask("/wallet/gettransactioninfobyblocknum", &json!({"num": number}), cancel)?;
            verify_infos(&header, &transactions, &infos)?;
            match fetched.hashes.last() {
                None => fetched.parent = Some(header.parent_hash()),
                Some(before) => header.verify_parent(*before)?,
            }
            fetched.hashes.push(header.id());
            fetched.blocks += 1;
            fetched.transactions += transactions.count() as u64;
            fetched.add_lines([block, &infos]);
        }
        Ok(fetched)
    }
}
