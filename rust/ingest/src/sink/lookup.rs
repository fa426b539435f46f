//! Look-ups of formats in what the sink has read before, and in the target.

use headwater_ledger::facts::Claim;
use headwater_ledger::read::CoverageTable;
use headwater_types::{Address, BlockHash, Timestamp, TxHash};

use super::Sink;
use crate::IngestError;
use crate::genesis::genesis_time;
use crate::target::HeldToken;

impl Sink<'_> {
    /// Returns the time of a block, from an earlier row or the target.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn block_time(&self, number: u64) -> Result<Option<Timestamp>, IngestError> {
        match self.blocks.get(&number) {
            Some(block) => Ok(Some(block.time)),
            None => Ok(self.target.block_time(self.chain(), number)?.or(genesis_time(self.chain(), number))),
        }
    }

    /// Reports if the tokens of a contract are fungible, as far as is known.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn is_fungible(&mut self, contract: &Address) -> Result<bool, IngestError> {
        if let Some(known) = self.fungible.get(contract) {
            return Ok(*known);
        }
        let is_fungible = self.target.token_of(self.chain(), contract)? != HeldToken::NonFungible;
        self.fungible.insert(*contract, is_fungible);
        Ok(is_fungible)
    }

    /// The hash of the transaction at a place, from what was read so far or what the target holds.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn transaction_at(&mut self, block: u64, index: u32) -> Result<Option<TxHash>, IngestError> {
        self.index_pending();
        match self.places.get(&(block, index)) {
            Some(hash) => Ok(Some(*hash)),
            None => Ok(self.target.transaction_at(self.pending.chain, block, index)?),
        }
    }

    /// The block of a transaction, and its place there where that is known, from what was read so far or what the target
    /// holds.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn place_of(&mut self, hash: &TxHash) -> Result<Option<(u64, Option<u32>)>, IngestError> {
        self.index_pending();
        match self.positions.get(hash) {
            Some(place) => Ok(Some(*place)),
            None => Ok(self.target.place_of(self.pending.chain, hash)?),
        }
    }

    /// Adds what was read since the last call to the tables by place and by hash. Other formats do not pay for it.
    fn index_pending(&mut self) {
        for facts in &self.pending.transactions[self.placed..] {
            let place = self.positions.entry(facts.hash).or_insert((facts.block, facts.index));
            place.1 = place.1.or(facts.index);
            if let Some(index) = facts.index {
                self.places.insert((facts.block, index), facts.hash);
            }
        }
        self.placed = self.pending.transactions.len();
    }

    /// The sender of a transaction that was read before or that the target holds.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn sender_of(&mut self, hash: &TxHash) -> Result<Option<Address>, IngestError> {
        for facts in &self.pending.transactions[self.senders_placed..] {
            if let Some(sender) = facts.body.and_then(|body| body.from) {
                self.senders.insert(facts.hash, sender);
            }
        }
        self.senders_placed = self.pending.transactions.len();
        match self.senders.get(hash) {
            Some(sender) => Ok(Some(*sender)),
            None => Ok(self.target.sender_of(self.pending.chain, hash)?),
        }
    }

    /// The decimals of a token, as the registry of the target lists it.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn token_decimals(&self, contract: &Address) -> Result<Option<u8>, IngestError> {
        Ok(self.target.token_decimals(self.chain(), contract)?)
    }

    /// The hash of a block that was read before or that the target holds.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn block_hash(&self, number: u64) -> Result<Option<BlockHash>, IngestError> {
        match self.blocks.get(&number).and_then(|block| block.hash) {
            Some(hash) => Ok(Some(hash)),
            None => Ok(self.target.block_hash(self.pending.chain, number)?),
        }
    }

    /// Returns the hash of a block whose transactions were verified, as an earlier file of the load or the target has it.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn verified_block_hash(&self, number: u64) -> Result<Option<BlockHash>, IngestError> {
        let is_pending = self.pending.claims.iter().any(|claim| {
            matches!(claim, Claim::Blocks { first, last, table: CoverageTable::VerifiedTransactions }
                if (*first..=*last).contains(&number))
        });
        if is_pending || self.target.is_verified(self.chain(), number)? {
            return self.block_hash(number);
        }
        Ok(None)
    }

    /// The number of a block that was read before or that the target holds, by its hash. May be slow.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn block_number(&self, hash: &BlockHash) -> Result<Option<u64>, IngestError> {
        match self.pending.blocks.iter().find(|block| block.hash == Some(*hash)) {
            Some(block) => Ok(Some(block.number)),
            None => Ok(self.target.block_number(self.pending.chain, hash)?),
        }
    }
}
