//! Generations that readers hold: they outlive their collection, and their files make a store.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use headwater_ledger::facts::Batch;
use headwater_ledger::read::{Generation, Generations, Ledger};
use headwater_ledger::store::disk::{Disk, DiskFile, SystemDisk};
use headwater_ledger::store::{HOLD_SECS, MemoryStore, PinnedStore, StoreFile, Writer};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::{Chainlet, address, hash};
use headwater_types::Chain;

const CHAIN: Chain = Chain::ETHEREUM;
/// More than a replaced generation is kept without a hold.
const LATER: u64 = 16 * 60;

fn transfer(block: u64) -> Batch {
    Chainlet::ethereum().at_block(block).transfer(block % 5, 7, block).fee(1).batch()
}

fn commit(writer: &mut Writer, block: u64) -> u64 {
    writer.commit(transfer(block), &Cancel::new()).unwrap().generation
}

fn transactions(ledger: &dyn Ledger) -> u64 {
    ledger.coverage()[&CHAIN].transactions
}

/// Makes every file look as if it had been written so long ago.
fn age(folder: &Path, secs: u64) {
    let past = SystemTime::now() - Duration::from_secs(secs);
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            age(&entry, secs);
        } else {
            fs::File::options().write(true).open(entry).unwrap().set_modified(past).unwrap();
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The generations whose manifests are there.
fn generations(folder: &Path) -> Vec<u64> {
    let number = |name: String| name.strip_prefix("manifest-")?.strip_suffix(".json")?.parse().ok();
    names(folder).into_iter().filter_map(number).collect()
}

/// The names of all listed files that are there.
fn listed(folder: &Path) -> Vec<String> {
    let of =
        |kind: &str| names(&folder.join(kind)).into_iter().map(|name| format!("{kind}/{name}")).collect::<Vec<_>>();
    names(folder)
        .iter()
        .filter(|name| folder.join(name).is_dir() && *name != "holds")
        .flat_map(|kind| of(kind))
        .collect()
}

fn file_names(files: &[StoreFile]) -> Vec<String> {
    files.iter().map(|file| file.name.clone()).collect()
}

/// A store with nine commits: generations 2 to 9 add a transaction each, 10 merges eight segments, 11 adds one more.
fn nine_commits(folder: &Path) -> Writer {
    let mut writer = Writer::open_or_create(folder).unwrap();
    for block in 1..=9 {
        commit(&mut writer, block);
    }
    writer
}

#[test]
fn held_generation_and_its_files_outlive_the_collection() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = nine_commits(folder.path());
    let pinned = PinnedStore::open(folder.path(), 4).unwrap();
    assert!(pinned.is_held() && pinned.warning().is_none());
    assert_eq!(names(&folder.path().join("holds")).len(), 1);

    age(folder.path(), LATER);
    commit(&mut writer, 20);
    assert_eq!(generations(folder.path()), [4, 11, 12], "the held one, the one replaced now and the newest");
    let store = Store::open(folder.path()).unwrap();
    let mut expected: Vec<String> = [4, 11, 12]
        .into_iter()
        .flat_map(|generation| file_names(&store.files(Some(generation)).unwrap().1))
        .filter(|name| !name.starts_with("manifest-"))
        .collect();
    expected.sort();
    expected.dedup();
    assert_eq!(listed(folder.path()), expected, "exactly what the three list");

    // The same hold serves every other reader.
    assert_eq!(transactions(&*store.generation(4).unwrap()), 3);
    assert_eq!(transactions(&*PinnedStore::open(folder.path(), 4).unwrap().current().unwrap()), 3);
    assert!(matches!(store.generation(5), Err(LedgerError::GenerationGone { generation: 5 })));
    assert_eq!(transactions(&*pinned.current().unwrap()), 3);
    assert!(pinned.current().unwrap().find_transaction(CHAIN, &hash(3, 0)).unwrap().is_some());
    assert_eq!(pinned.feed().unwrap().newest(), 0);
    assert_eq!(transactions(&*pinned.generation(12).unwrap()), 10, "others are read by their number");

    // A writer that is opened later reads from the manifests what is held.
    drop(writer);
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    age(folder.path(), LATER);
    commit(&mut writer, 21);
    assert_eq!(generations(folder.path()), [4, 12, 13]);
    let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");

    // A ledger keeps the hold as the store does.
    let ledger = pinned.current().unwrap();
    drop(pinned);
    age(folder.path(), LATER);
    commit(&mut writer, 22);
    assert_eq!(generations(folder.path()), [4, 13, 14]);
    drop(ledger);
    assert_eq!(names(&folder.path().join("holds")), [""; 0]);
    age(folder.path(), LATER);
    commit(&mut writer, 23);
    assert_eq!(generations(folder.path()), [14, 15]);
    let error = PinnedStore::open(folder.path(), 4).err().unwrap();
    assert!(matches!(error, LedgerError::UnknownGeneration { generation: 4, .. }), "{error}");
}

