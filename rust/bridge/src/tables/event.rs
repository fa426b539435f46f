//! An event of a bridge, and where the fields of a leg are in it.

use std::sync::Arc;

use serde::Deserialize;

use super::term::Fetch;
use crate::abi::{Declaration, DeclarationError, FieldPath, MalformedLog, Value};
use crate::half::{MatchClass, Step};
use crate::log::Log;

/// An event that bridges emit.
#[derive(Debug)]
pub struct Event {
    pub(crate) family: usize,
    pub(crate) name: Arc<str>,
    pub(crate) declaration: Declaration,
    pub(crate) topic0: [u8; 32],
    pub(crate) topic_count: usize,
    pub(crate) version: Box<str>,
    pub(crate) evidence: Box<str>,
    /// The mapping by which a leg is read from it; `None` where code reads it, or it is not a leg.
    pub(crate) mapping: Option<Mapping>,
}

/// The fields of a leg.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) step: Step,
    pub(crate) class: MatchClass,
    pub(crate) key: Vec<Fetch>,
    pub(crate) also: Vec<Fetch>,
    pub(crate) other_chain: Option<Fetch>,
    pub(crate) other_transaction: Option<Fetch>,
    pub(crate) sender: Option<Fetch>,
    pub(crate) receiver: Option<Fetch>,
    pub(crate) token: Option<Fetch>,
    pub(crate) amount: Option<Fetch>,
    pub(crate) other_token: Option<Fetch>,
    pub(crate) other_amount: Option<Fetch>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) failed_unless: Option<Condition>,
}

/// A further mark of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mark {
    /// The token and amount are those of the transfer that pays the receiver, if there is one.
    Paid,
    /// The event names a wrapper: the token is the other one of which the same amount moves.
    Underlying,
    /// Its emitters cannot be listed: it counts beside an event of a listed contract of the family.
    Unlisted,
    /// An envelope around what another event of the same key describes better.
    Transport,
}

impl Mapping {
    pub(crate) fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }
}

/// `field = number`.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) place: FieldPath,
    pub(crate) number: u64,
}

impl Event {
    /// Its name, without parameters.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `Name(type,...)`.
    #[must_use]
    pub fn signature(&self) -> String {
        self.declaration.signature()
    }

    /// The first topic of its logs: keccak256 of the signature.
    #[must_use]
    pub fn topic0(&self) -> &[u8; 32] {
        &self.topic0
    }

    /// The generation of the bridge that emits it, empty where there is one only.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns what confirms the declaration, in the letters of `bridges.md`: R receipt, S topic list, L literal in
    /// other code, A published ABI, C computed only.
    #[must_use]
    pub fn evidence(&self) -> &str {
        &self.evidence
    }

    /// Returns what a leg of it says, `None` where code decides that, or it is not a leg.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        self.mapping.as_ref().map(|mapping| mapping.step)
    }

    /// Returns how its legs are joined, `None` where code decides that, or it is not a leg.
    #[must_use]
    pub fn class(&self) -> Option<MatchClass> {
        self.mapping.as_ref().map(|mapping| mapping.class)
    }

    /// Returns whether a log has its topics.
    pub(crate) fn fits(&self, log: &Log<'_>) -> bool {
        log.topics.first() == Some(&self.topic0) && log.topics.len() == self.topic_count
    }

    /// The place of a field.
    pub(crate) fn place(&self, path: &str) -> Result<FieldPath, DeclarationError> {
        FieldPath::of(&self.declaration, path)
    }

    /// The value of a field in a log of this event.
    pub(crate) fn value<'a>(&self, log: &Log<'a>, path: &str) -> Result<Option<Value<'a>>, MalformedLog> {
        self.place(path).map_err(|_| MalformedLog)?.read(log.topics, log.data)
    }
}
