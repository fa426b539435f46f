//! The labels of an address: its claims, and the codes with confidences and the entity that follow from them.
//!
//! A confidence says how sure it is that a code is right, given who says so. It is no risk, and the absence of a label
//! says nothing: public lists know a small part of all addresses.

mod aggregate;
mod claims;
mod confidence;
#[cfg(test)]
mod tests;

pub use aggregate::{Aggregate, CodeConfidence, EntityConfidence, SanctionsListing, SourceClaim, aggregate};
pub(crate) use claims::labelled_in_cluster;
pub use claims::{LabelSource, LabelState, StateLabels, bridge_claim, bridge_claims, claims_by, claims_of};
pub use confidence::{Moment, Standing, ageing, noisy_or};
