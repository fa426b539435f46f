//! The tables of bridges: their events, their contracts and their ids of chains.

mod contract;
mod event;
mod family;
mod id;
mod term;

use std::sync::{Arc, LazyLock};

use headwater_types::{Address, Chain};
use rustc_hash::FxHashMap;

use crate::chain::BridgeChain;
use crate::error::TableError;
use contract::Contracts;
use id::ChainIds;

pub use contract::{Contract, account_bytes};
pub use event::Event;
pub(crate) use event::{Condition, Mapping, Mark};
pub(crate) use family::FAMILIES;
pub(crate) use term::{Fetch, Modifier, Term};

/// A protocol: the namespace of its keys, and the facts that its events share.
#[derive(Debug)]
pub struct Family {
    pub(crate) name: Arc<str>,
    /// Display name by the family of the emitter in the contract table.
    pub(crate) names: Vec<(Arc<str>, Arc<str>)>,
    /// The numbering of chains in the id table.
    pub(crate) ids: Option<Arc<str>>,
    /// A chain without a row has its EVM id.
    pub(crate) evm_ids: bool,
    /// The two ends of a bridge that has no more.
    pub(crate) peers: Option<[BridgeChain; 2]>,
}

impl Family {
    /// Returns the namespace, such as `layerzero`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of its bridges, such as `LayerZero`, `Stargate`, `USDT0`.
    pub fn bridges(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(_, display)| &**display)
    }
}

/// All tables, checked.
///
/// ```
/// use headwater_bridge::{BridgeChain, Tables};
/// let tables = Tables::builtin();
/// let pool = [0x5c, 0x7b, 0xcd, 0x6e, 0x7d, 0xe5, 0x42, 0x3a, 0x25, 0x7d, 0x81, 0xb4, 0x42, 0x09, 0x5a, 0x1a, 0x6c, 0xed, 0x35, 0xc5];
/// let contract = tables.contract(BridgeChain::from_evm_id(1), &pool).next().unwrap();
/// assert_eq!((contract.bridge(), contract.role()), ("Across", "SpokePool"));
/// ```
#[derive(Debug, Default)]
pub struct Tables {
    families: Vec<Family>,
    events: Vec<Event>,
    by_topic0: FxHashMap<[u8; 32], Vec<usize>>,
    contracts: Contracts,
    ids: ChainIds,
}

static BUILTIN: LazyLock<Tables> = LazyLock::new(|| Tables::read().expect("a test reads every line of the tables"));

impl Tables {
    /// Returns the tables of this crate, read once.
    #[must_use]
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    fn read() -> Result<Self, TableError> {
        let mut tables = Self::default();
        for &(file, text) in FAMILIES {
            family::read(file, text, &mut tables)?;
        }
        Ok(tables)
    }

    /// Returns every family.
    #[must_use]
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// Returns every event.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the family of an event.
    #[must_use]
    pub fn family_of(&self, event: &Event) -> &Family {
        &self.families[event.family]
    }

    /// Returns whether a first topic belongs to an event of a bridge, for index scans of a ledger.
    #[must_use]
    pub fn knows_topic0(&self, topic0: &[u8; 32]) -> bool {
        self.by_topic0.contains_key(topic0)
    }

    /// Returns the first topics of all events.
    pub fn topics0(&self) -> impl Iterator<Item = &[u8; 32]> {
        self.by_topic0.keys()
    }

    pub(crate) fn events_of(&self, topic0: &[u8; 32]) -> impl Iterator<Item = &Event> {
        self.by_topic0.get(topic0).into_iter().flatten().map(|&place| &self.events[place])
    }

    /// Returns the bridges of a contract, with its role in each.
    pub fn contract(&self, chain: BridgeChain, address: &[u8; 20]) -> impl Iterator<Item = &Contract> {
        self.contracts.at(chain, address)
    }

    /// Returns the bridges of an address on a chain of the engine, with its role in each.
    pub fn contracts_of(&self, chain: Chain, address: &Address) -> impl Iterator<Item = &Contract> {
        self.contracts.of(chain, address)
    }

    /// Returns every contract, by family. Those of chains without EVM accounts only have an address as text.
    #[must_use]
    pub fn contracts(&self) -> &[Contract] {
        self.contracts.all()
    }

    /// Returns the contract as an emitter of a family's events.
    pub(crate) fn emitter(&self, family: &Family, chain: BridgeChain, address: &[u8; 20]) -> Option<&Contract> {
        self.contract(chain, address).find(|contract| family.names.iter().any(|(name, _)| *name == contract.family))
    }

    /// Returns the chain with an id of a family.
    pub(crate) fn chain_of(&self, family: &Family, id: &str) -> Option<BridgeChain> {
        let listed = family.ids.as_ref().and_then(|ids| self.ids.chain(ids, id));
        listed.or_else(|| family.evm_ids.then(|| id.parse().ok().map(BridgeChain::from_evm_id)).flatten())
    }

    /// Returns the id of a chain in a family.
    pub(crate) fn id_of(&self, family: &Family, chain: BridgeChain) -> Option<String> {
        let listed = family.ids.as_ref().and_then(|ids| self.ids.id(ids, chain)).map(str::to_owned);
        listed.or_else(|| family.evm_ids.then(|| chain.evm_id()).flatten().map(|id| id.to_string()))
    }

    /// Returns the chain with an id of a numbering.
    pub(crate) fn chain_in(&self, ids: &str, id: &str) -> Option<BridgeChain> {
        self.ids.chain(ids, id)
    }

    /// Returns the id of a chain in a numbering.
    pub(crate) fn id_in(&self, ids: &str, chain: BridgeChain) -> Option<&str> {
        self.ids.id(ids, chain)
    }
}

/// Reads the file of a family, for its errors.
#[cfg(test)]
pub(crate) fn read_family(file: &str, text: &str) -> Result<(), TableError> {
    family::read(file, text, &mut Tables::default())
}
