//! What a store holds does not depend on how its files came in: order, cuts, repetitions, commits, interruptions.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use headwater_ingest::{IngestError, IngestReport, Options, Progress, ProgressState, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim};
use headwater_ledger::read::Generation;
use headwater_ledger::store::{Store, Writer};
use proptest::prelude::*;

const PARTIES: [&str; 4] = [
    "0x00000000000000000000000000000000000000a1",
    "0x00000000000000000000000000000000000000b2",
    "0x00000000000000000000000000000000000000c3",
    "0x00000000000000000000000000000000000000d4",
];

fn party(number: usize) -> &'static str {
    PARTIES[number % PARTIES.len()]
}

/// A small chain: `count` transactions, three to a block, each with a receipt, a trace inside and a token transfer.
struct Tables {
    blocks: Vec<String>,
    transactions: Vec<String>,
    receipts: Vec<String>,
    transfers: Vec<String>,
    traces: Vec<String>,
}

const HEADERS: [&str; 5] = [
    "number,hash,parent_hash,timestamp,gas_limit",
    "hash,nonce,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input",
    "transaction_hash,transaction_index,block_number,cumulative_gas_used,gas_used,contract_address,status,effective_gas_price",
    "token_address,from_address,to_address,value,transaction_hash,log_index,block_number",
    "block_number,transaction_hash,transaction_index,from_address,to_address,value,trace_type,call_type,trace_address,error,status",
];

fn tables(count: usize) -> Tables {
    let hash = |number: usize| format!("0x{:064x}", number + 1);
    // The time of block 0 is that of the chain.
    let block = |number: usize| 1 + number / 3;
    let each = |row: &dyn Fn(usize) -> String| (0..count).map(row).collect();
    Tables {
        blocks: (1..=block(count)).map(|number| format!("{number},{},,{},1", hash(number), 1000 + number)).collect(),
        transactions: each(&|n| {
            format!("{},{n},{},{},{},{},{n},21000,7,0x", hash(n), block(n), n % 3, party(n), party(n + 1))
        }),
        receipts: each(&|n| format!("{},{},{},1,21000,,{},7", hash(n), n % 3, block(n), u8::from(n % 7 != 0))),
        // A transaction that fails moves no token.
        transfers: (0..count)
            .filter(|n| n % 7 != 0)
            .map(|n| format!("{},{},{},{n},{},{},{}", party(0), party(n + 1), party(n + 2), hash(n), n % 3, block(n)))
            .collect(),
        traces: (0..count)
            .flat_map(|n| {
                let status = u8::from(n % 7 != 0);
                let head = format!("{},{},{}", block(n), hash(n), n % 3);
                [
                    format!("{head},{},{},{n},call,call,,,{status}", party(n), party(n + 1)),
                    format!("{head},{},{},5,call,call,0,,1", party(n + 1), party(n + 3)),
                ]
            })
            .collect(),
    }
}

impl Tables {
    /// Writes every table in `cuts + 1` pieces that overlap by a block, so that together they claim no more than one would.
    fn write(&self, folder: &Path, pieces: usize) -> Vec<PathBuf> {
        let tables = [&self.blocks, &self.transactions, &self.receipts, &self.transfers, &self.traces];
        let mut paths = Vec::new();
        for (place, (rows, header)) in tables.into_iter().zip(HEADERS).enumerate() {
            let step = rows.len().div_ceil(pieces).max(1);
            for start in (0..rows.len()).step_by(step) {
                // Frames of one transaction stay in one file: they are judged together.
                let (start, end) = (start.saturating_sub(6) / 6 * 6, (start + step).div_ceil(6) * 6);
                let path = folder.join(format!("{place}_{start:05}.csv"));
                let rows = rows[start..end.min(rows.len())].join("\n");
                std::fs::write(&path, format!("{header}\n{rows}\n")).unwrap();
                paths.push(path);
            }
        }
        paths
    }
}

