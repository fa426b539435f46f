//! Blocks of Bitcoin Core's JSON-RPC: raw ones, and the outputs that they spend.
//!
//! Raw blocks are verified against their hash. They do not contain amounts and owners of inputs: the store takes them from
//! the outputs that it holds. A load whose earlier blocks are not held asks the node for them (`getblock HASH 3`), and
//! accepts owners that the inputs prove ([`CreatedOutputs`]). Both are written in the form of `getblock HASH 3`.
//!
//! Blocks are fetched out of order, so the source does not know which outputs the load brings itself. It passes on all
//! proven ones: the store prefers the output itself, and refuses an amount that differs from it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use headwater_ledger::Cancel;
use headwater_ledger::read::{Coverage, CoverageTable, uncovered};
use headwater_types::{BlockHash, Chain, Family, Network};
use headwater_verify::bitcoin::{CreatedOutputs, Proof, SpentOutput, VerifiedBlock, satoshis, verify_block};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::batches::Batches;
use crate::error::{CallError, FetchError};
use crate::source::{BlockCounts, FetchedBlocks, NodeHeads, Source};
use crate::transport::Provider;

/// Calls of one request, at first and at most.
const BATCH: usize = 20;
/// Blocks of so many bytes together are asked for in one request with the outputs that they spend, which makes answers about
/// ten times as large.
const MAX_BYTES: usize = 1 << 20;

/// The call that brings the outputs that a block spends.
const WITH_SPENT: &str = "getblock HASH 3";
/// The call that brings raw blocks, where numbers are taken; others take `false` (bcoin).
const RAW: &str = "getblock HASH 0";

/// The first blocks of the networks. Those of the test network are of its third and fourth version.
const FIRST_BLOCKS: &[(Network, &str)] = &[
    (Network::Mainnet, "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"),
    (Network::Testnet, "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943"),
    (Network::Testnet, "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043"),
    (Network::Signet, "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6"),
    (Network::Regtest, "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"),
];

/// The block of the main network after which Bitcoin Cash, whose nodes call their network `main` too, has others.
const AFTER_FORK: (u64, &str) = (478_559, "00000000000000000019f112ec0a9982926f1258cdcc558dd7c3b7e5dc7fa148");

/// The source of amounts and owners of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inputs {
    /// The store holds all outputs, or will with this load.
    Held,
    /// The node states them, because outputs from before this block are not held.
    Asked { before: u64 },
}

/// Bitcoin.
#[derive(Debug)]
pub(crate) struct BitcoinSource {
    network: OnceLock<Network>,
    inputs: Inputs,
    batches: Batches,
    /// The names of the providers that state the outputs that blocks spend.
    stating: Mutex<BTreeSet<String>>,
    /// Blocks whose spent outputs no provider states.
    unstated: AtomicU64,
    /// Inputs whose amounts are as a node states them.
    unsigned: AtomicU64,
    /// Inputs that do not prove their owner.
    unproven: AtomicU64,
}

/// Outputs that the inputs of each transaction but the first spend; `None` where nothing proves them.
type SpentByTransaction = Vec<Vec<Option<SpentOutput>>>;

/// A block with the outputs that it spends; other members are passed over.
#[derive(Debug, Default, Deserialize)]
struct StatedBlock {
    tx: Vec<StatedTransaction>,
}

#[derive(Debug, Deserialize)]
struct StatedTransaction {
    vin: Vec<StatedInput>,
}

#[derive(Debug, Deserialize)]
struct StatedInput {
    txid: Option<String>,
    vout: Option<u32>,
    prevout: Option<StatedOutput>,
}

#[derive(Debug, Deserialize)]
struct StatedOutput {
    value: f64,
    #[serde(rename = "scriptPubKey")]
    script: StatedScript,
}

#[derive(Debug, Deserialize)]
struct StatedScript {
    hex: String,
}

