//! A store on disk: commits of one process seen by others, locks, generations, the tail, damage.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use headwater_ledger::facts::{Batch, Claim};
use headwater_ledger::market::{EntrySource, PricePoint, TokenListing};
use headwater_ledger::read::{CoverageTable, Generation, Generations};
use headwater_ledger::store::disk::{Disk, DiskFile, SystemDisk};
use headwater_ledger::store::{MemoryStore, Merges, Writer};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::{Chainlet, address, hash, is_full};
use headwater_types::{Address, Asset, Chain, Timestamp};

const CHAIN: Chain = Chain::ETHEREUM;

pub(crate) fn transfers(first: u64, count: u64) -> Batch {
    let chain = Chainlet::ethereum().at_block(first);
    (first..first + count).fold(chain, |chain, number| chain.transfer(number % 5, 7, number).fee(1)).batch()
}

pub(crate) fn writer(path: &Path) -> Writer {
    Writer::open_or_create(path).unwrap()
}

pub(crate) fn digest(path: &Path) -> String {
    Store::open(path).unwrap().digest(&Cancel::new()).unwrap().to_string()
}

#[test]
fn a_folder_without_a_store_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Store::open(folder.path()), Err(LedgerError::NoStore { .. })));
    assert!(matches!(Store::open(folder.path().join("none")), Err(LedgerError::NoStore { .. })));
    drop(writer(&folder.path().join("new/store")));
    let store = Store::open(folder.path().join("new/store")).unwrap();
    assert!(store.current().unwrap().coverage().is_empty());
}

#[test]
fn a_reader_sees_each_commit_and_keeps_the_generation_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let store = Store::open(folder.path()).unwrap();
    let before = store.snapshot().unwrap();
    for round in 0..12 {
        let report = writer.commit(transfers(1 + 10 * round, 10), &Cancel::new()).unwrap();
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.generation(), report.generation);
        assert_eq!(snapshot.coverage()[&CHAIN].transactions, 10 * (round + 1));
    }
    assert!(before.coverage().is_empty());
    let early = store.generation(before.generation() + 3).unwrap();
    assert_eq!(early.coverage()[&CHAIN].transactions, 30);
    let fresh = Store::open(folder.path()).unwrap();
    assert_eq!(fresh.generation(before.generation() + 3).unwrap().coverage()[&CHAIN].transactions, 30);
    assert!(matches!(store.generation(1000), Err(LedgerError::GenerationGone { generation: 1000 })));
}

#[test]
fn what_was_committed_is_there_after_the_writer_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = writer(folder.path());
    let mut batch = transfers(1, 5);
    batch.claims = vec![
        Claim::Blocks { first: 1, last: 5, table: CoverageTable::Blocks },
        Claim::Account { address: address(CHAIN, 3), table: CoverageTable::Transactions },
    ];
    first.commit(batch.clone(), &Cancel::new()).unwrap();
    let held = digest(folder.path());
    drop(first);
    let mut again = writer(folder.path());
    assert_eq!(again.commit(batch.clone(), &Cancel::new()).unwrap().unchanged, 5);
    assert_eq!(digest(folder.path()), held);
    let mut memory = MemoryStore::default();
    memory.commit(batch, &Cancel::new()).unwrap();
    assert_eq!(memory.digest(&Cancel::new()).unwrap().to_string(), held, "disk and memory hold the same");
    let stats = Store::open(folder.path()).unwrap().stats().unwrap();
    assert_eq!((stats.chains[&CHAIN].segments, stats.chains[&CHAIN].coverage.transactions), (1, 5));
}

#[test]
fn readers_find_sound_generations_while_a_writer_commits() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let store = Store::open(folder.path()).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                while !is_done.load(Ordering::Relaxed) {
                    let ledger = store.current().unwrap();
                    assert!(ledger.generation() >= last);
                    last = ledger.generation();
                    let Some(coverage) = ledger.coverage().get(&CHAIN) else { continue };
                    assert_eq!(coverage.transactions % 3, 0, "commits are seen whole");
                    for block in 1..=coverage.transactions {
                        assert!(ledger.find_transaction(CHAIN, &hash(block, 0)).unwrap().is_some());
                    }
                }
            });
        }
        for round in 0..30 {
            writer.commit(transfers(1 + 3 * round, 3), &Cancel::new()).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(store.current().unwrap().coverage()[&CHAIN].transactions, 90);
}

