//! The chains that an address without a named chain can be on.

use headwater_ledger::Ledger;
use headwater_types::{Address, Chain};

use crate::{Error, Reason};

/// Returns the chains whose addresses have the form of a text. Of several those on which the address has movements, else those
/// with movements of anybody, else Ethereum.
pub(crate) fn chains_of(ledger: &dyn Ledger, text: &str) -> Result<Vec<Chain>, Error> {
    let fitting: Vec<Chain> = Chain::all().filter(|chain| Address::parse(*chain, text).is_ok()).collect();
    match fitting[..] {
        [] => {
            let why = Address::parse(resembled(text), text).err().map(|error| error.to_string()).unwrap_or_default();
            Err(Error::invalid(Reason::InvalidAddress, "address", format!("address: {why}")))
        }
        [_] => Ok(fitting),
        [first, ..] => {
            let held: Vec<Chain> =
                fitting.iter().copied().filter(|chain| ledger.coverage().contains_key(chain)).collect();
            let mut used = Vec::new();
            for chain in &held {
                if let Ok(address) = Address::parse(*chain, text)
                    && ledger.account(*chain, &address)?.is_some()
                {
                    used.push(*chain);
                }
            }
            if !used.is_empty() {
                return Ok(used);
            }
            let otherwise = if fitting.contains(&Chain::ETHEREUM) { Chain::ETHEREUM } else { first };
            Ok(if held.is_empty() { vec![otherwise] } else { held })
        }
    }
}

/// Returns the chain whose error explains best why a text is not an address.
fn resembled(text: &str) -> Chain {
    let is_bitcoin = |start: &str| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    if text.starts_with('T') {
        Chain::TRON
    } else if ["bc1", "1", "3"].into_iter().any(is_bitcoin) {
        Chain::BITCOIN
    } else {
        Chain::ETHEREUM
    }
}
