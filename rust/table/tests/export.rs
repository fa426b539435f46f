//! Exported tables have the rows of their scans, and scores of exported rows are those of the store.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Float64Type, SchemaRef};
use headwater_engine::score::{Addresses, ScoreColumns};
use headwater_engine::{Intelligence, QueryEngine};
use headwater_export::{ExportError, Manifest, transfers};
use headwater_ledger::facts::{Batch, Body};
use headwater_ledger::labels::{Code, Level, Scope};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::read::Generations;
use headwater_ledger::store::{MemoryStore, Segmentation, Split, in_memory};
use headwater_ledger::{Cancel, Ledger};
use headwater_table::export::{ExportTable, TableExportError, export};
use headwater_table::scan::{ScanRequest, scan};
use headwater_table::score::{AddressSource, score_exported, score_table};
use headwater_testkit::{Chainlet, address, claim, label_import, model, token};
use headwater_types::{Chain, Timestamp};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

const ETHEREUM: Chain = Chain::ETHEREUM;

/// Movements of every form: native, internal and token ones, unindexed ones, creations, failures, unknown states.
fn many(chain: Chain) -> Batch {
    let mut chainlet = Chainlet::new(chain);
    for round in 0..600_u64 {
        chainlet = chainlet.transfer(round % 37, round * round % 11, round % 7 * 1_000_000_000_007).fee(1);
        chainlet = match round % 8 {
            0 => chainlet.token_movement(round % 4, round % 37, 40 + round % 200, round + 1).log(9, &[7, round], b"x"),
            1 => chainlet.internal(round % 7, round % 13, 5).internal(3, 3, 5),
            2 => chainlet.token_movement(1, 3, 4, 9).unindexed().token_movement(1, 3, 4, 9).unindexed(),
            3 => chainlet.failed(),
            4 => chainlet.token_movement(2, 5, round % 37, 3_000_000).unindexed().token_movement(3, round % 37, 5, 1),
            5 => chainlet.same_block().transfer(3, 7, 2),
            6 => chainlet.with(|facts| {
                facts.body = facts.body.map(|body| Body { to: None, ..body });
                facts.created = (round % 16 == 6).then(|| address(chain, 5_000 + round));
            }),
            _ => chainlet.status_unknown(),
        };
    }
    chainlet.batch()
}

fn listings() -> Vec<TokenListing> {
    let listing = |number, symbol: &str, decimals, verified| TokenListing {
        chain: ETHEREUM,
        contract: *token(ETHEREUM, number).contract().unwrap(),
        symbol: symbol.to_owned(),
        name: symbol.to_owned(),
        decimals,
        verified,
        coingecko_id: None,
    };
    vec![listing(1, "USDT", 6, true), listing(2, "DAI", 18, true), listing(3, "USDC", 6, false)]
}

fn store() -> Arc<MemoryStore> {
    let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(0), usd: 2000.0 };
    let bitcoin = Chainlet::bitcoin().mine(1, 5_000).spend(&[(1, 0, 0)], &[(2, 3_000), (1, 1_500)]).batch();
    let mut store = in_memory(vec![many(ETHEREUM), bitcoin], listings(), vec![price]).unwrap();
    let on_all = headwater_ledger::labels::Claim {
        scope: Scope::Evm,
        ..claim(ETHEREUM, address(ETHEREUM, 3), Code::Exchange, Level::Forensic, "list")
    };
    let claims = vec![claim(ETHEREUM, address(ETHEREUM, 1), Code::Mixer, Level::Forensic, "list"), on_all];
    Arc::get_mut(&mut store).unwrap().import_labels(label_import("list", claims, 0)).unwrap();
    store
}

fn ledger_of(store: &MemoryStore) -> Arc<dyn Ledger> {
    store.snapshot()
}

fn export_all(ledger: &Arc<dyn Ledger>, folder: &Path) -> Vec<Manifest> {
    export(ledger, (&ExportTable::ALL, &[]), folder, &|_, _, _| {}, &Cancel::new()).unwrap()
}

fn read(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    reader.map(|batch| batch.unwrap()).collect()
}

fn bytes_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
        if entry.is_dir() {
            found.extend(bytes_below(&entry).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            found.insert(name, std::fs::read(entry).unwrap());
        }
    }
    found
}

