//! Wallets of a UTXO chain: keys of one owner, and the habits by which their software spends.

use std::collections::BTreeSet;

use headwater_ledger::facts::OutPoint;
use headwater_ledger::read::ScriptType;
use headwater_types::Address;

use crate::identity::script_address;
use crate::random::Stream;
use crate::truth::Role;

/// Names a wallet of the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WalletId(pub(crate) usize);

/// Where change goes and where payments are received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressHabit {
    /// A new address every time, of the wallet's own script form.
    Fresh,
    /// One address for everything: change goes back to where it came from.
    Reused,
    /// New addresses for payments, one address for all change: the hot wallet of a service.
    OneForChange,
    /// New addresses; change uses another script form than receiving (a wallet half way to a new form).
    OtherFormForChange(ScriptType),
}

/// Which coins are spent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CoinHabit {
    /// Oldest first: ends in many inputs.
    OldestFirst,
    /// Largest first: mostly one input.
    LargestFirst,
}

/// How a wallet spends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// The form of its own scripts.
    pub(crate) script: ScriptType,
    /// Where change goes.
    pub(crate) address: AddressHabit,
    /// Which coins go first.
    pub(crate) coins: CoinHabit,
    /// Whether change always stands last (older software) or anywhere.
    pub(crate) change_last: bool,
}

impl Habits {
    /// Habits as they are spread among people.
    pub(crate) fn draw(stream: &mut Stream) -> Self {
        let forms = [ScriptType::P2wpkh, ScriptType::P2pkh, ScriptType::P2sh, ScriptType::P2tr];
        let script = forms[stream.weighted(&[55, 18, 17, 10])];
        let address = match stream.weighted(&[74, 18, 8]) {
            0 => AddressHabit::Fresh,
            1 => AddressHabit::Reused,
            _ => AddressHabit::OtherFormForChange(forms[(stream.index(3) + 1) % 4]),
        };
        let coins = if stream.chance(0.4) { CoinHabit::OldestFirst } else { CoinHabit::LargestFirst };
        Self { script, address, coins, change_last: stream.chance(0.25) }
    }

    /// Habits of a service: one form, new addresses for change, oldest coins first.
    pub(crate) const fn service(script: ScriptType) -> Self {
        Self { script, address: AddressHabit::Fresh, coins: CoinHabit::OldestFirst, change_last: false }
    }
}

/// Who a wallet belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    /// Name of the wallet.
    pub(crate) wallet: String,
    /// Who owns it; one owner may have several wallets.
    pub(crate) owner: String,
    /// What its addresses are for.
    pub(crate) role: Role,
}

impl Holder {
    /// Somebody with one wallet.
    pub(crate) fn single(owner: &str, role: Role) -> Self {
        Self { wallet: owner.to_owned(), owner: owner.to_owned(), role }
    }
}

/// One wallet.
pub(crate) struct Wallet {
    /// Who owns it.
    pub(crate) holder: Holder,
    /// How it spends.
    pub(crate) habits: Habits,
    /// Its own randomness.
    pub(crate) stream: Stream,
    /// Its coins, as (first block in which they may be spent, number of arrival, satoshis, output).
    pub(crate) coins: BTreeSet<(u64, u64, u64, OutPoint)>,
    /// Addresses made so far.
    pub(crate) addresses: u32,
}

impl Wallet {
    /// An empty wallet.
    pub(crate) fn new(seed: u64, holder: Holder, habits: Habits) -> Self {
        let stream = Stream::new(seed, &format!("wallet/{}", holder.wallet));
        Self { holder, habits, stream, coins: BTreeSet::new(), addresses: 0 }
    }

    /// An address to be paid at.
    pub(crate) fn receiving(&mut self, seed: u64) -> Address {
        match self.habits.address {
            AddressHabit::Reused => self.first(seed),
            AddressHabit::Fresh | AddressHabit::OneForChange | AddressHabit::OtherFormForChange(_) => {
                self.fresh(seed, self.habits.script)
            }
        }
    }

    /// An address for change.
    pub(crate) fn change(&mut self, seed: u64) -> Address {
        match self.habits.address {
            AddressHabit::OtherFormForChange(script) => self.fresh(seed, script),
            AddressHabit::OneForChange => self.first(seed),
            AddressHabit::Fresh | AddressHabit::Reused => self.receiving(seed),
        }
    }

    fn first(&self, seed: u64) -> Address {
        script_address(seed, self.habits.script, &format!("{}/0", self.holder.wallet))
    }

    fn fresh(&mut self, seed: u64, script: ScriptType) -> Address {
        self.addresses += 1;
        script_address(seed, script, &format!("{}/{}", self.holder.wallet, self.addresses))
    }
}
