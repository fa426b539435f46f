//! `headwater export`.

use std::path::PathBuf;

use headwater_export::Manifest;
use headwater_ledger::Cancel;
use headwater_types::Chain;

use super::Settings;
use super::error::Failure;
use super::generation::GenerationArgument;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, size, table};
use super::progress::{Bar, Unit};

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The table.
    #[arg(long, value_enum, default_value_t = Table::Transfers)]
    table: Table,
    /// New or empty folder; the files are written below its folder `transfers`.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only this chain; may be given more than once [default: all].
    #[arg(long, value_parser = super::chain(), ignore_case = true)]
    chain: Vec<Chain>,
    #[command(flatten)]
    generation: GenerationArgument,
}

/// `--table`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Table {
    /// Every movement under both its ends, partitioned by chain and address bucket, sorted by address.
    Transfers,
}

/// Writes a table of the store as Parquet.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let ledger = arguments.generation.open(settings)?.current()?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Steps);
    let progress = |done, total| bar.update(done, total, "rows");
    let written = match arguments.table {
        Table::Transfers => headwater_export::transfers(&*ledger, &arguments.chain, &arguments.out, &progress, &cancel),
    };
    drop(bar);
    let manifest = written.map_err(|error| Failure::from_error(&error))?;
    output.report(&manifest, || lines(&manifest, arguments))
}

fn lines(manifest: &Manifest, arguments: &Arguments) -> Vec<String> {
    let mut rows = vec![["chain", "addresses", "rows", "movements", "files", "size"].map(str::to_owned).to_vec()];
    rows.extend(manifest.chains.iter().map(|(chain, held)| {
        let counts = [held.addresses, held.rows, held.movements, held.files].map(grouped);
        std::iter::once(chain.to_string()).chain(counts).chain([size(held.bytes)]).collect()
    }));
    let mut lines = table(&rows);
    lines.push(format!("generation {} in {}", manifest.generation, arguments.out.join(&manifest.table).display()));
    lines
}