#[test]
fn exported_tables_have_the_rows_of_their_scans() {
    let store = store();
    let ledger = ledger_of(&store);
    let folder = tempfile::tempdir().unwrap();
    for manifest in export_all(&ledger, folder.path()).iter().filter(|manifest| manifest.table != "transfers") {
        let request = ScanRequest { table: manifest.table.clone(), ..ScanRequest::default() };
        let stream = scan(Arc::clone(&ledger), &request).unwrap();
        let schema = arrow::array::RecordBatchReader::schema(&stream);
        let all = concat_batches(&schema, &stream.map(|batch| batch.unwrap()).collect::<Vec<_>>()).unwrap();
        assert!(all.num_rows() > 0, "{}", manifest.table);
        let mut rows = 0;
        for file in &manifest.files {
            let written = read(&folder.path().join(&manifest.table).join(&file.path));
            let written = concat_batches(&schema, &written).unwrap();
            let expected = match file.path.strip_prefix("chain=") {
                None => all.clone(),
                Some(path) => {
                    let chain = path.split('/').next().unwrap();
                    let chains = all.column_by_name("blockchain").unwrap().as_string::<i32>().iter();
                    let is_of_chain = chains.map(|of| Some(of == Some(chain))).collect();
                    arrow::compute::filter_record_batch(&all, &is_of_chain).unwrap()
                }
            };
            assert_eq!(written, expected, "{} {}", manifest.table, file.path);
            rows += written.num_rows();
        }
        assert_eq!((rows, manifest.rows), (all.num_rows(), all.num_rows() as u64), "{}", manifest.table);
    }
    let labels = folder.path().join("labels");
    assert!(labels.join("chain=evm/part-0.parquet").is_file() && labels.join("chain=ethereum").is_dir());
    assert!(folder.path().join("prices/part-0.parquet").is_file());
}

#[test]
fn exported_bytes_do_not_depend_on_threads_or_segments() {
    let store = store();
    let mut first = None;
    for (segments, split, tail_blocks) in [(1, Split::Runs, 0), (3, Split::Runs, 2), (17, Split::Scattered, 4)] {
        let ledger = ledger_of(&store.in_segments(Segmentation { segments, split, tail_blocks }).unwrap());
        for threads in [1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| export_all(&ledger, folder.path()));
            let bytes = bytes_below(folder.path());
            assert!(first.get_or_insert_with(|| bytes.clone()) == &bytes, "{segments} segments, {threads} threads");
        }
    }
}

#[test]
fn failed_export_of_several_tables_leaves_none() {
    let store = store();
    let ledger = ledger_of(&store);
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("logs")).unwrap();
    std::fs::write(folder.path().join("logs/own"), "").unwrap();
    let tables = [ExportTable::Tokens, ExportTable::Logs];
    let refused = export(&ledger, (&tables, &[]), folder.path(), &|_, _, _| {}, &Cancel::new()).unwrap_err();
    assert!(matches!(refused, TableExportError::Export(ExportError::NotEmpty { .. })), "{refused}");
    assert_eq!(bytes_below(folder.path()).into_keys().collect::<Vec<_>>(), ["logs/own"]);
    let cancel = Cancel::new();
    let stop = |table, done, _| {
        if table == ExportTable::Transactions && done > 0 {
            cancel.cancel();
        }
    };
    let tables = [ExportTable::Prices, ExportTable::Transactions];
    assert!(export(&ledger, (&tables, &[]), folder.path(), &stop, &cancel).is_err());
    assert_eq!(bytes_below(folder.path()).into_keys().collect::<Vec<_>>(), ["logs/own"]);
}

#[test]
fn export_of_named_chains_has_no_rows_of_others() {
    let store = store();
    let ledger = ledger_of(&store);
    let folder = tempfile::tempdir().unwrap();
    let tables = [ExportTable::Tokens, ExportTable::Transactions, ExportTable::Tokens];
    let manifests =
        export(&ledger, (&tables, &[Chain::BITCOIN]), folder.path(), &|_, _, _| {}, &Cancel::new()).unwrap();
    assert_eq!(
        manifests.iter().map(|manifest| manifest.table.as_str()).collect::<Vec<_>>(),
        ["tokens", "transactions"]
    );
    for manifest in manifests {
        assert_eq!(manifest.chains.keys().collect::<Vec<_>>(), ["bitcoin"], "{}", manifest.table);
    }
    let refused = export(&ledger, (&tables, &[Chain::TRON]), folder.path(), &|_, _, _| {}, &Cancel::new());
    assert_eq!(refused.unwrap_err().to_string(), "the store holds nothing of tron: it holds bitcoin, ethereum");
}

fn intelligence() -> Intelligence {
    let files = [("by hand".to_owned(), std::io::Result::Ok(model(ETHEREUM).into_bytes()))];
    Intelligence::default().with_models(files).unwrap()
}

fn exported_scores(rows: &[RecordBatch], chain: Chain, columns: &str) -> (SchemaRef, Vec<RecordBatch>) {
    let columns = columns.parse::<ScoreColumns>().unwrap();
    score_exported(rows, chain, columns, intelligence(), &Cancel::new()).unwrap()
}

/// Returns the scores of a store of the addresses of rows.
fn stored_scores(store: Arc<dyn Generations>, chain: Chain, columns: &str, of: &ArrayRef) -> Vec<RecordBatch> {
    let engine = QueryEngine::new(store).with_intelligence(intelligence());
    let scorer = engine.scorer(chain, columns.parse().unwrap()).unwrap();
    let list = AddressSource::Columns(vec![Arc::clone(of)]);
    score_table(&scorer, Addresses::List(&list), &|_| {}, &Cancel::new()).unwrap().1
}

