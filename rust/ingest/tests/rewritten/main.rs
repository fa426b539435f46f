//! Rows of one source, rewritten in the columns and types of another: both must come to the same facts.
//!
//! No public sample of these formats is small enough to keep, but their tables are those of ethereum-etl and bitcoin-etl
//! under other names and types. So rows that these projects publish are written anew here, column by column as the
//! other source documents them, and read back.

mod cryo;
mod table;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use headwater_ingest::source::json::{self, Value};
use headwater_ingest::{Gathered, IngestError, IngestReport, Options, Silent, ingest, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::store::{Store, Writer};

/// A row of ethereum-etl by column; lists are joined by commas, missing values left out.
type Source = BTreeMap<String, String>;

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
            let document = json::parse(line).unwrap();
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

/// The names of the formats that files were taken for.
fn formats(report: &IngestReport) -> Vec<&str> {
    report.files.iter().map(|file| file.format.as_str()).collect()
}