#[test]
fn pin_of_an_unknown_generation_names_those_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = nine_commits(folder.path());
    let _pinned = PinnedStore::open(folder.path(), 4).unwrap();
    age(folder.path(), LATER);
    commit(&mut writer, 20);
    let expected = format!(
        "{} does not have generation 7, it has 4, 11 to 12; name one of these, or none for the newest",
        folder.path().display()
    );
    assert_eq!(PinnedStore::open(folder.path(), 7).err().unwrap().to_string(), expected);
    assert_eq!(Store::open(folder.path()).unwrap().files(Some(7)).err().unwrap().to_string(), expected);
    assert_eq!(names(&folder.path().join("holds")).len(), 1, "no hold is left by a failure");
    let nowhere = folder.path().join("nowhere");
    assert!(matches!(PinnedStore::open(&nowhere, 1), Err(LedgerError::NoStore { .. })));
    assert!(!nowhere.exists());
}

#[test]
fn hold_without_refresh_is_collected_after_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = nine_commits(folder.path());
    let holds = folder.path().join("holds");
    // Of a reader that was killed, in the middle of its first write.
    let hold = holds.join("0000000004-00ff00ff00ff00ff.json");
    fs::write(&hold, b"").unwrap();
    for foreign in ["notes.txt", "0000000005.json", "0000000005-xyz.json", "x-00ff00ff00ff00ff.json"] {
        fs::write(holds.join(foreign), b"of somebody else").unwrap();
    }
    age(folder.path(), HOLD_SECS - 60);
    commit(&mut writer, 20);
    assert_eq!(generations(folder.path()), [4, 11, 12]);
    assert!(hold.exists());
    age(folder.path(), HOLD_SECS + 60);
    commit(&mut writer, 21);
    assert_eq!(generations(folder.path()), [12, 13]);
    assert_eq!(names(&holds).len(), 4, "the dead hold is deleted, other files are not: {:?}", names(&holds));
    let store = Store::open(folder.path()).unwrap();
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
    let mut memory = MemoryStore::default();
    for block in (1..=9).chain([20, 21]) {
        memory.commit(transfer(block), &Cancel::new()).unwrap();
    }
    assert_eq!(store.digest(&Cancel::new()).unwrap(), memory.digest(&Cancel::new()).unwrap());
}

/// The point at which a collection breaks off after a reader took its hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interruption {
    None,
    /// So many renames fail.
    Renames(usize),
    /// The folder of holds cannot be listed: a file is in its place.
    Listing,
}

/// A disk on which a reader takes its hold when the manifest of its generation is about to be set aside.
struct RacingDisk {
    disk: SystemDisk,
    pinned: Arc<Mutex<Option<PinnedStore>>>,
    interruption: Interruption,
}

impl RacingDisk {
    /// Opens a writer on such a disk, with the place where the reader is to be found.
    fn writer(folder: &Path, interruption: Interruption) -> (Writer, Arc<Mutex<Option<PinnedStore>>>) {
        let pinned = Arc::new(Mutex::new(None));
        let disk = Self { disk: SystemDisk, pinned: Arc::clone(&pinned), interruption };
        (Writer::open_on(folder, Box::new(disk)).unwrap(), pinned)
    }
}

impl Disk for RacingDisk {
    fn create_folder(&mut self, path: &Path) -> std::io::Result<()> {
        self.disk.create_folder(path)
    }

