//! The movements of an address as rules read them: transfers, holding times, dust.

use std::cell::OnceCell;
use std::collections::{BTreeMap, VecDeque};

use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Asset, Timestamp, Usd};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::{MAX_LISTED, ratio};

/// The roles of a counterparty, as far as behaviours ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles(u8);

impl Roles {
    /// A mixer.
    pub const MIXER: Self = Self(1);
    /// A bridge.
    pub const BRIDGE: Self = Self(2);
    /// An exchange.
    pub const EXCHANGE: Self = Self(4);
    /// An address at which an exchange takes in deposits of one customer.
    pub const DEPOSIT: Self = Self(8);

    /// These and others.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns true if these contain all of the others.
    #[must_use]
    pub const fn holds(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// Somebody the address dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counterparty {
    /// The address.
    pub address: Address,
    /// Its roles.
    pub roles: Roles,
    /// Stands for its entity: equal numbers are one entity; 0 where none is known.
    pub entity: u64,
}

/// The sums between the address and a counterparty, over all valued movements, those left out of [`History::all`]
/// included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CounterpartyFlow {
    /// US dollars received from it.
    pub in_usd: Usd,
    /// US dollars sent to it.
    pub out_usd: Usd,
    /// Distinct transactions.
    pub transactions: u64,
    /// Time of the last movement.
    pub last: i64,
    latest: Option<TransactionRef>,
}

impl CounterpartyFlow {
    fn add(&mut self, transfer: &Transfer) {
        match transfer.way {
            Way::In => self.in_usd += transfer.usd,
            Way::Out => self.out_usd += transfer.usd,
        }
        self.transactions += u64::from(self.latest.replace(transfer.transaction) != Some(transfer.transaction));
        self.last = transfer.time;
    }

    /// US dollars either way.
    #[must_use]
    pub fn usd(&self) -> Usd {
        self.in_usd + self.out_usd
    }
}

/// An asset of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssetNote {
    /// Which one it is.
    pub asset: Asset,
    /// Its kind.
    pub kind: AssetKind,
    /// Decimals; `None` when nobody states them.
    pub decimals: Option<u8>,
}

/// The kind of an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssetKind {
    /// The coin of the chain.
    Native,
    /// A main stablecoin.
    Stablecoin,
    /// Another token that a registry vouches for.
    Verified,
    /// A token that nobody vouches for.
    Unverified,
    /// A token that nobody vouches for, under the symbol of one that somebody does.
    Counterfeit,
}

/// The movements of one address, the newest ones only where there are very many.
#[derive(Debug, Default)]
pub struct History {
    /// All movements in order of time.
    pub all: Vec<Transfer>,
    /// Those of the native coin and of the main stablecoins that are worth something.
    pub valued: Vec<Transfer>,
    /// The valued ones that came in.
    pub ins: Vec<Transfer>,
    /// The valued ones that went out.
    pub outs: Vec<Transfer>,
    /// US dollars that came in.
    pub in_usd: Usd,
    /// US dollars that went out.
    pub out_usd: Usd,
    /// Those it dealt with.
    pub counterparties: Vec<Counterparty>,
    /// The sums between the address and each of them.
    pub flows: Vec<CounterpartyFlow>,
    /// The assets that moved; may hold others.
    pub assets: Vec<AssetNote>,
    /// The end of the data.
    pub head: i64,
    /// Movements of the native coin and of main stablecoins for which no price is known.
    pub unpriced: u64,
    /// True if older movements were left out.
    pub is_truncated: bool,
    /// When each asset left last, by the numbers of assets.
    last_outs: Vec<Option<i64>>,
    holds: OnceCell<Vec<Hold>>,
}

impl History {
    /// An empty one, in data that ends at a time.
    #[must_use]
    pub fn until(head: i64) -> Self {
        Self { head, ..Self::default() }
    }

    /// Forgets the last address, keeping the memory and the assets.
    pub fn clear(&mut self) {
        self.all.clear();
        self.counterparties.clear();
        self.flows.clear();
        self.clear_values();
        (self.unpriced, self.is_truncated) = (0, false);
    }

