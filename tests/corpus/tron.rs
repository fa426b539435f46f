//! Real TRC-20 transfers of seized wallets, as a block explorer lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::PathBuf;

use headwater_ingest::{Gathered, Options, Silent, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::TransactionFacts;
use headwater_types::{Chain, Family, TxHash};

fn export() -> PathBuf {
    headwater_tests::corpus().join("tron/aso_trc20_xfers.csv.gz")
}

/// Transaction, sender, receiver, amount and contract of a row: the places of these columns by hand, past the header.
fn rows() -> Vec<[String; 6]> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(export()).unwrap()).read_to_string(&mut text).unwrap();
    let mut reader = csv::ReaderBuilder::new().flexible(true).has_headers(true).from_reader(text.as_bytes());
    reader.records().map(|row| [2, 5, 7, 9, 10, 1].map(|place| row.as_ref().unwrap()[place].to_owned())).collect()
}

#[test]
fn corpus_transfers_between_seized_wallets_count_once() {
    let mut target = Gathered::default();
    let report = ingest_into(&[export()], &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap();
    assert_eq!((report.files[0].format.as_str(), report.rows, report.skipped), ("tron-trc20", 7834, 0));
    assert_eq!(target.batches[0].chain, Chain::TRON);
    let mut all: BTreeMap<TxHash, TransactionFacts> = BTreeMap::new();
    for facts in target.batches.iter().flat_map(|batch| batch.transactions.clone()) {
        let facts = match all.remove(&facts.hash) {
            Some(held) => held.join(facts, Chain::TRON).unwrap(),
            None => facts,
        };
        all.insert(facts.hash, facts);
    }
    let mut read: Vec<_> = all
        .values()
        .flat_map(|facts| facts.movements.iter().map(move |movement| (facts, movement)))
        .map(|(facts, movement)| {
            let [from, to] = [movement.from, movement.to].map(|party| party.unwrap().to_string());
            let contract = movement.asset.contract().unwrap().to_string();
            // All times are whole seconds.
            let time = format!("{}000", facts.time.unwrap().secs());
            [facts.hash.display(Family::Tron), from, to, movement.amount.to_string(), contract, time]
        })
        .collect();
    read.sort();
    let distinct: BTreeSet<_> = rows().into_iter().collect();
    assert_eq!((rows().len(), distinct.len()), (7834, 7834 - 118));
    assert_eq!(read, distinct.into_iter().collect::<Vec<_>>());
    // Blocks are counted from the times: in their order.
    let mut order: Vec<_> = all.values().map(|facts| (facts.time.unwrap(), facts.block)).collect();
    order.sort_unstable();
    assert!(
        order.windows(2).all(|pair| pair[0].1 <= pair[1].1 && (pair[0].0 == pair[1].0) == (pair[0].1 == pair[1].1))
    );
}
