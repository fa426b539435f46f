//! One block on its way into the tail.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use headwater_ingest::{IngestError, Options, Silent, StagedBatches, ingest_into};
use headwater_ledger::Snapshot;
use headwater_ledger::facts::{Batch, Claim};
use headwater_ledger::read::{ChainRange, CoverageTable, Generation as _, History as _, Transactions as _, uncovered};
use headwater_types::{BlockHash, Chain};

use super::{Follower, Intake, freezes};
use crate::error::{CallError, FetchError, NodeError};
use crate::history::Traces;
use crate::source::{FetchedBlocks, HeldBlock};
use crate::spool::remove;

/// A verified block with its facts.
pub(super) struct PreparedBlock {
    pub number: u64,
    /// Its hash.
    pub hash: Option<BlockHash>,
    /// The hash of the block before.
    parent: Option<BlockHash>,
    pub batch: Batch,
    /// The tables that are complete.
    complete: Vec<CoverageTable>,
    /// True if an issuer froze or unfroze an account in it.
    pub has_freezes: bool,
}

impl PreparedBlock {
    /// Returns the number of its transactions; rewards and the like are none.
    pub fn transactions(&self) -> u64 {
        // Receipts and traces repeat their transaction.
        let hashes = self.batch.transactions.iter().map(|facts| facts.hash).filter(|hash| !hash.is_made());
        hashes.collect::<BTreeSet<_>>().len() as u64
    }

    /// Returns its facts with the tables that are complete, given what the store holds.
    pub fn with_claims(self, snapshot: &Snapshot) -> Result<Batch, NodeError> {
        let Self { number, mut batch, complete, .. } = self;
        let is_alone = !has_others(snapshot, number, &batch)?;
        for table in complete {
            let is_verified = matches!(table, CoverageTable::VerifiedTransactions | CoverageTable::VerifiedReceipts);
            if is_alone || !is_verified {
                batch.claims.push(Claim::Blocks { first: number, last: number, table });
            }
        }
        Ok(batch)
    }
}

