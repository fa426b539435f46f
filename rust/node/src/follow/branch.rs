//! The block at which the store and the nodes part.

use headwater_ledger::store::TailPosition;
use headwater_types::BlockHash;

use crate::error::NodeError;

/// Blocks whose hashes are asked for at once while the fork is looked for.
const CHUNK: u64 = 16;

/// Returns the hashes of blocks on the chain of the nodes.
type Hashes<'f> = dyn Fn(&[u64]) -> Result<Vec<Option<BlockHash>>, NodeError> + 'f;

/// The blocks of a store that may be taken back, and the one below them.
pub(super) struct Branch<'a> {
    pub tail: &'a [TailPosition],
    /// The block below the tail and its hash, where it is known.
    pub below: (u64, Option<BlockHash>),
}

impl Branch<'_> {
    /// Returns the last block that the store and the nodes have in common, and its hash, given the newest block of the
    /// nodes.
    pub fn fork(&self, head: u64, hashes: &Hashes<'_>) -> Result<(u64, Option<BlockHash>), NodeError> {
        let newest = self.tail.last().map_or(self.below.0, |block| block.number);
        // The nodes are behind the tail as a whole: they have to catch up first.
        if head < self.below.0 {
            return Ok((newest, None));
        }
        let mut upper = newest.min(head);
        loop {
            let lower = (upper + 1).saturating_sub(CHUNK).max(self.below.0);
            let numbers: Vec<u64> =
                if upper == newest.min(head) { vec![upper] } else { (lower..=upper).rev().collect() };
            for (number, hash) in numbers.iter().zip(hashes(&numbers)?) {
                let held = self.hash_of(*number);
                if held.is_none() || held == hash {
                    return Ok((*number, held));
                }
                if hash.is_none() {
                    // A block that is missing for the moment was not replaced.
                    let reasons = vec![format!("no provider has block {number}, although their newest is {head}")];
                    return Err(NodeError::NoProvider { first: *number, last: *number, reasons, is_gap: true });
                }
            }
            let lowest = numbers.last().copied().unwrap_or(upper);
            if lowest <= self.below.0 {
                return Err(NodeError::DeepReorg { block: self.below.0, tail: self.tail.len() as u64 });
            }
            upper = lowest - 1;
        }
    }

    /// Returns whether the tail has a block.
    pub fn has(&self, number: u64, hash: Option<BlockHash>) -> bool {
        self.tail
            .binary_search_by_key(&number, |block| block.number)
            .is_ok_and(|place| Some(self.tail[place].hash) == hash)
    }

    /// Returns the hash of a block of the store; `None` only of the block below the tail, where it is unknown.
    fn hash_of(&self, number: u64) -> Option<BlockHash> {
        let place = self.tail.binary_search_by_key(&number, |block| block.number);
        place.map_or(self.below.1, |place| Some(self.tail[place].hash))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn hash(number: u64, branch: u8) -> BlockHash {
        let mut bytes = [branch; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        BlockHash::new(bytes)
    }

    fn tail(first: u64, last: u64) -> Vec<TailPosition> {
        let block = |number| TailPosition { number, hash: hash(number, 0), parent: hash(number - 1, 0) };
        (first..=last).map(block).collect()
    }

    /// Finds the fork with nodes that are on branch 1 from a block on; returns it with the number of requests.
    fn fork(tail: &[TailPosition], below: u64, (parted, head): (u64, u64)) -> (Result<u64, NodeError>, u32) {
        let asked = Cell::new(0);
        let hashes = |numbers: &[u64]| {
            asked.set(asked.get() + 1);
            let of = |number: &u64| (*number <= head).then(|| hash(*number, u8::from(*number >= parted)));
            Ok(numbers.iter().map(of).collect())
        };
        let branch = Branch { tail, below: (below, Some(hash(below, 0))) };
        (branch.fork(head, &hashes).map(|found| found.0), asked.get())
    }

    #[test]
    fn fork_is_the_newest_common_block() {
        let tail = tail(10, 60);
        for parted in 10..=60 {
            assert_eq!(fork(&tail, 9, (parted, 70)).0.unwrap(), parted - 1, "{parted}");
            assert_eq!(fork(&tail, 9, (parted, parted)).0.unwrap(), parted - 1, "{parted}");
        }
        // Nothing was replaced: one request.
        assert_eq!((fork(&tail, 9, (90, 70)).0.unwrap(), fork(&tail, 9, (90, 70)).1), (60, 1));
    }

    #[test]
    fn replaced_block_below_the_tail_is_an_error() {
        let error = fork(&tail(10, 60), 9, (9, 70)).0.unwrap_err();
        assert!(matches!(error, NodeError::DeepReorg { block: 9, tail: 51 }), "{error}");
        assert!(fork(&[], 9, (4, 70)).0.is_err());
    }

    #[test]
    fn nodes_behind_the_store_replace_nothing() {
        assert_eq!(fork(&tail(10, 60), 9, (90, 40)).0.unwrap(), 40);
        assert_eq!(fork(&tail(10, 60), 9, (90, 3)).0.unwrap(), 60);
    }
}