    fn create(&mut self, path: &Path) -> std::io::Result<Box<dyn DiskFile>> {
        self.disk.create(path)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> std::io::Result<()> {
        let mut pinned = self.pinned.lock().unwrap();
        if pinned.is_some()
            && let Interruption::Renames(left @ 1..) = &mut self.interruption
        {
            *left -= 1;
            return Err(std::io::Error::other("a fault made by the test"));
        }
        if pinned.is_none() && from.ends_with("manifest-0000000004.json") {
            let root = from.parent().unwrap();
            *pinned = Some(PinnedStore::open(root, 4).unwrap());
            if self.interruption == Interruption::Listing {
                fs::rename(root.join("holds"), root.join("elsewhere")).unwrap();
                fs::write(root.join("holds"), b"a file").unwrap();
            }
        }
        self.disk.rename(from, to)
    }

    fn sync_folder(&mut self, path: &Path) -> std::io::Result<()> {
        self.disk.sync_folder(path)
    }

    fn remove(&mut self, path: &Path) -> std::io::Result<()> {
        self.disk.remove(path)
    }
}

#[test]
fn hold_taken_during_a_collection_keeps_the_generation() {
    let folder = tempfile::tempdir().unwrap();
    drop(nine_commits(folder.path()));
    let (mut writer, pinned) = RacingDisk::writer(folder.path(), Interruption::None);
    age(folder.path(), LATER);
    commit(&mut writer, 20);
    assert_eq!(generations(folder.path()), [4, 11, 12]);
    check_held(folder.path(), &pinned);
}

/// Checks that generation 4 is whole and held, and that no manifest is set aside.
fn check_held(folder: &Path, pinned: &Mutex<Option<PinnedStore>>) {
    let (_, files) = Store::open(folder).unwrap().files(Some(4)).unwrap();
    assert!(files.iter().all(|file| folder.join(&file.name).exists()), "{files:?}");
    let pinned = pinned.lock().unwrap();
    let pinned = pinned.as_ref().unwrap();
    assert_eq!(pinned.warning(), None);
    assert_eq!(transactions(&*pinned.current().unwrap()), 3);
    assert_eq!(transactions(&*PinnedStore::open(folder, 4).unwrap().current().unwrap()), 3);
    let names = names(folder);
    assert!(names.iter().all(|name| !name.contains(".tmp") && !name.contains(".aside")), "{names:?}");
}

#[test]
fn hold_taken_before_a_collection_fails_keeps_the_generation() {
    // The second rename fails; then those that would undo the first ones as well.
    for interruption in [Interruption::Renames(1), Interruption::Renames(5), Interruption::Listing] {
        let folder = tempfile::tempdir().unwrap();
        drop(nine_commits(folder.path()));
        let (mut writer, pinned) = RacingDisk::writer(folder.path(), interruption);
        age(folder.path(), LATER);
        commit(&mut writer, 20);
        let is_undone = interruption != Interruption::Renames(5);
        let shown = if is_undone { 1..=12 } else { 5..=12 };
        assert_eq!(generations(folder.path()), shown.collect::<Vec<_>>(), "{interruption:?}");
        if interruption == Interruption::Listing {
            fs::remove_file(folder.path().join("holds")).unwrap();
            fs::rename(folder.path().join("elsewhere"), folder.path().join("holds")).unwrap();
        }
        commit(&mut writer, 21);
        assert_eq!(generations(folder.path()), [4, 11, 12, 13], "{interruption:?}");
        check_held(folder.path(), &pinned);
    }
}

#[test]
fn writer_restores_generations_that_a_killed_one_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    drop(nine_commits(folder.path()));
    let (mut killed, pinned) = RacingDisk::writer(folder.path(), Interruption::Renames(usize::MAX));
    age(folder.path(), LATER);
    commit(&mut killed, 20);
    assert_eq!(generations(folder.path()), (5..=12).collect::<Vec<_>>());
    drop(killed);
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    assert_eq!(generations(folder.path()), (1..=12).collect::<Vec<_>>());
    check_held(folder.path(), &pinned);
    commit(&mut writer, 21);
    assert_eq!(generations(folder.path()), [4, 11, 12, 13]);
    check_held(folder.path(), &pinned);
}

