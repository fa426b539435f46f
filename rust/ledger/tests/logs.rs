//! Logs by contract and first topic are what the facts of all transactions come to: through an index, without one, and
//! over several segments.

use std::path::{Path, PathBuf};

use headwater_ledger::facts::{Batch, LogFacts, TransactionFacts};
use headwater_ledger::logs::{FirstTopic, Log, LogFilter, LogKey};
use headwater_ledger::read::{Ledger, Logs, Transactions};
use headwater_ledger::store::{MemoryStore, Segmentation, Split, Writer, in_memory};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::strategies::logged_chain;
use headwater_testkit::{Chainlet, address, followed, is_full, topic};
use headwater_types::{Address, Chain, TxHash};
use proptest::prelude::*;

const CHAIN: Chain = Chain::ETHEREUM;
const WAYS: [Segmentation; 4] = [
    Segmentation { segments: 1, split: Split::Runs, tail_blocks: 0 },
    Segmentation { segments: 3, split: Split::Runs, tail_blocks: 2 },
    Segmentation { segments: 3, split: Split::Scattered, tail_blocks: 0 },
    Segmentation { segments: 17, split: Split::Scattered, tail_blocks: 3 },
];

/// A log without the handle, which is of one ledger value.
type Row = (LogKey, Address, Vec<[u8; 32]>, Vec<u8>);

fn row(log: &Log) -> Row {
    (log.key(), log.contract, log.topics.clone(), log.data.clone())
}

fn rows_of(facts: &TransactionFacts) -> impl Iterator<Item = Row> + '_ {
    let key = |log: &LogFacts| LogKey {
        block: facts.block,
        transaction_index: facts.index,
        hash: facts.hash,
        log_index: log.index,
    };
    facts.logs.iter().map(move |log| (key(log), log.address, log.topics.clone(), log.data.clone()))
}

/// The same from facts, without any shared code but the order of keys, which a test of its own holds.
fn oracle(transactions: &[TransactionFacts], filter: &LogFilter) -> Vec<Row> {
    let mut rows: Vec<Row> = transactions.iter().flat_map(rows_of).collect();
    rows.retain(|(key, contract, topics, _)| {
        let is_topic = match &filter.first_topic {
            FirstTopic::Any => true,
            FirstTopic::Absent => topics.is_empty(),
            FirstTopic::OneOf(wanted) => !topics.is_empty() && wanted.contains(&topics[0]),
        };
        *contract == filter.contract && is_topic && filter.blocks.contains(&key.block)
    });
    let place = |key: &LogKey| (key.block, key.transaction_index.unwrap_or(u32::MAX), key.hash, key.log_index);
    rows.sort_by_key(|(key, ..)| place(key));
    if let Some(after) = &filter.after {
        rows.retain(|(key, ..)| place(key) > place(after));
    }
    rows
}

fn read(ledger: &dyn Ledger, filter: &LogFilter) -> Vec<Row> {
    ledger.logs(CHAIN, filter, &Cancel::new()).unwrap().map(|log| row(&log.unwrap())).collect()
}

fn filters(blocks: &[std::ops::RangeInclusive<u64>]) -> Vec<LogFilter> {
    let topics = [
        FirstTopic::Any,
        FirstTopic::Absent,
        FirstTopic::from(topic(0)),
        FirstTopic::from(topic(1)),
        FirstTopic::from(topic(99)),
        FirstTopic::OneOf(vec![topic(3), topic(0), topic(3)]),
        FirstTopic::OneOf(Vec::new()),
    ];
    let contracts = [0, 1, 3, 77].map(|number| address(CHAIN, number));
    let mut filters = Vec::new();
    for contract in contracts {
        for first_topic in &topics {
            for blocks in blocks {
                filters.push(LogFilter {
                    first_topic: first_topic.clone(),
                    blocks: blocks.clone(),
                    ..LogFilter::of(contract)
                });
            }
        }
    }
    filters
}

