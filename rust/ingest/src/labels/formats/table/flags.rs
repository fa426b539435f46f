//! Columns that affirm or deny rows: booleans, 0 and 1, a status, words for "harmless".

use std::collections::BTreeMap;
use std::sync::LazyLock;

use headwater_ledger::labels::{Category, Code};
use headwater_types::text::{SHOWN, shortened};

use crate::labels::concepts::{Concepts, Meaning, squeezed};
use crate::labels::dates::read_date;
use crate::labels::raw::Vocabulary;
use crate::source::truth;

static CONCEPTS: LazyLock<Concepts> = LazyLock::new(|| Concepts::of(Vocabulary::OWN).unwrap_or_default());

/// Columns of which a false value, or a word for an end, denies the whole row.
const ROW: [&str; 10] =
    ["status", "active", "isactive", "enabled", "valid", "isvalid", "current", "islisted", "listed", "state"];
/// Columns of which a true value, or a date, denies the whole row.
const ROW_INVERTED: [&str; 17] = [
    "revoked",
    "deleted",
    "removed",
    "delisted",
    "falsepositive",
    "disabled",
    "expired",
    "inactive",
    "invalid",
    "whitelisted",
    "whitelist",
    "victim",
    "exclude",
    "excluded",
    "trusted",
    "benign",
    "licit",
];
/// Columns with the class of a row in a data set for training: any number but 1 denies it.
const CLASSES: [&str; 8] = ["flag", "flagged", "class", "target", "groundtruth", "isillicit", "y", "label"];
/// Columns with a judgement in words.
const JUDGEMENTS: [&str; 7] = ["role", "verdict", "prediction", "classification", "decision", "risklevel", "risk"];
/// The ends of names of flags.
const ENDINGS: [&str; 7] = ["flag", "label", "binary", "hit", "listed", "status", "address"];
/// Columns of which a false value denies crimes and fraud, and leaves who somebody is.
const ADVERSE: [&str; 16] = [
    "malicious",
    "illicit",
    "fraud",
    "fraudulent",
    "suspicious",
    "blacklisted",
    "blacklist",
    "blocklisted",
    "highrisk",
    "risky",
    "dangerous",
    "criminal",
    "abuse",
    "bad",
    "blocked",
    "frozen",
];
/// Words that deny a row in any column of codes, classes or states.
const HARMLESS: [&str; 31] = [
    "licit",
    "benign",
    "legit",
    "legitimate",
    "clean",
    "normal",
    "nonfraud",
    "notfraud",
    "notscam",
    "falsepositive",
    "whitelisted",
    "whitelist",
    "notsanctioned",
    "removed",
    "revoked",
    "retracted",
    "rejected",
    "safe",
    "trusted",
    "good",
    "ok",
    "harmless",
    "innocent",
    "neutral",
    "lowrisk",
    "norisk",
    "white",
    "unblocked",
    "unblacklisted",
    "unsanctioned",
    "former",
];
/// Words before another that turn it around: `not a scam`, `non-phishing`, `no longer listed`.
const NEGATIONS: [&str; 4] = ["not", "non", "no", "former"];
/// Parts of names of those who are no criminals, whatever else the name says.
const BYSTANDERS: [&str; 3] = ["victim", "victims", "whitehat"];
/// Further words that deny a row in a column of states.
const ENDED: [&str; 11] = [
    "inactive",
    "delisted",
    "deleted",
    "expired",
    "dismissed",
    "cleared",
    "withdrawn",
    "lifted",
    "disabled",
    "invalid",
    "unlisted",
];

/// Words that affirm a row in a column of states.
const IN_FORCE: [&str; 10] =
    ["active", "listed", "confirmed", "verified", "open", "current", "valid", "enabled", "sanctioned", "inforce"];

/// The kinds of columns that affirm or deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// False denies the whole row.
    Row,
    /// True denies the whole row.
    RowInverted,
    /// A class: any number but 1 denies the whole row.
    Class,
    /// A column of codes, names or judgements: only words for "harmless" deny, and only crimes, fraud and risk.
    Words,
    /// False denies crimes, fraud and risk.
    Adverse,
    /// True gives a code, false denies it.
    Code(Code),
}

/// A column that affirms or denies rows.
#[derive(Debug)]
pub(super) struct Flag {
    pub(super) column: String,
    kind: Kind,
    /// True if a field reads the column too.
    pub(super) is_shared: bool,
    /// Rows from which the column takes a code, or which it denies.
    denied: u64,
    has_spoken: bool,
    /// Rows by value that neither affirms nor denies.
    unknown: BTreeMap<String, u64>,
}

