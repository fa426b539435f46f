//! The assets that a walk meets: their terms, and which of their movements the request asks for.

use headwater_ledger::market::AssetTerms;
use headwater_ledger::memory::{Purpose, Reservation, table_bytes};
use headwater_ledger::read::{AssetRef, Posting};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Asset, Chain};
use rustc_hash::FxHashMap;

const ASSETS: Purpose = Purpose {
    what: "the assets of the address",
    narrower: "name the symbols or contracts that matter, or ask for fewer days",
};

/// Bytes of the texts of an asset: its symbols, and its filter.
const TEXT_BYTES: usize = 128;

/// The movements that a request asks for.
pub trait MovementFilter {
    /// Returns the filter of an asset.
    fn of_asset(&self, asset: &Asset, terms: &AssetTerms) -> AssetFilter;

    /// Returns whether it asks for what the sums of a ledger add up: all movements of all time that are shown by default.
    fn is_of_sums(&self) -> bool;
}

/// The filter of the movements of one asset.
pub type AssetFilter = Box<dyn Fn(&Posting) -> Inclusion>;

/// The part that a movement takes in a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inclusion {
    /// It is followed.
    Followed,
    /// It changes balances and is not followed.
    BalanceOnly,
    /// It is left out, as nothing moved.
    LeftOut,
}

/// An asset that a walk met.
pub struct TracedAsset {
    /// Its chain.
    pub chain: Chain,
    /// The asset.
    pub asset: Asset,
    /// Its symbol and decimals, and how it is valued.
    pub terms: AssetTerms,
    filter: AssetFilter,
}

impl TracedAsset {
    /// The symbol, or the contract where there is none.
    #[must_use]
    pub fn name(&self) -> String {
        let contract = || self.asset.contract().map(ToString::to_string);
        self.terms.symbol.clone().or_else(contract).unwrap_or_default()
    }

    /// Returns the part that a movement of it takes in the walk.
    pub(super) fn inclusion(&self, posting: &Posting) -> Inclusion {
        (self.filter)(posting)
    }
}

/// Assets by the numbers that movements carry, in the order in which they are met.
pub(super) struct AssetTable<'a> {
    ledger: &'a dyn Ledger,
    filter: &'a dyn MovementFilter,
    by_handle: FxHashMap<AssetRef, u32>,
    numbers: FxHashMap<(Chain, Asset), u32>,
    assets: Vec<TracedAsset>,
    memory: Reservation,
}

impl<'a> AssetTable<'a> {
    pub fn new(ledger: &'a dyn Ledger, filter: &'a dyn MovementFilter, cancel: &Cancel) -> Self {
        let (by_handle, numbers) = (FxHashMap::default(), FxHashMap::default());
        Self { ledger, filter, by_handle, numbers, assets: Vec::new(), memory: cancel.holding(ASSETS) }
    }

    pub fn get(&self, number: u32) -> &TracedAsset {
        &self.assets[number as usize]
    }

    /// Returns the number of the asset behind a handle of a chain.
    pub fn of_handle(&mut self, chain: Chain, handle: AssetRef) -> Result<u32, LedgerError> {
        if let Some(number) = self.by_handle.get(&handle) {
            return Ok(*number);
        }
        let number = self.of_asset(chain, self.ledger.asset(handle)?)?;
        self.by_handle.insert(handle, number);
        self.reserve()?;
        Ok(number)
    }

    /// Returns the number of an asset of a chain.
    pub fn of_asset(&mut self, chain: Chain, asset: Asset) -> Result<u32, LedgerError> {
        if let Some(number) = self.numbers.get(&(chain, asset)) {
            return Ok(*number);
        }
        let facts = |contract: &_| self.ledger.token_facts(chain, contract);
        let terms = AssetTerms::of(self.ledger.registry(), chain, &asset, facts)?;
        let number = u32::try_from(self.assets.len()).expect("a walk meets fewer assets");
        let filter = self.filter.of_asset(&asset, &terms);
        self.assets.push(TracedAsset { chain, asset, terms, filter });
        self.numbers.insert((chain, asset), number);
        self.reserve()?;
        Ok(number)
    }

    fn reserve(&mut self) -> Result<(), LedgerError> {
        let tables = table_bytes::<(AssetRef, u32)>(self.by_handle.len())
            + table_bytes::<((Chain, Asset), u32)>(self.numbers.len());
        Ok(self.memory.reach(tables + self.assets.len() * (size_of::<TracedAsset>() + TEXT_BYTES))?)
    }
}
