//! The commit of a batch: selects what waits, what is left out, and what goes to the target.

use std::collections::{BTreeSet, HashMap};

use headwater_ledger::LedgerError;
use headwater_ledger::facts::{Batch, Claim};
use headwater_ledger::store::{Contradiction, StatementRef};
use headwater_types::{BlockHash, Timestamp};

use super::{Quoted, RowOrigin, Sink, Weight};
use crate::IngestError;
use crate::error::{FieldError, RowError};
use crate::options::OnError;

/// The position of a commit in the load.
#[derive(Clone, Copy)]
pub(super) enum Last {
    No,
    Yes,
}

/// The rows that state the blocks and the transactions of a batch.
struct BatchOrigins {
    blocks: Vec<RowOrigin>,
    transactions: Vec<RowOrigin>,
}

impl Sink<'_> {
    pub(super) fn commit(&mut self, last: Last) -> Result<(), IngestError> {
        self.cancel.check()?;
        let chain = self.pending.chain;
        let network = self.pending.network;
        if let Last::Yes = last {
            self.pending.claims.extend(std::mem::take(&mut self.spans).claims());
        }
        let mut batch = std::mem::replace(&mut self.pending, Batch::new(chain));
        self.pending.network = network;
        let mut origins = BatchOrigins {
            blocks: std::mem::take(&mut self.block_origins),
            transactions: self.fill_times(&mut batch, last)?,
        };
        self.leave_orphans(&mut batch, &mut origins)?;
        self.groups.clear();
        self.places.clear();
        self.positions.clear();
        self.blocks.clear();
        self.placed = 0;
        self.senders.clear();
        self.senders_placed = 0;
        self.weight = Weight::default();
        if self.pending.transactions.len() >= self.options.batch_transactions {
            return Err(IngestError::Row(Box::new(self.untimed(self.pending.transactions[0].block, self.origins[0]))));
        }
        if batch.is_empty() {
            return Ok(());
        }
        let numbers =
            || batch.blocks.iter().map(|block| block.number).chain(batch.transactions.iter().map(|facts| facts.block));
        let (first, last) = (numbers().min().unwrap_or_default(), numbers().max().unwrap_or_default());
        let committed = match self.options.on_error {
            OnError::Stop => self.target.commit(batch, self.cancel).map(|done| (Some(done), Vec::new())),
            OnError::Skip => self.target.commit_consistent(batch, self.cancel),
        };
        let (done, contradictions) = committed.map_err(|error| match error {
            reason @ (LedgerError::Conflict { .. }
            | LedgerError::ForeignAddress { .. }
            | LedgerError::SegmentFull { .. }
            | LedgerError::SumOverflow(_)
            | LedgerError::UnknownTime { .. }) => {
                IngestError::Refused { path: self.last_file().to_owned(), first, last, reason: reason.into() }
            }
            error => error.into(),
        })?;
        self.report_contradictions(contradictions, &origins);
        let Some(done) = done else { return Ok(()) };
        self.progress.committed(&done);
        self.report.generation = Some(done.generation);
        self.report.commits += 1;
        self.report.added += done.added;
        self.report.enriched += done.enriched;
        self.report.double_spends.extend(done.double_spends);
        self.report.unchanged += done.unchanged;
        self.report.blocks += done.blocks;
        self.report_progress();
        Ok(())
    }

    /// Gives every transaction the time of its block. Those of unknown time wait; at the end they are left out or
    /// the store says what is missing.
    fn fill_times(&mut self, batch: &mut Batch, last: Last) -> Result<Vec<RowOrigin>, IngestError> {
        let mut asked: HashMap<u64, Option<Timestamp>> = HashMap::new();
        let mut kept = Vec::with_capacity(batch.transactions.len());
        let origins = std::mem::take(&mut self.origins);
        let mut origins_kept = Vec::with_capacity(origins.len());
        let mut open = BTreeSet::new();
        for (mut facts, origin) in batch.transactions.drain(..).zip(origins) {
            if facts.time.is_none() {
                facts.time = match asked.get(&facts.block) {
                    Some(time) => *time,
                    None => {
                        let time = self.block_time(facts.block)?;
                        asked.insert(facts.block, time);
                        time
                    }
                };
            }
            match (facts.time, last, self.options.on_error) {
                (Some(_), _, _) => {
                    kept.push(facts);
                    origins_kept.push(origin);
                }
                (None, Last::No, _) => {
                    open.insert(facts.block);
                    self.pending.transactions.push(facts);
                    self.origins.push(origin);
                }
                (None, Last::Yes, OnError::Skip) => {
                    open.insert(facts.block);
                    let error = self.untimed(facts.block, origin);
                    self.skip_of(origin, format!("{}: {}", error.place, error.field), Quoted::IfRoom);
                }
                (None, Last::Yes, OnError::Stop) => {
                    return Err(IngestError::Row(Box::new(self.untimed(facts.block, origin))));
                }
            }
        }
        batch.transactions = kept;
        self.hold_claims(batch, &open, last);
        Ok(origins_kept)
    }

    /// Leaves transactions of orphaned blocks out: those that name another block than the one that is stated or held at
    /// their height.
    fn leave_orphans(&mut self, batch: &mut Batch, origins: &mut BatchOrigins) -> Result<(), IngestError> {
        if batch.transactions.iter().all(|facts| facts.block_hash.is_none()) {
            return Ok(());
        }
        let mut known: HashMap<u64, Option<BlockHash>> = HashMap::new();
        for block in batch.blocks.iter().rev() {
            let hash = known.entry(block.number).or_default();
            *hash = block.hash.or(*hash);
        }
        let mut orphans = Vec::new();
        for (place, facts) in batch.transactions.iter().enumerate() {
            let Some(named) = facts.block_hash else { continue };
            let canonical = match known.get(&facts.block) {
                Some(Some(hash)) => Some(*hash),
                Some(None) | None => {
                    let held = self.target.stated_block_hash(batch.chain, facts.block)?;
                    known.insert(facts.block, held);
                    held
                }
            };
            if canonical.is_some_and(|canonical| canonical != named) {
                orphans.push(place);
            }
        }
        if orphans.is_empty() {
            return Ok(());
        }
        for &place in &orphans {
            let reason = "of orphaned blocks: another block is known at their height";
            self.omit_of(origins.transactions[place], reason.to_owned());
        }
        let mut place = 0..;
        let is_orphan = |place: Option<usize>| place.is_some_and(|place| orphans.binary_search(&place).is_ok());
        batch.transactions.retain(|_| !is_orphan(place.next()));
        let mut place = 0..;
        origins.transactions.retain(|_| !is_orphan(place.next()));
        Ok(())
    }

    /// Counts the rows that were left out as they contradict the store or earlier rows, and names the first of each kind.
    fn report_contradictions(&mut self, contradictions: Vec<Contradiction>, origins: &BatchOrigins) {
        for Contradiction { offered, error } in contradictions {
            let origin = match offered {
                StatementRef::Block(place) => origins.blocks[place],
                StatementRef::Transaction(place) => origins.transactions[place],
            };
            let is_first = match &error {
                LedgerError::Conflict { what, field, .. } => self.named.insert((origin.file, what, field)),
                _ => false,
            };
            let quoted = if is_first { Quoted::Always } else { Quoted::IfRoom };
            self.skip_of(origin, format!("{}: {error}", origin.place), quoted);
        }
    }

    /// Holds back claims of completeness while transactions of theirs wait, and drops them if those are left out.
    fn hold_claims(&mut self, batch: &mut Batch, open: &BTreeSet<u64>, last: Last) {
        let is_open = |claim: &Claim| match claim {
            Claim::Blocks { first, last, .. } => first <= last && open.range(first..=last).next().is_some(),
            Claim::Account { .. } => !open.is_empty(),
        };
        let (waiting, stated) = std::mem::take(&mut batch.claims).into_iter().partition(is_open);
        batch.claims = stated;
        match last {
            Last::No => self.pending.claims = waiting,
            Last::Yes => {}
        }
    }

    /// Returns the error of rows of a block without a known time, with the first of them.
    fn untimed(&self, block: u64, origin: RowOrigin) -> RowError {
        let chain = self.pending.chain;
        let expected = format!(
            "one whose time is known: {chain} block {block} has no known time; ingest the blocks of this range first or \
             together with it"
        );
        let field = FieldError::new("block_number", Some(&block.to_string()), expected);
        let ended = self.report.files.get(origin.file).map(|report| report.path.as_path());
        let file = ended.unwrap_or_else(|| self.last_file()).to_owned();
        RowError { file, place: origin.place, field }
    }
}