/// The meaning of a flag for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The cell is blank.
    Blank,
    /// The cell is not one of a flag.
    Unknown,
    Affirmed,
    Denied,
    /// A word for "harmless" in a column of other words: it denies crimes, fraud and risk alone.
    Harmless,
}

impl Flag {
    /// Returns the flag in a column; `None` where its name is not one of a flag. `field` is ours that reads it too: only
    /// columns of codes and labels may be flags besides.
    pub(super) fn of(column: &str, field: Option<&str>) -> Option<Self> {
        let name = squeezed(column);
        let bare = bare(&name);
        let is_class = CLASSES.contains(&name.as_str());
        let kind = match field {
            Some("label") | None if is_class => Kind::Class,
            Some("code" | "label") => Kind::Words,
            Some(_) => return None,
            None if ROW_INVERTED.contains(&bare) => Kind::RowInverted,
            None if ROW.contains(&name.as_str()) => Kind::Row,
            None if JUDGEMENTS.contains(&name.as_str()) => Kind::Words,
            None if ADVERSE.contains(&bare) || ADVERSE.contains(&without_ending(bare)) => Kind::Adverse,
            None => Kind::Code(code_of(&name)?),
        };
        let (column, is_shared) = (column.to_owned(), field.is_some());
        Some(Self { column, kind, is_shared, denied: 0, has_spoken: false, unknown: BTreeMap::new() })
    }

    /// Returns whether a column of this squeezed name is a flag that gives a code.
    pub(super) fn names_code(name: &str) -> bool {
        code_of(name).is_some()
    }

    /// Returns the code that the flag gives where it is true.
    pub(super) fn code(&self) -> Option<Code> {
        match self.kind {
            Kind::Code(code) => Some(code),
            Kind::Row | Kind::RowInverted | Kind::Class | Kind::Words | Kind::Adverse => None,
        }
    }

    /// Reads a cell; `None` is a blank one.
    pub(super) fn read(&mut self, value: Option<&str>) -> Verdict {
        let Some(value) = value else { return Verdict::Blank };
        let verdict = self.verdict(value);
        self.has_spoken |= verdict.is_some();
        if verdict.is_none() && self.kind != Kind::Words && !self.is_shared {
            *self.unknown.entry(value.trim().to_owned()).or_default() += 1;
        }
        verdict.unwrap_or(Verdict::Unknown)
    }

    fn verdict(&self, value: &str) -> Option<Verdict> {
        let word = squeezed(value);
        let is_one = |words: &[&str]| words.contains(&word.as_str());
        if self.kind == Kind::Words {
            let is_any = denies_crime(value) || value.split([',', ';', '|']).any(denies_crime);
            return (is_any || (!self.is_shared && is_one(&["none", "low", "minimal"]))).then_some(Verdict::Harmless);
        }
        let is_true = truth(value.trim()).or_else(|| is_one(&["yes", "y", "t"]).then_some(true));
        let is_true = is_true.or_else(|| is_one(&["no", "n", "f"]).then_some(false));
        let of = |is_affirmed: bool| Some(if is_affirmed { Verdict::Affirmed } else { Verdict::Denied });
        match (self.kind, is_true) {
            (Kind::RowInverted, Some(is_true)) => of(!is_true),
            (_, Some(is_true)) => of(is_true),
            (Kind::RowInverted, None) if matches!(read_date(value), Ok(Some(_))) => of(false),
            (Kind::Class, None) if value.trim().parse::<f64>().is_ok() => of(false),
            (Kind::Class, None) if !self.is_shared && word == "unknown" => of(false),
            (Kind::Class, None) if self.is_shared => denies_crime(value).then_some(Verdict::Harmless),
            (_, None) if denies_crime(value) => of(false),
            (Kind::Row | Kind::RowInverted, None) if is_one(&ENDED) => of(false),
            (Kind::Row, None) if is_one(&IN_FORCE) => of(true),
            (_, None) => None,
        }
    }

    /// Returns whether the flag, where it denies, denies the whole row.
    pub(super) fn denies_row(&self) -> bool {
        matches!(self.kind, Kind::Row | Kind::RowInverted | Kind::Class)
    }

