//! The simulated economy, held against what it says of itself. One binary, because linking takes longer than running.

mod behaviours;
mod bitcoin;
mod bridge_legs;
mod bridges;
mod labels;
mod laws;
mod planted;
mod store;
