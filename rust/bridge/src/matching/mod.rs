//! Legs that belong together.
//!
//! The match of a leg is a function of the legs that share a key with it, and of nothing else: not of the order in which
//! they came, nor of legs that were taken back. [`LegTable`] therefore stores legs by key and joins a group when asked.

mod group;
mod transfer;

use headwater_types::TxHash;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chain::BridgeChain;
use crate::half::{Half, LinkKey};

pub use group::join;
pub use transfer::{Status, Transfer};

/// The legs of all chains, keyed by (family, link key).
///
/// A leg goes in once, however often it is inserted. [`LegTable::roll_back`] undoes blocks. Both cost time in the number
/// of legs concerned; a look-up costs time in the size of its group, which is a few legs where keys are ids.
///
/// ```
/// use headwater_bridge::{BridgeChain, Half, LegTable, LinkKey, MatchClass, Status, Step};
/// use headwater_types::{Chain, Timestamp, TxHash};
/// let leg = |step, chain: Chain, hash: u8| Half {
///     family: "celer".into(),
///     bridge: "Celer cBridge".into(),
///     event: "Send".into(),
///     step,
///     class: MatchClass::UniqueId,
///     keys: vec![LinkKey::new("0x07")],
///     chain: chain.into(),
///     block: 10,
///     time: Timestamp::new(1_600_000_000),
///     transaction: TxHash::new([hash; 32]),
///     log_index: 3,
///     other_chain: None,
///     other_transaction: None,
///     sender: None,
///     receiver: None,
///     token: None,
///     amount: None,
///     other_token: None,
///     other_amount: None,
/// };
/// let mut table = LegTable::default();
/// table.insert(leg(Step::Received, Chain::BSC, 2));
/// table.insert(leg(Step::Sent, Chain::ETHEREUM, 1));
/// let transfers = table.transfers_of(Chain::ETHEREUM.into(), &TxHash::new([1; 32]));
/// assert_eq!(transfers[0].status(), Status::Completed);
/// assert_eq!(transfers[0].destinations[0].transaction, TxHash::new([2; 32]));
/// table.roll_back(Chain::BSC.into(), 10);
/// assert_eq!(table.transfers()[0].status(), Status::Sent);
/// ```
#[derive(Debug, Default)]
pub struct LegTable {
    slots: Vec<Option<Half>>,
    free: Vec<usize>,
    by_key: FxHashMap<Arc<str>, FxHashMap<LinkKey, Vec<usize>>>,
    by_transaction: FxHashMap<(BridgeChain, TxHash), Vec<usize>>,
    by_block: BTreeMap<(BridgeChain, u64), Vec<usize>>,
}

impl LegTable {
    /// Adds a leg. Returns whether it is new; one with the identity of a known leg replaces it.
    pub fn insert(&mut self, half: Half) -> bool {
        let place = (half.chain, half.transaction);
        let known = self.by_transaction.get(&place).into_iter().flatten().copied();
        let known = known.into_iter().find(|&slot| self.at(slot).is_some_and(|known| known.is_same_leg(&half)));
        if let Some(slot) = known {
            self.remove(slot);
        }
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let of_family = self.by_key.entry(Arc::clone(&half.family)).or_default();
        for key in &half.keys {
            of_family.entry(key.clone()).or_default().push(slot);
        }
        self.by_transaction.entry(place).or_default().push(slot);
        self.by_block.entry((half.chain, half.block)).or_default().push(slot);
        if slot == self.slots.len() {
            self.slots.push(Some(half));
        } else {
            self.slots[slot] = Some(half);
        }
        known.is_none()
    }

    /// Takes back all legs of a chain from a block on. Returns how many.
    pub fn roll_back(&mut self, chain: BridgeChain, from_block: u64) -> usize {
        let blocks = self.by_block.range((chain, from_block)..=(chain, u64::MAX));
        let slots: Vec<usize> = blocks.flat_map(|(_, slots)| slots).copied().collect();
        for &slot in &slots {
            self.remove(slot);
        }
        slots.len()
    }

