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

/// What the table says of a contract that is not fungible: what its transfers call an amount is an id.
pub(super) fn non_fungible(row: &Row<'_>, contract: Address) -> Result<Option<TokenFacts>, FieldError> {
    let is_non_fungible = row.truth("is_erc721")? == Some(true) && row.truth("is_erc20")? != Some(true);
    let token = TokenFacts { contract, symbol: None, name: None, decimals: None, is_non_fungible };
    Ok(is_non_fungible.then_some(token))
}

/// What a token says of itself. A number of decimals that no amount can have says nothing.
pub(super) fn token(row: &Row<'_>, chain: Chain) -> Result<TokenFacts, FieldError> {
    Ok(TokenFacts {
        contract: contract(row, chain)?,
        symbol: row.text("symbol")?.map(std::borrow::Cow::into_owned),
        name: row.text("name")?.map(std::borrow::Cow::into_owned),
        decimals: row.amount("decimals")?.and_then(Amount::to_u128).and_then(|decimals| decimals.try_into().ok()), is_non_fungible: false })
}
