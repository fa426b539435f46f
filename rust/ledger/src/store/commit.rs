//! The join of a batch with what is held of its chain.
//!
//! Every step asks only what the facts are, never which file or commit they came from, so the outcome of several
//! commits does not depend on their order.

mod double_spends;
mod news;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_types::{Address, BlockHash, Chain, TxHash};

use super::CommitReport;
use super::batch;
use super::claims::Claims;
use super::contents::ChainContents;
use super::feed::{Gain, News, gains};
use super::lookup::{self, Outputs, RowPlace};
use super::parts::{Part, Storage, TailBlock, keep_built, keep_merged};
use super::rebuild::{self, Edits};
use crate::facts::{Batch, BlockFacts, TokenFacts, TransactionFacts};
use crate::read::Result;
use crate::segment::{SegmentInput, Source};
use crate::{Cancel, LedgerError};

/// The destination of facts that are not held yet.
#[derive(Clone, Copy)]
pub(super) enum Destination {
    /// Among what is final.
    Sealed,
    /// A new block of the tail.
    Tail { number: u64, hash: BlockHash, parent: BlockHash },
}

/// The policy for feed items of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeedPolicy {
    /// It does: an item per block with something new.
    Items,
    /// It does not.
    Nothing,
}

/// The outcome of a commit.
pub(super) struct CommitOutcome {
    /// The contents of the chain after the batch; `None` when that changes nothing.
    pub(super) after: Option<ChainContents>,
    pub(super) report: CommitReport,
    pub(super) news: News,
}

/// Joins a batch with what the chain holds.
pub(super) fn commit(
    held: &ChainContents,
    batch: Batch,
    (destination, telling): (Destination, FeedPolicy),
    storage: &mut dyn Storage,
    cancel: &Cancel,
) -> Result<CommitOutcome> {
    let chain = batch.chain;
    let claims = Claims::of(&batch.claims);
    let parts: Vec<&Arc<Part>> = held.parts().collect();
    let mut plan = Plan::new(held, &parts, chain, (destination, telling));
    plan.take_blocks(&batch, cancel)?;
    plan.take_transactions(batch.transactions, cancel)?;
    plan.take_contracts(&batch.contracts)?;
    plan.take_tokens(batch.tokens)?;
    plan.carry_out(&claims, storage, cancel)
}

/// A new segment, and what it is made of.
struct NewSegment {
    part: Arc<Part>,
    input: SegmentInput,
}

struct Plan<'a> {
    held: &'a ChainContents,
    parts: &'a [&'a Arc<Part>],
    chain: Chain,
    destination: Destination,
    telling: FeedPolicy,
    /// Blocks of the batch and of its transactions in order, joined with every copy held.
    blocks: Vec<BlockFacts>,
    /// The edits to be written anew, by place of the part.
    edits: BTreeMap<usize, Edits>,
    /// The blocks that go into a new segment; numbers may repeat.
    new_blocks: Vec<u64>,
    new_transactions: Vec<TransactionFacts>,
    new_contracts: BTreeSet<Address>,
    new_tokens: BTreeMap<Address, TokenFacts>,
    /// New transactions of blocks of the tail, which go into the parts of these, where the feed needs them.
    joined_tail: Vec<TransactionFacts>,
    /// The transactions that gained movements, where the feed needs them.
    gained: Vec<Gain>,
    report: CommitReport,
}

