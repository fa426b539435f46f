//! A fake EVM node whose chain grows and is replaced while it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use alloy_rlp::{BytesMut, Encodable as _, Header};
use headwater_ledger::Cancel;
use headwater_types::BlockHash;
use serde_json::{Value, json};
use sha3::{Digest as _, Keccak256};

use crate::fake::{Disturbance, FakeNode, RpcError, json_rpc};

/// Numbers that look random and are the same for each seed.
#[derive(Debug, Clone)]
pub(crate) struct Draws(u64);

impl Draws {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Returns true in so many of a thousand cases.
    pub const fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// A block with its receipts, as a node answers them.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedBlock {
    pub block: Value,
    pub receipts: Value,
    /// The place of its transactions among the recorded blocks; none of an empty block.
    content: Option<usize>,
}

impl SimulatedBlock {
    pub fn hash(&self) -> &str {
        self.block["hash"].as_str().unwrap()
    }
}

/// The recorded blocks that have transactions.
fn recorded() -> Vec<Value> {
    let history: Value = serde_json::from_str(include_str!("fixtures/anvil_history.json")).unwrap();
    let blocks = history["blocks"].as_array().unwrap().iter();
    blocks.filter(|block| !block["block"]["transactions"].as_array().unwrap().is_empty()).cloned().collect()
}

/// A chain of blocks, all of which there ever were by their hash.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedChain {
    recorded: Vec<Value>,
    /// The blocks that are valid now, from block 0.
    pub blocks: Vec<SimulatedBlock>,
    known: BTreeMap<String, SimulatedBlock>,
    salt: u64,
    /// Blocks below the newest one that there ever was which are final.
    pub finality: u64,
    highest: u64,
}

impl SimulatedChain {
    pub fn new(finality: u64) -> Self {
        let mut chain =
            Self { recorded: recorded(), blocks: Vec::new(), known: BTreeMap::new(), salt: 0, finality, highest: 0 };
        chain.grow(1, &mut Draws::new(0));
        chain
    }

    pub fn head(&self) -> u64 {
        self.blocks.len() as u64 - 1
    }

    pub const fn newest_final(&self) -> u64 {
        self.highest.saturating_sub(self.finality)
    }

    /// Adds blocks. Each second one has the transactions of a recorded block, of which the chain has each once.
    pub fn grow(&mut self, count: u64, draws: &mut Draws) {
        for _ in 0..count {
            let used: Vec<usize> = self.blocks.iter().filter_map(|block| block.content).collect();
            let free: Vec<usize> = (0..self.recorded.len()).filter(|place| !used.contains(place)).collect();
            let content = (!free.is_empty() && draws.happens(500))
                .then(|| free[usize::try_from(draws.below(free.len() as u64)).unwrap()]);
            self.salt += 1;
            let block = self.made(content);
            self.known.insert(block.hash().to_owned(), block.clone());
            self.blocks.push(block);
        }
        self.highest = self.highest.max(self.head());
    }

    /// Takes blocks away, and adds others in their place.
    pub fn replace(&mut self, depth: u64, count: u64, draws: &mut Draws) {
        let kept = self.head().saturating_sub(depth).max(self.newest_final()) + 1;
        self.blocks.truncate(usize::try_from(kept).unwrap());
        self.grow(count, draws);
    }

    /// Takes all blocks above one away, final or not, and adds others.
    pub fn replace_above(&mut self, number: u64, count: u64, draws: &mut Draws) {
        self.blocks.truncate(usize::try_from(number + 1).unwrap());
        self.grow(count, draws);
    }

