//! The change feed of a store: its items, in one change with what they describe, and how long it keeps them.

use std::io;
use std::path::Path;

use headwater_ledger::facts::{Batch, MovementFact};
use headwater_ledger::feed::{Feed, FeedItem, FeedLimits, NewTransaction};
use headwater_ledger::read::{Generation as _, Generations};
use headwater_ledger::store::disk::{Disk, DiskFile, SystemDisk};
use headwater_ledger::store::{MemoryStore, Writer};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::{Chainlet, followed};
use headwater_types::Chain;

const CHAIN: Chain = Chain::ETHEREUM;

/// A disk that is not waited for: many small changes would otherwise take their time.
struct FastDisk(SystemDisk);

struct FastFile(Box<dyn DiskFile>);

impl DiskFile for FastFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for FastDisk {
    fn create_folder(&mut self, path: &Path) -> io::Result<()> {
        self.0.create_folder(path)
    }

    fn create(&mut self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FastFile(self.0.create(path)?)))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn sync_folder(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
}

fn writer(path: &Path) -> Writer {
    Writer::open_on(path, Box::new(FastDisk(SystemDisk))).unwrap()
}

/// A block of one transfer from the account of the fork, on a block of another fork.
fn block(number: u64, fork: u8, parent_fork: u8) -> Batch {
    let batch = Chainlet::ethereum().at_block(number).transfer(u64::from(fork), 7, number).fee(1);
    let batch = batch.with(|facts| {
        let mut bytes = [fork; 32];
        bytes[24..].copy_from_slice(&number.to_be_bytes());
        facts.hash = headwater_types::TxHash::new(bytes);
    });
    followed(batch.batch(), fork, parent_fork)
}

fn items(feed: &Feed) -> Vec<FeedItem> {
    feed.after(feed.oldest() - 1, usize::MAX).unwrap()
}

/// Height, fork, whether taken back, adoption, head.
fn reported(feed: &Feed) -> Vec<(u64, u8, bool, u32, u64)> {
    let fork = |item: &FeedItem| item.hash.map_or(0, |hash| hash.as_bytes()[31]);
    items(feed).iter().map(|item| (item.number, fork(item), item.removed, item.adoption, item.head)).collect()
}

fn amounts(transactions: &[NewTransaction]) -> Vec<String> {
    transactions.iter().filter_map(|new| Some(new.transaction.facts.body?.value.to_string())).collect()
}

#[test]
fn followed_block_has_items_when_added_and_when_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut live = writer(folder.path());
    let mut memory = MemoryStore::default();
    let reader = Store::open(folder.path()).unwrap();
    assert_eq!((reader.feed().unwrap().oldest(), reader.feed().unwrap().newest()), (1, 0));
    for number in 5..=7 {
        live.append_tail_block(block(number, 1, 1)).unwrap();
        memory.append_tail_block(block(number, 1, 1)).unwrap();
    }
    // 6 and 7 go, another 6 comes, goes again, and the first 6 is back.
    for (back_to, number, fork) in [(5, 6, 2), (5, 6, 1)] {
        live.roll_back_tail(CHAIN, back_to).unwrap();
        memory.roll_back_tail(CHAIN, back_to).unwrap();
        live.append_tail_block(block(number, fork, 1)).unwrap();
        memory.append_tail_block(block(number, fork, 1)).unwrap();
    }
    let feed = reader.feed().unwrap();
    let expected = [
        (5, 1, false, 0, 5),
        (6, 1, false, 0, 6),
        (7, 1, false, 0, 7),
        (7, 1, true, 0, 5),
        (6, 1, true, 0, 5),
        (6, 2, false, 0, 6),
        (6, 2, true, 0, 5),
        (6, 1, false, 1, 6),
    ];
    assert_eq!(reported(&feed), expected);
    assert_eq!(reported(&memory.feed().unwrap()), expected);
    let positions: Vec<u64> = items(&feed).iter().map(|item| item.position).collect();
    assert_eq!(positions, (1..=8).collect::<Vec<_>>());
    assert_eq!(feed.untold(), 0);
    for item in items(&feed) {
        assert_eq!(item.time.secs(), 1_600_000_000 + 12 * i64::try_from(item.number).unwrap());
        let transactions = feed.transactions(item.position).unwrap();
        assert_eq!(amounts(&transactions), [item.number.to_string()]);
        assert_eq!(transactions, memory.feed().unwrap().transactions(item.position).unwrap());
        assert_eq!(transactions[0].transaction.block_hash, item.hash);
    }
    // A block taken back a second time has the number of its second adoption.
    live.roll_back_tail(CHAIN, 5).unwrap();
    assert_eq!(reported(&reader.feed().unwrap()).last(), Some(&(6, 1, true, 1, 5)));
    assert_ne!(feed.store().to_string(), "0".repeat(32));
}

