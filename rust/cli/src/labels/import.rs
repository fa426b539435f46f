//! `headwater labels import`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use headwater_ingest::labels::{
    Counts, ImportState, ImportTerms, ImportedList, LabelImportReport, LabelOptions, LeftOutFile, import_core_lists,
    import_labels, label_formats,
};
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::store::{ShrinkPolicy, Writer};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::super::Settings;
use super::super::error::Failure;
use super::super::output::{Output, date, grouped, table};
use super::now;

/// The arguments of `labels import`.
#[derive(Debug, clap::Args)]
pub(super) struct Import {
    /// Source of the claims [default: the source of the format].
    #[arg(long)]
    source: Option<String>,
    /// Which list of the source it is [default: the name of the file or folder, or what the names
    /// of the files begin with].
    #[arg(long)]
    list: Option<String>,
    /// Input format; detected if omitted.
    #[arg(long, value_parser = format())]
    format: Option<String>,
    /// The chain of EVM addresses, where the files do not name one.
    #[arg(long, value_parser = super::super::chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Trust level of the source [default: what the rows say, else what the format is known for, else unknown].
    #[arg(long, value_parser = level())]
    level: Option<Level>,
    /// Take the source for a trusted provider: its claims decide scores by themselves.
    #[arg(long, conflicts_with = "level")]
    trust: bool,
    /// The provenance group: claims of one group count once [default: the site of the source of each row, else the format's].
    #[arg(long)]
    group: Option<String>,
    /// Entity of rows that name none.
    #[arg(long)]
    entity: Option<String>,
    /// The code: of all rows of a plain table, of rows without one in other formats.
    #[arg(long, value_parser = code())]
    code: Option<Code>,
    /// The licence of the list, as exports and scores show it [default: the licence of the source, where it is known].
    #[arg(long, value_name = "TEXT")]
    licence: Option<String>,
    /// A column of a plain table under another name, as OURS=THEIRS: --column address=wallet.
    #[arg(long = "column", value_name = "OURS=THEIRS", value_parser = column)]
    columns: Vec<(String, String)>,
    /// Take an edition that repeats too little of the one before it, or is older.
    #[arg(long)]
    accept_shrinking: bool,
    /// Files, folders or patterns; or `core` alone for the core lists, which are part of the program: OFAC's addresses,
    /// mining pools, reserves of exchanges, mixers, hacks and well-known contracts. A file of that name is `./core`.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

fn format() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(label_formats())
}

fn level() -> impl TypedValueParser<Value = Level> {
    let names = Level::ALL.iter().map(|level| level.name());
    PossibleValuesParser::new(names).map(|name| Level::from_name(&name).unwrap_or(Level::Unknown))
}

pub(super) fn code() -> impl TypedValueParser<Value = Code> {
    let names = Code::ALL.iter().map(|code| code.name());
    PossibleValuesParser::new(names).map(|name| Code::from_name(&name).unwrap_or(Code::Scam))
}

fn column(text: &str) -> Result<(String, String), String> {
    let (ours, theirs) = text.split_once('=').ok_or("expected OURS=THEIRS, such as address=wallet")?;
    Ok((ours.to_owned(), theirs.to_owned()))
}

/// The word for the core lists in place of a path.
const CORE: &str = "core";

impl Import {
    /// Returns whether the core lists are meant.
    fn is_core(&self) -> bool {
        self.paths.iter().any(|path| path == Path::new(CORE))
    }

    /// Refuses options of files beside the core lists.
    fn check_core(&self) -> Result<(), Failure> {
        let Self { source, list, format, chain, level, trust, group, entity, code, licence, columns, paths, .. } = self;
        let given = [
            ("further paths", paths.len() > 1),
            ("--source", source.is_some()),
            ("--list", list.is_some()),
            ("--format", format.is_some()),
            ("--chain", chain.is_some()),
            ("--level", level.is_some()),
            ("--trust", *trust),
            ("--group", group.is_some()),
            ("--entity", entity.is_some()),
            ("--code", code.is_some()),
            ("--licence", licence.is_some()),
            ("--column", !columns.is_empty()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::usage(format!(
                "core: {option} cannot be combined with the core lists, which state this themselves; a file or folder \
                 named core is ./core"
            ))),
            None => Ok(()),
        }
    }
}

