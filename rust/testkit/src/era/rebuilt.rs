//! Blocks with real transactions in a row: headers are made anew, with receipts that were made up.

use headwater_types::address::contract_address;
use headwater_verify::trie::ordered_root;
use serde_json::{Value, json};
use sha3::{Digest as _, Keccak256};

use super::block::{decoded, header, ommers, receipt, transaction, whole};

/// The outcomes that receipts state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcomes {
    /// A status; each seventh transaction failed.
    Status,
    /// The root of the state, as before Byzantium.
    StateRoot,
}

/// A block and its receipts, as a node answers them.
#[derive(Debug, Clone)]
pub struct RebuiltBlock {
    /// The answer of `eth_getBlockByNumber`.
    pub block: Value,
    /// The answer of `eth_getBlockReceipts`.
    pub receipts: Value,
}

/// Puts blocks in a row from a number on. Transactions, times, difficulties and withdrawals stay; numbers, parents, gas,
/// receipts, roots and hashes are made anew. Every tenth block, from the second on, has an ommer.
#[must_use]
pub fn rebuilt(blocks: Vec<Value>, first: u64, outcomes: Outcomes) -> Vec<RebuiltBlock> {
    let mut parent = hex_of(&Keccak256::digest(first.to_be_bytes()));
    let mut made = Vec::with_capacity(blocks.len());
    for (place, mut block) in blocks.into_iter().enumerate() {
        block["parentHash"] = json!(parent);
        block["number"] = json!(quantity(u128::from(first) + place as u128));
        block["uncles"] = json!([]);
        if place % 10 == 1 {
            let mut ommer = vec![0xf9, 0x02, 0x03];
            ommer.resize(3 + 0x203, 0x05);
            block["uncles"] = json!([hex_of(&Keccak256::digest(&ommer))]);
            block["ommers"] = json!(hex_of(&[&[0xf9, 0x02, 0x06][..], &ommer].concat()));
        }
        block["sha3Uncles"] = json!(hex_of(&Keccak256::digest(ommers(&block))));
        let transactions: Vec<_> = block["transactions"].as_array().unwrap().iter().map(transaction).collect();
        block["transactionsRoot"] = json!(hex_of(&ordered_root(&transactions)));
        let mut receipts = receipts_of(&block, outcomes);
        let encoded: Vec<_> = receipts.iter().map(receipt).collect();
        block["receiptsRoot"] = json!(hex_of(&ordered_root(&encoded)));
        let mut bloom = [0; 256];
        for receipt in &receipts {
            let filter = decoded(&receipt["logsBloom"]);
            bloom.iter_mut().zip(filter).for_each(|(byte, more)| *byte |= more);
        }
        block["logsBloom"] = json!(hex_of(&bloom));
        block["gasUsed"] = receipts.last().map_or(json!("0x0"), |last| last["cumulativeGasUsed"].clone());
        parent = hex_of(&Keccak256::digest(header(&block)));
        block["hash"] = json!(parent);
        let (hash, number) = (block["hash"].clone(), block["number"].clone());
        let logs = receipts.iter_mut().flat_map(|receipt| {
            (receipt["blockHash"], receipt["blockNumber"]) = (hash.clone(), number.clone());
            receipt["logs"].as_array_mut().unwrap()
        });
        logs.for_each(|log| (log["blockHash"], log["blockNumber"]) = (hash.clone(), number.clone()));
        for transaction in block["transactions"].as_array_mut().unwrap() {
            (transaction["blockHash"], transaction["blockNumber"]) = (hash.clone(), number.clone());
        }
        made.push(RebuiltBlock { block, receipts: json!(receipts) });
    }
    made
}

fn receipts_of(block: &Value, outcomes: Outcomes) -> Vec<Value> {
    let mut cumulative = 0;
    let mut log_count = 0_u128;
    let mut receipts = Vec::new();
    for (index, one) in block["transactions"].as_array().unwrap().iter().enumerate() {
        let hash = decoded(&one["hash"]);
        let gas = 21_000 + u128::from(hash[0]);
        cumulative += gas;
        let failed = outcomes == Outcomes::Status && index % 7 == 6;
        let count = if failed { 0 } else { usize::from(hash[1] % 4) };
        let logs: Vec<Value> = (0..count).map(|number| log(&hash, number, log_count + number as u128, one)).collect();
        log_count += count as u128;
        let created = one["to"].is_null().then(|| {
            let from: [u8; 20] = decoded(&one["from"]).try_into().unwrap();
            hex_of(&contract_address(&from, u64::try_from(whole(&one["nonce"])).unwrap()))
        });
        let mut receipt = json!({
            "transactionHash": one["hash"],
            "transactionIndex": quantity(index as u128),
            "from": one["from"],
            "to": one["to"],
            "contractAddress": created,
            "gasUsed": quantity(gas),
            "cumulativeGasUsed": quantity(cumulative),
            "effectiveGasPrice": one["gasPrice"],
            "logsBloom": hex_of(&bloom(&logs)),
            "logs": logs,
        });
        if let Some(kind) = one.get("type") {
            receipt["type"] = kind.clone();
        }
        match outcomes {
            Outcomes::Status => receipt["status"] = json!(if failed { "0x0" } else { "0x1" }),
            Outcomes::StateRoot => receipt["root"] = json!(hex_of(&Keccak256::digest(&hash))),
        }
        if one["type"] == json!("0x3") {
            let blobs = one["blobVersionedHashes"].as_array().unwrap().len() as u128;
            receipt["blobGasUsed"] = json!(quantity(blobs * 131_072));
            // The excess of blob gas of the blocks that are rebuilt is too small for another price.
            receipt["blobGasPrice"] = json!("0x1");
        }
        receipts.push(receipt);
    }
    receipts
}

/// A transfer of a token, or an event of another kind without topics.
fn log(hash: &[u8], number: usize, index: u128, of: &Value) -> Value {
    let party =
        |salt: u8| format!("0x{}{}", "00".repeat(12), hex::encode(&Keccak256::digest([hash, &[salt]].concat())[..20]));
    let topics = if number == 2 {
        json!([])
    } else {
        json!(["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", party(1), party(2)])
    };
    json!({
        "address": hex_of(&Keccak256::digest([hash[3] % 8, 0])[..20]),
        "topics": topics,
        "data": hex_of(&[&[0; 16], &hash[..16]].concat()),
        "logIndex": quantity(index),
        "transactionHash": of["hash"],
        "transactionIndex": of["transactionIndex"],
        "removed": false,
    })
}

fn bloom(logs: &[Value]) -> [u8; 256] {
    let mut filter = [0; 256];
    for log in logs {
        for entry in std::iter::once(&log["address"]).chain(log["topics"].as_array().unwrap()) {
            let hash = Keccak256::digest(decoded(entry));
            for pair in hash[..6].chunks(2) {
                let bit = usize::from(pair[0] & 7) * 256 + usize::from(pair[1]);
                filter[255 - bit / 8] |= 1 << (bit % 8);
            }
        }
    }
    filter
}

fn quantity(number: u128) -> String {
    format!("0x{number:x}")
}

fn hex_of(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}
