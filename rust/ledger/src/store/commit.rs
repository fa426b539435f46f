//! The join of a batch with what is held of its chain.
//!
//! Every step asks only what the facts are, never which file or commit they came from, so the outcome of several
//! commits does not depend on their order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_types::{Address, BlockHash, Chain, TxHash};

use super::CommitReport;
use super::claims::Claims;
use super::contents::{ChainContents, Part, Storage, TailBlock, keep_built, keep_merged};
use super::lookup::{self, Outputs, Stand};
use super::rebuild::{self, Edits};
use crate::facts::{Batch, BlockFacts, TokenFacts, TransactionFacts};
use crate::read::Result;
use crate::segment::{SegmentInput, Source};
use crate::{Cancel, LedgerError};

/// Where facts go that are not held yet.
#[derive(Clone, Copy)]
pub(super) enum Destination {
    /// Among what is final.
    Sealed,
    /// A new block of the tail.
    Tail { number: u64, hash: BlockHash, parent: BlockHash },
}

/// What the chain holds after the batch, and what that changed; `None` when it changes nothing.
pub(super) fn commit(
    held: &ChainContents,
    batch: Batch,
    destination: Destination,
    storage: &mut dyn Storage,
    cancel: &Cancel,
) -> Result<(Option<ChainContents>, CommitReport)> {
    let chain = batch.chain;
    let claims = Claims::of(&batch.claims);
    let parts: Vec<&Arc<Part>> = held.parts().collect();
    let mut plan = Plan::new(held, &parts, chain, destination);
    plan.take_blocks(&batch, cancel)?;
    plan.take_transactions(batch.transactions, cancel)?;
    plan.take_contracts(&batch.contracts)?;
    plan.take_tokens(batch.tokens)?;
    plan.carry_out(claims, storage, cancel)
}

struct Plan<'a> {
    held: &'a ChainContents,
    parts: &'a [&'a Arc<Part>],
    chain: Chain,
    destination: Destination,
    /// Blocks of the batch and of its transactions, joined with every copy held.
    blocks: BTreeMap<u64, BlockFacts>,
    /// What is to be written anew, by place of the part.
    edits: BTreeMap<usize, Edits>,
    /// What goes into a new segment.
    new_blocks: BTreeSet<u64>,
    new_transactions: Vec<TransactionFacts>,
    new_contracts: BTreeSet<Address>,
    new_tokens: BTreeMap<Address, TokenFacts>,
    report: CommitReport,
}

