//! Statements of a batch that contradict the store or itself, taken out of it, so that the rest can be committed.
//!
//! Of statements that contradict each other the one that is held prevails, else the first of the batch. A transaction is
//! taken out as it was offered: what other sources say of it stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_types::Chain;

use super::contents::{ChainContents, Contents};
use super::lookup::{self, Outputs};
use super::parts::Part;
use crate::Cancel;
use crate::error::LedgerError;
use crate::facts::{Batch, BlockFacts, Claim, InputFacts, TransactionFacts};
use crate::read::Result;

/// One statement of a batch that was taken out of it.
#[derive(Debug)]
pub struct Contradiction {
    /// The statement.
    pub offered: StatementRef,
    /// The contradiction.
    pub error: LedgerError,
}

/// A statement by its place in the batch, as it was before anything was taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementRef {
    /// A block.
    Block(usize),
    /// A transaction.
    Transaction(usize),
}

impl Contents {
    /// Takes out of a batch what contradicts what is held or what the batch says before, and the claims that do not hold
    /// without it. In order of places, blocks first.
    pub(super) fn set_contradictions_aside(&self, batch: &mut Batch, cancel: &Cancel) -> Result<Vec<Contradiction>> {
        let parts: Vec<&Arc<Part>> = self.chains.get(&batch.chain).into_iter().flat_map(ChainContents::parts).collect();
        let mut found = Vec::new();
        blocks(&parts, batch, &mut found, cancel)?;
        transactions(&parts, batch, &mut found, cancel)?;
        if found.is_empty() {
            return Ok(found);
        }
        found.sort_by_key(|contradiction| contradiction.offered);
        let out: BTreeSet<StatementRef> = found.iter().map(|contradiction| contradiction.offered).collect();
        let mut open = BTreeSet::new();
        let mut place = 0..;
        batch.blocks.retain(|block| {
            let is_out = place.next().is_some_and(|place| out.contains(&StatementRef::Block(place)));
            open.extend(is_out.then_some(block.number));
            !is_out
        });
        let mut place = 0..;
        batch.transactions.retain(|facts| {
            let is_out = place.next().is_some_and(|place| out.contains(&StatementRef::Transaction(place)));
            open.extend(is_out.then_some(facts.block));
            !is_out
        });
        batch.claims.retain(|claim| match claim {
            Claim::Blocks { first, last, .. } => first > last || open.range(first..=last).next().is_none(),
            Claim::Account { .. } => false,
        });
        Ok(found)
    }
}

/// Takes the offered statement in, or returns what it contradicts: the store, where it contradicts that alone.
fn take<T: Clone>(stored: Option<&T>, joined: &mut Option<T>, join: impl Fn(T) -> Result<T>) -> Result<()> {
    let Some(before) = joined.clone().or_else(|| stored.cloned()) else { return Ok(()) };
    match join(before) {
        Ok(after) => *joined = Some(after),
        Err(error @ LedgerError::Conflict { .. }) => {
            let is_of_store = stored.is_some_and(|stored| join(stored.clone()).is_err());
            return Err(if is_of_store { error.with_the_store() } else { error });
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Keeps a conflict and passes on every other error.
fn keep(outcome: Result<()>, offered: StatementRef, found: &mut Vec<Contradiction>) -> Result<()> {
    match outcome {
        Err(error @ LedgerError::Conflict { .. }) => found.push(Contradiction { offered, error }),
        outcome => outcome?,
    }
    Ok(())
}

/// Blocks, then what transactions say of theirs.
fn blocks(parts: &[&Arc<Part>], batch: &Batch, found: &mut Vec<Contradiction>, cancel: &Cancel) -> Result<()> {
    let chain = batch.chain;
    let of_blocks = batch.blocks.iter().map(|block| block.number);
    let mut numbers: Vec<u64> = of_blocks.chain(batch.transactions.iter().map(|facts| facts.block)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let stored: BTreeMap<u64, BlockFacts> = lookup::block_copies(parts, &numbers, cancel)?
        .into_iter()
        .filter_map(|(number, copies)| Some((number, copies.into_iter().next()?.1)))
        .collect();
    let mut joined: BTreeMap<u64, Option<BlockFacts>> = BTreeMap::new();
    let mut offer = |offered: &BlockFacts| {
        let held = stored.get(&offered.number);
        let joined = joined.entry(offered.number).or_default();
        if joined.is_none() && held.is_none() {
            *joined = Some(offered.clone());
        }
        take(held, joined, |before| before.join(offered, chain))
    };
    for (place, block) in batch.blocks.iter().enumerate() {
        keep(offer(block), StatementRef::Block(place), found)?;
    }
    for (place, facts) in batch.transactions.iter().enumerate() {
        let Some(time) = facts.time else { continue };
        let implied = BlockFacts { number: facts.block, hash: facts.block_hash, parent: None, time };
        keep(offer(&implied), StatementRef::Transaction(place), found)?;
    }
    Ok(())
}

/// Transactions that contradict themselves, each other or what is held.
fn transactions(parts: &[&Arc<Part>], batch: &Batch, found: &mut Vec<Contradiction>, cancel: &Cancel) -> Result<()> {
    let (chain, offered) = (batch.chain, &batch.transactions);
    let mut out: BTreeSet<usize> = BTreeSet::new();
    for contradiction in found.iter() {
        if let StatementRef::Transaction(place) = contradiction.offered {
            out.insert(place);
        }
    }
    let mut order: Vec<usize> = (0..offered.len()).filter(|place| !out.contains(place)).collect();
    order.sort_by_key(|&place| (offered[place].hash, place));
    let groups: Vec<&[usize]> = order.chunk_by(|a, b| offered[*a].hash == offered[*b].hash).collect();
    let hashes: Vec<_> = groups.iter().map(|group| offered[group[0]].hash).collect();
    let outputs = Outputs::of(parts, offered, cancel)?;
    for (group, at) in groups.iter().zip(lookup::places(parts, &hashes, cancel)?) {
        let stored = match at {
            Some((part, row)) => Some(parts[part].segment.facts(row)?.canonical(chain)?),
            None => None,
        };
        let mut joined = None;
        for &place in *group {
            let one = &offered[place];
            let outcome = canonical(one, chain).and_then(|one| {
                spends(&one, &outputs, chain)?;
                if joined.is_none() && stored.is_none() {
                    joined = Some(one);
                    return Ok(());
                }
                take(stored.as_ref(), &mut joined, |before: TransactionFacts| before.join(one.clone(), chain))
            });
            keep(outcome, StatementRef::Transaction(place), found)?;
        }
    }
    Ok(())
}

/// Facts as they stand alone; those of a block are looked at with the blocks.
fn canonical(facts: &TransactionFacts, chain: Chain) -> Result<TransactionFacts> {
    TransactionFacts { time: None, block_hash: None, ..facts.clone() }.canonical(chain)
}

/// Returns whether inputs say the amounts of the outputs that they spend.
fn spends(facts: &TransactionFacts, outputs: &Outputs<'_>, chain: Chain) -> Result<()> {
    for InputFacts { previous, spent, .. } in facts.utxo.iter().flat_map(|utxo| &utxo.inputs) {
        if let (Some(spent), Some(output)) = (spent, outputs.get(previous)?)
            && let Some(error) = Outputs::disagreement(chain, &facts.hash, spent, &output)
        {
            return Err(error);
        }
    }
    Ok(())
}
