//! Webhooks: how deliveries are signed, where they may go, when they are tried again, and who makes them.

/// The path where webhooks are made and listed.
pub(crate) const PATH: &str = "/v1/webhooks";

pub(crate) mod deliver;
pub(crate) mod deliveries;
pub mod egress;
pub(crate) mod endpoints;
pub(crate) mod manage;
pub mod schedule;
pub mod sign;
