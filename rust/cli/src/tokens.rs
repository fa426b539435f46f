//! `headwater tokens`.

use std::path::PathBuf;

use clap::Subcommand;
use headwater_ingest::{MarketImport, import_tokens, list_tokens, read_sources};
use headwater_ledger::Cancel;
use headwater_ledger::store::ImportKind;
use headwater_types::Chain;
use serde_json::json;

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped};
use super::progress::{Bar, Unit};
use super::versions;

/// Arguments of `tokens`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read token registries; each path becomes a version that can be rolled back.
    Import {
        /// The chain, for files that do not name one.
        #[arg(long, value_parser = super::chain(), ignore_case = true)]
        chain: Option<Chain>,
        /// Name of the source [default: the name of the file or folder].
        #[arg(long)]
        source: Option<String>,
        /// Files, folders or patterns.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// List the versions of registries.
    List,
    /// Take a version out of force.
    Rollback {
        /// Number of the version, from `list`.
        // `version` is the name of the flag that every command has.
        #[arg(id = "number", value_name = "VERSION")]
        version: u64,
    },
}

/// The kinds of versions of this command.
const KINDS: [ImportKind; 1] = [ImportKind::Tokens];

/// Imports registries, and manages their versions.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    let (chain, source, paths) = match arguments.command {
        Command::Import { chain, source, paths } => (chain, source, paths),
        Command::List => return versions::list(settings, &KINDS, output),
        Command::Rollback { version } => return versions::roll_back(settings, version, &KINDS, output),
    };
    let sources = read_sources(&paths, source.as_deref(), |file| list_tokens(file, chain))?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Steps);
    let imports = import_tokens(&settings.store()?, sources, &bar, &cancel)?;
    drop(bar);
    report("tokens", &imports, output)
}

/// Prints the report of imports.
pub(super) fn report(what: &str, imports: &[MarketImport], output: Output) -> Result<(), Failure> {
    const QUOTED: usize = 5;
    output.report(&json!({"imports": imports}), || {
        let mut lines = Vec::new();
        for MarketImport { path, version, entries, skipped, skipped_reasons, .. } in imports {
            let left_out = if *skipped == 0 { String::new() } else { format!(", {} left out", grouped(*skipped)) };
            lines.push(format!("{}: {} {what}{left_out}, version {version}", path.display(), grouped(*entries)));
            lines.extend(skipped_reasons.iter().take(QUOTED).map(|reason| format!("  left out: {reason}")));
        }
        lines
    })
}
