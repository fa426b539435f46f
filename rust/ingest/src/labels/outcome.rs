//! What an import of labels gives.

use std::path::PathBuf;

use headwater_ledger::labels::{Claim, Code};
use headwater_types::Timestamp;

use super::counts::Counts;

/// What an import of labels gives.
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
    /// What became of the rows.
    pub counts: Counts,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// An address of a chain that is not held, kept under the ticker of the list. It claims nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Foreign {
    /// The ticker or the chain, as the list writes it.
    pub ticker: String,
    /// The address, as the list writes it.
    pub address: String,
    /// What the list says it is.
    pub code: Option<Code>,
    /// Who is behind it.
    pub entity: Option<String>,
}