#[test]
fn pin_of_a_deleted_generation_lapses() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = nine_commits(folder.path());
    let pinned = PinnedStore::open(folder.path(), 4).unwrap();
    let holds = folder.path().join("holds");
    fs::remove_file(holds.join(names(&holds).remove(0))).unwrap();
    age(folder.path(), LATER);
    commit(&mut writer, 20);
    assert_eq!(generations(folder.path()), [11, 12]);
    assert!(!pinned.is_held());
    let warning = pinned.warning().unwrap();
    assert!(warning.starts_with("generation 4 is no longer held: "), "{warning}");
    assert!(warning.contains("manifest-0000000004.json is missing"), "{warning}");
}

#[test]
fn folder_without_write_access_is_read_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let writer = nine_commits(folder.path());
    let holds = folder.path().join("holds");
    let warning = format!(
        "{0} cannot be written to, so generation 4 is not held: writers may delete it 15 minutes after it was replaced; \
         let the owner of the store run `install -d -m 1777 '{0}'`, or pin the generation from another process that \
         may write there",
        holds.display()
    );
    fs::remove_dir(&holds).unwrap();
    // Nobody can make a file in the folder of the kernel.
    symlink("/sys", &holds).unwrap();
    let pinned = PinnedStore::open(folder.path(), 4).unwrap();
    assert!(!pinned.is_held());
    assert_eq!(pinned.warning().unwrap(), warning);
    assert_eq!(transactions(&*pinned.current().unwrap()), 3);
    fs::remove_file(&holds).unwrap();
    // The folder is the writer's to make, so that it is not another user's.
    assert_eq!(PinnedStore::open(folder.path(), 4).unwrap().warning().unwrap(), warning);
    assert!(!holds.exists());
    drop(writer);
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    assert!(holds.is_dir());
    assert!(PinnedStore::open(folder.path(), 4).unwrap().is_held());
    age(folder.path(), LATER);
    commit(&mut writer, 20);
    assert_eq!(generations(folder.path()), [11, 12]);
    assert_eq!(transactions(&*pinned.current().unwrap()), 3, "open files stay readable on this machine");
    assert!(pinned.fingerprint(4).unwrap().is_some());

    // Other faults are errors that name the file.
    fs::remove_dir(&holds).unwrap();
    fs::write(&holds, b"a file").unwrap();
    let error = PinnedStore::open(folder.path(), 12).err().unwrap();
    assert!(matches!(error, LedgerError::Io { action: "cannot write", .. }), "{error}");
}

fn answers(ledger: &dyn Ledger) -> Vec<String> {
    let account = ledger.account(CHAIN, &address(CHAIN, 7)).unwrap();
    let blocks = (1..=30).filter_map(|block| ledger.find_transaction(CHAIN, &hash(block, 0)).unwrap());
    blocks.map(|found| format!("{found:?} {account:?}")).collect()
}

#[test]
fn copied_files_of_a_generation_are_the_store_at_it() {
    let folder = tempfile::tempdir().unwrap();
    let (root, copy) = (folder.path().join("store"), folder.path().join("copy"));
    let mut writer = nine_commits(&root);
    let digest = Store::open(&root).unwrap().digest(&Cancel::new()).unwrap();
    let pinned = PinnedStore::open(&root, 11).unwrap();
    commit(&mut writer, 20);

    let (generation, files) = Store::open(&root).unwrap().files(Some(11)).unwrap();
    assert_eq!(generation, 11);
    assert_eq!(files.last().unwrap().name, "manifest-0000000011.json");
    for file in &files {
        let (from, to) = (root.join(&file.name), copy.join(&file.name));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&from, &to).unwrap();
        let bytes = fs::read(&to).unwrap();
        assert_eq!(file.bytes, bytes.len() as u64);
        assert_eq!(file.digest, format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&bytes)));
    }
    let copied = Store::open(&copy).unwrap();
    assert_eq!(copied.snapshot().unwrap().generation(), 11);
    assert_eq!(copied.digest(&Cancel::new()).unwrap(), digest);
    assert!(copied.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
    assert_eq!(copied.files(None).unwrap(), (generation, files.clone()));
    assert_eq!(answers(&*copied.current().unwrap()), answers(&*pinned.current().unwrap()));
    assert_eq!(answers(&*copied.current().unwrap()).len(), 9);

    let fingerprint = Some(files.last().unwrap().digest.clone());
    for store in [&copied as &dyn Generations, &pinned, &Store::open(&root).unwrap()] {
        assert_eq!(store.fingerprint(11).unwrap(), fingerprint);
    }
    assert_ne!(pinned.fingerprint(12).unwrap(), fingerprint);
    assert_eq!(MemoryStore::default().fingerprint(1).unwrap(), None);

    // A writer continues the copy.
    drop(writer);
    let mut writer = Writer::open_or_create(&copy).unwrap();
    assert_eq!(commit(&mut writer, 20), 12);
    assert_eq!(copied.digest(&Cancel::new()).unwrap(), Store::open(&root).unwrap().digest(&Cancel::new()).unwrap());
}

