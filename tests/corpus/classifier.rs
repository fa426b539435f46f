//! The account exports of `data/classifier`: 13,847 accounts, real and full of quirks.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::DataType;
use headwater_ingest::{IngestReport, Options, Silent, ingest};
use headwater_ledger::read::Generation;
use headwater_ledger::store::{Store, Writer};
use headwater_ledger::{Cancel, Snapshot};
use headwater_types::Chain;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Transactions and token transfers of the accounts.
fn files() -> [PathBuf; 2] {
    ["eth_transactions.parquet", "eth_token_transfers.parquet"]
        .map(|name| headwater_tests::corpus().join("classifier").join(name))
}

/// The exports of one account in so many, and of those that are named: copies in a folder. All of them where one in one
/// is asked for.
pub(super) fn some_of(folder: &Path, one_in: u32, named: &[String]) -> [PathBuf; 2] {
    if one_in == 1 {
        return files();
    }
    let is_kept = |account: &str| {
        let account = account.to_lowercase();
        let last = u32::from_str_radix(&account[account.len() - 6..], 16).unwrap();
        last.is_multiple_of(one_in) || named.contains(&account)
    };
    files().map(|path| {
        let copy = folder.join(path.file_name().unwrap());
        let whole = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let mut writer = ArrowWriter::try_new(File::create(&copy).unwrap(), Arc::clone(whole.schema()), None).unwrap();
        for batch in whole.build().unwrap().map(Result::unwrap) {
            let accounts = cast(batch.column_by_name("AccountId").unwrap(), &DataType::LargeUtf8).unwrap();
            let kept: BooleanArray = accounts.as_string::<i64>().iter().map(|one| one.map(is_kept)).collect();
            writer.write(&filter_record_batch(&batch, &kept).unwrap()).unwrap();
        }
        writer.close().unwrap();
        copy
    })
}

/// One account in how many is looked at: every one in the long runs.
pub(super) fn one_in(so_many: u32) -> u32 {
    if headwater_testkit::is_full() { 1 } else { so_many }
}

#[test]
fn corpus_repeated_classifier_exports_are_held_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path().join("all")).unwrap();
    let all = ingest(&files(), &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    let rows: BTreeMap<_, _> =
        all.files.iter().map(|file| (file.path.file_name().unwrap().to_str().unwrap(), file.rows)).collect();
    assert_eq!(rows["eth_transactions.parquet"], 334_750);
    assert_eq!(rows["eth_token_transfers.parquet"], 85_085);
    every_transaction_is_held(&all, &writer.snapshot(), 334_750);
    drop(writer);

    // Several times those of some accounts.
    let one_in = one_in(16);
    let paths = some_of(folder.path(), one_in, &[]);
    let run =
        |writer: &mut Writer, options: &Options| ingest(&paths, options, writer, &Silent, &Cancel::new()).unwrap();
    let store = folder.path().join("store");
    let mut writer = Writer::open_or_create(&store).unwrap();
    let first = run(&mut writer, &Options::default());
    let transactions = first.files.iter().find(|file| file.path.ends_with("eth_transactions.parquet")).unwrap().rows;
    let held = every_transaction_is_held(&first, &writer.snapshot(), transactions);
    let again = run(&mut writer, &Options::default());
    assert_eq!((again.added, again.enriched), (0, 0));
    assert_eq!(again.unchanged, held);
    assert_eq!(again.generation, first.generation, "unchanged content makes no generation");
    drop(writer);
    let digest = Store::open(&store).unwrap().digest(&Cancel::new()).unwrap();

    // In many small commits instead of one.
    let pieces = folder.path().join("pieces");
    let mut writer = Writer::open_or_create(&pieces).unwrap();
    let batch_transactions = 50_000 / usize::try_from(one_in).unwrap();
    let report = run(&mut writer, &Options { batch_transactions, ..Options::default() });
    assert!(report.commits > 5);
    drop(writer);
    assert_eq!(Store::open(&pieces).unwrap().digest(&Cancel::new()).unwrap(), digest);
}

/// Returns the number of transactions that are held: every one of the file, and those known by a token transfer alone.
fn every_transaction_is_held(report: &IngestReport, held: &Snapshot, of_file: u64) -> u64 {
    assert_eq!(report.skipped, 0);
    let held = held.coverage()[&Chain::ETHEREUM].transactions;
    assert_eq!(report.added, held);
    assert!(held >= of_file, "{held} of {of_file} rows and those known by a token transfer alone");
    held
}
