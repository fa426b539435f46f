//! Loads from nodes, which answer right, late, wrong or not at all.

mod fake;
mod history;
