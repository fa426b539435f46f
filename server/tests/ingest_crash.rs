//! kill -9 at random moments of an ingest: the store opens and holds exactly the acknowledged commits.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use headwater_ingest::{ConsistentCommit, HeldToken, Options, Silent, Target, ingest_into};
use headwater_ledger::facts::Batch;
use headwater_ledger::store::{CommitReport, Writer};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_types::{Address, BlockHash, Chain, Timestamp, TxHash};
use serde_json::Value;

use crate::support::{headwater, run_json};

const FILES: u64 = 6;
const PER_FILE: u64 = 200;
const PER_BLOCK: u64 = 4;
const BATCH: usize = 48;

/// Transactions over several files, and their receipts, which complete what earlier commits hold.
fn write_files(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    for file in 0..FILES {
        let mut transactions = "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,\
                                gas,gas_price,input,block_timestamp\n"
            .to_owned();
        let mut receipts = "transaction_hash,transaction_index,block_hash,block_number,cumulative_gas_used,gas_used,\
                            contract_address,root,status,effective_gas_price\n"
            .to_owned();
        for number in file * PER_FILE..(file + 1) * PER_FILE {
            let (block, index) = (1000 + number / PER_BLOCK, number % PER_BLOCK);
            let (from, to, time) = (number % 37, number % 53 + 100, 1_600_000_000 + block * 12);
            writeln!(
                transactions,
                "0x{number:064x},{number},0x{block:064x},{block},{index},0x{from:040x},0x{to:040x},{number},21000,\
                 {index},0x,{time}"
            )
            .unwrap();
            let status = u64::from(number % 11 != 0);
            writeln!(receipts, "0x{number:064x},{index},0x{block:064x},{block},21000,21000,,,{status},{index}")
                .unwrap();
        }
        std::fs::write(folder.join(format!("transactions_{file:02}.csv")), transactions).unwrap();
        std::fs::write(folder.join(format!("receipts_{file:02}.csv")), receipts).unwrap();
    }
}

/// A store that notes the digest of what it holds after each commit.
struct DigestStore {
    writer: Writer,
    digests: Vec<String>,
}

impl DigestStore {
    fn note(&mut self) {
        let digest = Store::open(self.writer.path()).unwrap().digest(&Cancel::new()).unwrap();
        self.digests.push(digest.to_string());
    }
}

impl Target for DigestStore {
    fn commit(&mut self, batch: Batch, cancel: &Cancel) -> Result<CommitReport, LedgerError> {
        let report = Target::commit(&mut self.writer, batch, cancel)?;
        self.note();
        Ok(report)
    }

    fn commit_consistent(&mut self, batch: Batch, cancel: &Cancel) -> Result<ConsistentCommit, LedgerError> {
        let report = Target::commit_consistent(&mut self.writer, batch, cancel)?;
        self.note();
        Ok(report)
    }

    fn token_of(&self, chain: Chain, contract: &Address) -> Result<HeldToken, LedgerError> {
        self.writer.token_of(chain, contract)
    }

    fn stated_block_hash(&self, chain: Chain, block: u64) -> Result<Option<BlockHash>, LedgerError> {
        Target::stated_block_hash(&self.writer, chain, block)
    }

    fn is_verified(&self, chain: Chain, block: u64) -> Result<bool, LedgerError> {
        self.writer.is_verified(chain, block)
    }

    fn transaction_at(&self, chain: Chain, block: u64, index: u32) -> Result<Option<TxHash>, LedgerError> {
        self.writer.transaction_at(chain, block, index)
    }

    fn place_of(&self, chain: Chain, hash: &TxHash) -> Result<Option<(u64, Option<u32>)>, LedgerError> {
        self.writer.place_of(chain, hash)
    }

    fn block_time(&self, chain: Chain, block: u64) -> Result<Option<Timestamp>, LedgerError> {
        self.writer.block_time(chain, block)
    }

    fn block_hash(&self, chain: Chain, block: u64) -> Result<Option<BlockHash>, LedgerError> {
        Target::block_hash(&self.writer, chain, block)
    }

    fn block_number(&self, chain: Chain, hash: &BlockHash) -> Result<Option<u64>, LedgerError> {
        self.writer.block_number(chain, hash)
    }
}

/// The digests of the empty store and after each commit of an ingest that nothing interrupts.
fn digests_of_commits(place: &Path, files: &Path) -> Vec<String> {
    let mut target =
        DigestStore { writer: Writer::open_or_create(place.join("straight")).unwrap(), digests: Vec::new() };
    target.note();
    let options = Options { batch_transactions: BATCH, ..Options::default() };
    ingest_into(&[files.to_owned()], &options, &mut target, &Silent, &Cancel::new()).unwrap();
    target.digests
}

fn ingest(store: &Path, files: &Path, batch: usize) -> std::process::Child {
    let batch = batch.to_string();
    let (store, files) = (store.to_str().unwrap(), files.to_str().unwrap());
    let arguments = ["ingest", "--json", "--report-commits", "--batch-transactions", &batch, "--store", store, files];
    headwater(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of an ingest; gives how many commits it acknowledged.
fn acknowledged(ingest: &mut std::process::Child) -> usize {
    let lines = BufReader::new(ingest.stderr.take().unwrap()).lines().map_while(Result::ok);
    // The last line may be cut by the kill, and is not an acknowledgement then.
    let commits = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let count = commits.filter(|line| line["commit"]["generation"].is_u64()).count();
    ingest.wait().unwrap();
    count
}

/// The digest of a store, of which every byte is as it should be.
fn digest(store: &Path) -> String {
    let found = run_json(&["verify", "--json", "--digest", "--store", store.to_str().unwrap()]);
    assert_eq!(found["problems"], Value::Array(vec![]));
    found["digest"].as_str().unwrap().to_owned()
}

#[test]
fn killed_ingest_leaves_exactly_the_acknowledged_commits() {
    let moments = if headwater_testkit::is_full() { 200 } else { 6 };
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    write_files(&files);
    let digests = digests_of_commits(place.path(), &files);
    let whole = digests.last().unwrap();
    let store = |name: String| -> PathBuf { place.path().join(name) };

    let started = Instant::now();
    let uninterrupted = store("uninterrupted".to_owned());
    assert_eq!(acknowledged(&mut ingest(&uninterrupted, &files, BATCH)), digests.len() - 1);
    let duration = started.elapsed();
    assert_eq!(digest(&uninterrupted), *whole);

    let mut seed = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap();
    println!("seed {seed}, {} commits in {duration:?}", digests.len() - 1);
    let mut midway = 0;
    for moment in 0..moments {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let after = duration * u32::try_from((seed >> 33) % 1000).unwrap() / 1000;
        let store = store(format!("killed-{moment}"));
        let mut victim = ingest(&store, &files, BATCH);
        std::thread::sleep(after);
        victim.kill().unwrap();
        let known = acknowledged(&mut victim);
        let context = format!("killed after {after:?}, {known} acknowledged, seed {seed}");
        midway += usize::from(known > 0 && known + 1 < digests.len());
        if Store::open(&store).is_ok() {
            let held = digest(&store);
            let next = digests.get(known + 1);
            assert!(held == digests[known] || Some(&held) == next, "{context}");
        } else {
            assert_eq!(known, 0, "{context}");
        }
        // The same files again bring what is missing, and nothing twice.
        acknowledged(&mut ingest(&store, &files, [BATCH, 700][moment % 2]));
        assert_eq!(digest(&store), *whole, "{context}");
        std::fs::remove_dir_all(&store).unwrap();
    }
    assert!(midway > 0, "no kill came between two commits");
}