#[test]
fn history_load_makes_items_only_when_asked_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let silent = Chainlet::ethereum().transfer(1, 2, 10).transfer(2, 3, 20).batch();
    let generation = writer.commit(silent.clone(), &Cancel::new()).unwrap().generation;
    assert_eq!((writer.feed().newest(), writer.feed().untold()), (0, generation));

    writer.begin_events();
    // Known already, a new block of two, and one more.
    let batch_with_events = Chainlet::ethereum()
        .transfer(1, 2, 10)
        .transfer(2, 3, 20)
        .transfer(3, 4, 30)
        .same_block()
        .transfer(3, 5, 31)
        .token_transfer(9, 4, 5, 40)
        .batch();
    writer.commit(batch_with_events.clone(), &Cancel::new()).unwrap();
    let feed = writer.feed();
    assert_eq!(reported(&feed), [(3, 0, false, 0, 4), (4, 0, false, 0, 4)]);
    assert!(items(&feed).iter().all(|item| item.hash.is_none()));
    assert_eq!(amounts(&feed.transactions(1).unwrap()), ["30", "31"]);
    assert_eq!(amounts(&feed.transactions(2).unwrap()), ["0"]);
    assert_eq!(feed.untold(), generation, "all of it has items");

    writer.commit(batch_with_events, &Cancel::new()).unwrap();
    writer.commit(silent, &Cancel::new()).unwrap();
    assert_eq!(writer.feed().newest(), 2, "nothing of it is new");
}

#[test]
fn item_of_a_grown_transaction_has_its_earlier_facts() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.begin_events();
    let chain = || Chainlet::ethereum().transfer(1, 2, 10);
    writer.commit(chain().batch(), &Cancel::new()).unwrap();
    // A source that states the fee alone adds no movement.
    writer.commit(chain().fee(3).batch(), &Cancel::new()).unwrap();
    assert_eq!(writer.feed().newest(), 1);
    assert!(writer.feed().untold() > 0, "the fee changed a balance");
    writer.commit(chain().internal(2, 3, 4).token_movement(9, 1, 2, 5).batch(), &Cancel::new()).unwrap();
    let feed = writer.feed();
    assert_eq!(feed.newest(), 2);
    let [gained] = &feed.transactions(2).unwrap()[..] else { panic!("one transaction") };
    let before = gained.before.as_ref().unwrap();
    assert!(before.movements.is_empty() && before.body.is_some());
    let facts = &gained.transaction.facts;
    let new = headwater_ledger::feed::new_movements(before, facts);
    let kinds: Vec<_> = new.iter().map(|place| facts.movements[*place].kind).collect();
    assert_eq!(kinds, [MovementFact::Internal, MovementFact::Token]);
}

#[test]
fn new_output_makes_an_item_of_its_spender() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.begin_events();
    let spends = Chainlet::bitcoin().at_block(9).spend(&[(3, 0, 0)], &[(5, 40)]).batch();
    writer.commit(spends, &Cancel::new()).unwrap();
    writer.commit(Chainlet::bitcoin().at_block(3).mine(4, 50).batch(), &Cancel::new()).unwrap();
    let feed = writer.feed();
    let heights: Vec<_> = items(&feed).iter().map(|item| (item.position, item.number, item.head)).collect();
    assert_eq!(heights, [(1, 9, 9), (2, 3, 9), (3, 9, 9)], "one for each block with something new, in order");
    let [spender] = &feed.transactions(3).unwrap()[..] else { panic!("one transaction") };
    let input = |facts: &headwater_ledger::facts::TransactionFacts| {
        facts.utxo.as_ref().unwrap().inputs[0].spent.as_ref().map(|output| output.amount)
    };
    assert_eq!((input(spender.before.as_ref().unwrap()), input(&spender.transaction.facts)), (None, Some(50)));
}