impl BitcoinSource {
    /// The source of a load that begins at a block, into a store with this coverage.
    pub fn new(held: Option<&Coverage>, from: u64) -> Self {
        let ranges = held.map_or(&[][..], |held| held.ranges_of(CoverageTable::Transactions));
        let is_held = from == 0 || uncovered(ranges, (0, from - 1)).is_empty();
        Self {
            network: held.map_or_else(OnceLock::new, |held| held.network.into()),
            inputs: if is_held { Inputs::Held } else { Inputs::Asked { before: from } },
            batches: Batches::new(BATCH, BATCH),
            stating: Mutex::default(),
            unstated: AtomicU64::new(0),
            unsigned: AtomicU64::new(0),
            unproven: AtomicU64::new(0),
        }
    }

    /// The network of the load: that of the store, else that of the first provider.
    fn network(&self) -> Network {
        self.network.get().copied().unwrap_or_default()
    }

    fn block_hashes(&self, provider: &Provider, heights: &[u64], cancel: &Cancel) -> Result<Vec<BlockHash>, CallError> {
        let calls: Vec<Value> = heights.iter().map(|height| json!([height])).collect();
        let answers: Vec<Value> = self.batches.call(provider, "getblockhash", &calls, cancel)?;
        let hash = |(height, answer): (&u64, &Value)| {
            let bytes = answer.as_str().and_then(|text| <[u8; 32]>::try_from(hex::decode(text).ok()?).ok());
            let malformed = || CallError::Malformed(format!("block {height}: {answer} as its hash"));
            bytes.map(BlockHash::new).ok_or_else(malformed)
        };
        heights.iter().zip(&answers).map(hash).collect()
    }

    /// Returns the serialised bytes of blocks.
    fn raw(&self, provider: &Provider, hashes: &[BlockHash], cancel: &Cancel) -> Result<Vec<Vec<u8>>, CallError> {
        let ask = |form: Value| -> Result<Vec<Value>, CallError> {
            let calls: Vec<Value> = hashes.iter().map(|hash| json!([text(*hash), form])).collect();
            self.batches.call(provider, "getblock", &calls, cancel)
        };
        let is_numbered = !provider.lacks(RAW);
        let answers = match ask(if is_numbered { json!(0) } else { json!(false) }) {
            Err(error) if is_numbered && is_form_refused(&error) => {
                provider.note(|card| card.lacks(RAW));
                ask(json!(false))
            }
            answers => answers,
        };
        let bytes = |(hash, answer): (&BlockHash, Value)| {
            let bytes = answer.as_str().and_then(|text| hex::decode(text).ok());
            bytes.ok_or_else(|| CallError::Malformed(format!("block {} is not bytes in hex", text(*hash))))
        };
        hashes.iter().zip(answers?).map(bytes).collect()
    }

    /// Notes whether a provider states the outputs that a block spends.
    fn check_spent(&self, provider: &Provider, before: u64, cancel: &Cancel) -> Result<(), CallError> {
        let stated =
            self.block_hashes(provider, &[before], cancel).and_then(|hashes| self.stated(provider, &hashes, cancel));
        match stated {
            Ok(blocks) if blocks.iter().any(StatedBlock::lacks_spent) => provider.note(|card| card.lacks(WITH_SPENT)),
            Err(CallError::NoMethod(_)) => {}
            Err(CallError::Cancelled) => return Err(CallError::Cancelled),
            // Other failures say nothing of it: the load meets them again, and names them.
            Ok(_) | Err(_) => {
                self.stating.lock().expect("no holder of the lock panics").insert(provider.name().to_owned());
            }
        }
        Ok(())
    }

    fn stated(
        &self,
        provider: &Provider,
        hashes: &[BlockHash],
        cancel: &Cancel,
    ) -> Result<Vec<StatedBlock>, CallError> {
        let calls: Vec<Value> = hashes.iter().map(|hash| json!([text(*hash), 3])).collect();
        self.batches.call(provider, "getblock", &calls, cancel).map_err(|error| {
            if !is_form_refused(&error) {
                return error;
            }
            provider.note(|card| card.lacks(WITH_SPENT));
            CallError::NoMethod(WITH_SPENT.to_owned())
        })
    }

