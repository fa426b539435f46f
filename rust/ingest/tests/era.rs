//! History files: what they hold is what the same blocks are from a node, and any change of them is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use headwater_ingest::{Gathered, IngestError, IngestReport, OnError, Options, Silent, ingest, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, BlockFacts, Claim, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Generation, Status};
use headwater_ledger::store::{Store, Writer};
use headwater_testkit::era::{
    EraBlock, Outcomes, Parts, RebuiltBlock, entries, entry, era1, ere, rebuilt, sign, snappy,
};
use headwater_types::{Chain, TxHash};
use headwater_verify::evm::Senders;
use headwater_verify::evm::encoded::{EncodedReceipts, Outcome, read_header, verify_encoded};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

const PRAGUE: &str = include_str!("../../verify/tests/fixtures/anvil_prague.json");
const LONDON: &str = include_str!("../../verify/tests/fixtures/anvil_london.json");
const ISTANBUL: &str = include_str!("../../verify/tests/fixtures/anvil_istanbul.json");

const ALL: Parts = Parts { receipts: true, difficulties: true, proofs: true };
const AFTER_MERGE: Parts = Parts { receipts: true, difficulties: false, proofs: false };
/// The first block of an era behind Byzantium, and of one before it.
const FIRST: u64 = 600 * 8_192;
const EARLY: u64 = 5 * 8_192;
/// The total difficulty before the first block.
const BEFORE: u128 = 1 << 70;

fn recorded(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

/// Blocks of all forks with their transactions signed anew for Ethereum, one of each block valid on any chain, and that of
/// EIP-155's example.
fn blocks(first: u64, outcomes: Outcomes) -> Vec<RebuiltBlock> {
    let mut blocks: Vec<Value> =
        [ISTANBUL, LONDON, PRAGUE].into_iter().flat_map(recorded).map(|entry| entry["block"].clone()).collect();
    for (place, block) in blocks.iter_mut().enumerate() {
        let transactions = block["transactions"].as_array_mut().unwrap();
        for (index, transaction) in transactions.iter_mut().enumerate() {
            if place > 0 || index > 0 {
                sign(transaction, 1, u8::try_from(place + 1).unwrap());
            }
        }
        if place == 1 {
            transactions.push(eip_155());
        }
        let difficulty = if place < 3 { format!("0x{:x}", 1_000 + place) } else { "0x0".to_owned() };
        block["difficulty"] = json!(difficulty);
        // The price of blob gas is known for the forks of Ethereum.
        block["timestamp"] = json!(format!("0x{:x}", 1_720_000_000 + 12 * place));
        if place == 2 {
            block["withdrawals"] = json!([
                {"index": "0x7", "validatorIndex": "0x9", "address": format!("0x{}", "ab".repeat(20)), "amount": "0x1f4"},
                {"index": "0x8", "validatorIndex": "0x9", "address": format!("0x{}", "ab".repeat(20)), "amount": "0x0"}
            ]);
            block["withdrawalsRoot"] = json!(hex_text(&headwater_verify::trie::ordered_root(&[
                hex::decode(format!("da070994{}8201f4", "ab".repeat(20))).unwrap(),
                hex::decode(format!("d8080994{}80", "ab".repeat(20))).unwrap()
            ])));
        }
        for (index, transaction) in block["transactions"].as_array_mut().unwrap().iter_mut().enumerate() {
            transaction["transactionIndex"] = json!(format!("0x{index:x}"));
        }
    }
    rebuilt(blocks, first, outcomes)
}

fn hex_text(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}

/// The example of EIP-155, signed for Ethereum with the key of 32 bytes 0x46.
fn eip_155() -> Value {
    json!({
        "hash": "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788",
        "nonce": "0x9", "gasPrice": "0x4a817c800", "gas": "0x5208",
        "from": "0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f",
        "to": "0x3535353535353535353535353535353535353535", "value": "0xde0b6b3a7640000", "input": "0x",
        "v": "0x25", "chainId": "0x1",
        "r": "0x28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276",
        "s": "0x67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
    })
}

fn encoded(blocks: &[RebuiltBlock]) -> Vec<EraBlock> {
    blocks.iter().map(|one| EraBlock::of(&one.block, &one.receipts)).collect()
}

/// The same blocks as answers of a node.
fn answers(blocks: &[RebuiltBlock]) -> Vec<u8> {
    let lines = blocks.iter().map(|one| format!("{}\n{}\n", one.block, one.receipts));
    lines.collect::<String>().into_bytes()
}

fn written(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn options(on_error: OnError) -> Options {
    Options { chain: Some(Chain::ETHEREUM), on_error, ..Options::default() }
}

fn gathered(name: &str, content: &[u8]) -> Result<(IngestReport, Batch), IngestError> {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), name, content);
    let mut target = Gathered::default();
    let report = ingest_into(&[path], &options(OnError::Stop), &mut target, &Silent, &Cancel::new())?;
    assert_eq!(target.batches.len(), 1);
    Ok((report, target.batches.remove(0)))
}

