//! A fake node of TRON: its chain, and the ways in which it goes wrong.

use std::sync::atomic::{AtomicUsize, Ordering};

use secp256k1::{Message, Secp256k1, SecretKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::fake::{Disturbance, FakeNode, Reply, Request, json_rpc};

/// The block about which a node lies.
pub(crate) const LIE: u64 = 23;
/// The newest block that is final.
pub(crate) const SOLID: u64 = 40;

const GENESIS: &str = "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc";
const OWNER: &str = "41e552f6487585c2b58bc2c9bb4492bc1f17132cd0";
const OTHER: &str = "41b6381d9f70a4fbe5157e6a7a4a16fbbe9b2f13ca";
const TOKEN: &str = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const TRANSFER: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// The way in which a node goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The infos of a block are an empty list although it has transactions.
    EmptyInfos,
    /// They are an empty object.
    InfosObject,
    /// They are those of the block before.
    ShiftedInfos,
    /// One is missing.
    MissingInfo,
    /// One is there twice, in place of another.
    DoubledInfo,
    /// The result of one is another.
    Result,
    /// The amount of a transaction lost its last digits.
    Amount,
    /// The id of a transaction is another.
    Id,
    /// A transaction is missing.
    MissingTransaction,
    /// The time of a block is another.
    Time,
    /// A block has no signature.
    Unsigned,
    /// The blocks are those after the ones that were asked for.
    ShiftedBlocks,
    /// It does not have a block.
    MissingBlock,
    /// Its final head is lower than those of others.
    StaleHead,
    /// It has no interface of final blocks.
    NoSolid,
    /// Its first block is that of a test network.
    OtherChain,
    /// It refuses every second request as the nodes do.
    Busy,
    /// It refuses every second request as TronGrid does.
    Suspended,
    /// It keeps no history.
    Lite,
    /// It takes no more than three blocks at once.
    SmallRange,
    /// It has JSON-RPC alone.
    JsonRpcOnly,
    /// It has JSON-RPC too, at a path of its own.
    JsonRpc,
    /// It wants a key.
    Key,
    /// A failure that passes, or a limit.
    Disturbed(Disturbance),
}

/// A message of protobuf.
#[derive(Default)]
struct Wire(Vec<u8>);

