//! Columns that say whether a row holds: booleans, 0 and 1, a status, words for "harmless".

use std::sync::LazyLock;

use headwater_ledger::labels::{Category, Code};

use crate::labels::concepts::{Concepts, Meaning, squeezed};
use crate::labels::raw::Vocabulary;
use crate::source::truth;

/// Columns of which a false value denies the whole row.
const ROW: [&str; 12] = [
    "flag", "flagged", "status", "active", "isactive", "enabled", "valid", "isvalid", "current", "islisted", "listed",
    "state",
];
/// Columns of which a true value denies the whole row.
const ROW_INVERTED: [&str; 10] = [
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
];
/// Columns with the class of a row in a data set for training: any number but 1 denies it.
const CLASSES: [&str; 6] = ["class", "target", "groundtruth", "isillicit", "y", "label"];
/// Columns of which a false value denies crimes and fraud, and leaves who somebody is.
const ADVERSE: [&str; 13] = [
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
];
/// Words that deny a row in a column of codes, classes or states.
const HARMLESS: [&str; 13] = [
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
];
/// Words of a status that deny a row.
const ENDED: [&str; 16] = [
    "removed",
    "inactive",
    "delisted",
    "revoked",
    "deleted",
    "expired",
    "rejected",
    "dismissed",
    "cleared",
    "withdrawn",
    "lifted",
    "disabled",
    "invalid",
    "unsanctioned",
    "retracted",
    "unlisted",
];

/// What a flag speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// The whole row.
    Row,
    /// Codes of crimes, fraud and risk.
    Adverse,
    /// One code.
    Code(Code),
}

/// A column that says whether a row holds.
#[derive(Debug)]
pub(super) struct Flag {
    pub(super) column: String,
    pub(super) subject: Subject,
    /// Whether true denies.
    is_inverted: bool,
    /// Whether any number but 1 denies.
    is_class: bool,
    /// Whether another field reads the column too, so that only values of a flag speak.
    pub(super) is_shared: bool,
    /// Rows that the column denies.
    pub(super) denied: u64,
    has_spoken: bool,
}

/// What a flag says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Affirmed,
    Denied,
}

impl Flag {
    /// Returns the flag in a column; `None` where its name is not one of a flag. `field` is ours that reads it too: only
    /// columns of codes and labels may be flags besides.
    pub(super) fn of(column: &str, field: Option<&str>) -> Option<Self> {
        let is_shared = match field {
            None => false,
            Some("code" | "label") => true,
            Some(_) => return None,
        };
        let name = squeezed(column);
        let bare = bare(&name);
        let is_class = CLASSES.contains(&name.as_str());
        let is_inverted = ROW_INVERTED.contains(&bare);
        let subject = if is_shared || is_class || is_inverted || ROW.contains(&name.as_str()) {
            Subject::Row
        } else if ADVERSE.contains(&bare) {
            Subject::Adverse
        } else {
            Subject::Code(code_of(&name)?)
        };
        let column = column.to_owned();
        Some(Self { column, subject, is_inverted, is_class, is_shared, denied: 0, has_spoken: false })
    }

    /// Whether a column of this squeezed name is a flag that gives a code.
    pub(super) fn names_code(name: &str) -> bool {
        code_of(name).is_some()
    }

    /// The code that the flag gives where it is true.
    pub(super) fn code(&self) -> Option<Code> {
        match self.subject {
            Subject::Code(code) => Some(code),
            Subject::Row | Subject::Adverse => None,
        }
    }

    /// Reads a value; `None` where it is not one of a flag.
    pub(super) fn read(&mut self, value: &str) -> Option<Verdict> {
        let word = squeezed(value);
        let says = |words: &[&str]| words.contains(&word.as_str());
        let is_true = truth(value.trim()).or_else(|| says(&["yes", "y", "t"]).then_some(true));
        let is_true = is_true.or_else(|| says(&["no", "n", "f"]).then_some(false));
        let is_other_class =
            self.is_class && (value.trim().parse::<f64>().is_ok() || (!self.is_shared && word == "unknown"));
        let verdict = match is_true {
            _ if says(&HARMLESS) || (!self.is_shared && says(&ENDED)) => Some(Verdict::Denied),
            Some(is_true) if is_true == self.is_inverted => Some(Verdict::Denied),
            Some(_) => Some(Verdict::Affirmed),
            None => is_other_class.then_some(Verdict::Denied),
        };
        self.has_spoken |= verdict.is_some();
        verdict
    }

    /// Whether the flag denies a code; `None` stands for a name without a code.
    pub(super) fn denies(&self, code: Option<Code>) -> bool {
        match (self.subject, code) {
            (Subject::Row, _) => true,
            (Subject::Adverse, Some(code)) => is_adverse(code),
            (Subject::Code(of), Some(code)) => of == code || (is_adverse(code) && of.category() == code.category()),
            (Subject::Adverse | Subject::Code(_), None) => false,
        }
    }

    /// The column and how many rows it denies, for a warning.
    pub(super) fn shown(&self) -> String {
        format!("{} {}", self.column, self.denied)
    }

    /// Whether no value of the column was one of a flag.
    pub(super) fn is_unread(&self) -> bool {
        !self.has_spoken && !self.is_shared
    }
}

fn is_adverse(code: Code) -> bool {
    !matches!(code.category(), Category::Identity | Category::Activity | Category::Historical)
}

/// A squeezed name without `is` or `has` before it.
fn bare(name: &str) -> &str {
    ["is", "has"].iter().find_map(|start| name.strip_prefix(start)).filter(|rest| rest.len() > 2).unwrap_or(name)
}

/// Returns the code that a column of this squeezed name speaks of: `is_exchange`, `sanctioned`, `phishing_activities`.
/// Without `is` only names of crimes, fraud and risk are flags: other words may head columns of any kind.
fn code_of(name: &str) -> Option<Code> {
    static CONCEPTS: LazyLock<Concepts> = LazyLock::new(|| Concepts::of(Vocabulary::OWN).unwrap_or_default());
    let word = bare(name);
    match CONCEPTS.meaning(word) {
        Meaning::Code(code) => (word != name || is_adverse(code)).then_some(code),
        Meaning::NoCode | Meaning::Unreviewed => None,
    }
}
