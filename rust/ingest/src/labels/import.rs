//! Files and frames of labels into claims.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use headwater_ledger::labels::{Action, Claim, Code, Level};
use headwater_types::Chain;

use super::counts::Counts;
use super::formats::{FORMATS, Files, Format, Given, TABLE, format_of, has_address, licence_of, read_frame, refused};
use super::hints::hint;
use super::normalise::{Rules, normalise};
use super::outcome::Labels;
use super::raw::RawLabels;
use crate::IngestError;
use crate::source::{Bounds, Content, Input, Origin, Probe, discover_with_origin};

/// The options of the caller for files of labels. Omitted ones follow from the files.
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
    /// The licence of the list; that of its source where it is known.
    pub licence: Option<String>,
    /// Names of columns of a plain table: ours and the file's.
    pub columns: Vec<(String, String)>,
    /// The maximum sizes of parts of the files that are in memory as a whole.
    pub bounds: Bounds,
}

/// The names of the formats of labels.
pub fn label_formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}

/// The lists of an import of files.
#[derive(Debug)]
pub struct LabelReading {
    /// One list per format, narrowest format first.
    pub lists: Vec<Labels>,
    /// Files of folders that give no claim.
    pub left_out: Vec<LeftOutFile>,
}

/// A file that gives no claim.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeftOutFile {
    /// The file.
    #[serde(serialize_with = "displayed")]
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

fn displayed<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Reads files, folders and patterns that are one import of labels: one list per format.
///
/// The format of each file is detected from its beginning. Files of a folder that are in no known format, or give no claim,
/// are left out; files that are named are an error. The claims do not depend on the order of files and rows.
///
/// Takes memory in proportion to the number of rows, and about a second for each hundred thousand of them.
///
/// ```
/// use headwater_ingest::labels::{LabelOptions, read_label_lists};
///
/// let folder = tempfile::tempdir()?;
/// let rows = "address,chain,code\n0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b,bsc,mixer\n";
/// std::fs::write(folder.path().join("mine.csv"), rows)?;
/// std::fs::write(folder.path().join("notes.md"), "# What I saw\n")?;
/// let reading = read_label_lists(&[folder.path().to_owned()], &LabelOptions::default())?;
/// assert_eq!((reading.lists.len(), reading.left_out.len()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a file cannot be read or a named one is in no known format; when a row of a plain table is not what its columns
/// say; when EVM addresses are of no chain; when the files of a format give no claim.
pub fn read_label_lists(paths: &[PathBuf], options: &LabelOptions) -> Result<LabelReading, IngestError> {
    let Detected { groups, mut left_out } = detect(paths, options)?;
    let names: Vec<String> = groups.iter().map(|group| list_of(paths, &group.probes)).collect();
    let sources: Vec<&str> = groups.iter().map(|group| source_of(group.format, options)).collect();
    let mut lists = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        let mut list = options.list.clone().unwrap_or_else(|| names[place].clone());
        // Lists of one source need names of their own.
        let is_shared = |other: usize| {
            other != place
                && sources[other] == sources[place]
                && (options.list.is_some() || names[other] == names[place])
        };
        if (0..groups.len()).any(is_shared) {
            list = format!("{list}/{}", group.format.name);
        }
        let first = group.probes.first().map(|probe| probe.path().to_owned()).unwrap_or_default();
        let raw = group.read(options, &mut left_out)?;
        let labels = finish(raw, group.format, list, &first, options)?;
        if !labels.claims.is_empty() {
            group.check_named(&labels, options)?;
            lists.push(labels);
            continue;
        }
        let why = reason_without_claims(&labels);
        if group.is_named() {
            return Err(IngestError::NoClaims { path: first, format: labels.format, why });
        }
        let reason = format!("read as {}, but gives no claim: {why}", labels.format);
        let is_new = |probe: &&Probe| left_out.iter().all(|file| file.path != probe.path());
        let files: Vec<_> = group.probes.iter().filter(is_new).map(|probe| probe.path().to_owned()).collect();
        left_out.extend(files.into_iter().map(|path| LeftOutFile { path, reason: reason.clone() }));
    }
    left_out.sort_by(|one, other| one.path.cmp(&other.path));
    match left_out.first() {
        Some(LeftOutFile { path, reason }) if lists.is_empty() => {
            Err(IngestError::NothingRead { path: path.clone(), what: "claim", reason: reason.clone() })
        }
        _ => Ok(LabelReading { lists, left_out }),
    }
}

