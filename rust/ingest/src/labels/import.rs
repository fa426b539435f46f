//! Files and frames of labels into claims.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use headwater_ledger::labels::{Action, Claim, Code, Level};
use headwater_types::Chain;

use super::formats::{FORMATS, Format, Given, TABLE, read_frame};
use super::hints::hint;
use super::normalise::{Rules, normalise};
use super::outcome::Labels;
use super::raw::RawLabels;
use crate::IngestError;
use crate::error::in_lines;
use crate::source::{Bounds, Content, Input, Origin, Probe, discover_with_origin};

/// What the caller says of files of labels. What is not given follows from the files.
#[derive(Debug, Clone, Default)]
pub struct LabelOptions {
    /// The source; the format's, else the list.
    pub source: Option<String>,
    /// The list; what the names of the files have in common, or the name of their folder.
    pub list: Option<String>,
    /// The format, where it shall not be detected; see [`label_formats`].
    pub format: Option<String>,
    /// The chain of EVM addresses of which the files name none.
    pub chain: Option<Chain>,
    /// The level of all claims.
    pub level: Option<Level>,
    /// The provenance group of all claims.
    pub group: Option<String>,
    /// The entity of rows that name none.
    pub entity: Option<String>,
    /// The code of rows that name none.
    pub code: Option<Code>,
    /// Names of columns of a plain table: ours and the file's.
    pub columns: Vec<(String, String)>,
    /// How large parts of the files may be that are held in memory as a whole.
    pub bounds: Bounds,
}

/// The names of the formats of labels.
pub fn label_formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}

/// Reads files, folders and patterns that are one import of labels.
///
/// The format of each file is told from its beginning; all files of an import have one. What lies in a folder and is in
/// no known format is left out, with a warning. The claims do not depend on the order of files and rows.
///
/// Takes memory in proportion to the number of rows, and about a second for each hundred thousand of them.
///
/// ```
/// use headwater_ingest::labels::{LabelOptions, read_labels};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("mine.csv");
/// std::fs::write(&file, "address,chain,code\n0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b,bsc,mixer\n")?;
/// let labels = read_labels(&[file], &LabelOptions::default())?;
/// assert_eq!((labels.list.as_str(), labels.counts.claims), ("mine", 1));
/// assert_eq!(labels.claims[0].scope.name(), "bsc");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a file cannot be read, is in no known format, or in another than the files before it; when a row of a plain table is
/// not what its columns say; when EVM addresses are of no chain; when a list that is never empty has no address.
pub fn read_labels(paths: &[PathBuf], options: &LabelOptions) -> Result<Labels, IngestError> {
    let Detected { format, probes, warnings } = detect(paths, options)?;
    let first = probes.first().map(|probe| probe.path().to_owned()).unwrap_or_default();
    let list = options.list.clone().unwrap_or_else(|| list_of(paths, &probes));
    let mut raw = format.read(&probes, &given(options))?;
    raw.name_files();
    raw.warnings.splice(0..0, warnings);
    finish(raw, format, list, &first, options)
}

/// Reads a frame of labels, with the columns of a plain table: `address`, `chain`, `code`, and optionally `name`,
/// `entity`, `source`, `source_url`, `group`, `level`, `confidence`, `asserted_at`, `date_basis`, `last_seen`,
/// `valid_until`, `action`, `is_cluster_definer`.
///
/// # Errors
/// As [`read_labels`].
pub fn read_label_frame(frame: &[RecordBatch], options: &LabelOptions) -> Result<Labels, IngestError> {
    const NAME: &str = "labels";
    let raw = read_frame(NAME, frame, &given(options))?;
    let list = options.list.clone().unwrap_or_else(|| NAME.to_owned());
    finish(raw, &TABLE, list, Path::new(NAME), options)
}

fn given(options: &LabelOptions) -> Given {
    Given {
        entity: options.entity.clone(),
        code: options.code.map(|code| code.name().to_owned()),
        columns: options.columns.clone(),
    }
}

fn finish(
    raw: RawLabels,
    format: &Format,
    list: String,
    path: &Path,
    options: &LabelOptions,
) -> Result<Labels, IngestError> {
    let (list_date, missing_file) = (raw.list_date, raw.missing_file);
    let own = if format.source.is_empty() { list.as_str() } else { format.source };
    let source = options.source.clone().unwrap_or_else(|| own.to_owned());
    let rules = Rules {
        source: &source,
        vocabulary: format.vocabulary,
        group: options.group.as_deref(),
        format_group: format.group,
        level: options.level,
        format_level: format.level,
        chain: options.chain,
        format_chain: format.chain,
        entity: options.entity.as_deref(),
        code: options.code,
    };
    let found = normalise(raw, &rules).map_err(|source| IngestError::Frame { path: path.to_owned(), source })?;
    if found.missing_chain > 0 {
        let why = format!("neither its rows nor its format name the chain of {} EVM addresses", found.missing_chain);
        return Err(IngestError::MissingOption { path: path.to_owned(), option: "--chain", why });
    }
    let removes = |claim: &&Claim| claim.action == Action::Remove && claim.level != Level::Override;
    if let Some(claim) = found.claims.iter().find(removes) {
        let why = format!("it removes a code of {}, which only an override may do", claim.address);
        return Err(IngestError::MissingOption { path: path.to_owned(), option: "--level override", why });
    }
    if format.refuses_empty && found.counts.claims == 0 && found.foreign.is_empty() {
        return Err(IngestError::EmptyList { path: path.to_owned(), format: format.name });
    }
    Ok(Labels {
        format: format.name,
        source,
        list,
        list_date,
        claims: found.claims,
        foreign: found.foreign,
        missing_file,
        counts: found.counts,
        warnings: found.warnings,
    })
}