fn check(ledger: &dyn Ledger, transactions: &[TransactionFacts], filters: &[LogFilter]) {
    for filter in filters {
        let expected = oracle(transactions, filter);
        assert_eq!(read(ledger, filter), expected, "{filter:?}");
        // Pages of three, each behind the one before.
        let mut paged: Vec<Row> = Vec::new();
        let mut next = filter.clone();
        loop {
            let page = ledger.log_page(CHAIN, &next, 3, &Cancel::new()).unwrap();
            assert_eq!(page.len(), (expected.len() - paged.len()).min(3));
            let Some(last) = page.last() else { break };
            next.after = Some(last.key());
            for log in &page {
                let head = ledger.transaction_head(log.transaction).unwrap();
                assert_eq!(log.head, head, "the handle leads to the transaction");
            }
            paged.extend(page.iter().map(row));
        }
        assert_eq!(paged, expected, "in pages: {filter:?}");
    }
    for facts in transactions {
        let transaction = ledger.find_transaction(CHAIN, &facts.hash).unwrap().unwrap();
        let mut expected: Vec<Row> = rows_of(facts).collect();
        expected.sort_by_key(|(key, ..)| key.log_index);
        let logs: Vec<Row> = ledger.transaction_logs(transaction).unwrap().iter().map(row).collect();
        assert_eq!(logs, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 48 } else { 32 }))]

    #[test]
    fn logs_are_what_the_facts_come_to(batch in logged_chain(), first in 0..40u64, length in 0..20u64) {
        let filters = filters(&[0..=u64::MAX, first..=first + length]);
        let store = in_memory(vec![batch.clone()], vec![], vec![]).unwrap();
        for way in WAYS {
            let segmented = store.in_segments(way).unwrap();
            check(&*segmented.snapshot(), &batch.transactions, &filters);
            let indexed = segmented.with_sidecars(&Cancel::new()).unwrap();
            check(&*indexed.snapshot(), &batch.transactions, &filters);
        }
    }

    #[test]
    fn logs_after_any_place_are_the_rest(batch in logged_chain(), block in 0..45u64, index in prop::option::of(0..4u32)) {
        // A place that no log has: its transaction is of another ledger.
        let after = LogKey { block, transaction_index: index, hash: TxHash::new([0x80; 32]), log_index: 4 };
        let filters = filters(&[0..=u64::MAX, 3..=30]);
        let filters: Vec<_> = filters.into_iter().map(|filter| LogFilter { after: Some(after), ..filter }).collect();
        let store = in_memory(vec![batch.clone()], vec![], vec![]).unwrap();
        for way in [WAYS[0], WAYS[2]] {
            let segmented = store.in_segments(way).unwrap();
            check(&*segmented.snapshot(), &batch.transactions, &filters);
            check(&*segmented.with_sidecars(&Cancel::new()).unwrap().snapshot(), &batch.transactions, &filters);
        }
    }

    /// Some segments have an index and some have none; blocks are followed, taken back, followed again and sealed.
    #[test]
    fn logs_follow_commits_and_rollbacks(
        batch in logged_chain(),
        cuts in prop::collection::vec(0..40usize, 2),
        is_indexed in prop::collection::vec(any::<bool>(), 3),
    ) {
        let mut store = MemoryStore::default();
        let blocks = batch.blocks.len();
        let tail = batch.blocks[blocks.saturating_sub(4)].number;
        let (sealed, followed_ones): (Vec<_>, Vec<_>) =
            batch.transactions.iter().cloned().partition(|facts| facts.block < tail);
        let filters = filters(&[0..=u64::MAX, 2..=tail]);
        let mut known: Vec<TransactionFacts> = Vec::new();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(sealed.len())).collect();
        cuts.sort_unstable();
        for (part, is_indexed) in [&sealed[..cuts[0]], &sealed[cuts[0]..cuts[1]], &sealed[cuts[1]..]].into_iter().zip(is_indexed) {
            store.commit(Batch { transactions: part.to_vec(), ..batch.clone() }, &Cancel::new()).unwrap();
            known.extend_from_slice(part);
            if is_indexed {
                store = store.with_sidecars(&Cancel::new()).unwrap();
            }
            check(&*store.snapshot(), &known, &filters);
        }
        for _ in 0..2 {
            for block in batch.blocks.iter().filter(|block| block.number >= tail) {
                let transactions = followed_ones.iter().filter(|facts| facts.block == block.number).cloned().collect();
                let block = Batch { blocks: vec![block.clone()], transactions, ..Batch::new(CHAIN) };
                store.append_tail_block(followed(block, 1, 1)).unwrap();
            }
            store = store.with_sidecars(&Cancel::new()).unwrap();
            check(&*store.snapshot(), &batch.transactions, &filters);
            store.roll_back_tail(CHAIN, tail).unwrap();
            let kept: Vec<_> = batch.transactions.iter().filter(|facts| facts.block <= tail).cloned().collect();
            check(&*store.snapshot(), &kept, &filters);
            store.roll_back_tail(CHAIN, tail - 1).unwrap();
            check(&*store.snapshot(), &sealed, &filters);
        }
    }

    #[test]
    fn order_of_keys_is_that_of_the_chain(
        one in (0..3u64, prop::option::of(0..3u32), 0..3u8, 0..3u64),
        other in (0..3u64, prop::option::of(0..3u32), 0..3u8, 0..3u64),
    ) {
        let key = |(block, transaction_index, hash, log_index): (u64, Option<u32>, u8, u64)| LogKey {
            block, transaction_index, hash: TxHash::new([hash; 32]), log_index,
        };
        let place = |(block, index, hash, log): (u64, Option<u32>, u8, u64)| (block, index.unwrap_or(9), hash, log);
        prop_assert_eq!(key(one).cmp(&key(other)), place(one).cmp(&place(other)));
    }
}

