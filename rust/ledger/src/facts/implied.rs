//! Facts that a transaction implies, whatever source states them.
//!
//! * Logs and token movements exist only in a transaction that succeeded.
//! * A contract created by a transaction has the address that follows from its sender and nonce (EVM chains), unless
//!   the transaction failed.
//! * A token that is issued or redeemed without a `Transfer` is its owner's, who alone may call. Where the transaction calls
//!   the token itself, the owner is its sender; where it calls another contract, such as a wallet of several keys, the owner
//!   is not known, and the movement keeps one party.
//!
//! All follow from facts that only ever grow, so they do not depend on the order in which sources are read.

use headwater_types::address::contract_address;
use headwater_types::{Address, Chain, Family};

use super::place::FactRef;
use super::{Body, Movement, MovementFact, TransactionFacts};
use crate::error::Result;
use crate::primitives::Status;

impl TransactionFacts {
    /// Returns whether something is implied that is not stated.
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
    pub(super) fn with_implied(mut self, at: &FactRef<'_>, chain: Chain) -> Result<Self> {
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

impl Movement {
    /// Returns whether it mints or burns a token and its source does not name the owner.
    fn lacks_owner(&self) -> bool {
        self.kind == MovementFact::Token
            && match (self.from, self.to) {
                (Some(only), None) | (None, Some(only)) => only.is_zero(),
                (Some(_), Some(_)) | (None, None) => false,
            }
    }
}

/// Names the owner of a token that a transaction issues or redeems, where its body states it.
pub(super) fn name_owner(movements: &mut [Movement], body: Option<Body>) {
    let Some(Body { from: Some(sender), to: Some(contract), .. }) = body else { return };
    let is_of_token = |movement: &&mut Movement| movement.asset.contract() == Some(&contract);
    for movement in movements.iter_mut().filter(|movement| movement.lacks_owner()).filter(is_of_token) {
        movement.from.get_or_insert(sender);
        movement.to.get_or_insert(sender);
    }
}

#[cfg(test)]
mod tests {
    use headwater_types::{Amount, Asset, TxHash};

    use super::*;
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

    const TOKEN: Address = Address::Evm([3; 20]);
    const OWNER: Address = Address::Evm([1; 20]);
    const ZERO: Address = Address::Evm([0; 20]);

    /// An issue as a log states it: without an owner.
    fn issued(ordinal: Ordinal) -> TransactionFacts {
        let movement = Movement { ordinal, from: Some(ZERO), to: None, ..token_movement() };
        TransactionFacts { status: Some(Status::Success), movements: vec![movement], ..facts() }
    }

    /// The transaction of the owner that calls a contract.
    fn calls(to: Address) -> TransactionFacts {
        let body = Body { from: Some(OWNER), to: Some(to), value: Amount::ZERO };
        TransactionFacts { body: Some(body), ..facts() }
    }

    #[test]
    fn issue_is_of_the_sender_who_calls_the_token_itself() {
        let issue = issued(Ordinal::Indexed(4));
        let both = issue.clone().join(calls(TOKEN), CHAIN).unwrap();
        assert_eq!((both.movements[0].from, both.movements[0].to), (Some(ZERO), Some(OWNER)));
        // In whatever order sources come, and however often.
        assert_eq!(calls(TOKEN).join(issue.clone(), CHAIN).unwrap(), both);
        assert_eq!(both.clone().join(issue.clone(), CHAIN).unwrap(), both);
        let stored = issue.canonical(CHAIN).unwrap();
        assert_eq!(stored.movements[0].to, None);
        assert_eq!(stored.join(calls(TOKEN), CHAIN).unwrap(), both);
        assert_eq!(both.clone().canonical(CHAIN).unwrap(), both);
        // A source that states all of it needs no join.
        let mut whole = TransactionFacts { body: calls(TOKEN).body, ..issued(Ordinal::Indexed(4)) };
        assert!(whole.settle(CHAIN) && whole == both);
    }

    #[test]
    fn issue_without_log_index_joins_the_one_with_it() {
        let indexed = issued(Ordinal::Indexed(4)).join(calls(TOKEN), CHAIN).unwrap();
        let again = indexed.clone().join(issued(Ordinal::Unindexed(0)), CHAIN).unwrap();
        assert_eq!(again, indexed, "one issue, stated twice");
    }

    #[test]
    fn issue_through_another_contract_has_no_owner() {
        let issue = issued(Ordinal::Indexed(4)).join(calls(Address::Evm([9; 20])), CHAIN).unwrap();
        assert_eq!((issue.movements[0].from, issue.movements[0].to), (Some(ZERO), None));
        // A redemption is the same the other way round.
        let mut redeemed = issued(Ordinal::Indexed(4));
        (redeemed.movements[0].from, redeemed.movements[0].to) = (None, Some(ZERO));
        let known = redeemed.join(calls(TOKEN), CHAIN).unwrap();
        assert_eq!((known.movements[0].from, known.movements[0].to), (Some(OWNER), Some(ZERO)));
    }

    #[test]
    fn created_contract_that_nonce_does_not_give_is_refused() {
        let other = TransactionFacts { created: Some(Address::Evm([9; 20])), ..facts() };
        let error = creation().join(other, CHAIN).unwrap_err().to_string();
        assert!(error.contains("created contract") && error.contains(SECOND_CONTRACT), "{error}");
    }
}