#[test]
fn imports_are_versions_that_can_be_rolled_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let listing = |name: &str| TokenListing {
        chain: CHAIN,
        contract: address(CHAIN, 9),
        symbol: "ABC".to_owned(),
        name: name.to_owned(),
        decimals: 6,
        verified: true,
        coingecko_id: Some("abc".to_owned()),
    };
    let price = |usd| PricePoint { symbol: "abc".to_owned(), time: Timestamp::new(1000), usd };
    writer.import_tokens("first.json", vec![listing("Old")]).unwrap();
    let second = writer.import_tokens("second.json", vec![listing("New")]).unwrap();
    writer.import_prices("prices.csv", vec![price(0.1 + 0.2)]).unwrap();
    assert!(matches!(writer.import_prices("bad.csv", vec![price(f64::NAN)]), Err(LedgerError::InvalidPrice { .. })));
    let name = || {
        let ledger = Store::open(folder.path()).unwrap().current().unwrap();
        let entry = ledger.registry().entry(CHAIN, &Asset::Token(address(CHAIN, 9))).unwrap();
        (entry.display_name.clone(), ledger.prices().latest("abc").unwrap().usd.to_bits())
    };
    assert_eq!(name(), ("New".to_owned(), (0.1_f64 + 0.2).to_bits()));
    writer.roll_back_import(second).unwrap();
    assert_eq!(name().0, "Old");
    assert!(matches!(writer.roll_back_import(second), Err(LedgerError::UnknownVersion(_))));
    let versions = writer.import_versions();
    assert_eq!(versions.iter().map(|version| version.in_force).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(versions[1].source, "second.json");
}

#[test]
fn core_token_gives_way_to_an_import_until_its_rollback() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let tether = Address::parse(Chain::ETHEREUM, "0xdac17f958d2ee523a2206206994597c13d831ec7").unwrap();
    let mine = TokenListing {
        chain: Chain::ETHEREUM,
        contract: tether,
        symbol: "MINE".to_owned(),
        name: "Mine".to_owned(),
        decimals: 2,
        verified: true,
        coingecko_id: None,
    };
    let held = || {
        let ledger = Store::open(folder.path()).unwrap().current().unwrap();
        let entry = ledger.registry().entry(Chain::ETHEREUM, &Asset::Token(tether)).unwrap().clone();
        (entry.symbol, entry.decimals, entry.source)
    };
    let empty = digest(folder.path());
    assert_eq!(held(), ("usdt".to_owned(), 6, EntrySource::Core));
    let version = writer.import_tokens("mine.json", vec![mine]).unwrap();
    assert_eq!(held(), ("mine".to_owned(), 2, EntrySource::Import));
    writer.roll_back_import(version).unwrap();
    assert_eq!(held(), ("usdt".to_owned(), 6, EntrySource::Core));
    assert!(matches!(writer.roll_back_import(0), Err(LedgerError::UnknownVersion(0))));
    assert_eq!(digest(folder.path()), empty);
}

#[test]
fn store_of_another_format_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.commit(transfers(1, 3), &Cancel::new()).unwrap();
    drop(writer);
    let generation = Store::open(folder.path()).unwrap().stats().unwrap().generation;
    let manifest = folder.path().join(format!("manifest-{generation:010}.json"));
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replacen("{\"format\":3,", "{\"format\":2,", 1)).unwrap();
    let expected = format!(
        "{} has format 2, this version reads format 3: build the store again with `headwater ingest --store \
         NEW_FOLDER FILES`",
        manifest.display()
    );
    let reading = Store::open(folder.path()).unwrap().snapshot().err().unwrap();
    assert_eq!(reading.to_string(), expected);
    let writing = Writer::open_or_create(folder.path()).err().unwrap();
    assert_eq!(writing.to_string(), expected);
    let report = Store::open(folder.path()).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert_eq!(report.problems[0].what, expected);
}