fn run(
    store: &Path,
    paths: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<IngestReport, IngestError> {
    let mut writer = Writer::open_or_create(store).unwrap();
    ingest(paths, options, &mut writer, progress, cancel)
}

fn digest(store: &Path) -> String {
    Store::open(store).unwrap().digest(&Cancel::new()).unwrap().to_string()
}

fn whole(folder: &Path, tables: &Tables) -> String {
    let paths = tables.write(folder, 1);
    let store = folder.join("whole");
    run(&store, &paths, &Options::default(), &Silent, &Cancel::new()).unwrap();
    digest(&store)
}

/// Adds the claims of another store.
fn claim_as(store: &Path, other: &Path) {
    let mut writer = Writer::open_or_create(store).unwrap();
    for (chain, coverage) in Store::open(other).unwrap().snapshot().unwrap().coverage() {
        let mut batch = Batch::new(*chain);
        for (&table, ranges) in &coverage.ranges {
            batch.claims.extend(ranges.iter().map(|&(first, last)| Claim::Blocks { first, last, table }));
        }
        writer.commit(batch, &Cancel::new()).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn cuts_order_repetition_and_commits_change_nothing(
        count in 1_usize..60, pieces in 1_usize..6, batch in 1_usize..40, seed in any::<u64>(),
    ) {
        let tables = tables(count);
        let folder = tempfile::tempdir().unwrap();
        let expected = whole(folder.path(), &tables);
        let parts = folder.path().join("parts");
        std::fs::create_dir(&parts).unwrap();
        let mut paths = tables.write(&parts, pieces);
        let store = folder.path().join("parted");
        // One file after the other in any order that gives blocks before what needs their time, each as a call of its own.
        let of_blocks = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("0_");
        let blocks = paths.iter().filter(|path| of_blocks(path)).count();
        let (first, rest) = paths.split_at_mut(blocks);
        let mut state = seed;
        for place in (1..rest.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            rest.swap(place, usize::try_from(state >> 33).unwrap() % (place + 1));
        }
        let options = Options { batch_transactions: batch, ..Options::default() };
        for path in first.iter().chain(rest.iter()) {
            run(&store, std::slice::from_ref(path), &options, &Silent, &Cancel::new()).unwrap();
        }
        // Files that come alone claim less: not what lies between their rows and the ends of their export.
        claim_as(&store, &folder.path().join("whole"));
        prop_assert_eq!(digest(&store), expected.clone());
        // All of it again, in one call: nothing new.
        let report = run(&store, &[parts], &Options::default(), &Silent, &Cancel::new()).unwrap();
        prop_assert_eq!((report.added, report.enriched), (0, 0));
        prop_assert_eq!(digest(&store), expected);
    }
}

/// Stops the work after some words of progress.
struct Stop {
    after: Cell<usize>,
    cancel: Cancel,
}

impl Progress for Stop {
    fn update(&self, _state: ProgressState<'_>) {
        self.after.set(self.after.get().saturating_sub(1));
        if self.after.get() == 0 {
            self.cancel.cancel();
        }
    }
}

#[test]
fn an_ingest_that_was_stopped_goes_on_with_the_same_call() {
    let tables = tables(200);
    let folder = tempfile::tempdir().unwrap();
    let expected = whole(folder.path(), &tables);
    let parts = folder.path().join("parts");
    std::fs::create_dir(&parts).unwrap();
    let paths = tables.write(&parts, 4);
    let options = Options { batch_transactions: 40, ..Options::default() };
    let mut stopped = 0;
    let step = if headwater_testkit::is_full() { 1 } else { 2 };
    for after in (1..40).step_by(step) {
        let store = folder.path().join(format!("store{after}"));
        let cancel = Cancel::new();
        let stop = Stop { after: Cell::new(after), cancel: cancel.clone() };
        match run(&store, &paths, &options, &stop, &cancel) {
            Err(IngestError::Cancelled(_) | IngestError::Store(_)) => stopped += 1,
            other => assert!(other.is_ok()),
        }
        run(&store, &paths, &options, &Silent, &Cancel::new()).unwrap();
        assert_eq!(digest(&store), expected, "stopped at {after}");
    }
    assert!(stopped > 10);
}

#[test]
fn unrelated_files_of_a_folder_are_left_out_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts");
    std::fs::create_dir(&parts).unwrap();
    tables(5).write(&parts, 1);
    std::fs::write(parts.join("README.md"), "What these files are.\n").unwrap();
    std::fs::write(parts.join("empty.csv"), "").unwrap();
    let store = folder.path().join("store");
    let report = run(&store, std::slice::from_ref(&parts), &Options::default(), &Silent, &Cancel::new()).unwrap();
    let names: Vec<_> = report.left_out.iter().map(|left| left.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!((report.files.len(), names), (5, vec!["README.md", "empty.csv"]));
    let named = [parts.join("README.md")];
    let error = run(&store, &named, &Options::default(), &Silent, &Cancel::new()).unwrap_err();
    assert!(matches!(error, IngestError::Unrecognised { .. }), "a file that was named is meant");
}
