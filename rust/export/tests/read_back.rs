//! An export read back holds what the ledger holds, sorted and where it belongs.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use headwater_export::{BUCKETS, ExportError, MANIFEST, Manifest, bucket_of, read_back, transfers};
use headwater_ledger::facts::{Batch, Body, Movement, MovementFact};
use headwater_ledger::market::TokenListing;
use headwater_ledger::read::{Direction, Ordinal, Scan, ScanOrder, Status};
use headwater_ledger::store::{MemoryStore, in_memory};
use headwater_ledger::{Cancel, Ledger};
use headwater_testkit::{Chainlet, address, over_segmentations, token};
use headwater_types::{Address, Amount, Chain};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use xxhash_rust::xxh3::xxh3_128;

const ETHEREUM: Chain = Chain::ETHEREUM;

/// A row as text, so that rows of the ledger and of the files can be compared field by field.
type Row = Vec<String>;

fn export(ledger: &dyn Ledger, folder: &Path) -> Result<Manifest, ExportError> {
    transfers(ledger, &[], folder, &|_, _| {}, &Cancel::new())
}

/// Every file by its chain and bucket.
fn files(folder: &Path) -> BTreeMap<(String, String), PathBuf> {
    let mut found = BTreeMap::new();
    for chain in std::fs::read_dir(folder.join("transfers")).unwrap().map(|entry| entry.unwrap().path()) {
        if !chain.is_dir() {
            continue;
        }
        for bucket in std::fs::read_dir(&chain).unwrap().map(|entry| entry.unwrap().path()) {
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().split_once('=').unwrap().1.to_owned();
            let parts: Vec<_> = std::fs::read_dir(&bucket).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(parts.len(), 1, "{}", bucket.display());
            found.insert((name(&chain), name(&bucket)), parts[0].clone());
        }
    }
    found
}

fn rows_of(file: &Path) -> Vec<Row> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap().build().unwrap();
    reader.flat_map(|batch| rows_of_batch(&batch.unwrap())).collect()
}

fn rows_of_batch(batch: &RecordBatch) -> Vec<Row> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let text = |name: &str, row: usize| {
        let plain = cast(column(name), &DataType::Utf8).unwrap();
        let plain = plain.as_string::<i32>();
        if plain.is_null(row) { "-".to_owned() } else { plain.value(row).to_owned() }
    };
    let number = |name: &str, row: usize| column(name).as_primitive::<Int64Type>().value(row).to_string();
    (0..batch.num_rows())
        .map(|row| {
            let index = column("tx_index").as_primitive::<Int32Type>();
            let log = column("log_index").as_primitive::<Int64Type>();
            let time = column("time").as_primitive::<TimestampMicrosecondType>().value(row) / 1_000_000;
            vec![
                text("address", row),
                number("block", row),
                time.to_string(),
                if index.is_null(row) { "-".into() } else { index.value(row).to_string() },
                text("tx_hash", row),
                text("kind", row),
                number("ordinal", row),
                if log.is_null(row) { "-".into() } else { log.value(row).to_string() },
                text("direction", row),
                text("counterparty", row),
                text("contract", row),
                text("amount", row),
                text("status", row),
                column("is_primary").as_boolean().value(row).to_string(),
                column("creates_contract").as_boolean().value(row).to_string(),
                column("is_approximate").as_boolean().value(row).to_string(),
            ]
        })
        .collect()
}

/// Returns what the files must hold of one address, straight from the ledger.
fn expected(ledger: &dyn Ledger, chain: Chain, of: &Address) -> Vec<Row> {
    let account = ledger.account(chain, of).unwrap().unwrap();
    let scan = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
    let row = |posting: headwater_ledger::read::Posting| {
        let head = ledger.transaction_head(posting.transaction).unwrap();
        let other = posting.counterparty.map(|other| ledger.address(other).unwrap().to_string());
        let contract = ledger.asset(posting.asset).unwrap().contract().map(ToString::to_string);
        let maybe = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let direction = match posting.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::Own => "self",
        };
        let status = posting.status.map(|status| if status == Status::Success { "success" } else { "failed" });
        vec![
            of.to_string(),
            posting.block.to_string(),
            posting.time.secs().to_string(),
            maybe(head.index.map(|index| index.to_string())),
            head.hash.display(chain.family()),
            posting.kind.name().to_owned(),
            posting.ordinal.number().to_string(),
            maybe(posting.ordinal.shown().map(|ordinal| ordinal.to_string())),
            direction.to_owned(),
            maybe(other),
            maybe(contract),
            posting.amount.to_string(),
            maybe(status.map(str::to_owned)),
            (direction != "in" || posting.counterparty.is_none()).to_string(),
            posting.creates_contract.to_string(),
            posting.approximate.to_string(),
        ]
    };
    ledger.postings(&account, &scan).unwrap().map(|posting| row(posting.unwrap())).collect()
}