#[test]
fn history_of_a_followed_block_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.append_tail_block(block(5, 1, 1)).unwrap();
    let more = Chainlet::ethereum().at_block(6).transfer(1, 2, 60).same_block().transfer(1, 3, 61).batch();
    writer.append_tail_block(followed(more.clone(), 1, 1)).unwrap();
    // History states the first of the two.
    let history = Batch {
        transactions: more.transactions[..1].to_vec(),
        blocks: vec![more.blocks[0].clone()],
        ..Batch::new(CHAIN)
    };
    writer.begin_events();
    writer.commit(history, &Cancel::new()).unwrap();
    assert_eq!(writer.feed().newest(), 2, "it is nothing new");
    writer.roll_back_tail(CHAIN, 5).unwrap();
    let feed = writer.feed();
    assert_eq!(amounts(&feed.transactions(2).unwrap()), ["60", "61"]);
    assert_eq!(amounts(&feed.transactions(3).unwrap()), ["60", "61"], "both are gone");
    assert_eq!(writer.snapshot().coverage()[&CHAIN].transactions, 1);
}

/// Follows so many blocks of which every tenth is taken back and comes again.
fn follow(writer: &mut Writer, blocks: std::ops::RangeInclusive<u64>) {
    for number in blocks {
        writer.append_tail_block(block(number, 1, 1)).unwrap();
        if number % 10 == 0 {
            writer.roll_back_tail(CHAIN, number - 1).unwrap();
            writer.append_tail_block(block(number, 1, 1)).unwrap();
        }
        if number % 16 == 0 {
            writer.seal_tail(CHAIN, number - 8).unwrap();
        }
    }
}

/// Follows so many blocks from the first on, and gives the bytes of the largest manifest. Manifests and segments grow old on
/// the way, or each change goes over all that were ever written.
fn follow_long(writer: &mut Writer, blocks: u64) -> u64 {
    let past = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    let mut largest = 0;
    for first in (1..=blocks).step_by(50) {
        follow(writer, first..=blocks.min(first + 49));
        for folder in [writer.path().to_owned(), writer.path().join("segments")] {
            for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file())
            {
                let file = std::fs::File::options().write(true).open(entry.path()).unwrap();
                if folder == writer.path() {
                    largest = largest.max(file.metadata().unwrap().len());
                }
                file.set_modified(past).unwrap();
            }
        }
    }
    largest
}

#[test]
fn old_items_go_into_runs_that_read_as_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let mut live = writer(folder.path());
    let largest = follow_long(&mut live, 1000);
    let feed = Store::open(folder.path()).unwrap().feed().unwrap();
    assert_eq!((feed.oldest(), feed.newest()), (1, 1200));
    let read = items(&feed);
    assert_eq!(read.len(), 1200);
    for (position, item) in (1..).zip(&read) {
        assert_eq!(item.position, position);
        let transactions = feed.transactions(position).unwrap();
        assert_eq!(amounts(&transactions), [item.number.to_string()], "item {position}");
        assert_eq!(item.adoption, u32::from(item.number % 10 == 0 && position % 12 == 0), "item {position}");
    }
    assert_eq!(feed.after(599, 3).unwrap(), read[599..602]);
    // 1,024 items in one run, the others in short ones or one by one.
    let files = std::fs::read_dir(folder.path().join("feed")).unwrap().count();
    assert!(files <= 64, "{files} files");
    println!("1,200 items: {files} files in the folder of runs, the largest manifest has {largest} bytes");
    assert!(largest < 128 << 10, "{largest} bytes");
    let report = Store::open(folder.path()).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    // The next writer has the old blocks: adoption counts on.
    drop(live);
    let mut again = writer(folder.path());
    again.roll_back_tail(CHAIN, 999).unwrap();
    again.append_tail_block(block(1000, 1, 1)).unwrap();
    assert_eq!(reported(&again.feed()).last(), Some(&(1000, 1, false, 2, 1000)));
}