#[test]
fn hold_names_its_reader_and_keeps_other_commands_working() {
    let folder = tempfile::tempdir().unwrap();
    let writer = nine_commits(folder.path());
    let store = Store::open(folder.path()).unwrap();
    let state = || (store.stats().unwrap(), store.digest(&Cancel::new()).unwrap());
    let before = state();
    let pinned = PinnedStore::open(folder.path(), 4).unwrap();
    let hold = names(&folder.path().join("holds")).remove(0);
    assert!(hold.starts_with("0000000004-"), "{hold}");
    let text = fs::read(folder.path().join("holds").join(hold)).unwrap();
    let text: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&text["generation"], &text["process"]), (&4.into(), &std::process::id().into()));
    assert!(text["since"].as_u64().unwrap() > 1_700_000_000);
    assert_eq!(state(), before);
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
    drop((pinned, writer));
}

/// A server keeps the generation that it served before where a newer one cannot be read, and takes the newer one as soon
/// as it can; one that has served none fails, and so does a store without a fallback.
#[test]
fn unreadable_generation_leaves_the_one_before_in_service() {
    let place = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(place.path()).unwrap();
    let first = commit(&mut writer, 1);
    let (server, reader) = (Store::open(place.path()).unwrap().with_fallback(), Store::open(place.path()).unwrap());
    for store in [&server, &reader] {
        assert_eq!((store.current().unwrap().generation(), store.stale()), (first, None));
    }
    let second = commit(&mut writer, 2);
    let manifest = place.path().join(format!("manifest-{second:010}.json"));
    let whole = fs::read(&manifest).unwrap();
    fs::write(&manifest, "{").unwrap();
    assert_eq!((server.current().unwrap().generation(), transactions(&*server.current().unwrap())), (first, 1));
    let stale = server.stale().unwrap();
    assert_eq!((stale.served, stale.unreadable), (first, second));
    assert!(stale.error.contains("manifest-"), "{}", stale.error);
    assert!(reader.current().is_err() && reader.stale().is_none());
    assert!(Store::open(place.path()).unwrap().with_fallback().current().is_err(), "it has served nothing yet");
    // The files of what is served are held as long as it is.
    assert_eq!(names(&place.path().join("holds")).len(), 1);
    // A newer generation that can be read is taken at once, an unreadable one that was put right within seconds.
    fs::write(&manifest, whole).unwrap();
    let started = std::time::Instant::now();
    while server.stale().is_some() {
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", server.stale());
        std::thread::sleep(Duration::from_millis(100));
        server.current().unwrap();
    }
    assert_eq!((server.current().unwrap().generation(), transactions(&*server.current().unwrap())), (second, 2));
    assert_eq!(names(&place.path().join("holds")).len(), 0);
}

/// Another account reads what is committed, under whichever `umask`.
#[test]
fn files_of_a_commit_have_the_permissions_of_their_folders() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("store");
    fs::create_dir(&store).unwrap();
    fs::set_permissions(&store, fs::Permissions::from_mode(0o2770)).unwrap();
    commit(&mut Writer::open_or_create(&store).unwrap(), 1);
    let mut checked = 0;
    let mut folders = vec![store];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()) {
            let expected = if entry.file_type().unwrap().is_dir() { 0o2770 } else { 0o660 };
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o7777, expected, "{:?}", entry.path());
            if expected == 0o2770 {
                folders.push(entry.path());
            }
            checked += 1;
        }
    }
    assert!(checked > 5, "{checked}");
}
