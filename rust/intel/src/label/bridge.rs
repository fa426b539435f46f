//! Contracts of bridges, as labels.

use headwater_bridge::Tables;
use headwater_ledger::labels::{Action, Claim, Code, Level, Link, Scope};
use headwater_types::{Address, Chain};

/// Who says that an address is a contract of a bridge: the tables of this program.
const BRIDGES: &str = "bridge_contracts";

/// The claim that an address is a contract of a bridge, by the tables of `headwater-bridge`. Tokens of bridges, and contracts
/// that were read in no source, are left out.
#[must_use]
pub fn bridge_claim(chain: Chain, address: &Address) -> Option<Claim<&'static str>> {
    let is_token = |role: &str| role.ends_with("Token") || role.ends_with("OFT");
    let mut contracts = Tables::builtin().contracts_of(chain, address);
    let contract = contracts.find(|contract| contract.verified() && !is_token(contract.role()))?;
    Some(Claim {
        address: *address,
        scope: Scope::Chain(chain),
        code: Some(Code::Bridge),
        name: Some(contract.role()),
        entity: Some(contract.bridge()),
        source: BRIDGES,
        source_url: None,
        group: BRIDGES,
        level: Level::TrustedProvider,
        reliability: Level::TrustedProvider.thousandths(),
        link: Link::Exact,
        asserted_at: None,
        date_basis: None,
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    })
}
