use std::path::{Path, PathBuf};

use headwater_ledger::Cancel;
use headwater_types::TxHash;

use super::*;
use crate::bitcoin::fixture::{coinbase, double_hash, hash_of, mine, pay_to, transaction};
use crate::options::{Options, Silent};
use crate::{Gathered, IngestReport, ingest_into};

const REGTEST: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];

/// The first block of every regression-test chain.
fn genesis() -> Vec<u8> {
    bitcoin::consensus::serialize(&bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Regtest))
}

/// A block that states its height as BIP 34 asks.
fn block(parent: &[u8], height: u8, pays: u8) -> Vec<u8> {
    let script = if height <= 16 { vec![0x50 + height, 0] } else { vec![1, height] };
    mine(0x2000_0000, hash_of(parent), 1_600_000_000 + u32::from(height), &[coinbase(&script, pays)])
}

/// The first block and `count` more.
fn chain(count: u8) -> Vec<Vec<u8>> {
    let mut blocks = vec![genesis()];
    for height in 1..=count {
        blocks.push(block(&blocks[blocks.len() - 1], height, height));
    }
    blocks
}

fn framed(blocks: &[Vec<u8>]) -> Vec<u8> {
    let frame = |block: &Vec<u8>| [&REGTEST[..], &u32::try_from(block.len()).unwrap().to_le_bytes(), block].concat();
    blocks.iter().map(frame).collect::<Vec<_>>().concat()
}

fn write(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn read(paths: &[PathBuf], options: &Options) -> Result<(Gathered, IngestReport), IngestError> {
    let mut target = Gathered::default();
    let report = ingest_into(paths, options, &mut target, &Silent, &Cancel::new())?;
    Ok((target, report))
}

/// (height, hash) of all blocks, and (height, id) of all transactions, sorted.
#[derive(Debug, PartialEq)]
struct Stated(Vec<(u64, BlockHash)>, Vec<(u64, TxHash)>);

fn held(target: &Gathered) -> Stated {
    let batches = &target.batches;
    let mut blocks: Vec<_> =
        batches.iter().flat_map(|batch| &batch.blocks).map(|block| (block.number, block.hash.unwrap())).collect();
    let mut transactions: Vec<_> =
        batches.iter().flat_map(|batch| &batch.transactions).map(|facts| (facts.block, facts.hash)).collect();
    blocks.sort_unstable();
    transactions.sort_unstable();
    Stated(blocks, transactions)
}

fn heights(target: &Gathered) -> Vec<u64> {
    held(target).0.into_iter().map(|(height, _)| height).collect()
}

fn skipping() -> Options {
    Options { on_error: OnError::Skip, ..Options::default() }
}

#[test]
fn blocks_equal_in_any_order_and_files_and_under_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = chain(20);
    let plain = write(folder.path(), "blk00000.dat", &framed(&blocks));
    let (expected, report) = read(&[plain], &Options::default()).unwrap();
    assert_eq!(heights(&expected), (0..=20).collect::<Vec<_>>());
    assert_eq!(report.rows, 21);
    assert_eq!(expected.batches[0].network, Some(Network::Regtest));
    let claims = &expected.batches[0].claims;
    let table = CoverageTable::Transactions;
    assert!(claims.contains(&Claim::Blocks { first: 0, last: 20, table }));

    let hidden = tempfile::tempdir().unwrap();
    let mut reversed = blocks;
    reversed.reverse();
    let key = [9, 8, 7, 6, 5, 4, 3, 0xff];
    write(hidden.path(), "xor.dat", &key);
    for (number, part) in reversed.chunks(6).enumerate() {
        let mut content = [framed(part), vec![0; 99]].concat();
        XorKey::new(&key).unwrap().apply(0, &mut content);
        write(hidden.path(), &format!("blk0000{number}.dat"), &content);
    }
    let (found, report) = read(&[hidden.path().to_owned()], &Options::default()).unwrap();
    assert_eq!(held(&found), held(&expected));
    // Four files of blocks and the key.
    assert_eq!(report.files.len(), 5);
    assert_eq!(report.rows, 21);
}

#[test]
fn stale_branches_are_left_out_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut blocks = chain(5);
    let stale = block(&blocks[3], 4, 77);
    blocks.insert(4, stale.clone());
    blocks.push(block(&genesis(), 1, 78));
    let path = write(folder.path(), "blk00000.dat", &framed(&blocks));
    let (found, report) = read(&[path], &Options::default()).unwrap();
    assert_eq!(heights(&found), [0, 1, 2, 3, 4, 5]);
    let hash = hex::encode(hash_of(&stale).as_bytes());
    let [warning] = &report.files[0].warnings[..] else { panic!("{:?}", report.files[0].warnings) };
    assert!(warning.starts_with("2 blocks on stale branches") && warning.contains(&hash), "{warning}");
    assert!(!held(&found).0.iter().any(|(_, held)| *held == hash_of(&stale)));
}

