//! Filters of scans: what callers write, and what is checked of it.

use std::collections::BTreeSet;

use headwater_engine::{Error, Reason};
use headwater_ledger::Ledger;
use headwater_types::{Address, Asset, Chain, Network, TimeError, TimeWindow, Timestamp, TxHash};
use rustc_hash::FxHashSet;
use serde::Deserialize;

/// The rows that a scan reads. Each table names the fields that it takes in [`super::StoredTable::filters`]; what is `None`
/// leaves out nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanFilter {
    /// Only these chains.
    pub blockchain: Option<Vec<String>>,
    /// Only from this block on.
    pub from_block: Option<u64>,
    /// Only up to this block, included.
    pub to_block: Option<u64>,
    /// Only from this time on, in epoch seconds.
    pub start_time: Option<i64>,
    /// Only up to this time, included, in epoch seconds.
    pub end_time: Option<i64>,
    /// Only what these addresses take part in.
    pub address: Option<Vec<String>>,
    /// Only from these addresses.
    pub from_address: Option<Vec<String>>,
    /// Only to these addresses.
    pub to_address: Option<Vec<String>>,
    /// Only these contracts; `None` and `native` are the coin of the chain.
    pub contract: Option<Vec<Option<String>>>,
    /// Only these transactions.
    pub tx_hash: Option<Vec<String>>,
    /// Only these symbols of prices.
    pub symbol: Option<Vec<String>>,
}

/// The side of a movement that an address is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    From,
    To,
    Either,
}

/// The treatment of a value that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Refuse,
    MatchNothing,
}

/// A filter whose values are valid: the conjunction of its parts.
#[derive(Debug, Default)]
pub(crate) struct CheckedFilter {
    chains: Vec<BTreeSet<Chain>>,
    pub from_block: Option<u64>,
    pub to_block: Option<u64>,
    pub window: TimeWindow,
    pub addresses: Vec<(Side, FxHashSet<Address>)>,
    pub contracts: Vec<FxHashSet<Asset>>,
    pub hashes: Vec<BTreeSet<TxHash>>,
    pub symbols: Vec<BTreeSet<String>>,
    is_impossible: bool,
}

impl CheckedFilter {
    /// Checks both filters of a scan: `stated` as a caller writes it, `pushed` as an engine compares texts.
    pub fn of(ledger: &dyn Ledger, stated: &ScanFilter, pushed: &ScanFilter) -> Result<Self, Error> {
        let mut checked = Self::default();
        checked.add(ledger, stated, Reading::Refuse)?;
        checked.add(ledger, pushed, Reading::MatchNothing)?;
        Ok(checked)
    }

    fn add(&mut self, ledger: &dyn Ledger, filter: &ScanFilter, reading: Reading) -> Result<(), Error> {
        if let Some(chains) = &filter.blockchain {
            let chains = known(chains, reading, |text| match reading {
                Reading::Refuse => text.parse::<Chain>().map_err(|error| refused("blockchain", text, &error)),
                Reading::MatchNothing => Chain::from_name(text).ok_or_else(|| refused("blockchain", text, &"unknown")),
            })?;
            self.chains.push(chains);
        }
        self.from_block = self.from_block.max(filter.from_block);
        self.to_block = [self.to_block, filter.to_block].into_iter().flatten().min();
        self.narrow(filter.start_time, filter.end_time, reading)?;
        for (side, name, texts) in [
            (Side::Either, "address", &filter.address),
            (Side::From, "from_address", &filter.from_address),
            (Side::To, "to_address", &filter.to_address),
        ] {
            if let Some(texts) = texts {
                let addresses = known(texts, reading, |text| self.address(ledger, name, text))?;
                self.addresses.push((side, addresses));
            }
        }
        if let Some(contracts) = &filter.contract {
            let asset = |text: &Option<String>| match text.as_deref() {
                None => Ok(Asset::Native),
                Some("native") if reading == Reading::Refuse => Ok(Asset::Native),
                Some(text) => self.address(ledger, "contract", text).map(Asset::Token),
            };
            let assets = known(contracts, reading, asset)?;
            self.contracts.push(assets);
        }
        if let Some(hashes) = &filter.tx_hash {
            let hashes = known(hashes, reading, |text| {
                let families = Chain::all().filter(|chain| self.holds_chain(*chain)).map(Chain::family);
                let mut parsed = families.map(|family| TxHash::parse(family, text));
                let first = parsed.next().unwrap_or_else(|| TxHash::parse(Chain::ETHEREUM.family(), text));
                first
                    .or_else(|error| parsed.find_map(Result::ok).ok_or(error))
                    .map_err(|error| refused("tx_hash", text, &error))
            })?;
            self.hashes.push(hashes);
        }
        if let Some(symbols) = &filter.symbol {
            self.symbols.push(symbols.iter().map(|symbol| symbol.to_lowercase()).collect());
        }
        Ok(())
    }