    /// Returns whether the flag, where it denies, denies a code. A column about scams in general denies all kinds of them.
    pub(super) fn denies(&self, code: Code) -> bool {
        match self.kind {
            Kind::Row | Kind::RowInverted | Kind::Class => true,
            Kind::Adverse | Kind::Words => is_adverse(code),
            Kind::Code(Code::Scam) => code.category() == Category::Scam,
            Kind::Code(of) => of == code,
        }
    }

    /// Returns whether a row with a code that the caller gives needs a true value of the flag, or of another such one.
    pub(super) fn must_affirm(&self, given: Code) -> bool {
        match self.kind {
            Kind::Adverse => is_adverse(given),
            Kind::Code(of) => of == given || (is_adverse(of) && is_adverse(given)),
            Kind::Row | Kind::RowInverted | Kind::Class | Kind::Words => false,
        }
    }

    /// Returns whether a true value of the flag affirms a code that the caller gives.
    pub(super) fn affirms(&self, given: Code) -> bool {
        self.kind == Kind::Class || self.must_affirm(given)
    }

    /// Returns whether a row with a code of the caller is in doubt where the cell is blank.
    pub(super) fn doubts_blank(&self) -> bool {
        self.kind == Kind::Class && !self.is_shared
    }

    /// Returns whether a cell that cannot be read puts a code in doubt.
    pub(super) fn doubts(&self, code: Option<Code>) -> bool {
        !self.is_shared && self.kind != Kind::Words && code.is_none_or(|code| self.denies(code))
    }

    /// Returns whether some value of the column was one of a flag.
    pub(super) fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Counts a row that the flag changed.
    pub(super) fn count(&mut self) {
        self.denied += 1;
    }

    /// Returns the column and its rows, for a warning; `None` where it denied none.
    pub(super) fn shown(&self) -> Option<String> {
        (self.denied > 0).then(|| format!("{} {}", self.column, self.denied))
    }

    /// Returns a warning that names the values that neither affirm nor deny, where others do.
    pub(super) fn unknown_values(&self) -> Option<String> {
        const NAMED: usize = 10;
        let values = self.unknown.iter().take(NAMED);
        let values: Vec<_> = values.map(|(value, rows)| format!("{:?} {rows}", shortened(value, SHOWN))).collect();
        let is_telling = self.has_spoken && !values.is_empty();
        is_telling
            .then(|| format!("unknown values of the column {}, rows left out: {}", self.column, values.join(", ")))
    }

    /// Returns whether no value of the column was one of a flag.
    pub(super) fn is_unread(&self) -> bool {
        !self.has_spoken && !self.is_shared
    }
}

/// Returns whether a text denies a crime: a word for "harmless", or a negation before another word.
pub(super) fn denies_crime(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_lowercase();
    let is_negated = NEGATIONS.contains(&first.as_str()) && words.next().is_some() && !is_code(text);
    HARMLESS.contains(&squeezed(text).as_str()) || is_negated || names_bystander(text)
}

/// Returns whether a name is one of a bystander of a crime: `Phishing victim 7`.
pub(super) fn names_bystander(name: &str) -> bool {
    let words = || name.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
    words().any(|word| BYSTANDERS.contains(&word.as_str()))
        || words().zip(words().skip(1)).any(|(one, next)| one == "white" && next == "hat")
}

/// Returns whether a text is the word of a code, such as `No KYC exchange`.
fn is_code(text: &str) -> bool {
    matches!(CONCEPTS.meaning(text), Meaning::Code(_))
}

pub(super) fn is_adverse(code: Code) -> bool {
    !matches!(code.category(), Category::Identity | Category::Activity | Category::Historical)
}

/// A squeezed name without `is` or `has` before it.
fn bare(name: &str) -> &str {
    ["is", "has"].iter().find_map(|start| name.strip_prefix(start)).filter(|rest| rest.len() > 2).unwrap_or(name)
}

/// Returns the code that a column of this squeezed name speaks of: `is_exchange`, `sanctioned`, `phishing_flag`. Without
/// `is` only names of crimes, fraud and risk are flags: other words may head columns of any kind.
fn code_of(name: &str) -> Option<Code> {
    let word = bare(name);
    let of = |word: &str| match CONCEPTS.meaning(word) {
        Meaning::Code(code) => (word != name || is_adverse(code)).then_some(code),
        Meaning::NoCode | Meaning::Unreviewed => None,
    };
    of(word).or_else(|| of(without_ending(word)).filter(|code| is_adverse(*code)))
}

/// A squeezed name without an ending of flags.
fn without_ending(name: &str) -> &str {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).filter(|rest| rest.len() > 2).unwrap_or(name)
}
