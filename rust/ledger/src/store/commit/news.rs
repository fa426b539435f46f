//! The part of a commit that the change feed takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::feed::{FeedRows, Gain, News, blocks_of};
use super::super::lookup;
use super::super::parts::{Part, Storage, keep_built};
use super::{Destination, FeedPolicy, NewSegment, Plan};
use crate::Cancel;
use crate::facts::{BlockFacts, MovementFact, TransactionFacts};
use crate::read::Result;
use crate::segment::SegmentInput;

impl Plan<'_> {
    /// Returns the news of the commit, given the new segment. Where all of it is new, that segment is taken as it is;
    /// else one of its own is built of what is new.
    pub(super) fn news(
        &mut self,
        built: Option<NewSegment>,
        storage: &mut dyn Storage,
        cancel: &Cancel,
    ) -> Result<News> {
        let new = built.as_ref().map_or(&[][..], |built| &built.input.transactions);
        let is_opening =
            |facts: &TransactionFacts| facts.movements.iter().any(|movement| movement.kind == MovementFact::Opening);
        if self.telling == FeedPolicy::Nothing {
            return Ok(News { feed_rows: None, is_unlisted: self.report.enriched > 0 || !new.is_empty() });
        }
        // A source that completes what is held may state fees and outcomes too, for which there are no items.
        let is_unlisted = self.report.enriched > 0 || new.iter().any(is_opening);
        if let (Destination::Tail { number, .. }, Some(built)) = (self.destination, &built) {
            // All of the block, whatever was known of it before: all of it is taken back, too.
            let blocks = vec![self.block(number).clone()];
            let feed_rows = FeedRows { blocks, rows: Arc::clone(&built.part), before: None };
            return Ok(News { feed_rows: Some(feed_rows), is_unlisted });
        }
        let (gained, joined_tail) = (std::mem::take(&mut self.gained), std::mem::take(&mut self.joined_tail));
        let mut numbers = blocks_of(new);
        numbers.extend(blocks_of(&joined_tail));
        numbers.extend(gained.iter().map(|gain| gain.after.block));
        if numbers.is_empty() {
            return Ok(News { feed_rows: None, is_unlisted });
        }
        let blocks = self.stated(numbers, &gained, cancel)?;
        let feed_rows = match built {
            Some(built) if gained.is_empty() && joined_tail.is_empty() => {
                FeedRows { blocks, rows: built.part, before: None }
            }
            built => {
                let mut after = built.map_or_else(Vec::new, |built| built.input.transactions);
                let (before, gained): (Vec<_>, Vec<_>) =
                    gained.into_iter().map(|gain| (gain.before, gain.after)).unzip();
                after.extend(gained);
                after.extend(joined_tail);
                let rows = self.built_of(&blocks, after, storage, cancel)?;
                let before =
                    if before.is_empty() { None } else { Some(self.built_of(&blocks, before, storage, cancel)?) };
                FeedRows { blocks, rows, before }
            }
        };
        Ok(News { feed_rows: Some(feed_rows), is_unlisted })
    }

    /// Returns what is known of blocks, in order.
    fn stated(&self, numbers: BTreeSet<u64>, gained: &[Gain], cancel: &Cancel) -> Result<Vec<BlockFacts>> {
        let is_here = |number: &u64| self.blocks.binary_search_by_key(number, |block| block.number).is_ok();
        let elsewhere: Vec<u64> = numbers.iter().copied().filter(|number| !is_here(number)).collect();
        let mut copies = lookup::block_copies(self.parts, &elsewhere, cancel)?;
        let stated = numbers.into_iter().filter_map(|number| {
            if is_here(&number) {
                return Some(self.block(number).clone());
            }
            // Spenders of an output that is new are in blocks of which the batch does not speak.
            let copy = copies.remove(&number).and_then(|copies| copies.into_iter().next());
            let of_gain = || {
                let time = gained.iter().find(|gain| gain.after.block == number)?.after.time?;
                Some(BlockFacts { number, hash: None, parent: None, time })
            };
            copy.map(|(_, block)| block).or_else(of_gain)
        });
        Ok(stated.collect())
    }

    fn built_of(
        &self,
        blocks: &[BlockFacts],
        transactions: Vec<TransactionFacts>,
        storage: &mut dyn Storage,
        cancel: &Cancel,
    ) -> Result<Arc<Part>> {
        let (chain, network, blocks) = (self.chain, self.held.network, blocks.to_vec());
        let input = SegmentInput { chain, network, blocks, transactions, contracts: vec![], tokens: vec![] };
        keep_built(storage, &input, cancel)
    }
}
