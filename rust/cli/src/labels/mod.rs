//! `headwater labels`.

mod disputes;
mod export;
mod find;
mod import;
mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use headwater_export::LabelFormat;
use headwater_ingest::labels::{
    ImportedList, Issuer, LabelImportReport, import_freezes, ledger_freezes, refresh_freezes,
};
use headwater_ledger::labels::{Action, Claim, Code, DateBasis, DisputeAction};
use headwater_ledger::store::{ImportKind, WriterOptions};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_types::{Address, Chain, Timestamp};
use serde_json::{Value, json};

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, table};
use super::versions;
pub use import::notes;

/// The arguments of `labels`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print who addresses are: their labels, and the claims behind them.
    Show(show::Show),
    /// Print the addresses to which lists give a name.
    Find(find::Find),
    /// Read lists of labels. The files of one format are one version, which replaces the one before of the same source and
    /// list.
    Import(import::Import),
    /// Read the freezes that issuers of stablecoins made on chain, from the event logs of the store. `ingest` does so for the
    /// known issuers.
    Freezes {
        /// Those of other issuers: a CSV file with the columns chain, contract and issuer.
        #[arg(long, value_name = "FILE")]
        issuers: Option<PathBuf>,
    },
    /// Write the claims in force into a file that `labels import` reads.
    Export {
        /// Format [default: by the ending of the file: .csv, .parquet, .yaml (tagpack) or .json (oli)].
        #[arg(long, value_parser = PossibleValuesParser::new(LabelFormat::NAMES))]
        format: Option<String>,
        /// Only the claims of this version, as `list` shows it [default: all lists].
        #[arg(id = "number", long = "only", value_name = "VERSION")]
        version: Option<u64>,
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// List the versions of labels.
    List,
    /// Compare two versions.
    Diff {
        /// Its number, as `list` shows it.
        #[arg(id = "number", value_name = "VERSION")]
        version: u64,
        /// The version to compare with [default: the one before of its list].
        #[arg(long, value_name = "VERSION")]
        against: Option<u64>,
    },
    /// Take a version out of force.
    Rollback {
        /// Its number, as `list` shows it.
        #[arg(id = "number", value_name = "VERSION")]
        version: u64,
    },
    /// Mark claims about an address as disputed: they count half until they are confirmed. Lists of sanctions, freezes of
    /// issuers and facts of the ledger are marked too, and count in full.
    Dispute(disputes::Dispute),
    /// End a dispute: the claims count in full again.
    Confirm(disputes::Dispute),
    /// Print the history of disputes, the newest first.
    Disputes {
        /// Only those about this address.
        address: Option<String>,
    },
}

/// Claims of a comparison that are shown to people.
const SHOWN: usize = 20;

/// Imports labels, and manages their versions.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    match arguments.command {
        Command::Show(arguments) => show::run(settings, &arguments, output),
        Command::Find(arguments) => find::run(settings, &arguments, output),
        Command::Import(arguments) => import::run(settings, arguments, output),
        Command::Freezes { issuers } => freezes(settings, issuers.as_deref(), output),
        Command::Export { format, version, file } => export::run(settings, &file, format.as_deref(), version, output),
        Command::List => versions::list(settings, &[ImportKind::Labels], output),
        Command::Diff { version, against } => diff(settings, version, against, output),
        Command::Rollback { version } => versions::roll_back(settings, version, &[ImportKind::Labels], output),
        Command::Dispute(arguments) => disputes::record(settings, DisputeAction::Dispute, arguments, output),
        Command::Confirm(arguments) => disputes::record(settings, DisputeAction::Confirm, arguments, output),
        Command::Disputes { address } => disputes::list(settings, address.as_deref(), output),
    }
}

fn freezes(settings: &Settings, further: Option<&Path>, output: Output) -> Result<(), Failure> {
    let further = further.map(|path| Ok::<_, Failure>((path, read_issuers(path)?))).transpose()?;
    let path = settings.store()?;
    drop(Store::open(&path)?);
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let mut writer = WriterOptions::default().cancelled_by(&cancel).open(path)?;
    let (version, labels) = match further {
        None => refresh_freezes(&mut writer, now(), &cancel)?,
        // A source of its own, so that loads do not replace it when they refresh the known issuers.
        Some((path, issuers)) => writer.exclusively(&cancel, |writer| {
            let mut found = ledger_freezes(&*writer.snapshot(), &issuers, &cancel)?;
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            found.source = format!("{} {stem}", found.source);
            let source: Arc<str> = Arc::from(found.source.as_str());
            for claim in &mut found.claims {
                claim.source = Arc::clone(&source);
            }
            Ok::<_, LedgerError>((import_freezes(writer, &found, now())?, found))
        })?,
    };
    match version {
        Some(version) => {
            let lists = vec![ImportedList::new(version, None, &labels)];
            import::print(&LabelImportReport { lists, left_out: Vec::new() }, output)
        }
        None => output.report(&json!({"version": null, "counts": labels.counts}), || {
            vec![format!("{} freezes, none of them new", grouped(labels.counts.claims))]
        }),
    }
}

