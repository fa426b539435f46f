//! Taint in the balance of an account: what came in, in order, and how much of it is tainted.

use std::collections::VecDeque;

use super::share;

/// The rule by which the taint of a balance leaves with what is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Its share of every payment.
    Haircut,
    /// The money that came first leaves first.
    Fifo,
    /// Every payment is tainted while anything of the balance is.
    Poison,
}

impl Method {
    /// Returns whether taint is divided among payments, so that their parts add up.
    #[must_use]
    pub const fn divides(self) -> bool {
        matches!(self, Self::Haircut | Self::Fifo)
    }
}

/// The traced part of an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    /// In units of the amount.
    pub taint: u128,
    /// In units of the source: what it was when it left the start of a trace.
    pub source: u128,
}

impl Part {
    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { taint: self.taint.saturating_add(other.taint), source: self.source.saturating_add(other.source) }
    }

    /// Returns the rest without a part of it.
    const fn minus(self, other: Self) -> Self {
        Self { taint: self.taint - other.taint, source: self.source - other.source }
    }

    /// Its share `taken / whole`, rounded down; the source goes with the taint.
    fn share(self, taken: u128, whole: u128) -> Self {
        let taint = share(taken, self.taint, whole);
        let source =
            if self.taint > 0 { share(taint, self.source, self.taint) } else { share(taken, self.source, whole) };
        Self { taint, source }
    }
}

/// The balance of one account in one asset.
#[derive(Debug, Clone)]
pub struct Lots {
    method: Method,
    /// The money that came in and did not leave, oldest first. Under haircut and poison one lot.
    held: VecDeque<Lot>,
    /// Tainted amounts that left beyond what was tainted: under poison taint grows.
    grown: u128,
}

#[derive(Debug, Clone, Copy, Default)]
struct Lot {
    amount: u128,
    /// Its taint is at most the amount.
    part: Part,
}

impl Lots {
    /// Returns the lots of a clean balance.
    #[must_use]
    pub fn new(method: Method, clean: u128) -> Self {
        Self { method, held: VecDeque::from([Lot { amount: clean, part: Part::default() }]), grown: 0 }
    }

    /// Adds what came in, of which a part is tainted (at most all).
    pub fn receive(&mut self, amount: u128, part: Part) {
        let part = Part { taint: part.taint.min(amount), ..part };
        match (self.method, self.held.back_mut()) {
            (Method::Haircut | Method::Poison, Some(lot)) => {
                *lot = Lot { amount: lot.amount.saturating_add(amount), part: lot.part.plus(part) };
            }
            _ => self.held.push_back(Lot { amount, part }),
        }
    }

    /// Adds taint to what came in last without it, and gives back what there is no room for.
    pub fn taint_later(&mut self, part: Part) -> Part {
        let mut rest = part;
        for lot in self.held.iter_mut().rev() {
            let room = rest.taint.min(lot.amount - lot.part.taint);
            if room == 0 {
                continue;
            }
            let added = if room == rest.taint { rest } else { rest.share(room, rest.taint) };
            let added = Part { taint: room, ..added };
            (lot.part, rest) = (lot.part.plus(added), rest.minus(added));
        }
        rest
    }

    /// Takes out what left, and gives its tainted part. What leaves beyond the balance was there before the data
    /// begins and is clean. Taint of a lot leaves it first under FIFO: which units of a lot are tainted is not known.
    pub fn spend(&mut self, amount: u128) -> Part {
        let (mut rest, mut spent) = (amount, Part::default());
        while rest > 0
            && let Some(lot) = self.held.front_mut()
        {
            let taken = rest.min(lot.amount);
            let part = match self.method {
                _ if taken == lot.amount => lot.part,
                Method::Fifo if lot.part.taint > 0 => {
                    let taint = taken.min(lot.part.taint);
                    Part { taint, source: share(taint, lot.part.source, lot.part.taint) }
                }
                Method::Fifo | Method::Haircut | Method::Poison => lot.part.share(taken, lot.amount),
            };
            rest -= taken;
            *lot = Lot { amount: lot.amount - taken, part: lot.part.minus(part) };
            let is_poisoned = self.method == Method::Poison && (part.taint > 0 || lot.part.taint > 0);
            let leaves = if is_poisoned { taken } else { part.taint };
            self.grown += leaves - part.taint;
            spent = spent.plus(Part { taint: leaves, ..part });
            if lot.amount > 0 || self.held.len() == 1 {
                break;
            }
            self.held.pop_front();
        }
        spent
    }