/// Reads files that are one list: all are in one format.
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
/// As [`read_label_lists`], and where the files are in several formats.
pub fn read_labels(paths: &[PathBuf], options: &LabelOptions) -> Result<Labels, IngestError> {
    let LabelReading { lists, left_out } = read_label_lists(paths, options)?;
    let formats = lists.iter().map(|labels| labels.format).collect::<Vec<_>>();
    let Ok([mut labels]) = <[Labels; 1]>::try_from(lists) else {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(IngestError::MixedLabels { path, formats: formats.join(", ") });
    };
    labels.warnings.splice(0..0, left_out.iter().map(LeftOutFile::sentence));
    Ok(labels)
}

impl LeftOutFile {
    /// Returns a sentence for a report.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}: left out: {}", self.path.display(), self.reason)
    }
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

/// Reads one list that is part of the program.
///
/// # Errors
/// As [`read_labels`].
pub(super) fn read_packed(
    probe: Probe,
    format: &Format,
    list: &str,
    options: &LabelOptions,
) -> Result<Labels, IngestError> {
    let path = probe.path().to_owned();
    let mut raw = format.read(&[probe], &given(options))?;
    raw.name_files();
    finish(raw, format, list.to_owned(), &path, options)
}

fn given(options: &LabelOptions) -> Given {
    Given {
        entity: options.entity.clone(),
        code: options.code.map(|code| code.name().to_owned()),
        columns: options.columns.clone(),
    }
}

/// The source that the caller names, else the format's; empty where that is the list.
fn source_of<'a>(format: &Format, options: &'a LabelOptions) -> &'a str {
    options.source.as_deref().unwrap_or(format.source)
}

fn finish(
    raw: RawLabels,
    format: &Format,
    list: String,
    path: &Path,
    options: &LabelOptions,
) -> Result<Labels, IngestError> {
    let (list_date, missing_file, files) = (raw.list_date, raw.missing_file, raw.files());
    let source = match source_of(format, options) {
        "" => list.clone(),
        source => source.to_owned(),
    };
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
    let mut found = normalise(raw, &rules).map_err(|source| IngestError::Frame { path: path.to_owned(), source })?;
    if found.missing_chain > 0 {
        let why = format!("neither its rows nor its format name the chain of {} EVM addresses", found.missing_chain);
        return Err(IngestError::MissingOption { path: path.to_owned(), option: "--chain", why });
    }
    let removes = |claim: &&Claim| claim.action == Action::Remove && claim.level != Level::Override;
    if let Some(claim) = found.claims.iter().find(removes) {
        let why = format!("it removes a code of {}, which only an override may do", claim.address);
        return Err(IngestError::MissingOption { path: path.to_owned(), option: "--level override", why });
    }
    let Counts { claims, no_code, .. } = found.counts;
    if format.refuses_empty && claims == 0 && no_code == 0 && found.foreign.is_empty() {
        return Err(IngestError::EmptyList { path: path.to_owned(), format: format.name });
    }
    if claims == 0 && no_code > 0 {
        found
            .warnings
            .push("no row has a code, and names alone count in no score: --code gives all rows one".to_owned());
    }
    // Files that are read together complete one another.
    let is_apart = format.files == Files::Apart;
    let without = files.iter().filter(|file| is_apart && !found.accepted.contains_key(*file));
    let without_claims: Vec<PathBuf> = without.map(|file| PathBuf::from(&**file)).collect();
    found.warnings.extend(without_claims.iter().map(|file| format!("{}: gives no claim", file.display())));
    Ok(Labels {
        format: format.name,
        source,
        list,
        licence: options.licence.clone().or_else(|| licence_of(format.name).map(str::to_owned)),
        list_date,
        claims: found.claims,
        foreign: found.foreign,
        missing_file,
        without_claims,
        counts: found.counts,
        warnings: found.warnings,
    })
}

/// Warnings that an error about files without a claim repeats.
const REASONS: usize = 4;

/// Why files give no claim: what became of their rows.
fn reason_without_claims(labels: &Labels) -> String {
    let Counts { other_ticker, bad_checksum, malformed, no_address, cut, no_code, denied, unknown_chain, .. } =
        labels.counts;
    let reasons = [
        (no_address, "without an address"),
        (malformed, "texts that are not addresses"),
        (bad_checksum, "addresses with a wrong checksum"),
        (other_ticker, "addresses of coins whose chains are not held"),
        (unknown_chain, "addresses of EVM chains that are not held"),
        (no_code, "addresses without a code, name or entity"),
        (denied, "denied by a column"),
        (cut, "cut inside an address"),
    ];
    let counted: Vec<String> =
        reasons.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let counted = if counted.is_empty() { "it has no row".to_owned() } else { counted.join(", ") };
    std::iter::once(counted).chain(labels.warnings.iter().take(REASONS).cloned()).collect::<Vec<_>>().join(".\n  ")
}

/// The files of an import by format.
struct Detected {
    groups: Vec<Group>,
    left_out: Vec<LeftOutFile>,
}

/// Files of one format.
struct Group {
    format: &'static Format,
    probes: Vec<Probe>,
    /// True if the caller names each of the files; others are of folders.
    named: Vec<bool>,
}