    /// Returns the number of legs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The transfers that a transaction is a leg of, in order of its logs.
    #[must_use]
    pub fn transfers_of(&self, chain: BridgeChain, transaction: &TxHash) -> Vec<Transfer<'_>> {
        let mut seen = FxHashSet::default();
        let mut transfers = Vec::new();
        for &slot in self.by_transaction.get(&(chain, *transaction)).into_iter().flatten() {
            if !seen.contains(&slot) {
                let group = self.group(slot);
                seen.extend(group.iter().copied());
                transfers.extend(join(&self.legs(&group)));
            }
        }
        let of_transaction = |half: &&Half| half.chain == chain && half.transaction == *transaction;
        transfers.retain(|transfer| transfer.legs().any(|half| of_transaction(&half)));
        transfers.sort_by_key(|transfer| transfer.legs().filter(of_transaction).map(|half| half.log_index).min());
        transfers
    }

    /// Every transfer, in order of its first leg. Time: that of all legs, sorted.
    #[must_use]
    pub fn transfers(&self) -> Vec<Transfer<'_>> {
        let mut seen = vec![false; self.slots.len()];
        let mut transfers = Vec::new();
        for slot in 0..self.slots.len() {
            if self.at(slot).is_some() && !seen[slot] {
                let group = self.group(slot);
                for &member in &group {
                    seen[member] = true;
                }
                transfers.extend(join(&self.legs(&group)));
            }
        }
        transfers.sort_by(|left, right| left.first().order().cmp(&right.first().order()));
        transfers
    }

    fn at(&self, slot: usize) -> Option<&Half> {
        self.slots.get(slot).and_then(Option::as_ref)
    }

    fn legs(&self, slots: &[usize]) -> Vec<&Half> {
        slots.iter().filter_map(|&slot| self.at(slot)).collect()
    }

    /// The legs that can be reached over shared keys.
    fn group(&self, slot: usize) -> Vec<usize> {
        let mut group = vec![slot];
        let mut keys: FxHashSet<&LinkKey> = FxHashSet::default();
        let mut members: FxHashSet<usize> = FxHashSet::from_iter([slot]);
        let mut next = 0;
        while let Some(&member) = group.get(next) {
            next += 1;
            let Some(half) = self.at(member) else { continue };
            let Some(of_family) = self.by_key.get(&half.family) else { continue };
            for key in half.keys.iter().filter(|key| keys.insert(key)) {
                let sharing = of_family.get(key).into_iter().flatten().copied();
                group.extend(sharing.filter(|&other| members.insert(other)));
            }
        }
        group
    }

    fn remove(&mut self, slot: usize) {
        let Some(half) = self.slots.get_mut(slot).and_then(Option::take) else { return };
        if let Some(of_family) = self.by_key.get_mut(&half.family) {
            half.keys.iter().for_each(|key| forget(of_family, key, slot));
        }
        forget(&mut self.by_transaction, &(half.chain, half.transaction), slot);
        let block = (half.chain, half.block);
        if let Some(slots) = self.by_block.get_mut(&block) {
            slots.retain(|&other| other != slot);
            if slots.is_empty() {
                self.by_block.remove(&block);
            }
        }
        self.free.push(slot);
    }
}

impl Extend<Half> for LegTable {
    fn extend<I: IntoIterator<Item = Half>>(&mut self, halves: I) {
        for half in halves {
            self.insert(half);
        }
    }
}

fn forget<K: std::hash::Hash + Eq>(index: &mut FxHashMap<K, Vec<usize>>, key: &K, slot: usize) {
    if let Some(slots) = index.get_mut(key) {
        slots.retain(|&other| other != slot);
        if slots.is_empty() {
            index.remove(key);
        }
    }
}