impl<'a> Plan<'a> {
    fn new(held: &'a ChainContents, parts: &'a [&'a Arc<Part>], chain: Chain, destination: Destination) -> Self {
        Self {
            held,
            parts,
            chain,
            destination,
            blocks: BTreeMap::new(),
            edits: BTreeMap::new(),
            new_blocks: BTreeSet::new(),
            new_transactions: Vec::new(),
            new_contracts: BTreeSet::new(),
            new_tokens: BTreeMap::new(),
            report: CommitReport::default(),
        }
    }

    /// Whether what this part holds stays when the tail is rolled back, as far as the destination cares.
    fn is_kept(&self, place: usize) -> bool {
        match self.destination {
            Destination::Sealed => place < self.held.sealed.len(),
            Destination::Tail { .. } => true,
        }
    }

    /// Joins the blocks that are stated, and those whose time a transaction states, with every copy held.
    fn take_blocks(&mut self, batch: &Batch, cancel: &Cancel) -> Result<()> {
        let mut offered: BTreeMap<u64, BlockFacts> = BTreeMap::new();
        let implied = batch.transactions.iter().filter_map(|transaction| {
            transaction.time.map(|time| BlockFacts { number: transaction.block, hash: None, parent: None, time })
        });
        // Transactions of one block mostly follow each other and say the same.
        let mut last = None;
        let implied =
            implied.filter(|block| last.replace((block.number, block.time)) != Some((block.number, block.time)));
        for block in batch.blocks.iter().cloned().chain(implied) {
            let joined = match offered.remove(&block.number) {
                Some(known) => known.join(&block, self.chain)?,
                None => block,
            };
            offered.insert(joined.number, joined);
        }
        // Blocks of which only transactions speak, and those without a time.
        let silent = batch.transactions.iter().filter(|facts| facts.time.is_none());
        let unstated: BTreeMap<u64, TxHash> = silent
            .filter(|facts| !offered.contains_key(&facts.block))
            .map(|facts| (facts.block, facts.hash))
            .rev()
            .collect();
        let numbers: BTreeSet<u64> = offered.keys().chain(unstated.keys()).copied().collect();
        let numbers: Vec<u64> = numbers.into_iter().collect();
        let mut copies = lookup::block_copies(self.parts, &numbers, cancel)?;
        for number in numbers {
            let copies = copies.remove(&number).unwrap_or_default();
            let Some(block) = self.join_block(number, offered.remove(&number), &copies)? else {
                return Err(LedgerError::UnknownTime {
                    chain: self.chain,
                    block: number,
                    transaction: unstated[&number].display(self.chain.family()),
                });
            };
            self.blocks.insert(number, block);
        }
        Ok(())
    }

    /// Joins an offered block with all copies held, and marks the copies that know less.
    fn join_block(
        &mut self,
        number: u64,
        offered: Option<BlockFacts>,
        copies: &[(usize, BlockFacts)],
    ) -> Result<Option<BlockFacts>> {
        let is_stated = offered.is_some();
        let mut joined = copies.first().map(|(_, copy)| copy.clone());
        if let Some(offered) = offered {
            joined = Some(match joined {
                Some(held) => held.join(&offered, self.chain)?,
                None => offered,
            });
        }
        let Some(joined) = joined else { return Ok(None) };
        let mut is_enriched = copies.is_empty();
        for (place, copy) in copies {
            if *copy != joined {
                is_enriched = true;
                self.edits.entry(*place).or_default().blocks.insert(number, joined.clone());
            }
        }
        self.report.blocks += u64::from(is_enriched);
        if is_stated && !copies.iter().any(|(place, _)| self.is_kept(*place)) {
            self.new_blocks.insert(number);
        }
        Ok(Some(joined))
    }

    fn take_transactions(&mut self, offered: Vec<TransactionFacts>, cancel: &Cancel) -> Result<()> {
        let (mut offered, by_hash) = joined(offered, self.chain)?;
        let mut of_block = None;
        for facts in &mut offered {
            let time = match of_block {
                Some((block, time)) if block == facts.block => time,
                _ => self.blocks[&facts.block].time,
            };
            of_block = Some((facts.block, time));
            facts.time = Some(time);
        }
        let outputs = Outputs::of(self.parts, &offered, cancel)?;
        let hashes: Vec<TxHash> = by_hash.iter().map(|&(hash, _)| hash).collect();
        let mut stands = vec![None; offered.len()];
        for ((_, place), stand) in by_hash.into_iter().zip(lookup::stands(self.parts, &hashes, cancel)?) {
            stands[place] = stand;
        }

        let mut with_new_outputs = Vec::new();
        // Of several faults the one of the least hash is told, in whatever order the batch came.
        let mut fault: Option<(TxHash, LedgerError)> = None;
        for (count, (facts, stand)) in offered.into_iter().zip(stands).enumerate() {
            if count % 1024 == 0 {
                cancel.check()?;
            }
            let hash = facts.hash;
            match self.take_transaction(facts, stand, &outputs) {
                Ok(true) if outputs.are_offered(&hash) => with_new_outputs.push(hash),
                Err(error) if fault.as_ref().is_none_or(|(least, _)| hash < *least) => fault = Some((hash, error)),
                Ok(_) | Err(_) => {}
            }
        }
        if let Some((_, error)) = fault {
            return Err(error);
        }
        with_new_outputs.sort_unstable();
        self.complete_spenders(&with_new_outputs, &outputs, cancel)
    }

    /// Files one transaction, which may stand somewhere already; tells whether anything in it was new.
    fn take_transaction(
        &mut self,
        mut offered: TransactionFacts,
        stand: Option<Stand>,
        outputs: &Outputs<'_>,
    ) -> Result<bool> {
        self.complete(&mut offered, outputs)?;
        let Some((place, row)) = stand else {
            self.report.added += 1;
            self.add(offered);
            return Ok(true);
        };
        let stored = self.parts[place].segment.facts(row)?.canonical(self.chain)?;
        let mut held = stored.clone();
        self.complete(&mut held, outputs)?;
        let joined = held.join(offered, self.chain)?;
        let is_enriched = joined != stored;
        *(if is_enriched { &mut self.report.enriched } else { &mut self.report.unchanged }) += 1;
        if !self.is_kept(place) {
            // What a final source states must outlive a roll-back of the tail.
            self.edits.entry(place).or_default().rows.insert(row, None);
            self.add(joined);
        } else if is_enriched {
            self.edits.entry(place).or_default().rows.insert(row, Some(joined));
        }
        Ok(is_enriched)
    }

    fn add(&mut self, facts: TransactionFacts) {
        if self.new_transactions.last().is_none_or(|last| last.block != facts.block) {
            self.new_blocks.insert(facts.block);
        }
        self.new_transactions.push(facts);
    }

    /// Completes inputs by the outputs they spend. The output itself stands before what its spender's source said of
    /// it; only the amount must agree.
    fn complete(&self, facts: &mut TransactionFacts, outputs: &Outputs<'_>) -> Result<()> {
        let Some(utxo) = &mut facts.utxo else { return Ok(()) };
        for input in &mut utxo.inputs {
            let Some(output) = outputs.get(&input.previous)? else { continue };
            if let Some(spent) = &input.spent
                && spent.amount != output.amount
            {
                return Err(LedgerError::Conflict {
                    chain: self.chain,
                    what: "transaction",
                    id: facts.hash.display(self.chain.family()),
                    field: "amount of a spent output",
                    held: output.amount.to_string(),
                    offered: spent.amount.to_string(),
                });
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
                    self.edits.entry(place).or_default().rows.insert(row, Some(completed));
                }
            }
        }
        Ok(())
    }

