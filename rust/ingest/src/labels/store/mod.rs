//! Imports of lists into a store: each list is a version, and all of them are committed, or none.

mod edition;
mod later_edition;
mod report;

use std::path::PathBuf;

use headwater_ledger::Cancel;
use headwater_ledger::labels::Claim;
use headwater_ledger::market::CORE_SOURCE;
use headwater_ledger::read::Labels as _;
use headwater_ledger::store::{ImportVersion, LabelImport, MissingClaims, ShrinkPolicy, Writer};
use headwater_types::Timestamp;

pub use report::{ImportState, ImportedList, LabelImportReport};

use super::core_lists::{AddressDates, OFAC, core_lists};
use super::import::{LabelOptions, LabelReading, read_label_lists};
use super::outcome::{Labels, sanctions_of};
use crate::IngestError;
use later_edition::LaterEdition;

/// The circumstances of an import.
#[derive(Debug, Clone, Copy)]
pub struct ImportTerms {
    /// The time of the import: an argument, so that the same calls give the same store.
    pub imported_at: Timestamp,
    /// The policy for editions that most likely are cut off or old.
    pub shrinking: ShrinkPolicy,
}

/// Imports files of labels into a store: the files of each format are one version, which replaces the one before of the
/// same source and list. All versions are committed, or none.
///
/// Claims of OFAC's lists that the file dates by the entity, or not at all, get the date of the address where the core list
/// has it. Where a dated edition of OFAC's list is newer than the core list in the store, addresses that it no longer has
/// are delisted there too.
///
/// ```
/// use headwater_ingest::labels::{ImportTerms, LabelOptions, import_labels};
/// use headwater_ledger::store::{ShrinkPolicy, Writer};
/// use headwater_types::Timestamp;
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("mine.csv");
/// std::fs::write(&file, "address,chain,code\n0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b,bsc,mixer\n")?;
/// let mut writer = Writer::open_or_create(folder.path().join("my.hw"))?;
/// let terms = ImportTerms { imported_at: Timestamp::new(1_767_225_600), shrinking: ShrinkPolicy::Refused };
/// let report = import_labels(&mut writer, &[file], &LabelOptions::default(), terms)?;
/// let list = &report.lists[0];
/// assert_eq!((list.source.as_str(), list.counts.claims, list.replaces), ("mine", 1, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_label_lists`]; when an edition is older than the one that it replaces, or repeats too little of it, unless
/// `terms` accept that; when the store cannot be written.
pub fn import_labels(
    writer: &mut Writer,
    paths: &[PathBuf],
    options: &LabelOptions,
    terms: ImportTerms,
) -> Result<LabelImportReport, IngestError> {
    let LabelReading { mut lists, left_out } = read_label_lists(paths, options)?;
    if lists.iter().any(AddressDates::are_missing_in) {
        let dates = AddressDates::read()?;
        for labels in &mut lists {
            dates.apply(labels);
        }
    }
    // What a list replaces must not change until it is imported.
    let imported = writer.exclusively(&Cancel::new(), |writer| import_lists(writer, lists, terms))?;
    Ok(LabelImportReport { lists: imported, left_out })
}

/// Imports lists of files as one change.
fn import_lists(writer: &mut Writer, lists: Vec<Labels>, terms: ImportTerms) -> Result<Vec<ImportedList>, IngestError> {
    let versions = writer.import_versions();
    let mut imported = Vec::with_capacity(lists.len());
    for labels in &lists {
        let replaces = edition::replaced(&versions, labels);
        edition::check_whole(writer, replaces, labels, terms.shrinking)?;
        let mut list = ImportedList::new(0, replaces, labels);
        list.warnings.splice(0..0, edition::other_lists(&versions, labels));
        imported.push(list);
    }
    let delisted = delisted_in_core(writer, &versions, &lists, terms.imported_at)?;
    if let (Some(delisted), Some(list)) = (&delisted, imported.first_mut()) {
        list.warnings.push(delisted.warning.clone());
    }
    let of_files = lists.into_iter().map(|labels| labels.into_import(terms.imported_at, terms.shrinking));
    let imports: Vec<LabelImport> = of_files.chain(delisted.map(|delisted| delisted.import)).collect();
    for (list, version) in imported.iter_mut().zip(writer.import_label_lists(imports)?) {
        list.version = version;
    }
    Ok(imported)
}