impl Wire {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
            number >>= 7;
        }
        self.0.push(u8::try_from(number).unwrap());
    }

    fn int(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn hex(self, field: u64, text: &str) -> Self {
        self.bytes(field, &hex::decode(text).unwrap())
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The amount of the transfer of a block, which a double cannot hold.
pub(crate) fn amount(number: u64) -> u64 {
    (1 << 53) + 2 * number + 1
}

/// Returns a transaction, and the hash of its bytes.
fn transaction(number: u64, kind: (&str, u64), value: &(Wire, Value)) -> (Value, [u8; 32]) {
    let url = format!("type.googleapis.com/protocol.{}", kind.0);
    let parameter = Wire::default().bytes(1, url.as_bytes()).bytes(2, &value.0.0);
    let contract = Wire::default().int(1, kind.1).bytes(2, &parameter.0);
    let (block, time) = ("00c3", 1_650_000_000_000 + number * 3_000);
    let raw = Wire::default().hex(1, block).int(8, time + 60_000).bytes(11, &contract.0).int(14, time).0;
    let signature = [9; 65];
    let bytes = Wire::default().bytes(1, &raw).bytes(2, &signature).bytes(5, &Wire::default().int(3, 1).0).0;
    let json = json!({
        "ret": [{"contractRet": "SUCCESS"}],
        "signature": [hex::encode(signature)],
        "txID": hex::encode(sha256(&raw)),
        "raw_data": {
            "contract": [{"parameter": {"value": value.1, "type_url": url}, "type": kind.0}],
            "ref_block_bytes": block, "expiration": time + 60_000, "timestamp": time
        },
        "raw_data_hex": hex::encode(&raw)
    });
    (json, sha256(&bytes))
}

/// The transactions of a block: a transfer, a call of a token's contract, and every third time a transfer of TRC-10.
fn transactions(number: u64) -> Vec<(Value, [u8; 32])> {
    if number.is_multiple_of(7) {
        return Vec::new();
    }
    let amount = amount(number);
    let transfer = (
        Wire::default().hex(1, OWNER).hex(2, OTHER).int(3, amount),
        json!({"owner_address": OWNER, "to_address": OTHER, "amount": amount}),
    );
    let call = (
        Wire::default().hex(1, OWNER).hex(2, TOKEN).int(3, number).hex(4, "a9059cbb"),
        json!({"owner_address": OWNER, "contract_address": TOKEN, "call_value": number, "data": "a9059cbb"}),
    );
    let asset = (
        Wire::default().hex(1, "31303035").hex(2, OWNER).hex(3, OTHER).int(4, 6),
        json!({"asset_name": "31303035", "owner_address": OWNER, "to_address": OTHER, "amount": 6}),
    );
    let mut all = vec![
        transaction(number, ("TransferContract", 1), &transfer),
        transaction(number, ("TriggerSmartContract", 31), &call),
    ];
    if number.is_multiple_of(3) {
        all.push(transaction(number, ("TransferAssetContract", 2), &asset));
    }
    all
}

fn block(number: u64, parent: &str) -> Value {
    let transactions = transactions(number);
    let mut hashes: Vec<[u8; 32]> = transactions.iter().map(|(_, hash)| *hash).collect();
    while hashes.len() > 1 {
        let pair = |pair: &[[u8; 32]]| if pair.len() == 2 { sha256(&pair.concat()) } else { pair[0] };
        hashes = hashes.chunks(2).map(pair).collect();
    }
    let root = hex::encode(hashes.pop().unwrap_or_default());
    let time = 1_650_000_000_000 + number * 3_000;
    let header = Wire::default().int(1, time).hex(2, &root).hex(3, parent).int(7, number).hex(9, OWNER).int(10, 27);
    let digest = sha256(&header.0);
    let key = SecretKey::from_slice(&[5; 32]).unwrap();
    let (parity, signature) =
        Secp256k1::new().sign_ecdsa_recoverable(&Message::from_digest(digest), &key).serialize_compact();
    let signature = [&signature[..], &[u8::try_from(parity.to_i32()).unwrap()]].concat();
    let mut block = json!({
        "blockID": hex::encode([&number.to_be_bytes()[..], &digest[8..]].concat()),
        "block_header": {
            "raw_data": {"number": number, "txTrieRoot": root, "witness_address": OWNER, "parentHash": parent, "version": 27,
                "timestamp": time},
            "witness_signature": hex::encode(signature)
        }
    });
    if !transactions.is_empty() {
        block["transactions"] = transactions.into_iter().map(|(json, _)| json).collect();
    }
    block
}

/// The infos of a block, not in the order of its transactions.
pub(crate) fn infos(block: &Value) -> Value {
    let word = |address: &str| format!("{:0>64}", &address[2..]);
    let number = block["block_header"]["raw_data"]["number"].as_u64().unwrap();
    let transactions = block["transactions"].as_array().into_iter().flatten();
    let info = |transaction: &Value| {
        let mut info = json!({"id": transaction["txID"], "blockNumber": number, "contractResult": [""],
            "blockTimeStamp": block["block_header"]["raw_data"]["timestamp"], "receipt": {"net_usage": 3}});
        if transaction["raw_data"]["contract"][0]["type"] == "TriggerSmartContract" {
            info["fee"] = json!(345_000);
            info["receipt"]["result"] = json!("SUCCESS");
            info["log"] = json!([{"address": &TOKEN[2..], "topics": [TRANSFER, word(OWNER), word(OTHER)],
                "data": format!("{number:064x}")}]);
            info["internal_transactions"] = json!([{"caller_address": TOKEN, "transferTo_address": OTHER,
                "callValueInfo": [{"callValue": 4}], "note": "63616c6c", "hash": "00".repeat(32)}]);
        }
        info
    };
    let mut infos: Vec<Value> = transactions.map(info).collect();
    infos.reverse();
    Value::from(infos)
}

/// The chain: block 0 by its id alone, as its bytes are only those of the main network.
pub(crate) fn chain() -> Vec<Value> {
    let mut blocks = vec![json!({"blockID": GENESIS, "block_header": {"raw_data": {}}})];
    for number in 1..=SOLID + 19 {
        let parent = blocks[blocks.len() - 1]["blockID"].as_str().unwrap().to_owned();
        blocks.push(block(number, &parent));
    }
    blocks
}

pub(crate) fn node(fault: Fault) -> FakeNode {
    let tron = Tron { blocks: chain(), fault, requests: AtomicUsize::new(0) };
    let disturbance = if let Fault::Disturbed(disturbance) = fault { disturbance } else { Disturbance::None };
    FakeNode::start(disturbance, move |request| tron.answer(request))
}

struct Tron {
    blocks: Vec<Value>,
    fault: Fault,
    requests: AtomicUsize,
}

impl Tron {
    fn answer(&self, request: &Request) -> Reply {
        let is_second = self.requests.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        let path = request.path.as_str();
        match self.fault {
            Fault::Busy if is_second => {
                let error = "class java.lang.IllegalAccessException : lack of computing resources";
                return Reply::ok(&json!({ "Error": error }));
            }
            Fault::Suspended if is_second => {
                let error = "request rate exceeded the allowed_rps(10), and the query server is suspended for 0 s";
                return Reply::text("403 Forbidden", json!({ "Error": error }).to_string());
            }
            Fault::Key if request.headers.get("tron-pro-api-key").is_none_or(|key| key != "abc-123") => {
                return Reply::text("401 Unauthorized", "");
            }
            Fault::Lite if path.starts_with("/wallet/getblockby") => {
                return Reply::text("200 OK", "this API is closed because this node is a lite fullnode");
            }
            Fault::JsonRpcOnly if path != "/jsonrpc" => return Reply::text("404 Not Found", "<html>"),
            Fault::NoSolid if path.starts_with("/walletsolidity") => {
                return Reply::text("405 Method Not Allowed", "<html>");
            }
            _ => {}
        }
        let number = |name: &str| request.body[name].as_u64().unwrap();
        match path {
            "/jsonrpc" => json_rpc(request, "200 OK", |method, _| match method {
                "eth_chainId" => Ok(json!("0x2b6653dc")),
                _ => Err((-32601, "the method does not exist")),
            }),
            "/walletsolidity/getnowblock" => Reply::ok(&self.at(self.solid())),
            "/wallet/getnowblock" => Reply::ok(&self.at(self.solid() + 19)),
            "/wallet/getblockbynum" => Reply::ok(&self.at(number("num"))),
            "/wallet/gettransactioninfobyblocknum" => Reply::ok(&self.infos(number("num"))),
            "/wallet/getblockbylimitnext" => {
                let (first, end) = (number("startNum"), number("endNum"));
                if self.fault == Fault::SmallRange && end - first > 3 {
                    return Reply::text("413 Payload Too Large", "");
                }
                let shift = u64::from(self.fault == Fault::ShiftedBlocks && (first..end).contains(&LIE));
                let is_held = |number: &u64| self.fault != Fault::MissingBlock || *number != LIE;
                let blocks: Vec<Value> =
                    (first + shift..end + shift).filter(is_held).map(|number| self.at(number)).collect();
                Reply::ok(&if blocks.is_empty() { json!({}) } else { json!({ "block": blocks }) })
            }
            _ => Reply::text("405 Method Not Allowed", "<html>"),
        }
    }

    fn solid(&self) -> u64 {
        if self.fault == Fault::StaleHead { SOLID - 10 } else { SOLID }
    }

    fn at(&self, number: u64) -> Value {
        let mut block = self.blocks[usize::try_from(number).unwrap()].clone();
        if number == 0 && self.fault == Fault::OtherChain {
            block["blockID"] = json!("0000000000000000de1aa88295e1fcf982742f773e0419c5a9c134c994a9059e");
        }
        if number != LIE {
            return block;
        }
        match self.fault {
            Fault::Amount => {
                let value = &mut block["transactions"][0]["raw_data"]["contract"][0]["parameter"]["value"];
                value["amount"] = json!(value["amount"].as_u64().unwrap() - 1);
            }
            Fault::Id => block["transactions"][0]["txID"] = block["transactions"][1]["txID"].clone(),
            Fault::MissingTransaction => {
                block["transactions"].as_array_mut().unwrap().pop();
            }
            Fault::Time => block["block_header"]["raw_data"]["timestamp"] = json!(1_650_000_000_000_u64),
            Fault::Unsigned => {
                block["block_header"].as_object_mut().unwrap().remove("witness_signature");
            }
            _ => {}
        }
        block
    }

    fn infos(&self, number: u64) -> Value {
        let mut infos = infos(&self.blocks[usize::try_from(number).unwrap()]);
        if number != LIE {
            return infos;
        }
        match self.fault {
            Fault::EmptyInfos => infos = json!([]),
            Fault::InfosObject => infos = json!({}),
            Fault::ShiftedInfos => infos = self.infos(number - 1),
            Fault::MissingInfo => {
                infos.as_array_mut().unwrap().pop();
            }
            Fault::DoubledInfo => infos[1] = infos[0].clone(),
            Fault::Result => infos[0]["receipt"]["result"] = json!("REVERT"),
            _ => {}
        }
        infos
    }
}
