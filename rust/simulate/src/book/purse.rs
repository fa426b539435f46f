//! The coins of one wallet, in the order in which it likes to spend them.

use std::collections::BTreeMap;

use super::habits::CoinHabit;
use super::lock::Lock;

/// Names a key of a wallet: its number and its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u32);

impl Key {
    /// The key of this number.
    pub(crate) fn new(number: u32, lock: Lock) -> Self {
        let place = Lock::ALL.iter().position(|other| *other == lock).expect("all locks are listed");
        Self(number << 3 | u32::try_from(place).expect("there are few locks"))
    }

    /// Its number in the wallet.
    pub(crate) const fn number(self) -> u32 {
        self.0 >> 3
    }

    /// Returns the lock of its address.
    pub(crate) const fn lock(self) -> Lock {
        Lock::ALL[(self.0 & 7) as usize]
    }
}

/// An unspent output of a wallet. Its hash and address follow from the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coin {
    /// Number of the transaction that made it.
    pub(crate) transaction: u32,
    /// The index of the output.
    pub(crate) output: u32,
    /// The amount.
    pub(crate) satoshis: u64,
    /// The key that may spend it.
    pub(crate) key: Key,
}

/// The place of a coin in a purse.
pub(crate) type CoinPosition = (u64, u32);

/// Coins by rank and arrival.
#[derive(Default)]
pub(crate) struct Purse {
    coins: BTreeMap<CoinPosition, Coin>,
    satoshis: u64,
    arrivals: u32,
}

impl Purse {
    /// Puts a coin in; gives its place.
    pub(crate) fn put(&mut self, coin: Coin, habit: CoinHabit) -> CoinPosition {
        let place = (rank(coin.satoshis, habit), self.arrivals);
        self.arrivals += 1;
        self.satoshis += coin.satoshis;
        self.coins.insert(place, coin);
        place
    }

    /// Takes the coin of a place out.
    pub(crate) fn take(&mut self, place: CoinPosition) -> Option<Coin> {
        let coin = self.coins.remove(&place)?;
        self.satoshis -= coin.satoshis;
        Some(coin)
    }

    /// Returns the sum of its coins.
    pub(crate) const fn satoshis(&self) -> u64 {
        self.satoshis
    }

    /// Returns whether there ever was a coin in it.
    pub(crate) const fn was_used(&self) -> bool {
        self.arrivals > 0
    }

    /// Returns the number of coins.
    pub(crate) fn len(&self) -> usize {
        self.coins.len()
    }

    /// In order of liking.
    pub(crate) fn liked(&self) -> impl DoubleEndedIterator<Item = (CoinPosition, Coin)> {
        self.coins.iter().map(|(place, coin)| (*place, *coin))
    }

    /// Coins from `low` to `high` satoshis: by a search where the coins are in order of amount, else among the first
    /// few.
    pub(crate) fn between(&self, low: u64, high: u64, habit: CoinHabit) -> impl Iterator<Item = (CoinPosition, Coin)> {
        const LOOKED_AT: usize = 64;
        let (from, to, limit) = match habit {
            CoinHabit::OldestFirst => ((0, 0), (0, u32::MAX), LOOKED_AT),
            CoinHabit::LargestFirst | CoinHabit::Changeless => ((!high, 0), (!low, u32::MAX), usize::MAX),
        };
        let fits = move |coin: &Coin| (low..=high).contains(&coin.satoshis);
        let found = (low <= high).then(|| self.coins.range(from..=to)).into_iter().flatten().take(limit);
        found.map(|(place, coin)| (*place, *coin)).filter(move |(_, coin)| fits(coin))
    }
}

const fn rank(satoshis: u64, habit: CoinHabit) -> u64 {
    match habit {
        CoinHabit::OldestFirst => 0,
        CoinHabit::LargestFirst | CoinHabit::Changeless => !satoshis,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(habit: CoinHabit) -> Purse {
        let mut purse = Purse::default();
        for (number, satoshis) in [(0, 50), (1, 70), (2, 10), (3, 70)] {
            let key = Key::new(number, Lock::P2tr);
            purse.put(Coin { transaction: number, output: 0, satoshis, key }, habit);
        }
        purse
    }

    #[test]
    fn coins_lie_in_the_order_of_the_habit_and_are_found_by_amount() {
        let order = |habit| filled(habit).liked().map(|(_, coin)| coin.transaction).collect::<Vec<_>>();
        assert_eq!(order(CoinHabit::OldestFirst), [0, 1, 2, 3]);
        assert_eq!(order(CoinHabit::LargestFirst), [1, 3, 0, 2]);
        for habit in [CoinHabit::OldestFirst, CoinHabit::LargestFirst, CoinHabit::Changeless] {
            let mut purse = filled(habit);
            let between = |purse: &Purse, low, high| {
                let mut found: Vec<_> = purse.between(low, high, habit).map(|(_, coin)| coin.satoshis).collect();
                found.sort_unstable();
                found
            };
            assert_eq!(between(&purse, 10, 50), [10, 50]);
            assert_eq!(between(&purse, 51, 69), [0; 0]);
            assert_eq!(between(&purse, 60, 20), [0; 0]);
            let (place, coin) = purse.liked().next().unwrap();
            assert_eq!(purse.take(place), Some(coin));
            assert_eq!((purse.len(), purse.satoshis(), purse.take(place)), (3, 200 - coin.satoshis, None));
        }
    }

    #[test]
    fn a_key_is_its_number_and_its_lock() {
        for lock in Lock::ALL {
            let key = Key::new(77, lock);
            assert_eq!((key.number(), key.lock()), (77, lock));
        }
    }
}
