//! A fake Bitcoin Core: its chains, and the ways in which it goes wrong.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use bitcoin::absolute::LockTime;
use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::Hash as _;
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::sighash::{EcdsaSighashType, SighashCache};
use bitcoin::{
    Amount, Block, BlockHash, OutPoint, PubkeyHash, ScriptBuf, Sequence, Transaction, TxIn, TxOut, WPubkeyHash, Witness,
};
use secp256k1::{PublicKey, Secp256k1, SecretKey};
use serde_json::{Value, json};

use crate::fake::{Disturbance, FakeNode, Reply, RpcError, json_rpc};

/// The block about which a node lies.
pub(crate) const LIE: usize = 23;
/// The first block that a pruned node has.
pub(crate) const PRUNED: u64 = 25;

/// The way in which a node goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Another block in place of the one that was asked for.
    Shifted,
    /// A block is empty.
    Empty,
    /// A block is cut short.
    Short,
    /// The last transaction of a block is missing.
    MissingTransaction,
    /// The amount of an output is another.
    Amount,
    /// A witness is another.
    Witness,
    /// The hash at a height is that of another block.
    Hash,
    /// The value of a spent output, which the load brought itself, is another.
    SpentValue,
    /// The script of such an output is another.
    SpentScript,
    /// The owner of an output from before the load is another.
    SpentOwner,
    /// Such an output has a script of another form, which pays to somebody else (P2TR).
    SpentForm,
    /// Such an output is stated to be as old as outputs of the load.
    SpentHeight,
    /// The value of such an output is too low.
    SpentLow,
    /// It states the output of another transaction.
    SpentOther,
    /// It states one spent output too few.
    SpentMissing,
    /// Its head is lower than those of others.
    StaleHead,
    /// It has none of the blocks below [`PRUNED`].
    Pruned,
    /// It does not state spent outputs, as releases before it was made.
    NoSpent,
    /// It takes a boolean in place of a number, as bcoin.
    Boolean,
    /// It names another network.
    OtherNetwork,
    /// Its first block is that of another network.
    OtherChain,
    /// It refuses the login.
    Login,
    /// A failure that passes, or a limit.
    Disturbed(Disturbance),
}

/// Blocks of a network, from the first.
#[derive(Clone)]
pub(crate) struct Blocks {
    pub name: &'static str,
    pub blocks: Vec<Block>,
}