#[test]
fn lone_block_takes_height_from_coinbase_parent_or_name() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = chain(18);
    let options = Options { network: Some(Network::Regtest), ..Options::default() };
    let stated = write(folder.path(), "some.raw", &blocks[18]);
    assert_eq!(heights(&read(&[stated], &options).unwrap().0), [18]);
    // Version 1 states none.
    let old = mine(1, hash_of(&blocks[18]), 5, &[coinbase(&[4, 1, 2, 3, 4], 1)]);
    let unnamed = write(folder.path(), "old.raw", &old);
    let error = read(std::slice::from_ref(&unnamed), &options).unwrap_err().to_string();
    assert!(error.contains("states none") && error.contains("old.raw"), "{error}");
    let named = write(folder.path(), "mainnet_block_18765.raw", &old);
    assert_eq!(heights(&read(std::slice::from_ref(&named), &options).unwrap().0), [18_765]);
    let parent = write(folder.path(), "parent.raw", &blocks[18]);
    assert_eq!(heights(&read(&[unnamed, parent], &options).unwrap().0), [18, 19]);
}

#[test]
fn a_parent_that_the_target_holds_gives_the_height() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = chain(3);
    let options = Options { network: Some(Network::Regtest), ..Options::default() };
    let mut target = Gathered::default();
    let first = write(folder.path(), "blk00000.dat", &framed(&blocks));
    ingest_into(&[first], &options, &mut target, &Silent, &Cancel::new()).unwrap();
    let old = mine(1, hash_of(&blocks[3]), 5, &[coinbase(&[4, 1, 2, 3, 4], 1)]);
    let second = write(folder.path(), "blk00001.dat", &framed(&[old]));
    ingest_into(&[second], &options, &mut target, &Silent, &Cancel::new()).unwrap();
    assert_eq!(heights(&target), [0, 1, 2, 3, 4]);
}

#[test]
fn inputs_outputs_and_places_are_stated() {
    let folder = tempfile::tempdir().unwrap();
    let minted = coinbase(&[0x51, 0], 9);
    let id = double_hash(&minted);
    let spend = transaction(&[(id, 0, vec![])], &[(30, pay_to(1)), (0, vec![0x6a, 2, 0xaa, 0xbb])]);
    let first = mine(0x2000_0000, hash_of(&genesis()), 77, &[minted, spend]);
    let path = write(folder.path(), "blk00000.dat", &framed(&[genesis(), first]));
    let (found, _) = read(&[path], &Options::default()).unwrap();
    let facts = &found.batches[0].transactions[2];
    assert_eq!((facts.block, facts.index, facts.time.unwrap().secs()), (1, Some(1), 77));
    let utxo = facts.utxo.as_ref().unwrap();
    assert_eq!(utxo.inputs[0].previous.hash, found.batches[0].transactions[1].hash);
    assert_eq!(utxo.outputs[0].owner.unwrap().to_string(), "mfcGAzvis9JQAb6avB6WBGiGrgWzLxuGaC");
    assert_eq!(utxo.outputs[1].data, Some(vec![0xaa, 0xbb]));
    let minted = found.batches[0].transactions[1].utxo.as_ref().unwrap();
    assert!(minted.coinbase && minted.inputs.is_empty());
}

#[test]
fn a_broken_block_or_file_stops_or_is_left_out_aloud() {
    let folder = tempfile::tempdir().unwrap();
    let mut blocks = chain(4);
    // One altered byte in the amount of the last block's only output.
    let place = blocks[4].len() - 34;
    blocks[4][place] ^= 1;
    let path = write(folder.path(), "blk00000.dat", &framed(&blocks));
    let error = read(std::slice::from_ref(&path), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("blk00000.dat") && error.contains("merkle root"), "{error}");
    let (found, report) = read(&[path], &skipping()).unwrap();
    assert_eq!((heights(&found), report.skipped), (vec![0, 1, 2, 3], 1));

    let whole = framed(&chain(4));
    let cut = write(folder.path(), "blk00001.dat", &whole[..whole.len() - 7]);
    assert!(matches!(read(std::slice::from_ref(&cut), &Options::default()), Err(IngestError::Damaged { .. })));
    let (found, report) = read(&[cut], &skipping()).unwrap();
    assert_eq!((heights(&found), report.skipped), (vec![0, 1, 2, 3], 1));
}

#[test]
fn networks_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "blk00000.dat", &framed(&chain(2)));
    let main = Options { network: Some(Network::Mainnet), ..Options::default() };
    assert!(matches!(
        read(std::slice::from_ref(&path), &main),
        Err(IngestError::Store(LedgerError::NetworkMismatch { .. }))
    ));
    // A single block names no network: without one it is taken for the main one, whose bits are harder.
    let single = write(folder.path(), "one.raw", &chain(1)[1]);
    let error = read(&[single], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("easier than mainnet allows"), "{error}");
    // No parent, but not the first block of the network.
    let mut forged = chain(1);
    forged[0] = mine(1, BlockHash::new([0; 32]), 5, &[coinbase(&[4, 1, 2, 3, 4], 1)]);
    let path = write(folder.path(), "blk00001.dat", &framed(&forged[..1]));
    let error = read(&[path], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("not the first block of regtest"), "{error}");
}

#[test]
fn only_a_lone_number_in_the_name_of_one_block_is_a_height() {
    for (name, height) in [
        ("277647.dat", Some(277_647)),
        ("mainnet_block_250000.raw", Some(250_000)),
        ("blk00007.dat", None),
        ("blocks1-256", None),
        ("block.raw", None),
        ("00000000839a8e68.raw", None),
        ("12345678901234567890.raw", None),
    ] {
        assert_eq!(height_in_name(name), height, "{name}");
    }
    assert!(numbered("rev00012.dat", "rev") && !numbered("rev.dat", "rev") && !numbered("rev1x.dat", "rev"));
}
