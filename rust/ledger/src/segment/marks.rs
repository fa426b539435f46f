//! Marks of content that few segments have, and how a file states so.

use bytemuck::{Pod, Zeroable};

use super::layout::{head, movement};
use super::opening::entries;
use super::record::{MovementRecord, TransactionRecord};
use super::section::Section;
use crate::facts::{AmountOf, Movement, MovementFact, TransactionFacts};

/// The counts of content that most segments do not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Marks {
    /// Opening balances.
    pub(crate) openings: u64,
    /// Movements whose amount is approximate.
    pub(crate) approximate: u64,
}

pub(super) const MARKS: Section<Marks> = Section::new("marks");

impl Marks {
    pub(crate) fn add(&mut self, other: Self) {
        self.openings = self.openings.saturating_add(other.openings);
        self.approximate = self.approximate.saturating_add(other.approximate);
    }

    pub(crate) fn take(&mut self, other: Self) {
        self.openings = self.openings.saturating_sub(other.openings);
        self.approximate = self.approximate.saturating_sub(other.approximate);
    }

    /// Those of one transaction.
    pub(super) fn of_facts(facts: &TransactionFacts) -> Self {
        let is_opening = |movement: &&Movement| movement.kind == MovementFact::Opening && movement.to.is_some();
        let approximate = || {
            let names = facts.movements.iter().filter_map(AmountOf::of_fact);
            let names = names.chain(facts.body.map(|_| AmountOf::Value));
            names.filter(|name| facts.approximate.contains(name)).count() as u64
        };
        Self {
            openings: facts.movements.iter().filter(is_opening).count() as u64,
            // Nearly always nothing.
            approximate: if facts.approximate.is_empty() { 0 } else { approximate() },
        }
    }

    /// The same of what is filed of it.
    pub(super) fn of(record: &TransactionRecord) -> Self {
        let is_approximate = |movement: &&MovementRecord| movement.flags & movement::APPROXIMATE != 0;
        let movements = record.movements.iter().filter(is_approximate).count();
        Self {
            openings: entries(0, record).count() as u64,
            approximate: movements as u64 + u64::from(record.flags & head::APPROXIMATE != 0),
        }
    }
}
