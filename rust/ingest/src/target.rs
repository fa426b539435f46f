//! The target of facts, with the look-ups that readers need.

use std::sync::Arc;

use headwater_ledger::facts::{Batch, Claim};
use headwater_ledger::read::{Accounts, Assets, CoverageTable, Generation, Transactions};
use headwater_ledger::store::{CommitReport, Contradiction, Writer};
use headwater_ledger::{Cancel, Ledger, LedgerError, Snapshot};
use headwater_types::{Address, Asset, BlockHash, Chain, Timestamp, TxHash};

/// Takes batches in, and answers the questions that some files leave open.
pub trait Target {
    /// Joins a batch with what is held. All of it, or nothing.
    ///
    /// # Errors
    /// When the target refuses it.
    fn commit(&mut self, batch: Batch, cancel: &Cancel) -> Result<CommitReport, LedgerError>;

    /// Joins a batch with what is held, without what contradicts that or what the batch says before.
    ///
    /// # Errors
    /// When the target refuses it.
    fn commit_consistent(&mut self, batch: Batch, cancel: &Cancel) -> Result<ConsistentCommit, LedgerError>;

    /// The hash of the transaction at a place; `None` when it is not held.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn transaction_at(&self, chain: Chain, block: u64, index: u32) -> Result<Option<TxHash>, LedgerError>;

    /// The block that a transaction stands in, and its place there where it is known; `None` when it is not held.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn place_of(&self, chain: Chain, hash: &TxHash) -> Result<Option<(u64, Option<u32>)>, LedgerError>;

    /// The time of a block; `None` when it is not held.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn block_time(&self, chain: Chain, block: u64) -> Result<Option<Timestamp>, LedgerError>;

    /// The hash of a block; `None` when it is not held.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn block_hash(&self, chain: Chain, block: u64) -> Result<Option<BlockHash>, LedgerError>;

    /// The hash of a block that a source of blocks stated, so that rows of another block at its height are orphans;
    /// `None` if only rows that name it state it.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn stated_block_hash(&self, chain: Chain, block: u64) -> Result<Option<BlockHash>, LedgerError>;

    /// Returns whether the transactions of a block were verified against its hash.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn is_verified(&self, chain: Chain, block: u64) -> Result<bool, LedgerError>;

    /// Returns the state of a contract as a token.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn token_of(&self, chain: Chain, contract: &Address) -> Result<HeldToken, LedgerError>;

    /// The number of a block of this hash; `None` when it is not held. Looks at every block that is covered: asked
    /// only for blocks whose height has no other source.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn block_number(&self, chain: Chain, hash: &BlockHash) -> Result<Option<u64>, LedgerError>;

    /// The sender of a transaction; `None` when it is not known.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn sender_of(&self, _chain: Chain, _hash: &TxHash) -> Result<Option<Address>, LedgerError> {
        Ok(None)
    }

    /// The decimals of a token, as the registry lists it; `None` when no list has it.
    ///
    /// # Errors
    /// When the target cannot be read.
    fn token_decimals(&self, _chain: Chain, _contract: &Address) -> Result<Option<u8>, LedgerError> {
        Ok(None)
    }
}

/// The report of a commit, `None` where nothing was left of the batch, and the statements that were taken out of it.
pub type ConsistentCommit = (Option<CommitReport>, Vec<Contradiction>);

/// The state of a contract as a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldToken {
    /// Nothing.
    Unknown,
    /// It is not fungible.
    NonFungible,
    /// It occurs, and nothing says that it is not fungible.
    Known,
}

fn is_covered(ledger: &dyn Ledger, chain: Chain, table: CoverageTable, block: u64) -> bool {
    let ranges = ledger.coverage().get(&chain).map_or(&[][..], |coverage| coverage.ranges_of(table));
    ranges.get(ranges.partition_point(|(_, last)| *last < block)).is_some_and(|(first, _)| *first <= block)
}

/// A target that answers look-ups from a generation of a store.
pub trait StoreTarget {
    /// Returns the generation that answers.
    fn ledger(&self) -> Arc<Snapshot>;

    /// As [`Target::commit`].
    ///
    /// # Errors
    /// As [`Target::commit`].
    fn take(&mut self, batch: Batch, cancel: &Cancel) -> Result<CommitReport, LedgerError>;

    /// As [`Target::commit_consistent`].
    ///
    /// # Errors
    /// As [`Target::commit_consistent`].
    fn take_consistent(&mut self, batch: Batch, cancel: &Cancel) -> Result<ConsistentCommit, LedgerError>;
}

impl StoreTarget for Writer {
    fn ledger(&self) -> Arc<Snapshot> {
        self.snapshot()
    }

