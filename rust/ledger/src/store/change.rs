//! From one generation to the next: commits, the tail, merges. Nothing here depends on whether it happens on disk.

use std::sync::Arc;

use headwater_types::{BlockHash, Chain, Network};

use super::commit::{Destination, FeedPolicy, commit};
use super::contents::{ChainContents, Contents};
use super::feed::{FeedState, News};
use super::merge::{self, MergeProgress, Outcome};
use super::parts::{Storage, keep_joined};
use super::tiers;
use super::{AdvanceReport, CommitReport};
use crate::facts::Batch;
use crate::read::Result;
use crate::{Cancel, LedgerError};

/// A block of the tail by its place in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailPosition {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: BlockHash,
    /// The hash of the block before.
    pub parent: BlockHash,
}

/// A step of a follower of a chain, made as one change of the store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TailAdvance {
    /// Blocks of the tail above this one are taken back first.
    pub keep_to: Option<u64>,
    /// The blocks that are added, in order, each as [`Writer::append_tail_block`](super::Writer::append_tail_block)
    /// takes it.
    pub blocks: Vec<Batch>,
    /// Blocks of the tail up to this one become final.
    pub seal_to: Option<u64>,
}

/// The amount of merging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The merges that the tiers ask for.
    Due,
    /// The merges that reading needs, while more is to come.
    Crowded,
    /// All that no table of the chain covers, where it has one.
    Uncovered,
    /// All that fits into one segment.
    Most,
}

impl Contents {
    /// With a batch among what is final; `None` when it says nothing new.
    pub(super) fn with_batch(
        &self,
        batch: Batch,
        telling: FeedPolicy,
        storage: &mut dyn Storage,
        cancel: &Cancel,
    ) -> Result<(Option<Self>, CommitReport)> {
        let chain = batch.chain;
        let held = self.chain_for(&batch)?;
        let done = commit(&held, batch, (Destination::Sealed, telling), storage, cancel)?;
        let after = done.after.map(|after| self.with_news(chain, after, &done.news)).transpose()?;
        Ok((after, done.report))
    }

    /// With one more block of the tail.
    pub(super) fn with_tail_block(&self, batch: Batch, storage: &mut dyn Storage) -> Result<(Self, CommitReport)> {
        let chain = batch.chain;
        let held = self.chain_for(&batch)?;
        let destination = follows(&held, &batch)?;
        let done = commit(&held, batch, (destination, FeedPolicy::Items), storage, &Cancel::new())?;
        let after = done.after.expect("a block of the tail is always a change");
        Ok((self.with_news(chain, after, &done.news)?, done.report))
    }

    /// Without the blocks of the tail above `to_block`, and how many those were; `None` when there are none.
    pub(super) fn without_tail_above(&self, chain: Chain, to_block: u64) -> Result<(Option<Self>, u64)> {
        let Some(held) = self.chains.get(&chain) else { return Ok((None, 0)) };
        let Some(lowest) = held.tail.first() else { return Ok((None, 0)) };
        if to_block.saturating_add(1) < lowest.number {
            return Err(LedgerError::BelowTail { chain, block: to_block, lowest: lowest.number });
        }
        let mut after = held.clone();
        let removed = after.tail.split_off(after.tail.partition_point(|block| block.number <= to_block));
        if removed.is_empty() {
            return Ok((None, 0));
        }
        let mut feed = FeedState::clone(&self.feed);
        let head = after.head();
        for block in removed.iter().rev() {
            feed.take_back(chain, block, head)?;
        }
        let contents = Self { feed: Arc::new(feed), ..self.with_chain(chain, after) };
        Ok((Some(contents), removed.len() as u64))
    }

    /// With the blocks of the tail up to `up_to_block` made final, and how many those were.
    pub(super) fn with_tail_sealed(
        &self,
        chain: Chain,
        up_to_block: u64,
        storage: &mut dyn Storage,
    ) -> Result<(Option<Self>, u64)> {
        let Some(held) = self.chains.get(&chain) else { return Ok((None, 0)) };
        let mut after = held.clone();
        let kept = after.tail.split_off(after.tail.partition_point(|block| block.number <= up_to_block));
        let blocks = std::mem::replace(&mut after.tail, kept);
        if blocks.is_empty() {
            return Ok((None, 0));
        }
        let parts: Vec<_> = blocks.iter().map(|block| &block.part).collect();
        after.sealed.push(match parts[..] {
            // The file of one block stays as it is, and with it all that is derived of it.
            [part] => Arc::clone(part),
            _ => keep_joined(storage, (chain, held.network), &parts, &|_, _| {}, &Cancel::new())?,
        });
        for block in &blocks {
            after.claims.add(&block.claims);
        }
        if after.claims.accounts != held.claims.accounts {
            after.accounts_file = None;
        }
        Ok((Some(self.with_chain(chain, after)), blocks.len() as u64))
    }