fn refused(name: &str, content: &[u8]) -> String {
    let error = gathered(name, content).expect_err("it is refused").to_string();
    assert!(error.contains(name), "{error}");
    error
}

/// Blocks and joined transactions of a batch.
fn content(batch: &Batch) -> (BTreeMap<u64, BlockFacts>, BTreeMap<TxHash, TransactionFacts>) {
    let mut all: BTreeMap<TxHash, TransactionFacts> = BTreeMap::new();
    for facts in batch.transactions.iter().cloned() {
        let other = all.remove(&facts.hash).unwrap_or_else(|| facts.clone());
        all.insert(facts.hash, other.join(facts, batch.chain).unwrap());
    }
    (batch.blocks.iter().map(|block| (block.number, block.clone())).collect(), all)
}

fn claims_of(batch: &Batch) -> BTreeMap<CoverageTable, (u64, u64)> {
    let claim = |claim: &Claim| match *claim {
        Claim::Blocks { first, last, table } => (table, (first, last)),
        Claim::Account { .. } => panic!("a file of blocks has no accounts"),
    };
    batch.claims.iter().map(claim).collect()
}

/// The canonical bytes give what the JSON states, for all types of transactions.
#[test]
fn encoded_block_equals_its_json() {
    let recorded: Vec<RebuiltBlock> = [ISTANBUL, LONDON, PRAGUE]
        .into_iter()
        .flat_map(recorded)
        .filter(|entry| entry["block"]["number"] != json!("0x4"))
        .map(|entry| RebuiltBlock { block: entry["block"].clone(), receipts: entry["receipts"].clone() })
        .chain(rebuilt(recorded(PRAGUE).iter().map(|entry| entry["block"].clone()).collect(), FIRST, Outcomes::Status))
        .collect();
    let mut types = Vec::new();
    for RebuiltBlock { block, receipts } in &recorded {
        let bytes = EraBlock::of(block, receipts);
        let header = read_header(Chain::BSC, Some(bytes.number), &bytes.header).unwrap();
        assert_eq!(json!(hex_text(header.hash().as_bytes())), block["hash"]);
        for given in [EncodedReceipts::Consensus(&bytes.receipts), EncodedReceipts::Slim(&bytes.slim)] {
            let read = verify_encoded(&header, &bytes.body, Some(given), Senders::Recover).unwrap();
            let read_receipts = read.receipts.unwrap();
            let stated = block["transactions"].as_array().unwrap();
            assert_eq!((read.transactions.len(), read_receipts.len()), (stated.len(), stated.len()));
            for ((one, receipt), (json, of)) in
                read.transactions.iter().zip(&read_receipts).zip(stated.iter().zip(receipts.as_array().unwrap()))
            {
                let verified = one.verified();
                types.push(verified.kind());
                assert_eq!(json!(hex_text(verified.hash().as_bytes())), json["hash"]);
                assert_eq!(json!(hex_text(&verified.from())), json["from"]);
                assert_eq!(verified.to().map_or(Value::Null, |to| json!(hex_text(&to))), json["to"]);
                assert_eq!(json!(format!("0x{:x}", one.gas_price())), of["effectiveGasPrice"]);
                assert_eq!(json!(format!("0x{:x}", one.value())), json["value"]);
                assert_eq!(json!(hex_text(one.input())), json["input"]);
                assert_eq!(json!(format!("0x{:x}", receipt.gas_used)), of["gasUsed"]);
                let status = if receipt.outcome == Outcome::Success { "0x1" } else { "0x0" };
                assert_eq!(of["status"], json!(status));
                let created = receipt.contract.map_or(Value::Null, |contract| json!(hex_text(&contract)));
                assert!(of["contractAddress"].is_null() || of["contractAddress"] == created);
                assert_eq!(receipt.logs.len(), of["logs"].as_array().unwrap().len());
                for (log, json) in receipt.logs.iter().zip(of["logs"].as_array().unwrap()) {
                    assert_eq!(json!(format!("0x{:x}", log.index)), json["logIndex"]);
                    assert_eq!(json!(hex_text(log.data)), json["data"]);
                }
            }
        }
    }
    types.sort_unstable();
    types.dedup();
    assert_eq!(types, [0, 1, 2, 3, 4]);
}

