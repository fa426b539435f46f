//! `headwater tokens`.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use headwater_ingest::{IngestError, Listed};
use headwater_ledger::Cancel;
use headwater_ledger::store::{ImportKind, Writer};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::Settings;
use super::derived;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped};
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
    let imports = read_all(&paths, source.as_deref(), |file| headwater_ingest::list_tokens(file, chain))?;
    let mut writer = Writer::open_or_create(settings.store()?)?;
    let mut summary = ImportSummary::default();
    for Import { origin, entries } in imports {
        let count = entries.len() as u64;
        let version = writer.import_tokens(&origin.source, entries)?;
        summary.add("tokens", &origin, version, count);
    }
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    derived::rebuild(&mut writer, &cancel)?;
    summary.report(output)
}

/// The entries of one path.
pub(super) struct Import<T> {
    pub origin: ImportOrigin,
    pub entries: Vec<T>,
}

/// The path of an import, and the rows of it that were left out.
pub(super) struct ImportOrigin {
    path: PathBuf,
    pub source: String,
    skipped: u64,
    reasons: Vec<String>,
}

/// Reads all paths before the store is opened, so that a broken file leaves no partial import.
pub(super) fn read_all<T>(
    paths: &[PathBuf],
    source: Option<&str>,
    read: impl Fn(&Path) -> Result<Listed<T>, IngestError>,
) -> Result<Vec<Import<T>>, Failure> {
    let mut imports = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let source = source.map_or(name, str::to_owned);
        let mut origin = ImportOrigin { path: path.clone(), source, skipped: 0, reasons: Vec::new() };
        let mut entries = Vec::new();
        let (mut files_read, mut unknown) = (0, None);
        for file in headwater_ingest::source::discover(std::slice::from_ref(path))? {
            let listed = match read(&file) {
                Ok(listed) => listed,
                // Other files of a folder are skipped; a file that was named itself is meant.
                Err(error @ (IngestError::Unrecognised { .. } | IngestError::NothingRead { .. })) if file != *path => {
                    origin.reasons.push(error.to_string().lines().next().unwrap_or_default().to_owned());
                    unknown.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            files_read += 1;
            entries.extend(listed.entries);
            origin.skipped += listed.skipped;
            let place = if file == *path { String::new() } else { format!("{}: ", file.display()) };
            origin.reasons.extend(listed.skipped_reasons.into_iter().map(|reason| format!("{place}{reason}")));
        }
        if let (0, Some(error)) = (files_read, unknown) {
            return Err(error.into());
        }
        imports.push(Import { origin, entries });
    }
    Ok(imports)
}

/// The report of imports.
#[derive(Debug, Default)]
pub(super) struct ImportSummary {
    values: Vec<Value>,
    lines: Vec<String>,
}

impl ImportSummary {
    /// Adds one import of so many entries.
    pub fn add(&mut self, what: &str, origin: &ImportOrigin, version: u64, entries: u64) {
        const QUOTED: usize = 5;
        let ImportOrigin { path, source, skipped, reasons } = origin;
        self.values.push(json!({
            "path": path, "source": source, "version": version, "entries": entries, "skipped": skipped
        }));
        let left_out = if *skipped == 0 { String::new() } else { format!(", {} left out", grouped(*skipped)) };
        self.lines.push(format!("{}: {} {what}{left_out}, version {version}", path.display(), grouped(entries)));
        self.lines.extend(reasons.iter().take(QUOTED).map(|reason| format!("  left out: {reason}")));
    }

    /// Prints the report.
    pub fn report(self, output: Output) -> Result<(), Failure> {
        output.report(&json!({"imports": self.values}), || self.lines)
    }
}