    /// With a step of a follower: blocks of the tail taken back, others added, and old ones made final, all in one
    /// generation. `None` when there is nothing to do.
    pub(super) fn with_tail_advanced(
        &self,
        chain: Chain,
        advance: TailAdvance,
        storage: &mut dyn Storage,
    ) -> Result<(Option<Self>, AdvanceReport)> {
        let (mut after, mut report) = (None, AdvanceReport::default());
        if let Some(to_block) = advance.keep_to {
            (after, report.removed) = self.without_tail_above(chain, to_block)?;
        }
        for batch in advance.blocks {
            let (next, commit) = after.as_ref().unwrap_or(self).with_tail_block(batch, storage)?;
            report.blocks.push(commit);
            after = Some(next);
        }
        if let Some(up_to_block) = advance.seal_to {
            let (next, sealed) = after.as_ref().unwrap_or(self).with_tail_sealed(chain, up_to_block, storage)?;
            report.sealed = sealed;
            after = next.or(after);
        }
        Ok((after, report))
    }

    /// With one merge of segments of a chain, of those that are due or towards as few as may be. When they cannot be
    /// one segment, that is remembered.
    pub(super) fn merged(
        &self,
        chain: Chain,
        extent: Extent,
        storage: &mut dyn Storage,
        merging: MergeProgress<'_>,
        cancel: &Cancel,
    ) -> Result<(Option<Self>, Outcome)> {
        let Some(held) = self.chains.get(&chain) else { return Ok((None, Outcome::Idle)) };
        let mut after = held.clone();
        let outcome = match extent {
            Extent::Due => merge::merge_due(chain, &mut after, tiers::due, (storage, merging), cancel)?,
            Extent::Crowded => merge::merge_due(chain, &mut after, tiers::crowded, (storage, merging), cancel)?,
            Extent::Uncovered => merge::merge_uncovered(chain, &mut after, (storage, merging), cancel)?,
            Extent::Most => merge::merge_most(chain, &mut after, storage, merging, cancel)?,
        };
        Ok(((outcome != Outcome::Idle).then(|| self.with_chain(chain, after)), outcome))
    }

    /// With what a commit made of a chain, and its items.
    fn with_news(&self, chain: Chain, after: ChainContents, news: &News) -> Result<Self> {
        let mut feed = FeedState::clone(&self.feed);
        if let Some(feed_rows) = &news.feed_rows {
            feed.append(chain, feed_rows, after.head())?;
        }
        if news.is_unlisted {
            feed.untold = self.generation + 1;
        }
        Ok(Self { feed: Arc::new(feed), ..self.with_chain(chain, after) })
    }

    fn with_chain(&self, chain: Chain, after: ChainContents) -> Self {
        let mut contents = self.clone();
        // A tail that was taken back whole leaves nothing: the chain is absent again.
        if after.parts().next().is_none() && after.claims.is_empty() {
            contents.chains.remove(&chain);
        } else {
            contents.chains.insert(chain, after);
        }
        contents
    }

    /// Returns what is held of the chain of a batch, which must be of the same network.
    fn chain_for(&self, batch: &Batch) -> Result<ChainContents> {
        let Some(held) = self.chains.get(&batch.chain) else {
            return Ok(ChainContents::new(batch.network.unwrap_or(Network::Mainnet)));
        };
        match batch.network {
            Some(offered) if offered != held.network => {
                Err(LedgerError::NetworkMismatch { chain: batch.chain, held: held.network, offered })
            }
            _ => Ok(held.clone()),
        }
    }
}

/// Returns whether a batch is one block that continues the tail, or the final part where there is no tail.
fn follows(held: &ChainContents, batch: &Batch) -> Result<Destination> {
    let chain = batch.chain;
    let fault = |what| LedgerError::TailBlock { chain, what };
    let [block] = &batch.blocks[..] else { return Err(fault("expected exactly one block")) };
    let hash = block.hash.ok_or_else(|| fault("its hash is missing"))?;
    let parent = block.parent.ok_or_else(|| fault("the hash of its parent is missing"))?;
    let number = block.number;
    if batch.transactions.iter().any(|transaction| transaction.block != number) {
        return Err(fault("a transaction of another block is with it"));
    }
    let before = match held.tail.last() {
        Some(newest) => Some((newest.number, newest.hash)),
        None => held_parent(held, number)?,
    };
    if let Some((before, expected)) = before
        && (before.checked_add(1) != Some(number) || expected != parent)
    {
        let text = |hash: BlockHash| hash.display(chain.family());
        return Err(LedgerError::TailBroken {
            chain,
            number,
            parent: text(parent),
            expected: format!("block {before} {}", text(expected)),
        });
    }
    Ok(Destination::Tail { number, hash, parent })
}

/// The block below, when it is held with its hash.
fn held_parent(held: &ChainContents, number: u64) -> Result<Option<(u64, BlockHash)>> {
    let Some(before) = number.checked_sub(1) else { return Ok(None) };
    for part in held.parts() {
        if let Some(hash) = part.segment.block(before)?.and_then(|block| block.hash) {
            return Ok(Some((before, hash)));
        }
    }
    Ok(None)
}