#[test]
fn file_and_node_give_the_same_store() {
    use CoverageTable::{Blocks, Logs, Receipts, TokenTransfers, Transactions, VerifiedReceipts, VerifiedTransactions};
    let cancel = Cancel::new();
    for (first, outcomes) in [(FIRST, Outcomes::Status), (EARLY, Outcomes::StateRoot)] {
        let blocks = blocks(first, outcomes);
        let last = first + blocks.len() as u64 - 1;
        let files = encoded(&blocks);
        let of_node = [("blocks.jsonl".to_owned(), answers(&blocks))];
        let of_files = [era1(&files, BEFORE), ere(&files, BEFORE, ALL), ere(&files, BEFORE, AFTER_MERGE)];
        let mut digests = Vec::new();
        for (name, content) in of_files.iter().chain(&of_node) {
            let folder = tempfile::tempdir().unwrap();
            let path = written(folder.path(), name, content);
            let store = folder.path().join("store");
            let mut writer = Writer::open_or_create(&store).unwrap();
            let report = ingest(&[path], &options(OnError::Stop), &mut writer, &Silent, &cancel).unwrap();
            assert_eq!((report.skipped, report.blocks), (0, blocks.len() as u64), "{name}");
            // Claims differ: a node's answers are not verified by their reader, and say less of empty blocks.
            let mut batch = Batch::new(Chain::ETHEREUM);
            for table in [Blocks, Transactions, Receipts, TokenTransfers, Logs, VerifiedTransactions, VerifiedReceipts]
            {
                batch.claims.push(Claim::Blocks { first, last, table });
            }
            writer.commit(batch, &cancel).unwrap();
            drop(writer);
            digests.push(Store::open(&store).unwrap().digest(&cancel).unwrap());
        }
        digests.dedup();
        assert_eq!(digests.len(), 1);
    }
}

#[test]
fn file_claims_verified_tables_of_its_blocks() {
    use CoverageTable::{Blocks, Logs, Receipts, TokenTransfers, Transactions, VerifiedReceipts, VerifiedTransactions};
    let files = encoded(&blocks(FIRST, Outcomes::Status));
    let range = (FIRST, FIRST + files.len() as u64 - 1);
    let all = [Blocks, Transactions, Receipts, TokenTransfers, Logs, VerifiedTransactions, VerifiedReceipts];
    for (format, (name, content)) in [("era1", era1(&files, BEFORE)), ("ere", ere(&files, BEFORE, ALL))] {
        let (report, batch) = gathered(&name, &content).unwrap();
        assert_eq!(claims_of(&batch), all.map(|table| (table, range)).into());
        assert_eq!((report.files[0].format.as_str(), report.files[0].chain.as_str()), (format, "ethereum"));
        assert_eq!((&report.files[0].warnings, report.rows), (&vec![], files.len() as u64));
    }
    let without = Parts { receipts: false, ..ALL };
    let (name, content) = ere(&files, BEFORE, without);
    let (_, batch) = gathered(&name, &content).unwrap();
    assert_eq!(claims_of(&batch), [Blocks, Transactions, VerifiedTransactions].map(|table| (table, range)).into());
    assert!(batch.transactions.iter().all(|facts| facts.gas_used.is_none()));
}

#[test]
fn receipt_before_byzantium_leaves_the_status_unknown() {
    let files = encoded(&blocks(EARLY, Outcomes::StateRoot));
    for (name, content) in [era1(&files, BEFORE), ere(&files, BEFORE, ALL)] {
        let (_, batch) = gathered(&name, &content).unwrap();
        let of_senders = batch.transactions.iter().filter(|facts| facts.nonce.is_some());
        let known: Vec<_> = of_senders.map(|facts| (facts.status, facts.gas_used.is_some())).collect();
        assert!(known.len() > 3 && known.iter().all(|known| *known == (None, true)), "{known:?}");
    }
    let files = encoded(&blocks(FIRST, Outcomes::Status));
    let (name, content) = era1(&files, BEFORE);
    let (_, batch) = gathered(&name, &content).unwrap();
    let failed = batch.transactions.iter().filter(|facts| facts.status == Some(Status::Failed)).count();
    assert!(failed > 1 && batch.transactions.iter().all(|facts| facts.status.is_some()));
}

