//! Events of real transfers: as many of each wallet as its rows in the file say.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_engine::events::{Follower, Subscription, Watcher};
use headwater_ingest::{Options, Silent, ingest};
use headwater_ledger::read::Generations;
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use serde_json::json;

fn export() -> PathBuf {
    headwater_tests::corpus().join("tron/aso_trc20_xfers.csv.gz")
}

/// Transaction, sender, receiver, amount, contract and time of the rows, each once: a transfer between two wallets is
/// listed under both.
fn rows() -> BTreeSet<[String; 6]> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(export()).unwrap()).read_to_string(&mut text).unwrap();
    let mut reader = csv::ReaderBuilder::new().flexible(true).has_headers(true).from_reader(text.as_bytes());
    reader.records().map(|row| [2, 5, 7, 9, 10, 1].map(|place| row.as_ref().unwrap()[place].to_owned())).collect()
}

#[test]
fn corpus_wallets_get_one_event_per_transfer() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.begin_events();
    for _ in 0..2 {
        ingest(&[export()], &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    }
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let rows = rows();
    let contracts: BTreeSet<&String> = rows.iter().map(|[.., contract, _]| contract).collect();
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for [_, from, to, amount, ..] in
        rows.iter().filter(|[_, _, _, amount, ..]| amount.bytes().any(|digit| digit != b'0'))
    {
        assert!(!amount.is_empty());
        let sides: BTreeSet<&str> = [from.as_str(), to.as_str()].into();
        for side in sides {
            *expected.entry(side).or_default() += 1;
        }
    }
    let blocks: BTreeSet<&String> = rows.iter().map(|[.., time]| time).collect();
    let feed = store.feed().unwrap();
    assert_eq!(feed.newest(), blocks.len() as u64, "an item for each block, and none for what was loaded again");

    let addresses: Vec<&str> = expected.keys().copied().collect();
    let filters = json!({"blockchain": "tron", "addresses": addresses, "contracts": contracts});
    let (subscription, warnings) = Subscription::parse("address_activity", &filters, &**feed.ledger()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let mut follower = Follower::new(Arc::clone(&store) as Arc<dyn Generations>, 0);
    let mut watcher = Watcher::new(subscription, 0);
    let (mut reported, mut ids, mut longest) = (BTreeMap::<String, u64>::new(), BTreeSet::new(), 0);
    loop {
        let steps = follower.next_steps(500).unwrap();
        if steps.is_empty() {
            break;
        }
        for event in steps.iter().flat_map(|step| watcher.advance(step).unwrap()) {
            *reported.entry(event.data["matched_address"].as_str().unwrap().to_owned()).or_default() += 1;
            longest = event.body(Some("00000000-0000-0000-0000-000000000000")).len().max(longest);
            assert!(ids.insert(event.id));
        }
    }
    let expected: BTreeMap<String, u64> = expected.into_iter().map(|(who, count)| (who.to_owned(), count)).collect();
    println!(
        "{} events of {} addresses in {} items, the longest body has {longest} bytes",
        ids.len(),
        reported.len(),
        blocks.len()
    );
    assert_eq!(reported, expected);
    assert!(longest < 20_000);
}
