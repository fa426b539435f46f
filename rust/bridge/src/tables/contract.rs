//! The contracts of bridges, and fixed addresses on chains without contracts.

use std::sync::Arc;

use headwater_types::{Address, Chain};
use rustc_hash::FxHashMap;

use crate::chain::BridgeChain;
use crate::error::TableError;
use crate::rows::rows;

const FILE: &str = "contracts.csv";
const TABLE: &str = include_str!("../../tables/contracts.csv");
const SOURCES_FILE: &str = "sources.csv";
const SOURCES: &str = include_str!("../../tables/sources.csv");

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
}

impl Contract {
    /// The family in the contract table: that of the bridge, which is not always the namespace of its keys.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }

    /// The name of the bridge for people; the family where no event file names it.
    #[must_use]
    pub fn bridge(&self) -> &str {
        &self.bridge
    }

    pub(crate) fn bridge_name(&self) -> Arc<str> {
        Arc::clone(&self.bridge)
    }

    /// The chain; `None`: the same address on every EVM chain.
    #[must_use]
    pub fn chain(&self) -> Option<BridgeChain> {
        self.chain
    }

    /// The address, in the canonical form of its chain.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What the source calls it, such as `SpokePool`; after a `-` its token or its lane.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.role
    }

    /// What stands behind the `-` of its role: its token, or the other end of its lane.
    #[must_use]
    pub fn role_detail(&self) -> Option<&str> {
        self.role.split_once('-').map(|(_, detail)| detail)
    }

    /// Its generation, empty where there is one only.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The block of its deployment, where the source states it.
    #[must_use]
    pub fn from_block(&self) -> Option<u64> {
        self.from_block
    }

    /// Whether the address was read in the source.
    #[must_use]
    pub fn verified(&self) -> bool {
        self.verified
    }

    /// Where the fact was read: `owner/repository@commit:path`, `npm:package@version:path`, or a page.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// The contract table with its index.
#[derive(Debug, Default)]
pub(super) struct Contracts {
    all: Vec<Contract>,
    by_account: FxHashMap<[u8; 20], Vec<usize>>,
}

impl Contracts {
    pub(super) fn read(names: &[(Arc<str>, Arc<str>)]) -> Result<Self, TableError> {
        let sources = sources()?;
        let mut contracts = Self::default();
        for row in rows(FILE, TABLE) {
            let (line, fields) = row?;
            let contract = contract(fields, names, &sources).map_err(|reason| TableError::new(FILE, line, reason))?;
            if let Some(account) = contract.account {
                contracts.by_account.entry(account).or_default().push(contracts.all.len());
            }
            contracts.all.push(contract);
        }
        Ok(contracts)
    }

    pub(super) fn all(&self) -> &[Contract] {
        &self.all
    }

    pub(super) fn at(&self, chain: BridgeChain, address: &[u8; 20]) -> impl Iterator<Item = &Contract> {
        let here = move |contract: &&Contract| match contract.chain {
            Some(its) => its == chain,
            None => chain.account_form() == crate::chain::AccountForm::Family(headwater_types::Family::Evm),
        };
        self.by_account.get(address).into_iter().flatten().map(|&place| &self.all[place]).filter(here)
    }
}

/// Where facts were read, by the code that the other tables have.
fn sources() -> Result<FxHashMap<&'static str, Arc<str>>, TableError> {
    rows(SOURCES_FILE, SOURCES).map(|row| row.map(|(_, [code, source])| (code, source.into()))).collect()
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
            crate::log::account_bytes(&address)
        }
        None if chain.is_none_or(|chain| chain.evm_id().is_some()) => {
            let address = Address::parse(Chain::ETHEREUM, address).map_err(|error| error.to_string())?;
            crate::log::account_bytes(&address)
        }
        None => None,
    };
    if family.is_empty() || role.is_empty() {
        return Err("family and role must not be empty".to_owned());
    }
    let source = sources.get(source).ok_or_else(|| format!("no source {source:?} in sources.csv"))?;
    let from_block = match from_block {
        "" => None,
        digits => Some(digits.parse().map_err(|_| format!("from_block: {digits:?} is not a height"))?),
    };
    let verified = match verified {
        "yes" => true,
        "no" => false,
        other => return Err(format!("verified: {other:?} is neither \"yes\" nor \"no\"")),
    };
    let named = names.iter().find(|(name, _)| **name == *family);
    let (family, bridge) = named.cloned().unwrap_or_else(|| (family.into(), family.into()));
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
    })
}
