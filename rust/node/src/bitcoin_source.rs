//! Raw blocks of Bitcoin Core's JSON-RPC. Inputs get their amounts from the outputs that the store holds.

use std::sync::OnceLock;

use headwater_ledger::Cancel;
use headwater_ledger::read::CoverageTable;
use headwater_types::{BlockHash, Chain, Network};
use serde_json::{Value, json};

use crate::error::{CallError, FetchError};
use crate::source::{Fetched, Source};
use crate::transport::Provider;
use headwater_verify::bitcoin::verify_block;

/// Calls of one request.
const BATCH: usize = 20;

/// Bitcoin.
#[derive(Debug, Default)]
pub(crate) struct BitcoinSource {
    network: OnceLock<Network>,
}

impl BitcoinSource {
    fn many(provider: &Provider, method: &str, calls: &[Value], cancel: &Cancel) -> Result<Vec<Value>, CallError> {
        let mut answers = Vec::with_capacity(calls.len());
        for some in calls.chunks(BATCH) {
            for answer in provider.batch(method, some.to_vec(), cancel)? {
                answers.push(answer?);
            }
        }
        Ok(answers)
    }

    fn network(&self, provider: &Provider, cancel: &Cancel) -> Result<Network, CallError> {
        if let Some(network) = self.network.get() {
            return Ok(*network);
        }
        let answer = provider.call("getblockchaininfo", json!([]), cancel)?;
        let name = answer["chain"].as_str().unwrap_or_default();
        let network = match name {
            "main" => Network::Mainnet,
            "test" | "testnet" | "testnet4" => Network::Testnet,
            "signet" => Network::Signet,
            "regtest" => Network::Regtest,
            _ => return Err(CallError::Malformed(format!("the network {name:?}"))),
        };
        Ok(*self.network.get_or_init(|| network))
    }
}

impl Source for BitcoinSource {
    fn format(&self) -> &'static str {
        "bitcoin-blocks"
    }

    fn file_name(&self, _first: u64, _last: u64) -> String {
        "blk00000.dat".to_owned()
    }

    fn tables(&self) -> &'static [CoverageTable] {
        use CoverageTable::{Blocks, Transactions, VerifiedTransactions};
        &[Blocks, Transactions, VerifiedTransactions]
    }

    fn check_chain(&self, provider: &Provider, cancel: &Cancel) -> Result<(), FetchError> {
        self.network(provider, cancel)?;
        Ok(())
    }

    fn final_head(&self, provider: &Provider, cancel: &Cancel) -> Result<u64, CallError> {
        let answer = provider.call("getblockcount", json!([]), cancel)?;
        let head = answer.as_u64().ok_or_else(|| CallError::Malformed("no number of blocks".to_owned()))?;
        Ok(head.saturating_sub(Chain::BITCOIN.finality_depth().into()))
    }

    fn fetch(&self, provider: &Provider, (first, last): (u64, u64), cancel: &Cancel) -> Result<Fetched, FetchError> {
        let network = self.network(provider, cancel)?;
        let heights: Vec<Value> = (first..=last).map(|height| json!([height])).collect();
        let hashes = Self::many(provider, "getblockhash", &heights, cancel)?;
        let calls: Vec<Value> = hashes.iter().map(|hash| json!([hash, 0])).collect();
        let blocks = Self::many(provider, "getblock", &calls, cancel)?;
        let mut fetched = Fetched { complete: vec![CoverageTable::VerifiedTransactions], ..Fetched::default() };
        for ((height, hash), answer) in (first..).zip(&hashes).zip(&blocks) {
            let malformed = |what: &str| CallError::Malformed(format!("block {height}: {what}"));
            let asked = hash.as_str().and_then(|text| <[u8; 32]>::try_from(hex::decode(text).ok()?).ok());
            let asked = BlockHash::new(asked.ok_or_else(|| malformed("no hash"))?);
            let bytes = answer.as_str().and_then(|text| hex::decode(text).ok());
            let bytes = bytes.ok_or_else(|| malformed("no bytes in hex"))?;
            let block = verify_block(network, height, asked, &bytes)?;
            match fetched.hashes.last() {
                None => fetched.parent = Some(block.parent_hash()),
                Some(before) => block.verify_parent(*before)?,
            }
            fetched.hashes.push(asked);
            fetched.blocks += 1;
            fetched.transactions += block.block().txdata.len() as u64;
            // As a node keeps it in its files: the magic of the network, the length, the block.
            fetched.content.extend(magic(network));
            let length = u32::try_from(bytes.len()).map_err(|_| malformed("more than 4 GiB"))?;
            fetched.content.extend(length.to_le_bytes());
            fetched.content.extend(bytes);
        }
        Ok(fetched)
    }
}

/// Returns the bytes before each block in the files of a node.
const fn magic(network: Network) -> [u8; 4] {
    match network {
        Network::Mainnet => [0xf9, 0xbe, 0xb4, 0xd9],
        Network::Testnet => [0x0b, 0x11, 0x09, 0x07],
        Network::Signet => [0x0a, 0x03, 0xcf, 0x40],
        Network::Regtest => [0xfa, 0xbf, 0xb5, 0xda],
    }
}
