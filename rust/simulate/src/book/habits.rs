//! The habits of wallet software, by which its payments can be recognised: the fingerprints of BIP 69 ordering,
//! lock times against fee sniping, replacement signals, forms of scripts, the place of change and the choice of coins.

use headwater_ledger::read::ScriptType;

use super::lock::Lock;
use crate::random::Stream;

/// The habit of receiving change and payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressHabit {
    /// A new address every time, of the wallet's own form.
    Fresh,
    /// One address for everything: change goes back to where it came from.
    Reused,
    /// New addresses for payments, one address for all change: the hot wallet of a service.
    OneForChange,
    /// New addresses; change uses another form than receiving (a wallet half way to a new form).
    OtherFormForChange(Lock),
}

/// The habit of choosing coins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CoinHabit {
    /// Oldest first: ends in many inputs.
    OldestFirst,
    /// Largest first: mostly one input.
    LargestFirst,
    /// Coins that need no change where a search finds some (Murch's branch and bound), else largest first.
    Changeless,
}

/// The position of change among the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangePlace {
    /// Before the payments.
    First,
    /// Behind the payments.
    Last,
    /// Anywhere; inputs are shuffled too.
    Anywhere,
    /// The position by BIP 69: inputs by output spent, outputs by amount and script.
    Sorted,
}

/// The habit of setting the lock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockTimeHabit {
    /// Nothing.
    Zero,
    /// The height of the newest block, one time in ten an older one, so that no miner gains by mining it anew.
    NewestBlock,
}

/// The habit of finding a fee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeeHabit {
    /// This many parts of a hundred of the going rate.
    Market(u64),
    /// The same in whole satoshis per virtual byte.
    WholeRate(u64),
    /// The same number of satoshis each time, unless nodes would not relay that.
    Flat(u64),
}

/// The habit of signing: whether signatures are made again until their first number is short, which saves a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signing {
    /// Always 71 bytes.
    ShortOnly,
    /// 71 or 72 bytes, as it comes.
    AsItComes,
}

/// The habits by which a wallet spends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Habits {
    /// The kind of software, as the truth names it.
    pub(crate) software: &'static str,
    /// The lock of its own outputs.
    pub(crate) lock: Lock,
    /// The address of change.
    pub(crate) address: AddressHabit,
    /// The coins that go.
    pub(crate) coins: CoinHabit,
    /// The position of change.
    pub(crate) place: ChangePlace,
    /// Version of its transactions.
    pub(crate) version: u32,
    /// Their lock time.
    pub(crate) lock_time: LockTimeHabit,
    /// Sequence number of their inputs.
    pub(crate) sequence: u32,
    /// Their fees.
    pub(crate) fee: FeeHabit,
    /// Their signatures.
    pub(crate) signing: Signing,
}

/// No replacement, no lock time.
pub(crate) const FINAL: u32 = 0xffff_ffff;
/// A lock time, but no replacement.
pub(crate) const LOCKED: u32 = 0xffff_fffe;
/// Replacement (BIP 125).
pub(crate) const REPLACEABLE: u32 = 0xffff_fffd;

/// A full node's wallet.
const NODE: Habits = Habits {
    software: "node",
    lock: Lock::P2wpkh,
    address: AddressHabit::Fresh,
    coins: CoinHabit::Changeless,
    place: ChangePlace::Anywhere,
    version: 2,
    lock_time: LockTimeHabit::NewestBlock,
    sequence: REPLACEABLE,
    fee: FeeHabit::Market(100),
    signing: Signing::ShortOnly,
};
/// A light desktop wallet.
const DESKTOP: Habits = Habits {
    software: "desktop",
    coins: CoinHabit::LargestFirst,
    place: ChangePlace::Sorted,
    fee: FeeHabit::WholeRate(110),
    ..NODE
};
/// A phone.
const MOBILE: Habits = Habits {
    software: "mobile",
    lock: Lock::P2shKey,
    address: AddressHabit::Fresh,
    coins: CoinHabit::OldestFirst,
    place: ChangePlace::Last,
    version: 1,
    lock_time: LockTimeHabit::Zero,
    sequence: FINAL,
    fee: FeeHabit::WholeRate(130),
    signing: Signing::AsItComes,
};
/// A web site that keeps the keys in the browser.
const WEB: Habits = Habits {
    software: "web",
    lock: Lock::P2pkh,
    address: AddressHabit::Reused,
    coins: CoinHabit::LargestFirst,
    fee: FeeHabit::Flat(10_000),
    ..MOBILE
};
/// A hardware wallet with its maker's program.
const HARDWARE: Habits = Habits {
    software: "hardware",
    lock: Lock::P2wpkh,
    coins: CoinHabit::LargestFirst,
    place: ChangePlace::Anywhere,
    version: 2,
    sequence: REPLACEABLE,
    fee: FeeHabit::Market(90),
    signing: Signing::ShortOnly,
    ..MOBILE
};
/// Several keys of several holders.
const VAULT: Habits = Habits {
    software: "vault",
    lock: Lock::P2wshMultisig,
    coins: CoinHabit::OldestFirst,
    place: ChangePlace::Sorted,
    version: 2,
    lock_time: LockTimeHabit::NewestBlock,
    sequence: LOCKED,
    fee: FeeHabit::Market(80),
    ..MOBILE
};

