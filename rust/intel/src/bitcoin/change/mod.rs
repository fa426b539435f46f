//! Which output of a transaction went back to whoever paid.
//!
//! A payment mostly has two outputs: what was paid, and what the payer keeps. Software leaves signs of which is which.
//! Each sign is a [`Rule`]; [`judge`] adds their votes.

mod amounts;
mod candidates;
mod case;
mod combine;
mod fingerprint;
mod history;
mod rule;

pub use self::candidates::{Abstention, Candidates};
pub use self::case::{AddressUsage, Case, OutputCase};
pub use self::combine::{Change, Judgement, Level, NoChange, Vote, judge};
pub use self::rule::{RULES, Rule, rule};