/// Replaces the content of an entry; compressed ones are changed before they are compressed.
fn with_entry(file: &[u8], place: usize, change: &mut dyn FnMut(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, (kind, range)) in entries(file).into_iter().enumerate() {
        let content = &file[range];
        if number != place {
            out.extend(entry(kind, content));
            continue;
        }
        let is_packed = matches!(kind, 0x03 | 0x04 | 0x05 | 0x0a | 0x0b);
        let mut plain = content.to_vec();
        if is_packed {
            plain.clear();
            std::io::Read::read_to_end(&mut snap::read::FrameDecoder::new(content), &mut plain).unwrap();
        }
        change(&mut plain);
        out.extend(entry(kind, &if is_packed { snappy(&plain) } else { plain }));
    }
    out
}

fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(56), ..ProptestConfig::default() }
}

/// Every byte of an entry that is not a proof is covered by something, whatever the lengths of the frames.
#[test]
fn byte_of_an_entry_that_is_changed_is_refused() {
    let files = encoded(&blocks(FIRST, Outcomes::Status));
    let files = [era1(&files, BEFORE), ere(&files, BEFORE, ALL), ere(&files, BEFORE, AFTER_MERGE)];
    let config = seeded(600);
    proptest!(config, |(file in 0_usize..3, at in any::<prop::sample::Index>(), byte in any::<prop::sample::Index>(), flip in 1_u8..)| {
        let (name, content) = &files[file];
        let all = entries(content);
        let place = at.index(all.len());
        let kind = all[place].0;
        let mut is_empty = false;
        let mut change = |plain: &mut Vec<u8>| match plain.len() {
            0 => is_empty = true,
            length => plain[byte.index(length)] ^= flip,
        };
        // The frames may have another length, and places with them: the index is made anew for it.
        let changed = reindexed(&with_entry(content, place, &mut change), content);
        prop_assert_eq!(gathered(name, &changed).is_ok(), is_empty || kind == 0x0b, "an entry of type {:#x}", kind);
    });
}

/// Moves the places of an index to where the entries are now, unless the index itself is what was changed.
fn reindexed(changed: &[u8], before: &[u8]) -> Vec<u8> {
    let (new, old) = (entries(changed), entries(before));
    let (kind, range) = new.last().unwrap().clone();
    let old_index = old.last().unwrap().1.clone();
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let mut index = changed[range.clone()].to_vec();
    let moved: BTreeMap<u64, u64> = old
        .iter()
        .zip(&new)
        .map(|((_, old), (_, new))| {
            let relative =
                |range: &std::ops::Range<usize>, index: usize| (range.start as u64).wrapping_sub(index as u64);
            (relative(old, old_index.start), relative(new, range.start))
        })
        .collect();
    for place in index.chunks_exact_mut(8) {
        if let Some(new) = moved.get(&word(place)) {
            place.copy_from_slice(&new.to_le_bytes());
        }
    }
    let mut out = changed[..range.start - 8].to_vec();
    out.extend(entry(kind, &index));
    out
}

/// A change in the file as it lies on disk: of frames, lengths and types.
#[test]
fn byte_of_the_file_that_is_changed_is_refused() {
    let files = encoded(&blocks(FIRST, Outcomes::Status));
    let files = [era1(&files, BEFORE), ere(&files, BEFORE, Parts { proofs: false, ..ALL })];
    let plain: Vec<_> =
        files.iter().map(|(name, content)| self::content(&gathered(name, content).unwrap().1)).collect();
    let config = seeded(400);
    proptest!(config, |(file in 0_usize..2, at in any::<prop::sample::Index>(), flip in 1_u8..)| {
        let (name, content) = &files[file];
        let mut changed = content.clone();
        changed[at.index(content.len())] ^= flip;
        if let Ok((_, batch)) = gathered(name, &changed) {
            prop_assert_eq!(&self::content(&batch), &plain[file]);
        }
    });
}

#[test]
fn file_that_is_cut_off_is_refused() {
    let files = encoded(&blocks(FIRST, Outcomes::Status));
    for (name, content) in [era1(&files, BEFORE), ere(&files, BEFORE, ALL)] {
        for (number, (_, range)) in entries(&content).into_iter().enumerate().skip(1) {
            for end in [range.start - 5, range.start, range.end - 1] {
                if number == 1 && end < range.end {
                    continue;
                }
                let error = refused(&name, &content[..end]);
                assert!(error.contains("get the file again"), "{error}");
            }
        }
        let without_index = &content[..entries(&content).last().unwrap().1.start - 8];
        assert!(refused(&name, without_index).contains("it has no block index at its end: it was cut off"));
    }
}