    /// Returns what the provider states of the outputs that blocks spend, and checks it; nothing where no provider does.
    fn spent(
        &self,
        provider: &Provider,
        blocks: &[VerifiedBlock],
        hashes: &[BlockHash],
        cancel: &Cancel,
    ) -> Result<Vec<SpentByTransaction>, FetchError> {
        if self.inputs == Inputs::Held {
            return Ok(Vec::new());
        }
        if provider.lacks(WITH_SPENT) {
            let mut stating = self.stating.lock().expect("no holder of the lock panics");
            stating.remove(provider.name());
            if !stating.is_empty() {
                return Err(CallError::NoMethod(WITH_SPENT.to_owned()).into());
            }
            self.unstated.fetch_add(blocks.len() as u64, Ordering::Relaxed);
            return Ok(Vec::new());
        }
        let bytes: usize = blocks.iter().map(|block| block.block().total_size()).sum();
        let mut stated = Vec::with_capacity(blocks.len());
        for some in hashes.chunks(if bytes > MAX_BYTES { 1 } else { hashes.len() }) {
            match self.stated(provider, some, cancel) {
                Err(CallError::NoMethod(_)) => return self.spent(provider, blocks, hashes, cancel),
                answers => stated.extend(answers?),
            }
        }
        if stated.iter().any(StatedBlock::lacks_spent) {
            provider.note(|card| card.lacks(WITH_SPENT));
            return self.spent(provider, blocks, hashes, cancel);
        }
        let mut created = CreatedOutputs::default();
        let mut spent = Vec::with_capacity(blocks.len());
        for (block, stated) in blocks.iter().zip(stated) {
            created.add(block);
            let stated = stated.outputs().map_err(|text| CallError::Malformed(format!("{WITH_SPENT}: {text}")))?;
            let proofs = created.verify_spent(block, &stated)?;
            let count = |proof| proofs.iter().flatten().filter(|one| **one == proof).count() as u64;
            self.unsigned.fetch_add(count(Proof::Owner), Ordering::Relaxed);
            self.unproven.fetch_add(count(Proof::Nothing), Ordering::Relaxed);
            let proven = |(stated, proof)| (proof != Proof::Nothing).then_some(stated);
            let transactions = stated.into_iter().zip(proofs);
            spent.push(
                transactions.map(|(stated, proofs)| stated.into_iter().zip(proofs).map(proven).collect()).collect(),
            );
        }
        Ok(spent)
    }
}

impl StatedBlock {
    fn inputs(&self) -> impl Iterator<Item = &StatedInput> {
        self.tx.iter().skip(1).flat_map(|transaction| &transaction.vin)
    }

    /// Returns whether it spends outputs, and states none of them, as older nodes answer.
    fn lacks_spent(&self) -> bool {
        self.inputs().next().is_some() && self.inputs().all(|input| input.prevout.is_none())
    }

    /// The outputs that each transaction but the first spends.
    fn outputs(self) -> Result<Vec<Vec<SpentOutput>>, String> {
        let output = |input: StatedInput| {
            let (Some(txid), Some(index), Some(spent)) = (input.txid, input.vout, input.prevout) else {
                return Err("an input without txid, vout or prevout".to_owned());
            };
            let script = hex::decode(&spent.script.hex).map_err(|_| format!("the script {:?}", spent.script.hex))?;
            let satoshis = satoshis(spent.value).map_err(|_| format!("the value {}", spent.value))?;
            Ok(SpentOutput { txid, index, satoshis, script })
        };
        self.tx.into_iter().skip(1).map(|transaction| transaction.vin.into_iter().map(output).collect()).collect()
    }
}

