//! The trust levels of statements.

use headwater_ledger::labels::Level;

use crate::labels::raw::RawLevel;

/// The trust level of a source, with a mark if the file states it in unknown words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trust {
    pub(super) level: Level,
    /// In thousandths.
    pub(super) reliability: u16,
    pub(super) is_unknown_text: bool,
}

impl Trust {
    const fn of(level: Level) -> Self {
        Self { level, reliability: level.thousandths(), is_unknown_text: false }
    }
}

/// The level that the caller gives, else the one of the row, else that of the format.
///
/// A confidence may be a number between 0 and 1: the reliability itself. It says nothing of the kind of source, so the
/// level is `unknown` unless the row names one too. Whatever else is not the id of a level is `unknown`.
pub(super) fn trust(given: Option<Level>, row: Option<&RawLevel>, confidence: Option<&str>, format: Level) -> Trust {
    if let Some(level) = given {
        return Trust::of(level);
    }
    let stated = match row {
        None => None,
        Some(RawLevel::Known(level)) => Some(Trust::of(*level)),
        Some(RawLevel::Stated(text)) => Some(stated(text)),
    };
    match (stated, confidence.map(number_or_stated)) {
        (None, None) => Trust::of(format),
        (Some(level), None) => level,
        (None, Some(confidence)) => confidence,
        (Some(level), Some(confidence)) => {
            let is_number = confidence.level == Level::Unknown && !confidence.is_unknown_text;
            let reliability = if is_number { confidence.reliability } else { level.reliability };
            let is_unknown_text = level.is_unknown_text || confidence.is_unknown_text;
            Trust { level: level.level, reliability, is_unknown_text }
        }
    }
}

fn stated(text: &str) -> Trust {
    let name = text.trim().to_lowercase().replace([' ', '-'], "_");
    if let Some(level) = Level::from_name(&name) {
        return Trust::of(level);
    }
    Trust { is_unknown_text: true, ..Trust::of(Level::Unknown) }
}

fn number_or_stated(text: &str) -> Trust {
    match thousandths(text.trim()) {
        Some(reliability) => Trust { reliability, ..Trust::of(Level::Unknown) },
        None => stated(text),
    }
}

/// A number between 0 and 1, rounded to thousandths.
fn thousandths(text: &str) -> Option<u16> {
    let number: f64 = text.parse().ok().filter(|number| (0.0..=1.0).contains(number))?;
    (0..=1_000).find(|step| f64::from(*step) + 0.5 > number * 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_row(level: Option<&str>, confidence: Option<&str>) -> (Level, u16, bool) {
        let level = level.map(|text| RawLevel::Stated(text.to_owned()));
        let trust = trust(None, level.as_ref(), confidence, Level::WebCrawl);
        (trust.level, trust.reliability, trust.is_unknown_text)
    }

    #[test]
    fn level_is_the_callers_else_the_rows_else_the_formats() {
        let row = RawLevel::Known(Level::Forensic);
        let level = |given, row| trust(given, row, None, Level::WebCrawl).level;
        assert_eq!(level(Some(Level::Heuristic), Some(&row)), Level::Heuristic);
        assert_eq!(level(None, Some(&row)), Level::Forensic);
        assert_eq!(level(None, None), Level::WebCrawl);
        let unread = RawLevel::Stated("gut_feeling".to_owned());
        assert!(!trust(Some(Level::Heuristic), Some(&unread), Some("?"), Level::WebCrawl).is_unknown_text);
    }

    #[test]
    fn level_texts_are_ids_and_confidences_numbers_too() {
        assert_eq!(of_row(Some("forensic"), None), (Level::Forensic, 500, false));
        assert_eq!(of_row(Some(" Web Crawl "), None), (Level::WebCrawl, 200, false));
        for (text, reliability) in [("0", 0), ("1", 1_000), ("0.5", 500), ("1.0", 1_000), ("0.0625", 63), ("1e-1", 100)]
        {
            assert_eq!(of_row(None, Some(text)), (Level::Unknown, reliability, false), "{text}");
        }
        for text in ["gut_feeling", "50", "-0.1", "1.01", "NaN", "inf", ""] {
            assert_eq!(of_row(Some(text), None), (Level::Unknown, 50, true), "{text}");
            assert_eq!(of_row(None, Some(text)), (Level::Unknown, 50, true), "{text}");
        }
        // TagPacks have levels alone: a number there is an error of the pack.
        assert_eq!(of_row(Some("0.5"), None), (Level::Unknown, 50, true));
    }

    #[test]
    fn level_and_number_of_one_row_go_together() {
        assert_eq!(of_row(Some("forensic"), Some("0.4")), (Level::Forensic, 400, false));
        assert_eq!(of_row(Some("forensic"), Some("heuristic")), (Level::Forensic, 500, false));
        assert_eq!(of_row(Some("forensic"), Some("high")), (Level::Forensic, 500, true));
        assert_eq!(of_row(None, Some("heuristic")), (Level::Heuristic, 100, false));
    }
}