/// Imports files of labels, or the core lists: all lists, or none.
pub(super) fn run(settings: &Settings, arguments: Import, output: Output) -> Result<(), Failure> {
    if arguments.is_core() {
        arguments.check_core()?;
        let mut writer = Writer::open_or_create(settings.store()?)?;
        return print_core(&import_core_lists(&mut writer, now())?, output);
    }
    let options = LabelOptions {
        source: arguments.source,
        list: arguments.list,
        format: arguments.format,
        chain: arguments.chain,
        level: arguments.level.or(arguments.trust.then_some(Level::TrustedProvider)),
        group: arguments.group,
        entity: arguments.entity,
        code: arguments.code,
        licence: arguments.licence,
        columns: arguments.columns,
        ..LabelOptions::default()
    };
    let shrinking = if arguments.accept_shrinking { ShrinkPolicy::Accepted } else { ShrinkPolicy::Refused };
    let terms = ImportTerms { imported_at: now(), shrinking };
    let mut writer = Writer::open_or_create(settings.store()?)?;
    print(&import_labels(&mut writer, &arguments.paths, &options, terms)?, output)
}

/// Characters of a date without its time.
const DAY_CHARS: usize = 10;

/// Prints the report of an import of the core lists.
fn print_core(report: &LabelImportReport, output: Output) -> Result<(), Failure> {
    output.report(report, || {
        let head = ["list", "edition", "claims", "names", "left out", "version", "licence"].map(str::to_owned).to_vec();
        let row = |of: &ImportedList| {
            let Counts { claims, no_code, other_ticker, unknown_chain, malformed, bad_checksum, .. } = of.counts;
            let version = match of.state {
                ImportState::Imported => of.version.to_string(),
                ImportState::Unchanged => format!("{}, unchanged", of.version),
                ImportState::Newer => format!("{}, newer", of.version),
            };
            vec![
                of.list.clone(),
                of.edition.map(|edition| date(edition.secs()).chars().take(DAY_CHARS).collect()).unwrap_or_default(),
                grouped(claims),
                grouped(no_code),
                grouped(other_ticker + unknown_chain + malformed + bad_checksum),
                version,
                of.licence.clone().unwrap_or_default(),
            ]
        };
        let mut lines = table(&std::iter::once(head).chain(report.lists.iter().map(row)).collect::<Vec<_>>());
        lines.push(
            "names: addresses with a name and without a code; left out: addresses of chains that Headwater lacks"
                .to_owned(),
        );
        lines.push(
            "a list of your own beside these is never replaced; `headwater labels rollback VERSION` removes one"
                .to_owned(),
        );
        lines
    })
}

/// Describes a list of the report.
fn list_lines(of: &ImportedList, warnings_shown: usize) -> Vec<String> {
    let ImportedList { version, format, source, list, licence, replaces, counts, warnings, .. } = of;
    let replaces = replaces.map(|version| format!(", replaces version {version}")).unwrap_or_default();
    let mut lines = vec![format!(
        "{format}: {} claims of {source}, list {list}, version {version}{replaces}",
        grouped(counts.claims)
    )];
    let named = named(counts).into_iter().filter(|(name, count)| *count > 0 && name != "claims");
    let others: Vec<String> =
        named.map(|(name, count)| format!("{} {}", grouped(count), name.replace('_', " "))).collect();
    if !others.is_empty() {
        lines.push(format!("  {}", others.join(", ")));
    }
    lines.extend(level_line(of).map(|line| format!("  {line}")));
    lines.push(format!("  licence: {}", licence.as_deref().unwrap_or(UNKNOWN_LICENCE)));
    lines.extend(warnings.iter().take(warnings_shown).map(|warning| format!("  warning: {warning}")));
    if warnings.len() > warnings_shown {
        let more = grouped(u64::try_from(warnings.len() - warnings_shown).unwrap_or(u64::MAX));
        lines.push(format!("  {more} more warnings: see --json"));
    }
    lines
}