fn many() -> Batch {
    let mut chain = Chainlet::ethereum();
    for round in 0..400_u64 {
        chain = chain.transfer(round % 37, round % 11, round * 1_000).fee(1);
        chain = match round % 5 {
            0 => chain.token_movement(round % 3, round % 37, 40 + round % 200, round + 1),
            1 => chain.internal(round % 7, round % 13, 5),
            2 => chain.token_movement(1, 3, 4, 9).unindexed(),
            3 => chain.failed(),
            _ => chain.status_unknown(),
        };
    }
    chain.batch()
}

#[test]
fn export_of_any_segments_has_every_row_sorted_in_its_bucket() {
    let bitcoin = Chainlet::bitcoin().mine(1, 5_000).spend(&[(1, 0, 0)], &[(2, 3_000), (1, 1_500)]).batch();
    over_segmentations([many(), bitcoin], |ledger| {
        let folder = tempfile::tempdir().unwrap();
        let manifest = export(ledger, folder.path()).unwrap();
        let mut bytes = Vec::new();
        for chain in [ETHEREUM, Chain::BITCOIN] {
            let mut read: BTreeMap<String, Vec<Row>> = BTreeMap::new();
            let of_chain = files(folder.path()).into_iter().filter(|((name, _), _)| name == chain.name());
            for ((_, bucket), file) in of_chain {
                let rows = rows_of(&file);
                assert!(rows.is_sorted_by_key(|row| (row[0].clone(), row[1].parse::<u64>().unwrap())));
                for row in rows {
                    let address = Address::parse(chain, &row[0]).unwrap();
                    assert_eq!(format!("{:02x}", bucket_of(&address)), bucket);
                    read.entry(row[0].clone()).or_default().push(row);
                }
                bytes.push(std::fs::read(file).unwrap());
            }
            let mut rows = 0;
            for of in ledger.addresses(chain, None, usize::MAX).unwrap() {
                let wanted = expected(ledger, chain, &of);
                rows += wanted.len() as u64;
                assert_eq!(read.remove(&of.to_string()).unwrap_or_default(), wanted);
            }
            assert!(read.is_empty());
            let (held, coverage) = (&manifest.chains[chain.name()], &ledger.coverage()[&chain]);
            assert_eq!((held.rows, held.movements), (rows, Some(coverage.movements)));
            assert_eq!((held.first_block, held.last_block), (coverage.first_block, coverage.last_block));
            assert_eq!(held.last_time, coverage.last_time.map(|time| time.to_string()));
        }
        bytes
    });
}

#[test]
fn a_page_of_addresses_follows_the_one_before() {
    over_segmentations([many()], |ledger| {
        let all = ledger.addresses(ETHEREUM, None, usize::MAX).unwrap();
        assert!(all.is_sorted_by(|one, other| one.key() < other.key()));
        let mut paged = Vec::new();
        while let page = ledger.addresses(ETHEREUM, paged.last(), 7).unwrap()
            && !page.is_empty()
        {
            paged.extend(page);
        }
        assert_eq!(paged, all);
        all
    });
}