/// Every byte of every file, flipped: never served, always reported.
#[test]
fn flipped_bit_is_reported_with_file_and_offset() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let mut batch = transfers(1, 3);
    batch.claims = vec![Claim::Account { address: address(CHAIN, 1), table: CoverageTable::Transactions }];
    writer.commit(batch, &Cancel::new()).unwrap();
    writer.import_prices("p", vec![PricePoint { symbol: "eth".into(), time: Timestamp::new(5), usd: 2.5 }]).unwrap();
    drop(writer);
    let sound = digest(folder.path());
    let newest = Store::open(folder.path()).unwrap().stats().unwrap().generation;
    let mut files = vec![folder.path().join(format!("manifest-{newest:010}.json"))];
    for kind in ["segments", "accounts", "prices"] {
        files.extend(std::fs::read_dir(folder.path().join(kind)).unwrap().map(|entry| entry.unwrap().path()));
    }
    assert_eq!(files.len(), 4);
    let mut seed = 0x9e37_79b9_u64;
    for file in &files {
        let good = std::fs::read(file).unwrap();
        for _ in 0..40 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = usize::try_from(seed >> 33).unwrap() % good.len();
            let mut bad = good.clone();
            bad[place] ^= 1 << (seed >> 29 & 7);
            std::fs::write(file, &bad).unwrap();
            let store = Store::open(folder.path()).unwrap();
            let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
            let named = report.problems.iter().any(|problem| problem.file == *file);
            assert!(named, "{} byte {place}: {report:?}", file.display());
            // Padding between sections is read by nobody: then the content is what it was.
            match store.digest(&Cancel::new()) {
                Ok(digest) => assert_eq!(digest.to_string(), sound, "{} byte {place}", file.display()),
                Err(error) => assert!(
                    matches!(&error, LedgerError::Corrupt { file: damaged, .. } if damaged == file)
                        || matches!(error, LedgerError::OtherFormat { .. }),
                    "{error}"
                ),
            }
        }
        for cut in [0, 1, good.len() / 2, good.len() - 1] {
            std::fs::write(file, &good[..cut]).unwrap();
            let store = Store::open(folder.path()).unwrap();
            assert!(matches!(store.snapshot(), Err(LedgerError::Corrupt { .. })), "{} cut to {cut}", file.display());
            assert!(!store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
        }
        std::fs::write(file, &good).unwrap();
    }
    for file in &files[1..] {
        let good = std::fs::read(file).unwrap();
        std::fs::remove_file(file).unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert!(matches!(store.snapshot(), Err(LedgerError::Corrupt { .. })), "{} is missing", file.display());
        std::fs::write(file, &good).unwrap();
    }
    let report = Store::open(folder.path()).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// A disk whose n-th operation fails.
struct FaultyDisk {
    left: Arc<AtomicU32>,
    disk: SystemDisk,
}

fn step(left: &AtomicU32) -> std::io::Result<()> {
    match left.fetch_sub(1, Ordering::Relaxed) {
        0 => Err(std::io::Error::other("a fault made by the test")),
        _ => Ok(()),
    }
}

struct FaultyFile {
    left: Arc<AtomicU32>,
    file: Box<dyn DiskFile>,
}

impl DiskFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        step(&self.left)?;
        self.file.append(bytes)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        step(&self.left)?;
        self.file.sync()
    }
}

impl Disk for FaultyDisk {
    fn create_folder(&mut self, path: &Path) -> std::io::Result<()> {
        self.disk.create_folder(path)
    }