#[test]
fn name_that_does_not_fit_is_refused() {
    let files = encoded(&blocks(FIRST, Outcomes::Status));
    let (name, content) = era1(&files, BEFORE);
    let error = refused("mainnet-00600-00000000.era1", &content);
    assert!(error.contains("its name states 00000000, the accumulator is 0x"), "{error}");
    let error = refused(&name.replace("00600", "00601"), &content);
    assert!(
        error.contains("its name states era 601, which begins at block 4923392; its first block is 4915200"),
        "{error}"
    );
    let (name, content) = ere(&files, BEFORE, AFTER_MERGE);
    let error = refused(&format!("mainnet-00600-00000000{}", &name[22..]), &content);
    assert!(error.contains("its name states 00000000, the hash of its last block is 0x"), "{error}");
}

#[test]
fn name_without_a_hash_leaves_blocks_unverified() {
    use CoverageTable::{Blocks, Logs, Receipts, TokenTransfers, Transactions};
    let files = encoded(&blocks(FIRST, Outcomes::Status));
    let range = (FIRST, FIRST + files.len() as u64 - 1);
    let content = era1(&files, BEFORE).1;
    for name in ["history.bin", "mainnet-00600.era1"] {
        let (report, batch) = gathered(name, &content).unwrap();
        let warnings = &report.files[0].warnings;
        assert!(warnings[0].contains("its transactions and receipts do not count as verified"), "{warnings:?}");
        let all = [Blocks, Transactions, Receipts, TokenTransfers, Logs];
        assert_eq!(claims_of(&batch), all.map(|table| (table, range)).into());
    }
}

#[test]
fn file_linked_to_a_verified_block_is_verified() {
    let blocks = blocks(FIRST, Outcomes::Status);
    let (head, tail) = blocks.split_at(3);
    let (name, content) = era1(&encoded(head), BEFORE);
    let folder = tempfile::tempdir().unwrap();
    let unnamed = written(folder.path(), "a.era1", &content);
    let named = written(folder.path(), &name, &content);
    let next = written(folder.path(), "b.ere", &ere(&encoded(tail), BEFORE, AFTER_MERGE).1);
    let verified = |loads: &[&[PathBuf]]| {
        let store = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(store.path().join("store")).unwrap();
        let mut warnings = Vec::new();
        for paths in loads {
            let report = ingest(paths, &options(OnError::Stop), &mut writer, &Silent, &Cancel::new()).unwrap();
            warnings.push(report.files.iter().map(|file| file.warnings.len()).sum::<usize>());
        }
        let coverage = writer.snapshot().coverage()[&Chain::ETHEREUM].clone();
        (coverage.ranges_of(CoverageTable::VerifiedReceipts).to_vec(), warnings)
    };
    let (split, last) = (FIRST + 3, FIRST + blocks.len() as u64 - 1);
    assert_eq!(verified(&[&[unnamed.clone(), next.clone()]]), (vec![], vec![2]));
    assert_eq!(verified(&[&[named.clone(), next.clone()]]), (vec![(FIRST, last)], vec![0]));
    assert_eq!(
        verified(&[std::slice::from_ref(&named), std::slice::from_ref(&next)]),
        (vec![(FIRST, last)], vec![0, 0])
    );
    assert_eq!(verified(&[&[named], &[unnamed]]), (vec![(FIRST, split - 1)], vec![0, 0]), "the same file again");
}

/// The first block has the largest number; the next one could only have the same.
#[test]
fn block_behind_the_largest_number_is_refused() {
    let mut end = rebuilt(vec![recorded(LONDON)[0]["block"].clone()], u64::MAX, Outcomes::Status);
    let mut next = end[0].block.clone();
    next["parentHash"] = end[0].block["hash"].clone();
    end.push(RebuiltBlock { block: next, receipts: end[0].receipts.clone() });
    for (_, content) in [era1(&encoded(&end), BEFORE), ere(&encoded(&end), BEFORE, ALL)] {
        let error = refused("history.bin", &content);
        assert!(error.contains("a block follows block 18446744073709551615, the largest number"), "{error}");
        assert!(error.contains("at byte "), "{error}");
    }
    let error = refused("mainnet-99999999999999999-00000000.era1", &era1(&encoded(&end[..1]), BEFORE).1);
    assert!(error.contains("begins beyond all blocks; its first block is 18446744073709551615"), "{error}");
}

