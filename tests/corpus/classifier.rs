//! The account exports of `data/classifier`: 13,847 accounts, real and full of quirks.

use std::collections::BTreeMap;

use headwater_ingest::{Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::read::Generation;
use headwater_ledger::store::{Store, Writer};
use headwater_types::Chain;

#[test]
fn corpus_the_classifier_exports_are_held_once_however_often_they_are_ingested() {
    let data = headwater_tests::corpus().join("classifier");
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let paths = [data.join("eth_transactions.parquet"), data.join("eth_token_transfers.parquet")];
    let run =
        |writer: &mut Writer, options: &Options| ingest(&paths, options, writer, &Silent, &Cancel::new()).unwrap();
    let mut writer = Writer::open_or_create(&store).unwrap();
    let first = run(&mut writer, &Options::default());
    let rows: BTreeMap<_, _> =
        first.files.iter().map(|file| (file.path.file_name().unwrap().to_str().unwrap(), file.rows)).collect();
    assert_eq!(rows["eth_transactions.parquet"], 334_750);
    assert_eq!(rows["eth_token_transfers.parquet"], 85_085);
    assert_eq!(first.skipped, 0);
    let snapshot = writer.snapshot();
    let held = snapshot.coverage()[&Chain::ETHEREUM].transactions;
    assert_eq!(first.added, held);
    assert!(held >= 334_750, "every transaction of the file is held, and those known by a token transfer alone");

    let again = run(&mut writer, &Options::default());
    assert_eq!((again.added, again.enriched), (0, 0));
    assert_eq!(again.unchanged, held);
    assert_eq!(again.generation, first.generation, "unchanged content makes no generation");
    drop(writer);
    let digest = Store::open(&store).unwrap().digest(&Cancel::new()).unwrap();

    // In many small commits instead of one.
    let pieces = folder.path().join("pieces");
    let mut writer = Writer::open_or_create(&pieces).unwrap();
    let report = run(&mut writer, &Options { batch_transactions: 50_000, ..Options::default() });
    assert!(report.commits > 5);
    drop(writer);
    assert_eq!(Store::open(&pieces).unwrap().digest(&Cancel::new()).unwrap(), digest);
}