    /// Makes the next block.
    fn made(&self, content: Option<usize>) -> SimulatedBlock {
        let number = self.blocks.len() as u64;
        let empty = || {
            let mut block = self.recorded[0]["block"].clone();
            block["transactions"] = json!([]);
            block["transactionsRoot"] = json!("0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");
            block["receiptsRoot"] = block["transactionsRoot"].clone();
            block["logsBloom"] = json!(format!("0x{}", "00".repeat(256)));
            block["gasUsed"] = json!("0x0");
            (block, json!([]))
        };
        let (mut block, mut receipts) = content.map_or_else(empty, |place| {
            (self.recorded[place]["block"].clone(), self.recorded[place]["receipts"].clone())
        });
        let parent =
            self.blocks.last().map_or_else(|| format!("0x{}", "00".repeat(32)), |block| block.hash().to_owned());
        block["number"] = json!(format!("{number:#x}"));
        block["parentHash"] = json!(parent);
        block["timestamp"] = json!(format!("{:#x}", 1_700_000_000 + number * 12));
        block["extraData"] = json!(format!("0x{:016x}", self.salt));
        let hash = hash_of_header(&block);
        block["hash"] = json!(hash);
        let (number, time) = (block["number"].clone(), block["timestamp"].clone());
        let place = |row: &mut Value| {
            row["blockHash"] = json!(hash);
            row["blockNumber"] = number.clone();
            if row.get("blockTimestamp").is_some() {
                row["blockTimestamp"] = time.clone();
            }
        };
        block["transactions"].as_array_mut().unwrap().iter_mut().for_each(place);
        for receipt in receipts.as_array_mut().unwrap() {
            receipt["logs"].as_array_mut().unwrap().iter_mut().for_each(place);
            place(receipt);
        }
        SimulatedBlock { block, receipts, content }
    }

    /// Returns the chain as the lines of a file of answers.
    pub fn lines(&self) -> String {
        let lines: Vec<String> =
            self.blocks.iter().flat_map(|block| [block.block.to_string(), block.receipts.to_string()]).collect();
        lines.join("\n") + "\n"
    }
}

/// The Keccak-256 of the header in RLP.
fn hash_of_header(block: &Value) -> String {
    const FIELDS: [(&str, bool); 17] = [
        ("parentHash", false),
        ("sha3Uncles", false),
        ("miner", false),
        ("stateRoot", false),
        ("transactionsRoot", false),
        ("receiptsRoot", false),
        ("logsBloom", false),
        ("difficulty", true),
        ("number", true),
        ("gasLimit", true),
        ("gasUsed", true),
        ("timestamp", true),
        ("extraData", false),
        ("mixHash", false),
        ("nonce", false),
        ("baseFeePerGas", true),
        ("withdrawalsRoot", false),
    ];
    let mut payload = BytesMut::new();
    for (name, is_number) in FIELDS {
        let digits = block[name].as_str().unwrap().trim_start_matches("0x");
        if is_number {
            u128::from_str_radix(digits, 16).unwrap().encode(&mut payload);
        } else {
            hex::decode(digits).unwrap().as_slice().encode(&mut payload);
        }
    }
    let mut encoded = BytesMut::new();
    Header { list: true, payload_length: payload.len() }.encode(&mut encoded);
    encoded.extend_from_slice(&payload);
    format!("0x{}", hex::encode(Keccak256::digest(&encoded)))
}

/// The hash of a block of a simulated chain.
pub(crate) fn block_hash(block: &SimulatedBlock) -> BlockHash {
    BlockHash::parse(headwater_types::Family::Evm, block.hash()).unwrap()
}

/// The events that happen between two calls of a node, in thousandths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    /// The chain grows.
    pub growth: u64,
    /// Some blocks are replaced.
    pub replacement: u64,
    /// All blocks that are not final are replaced.
    pub deep: u64,
    /// A call has no answer.
    pub failure: u64,
    /// The newest block is an old one.
    pub stale: u64,
    /// A part of an answer is changed or missing.
    pub lie: u64,
    /// The caller is stopped.
    pub stop: u64,
}

/// A node and what happens to it.
pub(crate) struct Scene {
    pub chain: SimulatedChain,
    pub draws: Draws,
    pub weather: Weather,
    /// Changes of the chain that are still to come.
    pub changes: u64,
    /// Stops the caller.
    pub cancel: Cancel,
    /// Answers that were changed.
    pub lies: u64,
}