    fn clear_values(&mut self) {
        self.valued.clear();
        self.ins.clear();
        self.outs.clear();
        self.last_outs.clear();
        (self.in_usd, self.out_usd) = (Usd::ZERO, Usd::ZERO);
        self.holds.take();
    }

    /// Sums what moved between the address and each counterparty.
    pub fn sum_flows(&mut self) {
        self.flows.clear();
        self.flows.resize(self.counterparties.len(), CounterpartyFlow::default());
        for transfer in self.all.iter().filter(|transfer| transfer.usd > Usd::ZERO) {
            if let Some(flow) = self.flows.get_mut(transfer.other as usize) {
                flow.add(transfer);
            }
        }
    }

    /// Divides what moved by its worth and direction, once [`History::all`] is complete and in order.
    pub fn divide(&mut self) {
        self.clear_values();
        self.last_outs.resize(self.assets.len(), None);
        for transfer in self.all.iter().filter(|transfer| transfer.usd > Usd::ZERO) {
            self.valued.push(*transfer);
            match transfer.way {
                Way::In => {
                    self.in_usd += transfer.usd;
                    self.ins.push(*transfer);
                }
                Way::Out => {
                    self.out_usd += transfer.usd;
                    self.last_outs[transfer.asset as usize] = Some(transfer.time);
                    self.outs.push(*transfer);
                }
            }
        }
    }

    /// The first and the last movement.
    #[must_use]
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        Some((Timestamp::new(self.all.first()?.time), Timestamp::new(self.all.last()?.time)))
    }

    /// When an asset left last; `None` where it never did.
    pub(super) fn last_out(&self, asset: u32) -> Option<i64> {
        self.last_outs.get(asset as usize).copied().flatten()
    }

    /// Returns inflows matched with later outflows, first in first out by asset.
    pub(super) fn holds(&self) -> &[Hold] {
        self.holds.get_or_init(|| holds(&self.valued))
    }

    /// Returns whose money went on to some counterparties, and how much of each: first in, first out by asset, at what it was
    /// worth when it came. Mints and rewards are nobody's.
    pub(crate) fn forwarded_from(&self, is_target: impl Fn(u32) -> bool) -> BTreeMap<u32, Usd> {
        let mut senders: BTreeMap<u32, Usd> = BTreeMap::new();
        for hold in self.holds().iter().filter(|hold| is_target(self.valued[hold.left].other)) {
            let sender = self.valued[hold.came].other;
            if sender != NOBODY && !is_target(sender) {
                *senders.entry(sender).or_default() += hold.usd;
            }
        }
        senders
    }

    /// The asset of a movement.
    pub(super) fn asset(&self, transfer: &Transfer) -> Asset {
        self.assets[transfer.asset as usize].asset
    }

    /// Returns the kind of the asset of a movement.
    pub(super) fn kind(&self, transfer: &Transfer) -> AssetKind {
        self.assets[transfer.asset as usize].kind
    }

    /// The counterparty of a movement; `None` for nobody.
    pub(super) fn other(&self, transfer: &Transfer) -> Option<&Counterparty> {
        self.counterparties.get(transfer.other as usize)
    }

    /// Returns the roles of a counterparty.
    pub(super) fn roles(&self, other: u32) -> Roles {
        self.counterparties.get(other as usize).map_or_else(Roles::default, |other| other.roles)
    }

    /// The addresses of counterparties, without repetition and nobody, in order of address, at most ten.
    pub(super) fn addresses(&self, others: impl IntoIterator<Item = u32>) -> Vec<Address> {
        let known = others.into_iter().filter_map(|other| self.counterparties.get(other as usize));
        let mut addresses: Vec<_> = known.map(|other| other.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses.truncate(MAX_LISTED);
        addresses
    }

    /// A movement in whole units; `None` where decimals are unknown.
    pub(super) fn units(&self, transfer: &Transfer) -> Option<f64> {
        let decimals = self.assets[transfer.asset as usize].decimals?;
        Some(headwater_types::Amount::from_u128(transfer.raw).to_f64(decimals))
    }
}