    /// The tainted part of what is left.
    #[must_use]
    pub fn part(&self) -> Part {
        self.held.iter().fold(Part::default(), |sum, lot| sum.plus(lot.part))
    }

    /// The rest of the balance.
    #[must_use]
    pub fn balance(&self) -> u128 {
        self.held.iter().map(|lot| lot.amount).sum()
    }

    /// Tainted amounts that left beyond the taint that came in: nothing but under poison.
    #[must_use]
    pub const fn grown(&self) -> u128 {
        self.grown
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spent(method: Method) -> (Vec<u128>, u128) {
        // 5 clean were there; 3 tainted come, then 2 clean; 6, 3 and 1 leave.
        let mut lots = Lots::new(method, 5);
        lots.receive(3, Part { taint: 3, source: 3_000 });
        lots.receive(2, Part::default());
        let left = [6, 3, 1].map(|amount| lots.spend(amount).taint);
        (left.to_vec(), lots.part().taint)
    }

    #[test]
    fn payments_of_a_small_case_are_worked_by_hand() {
        assert_eq!(spent(Method::Fifo), (vec![1, 2, 0], 0));
        // 6 · 3/10 = 1.8; 3 · 2/4 = 1.5; the rest leaves with the last unit.
        assert_eq!(spent(Method::Haircut), (vec![1, 1, 1], 0));
        assert_eq!(spent(Method::Poison), (vec![6, 3, 1], 0));
    }

    #[test]
    fn payments_beyond_the_balance_are_clean() {
        for method in [Method::Fifo, Method::Haircut] {
            let mut lots = Lots::new(method, 0);
            lots.receive(4, Part { taint: 2, source: 7 });
            assert_eq!(
                (lots.spend(10), lots.spend(5), lots.balance()),
                (Part { taint: 2, source: 7 }, Part::default(), 0)
            );
        }
    }

    #[test]
    fn source_units_leave_with_their_share() {
        // Half of 8 leaves, then the rest; what the source was worth goes with it.
        let mut lots = Lots::new(Method::Haircut, 6);
        lots.receive(2, Part { taint: 2, source: 501 });
        assert_eq!(lots.spend(4), Part { taint: 1, source: 250 });
        assert_eq!(lots.spend(4), Part { taint: 1, source: 251 });
        let mut lots = Lots::new(Method::Fifo, 1);
        lots.receive(4, Part { taint: 4, source: 501 });
        assert_eq!(lots.spend(3), Part { taint: 2, source: 250 });
        assert_eq!(lots.spend(3), Part { taint: 2, source: 251 });
    }

    #[test]
    fn taint_that_comes_later_finds_the_room_that_is_left() {
        let part = Part { taint: 4, source: 40 };
        for method in [Method::Fifo, Method::Haircut] {
            let mut lots = Lots::new(method, 0);
            lots.receive(5, Part { taint: 2, source: 2 });
            assert_eq!(lots.taint_later(part), Part { taint: 1, source: 10 });
            assert_eq!(lots.part(), Part { taint: 5, source: 32 });
        }
    }

    proptest! {
        #[test]
        fn taint_and_source_are_conserved(
            clean in 0..100_u128,
            steps in prop::collection::vec((any::<bool>(), 0..100_u128, 0..100_u128, 0..1_000_000_u128), 0..40),
        ) {
            for method in [Method::Haircut, Method::Fifo, Method::Poison] {
                let mut lots = Lots::new(method, clean);
                let (mut came, mut left) = (Part::default(), Part::default());
                for (is_in, amount, taint, source) in &steps {
                    if *is_in {
                        let part = Part { taint: *taint.min(amount), source: *source };
                        lots.receive(*amount, part);
                        came = came.plus(part);
                    } else {
                        left = left.plus(lots.spend(*amount));
                    }
                }
                let held = lots.part();
                prop_assert_eq!(came.taint + lots.grown(), left.taint + held.taint);
                prop_assert_eq!(came.source, left.source + held.source);
                prop_assert!(held.taint <= lots.balance());
            }
        }
    }
}
