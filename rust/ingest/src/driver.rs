//! From paths to commits: finds the files, detects their formats, orders them, and reads them one after the other.

use std::path::PathBuf;

use headwater_ledger::Cancel;
use headwater_ledger::store::Writer;
use headwater_types::Chain;

use crate::IngestError;
use crate::chains::{Beside, Clues, check_addresses, prints_chain_id, settle};
use crate::error::{in_lines, wrapped};
use crate::formats::{FORMATS, Format, Job, Sniffed, SniffedChain};
use crate::labels::label_format_of;
use crate::options::{OnError, Options, Progress};
use crate::report::{ChainSource, FileReport, IngestReport, LeftOut, QUOTED};
use crate::sink::Sink;
use crate::source::{Content, Input, Origin, Probe, Subject, discover_with_origin, shape_of};
use crate::target::Target;

/// Reads files, folders and patterns into a store.
///
/// The format and the chain of each file are detected from its content. What is found in folders or by patterns and is in
/// no known format is left out and listed in the report; a file named itself must be understood. Files are read in order of the first block they
/// hold, blocks before transactions before what refers to them, so that facts about one range of blocks come
/// together; they are gathered over files and committed in batches of bounded size. The store joins what it holds
/// with what is offered, so the same call repeated changes nothing, and one that was stopped midway continues where it
/// stopped. [`load`](fn@crate::load) also finishes the load.
///
/// ```
/// use headwater_ingest::{Options, Silent, ingest};
/// use headwater_ledger::Cancel;
/// use headwater_ledger::store::Writer;
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("blocks.csv");
/// std::fs::write(&file, "number,hash,parent_hash,timestamp,gas_limit\n7,,,1438270000,5000\n")?;
/// let mut writer = Writer::open_or_create(folder.path().join("store"))?;
/// let report = ingest(&[file], &Options::default(), &mut writer, &Silent, &Cancel::new())?;
/// assert_eq!((report.files[0].format.as_str(), report.blocks), ("ethereum-etl", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// At the first row that is not understood (unless [`OnError::Skip`]), at a file that is damaged, in no known format, or of a
/// format whose files are never of the chain that was named, when the store refuses, or when the work is cancelled. What was committed before stays; nothing of the batch that
/// was being gathered does.
pub fn ingest(
    paths: &[PathBuf],
    options: &Options,
    writer: &mut Writer,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<IngestReport, IngestError> {
    ingest_into(paths, options, writer, progress, cancel)
}

/// [`ingest`] into any target: a store, or memory.
///
/// # Errors
/// As [`ingest`].
pub fn ingest_into(
    paths: &[PathBuf],
    options: &Options,
    target: &mut dyn Target,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<IngestReport, IngestError> {
    let mut files = Files { options, plans: Vec::new(), left_out: Vec::new(), first_unread: None };
    for (path, origin) in discover_with_origin(paths)? {
        cancel.check()?;
        match plan(&path, origin, options) {
            Ok(Some(plan)) => files.plans.push(plan),
            Ok(None) => files.left_out.push(LeftOut { path, reason: "it is empty".to_owned() }),
            Err(error) => files.leave_out(path, origin, error)?,
        }
    }
    files.settle_chains(target)?;
    let Files { mut plans, left_out, first_unread, .. } = files;
    if let (true, Some(error)) = (plans.is_empty(), first_unread) {
        return Err(error);
    }
    if plans.is_empty() {
        let path = left_out.first().map(|file| file.path.clone()).unwrap_or_default();
        return Err(nothing_read(path, left_out.iter().map(|file| file.reason.clone())));
    }
    plans.sort_by(|a, b| a.order().cmp(&b.order()));
    let bytes_total = plans.iter().map(|plan| plan.job.input.bytes()).sum();
    let mut sink = Sink::new(target, options, progress, cancel, plans.len(), bytes_total);
    let mut rest = plans.as_slice();
    while let Some(first) = rest.first() {
        let together = if first.format.reads_together() {
            rest.iter()
                .take_while(|plan| plan.format.name() == first.format.name() && plan.chain == first.chain)
                .count()
        } else {
            1
        };
        let (group, after) = rest.split_at(together);
        rest = after;
        read(group, &mut sink)?;
    }
    let report = sink.finish()?;
    if report.commits == 0 && report.non_fungible == 0 {
        let path = report.files.first().map(|file| file.path.clone()).unwrap_or_default();
        return Err(nothing_read(path, report.files.iter().map(FileReport::why_empty)));
    }
    Ok(IngestReport { left_out, ..report })
}

/// The error of a call that read all of its files and got nothing from them.
fn nothing_read(path: PathBuf, reasons: impl IntoIterator<Item = String>) -> IngestError {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for reason in reasons {
        match counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason, 1)),
        }
    }
    let shown = counts.iter().take(QUOTED).map(|(reason, count)| match count {
        1 => reason.clone(),
        count => format!("{reason} ({count} files)"),
    });
    IngestError::NothingRead { path, what: "row of chain data", reason: shown.collect::<Vec<_>>().join("; ") }
}

