//! `headwater prices`.

use std::path::PathBuf;

use clap::Subcommand;
use headwater_ledger::Cancel;
use headwater_ledger::store::Writer;

use super::Shared;
use super::derived;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::Output;
use super::tokens::{Said, read_all};

/// What `prices` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read prices in US dollars: each path is a version that can be rolled back.
    Import {
        /// The rate symbol, for files that do not name one.
        #[arg(long)]
        symbol: Option<String>,
        /// Name of the source [default: the name of the file or folder].
        #[arg(long)]
        source: Option<String>,
        /// Files, folders or patterns.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

/// Imports prices.
pub(super) fn run(shared: &Shared, arguments: Arguments, output: Output) -> Result<(), Failure> {
    let Command::Import { symbol, source, paths } = arguments.command;
    let imports = read_all(&paths, source.as_deref(), |file| headwater_ingest::list_prices(file, symbol.as_deref()))?;
    let mut writer = Writer::open_or_create(shared.store()?)?;
    let mut said = Said::default();
    for import in imports {
        let entries = import.entries.len();
        let version = writer.import_prices(&import.source, import.entries)?;
        said.add("prices", &import.path, &import.source, version, entries, import.skipped, &import.reasons);
    }
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    derived::rebuild(&mut writer, &cancel)?;
    said.report(output)
}
