//! Taint in the balance of an account: what came in, in order, and how much of it is tainted.

use std::collections::VecDeque;

use super::share;

/// How the taint of a balance leaves with what is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Its share of every payment.
    Haircut,
    /// What came first leaves first.
    Fifo,
    /// Every payment is tainted while anything of the balance is.
    Poison,
}

/// The balance of one account in one asset.
#[derive(Debug, Clone)]
pub struct Lots {
    method: Method,
    /// What came in and did not leave, oldest first: amount, and how much of it is tainted. Under haircut and poison one lot.
    held: VecDeque<(u128, u128)>,
    /// Tainted amounts that left beyond what was tainted: under poison taint grows.
    grown: u128,
}

impl Lots {
    /// Of a balance that is clean.
    #[must_use]
    pub fn new(method: Method, clean: u128) -> Self {
        Self { method, held: VecDeque::from([(clean, 0)]), grown: 0 }
    }

    /// Adds what came in, of which so much is tainted (at most all).
    pub fn receive(&mut self, amount: u128, taint: u128) {
        let taint = taint.min(amount);
        match (self.method, self.held.back_mut()) {
            (Method::Haircut | Method::Poison, Some((held, tainted))) => {
                *held = held.saturating_add(amount);
                *tainted = tainted.saturating_add(taint);
            }
            _ => self.held.push_back((amount, taint)),
        }
    }

    /// Takes out what left, and gives how much of it is tainted. What leaves beyond the balance was there before the data
    /// begins and is clean. Taint of a lot leaves it first under FIFO: which units of a lot are tainted is not known.
    pub fn spend(&mut self, amount: u128) -> u128 {
        let (mut rest, mut taint) = (amount, 0);
        while rest > 0
            && let Some((held, tainted)) = self.held.front_mut()
        {
            let taken = rest.min(*held);
            let of_taken = match self.method {
                Method::Fifo => taken.min(*tainted),
                Method::Haircut | Method::Poison if taken == *held => *tainted,
                Method::Haircut | Method::Poison => share(taken, *tainted, *held),
            };
            (rest, *held, *tainted) = (rest - taken, *held - taken, *tainted - of_taken);
            let is_poisoned = self.method == Method::Poison && (of_taken > 0 || *tainted > 0);
            let leaves = if is_poisoned { taken } else { of_taken };
            self.grown += leaves - of_taken;
            taint += leaves;
            if *held > 0 || self.held.len() == 1 {
                break;
            }
            self.held.pop_front();
        }
        taint
    }

    /// What is left of the taint.
    #[must_use]
    pub fn tainted(&self) -> u128 {
        self.held.iter().map(|(_, tainted)| tainted).sum()
    }

    /// What is left of the balance.
    #[must_use]
    pub fn balance(&self) -> u128 {
        self.held.iter().map(|(held, _)| held).sum()
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
        lots.receive(3, 3);
        lots.receive(2, 0);
        let left = [6, 3, 1].map(|amount| lots.spend(amount));
        (left.to_vec(), lots.tainted())
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
            lots.receive(4, 2);
            assert_eq!((lots.spend(10), lots.spend(5), lots.balance()), (2, 0, 0));
        }
    }

    proptest! {
        #[test]
        fn taint_is_conserved(
            clean in 0..100_u128, steps in prop::collection::vec((any::<bool>(), 0..100_u128, 0..100_u128), 0..40),
        ) {
            for method in [Method::Fifo, Method::Haircut, Method::Poison] {
                let mut lots = Lots::new(method, clean);
                let (mut came, mut left) = (0, 0);
                for (is_in, amount, taint) in &steps {
                    if *is_in {
                        lots.receive(*amount, *taint);
                        came += taint.min(amount);
                    } else {
                        left += lots.spend(*amount);
                    }
                }
                prop_assert_eq!(came + lots.grown(), left + lots.tainted());
                prop_assert!(lots.tainted() <= lots.balance());
            }
        }
    }
}
