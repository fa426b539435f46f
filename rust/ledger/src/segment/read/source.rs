//! The parts of a segment that a merge takes beside records and postings.

use headwater_types::Amount;

use super::Segment;
use crate::error::Result;
use crate::facts::{BlockFacts, TokenFacts};

impl Segment {
    /// Gives the memory of what was read of the file back to the system: whoever reads all of it once calls this on the
    /// way, so that memory does not fill with what is behind.
    pub(crate) fn release(&self) {
        self.file.release();
    }

    /// The key of an account's address.
    pub(crate) fn account_key(&self, account: u32) -> Result<&[u8]> {
        self.accounts.key(account as usize)
    }

    /// The bits of an account.
    pub(crate) fn account_flags(&self, account: u32) -> Result<u8> {
        let flags = self.accounts.flags(account)?;
        u8::try_from(flags).map_err(|_| self.assets.wrong(0, "is beside flags of an account that are none"))
    }

    /// The block at a place of the block table.
    pub(crate) fn block_of(&self, place: u64) -> Result<BlockFacts> {
        self.block_at(usize::try_from(place).unwrap_or(usize::MAX))
    }

    /// The number of tokens of which something is said.
    pub(crate) fn token_count(&self) -> usize {
        self.tokens.length
    }

    /// A token by its place, and the account of its contract.
    pub(crate) fn token_of(&self, place: usize) -> Result<(u32, TokenFacts)> {
        Ok((self.tokens.contracts.id(place)?, self.token_at(place)?))
    }

    /// The number of inputs.
    pub(crate) fn input_count(&self) -> usize {
        self.utxo.input_count()
    }

    /// The number of accounts that paid fees.
    pub(crate) fn fee_payers(&self) -> usize {
        self.hubs.fee_payers
    }

    /// Returns who paid fees, by place in order of accounts, and how much.
    pub(crate) fn fee_of_payer(&self, place: usize) -> Result<(u32, Amount)> {
        Ok((self.hubs.fee_accounts.id(place)?, self.hubs.fee_sums.get(place)?))
    }
}
