//! Addresses, contracts and symbols that a subscription names, on one chain or on any.

use headwater_types::address::Reason as AddressReason;
use headwater_types::{Address, Asset, Chain};

use crate::request::{Checks, refused, repair};
use crate::valuation::verified;
use crate::{Error, Reason};

/// What an address stands for in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Address,
    Contract,
}

/// An address of a chain, or of the first family whose form it has.
pub(super) fn address(
    checks: &mut Checks<'_>,
    chain: Option<Chain>,
    (field, text): (&str, &str),
    named: Named,
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
    match (found, named) {
        (Some(chain), Named::Address) => checks.address(chain, field, text),
        (Some(chain), Named::Contract) => checks.contract(chain, field, text),
        (None, Named::Address) => unfit(Reason::InvalidAddress),
        (None, Named::Contract) => unfit(Reason::InvalidContract),
    }
}

/// The asset that a contract names.
pub(super) fn contract(
    checks: &mut Checks<'_>,
    chain: Option<Chain>,
    field: &str,
    text: Option<&str>,
) -> Result<Asset, Error> {
    match text {
        None => Ok(Asset::Native),
        Some(text) if checks.is_native(chain, field, text) => Ok(Asset::Native),
        Some(text) => address(checks, chain, (field, text), Named::Contract).map(Asset::Token),
    }
}

/// A symbol that a verified asset of the chain, or of any chain, has.
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
