//! Tests that cross crates. One binary, because linking takes longer than running.

mod architecture;
mod corpus;
mod fuzz;
mod risk;
