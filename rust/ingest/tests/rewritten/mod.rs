//! Rows of one source, rewritten in the columns and types of another: both must come to the same facts.
//!
//! No public sample of these formats is small enough to keep, but their tables are those of ethereum-etl and bitcoin-etl
//! under other names and types. So rows that these projects publish are written anew here, column by column as the
//! other source documents them, and read back.

mod aws;
mod bigquery;
mod blockchair;
mod cryo;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use headwater_ingest::source::json::{self, Value};
use headwater_ingest::{Gathered, IngestError, IngestReport, Options, Silent, ingest, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, BlockFacts, TokenFacts, TransactionFacts};
use headwater_ledger::store::{Store, Writer};
use headwater_types::{Address, TxHash};

/// A row of ethereum-etl by column; lists are joined by commas, missing values left out.
type Source = BTreeMap<String, String>;

#[expect(clippy::disallowed_methods, reason = "the environment names the folder of the corpus")]
fn corpus() -> PathBuf {
    std::env::var_os("HEADWATER_CORPUS").expect("corpus tests need HEADWATER_CORPUS").into()
}

/// The rows of a table as its project publishes them.
fn rows(path: &Path) -> Vec<Source> {
    let mut bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|ending| ending == "gz") {
        let packed = std::mem::take(&mut bytes);
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    }
    if path.to_string_lossy().contains(".json") {
        let text = String::from_utf8(bytes).unwrap();
        let row = |line: &str| {
            let document = json::parse(line, &headwater_ingest::Bounds::default()).unwrap();
            let members = document.members().iter();
            members.filter_map(|(name, value)| Some((name.clone().into_owned(), plain(value)?))).collect()
        };
        return text.lines().map(row).collect();
    }
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let filled = |row: Source| row.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    reader.deserialize::<Source>().map(|row| filled(row.unwrap())).collect()
}

fn plain(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Bool(flag) => Some(flag.to_string()),
        Value::List(items) => Some(items.iter().filter_map(Value::text).collect::<Vec<_>>().join(",")),
        other => other.text().map(str::to_owned),
    }
}

/// Reads into memory.
fn gathered(paths: &[PathBuf], options: &Options) -> Result<(IngestReport, Vec<Batch>), IngestError> {
    let mut target = Gathered::default();
    let report = ingest_into(paths, options, &mut target, &Silent, &Cancel::new())?;
    Ok((report, target.batches))
}

/// Reads into a store, and tells what it then holds.
fn digest(folder: &Path, paths: &[PathBuf]) -> String {
    let store = folder.join("store");
    let mut writer = Writer::open_or_create(&store).unwrap();
    let report = ingest(paths, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    assert_eq!((report.skipped, report.left_out.len()), (0, 0));
    drop(writer);
    let digest = Store::open(&store).unwrap().digest(&Cancel::new()).unwrap().to_string();
    std::fs::remove_dir_all(&store).unwrap();
    digest
}

/// What files state, joined: blocks by number, transactions by hash, contracts and tokens.
#[derive(Debug, PartialEq)]
struct Stated {
    blocks: BTreeMap<u64, BlockFacts>,
    transactions: BTreeMap<TxHash, TransactionFacts>,
    contracts: BTreeSet<Address>,
    tokens: BTreeSet<TokenFacts>,
}

fn stated(paths: &[PathBuf], options: &Options) -> Stated {
    let (report, batches) = gathered(paths, options).unwrap();
    assert_eq!((report.skipped, report.left_out.len()), (0, 0));
    let mut stated = Stated {
        blocks: BTreeMap::new(),
        transactions: BTreeMap::new(),
        contracts: BTreeSet::new(),
        tokens: BTreeSet::new(),
    };
    for batch in batches {
        for block in batch.blocks {
            let joined = match stated.blocks.remove(&block.number) {
                Some(held) => held.join(&block, batch.chain).unwrap(),
                None => block,
            };
            stated.blocks.insert(joined.number, joined);
        }
        for facts in batch.transactions {
            let joined = match stated.transactions.remove(&facts.hash) {
                Some(held) => held.join(facts, batch.chain).unwrap(),
                None => facts.canonical(batch.chain).unwrap(),
            };
            stated.transactions.insert(joined.hash, joined);
        }
        stated.contracts.extend(batch.contracts);
        stated.tokens.extend(batch.tokens);
    }
    stated
}

/// A file of the same rows as the project itself writes them, but for some columns.
fn plainly(path: &Path, rows: &[Source], without: &[&str]) -> PathBuf {
    let mut names: Vec<&String> = rows.iter().flat_map(Source::keys).collect();
    names.sort();
    names.dedup();
    let columns: Vec<table::Column> = names
        .into_iter()
        .filter(|name| !without.contains(&name.as_str()))
        .map(|name| {
            let name: &'static str = name.clone().leak();
            table::column(name, table::Kind::Text, name)
        })
        .collect();
    table::text(path, table::Form::Csv, &columns, rows)
}

fn write(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// The names of the formats that files were taken for.
fn formats(report: &IngestReport) -> Vec<&str> {
    report.files.iter().map(|file| file.format.as_str()).collect()
}
