//! The answers of a service that are not in the store yet, and the periods for which it had no price that can be stored.
//!
//! Each answer is a line of JSON that is on disk before the next request, so a fetch that was killed continues. After the
//! prices are committed the file keeps only the periods without one, which are not asked for again.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use headwater_ledger::permissions;
use serde::{Deserialize, Serialize};

use super::answer::RefusedPrice;
use super::error::PriceError;
use super::service::PriceService;
use super::step::{Run, Step, runs};

/// The folder in the store.
const FOLDER: &str = "fetched";

/// The answer of a service for one period.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// A price that is not in the store yet.
    Price(f64),
    /// A price that must not be stored.
    Refused(RefusedPrice),
    /// The service has no price.
    Missing,
}

/// An answer, and when and by which id it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub id: String,
    pub asked_at: i64,
    pub outcome: Outcome,
}

/// A line: the answers to one request for one symbol.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    symbol: String,
    id: String,
    asked_at: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prices: Vec<(i64, f64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused: Vec<(i64, RefusedPrice)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<(i64, i64)>,
}

/// The answers of one service for one step, by symbol and end of the period.
#[derive(Debug, Default)]
pub(super) struct Answers(BTreeMap<String, BTreeMap<i64, Entry>>);

impl Answers {
    /// Reads those of a store.
    ///
    /// # Errors
    /// When they cannot be read or are damaged.
    pub fn read(store: &Path, service: PriceService, step: Step) -> Result<Self, PriceError> {
        Ok(read(&path(store, service, step), step)?.0)
    }

    /// Returns the answers for a symbol, by the end of the period.
    pub fn of(&self, symbol: &str) -> impl Iterator<Item = (i64, &Entry)> {
        self.0.get(symbol).into_iter().flatten().map(|(end, entry)| (*end, entry))
    }
}

fn path(store: &Path, service: PriceService, step: Step) -> PathBuf {
    store.join(FOLDER).join(format!("{}-{}.jsonl", service.name(), step.name()))
}

/// Reads a journal; beside it comes true where its last line is cut off.
fn read(path: &Path, step: Step) -> Result<(Answers, bool), PriceError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(PriceError::Io { action: "cannot read", path: path.to_owned(), source }),
    };
    let answers = parse(&text, step).map_err(|line| PriceError::Damaged { path: path.to_owned(), line })?;
    Ok((answers, !text.is_empty() && !text.ends_with('\n')))
}

/// The file of answers, open for more of them.
pub(super) struct Journal {
    path: PathBuf,
    step: Step,
    file: File,
    /// Held as long as prices are fetched.
    _lock: File,
    answers: Answers,
}

impl Journal {
    /// Reads the journal of a store, or begins one.
    ///
    /// # Errors
    /// When another process has it open, or it cannot be read or is damaged.
    pub fn open(store: &Path, service: PriceService, step: Step) -> Result<Self, PriceError> {
        let folder = store.join(FOLDER);
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| PriceError::Io { action, path, source }
        };
        permissions::create_folder(&folder).map_err(failed("cannot create", &folder))?;
        let lock_path = folder.join(format!("{}.lock", service.name()));
        let lock = permissions::create(&lock_path).map_err(failed("cannot open", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(PriceError::Locked { path: store.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed("cannot lock", &lock_path)(source)),
        }
        let path = path(store, service, step);
        let (answers, is_cut) = read(&path, step)?;
        let file = File::options().create(true).append(true).open(&path).map_err(failed("cannot open", &path))?;
        permissions::inherit(&file, &path);
        let mut journal = Self { path, step, file, _lock: lock, answers };
        if is_cut {
            // A killed process did not finish the line.
            journal.rewrite()?;
        }
        Ok(journal)
    }

    /// Returns the answers so far.
    pub const fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Adds the answers to a request.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add(&mut self, symbol: &str, entries: Vec<(i64, Entry)>) -> Result<(), PriceError> {
        let mut text = String::new();
        for line in lines(symbol, entries.iter().map(|(end, entry)| (*end, entry)), self.step) {
            text += &line;
        }
        self.answers.0.entry(symbol.to_owned()).or_default().extend(entries);
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|source| PriceError::Io { action: "cannot write", path: self.path.clone(), source })
    }

    /// Replaces the prices of a symbol by what became of them: those that were committed leave the journal.
    pub fn settle(&mut self, symbol: &str, refused: &BTreeMap<i64, RefusedPrice>, committed: &[i64]) {
        let Some(entries) = self.answers.0.get_mut(symbol) else { return };
        for (end, refused) in refused {
            if let Some(entry) = entries.get_mut(end) {
                entry.outcome = Outcome::Refused(refused.clone());
            }
        }
        for end in committed {
            entries.remove(end);
        }
    }

