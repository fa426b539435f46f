//! The same content in other segments, for tests that nothing depends on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_types::{BlockHash, Chain};

use super::claims::Claims;
use super::contents::ChainContents;
use super::parts::{Part, Storage, TailBlock, keep_built};
use super::rebuild;
use crate::Cancel;
use crate::facts::{BlockFacts, TransactionFacts};
use crate::read::Result;
use crate::segment::SegmentInput;

/// The spread of content over segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// The number of sealed segments, at least one.
    pub segments: usize,
    /// The segment of each transaction.
    pub split: Split,
    /// The number of the last blocks that form the tail.
    pub tail_blocks: usize,
}

/// The rule about which transaction goes into which segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// By time, as ingest in order leaves them.
    Runs,
    /// Each by itself, so that even one block is spread over segments, as account exports leave them.
    Scattered,
}

pub(super) fn segmented(
    chain: Chain,
    held: &ChainContents,
    segmentation: Segmentation,
    storage: &mut dyn Storage,
) -> Result<ChainContents> {
    let parts: Vec<_> = held.parts().cloned().collect();
    let mut input = rebuild::combined(chain, held.network, &parts, &Cancel::new())?;
    input.transactions.sort_by_key(|facts| (facts.block, facts.index.map_or(u64::MAX, u64::from), facts.hash));
    let blocks: BTreeMap<u64, BlockFacts> = input.blocks.iter().map(|block| (block.number, block.clone())).collect();
    let mut after = ChainContents::new(held.network);
    after.claims = held.claims.clone();
    held.tail.iter().for_each(|block| after.claims.add(&block.claims));

    let numbers: BTreeSet<u64> = input.transactions.iter().map(|facts| facts.block).collect();
    let tail: Vec<u64> = numbers.iter().rev().take(segmentation.tail_blocks).rev().copied().collect();
    let below = tail.first().copied().unwrap_or(u64::MAX);
    let sealed = input.transactions.partition_point(|facts| tail.is_empty() || facts.block < below);
    let tail_transactions = input.transactions.split_off(sealed);

    let count = segmentation.segments.max(1);
    let mut inputs: Vec<SegmentInput> = (0..count)
        .map(|_| SegmentInput {
            chain,
            network: held.network,
            blocks: vec![],
            transactions: vec![],
            contracts: vec![],
            tokens: vec![],
        })
        .collect();
    let per_run = input.transactions.len().div_ceil(count).max(1);
    for (place, facts) in std::mem::take(&mut input.transactions).into_iter().enumerate() {
        let target = match segmentation.split {
            Split::Runs => place / per_run,
            Split::Scattered => usize::from(facts.hash.as_bytes()[31]) % count,
        };
        inputs[target].transactions.push(facts);
    }
    for (place, contract) in std::mem::take(&mut input.contracts).into_iter().enumerate() {
        inputs[place % count].contracts.push(contract);
    }
    for (place, token) in std::mem::take(&mut input.tokens).into_iter().enumerate() {
        inputs[place % count].tokens.push(token);
    }
    let is_empty_block = |number: &&u64| !numbers.contains(number);
    let empty_blocks: Vec<u64> = blocks.keys().filter(is_empty_block).copied().collect();
    for (place, input) in inputs.iter_mut().enumerate() {
        let mut of_input: BTreeSet<u64> = input.transactions.iter().map(|facts| facts.block).collect();
        if place == 0 {
            of_input.extend(&empty_blocks);
        }
        input.blocks = of_input.iter().map(|number| blocks[number].clone()).collect();
    }
    for input in inputs.iter().rev() {
        after.sealed.push(keep(input, storage)?);
    }
    append_tail(&mut after, (&tail, tail_transactions), &blocks, &inputs[0], storage)?;
    Ok(after)
}

fn keep(input: &SegmentInput, storage: &mut dyn Storage) -> Result<Arc<Part>> {
    keep_built(storage, input, &Cancel::new())
}

fn append_tail(
    after: &mut ChainContents,
    (tail, mut transactions): (&[u64], Vec<TransactionFacts>),
    blocks: &BTreeMap<u64, BlockFacts>,
    like: &SegmentInput,
    storage: &mut dyn Storage,
) -> Result<()> {
    for &number in tail {
        let rest = transactions.split_off(transactions.partition_point(|facts| facts.block <= number));
        let input = SegmentInput {
            chain: like.chain,
            network: like.network,
            blocks: vec![blocks[&number].clone()],
            transactions: std::mem::replace(&mut transactions, rest),
            contracts: vec![],
            tokens: vec![],
        };
        let made = |number: u64| {
            let mut bytes = [0; 32];
            bytes[24..].copy_from_slice(&number.to_be_bytes());
            BlockHash::new(bytes)
        };
        after.tail.push(TailBlock {
            number,
            hash: blocks[&number].hash.unwrap_or_else(|| made(number)),
            parent: blocks[&number].parent.unwrap_or_else(|| made(number.saturating_sub(1))),
            claims: Claims::default(),
            part: keep(&input, storage)?,
        });
    }
    Ok(())
}