impl<'a> Plan<'a> {
    fn new(
        held: &'a ChainContents,
        parts: &'a [&'a Arc<Part>],
        chain: Chain,
        (destination, telling): (Destination, FeedPolicy),
    ) -> Self {
        Self {
            held,
            parts,
            chain,
            destination,
            telling,
            blocks: Vec::new(),
            edits: BTreeMap::new(),
            new_blocks: Vec::new(),
            new_transactions: Vec::new(),
            new_contracts: BTreeSet::new(),
            new_tokens: BTreeMap::new(),
            joined_tail: Vec::new(),
            gained: Vec::new(),
            report: CommitReport::default(),
        }
    }

    /// Returns whether the commit is of a block of the tail.
    const fn is_of_tail(&self) -> bool {
        matches!(self.destination, Destination::Tail { .. })
    }

    /// Returns whether a part is final: what it holds stays when the tail is rolled back.
    fn is_final(&self, place: usize) -> bool {
        place < self.held.sealed.len()
    }

    /// The place of the part of a block of the tail. Whatever is said of the block goes there, so that it goes with the block.
    fn place_in_tail(&self, number: u64) -> Option<usize> {
        let tail = &self.held.tail;
        let found = tail.binary_search_by_key(&number, |block| block.number).ok().filter(|_| !self.is_of_tail());
        found.map(|place| self.held.sealed.len() + place)
    }

    /// Joins the blocks that are stated, and those whose time a transaction states, with every copy held.
    fn take_blocks(&mut self, batch: &Batch, cancel: &Cancel) -> Result<()> {
        let offered = batch::offered_blocks(batch, self.chain)?;
        // Blocks of which only transactions speak, and those without a time.
        let is_offered = |number: u64| offered.binary_search_by_key(&number, |block| block.number).is_ok();
        let silent = batch.transactions.iter().filter(|facts| facts.time.is_none());
        let unstated: BTreeMap<u64, TxHash> =
            silent.filter(|facts| !is_offered(facts.block)).map(|facts| (facts.block, facts.hash)).rev().collect();
        let mut numbers: Vec<u64> = offered.iter().map(|block| block.number).chain(unstated.keys().copied()).collect();
        numbers.sort_unstable();
        let mut copies = lookup::block_copies(self.parts, &numbers, cancel)?;
        let mut offered = offered.into_iter().peekable();
        self.blocks.reserve(numbers.len());
        for number in numbers {
            let copies = copies.remove(&number).unwrap_or_default();
            let offered = offered.next_if(|block| block.number == number);
            let Some(block) = self.join_block(number, offered.as_ref(), &copies)? else {
                return Err(LedgerError::UnknownTime {
                    chain: self.chain,
                    block: number,
                    transaction: unstated[&number].display(self.chain.family()),
                });
            };
            self.blocks.push(block);
        }
        Ok(())
    }

    /// A block of the batch, or of its transactions.
    fn block(&self, number: u64) -> &BlockFacts {
        let place = self.blocks.binary_search_by_key(&number, |block| block.number);
        &self.blocks[place.expect("the blocks of all transactions were taken before them")]
    }

    /// Joins an offered block with all copies held, and marks the copies that know less. What a block of the tail says is
    /// not written to final parts.
    fn join_block(
        &mut self,
        number: u64,
        offered: Option<&BlockFacts>,
        copies: &[(usize, BlockFacts)],
    ) -> Result<Option<BlockFacts>> {
        let is_stated = offered.is_some();
        let join = |known: Option<BlockFacts>, other: &BlockFacts| match known {
            Some(known) => known.join(other, self.chain).map(Some),
            None => Ok(Some(other.clone())),
        };
        let of_final = copies.iter().filter(|(place, _)| self.is_final(*place));
        let of_tail = copies.iter().filter(|(place, _)| !self.is_final(*place));
        let mut in_final = of_final.map(|(_, copy)| copy).try_fold(None, join)?;
        if let Some(offered) = offered.filter(|_| !self.is_of_tail()) {
            in_final = join(in_final, offered).map_err(LedgerError::with_the_store)?;
        }
        let joined =
            of_tail.map(|(_, copy)| copy).try_fold(in_final.clone(), join).map_err(LedgerError::with_the_store)?;
        let joined = offered.into_iter().try_fold(joined, join).map_err(LedgerError::with_the_store)?;
        let Some(joined) = joined else { return Ok(None) };
        let mut is_enriched = copies.is_empty();
        for (place, copy) in copies {
            let wanted = if self.is_final(*place) { in_final.as_ref() } else { Some(&joined) };
            if let Some(wanted) = wanted.filter(|wanted| *wanted != copy) {
                is_enriched = true;
                self.edits.entry(*place).or_default().blocks.insert(number, wanted.clone());
            }
        }
        self.report.blocks += u64::from(is_enriched);
        if is_stated && copies.is_empty() {
            self.new_blocks.push(number);
        }
        Ok(Some(joined))
    }

    fn take_transactions(&mut self, offered: Vec<TransactionFacts>, cancel: &Cancel) -> Result<()> {
        let (mut offered, mut by_hash) = batch::joined(offered, self.chain)?;
        if self.leave_out_double_spends(&mut offered, cancel)? {
            by_hash = batch::by_hash(&offered);
        }
        let mut of_block = None;
        for facts in &mut offered {
            let time = match of_block {
                Some((block, time)) if block == facts.block => time,
                _ => self.block(facts.block).time,
            };
            of_block = Some((facts.block, time));
            facts.time = Some(time);
            // From here on it is the block's.
            facts.block_hash = None;
        }
        let outputs = Outputs::of(self.parts, &offered, cancel)?;
        let hashes: Vec<TxHash> = by_hash.iter().map(|&place| offered[place].hash).collect();
        let mut places = vec![None; offered.len()];
        for (place, at) in by_hash.into_iter().zip(lookup::places(self.parts, &hashes, cancel)?) {
            places[place] = at;
        }
        drop(hashes);

        let mut with_new_outputs = Vec::new();
        // Of several faults the one of the least hash is reported, in whatever order the batch came.
        let mut fault: Option<(TxHash, LedgerError)> = None;
        let mut places = places.into_iter().enumerate();
        // Facts are large: those that are new stay where they are.
        offered.retain_mut(|facts| {
            let hash = facts.hash;
            let (count, at) = places.next().unwrap_or_default();
            let is_due = count % 1024 == 0;
            let checked = if is_due { cancel.check().map_err(LedgerError::from) } else { Ok(()) };
            match checked.and_then(|()| self.take_transaction(facts, at, &outputs)) {
                Ok(true) if outputs.are_offered(&hash) => with_new_outputs.push(hash),
                Err(error) if fault.as_ref().is_none_or(|(least, _)| hash < *least) => fault = Some((hash, error)),
                Ok(_) | Err(_) => {}
            }
            at.is_none()
        });
        if let Some((_, error)) = fault {
            return Err(error);
        }
        let of_tail: Vec<TransactionFacts> =
            offered.extract_if(.., |facts| self.place_in_tail(facts.block).is_some()).collect();
        for facts in of_tail {
            let Some(place) = self.place_in_tail(facts.block) else { continue };
            if self.telling == FeedPolicy::Items {
                self.joined_tail.push(facts.clone());
            }
            self.edits.entry(place).or_default().added.push(facts);
        }
        offered.append(&mut self.new_transactions);
        self.new_transactions = offered;
        with_new_outputs.sort_unstable();
        self.complete_spenders(&with_new_outputs, &outputs, cancel)
    }

    /// Completes a transaction that is new; joins one that is somewhere already with what is there. Returns
    /// whether anything in it was new.
    fn take_transaction(
        &mut self,
        offered: &mut TransactionFacts,
        at: Option<RowPlace>,
        outputs: &Outputs<'_>,
    ) -> Result<bool> {
        self.complete(offered, outputs)?;
        let Some((place, row)) = at else {
            self.report.added += 1;
            if self.place_in_tail(offered.block).is_none() {
                self.add_block(offered.block);
            }
            return Ok(true);
        };
        let offered = std::mem::replace(offered, TransactionFacts::new(offered.hash, offered.block));
        let stored = self.parts[place].segment.facts(row)?.canonical(self.chain)?;
        let mut held = stored.clone();
        self.complete(&mut held, outputs)?;
        let joined = held.join(offered, self.chain).map_err(LedgerError::with_the_store)?;
        let is_enriched = joined != stored;
        *(if is_enriched { &mut self.report.enriched } else { &mut self.report.unchanged }) += 1;
        if is_enriched {
            self.note_gain(stored, &joined);
        }
        if self.is_of_tail() && self.is_final(place) {
            // The block is not final after all: the row goes with it when it is taken back.
            self.edits.entry(place).or_default().rows.insert(row, None);
            self.new_transactions.push(joined);
        } else if is_enriched {
            self.edits.entry(place).or_default().rows.insert(row, Some(joined));
        }
        Ok(is_enriched)
    }

    /// Notes a transaction that is held already, if it gains movements.
    fn note_gain(&mut self, before: TransactionFacts, after: &TransactionFacts) {
        if self.telling == FeedPolicy::Items && gains(&before, after) {
            self.gained.push(Gain { before, after: after.clone() });
        }
    }

    /// The block of a transaction that goes into a new segment.
    fn add_block(&mut self, number: u64) {
        if self.new_blocks.last() != Some(&number) {
            self.new_blocks.push(number);
        }
    }

    /// Completes inputs by the outputs they spend. The output itself takes precedence over what its spender's source
    /// said of it; only the amount must agree.
    fn complete(&self, facts: &mut TransactionFacts, outputs: &Outputs<'_>) -> Result<()> {
        let Some(utxo) = &mut facts.utxo else { return Ok(()) };
        for input in &mut utxo.inputs {
            let Some(output) = outputs.get(&input.previous)? else { continue };
            if let Some(spent) = &input.spent
                && let Some(error) = Outputs::disagreement(self.chain, &facts.hash, spent, &output)
            {
                return Err(error);
            }
            input.spent = Some(output);
        }
        Ok(())
    }

    /// Completes the transactions held already that spend an output which is new; `hashes` are in order.
    fn complete_spenders(&mut self, hashes: &[TxHash], outputs: &Outputs<'_>, cancel: &Cancel) -> Result<()> {
        for (place, part) in self.parts.iter().enumerate() {
            cancel.check()?;
            let segment = &part.segment;
            let rows: BTreeSet<u32> =
                segment.spenders_of_many(hashes)?.into_iter().map(|(_, spend)| spend.row).collect();
            for row in rows {
                if self.edits.get(&place).is_some_and(|edits| edits.rows.contains_key(&row)) {
                    continue; // Completed when it was joined.
                }
                let stored = segment.facts(row)?;
                let mut completed = stored.clone();
                self.complete(&mut completed, outputs)?;
                if completed != stored {
                    self.report.enriched += 1;
                    self.note_gain(stored, &completed);
                    self.edits.entry(place).or_default().rows.insert(row, Some(completed));
                }
            }
        }
        Ok(())
    }

    fn take_contracts(&mut self, offered: &[Address]) -> Result<()> {
        // What a final source states outlives a roll-back of the tail.
        let kept = self.parts.iter().enumerate().filter(|(place, _)| self.is_of_tail() || self.is_final(*place));
        let kept: Vec<_> = kept.map(|(_, part)| &part.segment).collect();
        for contract in offered {
            let mut is_held = false;
            for segment in &kept {
                is_held = is_held || segment.is_stated_contract(contract)?;
            }
            if !is_held {
                self.new_contracts.insert(*contract);
            }
        }
        Ok(())
    }

    fn take_tokens(&mut self, offered: Vec<TokenFacts>) -> Result<()> {
        for token in offered {
            let token = match self.new_tokens.remove(&token.contract) {
                Some(known) => known.join(token),
                None => token,
            };
            self.new_tokens.insert(token.contract, token);
        }
        for (contract, token) in std::mem::take(&mut self.new_tokens) {
            let mut copies = Vec::new();
            for (place, part) in self.parts.iter().enumerate() {
                if let Some(copy) = part.segment.token(&contract)? {
                    copies.push((place, copy));
                }
            }
            // Readers join copies, so those of the tail need not know what final parts say.
            copies.retain(|(place, _)| self.is_of_tail() || self.is_final(*place));
            let held = copies.iter().map(|(_, copy)| copy.clone()).reduce(TokenFacts::join);
            let joined = held.clone().map_or_else(|| token.clone(), |held| held.join(token.clone()));
            if held.is_none() || self.is_of_tail() && held.as_ref() != Some(&joined) {
                self.new_tokens.insert(contract, joined);
                continue;
            }
            for (place, copy) in copies {
                if copy != joined && !self.is_of_tail() {
                    self.edits.entry(place).or_default().tokens.insert(contract, joined.clone());
                }
            }
        }
        Ok(())
    }

    fn carry_out(mut self, claims: &Claims, storage: &mut dyn Storage, cancel: &Cancel) -> Result<CommitOutcome> {
        let mut after = self.held.clone();
        let has_edits = !self.edits.is_empty();
        for (place, edits) in std::mem::take(&mut self.edits) {
            let (corrections, without) = rebuild::corrections(self.parts[place], edits, cancel)?;
            let sources = [
                Source { segment: &self.parts[place].segment, without: &without },
                Source { segment: &corrections, without: &[] },
            ];
            let part = keep_merged(storage, (self.chain, self.held.network), &sources, &|_, _| {}, cancel)?;
            match place.checked_sub(after.sealed.len()) {
                None => after.sealed[place] = part,
                Some(place) => after.tail[place].part = part,
            }
        }
        let built = match self.destination {
            Destination::Sealed => self.seal_new(&mut after, storage, cancel)?,
            Destination::Tail { number, hash, parent } => {
                self.new_blocks.push(number);
                let built = self.build_new(storage, cancel)?;
                let part = Arc::clone(&built.part);
                after.tail.push(TailBlock { number, hash, parent, claims: claims.clone(), part });
                Some(built)
            }
        };
        let has_claims = match self.destination {
            Destination::Sealed => {
                let mut claims = claims.clone();
                let mut has_tail_claims = false;
                for block in &mut after.tail {
                    let before = block.claims.clone();
                    block.claims.add(&claims.take_block(block.number));
                    has_tail_claims |= block.claims != before;
                }
                after.claims.add(&claims);
                has_tail_claims || after.claims != self.held.claims
            }
            Destination::Tail { .. } => false,
        };
        if after.claims.accounts != self.held.claims.accounts {
            after.accounts_file = None;
        }
        let is_change = has_edits || built.is_some() || has_claims;
        let news = self.news(built, storage, cancel)?;
        Ok(CommitOutcome { after: is_change.then_some(after), report: self.report, news })
    }

    fn seal_new(
        &mut self,
        after: &mut ChainContents,
        storage: &mut dyn Storage,
        cancel: &Cancel,
    ) -> Result<Option<NewSegment>> {
        let has_facts = !(self.new_blocks.is_empty()
            && self.new_transactions.is_empty()
            && self.new_contracts.is_empty()
            && self.new_tokens.is_empty());
        if !has_facts {
            return Ok(None);
        }
        let built = self.build_new(storage, cancel)?;
        after.sealed.push(Arc::clone(&built.part));
        Ok(Some(built))
    }

    fn build_new(&mut self, storage: &mut dyn Storage, cancel: &Cancel) -> Result<NewSegment> {
        // Every new transaction was looked up with its block.
        let mut numbers = std::mem::take(&mut self.new_blocks);
        numbers.sort_unstable();
        numbers.dedup();
        let blocks = numbers.into_iter().map(|number| self.block(number).clone()).collect();
        let input = SegmentInput {
            chain: self.chain,
            network: self.held.network,
            blocks,
            transactions: std::mem::take(&mut self.new_transactions),
            contracts: std::mem::take(&mut self.new_contracts).into_iter().collect(),
            tokens: std::mem::take(&mut self.new_tokens).into_values().collect(),
        };
        Ok(NewSegment { part: keep_built(storage, &input, cancel)?, input })
    }
}
