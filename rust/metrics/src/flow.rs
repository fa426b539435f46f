//! Sums of movements as seen from one account: by direction, by counterparty, by asset.
//!
//! Amounts are added as integers of one asset; US dollars and other values as integers too ([`Pico`]), so no sum depends
//! on the order in which movements arrive. Distinct transactions are counted by adjacency: the movements of one
//! transaction must arrive next to each other, as postings do.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem::size_of;

use headwater_ledger::edges::{AssetEdge, EdgeFlows, EdgeSide};
use headwater_ledger::memory::table_bytes;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Amount, Balance, Pico, Timestamp, Usd};

/// The direction of a movement, as seen from the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// Towards the account.
    Received,
    /// Away from it.
    Sent,
}

/// One movement to be summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Movement {
    /// The transaction it belongs to.
    pub transaction: TransactionRef,
    /// Time of its block.
    pub time: Timestamp,
    /// The direction.
    pub way: Way,
    /// The amount, in the smallest unit of its asset.
    pub amount: Amount,
    /// Its value in US dollars; `None` when it has no price.
    pub usd: Option<Usd>,
    /// Its value in the unit of the answer; `None` when it cannot be converted.
    pub converted: Option<Pico>,
}

/// Counts and values of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Side {
    /// Distinct transactions.
    pub transactions: u64,
    /// Movements.
    pub transfers: u64,
    /// Movements without a price.
    pub unpriced: u64,
    /// US dollars of the priced movements.
    pub usd: Usd,
    /// The unit of the answer, over the movements that could be converted.
    pub converted: Pico,
    /// Movements that could not be converted.
    pub unconverted: u64,
    latest: Option<TransactionRef>,
}

impl Side {
    fn add(&mut self, movement: &Movement) {
        self.transactions += u64::from(self.latest.replace(movement.transaction) != Some(movement.transaction));
        self.transfers += 1;
        match movement.usd {
            Some(usd) => self.usd += usd,
            None => self.unpriced += 1,
        }
        match movement.converted {
            Some(converted) => self.converted += converted,
            None => self.unconverted += 1,
        }
    }

    /// Adds movements of other transactions.
    fn join(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.transfers += other.transfers;
        self.unpriced += other.unpriced;
        self.usd += other.usd;
        self.converted += other.converted;
        self.unconverted += other.unconverted;
        self.latest = other.latest.or(self.latest);
    }

    /// US dollars; `None` when there were movements and none had a price.
    #[must_use]
    pub fn known_usd(&self) -> Option<Usd> {
        (self.transfers == 0 || self.unpriced < self.transfers).then_some(self.usd)
    }
}

/// Counts and values of movements of any assets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The amounts that came in.
    pub received: Side,
    /// The amounts that went out.
    pub sent: Side,
    /// Distinct transactions either way.
    pub transactions: u64,
    /// Time of the first movement.
    pub first: Option<Timestamp>,
    /// Time of the last movement.
    pub last: Option<Timestamp>,
    latest: Option<TransactionRef>,
}

impl Tally {
    /// Adds a movement.
    pub fn add(&mut self, movement: &Movement) {
        self.note(movement.transaction, movement.time);
        match movement.way {
            Way::Received => self.received.add(movement),
            Way::Sent => self.sent.add(movement),
        }
    }

    /// Counts a transaction that belongs to neither direction, such as a transfer of an account to itself.
    pub fn note(&mut self, transaction: TransactionRef, time: Timestamp) {
        self.transactions += u64::from(self.latest.replace(transaction) != Some(transaction));
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
    }

    /// Adds movements of other transactions: what another part of a scan found.
    pub fn join(&mut self, other: &Self) {
        self.received.join(&other.received);
        self.sent.join(&other.sent);
        self.transactions += other.transactions;
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = self.last.max(other.last);
        self.latest = other.latest.or(self.latest);
    }

    /// Movements either way.
    #[must_use]
    pub const fn transfers(&self) -> u64 {
        self.received.transfers + self.sent.transfers
    }

