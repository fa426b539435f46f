//! `headwater export`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use headwater_export::{ChainExport, FileEntry, Manifest};
use headwater_ledger::{Cancel, Ledger};
use headwater_table::export::{ExportTable, export};
use headwater_types::Chain;

use super::Settings;
use super::error::Failure;
use super::generation::GenerationArgument;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, size, table};
use super::progress::{Bar, Unit};

/// The word for all tables.
const ALL: &str = "all";

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The table; may be given more than once. `transfers` has every movement under both its ends, partitioned by chain and
    /// address bucket, sorted by address; the others are partitioned by chain.
    #[arg(long = "table", value_name = "TABLE", default_value = "transfers", value_parser = tables())]
    tables: Vec<Tables>,
    /// New or empty folder; the files are written below its folder of the name of the table.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only this chain; may be given more than once [default: all].
    #[arg(long, value_parser = super::chain(), ignore_case = true)]
    chain: Vec<Chain>,
    #[command(flatten)]
    generation: GenerationArgument,
}

/// A value of `--table`.
#[derive(Debug, Clone, Copy)]
enum Tables {
    All,
    One(ExportTable),
}

fn tables() -> impl TypedValueParser<Value = Tables> {
    let names = ExportTable::ALL.into_iter().map(ExportTable::name).chain([ALL]);
    PossibleValuesParser::new(names.map(PossibleValue::new))
        .map(|name| ExportTable::from_name(&name).map_or(Tables::All, Tables::One))
}

/// Writes tables of the store as Parquet.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let ledger: Arc<dyn Ledger> = arguments.generation.open(settings)?.current()?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Steps);
    let progress = |table: ExportTable, done, total| bar.update(done, total, &format!("rows of {}", table.name()));
    let named = arguments.tables.iter().flat_map(|named| match named {
        Tables::All => ExportTable::ALL.to_vec(),
        Tables::One(table) => vec![*table],
    });
    let named: Vec<ExportTable> = named.collect();
    let written = export(&ledger, (&named, &arguments.chain), &arguments.out, &progress, &cancel);
    drop(bar);
    let manifests = written.map_err(|error| Failure::from_error(&error))?;
    let lines = || lines(&manifests, arguments);
    match &manifests[..] {
        [only] => output.report(only, lines),
        _ => {
            let by_table: BTreeMap<&str, &Manifest> =
                manifests.iter().map(|manifest| (manifest.table.as_str(), manifest)).collect();
            output.report(&by_table, lines)
        }
    }
}

fn lines(manifests: &[Manifest], arguments: &Arguments) -> Vec<String> {
    let head = ["table", "chain", "addresses", "rows", "movements", "files", "size"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for manifest in manifests {
        if manifest.partitions.is_empty() {
            let bytes = manifest.files.iter().map(|file: &FileEntry| file.bytes).sum();
            let files = manifest.files.len() as u64;
            rows.push(row(manifest, "", &ChainExport { rows: manifest.rows, files, bytes, ..ChainExport::default() }));
        }
        rows.extend(manifest.chains.iter().map(|(chain, held)| row(manifest, chain, held)));
    }
    let mut lines = table(&rows);
    let generation = manifests.first().map_or(0, |manifest| manifest.generation);
    lines.push(format!("generation {generation} in {}", arguments.out.display()));
    lines
}

fn row(manifest: &Manifest, chain: &str, held: &ChainExport) -> Vec<String> {
    let known = |count: Option<u64>| count.map(grouped).unwrap_or_default();
    vec![
        manifest.table.clone(),
        chain.to_owned(),
        known(held.addresses),
        grouped(held.rows),
        known(held.movements),
        grouped(held.files),
        size(held.bytes),
    ]
}
