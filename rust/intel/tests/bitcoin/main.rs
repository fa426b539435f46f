//! Change, CoinJoins and peel chains, worked by hand.

mod case;
mod combination;
mod fingerprints;
mod invariants;
mod rules;
