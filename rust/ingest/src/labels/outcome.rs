//! The outcome of reading a list of labels.

use std::collections::BTreeSet;
use std::path::PathBuf;

use headwater_ledger::labels::{Claim, Code, Level};
use headwater_ledger::store::{LabelImport, MissingClaims, ShrinkPolicy};
use headwater_types::Timestamp;

use super::counts::Counts;

/// A list of labels that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// The format of the files.
    pub format: &'static str,
    /// The source. An import replaces what the same source and list said before.
    pub source: String,
    /// The list.
    pub list: String,
    /// The licence of the list; `None` where it is not known.
    pub licence: Option<String>,
    /// The date that the list states of itself.
    pub list_date: Option<Timestamp>,
    /// The claims, ordered by address, chains, code, entity and group. Names without a code are among them.
    pub claims: Vec<Claim>,
    /// Addresses of chains that are not held.
    pub foreign: Vec<Foreign>,
    /// A file that belongs to those read and was not among them, where addresses are lost without it: of `sdn.csv` its
    /// comments.
    pub missing_file: Option<&'static str>,
    /// The files among several that give no claim.
    pub without_claims: Vec<PathBuf>,
    /// The counts of rows by outcome.
    pub counts: Counts,
    /// Warnings for people.
    pub warnings: Vec<String>,
}

impl Labels {
    /// Returns the import of the list. It ends the claims of the edition before that it does not repeat, as of its own
    /// date or else of the import.
    #[must_use]
    pub fn into_import(self, imported_at: Timestamp, shrinking: ShrinkPolicy) -> LabelImport {
        let ended_at = self.list_date.unwrap_or(imported_at);
        let sanctions_of = sanctions_of(&self.claims);
        let Self { source, list, licence, claims, .. } = self;
        let vanished = MissingClaims::End;
        LabelImport { source, list, licence, imported_at, ended_at, claims, vanished, shrinking, sanctions_of }
    }
}

/// Returns the provenance groups whose sanctions are among the claims.
pub(super) fn sanctions_of(claims: &[Claim]) -> Vec<String> {
    let groups: BTreeSet<&str> = claims.iter().filter(|claim| is_listed(claim)).map(|claim| &*claim.group).collect();
    groups.into_iter().map(str::to_owned).collect()
}

/// Returns whether a claim is the entry of a list of sanctions that is in force.
pub(super) fn is_listed<T>(claim: &Claim<T>) -> bool {
    claim.code == Some(Code::Sanction) && claim.level == Level::SanctionsList && claim.valid_until.is_none()
}

/// An address of a chain that is not held, kept under the ticker of the list. It claims nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Foreign {
    /// The ticker or the chain, as the list writes it.
    pub ticker: String,
    /// The address, as the list writes it.
    pub address: String,
    /// The code that the list gives it.
    pub code: Option<Code>,
    /// The entity behind it.
    pub entity: Option<String>,
}
