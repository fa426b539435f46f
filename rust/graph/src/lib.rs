//! Walks over the graph of who paid whom: accounts are nodes, what moved between two of them an edge.
//!
//! The hot path stands on edges in order of weight ([`source::Source`]: those of a ledger are [`stored::Stored`]) and scratch that is stamped instead of cleared
//! ([`expand::Scratch`]); petgraph is for what was cut out of the graph and is small ([`subgraph`], [`trace::graph()`]).
#![forbid(unsafe_code)]

pub mod csr;
pub mod expand;
pub mod paths;
pub mod rank;
pub mod source;
pub mod stored;
pub mod subgraph;
pub mod taint;
pub mod trace;
