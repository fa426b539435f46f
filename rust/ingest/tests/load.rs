//! A load leaves a finished store behind, whoever calls it.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use headwater_ingest::{
    FeedItems, FreezeImport, IngestError, LoadOptions, LoadReport, MarketImport, OnError, Options, Progress,
    ProgressState, Silent, import_prices, list_prices, load, read_sources,
};
use headwater_ledger::Cancel;
use headwater_ledger::store::{ImportKind, Store, Writer};
use headwater_types::Timestamp;

const TETHER: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const UNLISTED: &str = "0xefefefefefefefefefefefefefefefefefefefef";
const ADDED_BLACK_LIST: &str = "0x42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc";
const LOADED_AT: Timestamp = Timestamp::new(1_767_225_600);

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// A block, transfers of a listed and an unlisted token, and two freezes of Tether.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (hash, party) = (format!("0x{}", "11".repeat(32)), |digits: &str| format!("0x{}", digits.repeat(20)));
    let transfer = |contract: &str, log: u32| format!("{contract},{},{},25,{hash},{log},7\n", party("aa"), party("bb"));
    let freeze = |log: u32, account: &str| {
        format!("{log},{hash},0,,7,{TETHER},0x{}{},{ADDED_BLACK_LIST}\n", "00".repeat(12), account.repeat(20))
    };
    let transfers =
        ["token_address,from_address,to_address,value,transaction_hash,log_index,block_number\n".to_owned()];
    let transfers = transfers.into_iter().chain([transfer(TETHER, 0), transfer(UNLISTED, 1)]).collect::<String>();
    let logs = "log_index,transaction_hash,transaction_index,block_hash,block_number,address,data,topics\n";
    vec![
        write(folder, "blocks.csv", "number,hash,parent_hash,timestamp,gas_limit\n7,,,1438270000,5000\n"),
        write(folder, "token_transfers.csv", &transfers),
        write(folder, "logs.csv", &format!("{logs}{}{}", freeze(2, "cc"), freeze(3, "dd"))),
    ]
}

fn options(feed: FeedItems) -> LoadOptions {
    LoadOptions { reading: Options::default(), feed, imported_at: LOADED_AT }
}

fn loaded(store: &Path, files: &[PathBuf]) -> LoadReport {
    load(store, files, &options(FeedItems::None), &Silent, &Cancel::new()).unwrap()
}

#[test]
fn load_imports_freezes_and_counts_tokens_once() {
    let folder = tempfile::tempdir().unwrap();
    let (files, store) = (files(folder.path()), folder.path().join("store"));
    let report = loaded(&store, &files);
    assert_eq!(report.store.freezes, Some(FreezeImport { version: 1, claims: 2 }));
    assert_eq!((report.ingest.added, report.store.movements, report.store.unlisted_tokens), (1, 2, Some(1)));
    let versions = Store::open(&store).unwrap().stats().unwrap().imports;
    let labels: Vec<_> = versions.iter().filter(|version| version.kind == ImportKind::Labels).collect();
    let dates: Vec<_> = labels.iter().filter_map(|version| Some(version.list.as_ref()?.ended_at)).collect();
    assert_eq!(dates, [LOADED_AT]);

    let again = loaded(&store, &files);
    assert_eq!((again.store.freezes, again.store.unlisted_tokens), (None, None));
    assert_eq!((again.ingest.added, again.ingest.unchanged, again.store.movements), (0, 1, 0));
}

#[test]
fn load_with_a_registry_counts_no_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    Writer::open_or_create(&store).unwrap().import_tokens("own", Vec::new()).unwrap();
    assert_eq!(loaded(&store, &files(folder.path())).store.unlisted_tokens, None);
}

#[test]
fn load_without_files_leaves_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let (store, missing) = (folder.path().join("store"), folder.path().join("missing.csv"));
    let refused = load(&store, &[missing], &options(FeedItems::None), &Silent, &Cancel::new()).unwrap_err();
    assert!(matches!(refused, IngestError::NoInput(_) | IngestError::Io { .. }), "{refused}");
    assert!(!store.exists());
}

#[test]
fn load_json_is_that_of_the_ingest_and_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let report = loaded(&folder.path().join("store"), &files(folder.path()));
    let mut of_ingest = serde_json::to_value(&report.ingest).unwrap();
    of_ingest["movements"] = 2.into();
    of_ingest["unlisted_tokens"] = 1.into();
    assert_eq!(serde_json::to_value(&report).unwrap(), of_ingest);
}

#[test]
fn load_adds_feed_items_on_request_only() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let blocks_of = |feed: FeedItems, name: &str| {
        let store = folder.path().join(name);
        load(&store, &files[..2], &options(feed), &Silent, &Cancel::new()).unwrap();
        Writer::open_or_create(store).unwrap().feed().newest()
    };
    assert_eq!(blocks_of(FeedItems::None, "silent"), 0);
    assert_eq!(blocks_of(FeedItems::PerBlock, "followed"), 1);
}

#[test]
fn load_that_is_cancelled_continues_with_the_next_call() {
    /// Cancels once the first commit is durable, before the load is finished.
    struct CancelAtCommit(Cancel, RefCell<u64>);
    impl Progress for CancelAtCommit {
        fn update(&self, _: ProgressState<'_>) {}

        fn committed(&self, _: &headwater_ledger::store::CommitReport) {
            *self.1.borrow_mut() += 1;
            self.0.cancel();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (files, store) = (files(folder.path()), folder.path().join("store"));
    let cancel = Cancel::new();
    let progress = CancelAtCommit(cancel.clone(), RefCell::new(0));
    let reading = Options { on_error: OnError::Skip, batch_transactions: 1, ..Options::default() };
    let stopped = load(&store, &files, &LoadOptions { reading, ..options(FeedItems::None) }, &progress, &cancel);
    assert!(stopped.is_err() && *progress.1.borrow() == 1);
    loaded(&store, &files);
    let whole = folder.path().join("whole");
    loaded(&whole, &files);
    let digest = |store: &Path| Store::open(store).unwrap().digest(&Cancel::new()).unwrap().to_string();
    assert_eq!(digest(&store), digest(&whole));
}

#[test]
fn import_of_a_folder_reports_files_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (prices, store) = (folder.path().join("prices"), folder.path().join("store"));
    fs::create_dir(&prices).unwrap();
    write(&prices, "eth.csv", "symbol,ts,price_usd\neth,1600000000,2000\neth,1600086400,\n");
    let other = write(&prices, "other.csv", "coin,rank\neth,2\n");
    let read = |paths: &[PathBuf]| read_sources(paths, None, |file| list_prices(file, None));
    let imports = import_prices(&store, read(std::slice::from_ref(&prices)).unwrap(), &Silent, &Cancel::new()).unwrap();
    let [MarketImport { path, source, version, entries, skipped, skipped_reasons }] = &imports[..] else {
        panic!("one version")
    };
    assert_eq!((path, source.as_str(), *version, *entries, *skipped), (&prices, "prices", 1, 1, 1));
    assert!(skipped_reasons.iter().any(|reason| reason.contains("other.csv")), "{skipped_reasons:?}");
    assert!(skipped_reasons.iter().any(|reason| reason.ends_with("line 3: no price")), "{skipped_reasons:?}");
    assert!(matches!(read(&[other]), Err(IngestError::Unrecognised { .. })));
}
