//! Loads from nodes, which answer right, late, wrong or not at all.

mod history;
mod price_service;
mod prices;