#[test]
fn file_that_does_not_follow_the_store_is_refused() {
    let blocks = blocks(FIRST, Outcomes::Status);
    let (head, tail) = blocks.split_at(3);
    let folder = tempfile::tempdir().unwrap();
    let first = written(folder.path(), "a.era1", &era1(&encoded(head), BEFORE).1);
    let second = written(folder.path(), "b.ere", &ere(&encoded(tail), BEFORE, AFTER_MERGE).1);
    let mut target = Gathered::default();
    ingest_into(&[first.clone(), second], &options(OnError::Stop), &mut target, &Silent, &Cancel::new()).unwrap();
    let others = rebuilt(vec![blocks[4].block.clone()], FIRST + 3, Outcomes::Status);
    let other = written(folder.path(), "c.ere", &ere(&encoded(&others), BEFORE, AFTER_MERGE).1);
    let mut target = Gathered::default();
    let error = ingest_into(&[first, other], &options(OnError::Stop), &mut target, &Silent, &Cancel::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("c.ere") && error.contains("one of them is of another network or branch"), "{error}");
}

#[test]
fn file_of_another_network_is_refused() {
    let mut test_network = blocks(0, Outcomes::StateRoot);
    test_network.truncate(1);
    let (_, content) = era1(&encoded(&test_network), 0);
    let error = refused("history.era1", &content);
    assert!(error.contains("its block 0 is 0x") && error.contains("it is of another network"), "{error}");
    let signed: Vec<Value> = recorded(PRAGUE).iter().map(|entry| entry["block"].clone()).collect();
    let (name, content) = ere(&encoded(&rebuilt(signed, FIRST, Outcomes::Status)), BEFORE, AFTER_MERGE);
    let error = refused(&name, &content);
    assert!(error.contains("transactions[0].chainId") && error.contains("the id of ethereum (eip155:1)"), "{error}");
}

/// Empty blocks and transactions before EIP-155 are valid on any network.
#[test]
fn name_of_another_network_is_refused() {
    let mut empty = recorded(LONDON)[0]["block"].clone();
    empty["transactions"] = json!([]);
    let files = encoded(&rebuilt(vec![empty.clone(), empty], FIRST, Outcomes::Status));
    for (name, content) in [era1(&files, BEFORE), ere(&files, BEFORE, AFTER_MERGE)] {
        gathered(&name, &content).unwrap();
        let short = if name.contains(".era1") { "sepolia-00600.era1" } else { "sepolia-00600.ere" };
        for name in [name.replace("mainnet", "sepolia"), short.to_owned()] {
            let error = refused(&name, &content);
            assert!(
                error.contains("its name states the network sepolia; expected mainnet: leave the file out"),
                "{error}"
            );
        }
    }
}

#[test]
fn file_of_the_beacon_chain_is_named() {
    let beacon = [entry(0x3265, &[]), entry(0x01, &snappy(b"block"))].concat();
    let error = refused("mainnet-00001-40cf2f3c.era", &beacon);
    assert!(
        error.contains("is a history file of the beacon chain (era): take those of the execution layer"),
        "{error}"
    );
    let with_proofs = [entry(0x3265, &[]), entry(0x0103, &snappy(b"header"))].concat();
    assert!(refused("mainnet-00001-40cf2f3c.e2hs", &with_proofs).contains("(e2hs)"));
}

/// Skipping keeps the blocks before a broken one, and claims nothing.
#[test]
fn broken_block_that_is_skipped_leaves_no_claim() {
    let files = encoded(&blocks(FIRST, Outcomes::Status));
    let (name, content) = era1(&files, BEFORE);
    let body = entries(&content).iter().position(|(kind, _)| *kind == 0x04).unwrap();
    let changed = reindexed(&with_entry(&content, body + 4, &mut |plain| plain[20] ^= 1), &content);
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &name, &changed);
    let mut target = Gathered::default();
    let report = ingest_into(&[path], &options(OnError::Skip), &mut target, &Silent, &Cancel::new()).unwrap();
    assert_eq!((report.files[0].skipped, report.blocks), (1, 1));
    assert!(report.files[0].skipped_reasons[0].contains("block 4,915,201"), "{:?}", report.files[0].skipped_reasons);
    assert_eq!(target.batches[0].claims, []);
}