    /// Writes the journal anew; the file before it is kept until the new one is complete.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn rewrite(&mut self) -> Result<(), PriceError> {
        let mut text = String::new();
        for (symbol, entries) in &self.answers.0 {
            for line in lines(symbol, entries.iter().map(|(end, entry)| (*end, entry)), self.step) {
                text += &line;
            }
        }
        let new = self.path.with_extension("jsonl.new");
        let write = || {
            let mut file = permissions::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)?;
            File::options().append(true).open(&self.path)
        };
        self.file =
            write().map_err(|source| PriceError::Io { action: "cannot write", path: self.path.clone(), source })?;
        Ok(())
    }
}

/// Reads the lines of a journal; the number of a damaged one is the error. The last line may be cut off.
fn parse(text: &str, step: Step) -> Result<Answers, usize> {
    let mut by_symbol: BTreeMap<String, BTreeMap<i64, Entry>> = BTreeMap::new();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for (number, line) in (1_usize..).zip(whole.lines()) {
        let Line { symbol, id, asked_at, prices, refused, missing } = serde_json::from_str(line).map_err(|_| number)?;
        let entries = by_symbol.entry(symbol).or_default();
        let entry = |outcome| Entry { id: id.clone(), asked_at, outcome };
        entries.extend(prices.into_iter().map(|(end, usd)| (end, entry(Outcome::Price(usd)))));
        entries.extend(refused.into_iter().map(|(end, refused)| (end, entry(Outcome::Refused(refused)))));
        for (first, last) in missing {
            entries.extend(Run { first, last }.ends(step).map(|end| (end, entry(Outcome::Missing))));
        }
    }
    Ok(Answers(by_symbol))
}

/// Writes answers for one symbol as lines, one for each id and time of asking.
fn lines<'a>(symbol: &str, entries: impl Iterator<Item = (i64, &'a Entry)>, step: Step) -> Vec<String> {
    let mut groups: BTreeMap<(&str, i64), Vec<(i64, &Outcome)>> = BTreeMap::new();
    for (end, entry) in entries {
        groups.entry((&entry.id, entry.asked_at)).or_default().push((end, &entry.outcome));
    }
    let line = |((id, asked_at), outcomes): ((&str, i64), Vec<(i64, &Outcome)>)| {
        let (mut prices, mut refused, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for (end, outcome) in outcomes {
            match outcome {
                Outcome::Price(usd) => prices.push((end, *usd)),
                Outcome::Refused(price) => refused.push((end, price.clone())),
                Outcome::Missing => missing.push(end),
            }
        }
        let missing = runs(step, &missing.into_iter().collect()).into_iter().map(|run| (run.first, run.last)).collect();
        let (symbol, id) = (symbol.to_owned(), id.to_owned());
        let line = Line { symbol, id, asked_at, prices, refused, missing };
        serde_json::to_string(&line).expect("text and finite numbers have a JSON form") + "\n"
    };
    groups.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use headwater_types::Timestamp;

    use super::super::answer::Refusal;
    use super::*;

    const DAY: i64 = 86_400;

    fn entries() -> Vec<(i64, Entry)> {
        let why = Refusal::Neighbours { before: 1.0, after: 1.1, ratio: 3.0 };
        let refused = RefusedPrice { time: Timestamp::new(3 * DAY), usd: Some(9.0), why };
        let outcomes = [
            Outcome::Missing,
            Outcome::Missing,
            Outcome::Refused(refused),
            Outcome::Price(0.1 + 0.2),
            Outcome::Missing,
        ];
        let entry = |outcome| Entry { id: "ethereum".to_owned(), asked_at: 7, outcome };
        (1..).zip(outcomes).map(|(day, outcome)| (day * DAY - 1, entry(outcome))).collect()
    }

    #[test]
    fn journal_returns_what_was_added_after_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Journal::open(folder.path(), PriceService::CoinGecko, Step::Day).unwrap();
        open().add("eth", entries()).unwrap();
        let path = folder.path().join("fetched/coingecko-1d.jsonl");
        let mut text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1);
        text += "{\"symbol\":\"btc\",\"id";
        fs::write(&path, text).unwrap();
        let mut journal = open();
        let found: Vec<_> = journal.answers().of("eth").map(|(end, entry)| (end, entry.clone())).collect();
        assert_eq!(found, entries());
        journal.add("btc", entries()).unwrap();
        drop(journal);
        let mut journal = open();
        assert_eq!(journal.answers().of("btc").count(), 5);
        journal.settle("btc", &BTreeMap::new(), &[4 * DAY - 1]);
        journal.rewrite().unwrap();
        drop(journal);
        assert_eq!(open().answers().of("btc").count(), 4);
    }

    #[test]
    fn journal_in_use_or_damaged_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Journal::open(folder.path(), PriceService::DefiLlama, Step::Hour);
        let first = open().unwrap();
        assert!(matches!(open().err(), Some(PriceError::Locked { .. })));
        drop(first);
        fs::write(folder.path().join("fetched/defillama-1h.jsonl"), "{}\n").unwrap();
        assert!(matches!(open().err(), Some(PriceError::Damaged { line: 1, .. })));
    }
}