    fn create(&mut self, path: &Path) -> std::io::Result<Box<dyn DiskFile>> {
        step(&self.left)?;
        Ok(Box::new(FaultyFile { left: Arc::clone(&self.left), file: self.disk.create(path)? }))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> std::io::Result<()> {
        step(&self.left)?;
        self.disk.rename(from, to)
    }

    fn sync_folder(&mut self, path: &Path) -> std::io::Result<()> {
        step(&self.left)?;
        self.disk.sync_folder(path)
    }

    fn remove(&mut self, path: &Path) -> std::io::Result<()> {
        self.disk.remove(path)
    }
}

#[test]
fn disk_fault_leaves_whole_commits_and_latches_the_writer() {
    let mut outcomes = [0_u32; 3];
    for fault in (0..80).step_by(if is_full() { 1 } else { 3 }) {
        let folder = tempfile::tempdir().unwrap();
        drop(writer(folder.path()));
        let disk = FaultyDisk { left: Arc::new(AtomicU32::new(fault)), disk: SystemDisk };
        let Ok(mut faulty) = Writer::open_on(folder.path(), Box::new(disk)) else { continue };
        let mut acknowledged = 0;
        for round in 0..3 {
            match faulty.commit(transfers(1 + 2 * round, 2), &Cancel::new()) {
                Ok(_) => acknowledged += 1,
                Err(LedgerError::Io { action: "cannot write", .. }) => {
                    outcomes[0] += 1;
                    faulty.commit(transfers(1 + 2 * round, 2), &Cancel::new()).expect("space came back");
                    acknowledged += 1;
                }
                Err(LedgerError::Io { .. }) => {
                    outcomes[1] += 1;
                    let again = faulty.commit(transfers(100, 2), &Cancel::new());
                    assert!(matches!(again, Err(LedgerError::Latched { .. })));
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        outcomes[2] += u32::from(acknowledged == 3);
        drop(faulty);
        let store = Store::open(folder.path()).unwrap();
        let held = store.current().unwrap().coverage().get(&CHAIN).map_or(0, |coverage| coverage.transactions);
        // A manifest whose name could not be synced may be there or not; nothing else is in between.
        assert!(held == 2 * acknowledged || held == 2 * (acknowledged + 1), "{held} of {acknowledged}");
        assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
        drop(Writer::open_or_create(folder.path()).unwrap());
    }
    assert!(outcomes.iter().all(|count| *count > 0), "each outcome occurs: {outcomes:?}");
}

#[test]
fn watching_reader_finds_all_generations_and_holds_few_open() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let store = Store::open(folder.path()).unwrap();
    let mut seen = Vec::new();
    for round in 1..=100 {
        writer.commit(transfers(round, 1), &Cancel::new()).unwrap();
        let ledger = store.current().unwrap();
        seen.push((ledger.generation(), round, Arc::downgrade(&ledger)));
    }
    let open = seen.iter().filter(|(_, _, ledger)| ledger.strong_count() > 0).count();
    println!("open after {} commits: {open}", seen.len());
    assert!(open <= 17, "{open}");
    for (generation, transactions, _) in seen {
        let ledger = store.generation(generation).unwrap();
        assert_eq!((ledger.generation(), ledger.coverage()[&CHAIN].transactions), (generation, transactions));
    }
}

/// Makes every file look as if it had been written so long ago.
fn age(folder: &Path, secs: u64) {
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(secs);
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            age(&entry, secs);
        } else {
            std::fs::File::options().write(true).open(entry).unwrap().set_modified(past).unwrap();
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn replaced_generations_are_deleted_after_15_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    for round in 0..9 {
        writer.commit(transfers(1 + round, 1), &Cancel::new()).unwrap();
    }
    let segments = folder.path().join("segments");
    std::fs::write(segments.join("left-by-a-crash.segment"), b"half a segm").unwrap();
    std::fs::write(folder.path().join("notes.txt"), b"of somebody else").unwrap();
    let early = Store::open(folder.path()).unwrap();
    let pinned = early.generation(4).unwrap();
    assert_eq!(names(&segments).len(), 11, "nine commits, one merge, one leftover: {:?}", names(&segments));

    age(folder.path(), 16 * 60);
    assert!(matches!(Store::open(folder.path()).unwrap().generation(4), Err(LedgerError::GenerationGone { .. })));
    writer.commit(transfers(20, 1), &Cancel::new()).unwrap();
    let manifests =
        || names(folder.path()).into_iter().filter(|name| name.starts_with("manifest-")).collect::<Vec<_>>();
    assert_eq!(manifests(), ["manifest-0000000011.json", "manifest-0000000012.json"], "the one replaced now is kept");
    assert_eq!(names(&segments).len(), 3, "the merged one and two new ones: {:?}", names(&segments));
    assert!(folder.path().join("notes.txt").exists());
    assert!(pinned.find_transaction(CHAIN, &hash(1, 0)).unwrap().is_some(), "a pinned generation stays readable");
    assert_eq!(early.current().unwrap().coverage()[&CHAIN].transactions, 10);
}

#[test]
fn verification_ignores_files_collected_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let writer = std::cell::RefCell::new(writer(folder.path()));
    let commit = |block| writer.borrow_mut().commit(transfers(block, 1), &Cancel::new()).unwrap();
    for block in 1..8 {
        commit(block);
    }
    let collected = std::cell::Cell::new(false);
    let progress = |_, _| {
        if !collected.replace(true) {
            commit(8); // The eighth small segment: all of them are merged.
            commit(9);
            age(folder.path(), 16 * 60);
            commit(10);
        }
    };
    let report = Store::open(folder.path()).unwrap().verify(&progress, &Cancel::new()).unwrap();
    assert!(collected.get() && report.is_sound(), "{report:?}");
    assert_eq!(report.generation, writer.borrow().snapshot().generation());
}

#[test]
fn small_commits_leave_few_segments_and_few_rewrites() {
    let folder = tempfile::tempdir().unwrap();
    let mut live = writer(folder.path());
    let mut straight = MemoryStore::default();
    for round in 0..200 {
        let report = live.commit(transfers(1 + 3 * round, 3), &Cancel::new()).unwrap();
        assert_eq!(report.merges, Merges::Done);
        assert!(report.written_bytes > 0);
    }
    straight.commit(transfers(1, 600), &Cancel::new()).unwrap();
    let stats = Store::open(folder.path()).unwrap().stats().unwrap();
    // Tiers of 3, 24 and 192 movements, seven segments of each at most.
    assert!(stats.chains[&CHAIN].segments <= 21, "{stats:?}");
    assert_eq!(digest(folder.path()), straight.digest(&Cancel::new()).unwrap().to_string());
    let report = live.compact(CHAIN, &|done, total| assert!(done <= total), &Cancel::new()).unwrap();
    assert_eq!((report.segments_before, report.segments), (stats.chains[&CHAIN].segments, 1));
    assert_eq!(live.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap().written_bytes, 0, "nothing more to merge");
    assert_eq!(digest(folder.path()), straight.digest(&Cancel::new()).unwrap().to_string());
    let compact = Store::open(folder.path()).unwrap().stats().unwrap();
    assert_eq!(compact.written_segment_bytes, stats.written_segment_bytes + report.written_bytes);
    drop(live);
    assert_eq!(
        Writer::open_or_create(folder.path()).unwrap().commit(transfers(1, 600), &Cancel::new()).unwrap().unchanged,
        600
    );
}

#[test]
fn cancelled_merge_keeps_the_commit_and_is_made_up_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    for round in 0..7 {
        writer.commit(transfers(1 + round, 1), &Cancel::new()).unwrap();
    }
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(matches!(writer.commit(transfers(20, 1), &cancel), Err(LedgerError::Cancelled(_))));
    writer.commit(transfers(20, 1), &Cancel::new()).unwrap();
    assert_eq!(Store::open(folder.path()).unwrap().stats().unwrap().chains[&CHAIN].segments, 1);
    assert!(matches!(writer.compact(CHAIN, &|_, _| {}, &cancel), Ok(report) if report.segments == 1));
}

#[test]
fn segments_too_far_apart_are_not_merged_or_retried() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    for round in 0..8 {
        writer.commit(transfers(1 + round * (1 << 31), 1), &Cancel::new()).unwrap();
    }
    let stats = || Store::open(folder.path()).unwrap().stats().unwrap();
    assert_eq!(stats().chains[&CHAIN].segments, 8);
    let generation = stats().generation;
    let report = writer.commit(transfers(5, 1), &Cancel::new()).unwrap();
    assert_eq!(report.generation, generation + 1, "a commit and no merge");
    drop(writer);
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let report = writer.commit(transfers(6, 1), &Cancel::new()).unwrap();
    assert_eq!(report.generation, generation + 2, "remembered by the store, not by the process");
    let report = writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
    assert_eq!(report.segments, 9, "the two that are near each other");
}
