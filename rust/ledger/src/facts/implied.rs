//! What facts of a transaction imply, whatever source states them.
//!
//! * Logs and token movements exist only in a transaction that succeeded.
//! * A contract created by a transaction has the address that follows from its sender and nonce (EVM chains), unless
//!   the transaction failed.
//!
//! Both follow from facts that only ever grow, so they do not depend on the order in which sources are read.

use headwater_types::address::contract_address;
use headwater_types::{Address, Chain, Family};

use super::place::Place;
use super::{MovementFact, TransactionFacts};
use crate::error::Result;
use crate::primitives::Status;

impl TransactionFacts {
    /// Whether something is implied that is not stated.
    pub(super) fn lacks_implied(&self, chain: Chain) -> bool {
        (self.status != Some(Status::Success) && self.shows_success())
            || self.created.is_none() && self.implied_contract(chain).is_some()
            || self.created.is_some() && self.status == Some(Status::Failed)
    }

    /// The same facts with all that they imply.
    ///
    /// # Errors
    /// [`crate::LedgerError::Conflict`] when a transaction that is said to have failed has logs or moved tokens, or
    /// created another contract than it can have.
    pub(super) fn with_implied(mut self, at: &Place<'_>, chain: Chain) -> Result<Self> {
        if self.shows_success() {
            if self.status == Some(Status::Failed) {
                return Err(at.contradiction("status", "failed", "success, as its logs or token movements show"));
            }
            self.status = Some(Status::Success);
        }
        if self.status == Some(Status::Failed) {
            self.created = None;
        } else if let Some(implied) = self.implied_contract(chain) {
            let stated = self.created.get_or_insert(implied);
            if *stated != implied {
                let implied = format!("{implied}, as its sender and nonce imply");
                return Err(at.contradiction("created contract", stated, &implied));
            }
        }
        Ok(self)
    }

    fn shows_success(&self) -> bool {
        let is_of_token = |kind| matches!(kind, MovementFact::Token | MovementFact::NonFungible);
        !self.logs.is_empty() || self.movements.iter().any(|movement| is_of_token(movement.kind))
    }

    fn implied_contract(&self, chain: Chain) -> Option<Address> {
        let body = self.body.filter(|body| body.to.is_none() && chain.family() == Family::Evm)?;
        match (body.from?, self.status) {
            (Address::Evm(sender), None | Some(Status::Success)) => {
                Some(Address::Evm(contract_address(&sender, self.nonce?)))
            }
            (Address::Evm(_) | Address::Tron(_) | Address::Utxo(_), _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_types::{Amount, Asset, TxHash};

    use super::*;
    use crate::facts::{Body, Movement};
    use crate::primitives::Ordinal;

    const CHAIN: Chain = Chain::ETHEREUM;

    fn address(text: &str) -> Address {
        Address::parse(CHAIN, text).unwrap()
    }

    fn facts() -> TransactionFacts {
        TransactionFacts::new(TxHash::new([1; 32]), 5)
    }

    fn token_movement() -> Movement {
        Movement {
            kind: MovementFact::Token,
            ordinal: Ordinal::Indexed(0),
            from: Some(Address::Evm([1; 20])),
            to: Some(Address::Evm([2; 20])),
            asset: Asset::Token(Address::Evm([3; 20])),
            amount: Amount::from(1),
        }
    }

    fn failed() -> TransactionFacts {
        TransactionFacts { status: Some(Status::Failed), ..facts() }
    }

    #[test]
    fn status_of_a_token_movement_is_success() {
        let moved = TransactionFacts { movements: vec![token_movement()], ..facts() };
        assert_eq!(moved.clone().canonical(CHAIN).unwrap().status, Some(Status::Success));
        let error = moved.join(failed(), CHAIN).unwrap_err().to_string();
        assert!(error.contains("status is failed in one row and success, as its logs"), "{error}");
    }

    /// The first contracts of this sender, as the Ethereum wiki lists them.
    const SENDER: &str = "0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0";
    const SECOND_CONTRACT: &str = "0x343c43a37d37dff08ae8c4a11544c718abb4fcf8";

    fn creation() -> TransactionFacts {
        let body = Body { from: Some(address(SENDER)), to: None, value: Amount::ZERO };
        TransactionFacts { body: Some(body), nonce: Some(1), ..facts() }
    }

    #[test]
    fn created_contract_follows_from_sender_and_nonce() {
        let contract = Some(address(SECOND_CONTRACT));
        assert_eq!(creation().canonical(CHAIN).unwrap().created, contract);
        // Whatever comes first: sender and nonce, or that the transaction failed.
        let joined = creation().canonical(CHAIN).unwrap().join(failed(), CHAIN).unwrap();
        assert_eq!(joined.created, None);
        assert_eq!(failed().join(creation(), CHAIN).unwrap(), joined);
        assert_eq!(joined.clone().join(creation().canonical(CHAIN).unwrap(), CHAIN).unwrap(), joined);
    }

    #[test]
    fn created_contract_that_nonce_does_not_give_is_refused() {
        let other = TransactionFacts { created: Some(Address::Evm([9; 20])), ..facts() };
        let error = creation().join(other, CHAIN).unwrap_err().to_string();
        assert!(error.contains("created contract") && error.contains(SECOND_CONTRACT), "{error}");
    }
}
