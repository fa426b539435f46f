//! What answers say of assets: symbol, decimals, verdict of the registry, warning signs. Each asset is looked up once.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::mem::size_of;
use std::ops::Deref;

use headwater_ledger::market::{AssetTerms, skeleton};
use headwater_ledger::memory::{Reservation, table_bytes};
use headwater_ledger::read::AssetRef;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Asset, Chain};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::fields::AddressText;
use crate::purposes::ASSETS;
use crate::rebasing::rebases;

/// An asset as answers show it.
#[derive(Debug, Clone, PartialEq)]
pub struct AssetView {
    /// The asset.
    pub asset: Asset,
    /// Canonical text, `None` for the native coin.
    pub contract: Option<AddressText>,
    /// What it counts as and how it is valued.
    pub terms: AssetTerms,
    /// An unverified token under the symbol of a verified one, or one that looks like it.
    pub spoofed: bool,
}

impl Deref for AssetView {
    type Target = AssetTerms;

    fn deref(&self) -> &AssetTerms {
        &self.terms
    }
}

impl AssetView {
    /// The symbol, or the contract where there is none.
    pub(crate) fn name(&self) -> &str {
        self.symbol.as_deref().or(self.contract.as_deref()).unwrap_or_default()
    }
}

/// The assets of one chain, by the number that this book gives them.
pub struct AssetBook<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    by_ref: FxHashMap<AssetRef, usize>,
    by_asset: HashMap<Asset, usize>,
    views: Vec<AssetView>,
    /// The rebasing flags of the assets, looked up on first use.
    rebasing: Vec<OnceCell<bool>>,
    /// Skeletons of the verified symbols: made when the first token without a verdict is met, as most calls meet none.
    trusted: OnceCell<HashSet<String>>,
    held: Option<Reservation>,
    cancel: Cancel,
}

/// Bytes of the texts of an asset: contract and symbol.
const TEXT_BYTES: usize = 128;

impl<'a> AssetBook<'a> {
    /// A book for a few assets.
    #[must_use]
    pub fn new(ledger: &'a dyn Ledger, chain: Chain) -> Self {
        Self {
            ledger,
            chain,
            by_ref: FxHashMap::default(),
            by_asset: HashMap::new(),
            views: Vec::new(),
            rebasing: Vec::new(),
            trusted: OnceCell::new(),
            held: None,
            cancel: Cancel::new(),
        }
    }

    /// A book for as many as an address may have.
    pub(crate) fn within(ledger: &'a dyn Ledger, chain: Chain, cancel: &Cancel) -> Self {
        Self { held: Some(cancel.holding(ASSETS)), cancel: cancel.clone(), ..Self::new(ledger, chain) }
    }

    /// Returns whether an unverified symbol reads like a verified one.
    fn is_spoofed(&self, symbol: &str) -> bool {
        let trusted = self.trusted.get_or_init(|| {
            let entries = self.ledger.registry().of_chain(self.chain);
            entries.filter(|(_, entry)| entry.verified).map(|(_, entry)| skeleton(&entry.symbol)).collect()
        });
        trusted.contains(&skeleton(symbol))
    }

    /// The number of the asset behind a handle.
    ///
    /// # Errors
    /// When stored data cannot be read, or the query takes too much memory.
    pub fn of_ref(&mut self, asset: AssetRef) -> Result<usize, Error> {
        if let Some(number) = self.by_ref.get(&asset) {
            return Ok(*number);
        }
        let number = self.of_asset(self.ledger.asset(asset)?)?;
        self.ask_for_one_more()?;
        self.by_ref.insert(asset, number);
        Ok(number)
    }

    /// The number of an asset.
    ///
    /// # Errors
    /// As [`AssetBook::of_ref`].
    pub fn of_asset(&mut self, asset: Asset) -> Result<usize, Error> {
        if let Some(number) = self.by_asset.get(&asset) {
            return Ok(*number);
        }
        self.ask_for_one_more()?;
        self.views.push(self.look_up(asset)?);
        self.rebasing.push(OnceCell::new());
        self.by_asset.insert(asset, self.views.len() - 1);
        Ok(self.views.len() - 1)
    }

    fn ask_for_one_more(&mut self) -> Result<(), Error> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let (refs, views) = (self.by_ref.len() + 1, self.views.len() + 1);
        let tables = table_bytes::<(AssetRef, usize)>(refs) + table_bytes::<(Asset, usize)>(views);
        Ok(held.reach(tables + views * (size_of::<AssetView>() + size_of::<OnceCell<bool>>() + TEXT_BYTES))?)
    }

    /// The terms and texts of an asset by its number.
    #[must_use]
    pub fn view(&self, number: usize) -> &AssetView {
        &self.views[number]
    }

    /// Returns whether balances of an asset change without transfers: it is listed as such, or its contract logged an
    /// event that only such tokens log.
    ///
    /// # Errors
    /// When the logs cannot be read.
    pub fn rebases(&self, number: usize) -> Result<bool, Error> {
        let cell = &self.rebasing[number];
        if let Some(known) = cell.get() {
            return Ok(*known);
        }
        let found = rebases(self.ledger, self.chain, &self.views[number].asset, &self.cancel)?;
        Ok(*cell.get_or_init(|| found))
    }

    /// The assets by their numbers.
    pub(crate) fn into_assets(self) -> Vec<Asset> {
        self.views.into_iter().map(|view| view.asset).collect()
    }

    fn look_up(&self, asset: Asset) -> Result<AssetView, Error> {
        let terms = AssetTerms::of(self.ledger.registry(), self.chain, &asset, |contract| {
            self.ledger.token_facts(self.chain, contract)
        })?;
        let spoofed = !terms.verified && terms.symbol.as_deref().is_some_and(|symbol| self.is_spoofed(symbol));
        Ok(AssetView { asset, contract: asset.contract().map(AddressText::from), terms, spoofed })
    }
}
