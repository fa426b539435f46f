//! Imports of lists into a store: each list is a version, and all of them are committed, or none.

mod edition;
mod report;

use std::path::PathBuf;

use headwater_ledger::store::{LabelImport, ShrinkPolicy, Writer};
use headwater_types::Timestamp;

pub use report::{ImportedList, LabelImportReport};

use super::import::{LabelOptions, LabelReading, read_label_lists};
use crate::IngestError;

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
    let LabelReading { lists, left_out } = read_label_lists(paths, options)?;
    let versions = writer.import_versions();
    let mut imported = Vec::with_capacity(lists.len());
    for labels in &lists {
        let replaces = edition::replaced(&versions, labels);
        edition::check_whole(writer, replaces, labels, terms.shrinking)?;
        let mut list = ImportedList::new(0, replaces, labels);
        list.warnings.splice(0..0, edition::other_lists(&versions, labels));
        imported.push(list);
    }
    let imports: Vec<LabelImport> =
        lists.into_iter().map(|labels| labels.into_import(terms.imported_at, terms.shrinking)).collect();
    for (list, version) in imported.iter_mut().zip(writer.import_label_lists(imports)?) {
        list.version = version;
    }
    Ok(LabelImportReport { lists: imported, left_out })
}