/// The files of one call.
struct Files<'a> {
    options: &'a Options,
    plans: Vec<Plan>,
    left_out: Vec<LeftOut>,
    first_unread: Option<IngestError>,
}

impl Files<'_> {
    /// Leaves a file out that cannot be read, or stops. What lies in a folder may be there for another reason; what was
    /// named itself is meant.
    fn leave_out(&mut self, path: PathBuf, origin: Origin, error: IngestError) -> Result<(), IngestError> {
        let is_skipping = self.options.on_error == OnError::Skip;
        let may_be_left = match &error {
            IngestError::Unrecognised { .. }
            | IngestError::WrongFormat { .. }
            | IngestError::WrongChain { .. }
            | IngestError::ForeignChain { .. } => origin == Origin::Found || is_skipping,
            IngestError::Damaged { .. }
            | IngestError::Encoding { .. }
            | IngestError::Container { .. }
            | IngestError::TooLarge { .. }
            | IngestError::AmbiguousChain { .. } => is_skipping,
            _ => false,
        };
        if !may_be_left {
            return Err(error);
        }
        let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
        self.left_out.push(LeftOut { path, reason });
        self.first_unread.get_or_insert(error);
        Ok(())
    }

    /// Settles the chain of files that do not state theirs.
    fn settle_chains(&mut self, target: &dyn Target) -> Result<(), IngestError> {
        let mut settled = Vec::with_capacity(self.plans.len());
        for plan in &self.plans {
            let Some(clues) = plan.clues.as_ref() else {
                settled.push(Ok(None));
                continue;
            };
            let folder = plan.job.input.path().parent();
            let in_folder = self.plans.iter().filter(|other| other.job.input.path().parent() == folder);
            let beside: Vec<Beside<'_>> = in_folder
                .filter_map(|other| {
                    let named = || other.clues.as_ref()?.named_chain(other.job.sniffed.chain);
                    let chain = if other.clues.is_none() { Some(other.chain) } else { named() };
                    Some(Beside { input: &other.job.input, chain: chain? })
                })
                .collect();
            settled.push(settle(&plan.job.input, plan.job.sniffed, clues, &beside, target).map(Some));
        }
        for (mut plan, settled) in std::mem::take(&mut self.plans).into_iter().zip(settled) {
            match settled {
                Ok(settled) => {
                    if let Some(settled) = settled {
                        (plan.chain, plan.chain_source, plan.note) = (settled.chain, settled.source, settled.note);
                    }
                    self.plans.push(plan);
                }
                Err(error) => self.leave_out(plan.job.input.path().to_owned(), plan.origin, error)?,
            }
        }
        Ok(())
    }
}