impl Blocks {
    /// The first block of the main network.
    pub fn first_of_mainnet() -> Self {
        Self { name: "main", blocks: vec![bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin)] }
    }

    /// The first 256 blocks of the main network, of which seven have payments.
    #[expect(clippy::disallowed_methods, reason = "real chain data is where HEADWATER_CORPUS points")]
    pub fn mainnet() -> Self {
        let folder = std::env::var_os("HEADWATER_CORPUS").expect("corpus tests need HEADWATER_CORPUS");
        let file = fs::read(Path::new(&folder).join("bitcoin/blocks1-256.bz2")).unwrap();
        let mut bytes = Vec::new();
        bzip2::read::BzDecoder::new(&file[..]).read_to_end(&mut bytes).unwrap();
        let Self { name, mut blocks } = Self::first_of_mainnet();
        let mut rest = &bytes[..];
        while let Some((head, after)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u32::from_le_bytes(head[4..].try_into().unwrap())).unwrap();
            blocks.push(deserialize(&after[..length]).unwrap());
            rest = &after[length..];
        }
        Self { name, blocks }
    }

    /// A chain of regtest. From block 3 on, each spends the coins that the block two before it created, in a transaction
    /// whose first output is spent in the same block, and whose second one by the next block.
    pub fn regtest(count: u8) -> Self {
        let mut blocks = vec![bitcoin::constants::genesis_block(bitcoin::Network::Regtest)];
        for height in 1..count {
            let mut transactions = Vec::new();
            if height > 2 {
                let coins = |block: &Block, place: usize, vout: u32, number: u8| {
                    let transaction: &Transaction = &block.txdata[place];
                    let point = OutPoint { txid: transaction.compute_txid(), vout };
                    (point, transaction.output[vout as usize].clone(), number)
                };
                let mut spent = vec![coins(&blocks[usize::from(height) - 2], 0, 0, height - 2)];
                if height > 3 {
                    spent.push(coins(&blocks[usize::from(height) - 1], 1, 1, height - 1));
                }
                let value = spent.iter().map(|(_, output, _)| output.value.to_sat()).sum::<u64>() - 1_000;
                let half = value / 2 + u64::from(height);
                let first = signed(&spent, &[(half, witness_of(height)), (value - half, pays(height))]);
                let inner = OutPoint { txid: first.compute_txid(), vout: 0 };
                let output = first.output[0].clone();
                transactions.push(first);
                transactions.push(signed(&[(inner, output, height)], &[(half - 500, pays(height + 100))]));
            }
            let parent = blocks[usize::from(height) - 1].clone();
            blocks.push(mined(height, &parent, transactions));
        }
        Self { name: "regtest", blocks }
    }

    /// The blocks up to a height, as a node keeps them in a file.
    pub fn file(&self, last: usize) -> Vec<u8> {
        let magic = if self.name == "main" { [0xf9, 0xbe, 0xb4, 0xd9] } else { [0xfa, 0xbf, 0xb5, 0xda] };
        let record = |block: &Block| {
            let bytes = serialize(block);
            [&magic[..], &u32::try_from(bytes.len()).unwrap().to_le_bytes(), &bytes].concat()
        };
        self.blocks[..=last].iter().flat_map(record).collect()
    }

    pub fn node(&self, fault: Fault) -> FakeNode {
        let core = Core::new(self.clone(), fault);
        let disturbance = if let Fault::Disturbed(disturbance) = fault { disturbance } else { Disturbance::None };
        FakeNode::start(disturbance, move |request| {
            let login = request.headers.get("authorization").map(String::as_str);
            if fault == Fault::Login && login != Some("Basic bWU6c2VjcmV0") {
                return Reply::text("401 Unauthorized", "");
            }
            json_rpc(request, "500 Internal Server Error", |method, params| core.answer(method, params))
        })
    }
}

fn secret(number: u8) -> SecretKey {
    SecretKey::from_slice(&[number; 32]).unwrap()
}

fn key(number: u8) -> [u8; 33] {
    PublicKey::from_secret_key(&Secp256k1::new(), &secret(number)).serialize()
}

fn pays(number: u8) -> ScriptBuf {
    ScriptBuf::new_p2pkh(&PubkeyHash::hash(&key(number)))
}

fn witness_of(number: u8) -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&WPubkeyHash::hash(&key(number)))
}

/// A transaction that spends outputs of numbered keys.
fn signed(spent: &[(OutPoint, TxOut, u8)], outputs: &[(u64, ScriptBuf)]) -> Transaction {
    let input = |(previous_output, ..): &(OutPoint, TxOut, u8)| TxIn {
        previous_output: *previous_output,
        sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
        ..TxIn::default()
    };
    let unsigned = transaction(spent.iter().map(input).collect(), outputs);
    let mut signed = unsigned.clone();
    for (index, (_, output, number)) in spent.iter().enumerate() {
        let (script, kind) = (&output.script_pubkey, EcdsaSighashType::All);
        let mut cache = SighashCache::new(&unsigned);
        let message = if script.is_p2wpkh() {
            cache.p2wpkh_signature_hash(index, script, output.value, kind).unwrap().into()
        } else {
            cache.legacy_signature_hash(index, script, kind.to_u32()).unwrap().into()
        };
        let signature = Secp256k1::new().sign_ecdsa(&message, &secret(*number)).serialize_der();
        let signature = [&signature[..], &[1]].concat();
        if script.is_p2wpkh() {
            signed.input[index].witness = Witness::from_slice(&[&signature[..], &key(*number)]);
        } else {
            let signature = PushBytesBuf::try_from(signature).unwrap();
            signed.input[index].script_sig =
                Builder::new().push_slice(signature).push_slice(key(*number)).into_script();
        }
    }
    signed
}

