//! Where claims come from.

use headwater_ledger::LedgerError;
use headwater_ledger::labels::{Claim, LabelTable};
use headwater_types::{Address, Chain};

use super::bridge::bridge_claim;

/// A source of claims about addresses: the labels in force, or those of an earlier state.
pub trait LabelSource: Sync {
    /// Returns the claims about an address on a chain, with the claim that it is a contract of a bridge.
    ///
    /// # Errors
    /// When labels cannot be read.
    fn claims_on(&self, chain: Chain, address: &Address) -> Result<Vec<Claim<&str>>, LedgerError>;

    /// Whether the source has no labels at all.
    fn has_none(&self) -> bool;
}

impl LabelSource for LabelTable {
    fn claims_on(&self, chain: Chain, address: &Address) -> Result<Vec<Claim<&str>>, LedgerError> {
        let mut claims = self.claims(chain, address)?;
        claims.extend(bridge_claim(chain, address));
        Ok(claims)
    }

    fn has_none(&self) -> bool {
        self.is_empty()
    }
}