    fn take_contracts(&mut self, offered: &[Address]) -> Result<()> {
        let kept = self.parts.iter().enumerate().filter(|(place, _)| self.is_kept(*place));
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
            let joined = copies.iter().fold(token, |token, (_, copy)| token.join(copy.clone()));
            let is_kept = copies.iter().any(|(place, _)| self.is_kept(*place));
            for (place, copy) in copies {
                if copy != joined {
                    self.edits.entry(place).or_default().tokens.insert(contract, joined.clone());
                }
            }
            if !is_kept {
                self.new_tokens.insert(contract, joined);
            }
        }
        Ok(())
    }

    fn carry_out(
        mut self,
        claims: Claims,
        storage: &mut dyn Storage,
        cancel: &Cancel,
    ) -> Result<(Option<ChainContents>, CommitReport)> {
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
        let has_new = match self.destination {
            Destination::Sealed => self.seal_new(&mut after, &claims, storage, cancel)?,
            Destination::Tail { number, hash, parent } => {
                self.new_blocks.insert(number);
                let part = self.build_new(storage, cancel)?;
                after.tail.push(TailBlock { number, hash, parent, claims, part });
                true
            }
        };
        Ok(((has_edits || has_new).then_some(after), self.report))
    }

    fn seal_new(
        &mut self,
        after: &mut ChainContents,
        claims: &Claims,
        storage: &mut dyn Storage,
        cancel: &Cancel,
    ) -> Result<bool> {
        let has_facts = !(self.new_blocks.is_empty()
            && self.new_transactions.is_empty()
            && self.new_contracts.is_empty()
            && self.new_tokens.is_empty());
        if has_facts {
            after.sealed.push(self.build_new(storage, cancel)?);
        }
        after.claims.add(claims);
        let has_claims = after.claims != self.held.claims;
        if after.claims.accounts != self.held.claims.accounts {
            after.accounts_file = None;
        }
        Ok(has_facts || has_claims)
    }

    fn build_new(&mut self, storage: &mut dyn Storage, cancel: &Cancel) -> Result<Arc<Part>> {
        // Every new transaction was looked up with its block.
        let blocks = std::mem::take(&mut self.new_blocks).iter().map(|number| self.blocks[number].clone()).collect();
        let input = SegmentInput {
            chain: self.chain,
            network: self.held.network,
            blocks,
            transactions: std::mem::take(&mut self.new_transactions),
            contracts: std::mem::take(&mut self.new_contracts).into_iter().collect(),
            tokens: std::mem::take(&mut self.new_tokens).into_values().collect(),
        };
        keep_built(storage, &input, cancel)
    }
}

/// Hashes in order, and where in a batch the facts of each are.
type Places = Vec<(TxHash, usize)>;

/// One entry per transaction, canonical and in the order of the batch, and their places in order of hash. Facts are
/// large: they stay where they are, and batches come in order of rows, as the build reads them.
fn joined(mut offered: Vec<TransactionFacts>, chain: Chain) -> Result<(Vec<TransactionFacts>, Places)> {
    let mut by_hash = places_by_hash(&offered);
    let mut is_joined = false;
    for same in by_hash.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        is_joined = true;
        let mut take = |place: usize| {
            let taken = TransactionFacts::new(offered[place].hash, offered[place].block);
            std::mem::replace(&mut offered[place], taken)
        };
        let first = take(same[0].1);
        let joined = same[1..].iter().try_fold(first, |joined, &(_, place)| joined.join(take(place), chain))?;
        offered[same[0].1] = joined;
    }
    if is_joined {
        let mut is_first = vec![true; offered.len()];
        for pair in by_hash.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            is_first[pair[1].1] = false;
        }
        let mut kept = is_first.into_iter();
        offered.retain(|_| kept.next().unwrap_or(true));
        by_hash = places_by_hash(&offered);
    }
    let mut unsettled: Vec<(TxHash, usize)> = Vec::new();
    for (place, facts) in offered.iter_mut().enumerate() {
        if !facts.settle() {
            unsettled.push((facts.hash, place));
        }
    }
    unsettled.sort_unstable();
    for (hash, place) in unsettled {
        let block = offered[place].block;
        let facts = std::mem::replace(&mut offered[place], TransactionFacts::new(hash, block));
        offered[place] = facts.canonical(chain)?;
    }
    Ok((offered, by_hash))
}

fn places_by_hash(facts: &[TransactionFacts]) -> Places {
    let mut places: Vec<_> = facts.iter().enumerate().map(|(place, facts)| (facts.hash, place)).collect();
    places.sort_unstable();
    places
}