impl Source for BitcoinSource {
    fn format(&self) -> &'static str {
        "bitcoin-core"
    }

    fn network(&self) -> Option<Network> {
        Some(self.network())
    }

    fn tables(&self) -> &'static [CoverageTable] {
        use CoverageTable::{Blocks, Transactions, VerifiedTransactions};
        &[Blocks, Transactions, VerifiedTransactions]
    }

    fn check_chain(&self, provider: &Provider, cancel: &Cancel) -> Result<(), FetchError> {
        let other = |text: String| Err(FetchError::Lie { code: "network", block: 0, text });
        let answer = provider.call("getblockchaininfo", json!([]), cancel)?;
        let name = answer["chain"].as_str().unwrap_or_default();
        let network = match name {
            "main" => Network::Mainnet,
            "test" | "testnet" | "testnet4" => Network::Testnet,
            "signet" => Network::Signet,
            "regtest" => Network::Regtest,
            _ => return other(format!("its network is {name:?}, which is not one of bitcoin")),
        };
        let first = self.block_hashes(provider, &[0], cancel)?[0];
        if !FIRST_BLOCKS.contains(&(network, &text(first))) {
            return other(format!("its first block is {}, which is not that of bitcoin {network}", text(first)));
        }
        let (height, hash) = AFTER_FORK;
        if network == Network::Mainnet && answer["blocks"].as_u64().is_some_and(|head| head >= height) {
            let found = text(self.block_hashes(provider, &[height], cancel)?[0]);
            if found != hash {
                return other(format!("its block {height} is {found}, that of bitcoin is {hash}"));
            }
        }
        let expected = *self.network.get_or_init(|| network);
        if network != expected {
            return other(format!("its network is {network}, that of the store or of other providers is {expected}"));
        }
        match self.inputs {
            Inputs::Held => Ok(()),
            Inputs::Asked { before } => Ok(self.check_spent(provider, before, cancel)?),
        }
    }

    fn heads(&self, provider: &Provider, cancel: &Cancel) -> Result<NodeHeads, CallError> {
        let answer = provider.call("getblockchaininfo", json!([]), cancel)?;
        let newest = answer["blocks"].as_u64().ok_or_else(|| CallError::Malformed("no number of blocks".to_owned()))?;
        let hash = answer["bestblockhash"].as_str().and_then(|text| BlockHash::parse(Family::Utxo, text).ok());
        let newest_final = newest.saturating_sub(Chain::BITCOIN.finality_depth().into());
        Ok(NodeHeads { newest, hash, newest_final })
    }

    fn hashes(
        &self,
        provider: &Provider,
        numbers: &[u64],
        cancel: &Cancel,
    ) -> Result<Vec<Option<BlockHash>>, CallError> {
        // A height beyond the chain is an error of the call: ask for those that are there.
        let head = self.heads(provider, cancel)?.newest;
        let held: Vec<u64> = numbers.iter().copied().filter(|number| *number <= head).collect();
        let mut hashes = self.block_hashes(provider, &held, cancel)?.into_iter();
        Ok(numbers.iter().map(|number| if *number <= head { hashes.next() } else { None }).collect())
    }

    fn fetch(
        &self,
        provider: &Provider,
        (first, last): (u64, u64),
        cancel: &Cancel,
    ) -> Result<FetchedBlocks, FetchError> {
        let heights: Vec<u64> = (first..=last).collect();
        let hashes = self.block_hashes(provider, &heights, cancel)?;
        let mut blocks = Vec::with_capacity(hashes.len());
        for ((height, hash), bytes) in (first..).zip(&hashes).zip(self.raw(provider, &hashes, cancel)?) {
            let block = verify_block(self.network(), height, *hash, &bytes)?;
            if height > first {
                block.verify_parent(hashes[blocks.len() - 1])?;
            }
            blocks.push(block);
        }
        let spent = self.spent(provider, &blocks, &hashes, cancel)?;
        let mut fetched =
            FetchedBlocks { complete: vec![CoverageTable::VerifiedTransactions], ..FetchedBlocks::default() };
        for (place, (height, block)) in (first..).zip(&blocks).enumerate() {
            fetched.blocks += 1;
            fetched.counts.push(BlockCounts { transactions: block.block().txdata.len() as u64, logs: None });
            fetched.add_lines([&document(height, hashes[place], block, spent.get(place))]);
        }
        fetched.parent = blocks.first().map(VerifiedBlock::parent_hash);
        fetched.hashes = hashes;
        Ok(fetched)
    }

    fn notes(&self) -> Vec<String> {
        let Inputs::Asked { before } = self.inputs else { return Vec::new() };
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (blocks, unsigned, unproven) = (count(&self.unstated), count(&self.unsigned), count(&self.unproven));
        let notes = [
            (
                blocks,
                format!(
                    "amounts and owners of inputs that spend outputs from before block {before} are unknown in {blocks} blocks: \
                     no node answers {WITH_SPENT} (Bitcoin Core 25 or later does); load from block 0, or name such a node"
                ),
            ),
            (
                unsigned,
                format!(
                    "amounts of up to {unsigned} inputs that spend outputs from before block {before} are as nodes state them: \
                     no hash or signature covers them; load from block 0 to verify them"
                ),
            ),
            (
                unproven,
                format!(
                    "amounts and owners of up to {unproven} inputs that spend outputs from before block {before} are unknown: \
                     these inputs do not prove their owners; load from block 0"
                ),
            ),
        ];
        notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect()
    }
}