/// One file, and how it will be read.
struct Plan {
    format: &'static dyn Format,
    job: Job,
    origin: Origin,
    chain: Chain,
    chain_source: ChainSource,
    /// A note of the report about the chain.
    note: Option<String>,
    /// Clues about the chain, if neither the content nor the caller names it.
    clues: Option<Clues>,
}

impl Plan {
    fn order(&self) -> (Chain, u64, u8, &std::path::Path) {
        let sniffed = &self.job.sniffed;
        (self.chain, sniffed.first_block.unwrap_or(u64::MAX), sniffed.rank, self.job.input.path())
    }
}

fn plan(path: &std::path::Path, origin: Origin, options: &Options) -> Result<Option<Plan>, IngestError> {
    let probe = Probe::new(Input::new(path, &options.bounds)?)?;
    let Some((format, sniffed)) = detect(&probe, origin, options)? else { return Ok(None) };
    check_addresses(&probe, &sniffed, options)?;
    let (chain, chain_source) = match (options.chain, sniffed.chain) {
        (Some(chain), SniffedChain::Is(found)) if chain == found => (chain, ChainSource::Detected),
        (Some(chain), sniffed) if sniffed.may_be(chain) => (chain, ChainSource::Given),
        // Files in a folder whose content is of another family than the one named: the content outweighs what was
        // said of the whole call.
        (Some(_), SniffedChain::Is(found)) if origin == Origin::Found => (found, ChainSource::Detected),
        (Some(chain), sniffed) => {
            let known: Vec<&str> = Chain::all().filter(|one| sniffed.may_be(*one)).map(Chain::name).collect();
            let (path, known) = (path.to_owned(), known.join(" or "));
            return Err(IngestError::WrongChain { path, format: format.name(), chain, known });
        }
        (None, SniffedChain::Is(chain)) => (chain, ChainSource::Detected),
        (None, usual @ (SniffedChain::Usually(_) | SniffedChain::OneOf(_))) => (usual.chain(), ChainSource::Assumed),
    };
    let clues = (options.chain != Some(chain)).then(|| Clues::of(&probe, format, &sniffed, options));
    // Sister chains have the same coins and forms, but chain ids of their own.
    let is_by_form = chain_source == ChainSource::Detected && !prints_chain_id(&probe);
    if let Some(clues) = clues.as_ref().filter(|_| is_by_form) {
        clues.check_name(probe.input(), chain)?;
    }
    let clues = clues.filter(|_| chain_source == ChainSource::Assumed);
    let job = Job { input: probe.input().clone(), content: probe.content().clone(), sniffed };
    Ok(Some(Plan { format, job, origin, chain, chain_source, note: None, clues }))
}

fn known() -> String {
    in_lines(FORMATS.iter().map(|format| format.name()))
}

/// The table that a file is closest to.
struct Closest {
    table: &'static str,
    format: &'static str,
    /// The columns that it has, and those that it lacks.
    has: usize,
    lacks: Vec<&'static str>,
}

impl Closest {
    /// Returns the percentage of columns that it lacks.
    fn share(&self) -> usize {
        self.lacks.len() * 100 / (self.has + self.lacks.len()).max(1)
    }
}

/// The tables of formats, with what a file has and lacks of them.
fn compared(probe: &Probe) -> impl Iterator<Item = Closest> {
    let tables = FORMATS.iter().flat_map(|format| format.tables().into_iter().map(|table| (format.name(), table)));
    tables.map(|(format, (table, columns))| {
        let lacks: Vec<&str> = columns.iter().filter(|column| !probe.has(&[column])).copied().collect();
        Closest { table, format, has: columns.len() - lacks.len(), lacks }
    })
}

/// Returns the columns that a file lacks of the table of a format that it comes closest to.
fn missing_columns(probe: &Probe, name: &str) -> String {
    let of_format = |table: &Closest| table.format == name || table.format.split('/').next() == Some(name);
    match compared(probe).filter(of_format).min_by_key(|table| (table.share(), table.lacks.len())) {
        Some(Closest { table, lacks, has, .. }) if has > 0 => {
            format!("; it is closest to {table}, and lacks the columns {}", lacks.join(", "))
        }
        Some(_) | None => format!("; it {}", probe.seen()),
    }
}