fn transaction(input: Vec<TxIn>, outputs: &[(u64, ScriptBuf)]) -> Transaction {
    let output =
        |(value, script): &(u64, ScriptBuf)| TxOut { value: Amount::from_sat(*value), script_pubkey: script.clone() };
    let version = bitcoin::transaction::Version::TWO;
    Transaction { version, lock_time: LockTime::ZERO, input, output: outputs.iter().map(output).collect() }
}

/// Makes a block of transactions that pay a fee of 1,500 satoshis together, or of none.
fn mined(height: u8, parent: &Block, transactions: Vec<Transaction>) -> Block {
    let reserved = [0; 32];
    let coinbase = TxIn {
        previous_output: OutPoint::null(),
        script_sig: Builder::new().push_int(height.into()).push_slice([height; 4]).into_script(),
        sequence: Sequence::MAX,
        witness: Witness::from_slice(&[reserved]),
    };
    let fees = if transactions.is_empty() { 0 } else { 1_500 };
    let first = transaction(vec![coinbase], &[(5_000_000_000 + fees, pays(height)), (0, ScriptBuf::new())]);
    let txdata = std::iter::once(first).chain(transactions).collect();
    let mut block = Block { header: parent.header, txdata };
    let root = block.witness_root().unwrap();
    let commitment = Block::compute_witness_commitment(&root, &reserved).to_byte_array();
    block.txdata[0].output[1].script_pubkey =
        ScriptBuf::from_bytes([&[0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed][..], &commitment].concat());
    block.header.prev_blockhash = parent.block_hash();
    block.header.time = parent.header.time + 600;
    block.header.merkle_root = block.compute_merkle_root().unwrap();
    while !block.header.target().is_met_by(block.block_hash()) {
        block.header.nonce += 1;
    }
    block
}

/// The answers of a node.
struct Core {
    chain: Blocks,
    heights: BTreeMap<BlockHash, usize>,
    outputs: BTreeMap<OutPoint, (usize, TxOut)>,
    fault: Fault,
}

impl Core {
    fn new(chain: Blocks, fault: Fault) -> Self {
        let heights = chain.blocks.iter().enumerate().map(|(height, block)| (block.block_hash(), height)).collect();
        let outputs = chain.blocks.iter().enumerate().flat_map(|(height, block)| {
            block.txdata.iter().flat_map(move |transaction| {
                let txid = transaction.compute_txid();
                let points = (0..).map(move |vout| OutPoint { txid, vout });
                points.zip(&transaction.output).map(move |(point, output)| (point, (height, output.clone())))
            })
        });
        let outputs = outputs.collect();
        Self { chain, heights, outputs, fault }
    }

    fn head(&self) -> usize {
        let head = self.chain.blocks.len() - 1;
        if self.fault == Fault::StaleHead { head - 10 } else { head }
    }

    fn answer(&self, method: &str, params: &Value) -> Result<Value, RpcError> {
        match method {
            "getblockchaininfo" => {
                let name = if self.fault == Fault::OtherNetwork { "signet" } else { self.chain.name };
                Ok(json!({"chain": name, "blocks": self.head(), "headers": self.head()}))
            }
            "getblockcount" => Ok(json!(self.head())),
            "getblockhash" => {
                let height = usize::try_from(params[0].as_u64().unwrap()).unwrap();
                let height = match self.fault {
                    Fault::Hash if height == LIE => LIE - 1,
                    Fault::OtherChain if height == 0 => 1,
                    _ => height,
                };
                match self.chain.blocks.get(height).filter(|_| height <= self.head()) {
                    Some(block) => Ok(json!(block.block_hash().to_string())),
                    None => Err((-8, "Block height out of range")),
                }
            }
            "getblock" => self.block(params),
            _ => Err((-32601, "Method not found")),
        }
    }

