//! Addresses, contracts and symbols of a subscription, on one chain or on any.

use headwater_types::address::Reason as AddressReason;
use headwater_types::{Address, Asset, Chain};

use crate::request::{Checks, refused, repair};
use crate::valuation::verified;
use crate::{Error, Reason};

/// The role of an address in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressRole {
    Address,
    Contract,
}

/// Parses an address of a chain, or of the first family whose form it has.
pub(super) fn address(
    checks: &mut Checks<'_>,
    chain: Option<Chain>,
    (field, text): (&str, &str),
    role: AddressRole,
) -> Result<Address, Error> {
    let forms = [Chain::ETHEREUM, Chain::TRON, Chain::BITCOIN];
    let fits = |chain: &Chain| match Address::parse_on(*chain, checks.network(*chain), text) {
        Ok(_) => true,
        Err(error) => error.reason == AddressReason::NetworkMismatch,
    };
    let found = chain.or_else(|| forms.into_iter().find(fits));
    let unfit = |reason: Reason| {
        let why = format!("{text:?} is not a valid address of a supported chain{}", repair(checks, None, text));
        Err(refused(reason, field, text, &why))
    };
    match (found, role) {
        (Some(chain), AddressRole::Address) => checks.address(chain, field, text),
        (Some(chain), AddressRole::Contract) => checks.contract(chain, field, text),
        (None, AddressRole::Address) => unfit(Reason::InvalidAddress),
        (None, AddressRole::Contract) => unfit(Reason::InvalidContract),
    }
}

/// Parses the contract of an asset.
pub(super) fn contract(
    checks: &mut Checks<'_>,
    chain: Option<Chain>,
    field: &str,
    text: Option<&str>,
) -> Result<Asset, Error> {
    match text {
        None => Ok(Asset::Native),
        Some(text) if checks.is_native(chain, field, text) => Ok(Asset::Native),
        Some(text) => address(checks, chain, (field, text), AddressRole::Contract).map(Asset::Token),
    }
}

/// Parses the symbol of a verified asset of the chain, or of any chain.
pub(super) fn symbol(
    checks: &Checks<'_>,
    chain: Option<Chain>,
    (field, text): (&str, &str),
    must_be_known: bool,
) -> Result<String, Error> {
    let is_known = |chain: Chain| !verified(checks.ledger, chain, text).is_empty();
    let known = match chain {
        Some(chain) => is_known(chain),
        None => Chain::all().any(is_known),
    };
    if known || !must_be_known {
        return Ok(text.to_lowercase());
    }
    let place = chain.map_or_else(|| "any chain".to_owned(), |chain| chain.to_string());
    let why = format!("no verified token of {place} has the symbol {text:?}: name the token in `contracts`");
    Err(refused(Reason::UnknownSymbol, field, text, &why))
}