/// Reads a table of issuer contracts.
fn read_issuers(path: &Path) -> Result<Vec<Issuer>, Failure> {
    let failed = |what: String| Failure::failed(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
    let place = |name: &str| {
        let place = head.iter().position(|column| *column == name);
        place.ok_or_else(|| failed(format!("has no column {name:?}: expected chain, contract and issuer")))
    };
    let [chain, contract, issuer] = [place("chain")?, place("contract")?, place("issuer")?];
    let read = |(number, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |place: usize| {
            let text = cells.get(place).copied().filter(|text| !text.is_empty());
            text.ok_or_else(|| failed(format!("row {number}: column {:?} is missing", head[place])))
        };
        let chain: Chain = cell(chain)?.parse().map_err(|error| failed(format!("row {number}: {error}")))?;
        let contract =
            Address::parse(chain, cell(contract)?).map_err(|error| failed(format!("row {number}: {error}")))?;
        Ok(Issuer { group: Arc::from(cell(issuer)?), chain, contract })
    };
    (1..).zip(lines).map(read).collect()
}

/// Returns the time of an import.
pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Timestamp::new(i64::try_from(since).unwrap_or(i64::MAX))
}

fn diff(settings: &Settings, version: u64, against: Option<u64>, output: Output) -> Result<(), Failure> {
    let diff = Store::open(settings.store()?)?.diff_labels(version, against)?;
    let values = |claims: &[Claim]| claims.iter().map(value).collect::<Vec<_>>();
    let changed: Vec<_> =
        diff.changed.iter().map(|(before, after)| json!({"before": value(before), "after": value(after)})).collect();
    let json = json!({
        "version": version,
        "added": values(&diff.added),
        "removed": values(&diff.removed),
        "changed": changed,
    });
    output.report(&json, || {
        let counts = [diff.added.len(), diff.removed.len(), diff.changed.len()].map(|count| grouped(count as u64));
        let mut lines = vec![format!("{} added, {} removed, {} changed", counts[0], counts[1], counts[2])];
        let added = diff.added.iter().map(|claim| row("+", claim));
        let removed = diff.removed.iter().map(|claim| row("-", claim));
        let changed = diff.changed.iter().map(|(_, after)| row("~", after));
        let rows: Vec<_> = added.chain(removed).chain(changed).collect();
        let head = ["", "chain", "address", "code", "entity"].map(str::to_owned).to_vec();
        if !rows.is_empty() {
            lines.extend(table(&std::iter::once(head).chain(rows.iter().take(SHOWN).cloned()).collect::<Vec<_>>()));
        }
        if rows.len() > SHOWN {
            lines.push(format!("{} more: see --json", grouped((rows.len() - SHOWN) as u64)));
        }
        lines
    })
}

fn row(sign: &str, claim: &Claim) -> Vec<String> {
    let code = claim.code.map(Code::name).unwrap_or_default();
    let code = if claim.action == Action::Remove { format!("not {code}") } else { code.to_owned() };
    let entity = claim.entity.as_deref().unwrap_or_default();
    vec![sign.to_owned(), claim.scope.name().to_owned(), claim.address.to_string(), code, entity.to_owned()]
}

fn value(claim: &Claim) -> Value {
    json!({
        "chain": claim.scope.name(),
        "address": claim.address.to_string(),
        "code": claim.code.map(Code::name),
        "name": claim.name.as_deref(),
        "entity": claim.entity.as_deref(),
        "source": &*claim.source,
        "source_url": claim.source_url.as_deref(),
        "group": &*claim.group,
        "level": claim.level.name(),
        "reliability": f64::from(claim.reliability) / 1000.0,
        "action": if claim.action == Action::Remove { "remove" } else { "add" },
        "last_seen": claim.last_seen.map(Timestamp::secs),
        "asserted_at": claim.asserted_at.map(Timestamp::secs),
        "date_basis": claim.date_basis.map(DateBasis::name),
        "valid_until": claim.valid_until.map(Timestamp::secs),
    })
}