    fn block(&self, params: &Value) -> Result<Value, RpcError> {
        let height = self.heights[&params[0].as_str().unwrap().parse::<BlockHash>().unwrap()];
        if self.fault == Fault::Pruned && (height as u64) < PRUNED {
            return Err((-1, "Block not available (pruned data)"));
        }
        match &params[1] {
            Value::Bool(false) if self.fault == Fault::Boolean => Ok(json!(hex::encode(self.raw(height)))),
            _ if self.fault == Fault::Boolean => Err((-3, "verbose must be a boolean.")),
            form if *form == 0 => Ok(json!(hex::encode(self.raw(height)))),
            form if *form == 3 => Ok(self.document(height)),
            _ => Err((-3, "JSON value of type bool is not of expected type number")),
        }
    }

    fn raw(&self, height: usize) -> Vec<u8> {
        let mut block = self.chain.blocks[height].clone();
        if height != LIE {
            return serialize(&block);
        }
        match self.fault {
            Fault::Shifted => return serialize(&self.chain.blocks[height - 1]),
            Fault::Empty => return Vec::new(),
            Fault::Short => return serialize(&block)[..200].to_vec(),
            Fault::MissingTransaction => block.txdata.truncate(2),
            Fault::Amount => block.txdata[1].output[0].value += Amount::from_sat(1),
            Fault::Witness => block.txdata[2].input[0].witness = Witness::from_slice(&[&[8; 70][..], &key(1)]),
            _ => {}
        }
        serialize(&block)
    }

    /// A block as `getblock HASH 3` prints it.
    fn document(&self, height: usize) -> Value {
        let block = &self.chain.blocks[height];
        let transactions = block.txdata.iter().enumerate().map(|(index, transaction)| {
            let inputs = transaction.input.iter().map(|input| {
                if index == 0 {
                    return json!({"coinbase": input.script_sig.to_hex_string(), "sequence": input.sequence.0});
                }
                let point = input.previous_output;
                let mut entry = json!({"txid": point.txid.to_string(), "vout": point.vout, "sequence": input.sequence.0,
                    "scriptSig": {"asm": "", "hex": input.script_sig.to_hex_string()}});
                if self.fault != Fault::NoSpent {
                    let (created, output) = &self.outputs[&point];
                    entry["prevout"] = json!({"generated": false, "height": created, "value": output.value.to_btc(),
                        "scriptPubKey": {"asm": "", "hex": output.script_pubkey.to_hex_string(), "type": "pubkeyhash"}});
                }
                entry
            });
            let outputs = transaction.output.iter().enumerate().map(|(n, output)| {
                json!({"value": output.value.to_btc(), "n": n, "scriptPubKey": {"hex": output.script_pubkey.to_hex_string()}})
            });
            json!({"txid": transaction.compute_txid().to_string(), "vin": inputs.collect::<Vec<_>>(),
                "vout": outputs.collect::<Vec<_>>()})
        });
        let mut tx: Vec<Value> = transactions.collect();
        if height == LIE {
            // The first input of the second transaction spends what block 21 created, that of the third what the second did.
            let other = json!({"hex": pays(99).to_hex_string()});
            match self.fault {
                Fault::SpentValue => tx[2]["vin"][0]["prevout"]["value"] = json!(70.0),
                Fault::SpentScript => tx[2]["vin"][0]["prevout"]["scriptPubKey"] = other,
                Fault::SpentOther => tx[1]["vin"][0]["txid"] = json!("00".repeat(32)),
                Fault::SpentMissing => {
                    tx[1]["vin"].as_array_mut().unwrap().pop();
                }
                _ => {}
            }
        }
        // Block 20 spends what block 18 created.
        if height == 20 {
            let spent = &mut tx[1]["vin"][0]["prevout"];
            match self.fault {
                Fault::SpentOwner => spent["scriptPubKey"]["hex"] = json!(pays(99).to_hex_string()),
                Fault::SpentForm => spent["scriptPubKey"]["hex"] = json!(format!("5120{}", hex::encode(&key(99)[1..]))),
                Fault::SpentHeight => spent["height"] = json!(30),
                Fault::SpentLow => spent["value"] = json!(49.999_999_99),
                _ => {}
            }
        }
        json!({"hash": block.block_hash().to_string(), "height": height, "confirmations": 7, "tx": tx})
    }
}
