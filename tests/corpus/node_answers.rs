//! Blocks of public chains pass the verification of answers of nodes, and changed ones do not.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::Hash as _;
use headwater_types::{Address, BlockHash, Chain, Family, Network};
use headwater_verify::evm::{Senders, verify_all, verify_block, verify_transactions};
use headwater_verify::{Part, bitcoin as raw, tron};
use proptest::prelude::*;
use serde_json::{Value, json};

fn corpus(name: &str) -> PathBuf {
    headwater_tests::corpus().join(name)
}

fn plain(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let mut content = Vec::new();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut content).unwrap(),
        Some("bz2") => bzip2::read::MultiBzDecoder::new(&bytes[..]).read_to_end(&mut content).unwrap(),
        _ => return bytes,
    };
    content
}

fn answer(path: &Path) -> Value {
    let value: Value = serde_json::from_slice(&plain(path)).unwrap();
    value.get("result").cloned().unwrap_or(value)
}

fn number(block: &Value) -> u64 {
    u64::from_str_radix(block["number"].as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

fn rpc_blocks() -> Vec<Value> {
    let folder = std::fs::read_dir(corpus("ethereum/rpc_blocks")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| answer(path)).collect()
}

/// Blocks from the first transaction to Cancun: every header fork and type but the last.
#[test]
fn corpus_ethereum_blocks_are_verified() {
    let mut types = BTreeMap::new();
    let mut withdrawals = 0;
    for block in rpc_blocks() {
        let verified = verify_all(Chain::ETHEREUM, number(&block), &block, None, Senders::Recover)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(verified.parts(), [Part::Hash, Part::Withdrawals, Part::Transactions, Part::Senders]);
        for transaction in verified.transactions.as_slice() {
            *types.entry(transaction.kind()).or_insert(0) += 1;
        }
        withdrawals += verified.withdrawal_count;
    }
    assert_eq!(types, [(0, 5_736), (1, 13), (2, 4_571), (3, 3)].into());
    assert!(withdrawals > 100, "{withdrawals}");
}

#[test]
fn corpus_withdrawals_that_are_changed_are_refused() {
    let mut block = rpc_blocks().into_iter().find(|block| block["withdrawals"].is_array()).unwrap();
    block["withdrawals"][3]["amount"] = json!("0x1");
    let error = verify_all(Chain::ETHEREUM, number(&block), &block, None, Senders::Trust).unwrap_err();
    assert_eq!(error.mismatch.code(), "withdrawals_root");
    block["withdrawals"] = json!([]);
    let error = verify_all(Chain::ETHEREUM, number(&block), &block, None, Senders::Trust).unwrap_err();
    assert_eq!(error.mismatch.code(), "withdrawals_root");
}

/// A block before Byzantium with its receipts, which have a state root instead of a status.
#[test]
fn corpus_receipts_before_byzantium_are_verified() {
    let folder = corpus("ethereum/ethereum-etl/test_stream/blocks_1755634_1755635");
    let file = |name: &str| answer(&folder.join(format!("web3_response.{name}.json")));
    let blocks = [file("eth_getBlockByNumber_0x1ac9f2_true"), file("eth_getBlockByNumber_0x1ac9f3_true")];
    let receipts: Vec<Value> = blocks[1]["transactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| file(&format!("eth_getTransactionReceipt_{}", one["hash"].as_str().unwrap())))
        .collect();
    let parent = verify_all(Chain::ETHEREUM, 1_755_634, &blocks[0], Some(&json!([])), Senders::Recover).unwrap();
    let check = |receipts: Value| verify_all(Chain::ETHEREUM, 1_755_635, &blocks[1], Some(&receipts), Senders::Recover);
    let verified = check(json!(receipts)).unwrap();
    verified.header.verify_parent(parent.header.hash()).unwrap();
    assert_eq!(verified.receipts.unwrap().log_count(), 2);
    // The same receipts as reth returns them: a status, and no root.
    let mut without: Vec<Value> = receipts.clone();
    for receipt in &mut without {
        receipt.as_object_mut().unwrap().remove("root");
        receipt["status"] = json!("0x1");
    }
    assert_eq!(check(json!(without)).unwrap_err().mismatch.code(), "unverifiable");
    let mut changed = receipts;
    changed[1]["root"] = changed[0]["root"].clone();
    assert_eq!(check(json!(changed)).unwrap_err().mismatch.code(), "receipts_root");
}

/// Any digit of any field of the header or of a transaction.
#[test]
fn corpus_ethereum_digits_that_are_changed_are_refused() {
    let blocks: Vec<Value> =
        rpc_blocks().into_iter().filter(|block| !block["transactions"].as_array().unwrap().is_empty()).collect();
    let config = ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(block in any::<prop::sample::Index>(), transaction in any::<prop::sample::Index>(),
        in_header: bool, field in any::<prop::sample::Index>(), digit in any::<prop::sample::Index>(), flip in 1_u8..16)| {
        let mut block = block.get(&blocks).clone();
        let asked = number(&block);
        let entries = block["transactions"].as_array_mut().unwrap();
        let at = transaction.index(entries.len());
        // One transaction is enough: its hash, place or sender is wrong, whatever the root.
        let only = entries[at].clone();
        let target = if in_header { &mut block } else { &mut block["transactions"][at] };
        let uncovered = ["size", "totalDifficulty"];
        let names: Vec<String> = target.as_object().unwrap().iter()
            .filter(|(name, value)| value.as_str().is_some_and(|text| text.len() > 2) && !uncovered.contains(&name.as_str()))
            .map(|(name, _)| name.clone())
            .collect();
        let name = field.get(&names).clone();
        let text = target[&name].as_str().unwrap().to_owned();
        let at_digit = 2 + digit.index(text.len() - 2);
        let old = u8::from_str_radix(&text[at_digit..=at_digit], 16).unwrap();
        let mut changed = text;
        changed.replace_range(at_digit..=at_digit, &format!("{:x}", old ^ flip));
        target[&name] = json!(changed);
        let refused = match verify_block(Chain::ETHEREUM, asked, &block) {
            Err(_) => true,
            Ok(header) => verify_transactions(&header, &block, Senders::Recover).is_err(),
        };
        prop_assert!(refused, "{name} of {only}");
    });
}

/// Raw blocks with and without witnesses; heights where the coinbase transaction states them.
fn bitcoin_blocks() -> Vec<(u64, Vec<u8>)> {
    let mut blocks: Vec<(u64, Vec<u8>)> = [250_000, 330_000, 702_861, 722_010]
        .map(|height| (height, plain(&corpus(&format!("bitcoin/mainnet_block_{height}.raw")))))
        .into();
    let framed = |name: &str| {
        let bytes = plain(&corpus(&format!("bitcoin/{name}")));
        let mut rest = &bytes[..];
        let mut found = Vec::new();
        while let Some((head, after)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u32::from_le_bytes(head[4..].try_into().unwrap())).unwrap();
            found.push(after[..length].to_vec());
            rest = &after[length..];
        }
        found
    };
    blocks.extend((1..).zip(framed("blocks1-256.bz2")));
    blocks.extend(std::iter::once(277_647).zip(framed("277647.dat.bz2")));
    blocks
}

fn printed(bytes: &[u8]) -> BlockHash {
    let block: bitcoin::Block = deserialize(bytes).unwrap();
    let mut hash = block.block_hash().to_byte_array();
    hash.reverse();
    BlockHash::new(hash)
}

#[test]
fn corpus_bitcoin_blocks_are_verified() {
    let blocks = bitcoin_blocks();
    assert_eq!(blocks.len(), 260);
    let mut previous: Option<BlockHash> = None;
    for (height, bytes) in &blocks {
        let verified = raw::verify_block(Network::Mainnet, *height, printed(bytes), bytes)
            .unwrap_or_else(|error| panic!("{error}"));
        if (1..256).contains(height) {
            if let Some(previous) = previous {
                verified.verify_parent(previous).unwrap();
            }
            previous = Some(printed(bytes));
        }
    }
    let (height, bytes) = &blocks[2];
    let error = raw::verify_block(Network::Mainnet, height + 1, printed(bytes), bytes).unwrap_err();
    assert_eq!((error.mismatch.code(), error.path.as_str()), ("block", "the height in the coinbase transaction"));
}

#[test]
fn corpus_bitcoin_bytes_that_are_changed_are_refused() {
    let blocks: Vec<(u64, Vec<u8>, BlockHash)> = bitcoin_blocks()
        .into_iter()
        .filter(|(height, bytes)| *height > 700_000 || bytes.len() > 1_000)
        .map(|(height, bytes)| (height, bytes.clone(), printed(&bytes)))
        .collect();
    let config = ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(block in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), bit in 0_u32..8)| {
        let (height, bytes, hash) = block.get(&blocks);
        let mut changed = bytes.clone();
        changed[at.index(bytes.len())] ^= 1_u8 << bit;
        prop_assert!(raw::verify_block(Network::Mainnet, *height, *hash, &changed).is_err());
    });
}

