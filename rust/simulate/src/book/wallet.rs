//! Wallets of a UTXO chain: keys of one owner, and what they hold.

use headwater_types::Address;

use super::habits::{AddressHabit, ChangePlace, CoinHabit, Habits, LockTimeHabit};
use super::lock::Lock;
use super::purse::{Key, Purse};
use crate::identity::script_address;
use crate::random::Stream;
use crate::truth::{Role, WalletTruth};

/// Names a wallet of the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WalletId(pub(crate) usize);

/// The owner of a wallet.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    /// Name of the wallet.
    pub(crate) wallet: String,
    /// The owner; one owner may have several wallets.
    pub(crate) owner: String,
    /// The role of its addresses.
    pub(crate) role: Role,
}

impl Holder {
    /// Somebody with one wallet.
    pub(crate) fn single(owner: &str, role: Role) -> Self {
        Self { wallet: owner.to_owned(), owner: owner.to_owned(), role }
    }

    /// One of several wallets of an owner.
    pub(crate) fn part(owner: &str, part: &str, role: Role) -> Self {
        Self { wallet: format!("{owner}/{part}"), owner: owner.to_owned(), role }
    }
}

/// One wallet.
pub(crate) struct Wallet {
    /// The owner.
    pub(crate) holder: Holder,
    /// The habits by which it spends.
    pub(crate) habits: Habits,
    /// Its own randomness.
    pub(crate) stream: Stream,
    /// The coins that it may spend now.
    pub(crate) purse: Purse,
    /// Keys made so far.
    keys: u32,
}

impl Wallet {
    /// An empty wallet.
    pub(crate) fn new(seed: u64, holder: Holder, habits: Habits) -> Self {
        let stream = Stream::new(seed, &format!("wallet/{}", holder.wallet));
        Self { holder, habits, stream, purse: Purse::default(), keys: 0 }
    }

    /// A key to be paid at.
    pub(crate) fn receiving(&mut self) -> Key {
        match self.habits.address {
            AddressHabit::Reused => self.first(),
            AddressHabit::Fresh | AddressHabit::OneForChange | AddressHabit::OtherFormForChange(_) => self.fresh(),
        }
    }

    /// A key for change.
    pub(crate) fn change(&mut self) -> Key {
        match self.habits.address {
            AddressHabit::OtherFormForChange(lock) => self.fresh_with(lock),
            AddressHabit::OneForChange | AddressHabit::Reused => self.first(),
            AddressHabit::Fresh => self.fresh(),
        }
    }

    /// The key that every wallet begins with.
    pub(crate) fn first(&self) -> Key {
        Key::new(0, self.habits.lock)
    }

    /// A key that was never used.
    pub(crate) fn fresh(&mut self) -> Key {
        self.fresh_with(self.habits.lock)
    }

    fn fresh_with(&mut self, lock: Lock) -> Key {
        self.keys += 1;
        Key::new(self.keys, lock)
    }

    /// Itself as the truth lists it.
    pub(crate) fn truth(&self) -> WalletTruth {
        let habits = &self.habits;
        let change_address = match habits.address {
            AddressHabit::Fresh => "fresh",
            AddressHabit::Reused => "reused",
            AddressHabit::OneForChange => "one_for_change",
            AddressHabit::OtherFormForChange(_) => "other_form",
        };
        let change_place = match habits.place {
            ChangePlace::First => "first",
            ChangePlace::Last => "last",
            ChangePlace::Anywhere => "anywhere",
            ChangePlace::Sorted => "sorted",
        };
        let coin_choice = match habits.coins {
            CoinHabit::OldestFirst => "oldest",
            CoinHabit::LargestFirst => "largest",
            CoinHabit::Changeless => "changeless",
        };
        let lock_time = match habits.lock_time {
            LockTimeHabit::Zero => "zero",
            LockTimeHabit::NewestBlock => "newest_block",
        };
        WalletTruth {
            wallet: self.holder.wallet.clone(),
            owner: self.holder.owner.clone(),
            software: habits.software.to_owned(),
            script: habits.lock.script().name().to_owned(),
            change_address: change_address.to_owned(),
            change_place: change_place.to_owned(),
            coin_choice: coin_choice.to_owned(),
            version: habits.version,
            lock_time: lock_time.to_owned(),
            sequence: habits.sequence,
        }
    }

    /// The address of a key.
    pub(crate) fn address(&self, seed: u64, key: Key) -> Address {
        script_address(seed, key.lock().script(), &format!("{}/{}", self.holder.wallet, key.number()))
    }
}