    fn narrow(&mut self, start: Option<i64>, end: Option<i64>, reading: Reading) -> Result<(), Error> {
        if reading == Reading::Refuse
            && let Err(error) = TimeWindow::new(start, end)
        {
            let (reason, name) = match error {
                TimeError::StartAfterEnd { .. } => (Reason::TimeRange, "start_time"),
                TimeError::Milliseconds(secs) if start == Some(secs) => (Reason::Milliseconds, "start_time"),
                TimeError::Milliseconds(_) => (Reason::Milliseconds, "end_time"),
            };
            return Err(Error::invalid(reason, name, format!("{name}: {error}")));
        }
        let start = self.window.start().map(Timestamp::secs).max(start);
        let end = [self.window.end().map(Timestamp::secs), end].into_iter().flatten().min();
        let clamp = |secs: i64| secs.clamp(-TimeWindow::LAST_SECS, TimeWindow::LAST_SECS);
        match TimeWindow::new(start.map(clamp), end.map(clamp)) {
            Ok(window) => self.window = window,
            Err(_) => self.is_impossible = true,
        }
        Ok(())
    }

    /// An address of any chain that is read.
    fn address(&self, ledger: &dyn Ledger, name: &str, text: &str) -> Result<Address, Error> {
        let mut chains = Chain::all().filter(|chain| self.holds_chain(*chain));
        let parse = |chain: Chain| {
            let network = ledger.coverage().get(&chain).map_or(Network::Mainnet, |coverage| coverage.network);
            Address::parse_on(chain, network, text)
        };
        if let Some(address) = chains.find_map(|chain| parse(chain).ok()) {
            return Ok(address);
        }
        let named: Vec<_> = Chain::all().filter(|chain| self.holds_chain(*chain)).map(Chain::name).collect();
        Err(refused(name, text, &format!("expected an address of {}", named.join(", "))))
    }

    /// Returns whether a chain is read.
    pub fn holds_chain(&self, chain: Chain) -> bool {
        self.chains.iter().all(|chains| chains.contains(&chain))
    }

    /// Returns whether an asset passes.
    pub fn holds_asset(&self, asset: &Asset) -> bool {
        self.contracts.iter().all(|contracts| contracts.contains(asset))
    }

    /// Returns whether a symbol passes.
    pub fn holds_symbol(&self, symbol: &str) -> bool {
        self.symbols.iter().all(|symbols| symbols.contains(symbol))
    }

    /// Returns whether a block passes.
    pub fn holds_block(&self, block: u64) -> bool {
        self.from_block.is_none_or(|from| block >= from) && self.to_block.is_none_or(|to| block <= to)
    }

    /// The assets that pass, where only some do.
    pub fn assets(&self) -> Option<Vec<Asset>> {
        let (first, others) = self.contracts.split_first()?;
        Some(first.iter().filter(|asset| others.iter().all(|set| set.contains(asset))).copied().collect())
    }

    /// The addresses of all sets, where a table has one column of them.
    pub fn address_set(&self) -> Option<BTreeSet<Address>> {
        let ((_, first), others) = self.addresses.split_first()?;
        Some(first.iter().filter(|address| others.iter().all(|(_, set)| set.contains(address))).copied().collect())
    }

    /// Returns whether no row can pass, whatever the table.
    pub const fn is_impossible(&self) -> bool {
        self.is_impossible
    }
}

impl ScanFilter {
    /// The names of the fields that are given.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("blockchain", self.blockchain.is_some()),
            ("from_block", self.from_block.is_some()),
            ("to_block", self.to_block.is_some()),
            ("start_time", self.start_time.is_some()),
            ("end_time", self.end_time.is_some()),
            ("address", self.address.is_some()),
            ("from_address", self.from_address.is_some()),
            ("to_address", self.to_address.is_some()),
            ("contract", self.contract.is_some()),
            ("tx_hash", self.tx_hash.is_some()),
            ("symbol", self.symbol.is_some()),
        ];
        given.into_iter().filter_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// The values that are valid, or the refusal of the first that is not.
fn known<I, T, C: FromIterator<T>>(
    values: &[I],
    reading: Reading,
    parse: impl Fn(&I) -> Result<T, Error>,
) -> Result<C, Error> {
    values.iter().map(parse).filter(|value| reading == Reading::Refuse || value.is_ok()).collect()
}

fn refused(name: &str, text: &str, why: &dyn std::fmt::Display) -> Error {
    let reason = match name {
        "blockchain" => Reason::UnsupportedChain,
        "tx_hash" => Reason::InvalidHash,
        "contract" => Reason::InvalidContract,
        _ => Reason::InvalidAddress,
    };
    let value = headwater_types::text::shortened(text, headwater_types::text::SHOWN);
    Error { value: Some(value.clone()), ..Error::invalid(reason, name, format!("{name}: {value:?}: {why}")) }
}