    fn take(&mut self, batch: Batch, cancel: &Cancel) -> Result<CommitReport, LedgerError> {
        self.commit(batch, cancel)
    }

    fn take_consistent(&mut self, batch: Batch, cancel: &Cancel) -> Result<ConsistentCommit, LedgerError> {
        self.commit_consistent(batch, cancel)
    }
}

/// Keeps the batches for a later change of the store whose generation answers.
pub struct StagedBatches {
    /// The generation.
    pub ledger: Arc<Snapshot>,
    /// The batches, in order of commit.
    pub batches: Vec<Batch>,
}

impl StoreTarget for StagedBatches {
    fn ledger(&self) -> Arc<Snapshot> {
        Arc::clone(&self.ledger)
    }

    fn take(&mut self, batch: Batch, _: &Cancel) -> Result<CommitReport, LedgerError> {
        self.batches.push(batch);
        Ok(CommitReport { generation: self.ledger.generation(), ..CommitReport::default() })
    }

    /// Takes all of it: the later change refuses contradictions.
    fn take_consistent(&mut self, batch: Batch, cancel: &Cancel) -> Result<ConsistentCommit, LedgerError> {
        Ok((Some(self.take(batch, cancel)?), Vec::new()))
    }
}

impl<T: StoreTarget> Target for T {
    fn commit(&mut self, batch: Batch, cancel: &Cancel) -> Result<CommitReport, LedgerError> {
        self.take(batch, cancel)
    }

    fn commit_consistent(&mut self, batch: Batch, cancel: &Cancel) -> Result<ConsistentCommit, LedgerError> {
        self.take_consistent(batch, cancel)
    }

    fn transaction_at(&self, chain: Chain, block: u64, index: u32) -> Result<Option<TxHash>, LedgerError> {
        let ledger = self.ledger();
        match ledger.transaction_at(chain, block, index)? {
            Some(transaction) => Ok(Some(ledger.transaction_head(transaction)?.hash)),
            None => Ok(None),
        }
    }

    fn place_of(&self, chain: Chain, hash: &TxHash) -> Result<Option<(u64, Option<u32>)>, LedgerError> {
        let ledger = self.ledger();
        let Some(transaction) = ledger.find_transaction(chain, hash)? else { return Ok(None) };
        let head = ledger.transaction_head(transaction)?;
        Ok(Some((head.block, head.index)))
    }

    fn block_time(&self, chain: Chain, block: u64) -> Result<Option<Timestamp>, LedgerError> {
        Ok(self.ledger().block(chain, block)?.map(|block| block.time))
    }

    fn block_hash(&self, chain: Chain, block: u64) -> Result<Option<BlockHash>, LedgerError> {
        Ok(self.ledger().block(chain, block)?.and_then(|block| block.hash))
    }

    fn stated_block_hash(&self, chain: Chain, block: u64) -> Result<Option<BlockHash>, LedgerError> {
        let ledger = self.ledger();
        if !is_covered(&*ledger, chain, CoverageTable::Blocks, block) {
            return Ok(None);
        }
        Ok(ledger.block(chain, block)?.and_then(|block| block.hash))
    }

    fn is_verified(&self, chain: Chain, block: u64) -> Result<bool, LedgerError> {
        Ok(is_covered(&*self.ledger(), chain, CoverageTable::VerifiedTransactions, block))
    }

    fn token_of(&self, chain: Chain, contract: &Address) -> Result<HeldToken, LedgerError> {
        let ledger = self.ledger();
        if ledger.token_facts(chain, contract)?.is_some_and(|token| token.is_non_fungible) {
            return Ok(HeldToken::NonFungible);
        }
        let is_known = ledger.account(chain, contract)?.is_some();
        Ok(if is_known { HeldToken::Known } else { HeldToken::Unknown })
    }

