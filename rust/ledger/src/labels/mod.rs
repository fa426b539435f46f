//! Labels: claims of sources about addresses.
//!
//! A [`Claim`] is what one source says of one address, with where it says so, how far it is believed and when it held.
//! Claims that contradict each other are kept side by side; what they come to is computed when asked. Every import of a
//! list is a file of its own, so that it rebuilds nothing that other imports brought; a later import of the same list
//! carries on what the list no longer says as claims that ended.

mod build;
mod claim;
mod code;
mod dispute;
mod disputes;
mod entity;
mod file;
mod filter;
mod key;
mod level;
mod name_index;
mod names;
mod origin;
mod record;
mod search;
mod succession;
mod table;
#[cfg(test)]
mod tests;

pub use claim::{Action, Claim, DateBasis, Scope};
pub use code::{Business, Category, Code};
pub use dispute::Dispute;
pub use disputes::{ClaimSelection, DisputeAction, DisputeEntry, DisputeRequest};
pub use entity::{actor_code, entity_key, entity_name};
pub use level::{Level, Link};
pub use names::{NameQuery, NameRank};
pub use origin::{ListOrigin, SanctionsEdition};
pub use search::NamedAddresses;
pub use succession::LabelDiff;
pub use table::{LabelChange, LabelTable};

pub(crate) use build::{ClaimDraft, build};
pub(crate) use disputes::Disputes;
pub(crate) use file::LabelFile;
pub(crate) use key::Key;
pub(crate) use succession::{Overlap, diff, overlap, succeed};
pub(crate) use table::{ImportRow, ListTerms};