/// The habits of people, and how many of a hundred have each.
const SPREAD: [(Habits, u64); 13] = [
    (NODE, 8),
    (Habits { lock: Lock::P2tr, ..NODE }, 5),
    (DESKTOP, 15),
    (Habits { lock: Lock::P2pkh, ..DESKTOP }, 4),
    (MOBILE, 10),
    (Habits { lock: Lock::P2wpkh, ..MOBILE }, 14),
    (Habits { address: AddressHabit::OtherFormForChange(Lock::P2wpkh), ..MOBILE }, 6),
    (WEB, 12),
    (Habits { place: ChangePlace::First, fee: FeeHabit::Market(100), ..WEB }, 4),
    (HARDWARE, 12),
    (Habits { lock: Lock::P2tr, ..HARDWARE }, 5),
    (VAULT, 3),
    (Habits { lock: Lock::P2shMultisig, version: 1, ..VAULT }, 2),
];

impl Habits {
    /// Habits as they are spread among people; some are in more of a hurry than others.
    pub(crate) fn draw(stream: &mut Stream) -> Self {
        let mut habits = SPREAD[stream.weighted(&SPREAD.map(|(_, weight)| weight))].0;
        let haste = *stream.pick(&[60, 80, 100, 100, 125, 170]);
        habits.fee = match habits.fee {
            FeeHabit::Market(percent) => FeeHabit::Market(percent * haste / 100),
            FeeHabit::WholeRate(percent) => FeeHabit::WholeRate(percent * haste / 100),
            FeeHabit::Flat(satoshis) => FeeHabit::Flat(satoshis),
        };
        habits
    }

    /// Habits of a service: one form, new addresses for change, oldest coins first.
    pub(crate) const fn service(script: ScriptType) -> Self {
        Self {
            software: "service",
            lock: Lock::of(script),
            address: AddressHabit::Fresh,
            coins: CoinHabit::OldestFirst,
            place: ChangePlace::Anywhere,
            version: 2,
            lock_time: LockTimeHabit::Zero,
            sequence: REPLACEABLE,
            fee: FeeHabit::Market(105),
            signing: Signing::ShortOnly,
        }
    }

    /// Habits of software for mixing: never a key twice, and coins that can be found by amount.
    pub(crate) const fn mixing_wallet() -> Self {
        Self { software: "mixing", coins: CoinHabit::LargestFirst, ..DESKTOP }
    }

    /// The same with one key for everything.
    pub(crate) const fn reusing(self) -> Self {
        Self { address: AddressHabit::Reused, ..self }
    }

    /// Bytes that the signatures of one input take at most.
    pub(crate) const fn max_signature_bytes(&self, lock: Lock) -> u64 {
        lock.signatures() * if matches!(self.signing, Signing::ShortOnly) { 71 } else { 72 }
    }

    /// The rate to pay, in satoshis per 1000 virtual bytes, when the going one is this.
    pub(crate) fn rate(&self, going: u64) -> u64 {
        match self.fee {
            FeeHabit::Market(percent) => (going * percent / 100).max(1_000),
            FeeHabit::WholeRate(percent) => (going * percent / 100).div_ceil(1_000) * 1_000,
            // What a flat fee pays depends on the size; this is what must not be undercut.
            FeeHabit::Flat(_) => 1_000,
        }
    }

    /// Makes a fee of the one that a rate asks for.
    pub(crate) fn fee(&self, by_rate: u64) -> u64 {
        match self.fee {
            FeeHabit::Market(_) | FeeHabit::WholeRate(_) => by_rate,
            FeeHabit::Flat(satoshis) => by_rate.max(satoshis),
        }
    }
}