    /// Movements without a price either way.
    #[must_use]
    pub const fn unpriced(&self) -> u64 {
        self.received.unpriced + self.sent.unpriced
    }

    /// US dollars received less sent; `None` when there were movements and none had a price.
    #[must_use]
    pub fn known_net_usd(&self) -> Option<Usd> {
        (self.transfers() == 0 || self.unpriced() < self.transfers()).then_some(self.received.usd - self.sent.usd)
    }
}

/// The movements of one asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AssetTally {
    /// Counts and values.
    pub tally: Tally,
    /// Exact sums, as far as they fit.
    balance: Balance,
    /// True where what came in, or what went out, passed 256 bits: only tokens that forge their amounts come there.
    passed: [bool; 2],
}

impl AssetTally {
    /// Adds a movement.
    pub fn add(&mut self, movement: &Movement) {
        self.tally.add(movement);
        match movement.way {
            Way::Received => self.passed[0] |= self.balance.receive(movement.amount).is_err(),
            Way::Sent => self.passed[1] |= self.balance.send(movement.amount).is_err(),
        }
    }

    /// Adds movements of other transactions.
    pub fn join(&mut self, other: &Self) {
        self.tally.join(&other.tally);
        self.passed[0] |= other.passed[0] || self.balance.receive(other.balance.received()).is_err();
        self.passed[1] |= other.passed[1] || self.balance.send(other.balance.sent()).is_err();
    }

    /// All that came in; `None` past 256 bits.
    #[must_use]
    pub fn received(&self) -> Option<Amount> {
        (!self.passed[0]).then(|| self.balance.received())
    }

    /// All that went out; `None` past 256 bits.
    #[must_use]
    pub fn sent(&self) -> Option<Amount> {
        (!self.passed[1]).then(|| self.balance.sent())
    }

    /// Returns what moved either way; `None` past 256 bits.
    #[must_use]
    pub fn total(&self) -> Option<Amount> {
        self.received()?.checked_add(self.sent()?)
    }

    /// Both sums; `None` where one of them passed 256 bits.
    #[must_use]
    pub fn balance(&self) -> Option<Balance> {
        (self.passed == [false; 2]).then_some(self.balance)
    }
}

/// Movements of any assets, together and by asset. `asset` is whatever number the caller gives an asset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// All of them.
    pub all: Tally,
    /// By asset, in the order they were first seen.
    pub by_asset: Vec<(usize, AssetTally)>,
}

impl Group {
    /// Bytes that each asset of a group takes, with what a list takes by itself.
    pub const ASSET_BYTES: usize = size_of::<(usize, AssetTally)>() + 16;

    /// Adds a movement.
    pub fn add(&mut self, asset: usize, movement: &Movement) {
        self.all.add(movement);
        self.asset(asset).add(movement);
    }

    /// Adds movements of other transactions, whose assets go by the numbers that `asset` gives them.
    pub fn join(&mut self, other: &Self, asset: impl Fn(usize) -> usize) {
        self.all.join(&other.all);
        other.by_asset.iter().for_each(|(number, tally)| self.asset(asset(*number)).join(tally));
    }

    /// The sums of an asset, made when it is new.
    pub fn asset(&mut self, asset: usize) -> &mut AssetTally {
        // A counterparty deals in few assets: a scan beats a map.
        let place = self.by_asset.iter().position(|(held, _)| *held == asset).unwrap_or_else(|| {
            let (held, room) = (self.by_asset.len(), self.by_asset.capacity());
            if held == room {
                // Most deal in one asset: lists begin with room for four.
                self.by_asset.reserve_exact(room.max(1));
            }
            self.by_asset.push((asset, AssetTally::default()));
            held
        });
        &mut self.by_asset[place].1
    }
}

/// Movements by counterparty. Time O(movements), memory O(counterparties).
#[derive(Debug, Clone)]
pub struct Counterparties<K> {
    places: HashMap<K, usize>,
    groups: Vec<(K, Group)>,
    /// Assets that there is room for in all groups.
    assets: usize,
}

impl<K> Default for Counterparties<K> {
    fn default() -> Self {
        Self { places: HashMap::new(), groups: Vec::new(), assets: 0 }
    }
}