impl Follower<'_> {
    /// Fetches and verifies blocks, the first of which follows a block of this hash, and reads their facts.
    pub(super) fn prepare(
        &self,
        intake: &Intake,
        snapshot: &Arc<Snapshot>,
        (first, last): (u64, u64),
        fork: Option<BlockHash>,
    ) -> Result<Vec<PreparedBlock>, NodeError> {
        let numbers: Vec<u64> = (first..=last).collect();
        // A single provider decides itself; of several no single one does.
        let expected = match self.providers.all().len() {
            1 => vec![None; numbers.len()],
            _ => self.hashes(&*intake.source, &numbers)?,
        };
        if let (true, Some(place)) = (self.providers.all().len() > 1, expected.iter().position(Option::is_none)) {
            return Err(NodeError::Moved { block: numbers[place] });
        }
        let blocks = self.prepare_each(intake, snapshot, &numbers, &expected)?;
        let mut before = fork;
        for block in &blocks {
            if before.is_some() && block.parent != before {
                return Err(NodeError::Moved { block: block.number });
            }
            before = block.hash;
        }
        Ok(blocks)
    }

    /// Prepares blocks at the same time.
    fn prepare_each(
        &self,
        intake: &Intake,
        snapshot: &Arc<Snapshot>,
        numbers: &[u64],
        expected: &[Option<BlockHash>],
    ) -> Result<Vec<PreparedBlock>, NodeError> {
        let next = AtomicUsize::new(0);
        let done: Vec<Mutex<Option<Result<PreparedBlock, NodeError>>>> =
            numbers.iter().map(|_| Mutex::default()).collect();
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some((number, expected)) = numbers.get(place).zip(expected.get(place)) else { break };
                let prepared = self.prepare_one(intake, snapshot, *number, *expected);
                if prepared.is_err() {
                    next.store(numbers.len(), Ordering::Relaxed);
                }
                *done[place].lock().expect("no holder of the lock panics") = Some(prepared);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.options.parallel.min(numbers.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut blocks = Vec::with_capacity(numbers.len());
        for slot in done {
            match slot.into_inner().expect("no holder of the lock panics") {
                Some(Ok(block)) => blocks.push(block),
                Some(Err(error)) => return Err(error),
                // It was not begun, for a block behind it failed.
                None => {}
            }
        }
        Ok(blocks)
    }

    fn prepare_one(
        &self,
        intake: &Intake,
        snapshot: &Arc<Snapshot>,
        number: u64,
        expected: Option<BlockHash>,
    ) -> Result<PreparedBlock, NodeError> {
        let source = &*intake.source;
        let fetched = self.providers.ask((number, number), |provider| {
            let fetched = source.fetch(provider, (number, number), self.cancel)?;
            match fetched.hashes.first() {
                Some(hash) if expected.is_none_or(|expected| expected == *hash) => Ok(fetched),
                _ => Err(FetchError::Call(CallError::Missing(format!("block {number} of the other providers")))),
            }
        })?;
        let (hash, parent, mut complete) = (fetched.hashes.first().copied(), fetched.parent, fetched.complete);
        let mut content = fetched.content;
        if let (Some(held), true) = (fetched.held.first(), self.options.traces == Traces::WherePossible)
            && let Some(traces) = self.traces(intake, held)?
        {
            content.extend(traces.content);
            complete.extend(traces.complete);
        }
        let batch = self.read(intake, snapshot, number, &content)?;
        let has_freezes = freezes::are_in(&batch);
        Ok(PreparedBlock { number, hash, parent, batch, complete, has_freezes })
    }

    /// Reads the answers about a block as a file of them.
    fn read(&self, intake: &Intake, snapshot: &Arc<Snapshot>, number: u64, content: &[u8]) -> Result<Batch, NodeError> {
        let Intake { source, spool } = intake;
        let file = spool.write(&source.file_name(number, number), content)?;
        let reading = Options {
            chain: Some(self.options.chain),
            format: Some(source.format().to_owned()),
            network: source.network(),
            ..Options::default()
        };
        let mut staged = StagedBatches { ledger: Arc::clone(snapshot), batches: Vec::new() };
        let outcome = ingest_into(std::slice::from_ref(&file), &reading, &mut staged, &Silent, self.cancel);
        outcome.map_err(|source| match source {
            IngestError::Cancelled(_) | IngestError::Store(_) => NodeError::Ingest(source),
            source => NodeError::Contradiction { first: number, last: number, source },
        })?;
        remove(&file)?;
        Ok(united(self.options.chain, staged.batches))
    }

    /// Fetches the internal movements of a block; `None` where no provider has them.
    fn traces(&self, intake: &Intake, block: &HeldBlock) -> Result<Option<FetchedBlocks>, NodeError> {
        let blocks = std::slice::from_ref(block);
        let ask = |provider: &_| intake.source.fetch_traces(provider, blocks, self.cancel);
        match self.providers.ask((block.number, block.number), ask) {
            Ok(traces) => Ok(Some(traces)),
            // Answers say that they are missing: a block without them is of use.
            Err(NodeError::NoProvider { reasons, .. }) => {
                self.note_once("internal movements are missing", &reasons);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Unites the batches of one block.
fn united(chain: Chain, batches: Vec<Batch>) -> Batch {
    let mut united = Batch::new(chain);
    for batch in batches {
        united.network = united.network.or(batch.network);
        united.blocks.extend(batch.blocks);
        united.transactions.extend(batch.transactions);
        united.contracts.extend(batch.contracts);
        united.tokens.extend(batch.tokens);
        united.claims.extend(batch.claims);
    }
    united
}

/// Returns whether the store has transactions of a block from another source that are not in the verified block.
fn has_others(snapshot: &Snapshot, number: u64, verified: &Batch) -> Result<bool, NodeError> {
    let chain = verified.chain;
    let coverage = snapshot.coverage().get(&chain);
    let ranges = coverage.map_or(&[][..], |coverage| coverage.ranges_of(CoverageTable::VerifiedTransactions));
    if uncovered(ranges, (number, number)).is_empty() {
        // A block of the tail that is replaced: all rows of it go with it.
        return Ok(false);
    }
    let range = ChainRange { from_block: Some(number), up_to_block: Some(number), ..ChainRange::default() };
    for run in snapshot.transaction_runs(chain, &range, 1 << 16)? {
        for reference in run?.transactions() {
            let head = snapshot.transaction_head(reference)?;
            let is_verified = || verified.transactions.iter().any(|facts| facts.hash == head.hash);
            if !head.hash.is_made() && !is_verified() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