const UNKNOWN_LICENCE: &str = "not known; --licence states it";

/// Describes the level of most claims of a list.
fn level_line(of: &ImportedList) -> Option<String> {
    let (level, _) = of.levels.iter().max_by_key(|(_, count)| **count)?;
    let more = if of.levels.len() > 1 { " for most" } else { "" };
    Some(format!("level {}{more}: {}", level.name(), meaning(*level)))
}

/// Returns what a reader of the answers should know about an import of labels, in sentences: what the levels of lists mean,
/// warnings, and files that were left out.
#[must_use]
pub fn notes(report: &LabelImportReport) -> Vec<String> {
    let of_list = |of: &ImportedList| {
        let licence = of.licence.is_none().then(|| format!("licence: {UNKNOWN_LICENCE}"));
        let notes: Vec<String> = level_line(of).into_iter().chain(licence).chain(of.warnings.iter().cloned()).collect();
        notes.into_iter().map(|note| format!("{}: {note}", of.list)).collect::<Vec<_>>()
    };
    let left_out = report.left_out.iter().map(LeftOutFile::sentence);
    report.lists.iter().flat_map(of_list).chain(left_out).collect()
}

/// Describes what a level means for scores, and how to change it.
fn meaning(level: Level) -> String {
    let (value, whole) =
        (f64::from(level.thousandths()) / 1000.0, f64::from(Level::TrustedProvider.thousandths()) / 1000.0);
    let meaning = if value >= whole {
        "a claim decides scores by itself and stops traces"
    } else if value > 0.2 {
        "a claim raises scores, and decides none by itself"
    } else {
        "claims are shown, but no score rests on them alone"
    };
    let remedy =
        if value < whole { format!("; --trust makes it {whole:.2}, --level names another") } else { String::new() };
    format!("counts {value:.2}, {meaning}{remedy}")
}

/// Lines of a report that fit a screen.
const SCREEN: usize = 40;

/// Prints the report of an import.
pub(super) fn print(report: &LabelImportReport, output: Output) -> Result<(), Failure> {
    let LabelImportReport { lists, left_out } = report;
    let mut value = json!(report);
    // The fields of a list that is alone are those of the report too.
    if let ([list], Value::Object(fields)) = (lists.as_slice(), &mut value)
        && let Value::Object(own) = json!(list)
    {
        fields.extend(own);
    }
    output.report(&value, || {
        const LINES_OF_A_LIST: usize = 4;
        let left = SCREEN.saturating_sub(lists.len() * LINES_OF_A_LIST + left_out.len().min(SCREEN / 4));
        let warnings_shown = (left / lists.len().max(1)).clamp(1, 10);
        let mut lines: Vec<String> = lists.iter().flat_map(|list| list_lines(list, warnings_shown)).collect();
        if !left_out.is_empty() {
            lines.push(format!("{} files left out", left_out.len()));
            lines.extend(
                left_out.iter().take(SCREEN / 4).map(|file| format!("  {}: {}", file.path.display(), file.reason)),
            );
        }
        if left_out.len() > SCREEN / 4 {
            lines.push(format!("  {} more: see --json", left_out.len() - SCREEN / 4));
        }
        lines
    })
}

/// The counters by name.
fn named(counts: &Counts) -> Vec<(String, u64)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(counts) else { return Vec::new() };
    fields.into_iter().filter_map(|(name, count)| Some((name, count.as_u64()?))).collect()
}