/// The files of one import.
struct Detected {
    format: &'static Format,
    probes: Vec<Probe>,
    warnings: Vec<String>,
}

fn detect(paths: &[PathBuf], options: &LabelOptions) -> Result<Detected, IngestError> {
    let wanted = match &options.format {
        Some(name) => Some(format_of(name)?),
        // Only plain tables have columns to name.
        None => (!options.columns.is_empty()).then_some(&TABLE),
    };
    let (mut probes, mut warnings) = (Vec::new(), Vec::new());
    let mut formats: BTreeMap<&str, (&'static Format, PathBuf)> = BTreeMap::new();
    let mut unread = None;
    for (path, origin) in discover_with_origin(paths)? {
        let probe = Probe::new(Input::new(&path, &options.bounds)?)?;
        let is_blank = origin == Origin::Found && *probe.content() == Content::Empty;
        let found = || FORMATS.iter().copied().find(|format| (format.reads)(&probe));
        // With a code given, a list of addresses alone is a table of labels.
        let told = || (options.code.is_some() && probe.has(&["address"])).then_some(&TABLE);
        let format = wanted.filter(|_| !is_blank).or_else(found).or_else(told);
        match format {
            Some(format) => {
                formats.entry(format.name).or_insert((format, path));
                probes.push(probe);
            }
            None => {
                let seen = probe.seen();
                if origin == Origin::Found {
                    warnings.push(format!("{}: left out, in no known format of labels: it {seen}", path.display()));
                }
                let error = IngestError::UnknownLabels { path, seen, hint: hint(&probe, options.code.is_some()) };
                if origin == Origin::Named {
                    return Err(error);
                }
                unread.get_or_insert(error);
            }
        }
    }
    let mut formats = formats.into_values();
    match (formats.next(), formats.next()) {
        (Some((format, _)), None) => Ok(Detected { format, probes, warnings }),
        (Some((format, path)), Some((other_format, other))) => {
            Err(IngestError::MixedLabels { path, format: format.name, other, other_format: other_format.name })
        }
        (None, _) => Err(unread.unwrap_or_else(|| {
            let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            IngestError::NoInput(names.join(", "))
        })),
    }
}

fn format_of(name: &str) -> Result<&'static Format, IngestError> {
    let found = FORMATS.iter().copied().find(|format| format.name == name);
    found.ok_or_else(|| IngestError::NoLabelFormat { name: name.to_owned(), known: in_lines(label_formats()) })
}

/// What the names of the files begin with, without the endings of compression and kind; where they have nothing in
/// common, the name of the folder that holds them, else all of their names.
fn list_of(paths: &[PathBuf], probes: &[Probe]) -> String {
    let stem = |probe: &Probe| {
        let name = probe.input().name();
        let stem = Path::new(&name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or(name);
        without_date(&stem).to_owned()
    };
    let stems: Vec<String> = probes.iter().map(stem).collect();
    let folder = match paths {
        [folder] if folder.is_dir() => folder.file_name().map(|name| name.to_string_lossy().into_owned()),
        _ => None,
    };
    common_beginning(&stems).or(folder).unwrap_or_else(|| stems.join("+"))
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;

/// A name without the date behind it: editions of one list are one list.
fn without_date(name: &str) -> &str {
    let is_of_date = |letter: char| letter.is_ascii_digit() || matches!(letter, '-' | '_' | '.' | 'T');
    let kept = name.trim_end_matches(is_of_date);
    let digits = name.chars().skip(kept.chars().count()).filter(char::is_ascii_digit).count();
    if digits >= 6 && !kept.is_empty() { kept } else { name }
}

/// What all names begin with, without the marks behind it: files of one list are named alike.
fn common_beginning(names: &[String]) -> Option<String> {
    let (first, others) = names.split_first()?;
    let is_shared = |length: &usize| {
        first.get(..*length).is_some_and(|beginning| others.iter().all(|name| name.starts_with(beginning)))
    };
    let length = (0..=first.len()).rev().find(is_shared)?;
    let common = first.get(..length)?.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    (common.chars().count() >= 3).then(|| common.to_owned())
}
