//! The parties that an address dealt with.

use super::money::Way;

/// A movement with a counterparty, by its number, in one word that sorts fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dealing(u64);

impl Dealing {
    pub(super) fn new(other: u32, way: Way) -> Self {
        Self(u64::from(other) << 1 | u64::from(way == Way::Out))
    }

    const fn other(self) -> u64 {
        self.0 >> 1
    }
}

/// Counterparties of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parties {
    /// Distinct addresses that sent to it.
    pub senders: u64,
    /// Distinct addresses that it sent to.
    pub receivers: u64,
    /// Distinct addresses that did both.
    pub both: u64,
    /// Movements with a counterparty that occurs once.
    pub once: u64,
    /// Movements in from a sender that sent once.
    pub in_once: u64,
    /// Movements out to a receiver that received once.
    pub out_once: u64,
    /// Most movements with one counterparty.
    pub most: u64,
}

impl Parties {
    /// Computes the counterparties of movements; the order of `movements` does not matter. O(n log n).
    pub(super) fn of(movements: &mut [Dealing]) -> Self {
        movements.sort_unstable();
        let mut parties = Self::default();
        for of_one in movements.chunk_by(|one, other| one.other() == other.other()) {
            let all = of_one.len() as u64;
            let outs: u64 = of_one.iter().map(|dealing| dealing.0 & 1).sum();
            let ins = all - outs;
            parties.senders += u64::from(ins > 0);
            parties.receivers += u64::from(outs > 0);
            parties.both += u64::from(ins > 0 && outs > 0);
            parties.once += u64::from(all == 1);
            parties.in_once += u64::from(ins == 1);
            parties.out_once += u64::from(outs == 1);
            parties.most = parties.most.max(all);
        }
        parties
    }

    /// Distinct addresses that did either.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.senders + self.receivers - self.both
    }
}

#[cfg(test)]
mod tests {
    use super::Way::{In, Out};
    use super::*;

    #[test]
    fn parties_of_a_small_case_are_worked_by_hand() {
        let dealings = [(1, In), (2, Out), (1, Out), (3, In), (3, In), (4, Out)];
        let parties = Parties::of(&mut dealings.map(|(other, way)| Dealing::new(other, way)));
        let expected = Parties { senders: 2, receivers: 3, both: 1, once: 2, in_once: 1, out_once: 3, most: 2 };
        assert_eq!((parties, parties.all()), (expected, 4));
    }
}
