//! Answers of a provider that are used again for a while.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_ledger::labels::Claim;

use super::answer::ProviderQuestion;

/// Most answers and claims that are kept together: some megabytes.
const MOST: usize = 20_000;

/// Answers by chain and address; the oldest make room.
#[derive(Debug)]
pub(super) struct KeptClaims {
    time: Duration,
    held: Mutex<AnswerTable>,
}

#[derive(Debug, Default)]
struct AnswerTable {
    answers: HashMap<ProviderQuestion, CachedAnswer>,
    /// By their turn, the oldest first.
    order: BTreeMap<u64, ProviderQuestion>,
    turns: u64,
    weight: usize,
}

#[derive(Debug)]
struct CachedAnswer {
    at: Instant,
    turn: u64,
    claims: Vec<Claim>,
}

impl AnswerTable {
    fn remove(&mut self, asked: &ProviderQuestion) {
        if let Some(kept) = self.answers.remove(asked) {
            self.order.remove(&kept.turn);
            self.weight -= 1 + kept.claims.len();
        }
    }
}

impl KeptClaims {
    /// Keeps answers for a time; for none, nothing.
    pub fn new(time: Duration) -> Self {
        Self { time, held: Mutex::default() }
    }

    /// The answer to a question, while it is fresh.
    pub fn get(&self, asked: &ProviderQuestion, now: Instant) -> Option<Vec<Claim>> {
        let held = self.held();
        let kept = held.answers.get(asked)?;
        (now.saturating_duration_since(kept.at) < self.time).then(|| kept.claims.clone())
    }

    /// Keeps an answer that came now.
    pub fn keep(&self, asked: ProviderQuestion, claims: Vec<Claim>, now: Instant) {
        if self.time.is_zero() {
            return;
        }
        let mut held = self.held();
        held.remove(&asked);
        held.turns += 1;
        let turn = held.turns;
        held.weight += 1 + claims.len();
        held.order.insert(turn, asked);
        held.answers.insert(asked, CachedAnswer { at: now, turn, claims });
        while held.weight > MOST {
            let Some((_, oldest)) = held.order.first_key_value() else { break };
            let oldest = *oldest;
            held.remove(&oldest);
        }
    }

    fn held(&self) -> MutexGuard<'_, AnswerTable> {
        // Whoever panicked with the lock has at worst left an answer too many.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::labels::Scope;
    use headwater_types::{Address, Chain};

    use super::*;

    fn asked(number: u32) -> ProviderQuestion {
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        ProviderQuestion { scope: Scope::Chain(Chain::ETHEREUM), address: Address::Evm(bytes) }
    }

    #[test]
    fn answer_is_used_again_by_chain_and_address_while_it_is_fresh() {
        let (kept, now) = (KeptClaims::new(Duration::from_secs(10)), Instant::now());
        kept.keep(asked(1), Vec::new(), now);
        let later = |secs| now + Duration::from_secs(secs);
        assert_eq!(kept.get(&asked(1), later(9)), Some(Vec::new()));
        assert_eq!(kept.get(&ProviderQuestion { scope: Scope::Evm, ..asked(1) }, now), None);
        assert_eq!((kept.get(&asked(1), later(10)), kept.get(&asked(2), now)), (None, None));
        let none = KeptClaims::new(Duration::ZERO);
        none.keep(asked(1), Vec::new(), now);
        assert_eq!(none.get(&asked(1), now), None);
    }

    #[test]
    fn oldest_answers_make_room() {
        let (kept, now) = (KeptClaims::new(Duration::from_secs(10)), Instant::now());
        let most = u32::try_from(MOST).unwrap();
        for number in 0..most {
            kept.keep(asked(number), Vec::new(), now);
        }
        kept.keep(asked(0), Vec::new(), now);
        kept.keep(asked(most), Vec::new(), now);
        let is_there = |number| kept.get(&asked(number), now).is_some();
        assert_eq!([is_there(0), is_there(1), is_there(2), is_there(most)], [true, false, true, true]);
        let held = kept.held();
        assert_eq!((held.answers.len(), held.order.len(), held.weight), (MOST, MOST, MOST));
    }
}
