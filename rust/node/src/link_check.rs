//! The comparison of fetched blocks with those that the store holds.

use std::sync::Arc;

use headwater_ledger::Snapshot;
use headwater_ledger::read::{ChainRange, History as _, Transactions as _};
use headwater_types::{BlockHash, Chain, TxHash};

use crate::error::{CallError, FetchError};
use crate::source::{FetchedBlocks, HeldBlock};
use crate::transport::Provider;

/// Fetches one range from a provider.
pub(crate) type Fetch<'f> = dyn Fn(&Provider, (u64, u64)) -> Result<FetchedBlocks, FetchError> + Sync + 'f;

/// The longest run of transactions that is read at once.
const RUN: u32 = 1 << 16;

/// Fetches pieces that fit the blocks that the store holds around them.
pub(crate) struct LinkCheck<'a> {
    pub snapshot: Arc<Snapshot>,
    pub chain: Chain,
    /// The ranges of the load. Inside them each piece is compared with the one before.
    pub ranges: &'a [(u64, u64)],
    pub fetch: &'a Fetch<'a>,
}

impl LinkCheck<'_> {
    /// Fetches a piece, and compares it with the hashes of the blocks that the store holds: of the piece itself, and of
    /// those before and behind it.
    pub fn fetch(&self, provider: &Provider, (first, last): (u64, u64)) -> Result<FetchedBlocks, FetchError> {
        let mut fetched = (self.fetch)(provider, (first, last))?;
        provider.name().clone_into(&mut fetched.provider);
        for (number, hash) in (first..).zip(&fetched.hashes) {
            self.compare(number, *hash)?;
        }
        if let (Some(parent), Some(before)) = (fetched.parent, first.checked_sub(1)) {
            self.compare(before, parent)?;
        }
        let behind = last.saturating_add(1);
        let is_end = fetched.parent.is_some() && self.ranges.iter().any(|(_, end)| *end == last);
        if is_end && hash_of(&self.snapshot, self.chain, behind)?.is_some() {
            let next = (self.fetch)(provider, (behind, behind))?;
            next.hashes.first().map_or(Ok(()), |hash| self.compare(behind, *hash))?;
            if next.parent != fetched.hashes.last().copied() {
                return Err(other_branch(behind));
            }
        }
        Ok(fetched)
    }

    fn compare(&self, number: u64, hash: BlockHash) -> Result<(), FetchError> {
        match hash_of(&self.snapshot, self.chain, number)? {
            Some(held) if held != hash => Err(other_branch(number)),
            _ => Ok(()),
        }
    }
}

fn hash_of(snapshot: &Snapshot, chain: Chain, number: u64) -> Result<Option<BlockHash>, FetchError> {
    let block = snapshot.block(chain, number).map_err(|error| FetchError::Store(error.to_string()))?;
    Ok(block.and_then(|block| block.hash))
}

fn other_branch(block: u64) -> FetchError {
    let text =
        format!("block {block}: its hash is not the one that the store holds: it is of another branch of the chain");
    FetchError::Lie { code: "branch", block, text }
}

/// Returns the blocks of a range as the store holds them, with their transactions in order.
pub(crate) fn held_blocks(
    snapshot: &Snapshot,
    chain: Chain,
    (first, last): (u64, u64),
) -> Result<Vec<HeldBlock>, FetchError> {
    let failed = |error: headwater_ledger::LedgerError| FetchError::Store(error.to_string());
    let mut found: Vec<(u64, Option<u32>, TxHash)> = Vec::new();
    let range = ChainRange { from_block: Some(first), up_to_block: Some(last), ..ChainRange::default() };
    for run in snapshot.transaction_runs(chain, &range, RUN).map_err(failed)? {
        for transaction in run.map_err(failed)?.transactions() {
            let head = snapshot.transaction_head(transaction).map_err(failed)?;
            if !head.hash.is_made() {
                found.push((head.block, head.index, head.hash));
            }
        }
    }
    found.sort_unstable();
    let block = |number| {
        let hash = hash_of(snapshot, chain, number)?;
        let hash = hash.ok_or_else(|| CallError::Missing(format!("hash of block {number} in the store")))?;
        let begin = found.partition_point(|(block, ..)| *block < number);
        let transactions = found[begin..].iter().take_while(|(block, ..)| *block == number).map(|(.., hash)| *hash);
        Ok(HeldBlock { number, hash, transactions: transactions.collect() })
    };
    (first..=last).map(block).collect()
}
