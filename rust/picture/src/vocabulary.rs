//! The words and marks of pictures, for pages that draw answers themselves.

use std::collections::BTreeMap;

use headwater_ledger::labels::Code;
use serde::Serialize;

use crate::graph::{EdgeKind, Kind};
use crate::words::{self, HYPOTHESIS, STOP_REASONS};

/// The words and marks of labels, ends and payments.
#[derive(Debug, Serialize)]
pub struct Vocabulary {
    labels: BTreeMap<&'static str, LabelWords>,
    stop_reasons: BTreeMap<&'static str, &'static str>,
    kinds: Vec<(Kind, &'static str)>,
    edge_kinds: Vec<(EdgeKind, &'static str)>,
    hypothesis: &'static str,
}

/// A label in words, and the kind of address that it makes.
#[derive(Debug, Serialize)]
struct LabelWords {
    text: &'static str,
    kind: Option<Kind>,
}

/// Collects the words and marks.
///
/// ```
/// let vocabulary = serde_json::to_value(headwater_picture::vocabulary()).unwrap();
/// assert_eq!(vocabulary["labels"]["sanction"]["kind"], "illicit");
/// assert_eq!(vocabulary["stop_reasons"]["contract"], "a contract");
/// ```
#[must_use]
pub fn vocabulary() -> Vocabulary {
    let label = |code: &Code| (code.name(), LabelWords { text: words::code(*code), kind: Kind::of_code(*code) });
    Vocabulary {
        labels: Code::ALL.iter().map(label).collect(),
        stop_reasons: STOP_REASONS.into_iter().collect(),
        kinds: Kind::ALL.map(|kind| (kind, kind.text())).to_vec(),
        edge_kinds: EdgeKind::ALL.map(|kind| (kind, kind.text())).to_vec(),
        hypothesis: HYPOTHESIS,
    }
}