/// The columns that a file must have of a table that is named as the closest one, and the largest share, of a hundred,
/// that it may lack.
const MIN_HAS: usize = 3;
const MAX_LACKS: usize = 50;

/// Returns what is read in place of a file that no format reads, in lines.
fn hint(probe: &Probe) -> String {
    let mut lines = Vec::new();
    let is_near = |table: &Closest| table.has >= MIN_HAS && !table.lacks.is_empty() && table.share() <= MAX_LACKS;
    if let Some(shape) = shape_of(probe) {
        lines.extend((shape.subject != Subject::Labels).then(|| wrapped(shape.instead)));
    } else if let Some(Closest { table, format, lacks, .. }) =
        compared(probe).filter(is_near).min_by_key(|table| (table.share(), table.lacks.len()))
    {
        lines.push(wrapped(&format!(
            "It is closest to {table} of {format}, and lacks the columns {}.",
            lacks.join(", ")
        )));
    }
    if let Some(format) = label_format_of(probe) {
        lines.push(format!("`headwater labels import` reads it, as labels in the format {format}."));
    }
    if lines.is_empty() {
        lines.push(format!("Formats of chain data:\n{}", known()));
        lines.push(
            "Labels, prices and token registries have commands of their own: `headwater labels`, `prices`, `tokens`."
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn detect(
    probe: &Probe,
    origin: Origin,
    options: &Options,
) -> Result<Option<(&'static dyn Format, Sniffed)>, IngestError> {
    if *probe.content() == Content::Empty {
        return Ok(None);
    }
    let named = |format: &&'static dyn Format| match &options.format {
        Some(name) => format.name() == name || format.name().split('/').next() == Some(name),
        None => origin == Origin::Named || format.is_meant(options),
    };
    let found = FORMATS.iter().copied().filter(named).find_map(|format| Some((format, format.sniff(probe)?)));
    match (found, &options.format) {
        (Some(found), _) => Ok(Some(found)),
        (None, Some(name)) => {
            let missing = missing_columns(probe, name);
            Err(IngestError::WrongFormat { path: probe.path().to_owned(), name: name.clone(), missing, known: known() })
        }
        (None, None) => {
            Err(IngestError::Unrecognised { path: probe.path().to_owned(), seen: probe.seen(), hint: hint(probe) })
        }
    }
}

fn read(group: &[Plan], sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let first = &group[0];
    let begin = |plan: &Plan, sink: &mut Sink<'_>| {
        let report = FileReport {
            path: plan.job.input.path().to_owned(),
            format: plan.format.name().to_owned(),
            chain: plan.chain.name().to_owned(),
            chain_source: plan.chain_source,
            warnings: plan.note.iter().cloned().collect(),
            ..FileReport::default()
        };
        sink.begin_file(&plan.job.input, plan.chain, report)
    };
    if first.format.reads_together() {
        let jobs: Vec<&Job> = group.iter().map(|plan| &plan.job).collect();
        begin(first, sink)?;
        let outcome = first.format.read_all(
            &jobs,
            &mut |number, sink| {
                if number > 0 {
                    sink.end_file(None)?;
                    begin(&group[number], sink)?;
                }
                Ok(())
            },
            sink,
        );
        return end(outcome, sink);
    }
    begin(first, sink)?;
    let outcome = first.format.read(&first.job, sink);
    end(outcome, sink)
}

fn end(outcome: Result<(), IngestError>, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    match outcome {
        Ok(()) => sink.end_file(None),
        Err(
            error @ (IngestError::Damaged { .. }
            | IngestError::TooLarge { .. }
            | IngestError::Container { .. }
            | IngestError::MissingColumn { .. }),
        ) if sink.options().on_error == OnError::Skip => sink.end_file(Some(error.to_string())),
        Err(error) => Err(error),
    }
}
