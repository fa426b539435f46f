//! The meaning of a cell of an event table: a field, or something else that the transaction states.

use crate::abi::{Declaration, DeclarationError, FieldPath};

/// A term and what is done to its value.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(crate) term: Term,
    pub(crate) modifier: Modifier,
}

/// The change that is made to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modifier {
    /// Nothing.
    Plain,
    /// `field|nonzero`: zero means that nothing is stated.
    NonZero,
    /// `field|head`: the text before the first `-`.
    Head,
    /// `field|reversed`: the bytes in reverse order, as bitcoin prints hashes.
    Reversed,
}

/// The source of a value.
#[derive(Debug)]
pub(crate) enum Term {
    /// `name`: a field of the event.
    Field(FieldPath),
    /// `a - b`: the difference of two fields.
    Difference(FieldPath, FieldPath),
    /// `Event::field`: a field of another event of the family in the same transaction.
    Beside { event: String, field: String },
    /// `=text`: that text.
    Literal(String),
    /// `@chain`: how the family numbers the chain of the log.
    OwnId,
    /// `@peer`: the other end of a bridge with two ends.
    Peer,
    /// `@tx`: the hash of the transaction.
    Transaction,
    /// `@kappa`: keccak256 of that hash as text, with `0x` in front.
    Kappa,
    /// `@emitter`: the contract that emitted the log.
    Emitter,
    /// `@from`: who signed the transaction.
    Signer,
    /// `@role`: what is behind the `-` of the emitter's role: a token or the other end of its lane.
    Role,
    /// `@native`: the native coin.
    Native,
    /// `@log`: the index of the log.
    LogIndex,
}

impl Fetch {
    pub(crate) fn parse(declaration: &Declaration, text: &str) -> Result<Self, DeclarationError> {
        let unknown = || DeclarationError::Field(text.to_owned());
        let (text, modifier) = match text.split_once('|') {
            None => (text, Modifier::Plain),
            Some((text, "nonzero")) => (text, Modifier::NonZero),
            Some((text, "head")) => (text, Modifier::Head),
            Some((text, "reversed")) => (text, Modifier::Reversed),
            Some(_) => return Err(unknown()),
        };
        let term = match text {
            "@chain" => Term::OwnId,
            "@peer" => Term::Peer,
            "@tx" => Term::Transaction,
            "@kappa" => Term::Kappa,
            "@emitter" => Term::Emitter,
            "@from" => Term::Signer,
            "@role" => Term::Role,
            "@native" => Term::Native,
            "@log" => Term::LogIndex,
            _ => {
                if let Some(literal) = text.strip_prefix('=') {
                    Term::Literal(literal.to_owned())
                } else if let Some((event, field)) = text.split_once("::") {
                    Term::Beside { event: event.to_owned(), field: field.to_owned() }
                } else if let Some((from, less)) = text.split_once(" - ") {
                    Term::Difference(FieldPath::of(declaration, from)?, FieldPath::of(declaration, less)?)
                } else {
                    Term::Field(FieldPath::of(declaration, text)?)
                }
            }
        };
        Ok(Self { term, modifier })
    }
}
