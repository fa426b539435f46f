//! The tables `contracts` and `tokens`.

use headwater_ledger::facts::TokenFacts;
use headwater_types::{Address, Amount, Chain};

use super::needed;
use crate::error::FieldError;
use crate::source::Row;

/// The address of a contract.
pub(super) fn contract(row: &Row<'_>, chain: Chain) -> Result<Address, FieldError> {
    needed(row.address("address", chain)?, "address")
}

/// Returns true if the table says that the tokens of a contract are not fungible: what its transfers call an amount is an id.
pub(super) fn is_non_fungible(row: &Row<'_>) -> Result<bool, FieldError> {
    Ok(row.truth("is_erc721")? == Some(true) && row.truth("is_erc20")? != Some(true))
}

/// Returns the facts that a token states. A number of decimals that no amount can have says nothing.
pub(super) fn token(row: &Row<'_>, chain: Chain) -> Result<TokenFacts, FieldError> {
    Ok(TokenFacts {
        contract: contract(row, chain)?,
        symbol: row.text("symbol")?.map(std::borrow::Cow::into_owned),
        name: row.text("name")?.map(std::borrow::Cow::into_owned),
        decimals: row.amount("decimals")?.and_then(Amount::to_u128).and_then(|decimals| decimals.try_into().ok()),
        is_non_fungible: false,
    })
}
