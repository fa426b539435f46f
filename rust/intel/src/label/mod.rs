//! What the claims about an address come to: codes with confidences, and an entity.
//!
//! A confidence says how sure it is that a code is right, given who says so. It is no risk, and the absence of a label
//! says nothing: public lists know a small part of all addresses.

mod aggregate;
mod bridge;
mod claims;
mod confidence;
mod listing;
mod moment;
mod source;
mod standing;
#[cfg(test)]
mod tests;

pub use aggregate::{Aggregate, CodeConfidence, EntityConfidence, SourceClaim, aggregate};
pub use bridge::bridge_claim;
pub use claims::{claims_by, claims_of};
pub use confidence::{ageing, noisy_or};
pub use listing::SanctionsListing;
pub use moment::Moment;
pub use source::LabelSource;
pub use standing::Standing;
