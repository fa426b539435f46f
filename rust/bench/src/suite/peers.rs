//! The peers.

mod child;
mod fjall;
mod keyed;
mod petgraph;
mod redb;

pub use child::Child;
pub use fjall::Fjall;
pub use keyed::KeyedStore;
pub use petgraph::PetgraphPeer;
pub use redb::Redb;

use super::Result;
use super::answer::{Answer, Query};
use super::counters::Cost;

/// Whoever answers questions.
pub trait Engine {
    /// Its name in reports.
    fn name(&self) -> String;

    /// Returns whether it takes part in this question.
    fn takes(&self, query: Query) -> bool;

    /// The answer in the words of the generator, not timed.
    ///
    /// # Errors
    /// When it cannot answer.
    fn answer(&mut self, query: Query) -> Result<Answer>;

    /// Answers once and returns what that took, without the translation into the words of the generator.
    ///
    /// # Errors
    /// When it cannot answer.
    fn time(&mut self, query: Query) -> Result<Cost>;
}

/// Returns the version of a peer: that of the lock file.
#[must_use]
pub fn locked_version(package: &str) -> String {
    let lock = include_str!("../../../../Cargo.lock");
    let of = lock.split(&format!("name = \"{package}\"\nversion = \"")).nth(1);
    of.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::locked_version;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        assert_eq!(locked_version("headwater-bench"), env!("CARGO_PKG_VERSION"));
        assert_eq!(locked_version("none such"), "");
    }
}