/// A block in the form of `getblock HASH 3`, as far as it is read.
fn document(height: u64, hash: BlockHash, block: &VerifiedBlock, spent: Option<&SpentByTransaction>) -> Value {
    let header = &block.block().header;
    let transactions = block.block().txdata.iter().enumerate().map(|(index, transaction)| {
        let inputs = transaction.input.iter().enumerate().map(|(place, input)| {
            if index == 0 {
                return json!({"coinbase": input.script_sig.to_hex_string()});
            }
            let point = &input.previous_output;
            let mut entry = json!({"txid": point.txid.to_string(), "vout": point.vout, "sequence": input.sequence.0});
            if let Some(spent) = spent.and_then(|spent| spent[index - 1][place].as_ref()) {
                entry["prevout"] = output(spent.satoshis, &hex::encode(&spent.script));
            }
            entry
        });
        let outputs =
            transaction.output.iter().map(|one| output(one.value.to_sat(), &one.script_pubkey.to_hex_string()));
        json!({
            "txid": transaction.compute_txid().to_string(),
            "version": transaction.version.0,
            "locktime": transaction.lock_time.to_consensus_u32(),
            "weight": transaction.weight().to_wu(),
            "vin": inputs.collect::<Vec<_>>(),
            "vout": outputs.collect::<Vec<_>>(),
        })
    });
    let mut document = json!({
        "hash": text(hash),
        "height": height,
        "merkleroot": header.merkle_root.to_string(),
        "nonce": header.nonce,
        "time": header.time,
        "tx": transactions.collect::<Vec<_>>(),
    });
    if height > 0 {
        document["previousblockhash"] = text(block.parent_hash()).into();
    }
    document
}

fn text(hash: BlockHash) -> String {
    hex::encode(hash.as_bytes())
}

/// An output with its exact amount in bitcoin.
fn output(satoshis: u64, script: &str) -> Value {
    let value = format!("{}.{:08}", satoshis / 100_000_000, satoshis % 100_000_000);
    json!({"value": value, "scriptPubKey": {"hex": script}})
}

/// Returns whether a node refuses the form of a parameter: bcoin takes a boolean in place of the number.
fn is_form_refused(error: &CallError) -> bool {
    let CallError::Failed(text) = error else { return false };
    let text = text.to_lowercase();
    ["boolean", "verbos", "json value", "type"].iter().any(|part| text.contains(part))
}