/// A block without its witnesses, as an old node returns it, has the same hash and merkle root.
#[test]
fn corpus_bitcoin_block_without_witnesses_is_refused() {
    let bytes = plain(&corpus("bitcoin/mainnet_block_702861.raw"));
    let mut block: bitcoin::Block = deserialize(&bytes).unwrap();
    for transaction in &mut block.txdata[1..] {
        transaction.input.iter_mut().for_each(|input| input.witness.clear());
    }
    let check = |block: &bitcoin::Block| {
        raw::verify_block(Network::Mainnet, 702_861, printed(&bytes), &serialize(block)).unwrap_err().mismatch.code()
    };
    assert_eq!(check(&block), "witness_commitment");
    block.txdata[0].input[0].witness.clear();
    assert_eq!(check(&block), "coinbase");
}

/// The header of one main network block with its signature.
#[test]
fn corpus_tron_header_is_verified_with_its_producer() {
    let row = answer(&corpus("tron/bitquery_sample/blocks.json"))[0].clone();
    let witness = Address::parse(Chain::TRON, row["Witness_Address"].as_str().unwrap()).unwrap();
    let block = json!({
        "blockID": row["Block_Hash"],
        "block_header": {
            "raw_data": {
                "number": row["Block_Number"],
                "txTrieRoot": row["Block_TxTrieRoot"],
                "witness_address": format!("41{}", hex::encode(witness.key().as_slice())),
                "parentHash": row["Block_ParentHash"],
                "version": row["Block_Version"],
                "timestamp": row["Block_Time"].as_i64().unwrap() * 1_000
            },
            "witness_signature": row["Witness_Signature"]
        }
    });
    let header = tron::verify_block(78_861_100, &block).unwrap();
    assert_eq!(header.id().display(Family::Tron), row["Block_Hash"].as_str().unwrap());
    assert_eq!(header.producer(), tron::Producer::Witness);
    assert_eq!(tron::verify_transactions(&header, &block).unwrap_err().mismatch.code(), "transactions_root");
}

/// A thousand headers in a row, whose table leaves out the version and the signature.
#[test]
fn corpus_tron_headers_in_a_row_are_verified() {
    use base64::Engine as _;
    let text = String::from_utf8(plain(&corpus("tron/graphsense-spark/56804500to56805500/blocks.json.gz"))).unwrap();
    let bytes =
        |value: &Value| hex::encode(base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap()).unwrap());
    let mut previous: Option<BlockHash> = None;
    let mut count = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let block = json!({
            "blockID": bytes(&row["blockHash"]),
            "block_header": {"raw_data": {
                "number": row["blockId"],
                "txTrieRoot": bytes(&row["transactionsRoot"]),
                "witness_address": format!("41{}", bytes(&row["miner"])),
                "parentHash": bytes(&row["parentHash"]),
                "version": 28,
                "timestamp": row["timestamp"].as_i64().unwrap() * 1_000
            }}
        });
        let header =
            tron::verify_block(row["blockId"].as_u64().unwrap(), &block).unwrap_or_else(|error| panic!("{error}"));
        if let Some(previous) = previous {
            header.verify_parent(previous).unwrap();
        }
        previous = Some(header.id());
        count += 1;
    }
    assert_eq!(count, 1_001);
}
