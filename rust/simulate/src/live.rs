//! Blocks behind the end of an economy, as a follower of a live node would add them: for a server that shows events.

use std::path::{Path, PathBuf};

use headwater_ledger::facts::{Batch, BlockFacts, Body, TransactionFacts};
use headwater_ledger::read::{Accounts, Balances, Generation, Status, Transactions};
use headwater_ledger::store::{TailAdvance, Writer};
use headwater_types::{Address, Amount, Asset, BlockHash, Chain, Timestamp, TxHash};

use crate::error::SimulateError;
use crate::identity::digest;
use crate::random::Stream;

/// The chain.
const CHAIN: Chain = Chain::ETHEREUM;
/// Seconds between two blocks of the chain.
const BLOCK_SECS: i64 = 12;
/// One block in so many is replaced by another one.
const REORG: u64 = 50;
/// The accounts that pay each other.
const ACCOUNTS: usize = 100;
/// Most payments of a block.
const PAYMENTS: u64 = 4;

/// A block that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveBlock {
    /// Its number.
    pub number: u64,
    /// True if it took the place of another block.
    pub is_replacement: bool,
}

/// Makes blocks behind the end of the ethereum of an economy: the largest holders of ether pay each other a part of what they
/// have. The same seed makes the same blocks. They are in the tail of the chain, so that all of them can be taken back.
///
/// The store is locked for each change only.
pub struct LiveBlocks {
    store: PathBuf,
    seed: u64,
    stream: Stream,
    accounts: Vec<(Address, Amount)>,
    /// Blocks made so far, replacements included.
    made: u64,
    /// The last block of the economy.
    end: BlockFacts,
    /// The blocks behind it.
    tail: Vec<BlockFacts>,
}

impl LiveBlocks {
    /// Begins behind the end of the economy in a store. Blocks that a run before this one left are taken back.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn begin(store: &Path, seed: u64) -> Result<Self, SimulateError> {
        let mut writer = Writer::open_or_create(store)?;
        take_back(&mut writer)?;
        let ledger = writer.snapshot();
        let held = ledger.coverage().get(&CHAIN);
        let (number, time) =
            held.and_then(|held| held.last_block.zip(held.last_time)).unwrap_or((0, Timestamp::new(0)));
        let stated = ledger.block(CHAIN, number)?.and_then(|block| block.hash);
        let hash = stated.unwrap_or_else(|| BlockHash::new(digest(seed, "live end", &number.to_be_bytes())));
        let end = BlockFacts { number, hash: Some(hash), parent: None, time };
        let mut accounts = Vec::new();
        if let Some(holders) = ledger.holders(CHAIN, &Asset::Native)? {
            for (account, balance) in holders.first(ACCOUNTS)? {
                accounts.push((ledger.address(account)?, balance));
            }
        }
        Ok(Self {
            store: store.to_owned(),
            seed,
            stream: Stream::new(seed, "live"),
            accounts,
            made: 0,
            end,
            tail: Vec::new(),
        })
    }

    /// Adds a block. One in fifty takes the place of the block before it.
    ///
    /// # Errors
    /// When the store cannot be written; then nothing has changed.
    pub fn add(&mut self) -> Result<LiveBlock, SimulateError> {
        let made = self.made + 1;
        let is_replacement = made.is_multiple_of(REORG) && !self.tail.is_empty();
        let kept = self.tail.len() - usize::from(is_replacement);
        let parent = self.tail[..kept].last().unwrap_or(&self.end);
        let (number, keep_to) = (parent.number + 1, is_replacement.then_some(parent.number));
        let block = BlockFacts {
            number,
            hash: Some(BlockHash::new(digest(self.seed, "live block", &made.to_be_bytes()))),
            parent: parent.hash,
            time: Timestamp::new(parent.time.secs() + BLOCK_SECS),
        };
        let transactions = self.payments(&block, made);
        let batch = Batch { blocks: vec![block.clone()], transactions, ..Batch::new(CHAIN) };
        let advance = TailAdvance { keep_to, blocks: vec![batch], seal_to: None };
        Writer::open_or_create(&self.store)?.advance_tail(CHAIN, advance)?;
        self.made = made;
        self.tail.truncate(kept);
        self.tail.push(block);
        Ok(LiveBlock { number, is_replacement })
    }

    /// Takes back all blocks: the store has the economy alone, as before.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn end(self) -> Result<(), SimulateError> {
        take_back(&mut Writer::open_or_create(&self.store)?)
    }

    /// Makes the payments of a block. Each is at most two hundredths of what the payer has left, so that nobody spends what they
    /// do not have.
    fn payments(&mut self, block: &BlockFacts, made: u64) -> Vec<TransactionFacts> {
        if self.accounts.len() < 2 {
            return Vec::new();
        }
        let count = self.stream.between(1, PAYMENTS);
        let mut transactions = Vec::new();
        for index in 0..u32::try_from(count).unwrap_or(1) {
            let payer = self.stream.index(self.accounts.len());
            let payee = (payer + 1 + self.stream.index(self.accounts.len() - 1)) % self.accounts.len();
            let (from, had) = self.accounts[payer];
            let share = u128::from(self.stream.between(1, 20));
            let value = Amount::from_u128(had.to_u128().unwrap_or(0) / 1000 * share);
            // What is received is not spent on, which keeps the sums simple.
            self.accounts[payer].1 = had.checked_sub(value).unwrap_or(Amount::ZERO);
            let name = [made.to_be_bytes().as_slice(), &index.to_be_bytes()].concat();
            transactions.push(TransactionFacts {
                time: Some(block.time),
                index: Some(index),
                body: Some(Body { from: Some(from), to: Some(self.accounts[payee].0), value }),
                status: Some(Status::Success),
                ..TransactionFacts::new(TxHash::new(digest(self.seed, "live payment", &name)), block.number)
            });
        }
        transactions
    }
}

/// Takes back the tail of the chain.
fn take_back(writer: &mut Writer) -> Result<(), SimulateError> {
    if let Some(lowest) = writer.tail(CHAIN).first() {
        writer.roll_back_tail(CHAIN, lowest.number.saturating_sub(1))?;
    }
    Ok(())
}
