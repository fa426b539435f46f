//! The contracts of bridges, and fixed addresses on chains without contracts.

use std::sync::Arc;

use headwater_types::{Address, Chain, Family};
use rustc_hash::FxHashMap;

use crate::chain::BridgeChain;
use crate::error::TableError;
use crate::rows::RowTable;

/// A contract, or a fixed address, of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    pub(crate) family: Arc<str>,
    bridge: Arc<str>,
    chain: Option<BridgeChain>,
    address: Box<str>,
    account: Option<[u8; 20]>,
    role: Box<str>,
    version: Box<str>,
    from_block: Option<u64>,
    verified: bool,
    source: Arc<str>,
    home: Home,
}

/// The chains of the engine that have a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    EveryEvm,
    Chain(Chain),
    Elsewhere,
}

impl Contract {
    /// Returns the family of the bridge, which is not always the namespace of its keys.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }

    /// Returns the display name of the bridge.
    #[must_use]
    pub fn bridge(&self) -> &str {
        &self.bridge
    }

    pub(crate) fn bridge_name(&self) -> Arc<str> {
        Arc::clone(&self.bridge)
    }

    /// Returns the chain; `None` for the same address on every EVM chain.
    #[must_use]
    pub fn chain(&self) -> Option<BridgeChain> {
        self.chain
    }

    /// Returns the address, in the canonical form of its chain.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns its name in the source, such as `SpokePool`; a `-` precedes its token or its lane.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.role
    }

    /// Returns the part of its role behind the `-`: its token, or the other end of its lane.
    #[must_use]
    pub fn role_detail(&self) -> Option<&str> {
        self.role.split_once('-').map(|(_, detail)| detail)
    }

    /// Returns its generation, empty if there is only one.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the block of its deployment, if the source states it.
    #[must_use]
    pub fn from_block(&self) -> Option<u64> {
        self.from_block
    }

    /// Returns whether the address was read in the source.
    #[must_use]
    pub fn verified(&self) -> bool {
        self.verified
    }

    /// Returns the source: `owner/repository@commit:path`, `npm:package@version:path`, or a page.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Every contract, with an index by account.
#[derive(Debug, Default)]
pub(super) struct Contracts {
    all: Vec<Contract>,
    by_account: FxHashMap<[u8; 20], Vec<usize>>,
}

impl Contracts {
    /// Adds the contracts of a family's file, whose bridges have these names.
    pub(super) fn add(
        &mut self,
        table: RowTable<'_>,
        names: &[(Arc<str>, Arc<str>)],
        sources: &FxHashMap<&str, Arc<str>>,
    ) -> Result<(), TableError> {
        for row in table.rows() {
            let (line, fields) = row?;
            let contract = contract(fields, names, sources).map_err(|reason| table.error(line, reason))?;
            if let Some(account) = contract.account {
                self.by_account.entry(account).or_default().push(self.all.len());
            }
            self.all.push(contract);
        }
        Ok(())
    }

    pub(super) fn all(&self) -> &[Contract] {
        &self.all
    }

    pub(super) fn at(&self, chain: BridgeChain, address: &[u8; 20]) -> impl Iterator<Item = &Contract> {
        let here = move |contract: &&Contract| match contract.chain {
            Some(its) => its == chain,
            None => chain.account_form() == crate::chain::AccountForm::Family(Family::Evm),
        };
        self.by_account.get(address).into_iter().flatten().map(|&place| &self.all[place]).filter(here)
    }

    pub(super) fn of(&self, chain: Chain, address: &Address) -> impl Iterator<Item = &Contract> {
        let here = move |contract: &&Contract| match contract.home {
            Home::EveryEvm => chain.family() == Family::Evm,
            Home::Chain(home) => home == chain,
            Home::Elsewhere => false,
        };
        let places = account_bytes(address).and_then(|account| self.by_account.get(&account));
        places.into_iter().flatten().map(|&place| &self.all[place]).filter(here)
    }
}

fn contract(
    fields: [&str; 8],
    names: &[(Arc<str>, Arc<str>)],
    sources: &FxHashMap<&str, Arc<str>>,
) -> Result<Contract, String> {
    let [family, chain, address, role, version, from_block, verified, source] = fields;
    let chain = match chain {
        "any" => None,
        name => Some(BridgeChain::from_name(name).ok_or_else(|| format!("no chain {name:?} in chains.csv"))?),
    };
    let account = match chain.and_then(BridgeChain::held) {
        Some(chain) => {
            let address = Address::parse(chain, address).map_err(|error| error.to_string())?;
            account_bytes(&address)
        }
        None if chain.is_none_or(|chain| chain.evm_id().is_some()) => {
            let address = Address::parse(Chain::ETHEREUM, address).map_err(|error| error.to_string())?;
            account_bytes(&address)
        }
        None => None,
    };
    let named = names.iter().find(|(name, _)| **name == *family);
    let (family, bridge) = named.cloned().ok_or_else(|| format!("no name {family:?} in [names]"))?;
    if role.is_empty() {
        return Err("role must not be empty".to_owned());
    }
    let source = sources.get(source).ok_or_else(|| format!("no source {source:?} in the file"))?;
    let from_block = match from_block {
        "" => None,
        digits => Some(digits.parse().map_err(|_| format!("from_block: {digits:?} is not a height"))?),
    };
    let verified = match verified {
        "yes" => true,
        "no" => false,
        other => return Err(format!("verified: {other:?} is neither \"yes\" nor \"no\"")),
    };
    Ok(Contract {
        family,
        bridge,
        chain,
        address: address.into(),
        account,
        role: role.into(),
        version: version.into(),
        from_block,
        verified,
        source: Arc::clone(source),
        home: match chain {
            None => Home::EveryEvm,
            Some(chain) => chain.held().map_or(Home::Elsewhere, Home::Chain),
        },
    })
}

/// Returns the 20 bytes of an account of an EVM chain or TRON, the form of [`crate::Log::contract`].
///
/// ```
/// use headwater_types::{Address, Chain, Family};
/// let usdt = Address::parse(Chain::TRON, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t").unwrap();
/// assert_eq!(headwater_bridge::account_bytes(&usdt).unwrap()[0], 0xa6);
/// ```
#[must_use]
pub const fn account_bytes(address: &Address) -> Option<[u8; 20]> {
    match address {
        Address::Evm(bytes) | Address::Tron(bytes) => Some(*bytes),
        Address::Utxo(_) => None,
    }
}