/// Changes one digit of an answer, or leaves an item of a list out. Fields that nodes may leave out stay.
fn falsify(answer: &mut Value, draws: &mut Draws) {
    let place = |count: usize, draws: &mut Draws| usize::try_from(draws.below(count as u64)).unwrap();
    match answer {
        Value::Object(fields) if !fields.is_empty() => {
            let name = fields.keys().nth(place(fields.len(), draws)).unwrap().clone();
            falsify(&mut fields[&name], draws);
        }
        Value::Array(items) if !items.is_empty() => {
            let at = place(items.len(), draws);
            if draws.happens(300) {
                items.remove(at);
            } else {
                falsify(&mut items[at], draws);
            }
        }
        Value::String(text) if text.len() > 2 => {
            let at = 2 + place(text.len() - 2, draws);
            let digit = if text.as_bytes()[at] == b'1' { "2" } else { "1" };
            text.replace_range(at..=at, digit);
        }
        other => *other = json!("0x7"),
    }
}

/// Starts a node over a scene.
pub(crate) fn node(scene: &Arc<Mutex<Scene>>) -> FakeNode {
    let scene = Arc::clone(scene);
    FakeNode::start(Disturbance::None, move |request| {
        json_rpc(request, "200 OK", |method, params| scene.lock().unwrap().answer(method, params))
    })
}

/// Locks a scene.
pub(crate) fn locked(scene: &Arc<Mutex<Scene>>) -> MutexGuard<'_, Scene> {
    scene.lock().unwrap()
}

impl Scene {
    /// A chain to which nothing happens.
    pub fn calm(chain: SimulatedChain) -> Arc<Mutex<Self>> {
        let (draws, weather) = (Draws::new(1), Weather::default());
        Arc::new(Mutex::new(Self { chain, draws, weather, changes: 0, cancel: Cancel::new(), lies: 0 }))
    }

    /// Lets happen what happens between two calls.
    fn pass(&mut self) {
        let Weather { growth, replacement, deep, stop, .. } = self.weather;
        if self.changes == 0 {
            return;
        }
        if self.draws.happens(stop) {
            self.cancel.cancel();
        }
        let draws = &mut self.draws;
        let change = draws.below(1000);
        let depth = self.chain.finality;
        match change {
            _ if change < growth => {
                let count = 1 + draws.below(3);
                self.chain.grow(count, draws);
            }
            _ if change < growth + replacement => {
                let (depth, count) = (1 + draws.below(3), 1 + draws.below(4));
                self.chain.replace(depth, count, draws);
            }
            _ if change < growth + replacement + deep => {
                let count = 1 + draws.below(depth + 2);
                self.chain.replace(depth, count, draws);
            }
            _ => return,
        }
        self.changes -= 1;
        if self.changes == 0 {
            // The last blocks are higher than all that there ever were.
            let missing = self.chain.highest - self.chain.head() + 1;
            self.chain.grow(missing, &mut self.draws);
        }
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, RpcError> {
        let mut answer = self.right_answer(method, params)?;
        if self.changes > 0 && method != "eth_chainId" && self.draws.happens(self.weather.lie) {
            falsify(&mut answer, &mut self.draws);
            self.lies += 1;
        }
        Ok(answer)
    }

    fn right_answer(&mut self, method: &str, params: &Value) -> Result<Value, RpcError> {
        self.pass();
        if self.changes > 0 && self.draws.happens(self.weather.failure) {
            return Err((-32000, "header not found"));
        }
        let chain = &self.chain;
        Ok(match method {
            "eth_chainId" => json!("0x1"),
            "eth_getBlockByNumber" => {
                let number = match params[0].as_str().unwrap() {
                    "latest" if self.changes > 0 && self.draws.happens(self.weather.stale) => chain.head() / 2,
                    "latest" => chain.head(),
                    "finalized" => chain.newest_final(),
                    text => u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap(),
                };
                let block = chain.blocks.get(usize::try_from(number).unwrap());
                block.map_or(Value::Null, |block| block.block.clone())
            }
            "eth_getBlockReceipts" => chain
                .known
                .get(params[0].as_str().unwrap_or_default())
                .map_or(Value::Null, |block| block.receipts.clone()),
            _ => return Err((-32601, "the method does not exist/is not available")),
        })
    }
}
