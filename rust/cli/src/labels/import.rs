//! `headwater labels import`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use headwater_ingest::labels::{
    Counts, LabelOptions, LabelReading, Labels, LeftOutFile, label_formats, read_label_lists,
};
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::store::{ShrinkPolicy, Writer};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::super::Settings;
use super::super::error::Failure;
use super::super::output::{Output, grouped};
use super::{edition, now};

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
    /// Files, folders or patterns.
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

/// Imports files of labels: all of their lists, or none.
pub(super) fn run(settings: &Settings, arguments: Import, output: Output) -> Result<(), Failure> {
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
    let LabelReading { lists, left_out } = read_label_lists(&arguments.paths, &options)?;
    let shrinking = if arguments.accept_shrinking { ShrinkPolicy::Accepted } else { ShrinkPolicy::Refused };
    let mut writer = Writer::open_or_create(settings.store()?)?;
    let versions = writer.import_versions();
    let mut imported = Vec::new();
    for labels in &lists {
        let replaced = edition::replaced(&versions, labels);
        edition::check_whole(&writer, replaced, labels, shrinking)?;
        let mut list = ImportedList::new(0, replaced, labels);
        list.warnings.splice(0..0, edition::other_lists(&versions, labels));
        imported.push(list);
    }
    let at = now();
    let imports = lists.into_iter().map(|labels| labels.into_import(at, shrinking)).collect();
    for (list, version) in imported.iter_mut().zip(writer.import_label_lists(imports)?) {
        list.version = version;
    }
    report(&imported, &left_out, output)
}

/// A list of labels that was imported, for the report.
pub(super) struct ImportedList {
    version: u64,
    format: &'static str,
    source: String,
    list: String,
    licence: Option<String>,
    /// The version that it replaces.
    replaced: Option<u64>,
    counts: Counts,
    /// Claims with a code by level.
    levels: BTreeMap<Level, u64>,
    warnings: Vec<String>,
}

impl ImportedList {
    pub(super) fn new(version: u64, replaced: Option<u64>, labels: &Labels) -> Self {
        let Labels { format, source, list, licence, counts, warnings, .. } = labels;
        let mut levels = BTreeMap::new();
        for claim in labels.claims.iter().filter(|claim| claim.code.is_some()) {
            *levels.entry(claim.level).or_default() += 1;
        }
        let (source, list, licence, warnings) = (source.clone(), list.clone(), licence.clone(), warnings.clone());
        Self { version, format, source, list, licence, replaced, counts: *counts, levels, warnings }
    }

    fn value(&self) -> Value {
        let levels: BTreeMap<&str, u64> = self.levels.iter().map(|(level, count)| (level.name(), *count)).collect();
        json!({
            "version": self.version, "format": self.format, "source": self.source, "list": self.list,
            "licence": self.licence, "replaces": self.replaced, "counts": self.counts, "levels": levels, "warnings": self.warnings
        })
    }

    fn lines(&self, warnings_shown: usize) -> Vec<String> {
        let Self { version, format, source, list, licence, replaced, counts, levels, warnings } = self;
        let replaces = replaced.map(|version| format!(", replaces version {version}")).unwrap_or_default();
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
        if let Some((level, _)) = levels.iter().max_by_key(|(_, count)| **count) {
            let more = if levels.len() > 1 { " for most" } else { "" };
            lines.push(format!("  level {}{more}: {}", level.name(), meaning(*level)));
        }
        lines.push(format!("  licence: {}", licence.as_deref().unwrap_or("not known; --licence states it")));
        lines.extend(warnings.iter().take(warnings_shown).map(|warning| format!("  warning: {warning}")));
        if warnings.len() > warnings_shown {
            let more = grouped(u64::try_from(warnings.len() - warnings_shown).unwrap_or(u64::MAX));
            lines.push(format!("  {more} more warnings: see --json"));
        }
        lines
    }
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

/// Prints what was imported and what was left out.
pub(super) fn report(lists: &[ImportedList], left_out: &[LeftOutFile], output: Output) -> Result<(), Failure> {
    let files: Vec<Value> =
        left_out.iter().map(|file| json!({"path": file.path.display().to_string(), "reason": file.reason})).collect();
    let mut value = json!({"lists": lists.iter().map(ImportedList::value).collect::<Vec<_>>(), "left_out": files});
    // The fields of a list that is alone are those of the report too.
    if let ([list], Value::Object(fields)) = (lists, &mut value)
        && let Value::Object(own) = list.value()
    {
        fields.extend(own);
    }
    output.report(&value, || {
        const LINES_OF_A_LIST: usize = 4;
        let left = SCREEN.saturating_sub(lists.len() * LINES_OF_A_LIST + left_out.len().min(SCREEN / 4));
        let warnings_shown = (left / lists.len().max(1)).clamp(1, 10);
        let mut lines: Vec<String> = lists.iter().flat_map(|list| list.lines(warnings_shown)).collect();
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
