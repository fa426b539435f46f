//! From raw statements to claims: what all formats share.
//!
//! Each statement is read by itself: its cell by [`address`], its chains by [`scope`], its level by [`levels`], its
//! provenance group by [`groups`]. Then [`frame`] maps all concepts to codes and joins what says the same.

mod absent;
mod address;
mod frame;
mod groups;
mod levels;
mod look_alikes;
mod names;
mod notes;
mod scope;
mod statements;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_ledger::labels::{Claim, Code, Level};
use headwater_types::Chain;
use polars::error::PolarsError;
use rustc_hash::FxHashMap;

use super::counts::Counts;
use super::outcome::Foreign;
use super::raw::{RawLabels, Vocabulary};
use crate::labels::concepts::Concepts;
use statements::Gathering;

/// The options that apply to all statements.
#[derive(Debug, Clone)]
pub(super) struct Rules<'a> {
    /// The source of the import.
    pub(super) source: &'a str,
    /// The words of the concepts.
    pub(super) vocabulary: Vocabulary,
    /// The provenance group that the caller gives.
    pub(super) group: Option<&'a str>,
    /// The provenance group of the format; empty where each source is its own group.
    pub(super) format_group: &'a str,
    /// The level that the caller gives.
    pub(super) level: Option<Level>,
    /// The level of the format.
    pub(super) format_level: Level,
    /// The chain that the caller gives.
    pub(super) chain: Option<Chain>,
    /// The chain of the format.
    pub(super) format_chain: Option<Chain>,
    /// The entity of statements that name none.
    pub(super) entity: Option<&'a str>,
    /// The code of statements without concepts.
    pub(super) code: Option<Code>,
}

/// The claims of the statements of an import.
#[derive(Debug, Default)]
pub(super) struct Normalised {
    /// The claims, ordered by address, chains, code, entity and group.
    pub(super) claims: Vec<Claim>,
    /// Addresses of chains that are not held.
    pub(super) foreign: Vec<Foreign>,
    /// The counts of statements by outcome.
    pub(super) counts: Counts,
    /// Warnings for people.
    pub(super) warnings: Vec<String>,
    /// Addresses that were accepted, by file, where there are several.
    pub(super) accepted: FxHashMap<Arc<str>, u64>,
    /// EVM addresses for which neither the files nor the caller name a chain.
    pub(super) missing_chain: u64,
}

/// Reads, maps and joins all statements of an import. The order of the statements does not matter.
///
/// # Errors
/// When polars fails, as it does where memory is short.
pub(super) fn normalise(mut raw: RawLabels, rules: &Rules<'_>) -> Result<Normalised, PolarsError> {
    // A vocabulary without a table knows no word: a test requires one for every format.
    let concepts = Concepts::of(rules.vocabulary).unwrap_or_default();
    let counts = Counts { cut: raw.cut, denied: raw.denied, ..Counts::default() };
    let mut gathering = Gathering::new(rules, &concepts, counts);
    let files = raw.take_files();
    gathering.add_all(raw.claims, files);
    let gathered = gathering.finish();
    let decode = gathered.decode;
    let outcome = frame::joined(gathered.statements, gathered.reviewed, gathered.copies)?;

    let mut counts = gathered.counts;
    let mut absent = gathered.absent;
    for (network, addresses) in &outcome.elsewhere {
        counts.unknown_chain += u64::from(*addresses);
        absent.add(decode.text(*network).unwrap_or_default(), u64::from(*addresses));
    }
    let import = Arc::from(rules.source);
    let mut coded: BTreeMap<u32, bool> = BTreeMap::new();
    let mut claims = Vec::with_capacity(outcome.claims.len());
    for joined in &outcome.claims {
        *coded.entry(joined.address).or_default() |= joined.code.is_some();
        if joined.code.is_some() {
            counts.claims += 1;
            counts.duplicates += u64::from(joined.statements.saturating_sub(1));
        }
        claims.extend(decode.claim(joined, &import));
    }
    counts.no_code += u64::try_from(coded.values().filter(|is_coded| !**is_coded).count()).unwrap_or(u64::MAX);
    let mut warnings = raw.warnings;
    warnings.extend(gathered.notes.sentences());
    warnings.extend(absent.sentences());
    let foreign: BTreeSet<Foreign> = gathered.foreign;
    Ok(Normalised {
        claims,
        foreign: foreign.into_iter().collect(),
        counts,
        warnings,
        accepted: gathered.accepted,
        missing_chain: outcome.missing_chain,
    })
}

#[cfg(test)]
mod tests;