impl<K: Copy + Eq + Hash> Counterparties<K> {
    /// Adds a movement from or to a counterparty.
    pub fn add(&mut self, counterparty: K, asset: usize, movement: &Movement) {
        self.change(counterparty, |group| group.add(asset, movement));
    }

    /// Adds what another part of a scan found of a counterparty, with assets by the numbers that `asset` gives them.
    pub fn join(&mut self, counterparty: K, group: &Group, asset: impl Fn(usize) -> usize) {
        self.change(counterparty, |all| all.join(group, asset));
    }

    /// Bytes that it takes with one more counterparty of so many assets.
    #[must_use]
    pub fn bytes_with(&self, assets: usize) -> usize {
        let groups = self.groups.len() + 1;
        // Lists of assets grow to twice their length.
        let assets = self.assets + 2 * assets;
        table_bytes::<(K, usize)>(groups) + groups * size_of::<(K, Group)>() + assets * Group::ASSET_BYTES
    }

    fn change(&mut self, counterparty: K, change: impl FnOnce(&mut Group)) {
        let group = self.group(counterparty);
        let before = group.by_asset.capacity();
        change(group);
        let grown = group.by_asset.capacity() - before;
        self.assets += grown;
    }

    fn group(&mut self, counterparty: K) -> &mut Group {
        let place = *self.places.entry(counterparty).or_insert_with(|| {
            self.groups.push((counterparty, Group::default()));
            self.groups.len() - 1
        });
        &mut self.groups[place].1
    }

    /// The counterparties in the order they were first seen.
    #[must_use]
    pub fn into_groups(self) -> Vec<(K, Group)> {
        self.groups
    }
}

impl From<&EdgeSide> for Side {
    fn from(side: &EdgeSide) -> Self {
        let EdgeSide { transfers, transactions, unpriced, usd } = *side;
        Self { transactions, transfers, unpriced, usd, ..Self::default() }
    }
}

/// Edges are complete: nothing is added to their sums, and nothing in them is converted.
impl From<&EdgeFlows> for Tally {
    fn from(flows: &EdgeFlows) -> Self {
        let is_some = flows.transfers() > 0;
        Self {
            received: Side::from(&flows.received),
            sent: Side::from(&flows.sent),
            transactions: flows.transactions,
            first: is_some.then_some(flows.first),
            last: is_some.then_some(flows.last),
            ..Self::default()
        }
    }
}