impl Group {
    /// Returns whether the caller names one of the files.
    fn is_named(&self) -> bool {
        self.named.contains(&true)
    }

    /// Refuses files that the caller names and that give no claim, each with its own reason.
    fn check_named(&self, labels: &Labels, options: &LabelOptions) -> Result<(), IngestError> {
        let named = self.probes.iter().zip(&self.named).filter(|(_, is_named)| **is_named).map(|(probe, _)| probe);
        let mut without = named.filter(|probe| labels.without_claims.iter().any(|path| path == probe.path()));
        if let Some(probe) = without.next() {
            let raw = (self.format.read)(std::slice::from_ref(probe), &given(options))?;
            let alone = finish(raw, self.format, labels.list.clone(), probe.path(), options)?;
            let (path, why) = (probe.path().to_owned(), reason_without_claims(&alone));
            return Err(IngestError::NoClaims { path, format: self.format.name, why });
        }
        Ok(())
    }

    /// Reads the files. Files of folders that do not say what their addresses are, are left out.
    fn read(&self, options: &LabelOptions, left_out: &mut Vec<LeftOutFile>) -> Result<RawLabels, IngestError> {
        let given = given(options);
        let mut raw = RawLabels::default();
        if self.format.files == Files::Together {
            raw = self.format.read(&self.probes, &given)?;
        } else {
            for (probe, is_named) in self.probes.iter().zip(&self.named) {
                match (self.format.read)(std::slice::from_ref(probe), &given) {
                    Ok(of_file) => {
                        raw.append(of_file);
                        raw.end_file(probe.path());
                    }
                    Err(IngestError::MissingOption { path, option, why }) if !is_named => {
                        left_out.push(LeftOutFile { path, reason: format!("needs {option}: {why}") });
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        raw.name_files();
        Ok(raw)
    }
}

fn detect(paths: &[PathBuf], options: &LabelOptions) -> Result<Detected, IngestError> {
    let wanted = match &options.format {
        Some(name) => Some(format_of(name)?),
        // Only plain tables have columns to name.
        None => (!options.columns.is_empty()).then_some(&TABLE),
    };
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    let mut left_out = Vec::new();
    let mut unread = None;
    for (path, origin) in discover_with_origin(paths)? {
        let probe = match Input::new(&path, &options.bounds).and_then(Probe::new) {
            Ok(probe) => probe.unwrapped(),
            Err(error) if origin == Origin::Found => {
                left_out.push(LeftOutFile { path, reason: error.to_string() });
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_blank = origin == Origin::Found && *probe.content() == Content::Empty;
        let found = || FORMATS.iter().copied().find(|format| (format.reads)(&probe));
        // A list of addresses alone is a table of labels where the caller says what they are; else the table says what it
        // lacks.
        let is_meant = options.code.is_some() || options.entity.is_some() || origin == Origin::Named;
        let list = || (is_meant && has_address(&probe)).then_some(&TABLE);
        let format = wanted.filter(|_| !is_blank).or_else(found).or_else(list);
        let Some(format) = format else {
            let seen = refused(&probe).map_or_else(|| probe.seen(), str::to_owned);
            if origin == Origin::Found {
                left_out.push(LeftOutFile {
                    path: path.clone(),
                    reason: format!("not a known format of labels: it {seen}"),
                });
            }
            let error = IngestError::UnknownLabels { path, seen, hint: hint(&probe, options.code.is_some()) };
            if origin == Origin::Named {
                return Err(error);
            }
            unread.get_or_insert(error);
            continue;
        };
        let place = FORMATS.iter().position(|known| known.name == format.name).unwrap_or(FORMATS.len());
        let group = groups.entry(place).or_insert_with(|| Group { format, probes: Vec::new(), named: Vec::new() });
        group.named.push(origin == Origin::Named);
        group.probes.push(probe);
    }
    if groups.is_empty() {
        return Err(unread.unwrap_or_else(|| {
            let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            IngestError::NoInput(names.join(", "))
        }));
    }
    Ok(Detected { groups: groups.into_values().collect(), left_out })
}

/// Returns the common beginning of the names of the files, without the endings of compression and kind; where they have nothing in
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
#[path = "table_tests.rs"]
mod table_tests;
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

/// Returns the common beginning of all names, without the marks behind it: files of one list are named alike.
fn common_beginning(names: &[String]) -> Option<String> {
    let (first, others) = names.split_first()?;
    let is_shared = |length: &usize| {
        first.get(..*length).is_some_and(|beginning| others.iter().all(|name| name.starts_with(beginning)))
    };
    let length = (0..=first.len()).rev().find(is_shared)?;
    let common = first.get(..length)?.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    (common.chars().count() >= 3).then(|| common.to_owned())
}