/// Blocks 1 to 3; contract 5 emits in all of them, contract 6 between.
fn small() -> Batch {
    Chainlet::ethereum()
        .transfer(1, 5, 0)
        .log(5, &[1, 2, 3], b"a")
        .log(6, &[1], b"b")
        .log(5, &[], b"c")
        .same_block()
        .transfer(2, 5, 0)
        .log(5, &[2], b"d")
        .transfer(1, 5, 0)
        .log(5, &[1], b"e")
        .transfer(3, 4, 9)
        .same_block()
        .transfer(1, 5, 0)
        .log(5, &[1, 1], b"f")
        .batch()
}

#[test]
fn logs_by_hand_are_in_the_order_of_the_chain() {
    let store = in_memory(vec![small()], vec![], vec![]).unwrap();
    let all = LogFilter::of(address(CHAIN, 5));
    let with = |first_topic: FirstTopic| LogFilter { first_topic, ..all.clone() };
    let cases: [(LogFilter, &str); 8] = [
        (all.clone(), "acdef"),
        (with(FirstTopic::from(topic(1))), "aef"),
        (with(FirstTopic::from(topic(2))), "d"),
        (with(FirstTopic::from(topic(3))), ""),
        (with(FirstTopic::Absent), "c"),
        (with(FirstTopic::OneOf(vec![topic(2), topic(1)])), "adef"),
        (LogFilter { blocks: 2..=3, ..all.clone() }, "ef"),
        (LogFilter { blocks: 1..=1, ..LogFilter::of(address(CHAIN, 6)) }, "b"),
    ];
    for store in [&store.with_sidecars(&Cancel::new()).unwrap(), &*store] {
        let ledger = store.snapshot();
        for (filter, expected) in &cases {
            let data = read(&*ledger, filter).into_iter().flat_map(|(.., data)| data).collect();
            assert_eq!(String::from_utf8(data).unwrap(), *expected, "{filter:?}");
        }
        let page = ledger.log_page(CHAIN, &all, 3, &Cancel::new()).unwrap();
        let places: Vec<_> = page.iter().map(|log| (log.head.block, log.head.index, log.index)).collect();
        assert_eq!(places, [(1, Some(0), 0), (1, Some(0), 2), (1, Some(1), 100)]);
        assert_eq!(page[0].head.time.secs(), 1_600_000_012);
        assert_eq!(page[0].topics, [topic(1), topic(2), topic(3)]);
        let logs = ledger.transaction_logs(page[0].transaction).unwrap();
        assert_eq!(logs.iter().map(|log| &log.data[..]).collect::<Vec<_>>(), [b"a", b"b", b"c"]);
        assert_eq!(logs[1].contract, address(CHAIN, 6));
        #[expect(clippy::reversed_empty_ranges, reason = "a range that ends before it begins has no logs")]
        let nowhere = LogFilter { blocks: 3..=1, ..all.clone() };
        assert_eq!(read(&*ledger, &nowhere), []);
        let beyond = LogFilter { blocks: 4..=u64::MAX, ..all.clone() };
        assert_eq!(read(&*ledger, &beyond), []);
    }
}

