//! Finds of the behaviour rules, worked by hand, and their innocent twins just beyond each threshold.
//!
//! A case is a few rows of what one address did. Its finds are asserted as text, in each way the rows can be spread over
//! segments:
//!
//! ```text
//! 0.5 x1 0..3600 in 86400: recipients 60, sources 1, total_usd 6000 by 1 2 3
//! ```
//!
//! is an intensity of 0.5, one episode from second 0 to second 3,600, the window of the rule, the facts, and the
//! transactions by their numbers in the case. Decimals are rounded to six places.

mod automation;
mod case;
mod dispersal;
mod disposable;
mod fraud;
mod histories;
mod invariants;
mod layering;
mod mass;
mod obfuscation;
mod paths;
mod velocity;
