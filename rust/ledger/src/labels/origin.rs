//! The list that a claim comes from.

use std::sync::Arc;

use headwater_types::Timestamp;

use super::claim::Claim;
use super::file::LabelFile;

/// A list of labels in force, and the terms of its use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListOrigin {
    /// The source of the import.
    pub source: String,
    /// The name of the list.
    pub list: String,
    /// The licence of the list; `None` where it is not known.
    pub licence: Option<String>,
}

/// The newest edition in force of the sanctions of one authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SanctionsEdition {
    /// The provenance group, such as `ofac`.
    pub group: String,
    /// The source of the import.
    pub source: String,
    /// The name of the list.
    pub list: String,
    /// The date that the list states of itself, else the time of its import.
    pub dated: Timestamp,
}

/// The edition of a list that is in force.
#[derive(Clone)]
pub(super) struct Edition {
    pub(super) version: u64,
    pub(super) file: Arc<LabelFile>,
    pub(super) origin: Arc<ListOrigin>,
    pub(super) sanctions: Arc<[SanctionsEdition]>,
}

/// Returns whether two claims are one statement: an ended sanction may carry another code, and a claim that came
/// through a cluster another link.
pub(super) fn is_same_statement(one: &Claim<&str>, other: &Claim<&str>) -> bool {
    (one.source, one.group, one.level, one.asserted_at) == (other.source, other.group, other.level, other.asserted_at)
        && (one.name, one.entity, one.source_url, one.scope)
            == (other.name, other.entity, other.source_url, other.scope)
}
