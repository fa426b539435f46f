//! `headwater labels export`.

use std::path::Path;

use headwater_export::LabelFormat;
use headwater_ledger::Store;
use headwater_ledger::labels::ListOrigin;
use headwater_ledger::read::Labels as _;
use serde_json::json;

use super::super::Settings;
use super::super::error::Failure;
use super::super::output::{Output, grouped};

/// Writes the claims in force, of one version or of all, in the format given or that the ending of the file names.
pub(super) fn run(
    settings: &Settings,
    file: &Path,
    format: Option<&str>,
    version: Option<u64>,
    output: Output,
) -> Result<(), Failure> {
    let format = match format {
        Some(name) => LabelFormat::named(name, file),
        None => LabelFormat::of(file),
    };
    let format = format.ok_or_else(|| {
        let endings = ".csv, .parquet, .yaml (a TagPack) or .json (tags of OLI)";
        Failure::usage(format!("{}: name the format with --format, or by the ending: {endings}", file.display()))
    })?;
    let ledger = Store::open(settings.store()?)?.snapshot()?;
    let table = ledger.labels();
    if let Some(version) = version.filter(|version| !table.versions().any(|held| held == *version)) {
        let held: Vec<_> = table.versions().map(|held| held.to_string()).collect();
        let expected = if held.is_empty() { "none".to_owned() } else { held.join(", ") };
        return Err(Failure::failed(format!(
            "version {version} is not the last one of a list of labels in force; those are {expected}"
        )));
    }
    let written =
        headwater_export::labels(table, version, format, file).map_err(|error| Failure::from_error(&error))?;
    let exported = table.versions().zip(table.origins()).filter(|(held, _)| version.is_none_or(|only| *held == only));
    let lists: Vec<_> = exported.map(|(_, origin)| origin).collect();
    let list_value =
        |origin: &&ListOrigin| json!({"source": origin.source, "list": origin.list, "licence": origin.licence});
    let value = json!({
        "file": file.display().to_string(), "format": format.name(), "claims": written.claims,
        "left_out": written.left_out, "not_written": format.not_written(),
        "lists": lists.iter().map(list_value).collect::<Vec<_>>()
    });
    output.report(&value, || {
        let mut lines =
            vec![format!("{} claims in {}, format {}", grouped(written.claims), file.display(), format.name())];
        lines.extend(lists.iter().map(|ListOrigin { source, list, licence }| {
            format!("  {source}, list {list}: licence {}", licence.as_deref().unwrap_or("not known"))
        }));
        lines
            .extend(written.left_out.iter().map(|(reason, count)| format!("  left out: {} {reason}", grouped(*count))));
        if !format.not_written().is_empty() {
            lines.push(format!("  the format has no place for {}", format.not_written().join(", ")));
        }
        lines
    })
}