/// The number of a counterparty that is nobody: of mints, burns and rewards.
pub const NOBODY: u32 = u32::MAX;

/// Which way a movement went, as seen from the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// Towards it.
    In,
    /// Away from it.
    Out,
}

/// One movement of the address. Failed ones and those to itself are left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Time of the block, epoch seconds.
    pub time: i64,
    /// The transaction.
    pub transaction: TransactionRef,
    /// In the smallest unit of the asset; at most `u128::MAX`.
    pub raw: u128,
    /// US dollars at its time; zero where it is not valued.
    pub usd: Usd,
    /// The counterparty by its number in [`super::History::counterparties`], or [`NOBODY`].
    pub other: u32,
    /// The asset by its number in [`super::History::assets`].
    pub asset: u32,
    /// Which way it went.
    pub way: Way,
}

/// A part of a movement that came in, and the movement it left with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hold {
    /// Place among the valued movements of the one that came in.
    pub came: usize,
    /// Place among the valued movements of the one it left with.
    pub left: usize,
    /// Seconds between the two.
    pub secs: i64,
    /// Its worth when it came.
    pub usd: Usd,
}

/// Matches first in, first out, by asset. What left beyond what came is matched with nothing. O(n).
pub(super) fn holds(valued: &[Transfer]) -> Vec<Hold> {
    let mut open: FxHashMap<u32, VecDeque<(usize, u128)>> = FxHashMap::default();
    let mut holds = Vec::new();
    for (place, transfer) in valued.iter().enumerate() {
        let lots = open.entry(transfer.asset).or_default();
        if transfer.way == Way::In {
            lots.push_back((place, transfer.raw));
            continue;
        }
        let mut rest = transfer.raw;
        while let Some((came, left)) = lots.front_mut()
            && rest > 0
        {
            let taken = rest.min(*left);
            (rest, *left) = (rest - taken, *left - taken);
            let lot = &valued[*came];
            let hold = Hold { came: *came, left: place, secs: transfer.time - lot.time, usd: share(lot, taken) };
            holds.push(hold);
            if *left == 0 {
                lots.pop_front();
            }
        }
    }
    holds
}

/// The worth of a part of a movement.
#[expect(clippy::cast_precision_loss, reason = "values are doubles")]
fn share(of: &Transfer, raw: u128) -> Usd {
    if raw == of.raw {
        return of.usd;
    }
    Usd::from_f64(of.usd.to_f64() * (raw as f64 / of.raw as f64)).unwrap_or(of.usd)
}

/// Money that only came, so little that it may have been sent to compromise the address. In August 2022 somebody sent
/// small amounts from a sanctioned mixer to well-known people.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DustGuard {
    /// Less than this is dust.
    pub most_usd: f64,
    /// Less than this is dust where it is a small share of the inflow and was never spent.
    pub most_unspent_usd: f64,
    /// The largest share of all inflow that is small.
    pub most_share: f64,
}

impl DustGuard {
    /// Returns true if movements that only came, worth so much together, are dust. Spent means: any amount of the same asset left
    /// later.
    pub fn is_dust(&self, usd: Usd, history: &History, came: impl IntoIterator<Item = impl AsRef<Transfer>>) -> bool {
        let worth = usd.to_f64();
        if worth < self.most_usd {
            return true;
        }
        // What became of movements that were left out is not known.
        let is_spent = |came: &Transfer| history.last_out(came.asset).is_some_and(|left| left >= came.time);
        !history.is_truncated
            && worth < self.most_unspent_usd
            && ratio(usd, history.in_usd) < self.most_share
            && !came.into_iter().any(|came| is_spent(came.as_ref()))
    }
}

impl AsRef<Self> for Transfer {
    fn as_ref(&self) -> &Self {
        self
    }
}