    fn block_number(&self, chain: Chain, hash: &BlockHash) -> Result<Option<u64>, LedgerError> {
        let ledger = self.ledger();
        let covered = ledger.coverage().get(&chain).and_then(|coverage| coverage.ranges.get(&CoverageTable::Blocks));
        // The newest first: files mostly go on where the last ones ended.
        for number in covered.into_iter().flatten().rev().flat_map(|(first, last)| (*first..=*last).rev()) {
            if ledger.block(chain, number)?.and_then(|block| block.hash) == Some(*hash) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn sender_of(&self, chain: Chain, hash: &TxHash) -> Result<Option<Address>, LedgerError> {
        let ledger = self.ledger();
        let Some(transaction) = ledger.find_transaction(chain, hash)? else { return Ok(None) };
        Ok(ledger.transaction(transaction)?.facts.body.and_then(|body| body.from))
    }

    fn token_decimals(&self, chain: Chain, contract: &Address) -> Result<Option<u8>, LedgerError> {
        Ok(self.ledger().registry().entry(chain, &Asset::Token(*contract)).map(|entry| entry.decimals))
    }
}

/// Keeps the batches in memory, for a ledger without a disk and for tests.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The batches, in order of commit.
    pub batches: Vec<Batch>,
}

impl Gathered {
    fn of(&self, chain: Chain) -> impl Iterator<Item = &Batch> {
        self.batches.iter().filter(move |batch| batch.chain == chain)
    }
}

impl Target for Gathered {
    fn commit(&mut self, batch: Batch, _cancel: &Cancel) -> Result<CommitReport, LedgerError> {
        let count = |number: usize| u64::try_from(number).expect("a length fits 64 bits");
        let report = CommitReport {
            generation: count(self.batches.len()) + 1,
            added: count(batch.transactions.len()),
            blocks: count(batch.blocks.len()),
            ..CommitReport::default()
        };
        self.batches.push(batch);
        Ok(report)
    }

    /// Takes all of it: batches are kept as they come, and contradict each other where they are joined.
    fn commit_consistent(&mut self, batch: Batch, cancel: &Cancel) -> Result<ConsistentCommit, LedgerError> {
        Ok((Some(self.commit(batch, cancel)?), Vec::new()))
    }

    fn transaction_at(&self, chain: Chain, block: u64, index: u32) -> Result<Option<TxHash>, LedgerError> {
        let mut all = self.of(chain).flat_map(|batch| &batch.transactions);
        Ok(all.find(|facts| facts.block == block && facts.index == Some(index)).map(|facts| facts.hash))
    }

    fn place_of(&self, chain: Chain, hash: &TxHash) -> Result<Option<(u64, Option<u32>)>, LedgerError> {
        let all = self.of(chain).flat_map(|batch| &batch.transactions);
        let mut found = all.filter(|facts| facts.hash == *hash).map(|facts| (facts.block, facts.index));
        let Some(first) = found.next() else { return Ok(None) };
        Ok(Some((first.0, first.1.or_else(|| found.find_map(|(_, index)| index)))))
    }

    fn block_time(&self, chain: Chain, block: u64) -> Result<Option<Timestamp>, LedgerError> {
        Ok(self.of(chain).find_map(|batch| {
            let of_blocks = batch.blocks.iter().find(|facts| facts.number == block).map(|facts| facts.time);
            of_blocks.or_else(|| {
                let stated = |facts: &&headwater_ledger::facts::TransactionFacts| facts.block == block;
                batch.transactions.iter().filter(stated).find_map(|facts| facts.time)
            })
        }))
    }

    fn block_hash(&self, chain: Chain, block: u64) -> Result<Option<BlockHash>, LedgerError> {
        let mut all = self.of(chain).flat_map(|batch| &batch.blocks);
        Ok(all.find(|facts| facts.number == block).and_then(|facts| facts.hash))
    }

    fn stated_block_hash(&self, chain: Chain, block: u64) -> Result<Option<BlockHash>, LedgerError> {
        self.block_hash(chain, block)
    }

    fn is_verified(&self, chain: Chain, block: u64) -> Result<bool, LedgerError> {
        Ok(self.of(chain).flat_map(|batch| &batch.claims).any(|claim| {
            matches!(claim, Claim::Blocks { first, last, table: CoverageTable::VerifiedTransactions }
                if (*first..=*last).contains(&block))
        }))
    }

    fn token_of(&self, chain: Chain, contract: &Address) -> Result<HeldToken, LedgerError> {
        let mut tokens = self.of(chain).flat_map(|batch| &batch.tokens).filter(|token| token.contract == *contract);
        let is_non_fungible = tokens.any(|token| token.is_non_fungible);
        Ok(if is_non_fungible { HeldToken::NonFungible } else { HeldToken::Unknown })
    }

    fn block_number(&self, chain: Chain, hash: &BlockHash) -> Result<Option<u64>, LedgerError> {
        let mut all = self.of(chain).flat_map(|batch| &batch.blocks);
        Ok(all.find(|facts| facts.hash == Some(*hash)).map(|facts| facts.number))
    }

    fn sender_of(&self, chain: Chain, hash: &TxHash) -> Result<Option<Address>, LedgerError> {
        let all = self.of(chain).flat_map(|batch| &batch.transactions);
        Ok(all.filter(|facts| facts.hash == *hash).find_map(|facts| facts.body?.from))
    }
}