#[test]
fn chains_of_outputs_and_other_chains_have_no_logs() {
    let mined = Chainlet::bitcoin().mine(1, 50).batch();
    let store = in_memory(vec![mined, small()], vec![], vec![]).unwrap().with_sidecars(&Cancel::new()).unwrap();
    let ledger = store.snapshot();
    for (chain, contract) in [(Chain::BITCOIN, address(Chain::BITCOIN, 1)), (Chain::BSC, address(CHAIN, 5))] {
        let page = ledger.log_page(chain, &LogFilter::of(contract), 9, &Cancel::new()).unwrap();
        assert_eq!(page, []);
    }
    let mined = ledger.transaction_at(Chain::BITCOIN, 1, 0).unwrap().unwrap();
    assert_eq!(ledger.transaction_logs(mined).unwrap(), []);
}

/// More first topics than are merged: the logs are searched instead.
#[test]
fn contracts_of_very_many_topics_answer_the_same() {
    let chain = (0..5000).fold(Chainlet::ethereum(), |chain, number| {
        let chain = if number % 50 == 0 { chain } else { chain.same_block() };
        chain.transfer(1, 2, 0).log(number % 2, &[number * 31 % 4999], &[1]).log(3, &[7], &[2])
    });
    let batch = chain.batch();
    let store = in_memory(vec![batch.clone()], vec![], vec![]).unwrap().with_sidecars(&Cancel::new()).unwrap();
    let many = (0..5000).fold(Chainlet::ethereum(), |chain, number| chain.transfer(1, 2, 0).log(0, &[number], &[]));
    let many = many.batch();
    let searched = in_memory(vec![many.clone()], vec![], vec![]).unwrap().with_sidecars(&Cancel::new()).unwrap();
    let one = LogFilter { first_topic: FirstTopic::from(topic(31)), ..LogFilter::of(address(CHAIN, 1)) };
    for filter in [LogFilter::of(address(CHAIN, 0)), LogFilter::of(address(CHAIN, 3)), one] {
        for filter in [filter.clone(), LogFilter { blocks: 30..=4000, ..filter }] {
            assert_eq!(read(&*store.snapshot(), &filter), oracle(&batch.transactions, &filter), "{filter:?}");
            assert_eq!(read(&*searched.snapshot(), &filter), oracle(&many.transactions, &filter), "{filter:?}");
        }
    }
}

#[test]
fn cancelled_scan_ends_with_an_error() {
    let store = in_memory(vec![small()], vec![], vec![]).unwrap();
    let (ledger, cancel) = (store.snapshot(), Cancel::new());
    let mut logs = ledger.logs(CHAIN, &LogFilter::of(address(CHAIN, 5)), &cancel).unwrap();
    assert!(logs.next().unwrap().is_ok());
    cancel.cancel();
    assert!(matches!(logs.next(), Some(Err(LedgerError::Cancelled(_)))));
    assert!(logs.next().is_none(), "nothing follows an error");
}

/// So many logs, in 20 logs per block of contracts 0 to 3, beginning at a block.
fn many(first: u64, logs: u64) -> Batch {
    let chain = (0..logs / 4).fold(Chainlet::ethereum().at_block(first), |chain, number| {
        let chain = if number % 5 == 0 { chain } else { chain.same_block() };
        let topics = [number % 7, number];
        (0..4).fold(chain.transfer(1, 2, number), |chain, contract| {
            chain.log(contract, &topics[..usize::try_from(contract % 3).unwrap()], &number.to_le_bytes())
        })
    });
    chain.batch()
}

