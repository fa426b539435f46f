//! Answers about many addresses: how many of each kind, their rows as CSV, and their envelope.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use headwater_engine::{Endpoint, TableHead, Warning};
use headwater_table::{Encoder, Format, TableError};
use serde_json::{Value, json};

use super::error::Failure;
use super::output::grouped;

/// Counts kinds, the most frequent first: `3 low, 1 high`.
pub(super) fn of(kinds: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for kind in kinds {
        *counts.entry(kind).or_default() += 1;
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts.iter().map(|(kind, count)| format!("{} {kind}", grouped(*count))).collect::<Vec<_>>().join(", ")
}

/// Merges the warnings of batches: each message once, with the sum of its counts.
pub(super) fn merged(warnings: Vec<Warning>) -> Vec<Warning> {
    let mut distinct: Vec<Warning> = Vec::new();
    for warning in warnings {
        match distinct.iter_mut().find(|held| held.code == warning.code && held.message == warning.message) {
            Some(held) => held.count = held.count.zip(warning.count).map(|(one, other)| one + other),
            None => distinct.push(warning),
        }
    }
    Warning::merged(distinct)
}

/// Returns data and warnings as the envelope of an answer.
pub(super) fn envelope(data: &Value, warnings: &[Warning]) -> Value {
    let meta = if warnings.is_empty() { json!({}) } else { json!({"warnings": warnings}) };
    json!({"data": data, "meta": meta})
}

/// Prints rows of an endpoint's list as CSV.
pub(super) fn print_csv(endpoint: &Endpoint, rows: impl Iterator<Item = Value>) -> Result<(), Failure> {
    let columns = endpoint.columns().unwrap_or_default();
    let printed = || -> Result<(), TableError> {
        let mut encoder = Encoder::new(Format::Csv, &columns, &TableHead::default(), io::stdout())?;
        for row in rows {
            encoder.row(&row)?;
        }
        encoder.finish().map(drop)
    };
    match printed() {
        Err(TableError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::from_error(&error)),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_most_frequent_first() {
        let kinds = ["low", "high", "low", "medium"].map(str::to_owned);
        assert_eq!(of(kinds.into_iter()), "2 low, 1 high, 1 medium");
    }

    #[test]
    fn warnings_of_batches_are_merged_to_one_each() {
        let of = |count| Warning { count: Some(count), ..Warning::new("few", None, "few transfers") };
        let without = Warning::new("no_labels", None, "no list");
        let merged = merged(vec![of(2), without.clone(), of(3), without.clone()]);
        assert_eq!(merged, [of(5), without]);
    }
}
