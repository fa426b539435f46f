//! Change, CoinJoin shapes and peel chains, worked by hand.

mod case;
mod coinjoins;
mod combination;
mod fingerprints;
mod gathered;
mod invariants;
mod peel_chains;
mod rules;