#[test]
fn amounts_past_38_digits_are_exact_text_and_null_numbers() {
    let mut batch = Chainlet::ethereum().transfer(1, 2, 7).batch();
    let largest = 10_u128.pow(38) - 1;
    for (place, amount) in [Amount::from_u128(largest), Amount::from_u128(largest + 1), Amount::MAX].iter().enumerate()
    {
        batch.transactions[0].movements.push(Movement {
            kind: MovementFact::Token,
            ordinal: Ordinal::Indexed(place as u64),
            from: Some(address(ETHEREUM, 1)),
            to: Some(address(ETHEREUM, 2)),
            asset: token(ETHEREUM, 5),
            amount: *amount,
        });
    }
    let listing = TokenListing {
        chain: ETHEREUM,
        contract: *token(ETHEREUM, 5).contract().unwrap(),
        symbol: "FIVE".into(),
        name: "Five".into(),
        decimals: 6,
        verified: true,
        coingecko_id: None,
    };
    let store = in_memory(vec![batch], vec![listing], vec![]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    export(&*store.snapshot(), folder.path()).unwrap();
    let of = bucket_of(&address(ETHEREUM, 2));
    let file = File::open(&files(folder.path())[&("ethereum".to_owned(), format!("{of:02x}"))]).unwrap();
    let batch = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next().unwrap().unwrap();
    let numbers = batch.column_by_name("amount_decimal").unwrap().as_primitive::<Decimal128Type>();
    let numbers: Vec<Option<i128>> = numbers.iter().collect();
    assert_eq!(numbers, [Some(7), Some(i128::try_from(largest).unwrap()), None, None]);
    let texts = batch.column_by_name("amount").unwrap().as_string::<i32>();
    assert_eq!(texts.value(3), Amount::MAX.to_string());
    let whole = batch.column_by_name("amount_float").unwrap().as_primitive::<Float64Type>();
    assert!((whole.value(0) - 7e-18).abs() < 1e-30 && (whole.value(1) - 1e32).abs() < 1e17);
    assert_eq!(batch.column_by_name("symbol").unwrap().as_string::<i32>().value(1), "five");
}

#[test]
fn export_to_a_used_folder_or_of_an_absent_chain_is_refused() {
    let store = in_memory(vec![many()], vec![], vec![]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    export(&*store.snapshot(), folder.path()).unwrap();
    let before = files(folder.path());
    assert!(before.len() > BUCKETS / 4);
    let again = export(&*store.snapshot(), folder.path()).unwrap_err();
    assert!(matches!(again, ExportError::NotEmpty { .. }), "{again}");
    assert_eq!(files(folder.path()), before);
    let other = tempfile::tempdir().unwrap();
    let refused = transfers(&*store.snapshot(), &[Chain::TRON], other.path(), &|_, _| {}, &Cancel::new());
    assert_eq!(refused.unwrap_err().to_string(), "the store holds nothing of tron: it holds ethereum");
}

#[test]
fn a_cancelled_export_leaves_nothing() {
    let store = in_memory(vec![many()], vec![], vec![]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let stop = |done: u64, _| {
        if done > 0 {
            cancel.cancel();
        }
    };
    assert!(transfers(&*store.snapshot(), &[], folder.path(), &stop, &cancel).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_empty_ledger_gives_an_empty_table() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = export(&*MemoryStore::default().snapshot(), folder.path()).unwrap();
    assert!(manifest.chains.is_empty() && folder.path().join("transfers/_headwater.json").is_file());
}

#[test]
fn manifest_of_any_thread_count_states_the_digests_of_its_files() {
    let store = in_memory(vec![many()], vec![], vec![]).unwrap();
    let manifests = [1, 4].map(|threads| {
        let folder = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let manifest = pool.install(|| export(&*store.snapshot(), folder.path())).unwrap();
        let table = folder.path().join("transfers");
        for file in &manifest.files {
            let bytes = std::fs::read(table.join(&file.path)).unwrap();
            assert_eq!((file.bytes, &file.xxh3), (bytes.len() as u64, &format!("{:032x}", xxh3_128(&bytes))));
            let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
            let metadata = reader.metadata().file_metadata();
            assert_eq!(metadata.num_rows().unsigned_abs(), file.rows);
            let origin = metadata.key_value_metadata().unwrap().iter();
            let origin: Vec<_> = origin.filter(|pair| pair.key.starts_with("headwater.")).collect();
            assert_eq!(
                origin.iter().map(|pair| pair.value.as_deref().unwrap()).collect::<Vec<_>>(),
                ["2", "transfers", &manifest.generation.to_string(),]
            );
        }
        let text = std::fs::read_to_string(table.join(MANIFEST)).unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
        text
    });
    assert_eq!(manifests[0], manifests[1]);
}

#[test]
fn creations_and_verified_tokens_are_marked() {
    let creation = Chainlet::ethereum().transfer(1, 9, 3).with(|facts| {
        facts.body = facts.body.map(|body| Body { to: None, ..body });
        facts.created = Some(address(ETHEREUM, 9));
    });
    let creation = creation.token_movement(5, 1, 2, 7).token_movement(6, 1, 2, 7);
    let listing = |contract, verified| TokenListing {
        chain: ETHEREUM,
        contract: *token(ETHEREUM, contract).contract().unwrap(),
        symbol: format!("T{contract}"),
        name: String::new(),
        decimals: 6,
        verified,
        coingecko_id: None,
    };
    let listings = vec![listing(5, true), listing(6, false)];
    let store = in_memory(vec![creation.batch()], listings, vec![]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    export(&*store.snapshot(), folder.path()).unwrap();
    let of = bucket_of(&address(ETHEREUM, 1));
    let file = File::open(&files(folder.path())[&("ethereum".to_owned(), format!("{of:02x}"))]).unwrap();
    let batch = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next().unwrap().unwrap();
    let flags = |name: &str| batch.column_by_name(name).unwrap().as_boolean().iter().flatten().collect::<Vec<_>>();
    let symbols: Vec<_> = batch.column_by_name("symbol").unwrap().as_string::<i32>().iter().flatten().collect();
    assert_eq!(symbols, ["eth", "t5", "t6"]);
    assert_eq!(flags("creates_contract"), [true, false, false]);
    assert_eq!(flags("verified"), [true, true, false]);
}

/// The rows of all files of a chain.
fn whole(folder: &Path, chain: Chain) -> Vec<RecordBatch> {
    let of_chain = files(folder).into_iter().filter(|((name, _), _)| name == chain.name());
    let batches = of_chain.flat_map(|(_, file)| {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
        reader.build().unwrap().map(|batch| batch.unwrap())
    });
    batches.collect()
}

fn without(batch: &RecordBatch, column: &str) -> RecordBatch {
    let kept: Vec<usize> =
        (0..batch.num_columns()).filter(|place| batch.schema().field(*place).name() != column).collect();
    batch.project(&kept).unwrap()
}

#[test]
fn rows_read_back_have_every_movement_once() {
    let store = in_memory(vec![many()], vec![], vec![]).unwrap();
    let ledger = store.snapshot() as Arc<dyn Ledger>;
    let folder = tempfile::tempdir().unwrap();
    export(&*ledger, folder.path()).unwrap();
    let facts = read_back(&whole(folder.path(), ETHEREUM), ETHEREUM).unwrap();
    let mut read: Vec<String> = facts.addresses.iter().map(ToString::to_string).collect();
    read.sort_unstable();
    let held = ledger.addresses(ETHEREUM, None, usize::MAX).unwrap();
    let moved = held.into_iter().filter(|of| ledger.account(ETHEREUM, of).unwrap().unwrap().postings > 0);
    assert_eq!(read, moved.map(|of| of.to_string()).collect::<Vec<_>>());
    let again = in_memory(vec![facts.batch], facts.tokens, vec![]).unwrap().snapshot() as Arc<dyn Ledger>;
    assert_eq!(again.coverage()[&ETHEREUM].movements, ledger.coverage()[&ETHEREUM].movements);
}

#[test]
fn rows_that_are_not_whole_or_not_of_format_2_are_refused() {
    let store = in_memory(vec![many()], vec![], vec![]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    export(&*store.snapshot(), folder.path()).unwrap();
    let rows = whole(folder.path(), ETHEREUM);
    let refused = |rows: &[RecordBatch], chain| read_back(rows, chain).unwrap_err().to_string();
    assert!(refused(&rows, Chain::BITCOIN).contains("inputs and outputs"));
    let old: Vec<_> = rows.iter().map(|batch| without(batch, "creates_contract")).collect();
    assert!(refused(&old, ETHEREUM).contains("no column `creates_contract`"));
    assert!(refused(&rows, Chain::TRON).contains("row 1: address: "));
    let [first, .., last] = &rows[..] else { panic!("several buckets") };
    let short = first.slice(0, first.num_rows() - 1);
    let rest: Vec<_> = [short].iter().chain(&rows[1..]).cloned().collect();
    assert!(refused(&rest, ETHEREUM).contains("is missing; give all rows of each address"), "{last:?}");
    let text = |name: &str, text: &str| {
        let mut columns = first.columns().to_vec();
        let place = first.schema().index_of(name).unwrap();
        columns[place] =
            cast(&StringArray::from(vec![text; first.num_rows()]), first.column(place).data_type()).unwrap();
        refused(&[RecordBatch::try_new(first.schema(), columns).unwrap()], ETHEREUM)
    };
    assert_eq!(text("amount", "1.5"), "row 1: amount: \"1.5\"; expected digits, at most 256 bits");
    assert!(text("kind", "utxo").contains("row 1: kind: \"utxo\"; expected native or internal"));
    assert!(text("status", "reverted").contains("expected success, failed or null"));
    assert!(text("tx_hash", "0x12").contains("expected a transaction of ethereum"));
}
