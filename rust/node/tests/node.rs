//! Loads from nodes, which answer right, late, wrong or not at all.

mod bitcoin;
mod bitcoin_node;
mod fake;
mod follow;
mod follow_node;
mod follow_outages;
mod history;
mod price_service;
mod prices;
mod tron;
mod tron_node;