/// Imports the core lists, each as a version of the source `core`. A list that the store has in this or in a later edition
/// stays as it is; lists of other sources are never replaced. All versions are committed, or none.
///
/// Addresses that a later dated edition of OFAC's list in the store no longer has are delisted as of its date.
///
/// ```
/// use headwater_ingest::labels::{ImportState, ImportTerms, import_core_lists};
/// use headwater_ledger::store::{ShrinkPolicy, Writer};
/// use headwater_types::Timestamp;
///
/// let folder = tempfile::tempdir()?;
/// let mut writer = Writer::open_or_create(folder.path().join("my.hw"))?;
/// let imported_at = Timestamp::new(1_798_761_600);
/// let report = import_core_lists(&mut writer, imported_at)?;
/// assert!(report.lists.iter().all(|list| list.state == ImportState::Imported && list.licence.is_some()));
/// let again = import_core_lists(&mut writer, imported_at)?;
/// assert!(again.lists.iter().all(|list| list.state == ImportState::Unchanged));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When memory is short or the store cannot be read or written.
pub fn import_core_lists(writer: &mut Writer, imported_at: Timestamp) -> Result<LabelImportReport, IngestError> {
    let lists = core_lists()?;
    let lists = writer.exclusively(&Cancel::new(), |writer| import_editions(writer, lists, imported_at))?;
    Ok(LabelImportReport { lists, left_out: Vec::new() })
}

/// Imports the editions of core lists that the store lacks as one change.
fn import_editions(
    writer: &mut Writer,
    lists: impl IntoIterator<Item = Labels>,
    imported_at: Timestamp,
) -> Result<Vec<ImportedList>, IngestError> {
    let versions = writer.import_versions();
    let (mut imported, mut imports) = (Vec::new(), Vec::new());
    for mut labels in lists {
        if labels.list == OFAC {
            LaterEdition::of_store(writer, &versions)?.inspect(|later| {
                later.end_missing(&mut labels.claims, labels.list_date);
            });
        }
        let held = edition::replaced(&versions, &labels);
        let mut list = ImportedList::new(0, held, &labels);
        list.state = state(writer, &versions, held, &labels)?;
        match (list.state, held) {
            (ImportState::Unchanged | ImportState::Newer, Some(held)) => (list.version, list.replaces) = (held, None),
            // A corrected edition may lack what an earlier one had.
            _ => imports.push(labels.into_import(imported_at, ShrinkPolicy::Accepted)),
        }
        imported.push(list);
    }
    if !imports.is_empty() {
        let new = imported.iter_mut().filter(|list| list.state == ImportState::Imported);
        for (list, version) in new.zip(writer.import_label_lists(imports)?) {
            list.version = version;
        }
    }
    Ok(imported)
}

/// Compares an edition of a core list with the one in the store.
fn state(
    writer: &Writer,
    versions: &[ImportVersion],
    held: Option<u64>,
    labels: &Labels,
) -> Result<ImportState, IngestError> {
    let of_held = versions.iter().find(|version| Some(version.version) == held);
    let held_date = of_held.and_then(|version| version.list.as_ref()).map(|list| list.ended_at);
    match (held, held_date) {
        (Some(held), _) if claims_of(writer, held)? == sorted(labels.claims.clone()) => Ok(ImportState::Unchanged),
        (Some(_), date) if date > labels.list_date => Ok(ImportState::Newer),
        _ => Ok(ImportState::Imported),
    }
}

/// Returns the claims of a version in force in order, those among them that ended.
fn claims_of(writer: &Writer, version: u64) -> Result<Vec<Claim>, IngestError> {
    let mut claims = Vec::new();
    writer.snapshot().labels().each(&mut |of, claim| {
        if of == version {
            claims.push(claim.to_owned());
        }
        Ok(())
    })?;
    Ok(sorted(claims))
}

fn sorted(mut claims: Vec<Claim>) -> Vec<Claim> {
    claims.sort();
    claims
}

/// An edition of the core list of OFAC's addresses without those that OFAC delisted since.
struct DelistedAddresses {
    import: LabelImport,
    warning: String,
}

/// Ends the claims of the core list in the store that a newer edition of OFAC's list among those imported no longer makes;
/// `None` where it makes all of them.
fn delisted_in_core(
    writer: &Writer,
    versions: &[ImportVersion],
    lists: &[Labels],
    imported_at: Timestamp,
) -> Result<Option<DelistedAddresses>, IngestError> {
    let Some(later) = lists.iter().filter_map(LaterEdition::of_labels).max_by_key(LaterEdition::date) else {
        return Ok(None);
    };
    let is_core = |version: &&ImportVersion| {
        version.in_force && version.source == CORE_SOURCE && version.list.as_ref().is_some_and(|list| list.name == OFAC)
    };
    let Some((version, list)) =
        versions.iter().rev().find(is_core).and_then(|version| Some((version.version, version.list.as_ref()?)))
    else {
        return Ok(None);
    };
    let mut claims = claims_of(writer, version)?;
    let ended = later.end_missing(&mut claims, Some(list.ended_at));
    if ended == 0 {
        return Ok(None);
    }
    let warning = format!(
        "addresses of the core list (version {version}) that this newer edition lacks, and that are delisted: {ended}"
    );
    let import = LabelImport {
        source: CORE_SOURCE.to_owned(),
        list: list.name.clone(),
        licence: list.licence.clone(),
        imported_at,
        ended_at: later.date(),
        sanctions_of: sanctions_of(&claims),
        claims,
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Accepted,
    };
    Ok(Some(DelistedAddresses { import, warning }))
}

#[cfg(test)]
mod tests;
