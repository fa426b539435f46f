//! Versions of imports: listing and rollback.

use headwater_ledger::market::{CORE_SOURCE, core_prices, core_tokens};
use headwater_ledger::store::{ImportKind, ImportVersion, Writer};
use headwater_ledger::{Cancel, Store};
use serde_json::json;

use super::Settings;
use super::derived;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, table};

/// The number of the core tokens and core prices in lists: they are part of the program, not of a store.
const CORE_VERSION: u64 = 0;

/// Returns the core tokens and the core prices as versions.
fn core_versions() -> [ImportVersion; 2] {
    let prices: usize = core_prices().iter().map(|(_, prices)| prices.len()).sum();
    [(ImportKind::Tokens, core_tokens().len()), (ImportKind::Prices, prices)].map(|(kind, entries)| ImportVersion {
        version: CORE_VERSION,
        kind,
        source: CORE_SOURCE.to_owned(),
        entries: entries as u64,
        in_force: true,
        list: None,
    })
}

/// Lists the versions of some kinds, those of the core first, those rolled back included.
pub(super) fn list(settings: &Settings, kinds: &[ImportKind], output: Output) -> Result<(), Failure> {
    let imports = Store::open(settings.store()?)?.stats()?.imports;
    let mut versions: Vec<_> = core_versions().into_iter().chain(imports).collect();
    versions.retain(|version| kinds.contains(&version.kind));
    output.report(&json!({"imports": versions}), || {
        if versions.is_empty() {
            return vec!["nothing was imported yet".to_owned()];
        }
        let head = ["version", "what", "entries", "in force", "source", "list", "date", "licence"].map(str::to_owned);
        let head = head.to_vec();
        table(&std::iter::once(head).chain(versions.iter().map(row)).collect::<Vec<_>>())
    })
}

fn row(version: &ImportVersion) -> Vec<String> {
    vec![
        version.version.to_string(),
        version.kind.name().to_owned(),
        grouped(version.entries),
        if version.in_force { "yes" } else { "rolled back" }.to_owned(),
        version.source.clone(),
        version.list.as_ref().map(|list| list.name.clone()).unwrap_or_default(),
        version.list.as_ref().map(|list| list.ended_at.to_string()).unwrap_or_default(),
        version.list.as_ref().and_then(|list| list.licence.clone()).unwrap_or_default(),
    ]
}

/// Takes a version of one of these kinds out of force, and rebuilds the sidecars.
pub(super) fn roll_back(
    settings: &Settings,
    version: u64,
    kinds: &[ImportKind],
    output: Output,
) -> Result<(), Failure> {
    if let Some(core) = core_versions().iter().find(|core| core.version == version && kinds.contains(&core.kind)) {
        let kind = core.kind.name();
        return Err(Failure::failed(format!(
            "version {CORE_VERSION} is the core {kind} of the program: it is never rolled back"
        )));
    }
    let path = settings.store()?;
    // A rollback creates no store.
    drop(Store::open(&path)?);
    let mut writer = Writer::open_or_create(path)?;
    let known = writer.import_versions();
    let of_kinds = |one: &&ImportVersion| one.version == version && kinds.contains(&one.kind);
    let Some(import) = known.iter().find(of_kinds).filter(|import| import.in_force) else {
        let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        return Err(Failure::failed(format!("no version {version} of {} is in force", names.join(" or "))));
    };
    writer.roll_back_import(version)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    derived::rebuild(&mut writer, &cancel)?;
    output.report(&json!({"rolled_back": version, "source": import.source, "entries": import.entries}), || {
        vec![format!("version {version} is rolled back: {} {}", grouped(import.entries), import.kind.name())]
    })
}