fn index_files(root: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(root.join("logs")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn underived(root: &Path) -> u64 {
    Store::open(root).unwrap().stats().unwrap().chains[&CHAIN].underived
}

fn is_sound(root: &Path) -> bool {
    Store::open(root).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound()
}

#[test]
fn log_index_follows_commits_and_merges() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let filters = filters(&[0..=u64::MAX, 90..=210]);
    let mut writer = Writer::open_or_create(root).unwrap();
    let mut known = Vec::new();
    for first in [1, 100, 200] {
        let batch = many(first, 1200);
        known.extend(batch.transactions.clone());
        writer.commit(batch, &Cancel::new()).unwrap();
        check(&*writer.snapshot(), &known, &filters);
    }
    assert_eq!((index_files(root).len(), underived(root)), (3, 0));

    // Few logs are not worth a file, and answer the same.
    let few = many(300, 60);
    known.extend(few.transactions.clone());
    writer.commit(few, &Cancel::new()).unwrap();
    assert_eq!((index_files(root).len(), underived(root)), (3, 0));
    check(&*writer.snapshot(), &known, &filters);

    let compacted = writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
    assert_eq!(compacted.segments, 1);
    assert_eq!((index_files(root).len(), underived(root)), (4, 0), "the merged segment has an index of its own");
    check(&*writer.snapshot(), &known, &filters);
    assert!(is_sound(root));

    // A source that adds a log to a transaction makes a new segment, and with it a new index.
    let mut richer = known[17].clone();
    richer.logs.push(LogFacts { index: 77, address: address(CHAIN, 1), topics: vec![topic(1)], data: vec![9] });
    let block = Batch { transactions: vec![richer.clone()], ..many(1, 1200) };
    known[17] = richer;
    writer.commit(block, &Cancel::new()).unwrap();
    check(&*writer.snapshot(), &known, &filters);

    for number in 400..404 {
        let block = Chainlet::ethereum().at_block(number).transfer(1, 3, number).log(3, &[1], &[1]);
        writer.append_tail_block(followed(block.batch(), 1, 1)).unwrap();
    }
    writer.roll_back_tail(CHAIN, 401).unwrap();
    for number in 400..402 {
        let block = Chainlet::ethereum().at_block(number).transfer(1, 3, number).log(3, &[1], &[1]);
        known.extend(block.batch().transactions);
    }
    check(&*writer.snapshot(), &known, &filters);
    writer.seal_tail(CHAIN, 401).unwrap();
    check(&*writer.snapshot(), &known, &filters);
    drop(writer);
    check(&*Store::open(root).unwrap().snapshot().unwrap(), &known, &filters);
    assert!(is_sound(root));
    assert_eq!(underived(root), 0);
}

#[test]
fn missing_index_is_counted_changes_no_answer_and_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let filters = filters(&[0..=u64::MAX]);
    let mut writer = Writer::open_or_create(root).unwrap();
    writer.begin_load();
    let batch = many(1, 1200);
    writer.commit(batch.clone(), &Cancel::new()).unwrap();
    writer.end_load(&Cancel::new()).unwrap();
    assert_eq!((index_files(root).len(), underived(root)), (0, 1));
    check(&*writer.snapshot(), &batch.transactions, &filters);

    let reported = std::cell::Cell::new((0, 0));
    let progress = |kind: &str, done, total| {
        assert_eq!(kind, "logs");
        reported.set((done, total));
    };
    assert!(writer.rebuild_sidecars(&progress, &Cancel::new()).unwrap());
    assert!(reported.get().0 == reported.get().1 && reported.get().0 >= 1200);
    assert!(!writer.rebuild_sidecars(&|_, _, _| {}, &Cancel::new()).unwrap());
    assert_eq!((index_files(root).len(), underived(root)), (1, 0));
    check(&*writer.snapshot(), &batch.transactions, &filters);

    // A file that is listed and not there is damage.
    std::fs::remove_file(&index_files(root)[0]).unwrap();
    assert!(!is_sound(root));
    assert!(matches!(Store::open(root).and_then(|store| store.snapshot()), Err(LedgerError::Corrupt { .. })));
}

#[test]
fn damaged_log_index_is_reported_with_file_and_offset() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let batch = many(1, 1600);
    Writer::open_or_create(root).unwrap().commit(batch.clone(), &Cancel::new()).unwrap();
    let [file] = &index_files(root)[..] else { panic!("one segment has one index") };
    let good = std::fs::read(file).unwrap();
    let filters: Vec<_> = filters(&[0..=u64::MAX]);
    let mut refused = 0;
    for step in 0..120 {
        let place = (good.len() - 1) * step / 119;
        let mut bad = good.clone();
        bad[place] ^= 1 << (step % 8);
        std::fs::write(file, &bad).unwrap();
        let store = Store::open(root).unwrap();
        let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
        assert!(report.problems.iter().any(|problem| problem.file == *file), "byte {place}: {report:?}");
        let served = store.snapshot().and_then(|ledger| {
            let read = |filter| ledger.log_page(CHAIN, filter, usize::MAX, &Cancel::new());
            filters.iter().map(read).collect::<Result<Vec<_>, _>>()
        });
        match served {
            Ok(pages) => {
                for (filter, page) in filters.iter().zip(pages) {
                    let page: Vec<Row> = page.iter().map(row).collect();
                    assert_eq!(page, oracle(&batch.transactions, filter), "byte {place}");
                }
            }
            Err(LedgerError::Corrupt { file: named, .. }) => {
                assert_eq!(named, *file);
                refused += 1;
            }
            Err(error) => panic!("byte {place}: {error}"),
        }
    }
    assert!(refused > 60, "most bytes are read: {refused}");
}