#[test]
fn scores_of_each_exported_bucket_are_those_of_the_store() {
    for (chain, columns) in [(ETHEREUM, "class,features"), (Chain::TRON, "features")] {
        let tokens = if chain == ETHEREUM { listings() } else { Vec::new() };
        let store = in_memory(vec![many(chain)], tokens, Vec::new()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let manifest = transfers(&*store.snapshot(), &[], folder.path(), &|_, _| {}, &Cancel::new()).unwrap();
        let mut addresses = 0;
        for file in &manifest.files {
            let rows = read(&folder.path().join("transfers").join(&file.path));
            let (schema, found) = exported_scores(&rows, chain, columns);
            let found = concat_batches(&schema, &found).unwrap();
            let expected =
                stored_scores(Arc::clone(&store) as _, chain, columns, found.column_by_name("address").unwrap());
            assert_eq!(found, concat_batches(&schema, &expected).unwrap(), "{chain} {}", file.path);
            assert!(found.column_by_name("created_count").unwrap().as_primitive::<Float64Type>().null_count() == 0);
            addresses += found.num_rows() as u64;
        }
        assert_eq!(Some(addresses), manifest.chains[chain.name()].addresses);
    }
}

#[test]
fn scores_of_rows_of_other_engines_are_the_same() {
    let store = store();
    let folder = tempfile::tempdir().unwrap();
    let manifest = transfers(&*store.snapshot(), &[ETHEREUM], folder.path(), &|_, _| {}, &Cancel::new()).unwrap();
    let read_all = manifest.files.iter().flat_map(|file| read(&folder.path().join("transfers").join(&file.path)));
    let rows: Vec<RecordBatch> = read_all.collect();
    // Wide texts, nanoseconds without a zone, doubles for integers with nulls.
    let wide = |batch: &RecordBatch| {
        let schema = batch.schema();
        let columns = schema.fields().iter().map(|field| {
            let kind = match field.data_type() {
                DataType::Utf8 => DataType::LargeUtf8,
                DataType::Dictionary(..) => DataType::Utf8View,
                DataType::Timestamp(..) => DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, None),
                DataType::Int32 => DataType::Float64,
                other => other.clone(),
            };
            let column = batch.column_by_name(field.name()).unwrap();
            (field.name().clone(), cast(column, &kind).unwrap(), true)
        });
        RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap()
    };
    let wide: Vec<RecordBatch> = rows.iter().map(wide).collect();
    assert_eq!(exported_scores(&wide, ETHEREUM, "features"), exported_scores(&rows, ETHEREUM, "features"));
    let numbers = |column: &str, cells: ArrayRef| {
        let batch = &rows[0].slice(0, 1);
        let schema = batch.schema();
        let place = schema.index_of(column).unwrap();
        let columns = schema.fields().iter().zip(batch.columns()).enumerate().map(|(at, (field, old))| {
            (field.name().clone(), if at == place { Arc::clone(&cells) } else { Arc::clone(old) }, true)
        });
        let changed = RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap();
        let columns = "features".parse().unwrap();
        score_exported(&[changed], ETHEREUM, columns, intelligence(), &Cancel::new()).unwrap_err().to_string()
    };
    let expected = "column `amount` is of type Float64; expected Utf8";
    assert_eq!(numbers("amount", Arc::new(Float64Array::from(vec![1e18]))), expected);
    let expected = "column `decimals` is of type Float64; expected Int64";
    assert_eq!(numbers("decimals", Arc::new(Float64Array::from(vec![1.5]))), expected);
    let refused = numbers("block", Arc::new(Int64Array::from(vec![-1])));
    assert_eq!(refused, "row 1: block: \"-1\"; expected a whole number of 0 or more");
    assert!(numbers("time", Arc::new(StringArray::from(vec![None::<&str>]))).contains("time: null; expected a time"));
}

#[test]
fn scores_of_no_rows_have_the_columns_and_risk_is_refused() {
    let (schema, batches) = exported_scores(&[], ETHEREUM, "class,features");
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
    assert!(["address", "predicted_class", "in_count", "error"].iter().all(|name| schema.index_of(name).is_ok()));
    let all = "risk,class".parse().unwrap();
    let refused = score_exported(&[], ETHEREUM, all, intelligence(), &Cancel::new()).unwrap_err().to_string();
    assert!(refused.starts_with("columns: the risk needs labels"), "{refused}");
    let columns = "features".parse().unwrap();
    let refused = score_exported(&[], Chain::BITCOIN, columns, intelligence(), &Cancel::new()).unwrap_err();
    assert!(refused.to_string().starts_with("blockchain: rows of bitcoin do not contain"), "{refused}");
}