#[test]
fn items_past_the_limits_are_reported_as_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut live = writer(folder.path());
    live.keep_feed(FeedLimits { secs: 3600, items: 100, most: 1000 });
    follow_long(&mut live, 500);
    let feed = || Store::open(folder.path()).unwrap().feed().unwrap();
    assert_eq!((feed().oldest(), feed().newest()), (1, 600), "they are young");
    live.keep_feed(FeedLimits { secs: -1, items: 200, most: 1000 });
    live.append_tail_block(block(501, 1, 1)).unwrap();
    // Whole runs go: the last 200 stay, and what is in a run with one of them.
    let oldest = feed().oldest();
    assert!((300..=402).contains(&oldest), "{oldest}");
    assert!(matches!(
        feed().transactions(oldest - 1),
        Err(LedgerError::FeedGone { position, oldest: said }) if (position, said) == (oldest - 1, oldest)
    ));
    assert_eq!(items(&feed()).first().map(|item| item.position), Some(oldest));
    assert_eq!(amounts(&feed().transactions(oldest).unwrap()).len(), 1);
    live.keep_feed(FeedLimits { secs: 3600, items: 1, most: 150 });
    live.append_tail_block(block(502, 1, 1)).unwrap();
    assert!(feed().oldest() > oldest, "however young");
    let report = Store::open(folder.path()).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn files_of_the_feed_stay_while_it_lists_them_and_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut live = writer(folder.path());
    follow(&mut live, 1..=40);
    live.seal_tail(CHAIN, 40).unwrap();
    let age = |seconds: u64| {
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        for folder in ["", "segments", "feed"].map(|name| folder.path().join(name)) {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
                std::fs::File::options().write(true).open(entry.path()).unwrap().set_modified(past).unwrap();
            }
        }
    };
    age(3600);
    live.append_tail_block(block(41, 1, 1)).unwrap();
    live.collect_garbage().unwrap();
    let feed = live.feed();
    assert_eq!(feed.newest(), 49);
    for position in 1..=49 {
        assert_eq!(Store::open(folder.path()).unwrap().feed().unwrap().transactions(position).unwrap().len(), 1);
    }
    let segments = || std::fs::read_dir(folder.path().join("segments")).unwrap().count();
    let held = segments();
    assert!(held >= 41, "{held}");
    live.keep_feed(FeedLimits { secs: -1, items: 1, most: 1 });
    live.append_tail_block(block(42, 1, 1)).unwrap();
    age(3600);
    live.append_tail_block(block(43, 1, 1)).unwrap();
    live.collect_garbage().unwrap();
    age(3600);
    live.append_tail_block(block(44, 1, 1)).unwrap();
    live.collect_garbage().unwrap();
    assert!(segments() < 12, "{} segments for a tail of four blocks", segments());
}

#[test]
fn damage_to_files_of_the_feed_is_found_and_keeps_no_block_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut live = writer(folder.path());
    follow(&mut live, 1..=130);
    live.seal_tail(CHAIN, 128).unwrap();
    drop(live);
    let store = || Store::open(folder.path()).unwrap();
    let sound = |text: &str| {
        let report = store().verify(&|_, _| {}, &Cancel::new()).unwrap();
        assert_eq!(report.is_sound(), text.is_empty(), "{report:?}");
        assert!(report.problems.iter().all(|problem| problem.file.to_string_lossy().contains(text)), "{report:?}");
    };
    sound("");
    let flip = |path: &Path, at: usize| {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[at] ^= 16;
        std::fs::write(path, bytes).unwrap();
    };
    for ending in ["list", "pack"] {
        let entries = std::fs::read_dir(folder.path().join("feed")).unwrap().map(|entry| entry.unwrap().path());
        let path = entries.filter(|path| path.to_string_lossy().ends_with(ending)).min().unwrap();
        flip(&path, 5000);
        sound(ending);
        let feed = store().feed().unwrap();
        assert!(
            matches!(feed.transactions(1).and_then(|_| feed.transactions(2)), Err(LedgerError::Corrupt { .. }))
                || ending == "pack"
        );
        flip(&path, 5000);
    }
    // The segment of an item that is final since: only the feed has it.
    let feed = store().feed().unwrap();
    let stats = store().stats().unwrap();
    assert_eq!(stats.chains[&CHAIN].tail_blocks, 2);
    assert_eq!(feed.transactions(150).unwrap().len(), 1);
    let manifest = folder.path().join(format!("manifest-{:010}.json", stats.generation));
    let manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(manifest).unwrap()).unwrap();
    let recent = manifest["body"]["feed"]["recent"].as_array().unwrap();
    let first = recent[0]["rows"]["file"].as_str().unwrap();
    flip(&folder.path().join(first), 5000);
    sound(first);
    let mut live = writer(folder.path());
    let mut number = 130;
    while number < 230 {
        number += 1;
        live.append_tail_block(block(number, 1, 1)).unwrap();
    }
    flip(&folder.path().join(first), 5000);
    live.append_tail_block(block(231, 1, 1)).unwrap();
    drop(live);
    sound("");
}