impl From<&AssetEdge> for AssetTally {
    fn from(edge: &AssetEdge) -> Self {
        let AssetEdge { received, sent, .. } = edge;
        let balance = Balance::of(received.unwrap_or_default(), sent.unwrap_or_default());
        Self { tally: Tally::from(&edge.flows), balance, passed: [received.is_none(), sent.is_none()] }
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::facts::{Batch, BlockFacts, TransactionFacts};
    use headwater_ledger::read::Generations;
    use headwater_ledger::store::in_memory;
    use headwater_types::{Chain, TxHash};

    use super::*;

    /// Handles of two transactions; only a ledger can make them.
    fn two_transactions() -> [TransactionRef; 2] {
        let mut batch = Batch::new(Chain::ETHEREUM);
        batch.blocks = vec![BlockFacts { number: 1, hash: None, parent: None, time: Timestamp::new(10) }];
        batch.transactions = [1, 2].map(|byte| TransactionFacts::new(TxHash::new([byte; 32]), 1)).to_vec();
        let ledger = in_memory(vec![batch], vec![], vec![]).unwrap().current().unwrap();
        [1, 2].map(|byte| ledger.find_transaction(Chain::ETHEREUM, &TxHash::new([byte; 32])).unwrap().unwrap())
    }

    fn movement(transaction: TransactionRef, way: Way, amount: u64, usd: Option<f64>) -> Movement {
        let time = Timestamp::new(10);
        let usd = usd.and_then(Usd::from_f64);
        Movement { transaction, time, way, amount: Amount::from(amount), usd, converted: usd }
    }

    #[test]
    fn transactions_are_counted_once_and_movements_each() {
        let [one, two] = two_transactions();
        let mut parties = Counterparties::default();
        for (who, asset, movement) in [
            ("bob", 0, movement(one, Way::Sent, 5, Some(5.0))),
            ("bob", 1, movement(one, Way::Sent, 7, None)),
            ("bob", 0, movement(one, Way::Received, 1, Some(1.0))),
            ("carol", 0, movement(one, Way::Sent, 2, None)),
            ("bob", 0, movement(two, Way::Received, 9, Some(9.0))),
        ] {
            parties.add(who, asset, &movement);
        }
        let groups = parties.into_groups();
        let (_, bob) = &groups[0];
        assert_eq!((bob.all.transactions, bob.all.transfers(), bob.all.unpriced()), (2, 4, 1));
        assert_eq!((bob.all.sent.transactions, bob.all.received.transactions), (1, 2));
        let (asset, ether) = &bob.by_asset[0];
        let sums = [ether.received(), ether.sent(), ether.total()];
        assert_eq!((*asset, sums), (0, [10, 5, 15].map(|sum| Some(Amount::from(sum)))));
        assert_eq!((groups[1].0, groups[1].1.all.transactions), ("carol", 1));
    }

    #[test]
    fn parts_of_a_scan_add_up_to_the_whole() {
        let [one, two] = two_transactions();
        let first = [(0, movement(one, Way::Sent, 5, Some(5.0))), (1, movement(one, Way::Received, 7, None))];
        let second = [(1, movement(two, Way::Received, 1, Some(0.1))), (2, movement(two, Way::Sent, 2, Some(0.2)))];
        let group = |movements: &[(usize, Movement)]| {
            let mut group = Group::default();
            for (asset, movement) in movements {
                group.add(*asset, movement);
            }
            group
        };
        let mut joined = group(&first);
        // The second part numbers its assets the other way round.
        let renumbered = second.map(|(asset, movement)| (2 - asset, movement));
        joined.join(&group(&renumbered), |asset| 2 - asset);
        assert_eq!(joined, group(&[first, second].concat()));
    }

    #[test]
    fn usd_is_unknown_without_prices_and_zero_without_movements() {
        let [one, _] = two_transactions();
        let mut tally = Tally::default();
        assert_eq!((tally.received.known_usd(), tally.known_net_usd()), (Some(Usd::ZERO), Some(Usd::ZERO)));
        tally.add(&movement(one, Way::Received, 5, None));
        assert_eq!((tally.received.known_usd(), tally.known_net_usd()), (None, None));
        tally.add(&movement(one, Way::Received, 5, Some(2.0)));
        assert_eq!(tally.received.known_usd(), Usd::from_f64(2.0));
    }

    #[test]
    fn a_sum_past_256_bits_is_unknown_not_a_wrong_number() {
        let [one, two] = two_transactions();
        let all = Movement { amount: Amount::MAX, ..movement(one, Way::Received, 0, None) };
        let mut sums = AssetTally::default();
        sums.add(&all);
        assert_eq!((sums.received(), sums.total()), (Some(Amount::MAX), Some(Amount::MAX)));
        sums.add(&movement(one, Way::Sent, 1, None));
        // Each fits, both together do not.
        assert_eq!((sums.received(), sums.sent(), sums.total()), (Some(Amount::MAX), Some(Amount::from(1)), None));
        assert_eq!(sums.balance(), Some(Balance::of(Amount::MAX, Amount::from(1))));
        sums.add(&movement(two, Way::Received, 1, None));
        assert_eq!((sums.received(), sums.sent(), sums.balance()), (None, Some(Amount::from(1)), None));
        assert_eq!(sums.tally.received.transfers, 2);

        // Parts that fit one by one, and a part that did not fit.
        let mut other = AssetTally::default();
        other.add(&movement(two, Way::Received, 1, None));
        let mut joined = AssetTally::default();
        joined.add(&all);
        joined.join(&other);
        other.join(&sums);
        assert_eq!([joined.received(), other.received()], [None, None]);
    }
}
