//! Event declarations as Solidity writes them, and the values of a log that has such an event.
//!
//! A declaration is parsed once into places: a topic, or a chain of offsets into the data (Contract ABI Specification,
//! "Events" and "Formal Specification of the Encoding"). Reading a place checks every bound and every padding, so a
//! malformed log is recognised and never read past its end.

mod declaration;
mod place;

#[cfg(test)]
pub(crate) use declaration::Kind;
pub(crate) use declaration::{Declaration, DeclarationError};
pub(crate) use place::{FieldPath, MalformedLog, Value};
