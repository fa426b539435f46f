//! Thresholds of balances: balances of watched addresses that pass an amount.

use headwater_ledger::Ledger;
use headwater_ledger::feed::FeedItem;
use headwater_types::{Address, Amount, Asset, Balance, Chain};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::changes::{Change, Changes};
use super::event::Draft;
use super::kind::EventKind;
use super::selector::{contract, symbol};
use super::step::View;
use super::subscription::Filter;
use super::{FeedStep, Subscription};
use crate::asset_book::{AssetBook, AssetView};
use crate::fields::{ContractText, SymbolText};
use crate::request::{Checks, Crossing, refused};
use crate::scope::Bound;
use crate::{Error, Reason};

/// The event.
pub(super) const KIND: EventKind = EventKind {
    name: "balance_threshold",
    needs_addresses: true,
    needs_threshold: true,
    default_min_usd: None,
    ignored: &[Filter::Symbols, Filter::Contracts, Filter::Direction, Filter::MinAmountUsd, Filter::Labels],
    drafts: crossings,
};

/// The amount that a balance must pass: of a symbol or of a contract, not of both.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub struct BalanceThreshold {
    /// Every verified token of this symbol.
    symbol: Option<SymbolText>,
    /// This token, or `native` for the coin of the chain.
    contract: Option<ContractText>,
    /// The amount, in whole units.
    amount: Bound,
    /// Which way.
    crossing: Option<Crossing>,
}

impl BalanceThreshold {
    /// Pairs of fields of which one has to be given.
    pub const EITHER: &[[&str; 2]] = &[["symbol", "contract"]];
}

/// An amount of an asset, and which way a balance must pass it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Threshold {
    asset: ThresholdAsset,
    amount: Bound,
    crossing: Crossing,
}

/// The asset of a threshold.
#[derive(Debug, Clone, PartialEq)]
enum ThresholdAsset {
    /// Every verified asset of this symbol, lowercase.
    Symbol(String),
    /// This one, whoever vouches for it.
    Asset(Asset),
}

impl Threshold {
    /// Checks the fields of a request.
    pub fn new(
        checks: &mut Checks<'_>,
        chain: Option<Chain>,
        fields: BalanceThreshold,
        must_be_known: bool,
    ) -> Result<Self, Error> {
        let asset = match (&fields.symbol, &fields.contract) {
            (Some(text), None) => {
                ThresholdAsset::Symbol(symbol(checks, chain, ("filters.threshold.symbol", text), must_be_known)?)
            }
            (None, Some(text)) => {
                ThresholdAsset::Asset(contract(checks, chain, "filters.threshold.contract", Some(text))?)
            }
            (None, None) => {
                let why = "filters.threshold.symbol is required, or filters.threshold.contract";
                return Err(Error::invalid(Reason::MissingField, "filters.threshold.symbol", why));
            }
            (Some(_), Some(text)) => {
                let why = "a threshold is of a symbol or of a contract: leave one of them out";
                return Err(refused(Reason::InvalidValue, "filters.threshold.contract", text, &why));
            }
        };
        Ok(Self { asset, amount: fields.amount, crossing: fields.crossing.unwrap_or(Crossing::Both) })
    }

    /// Returns the fields, defaults included.
    pub fn to_json(&self) -> Value {
        let mut text = json!({ "amount": self.amount.text(), "crossing": self.crossing.name() });
        match &self.asset {
            ThresholdAsset::Symbol(symbol) => text["symbol"] = json!(symbol),
            ThresholdAsset::Asset(asset) => {
                text["contract"] = json!(asset.contract().map_or_else(|| "native".to_owned(), Address::to_string));
            }
        }
        text
    }

    fn is_of(&self, view: &AssetView) -> bool {
        match &self.asset {
            ThresholdAsset::Symbol(symbol) => view.verified && view.symbol.as_ref() == Some(symbol),
            ThresholdAsset::Asset(asset) => view.asset == *asset,
        }
    }

    /// Returns the direction in which a balance passes the amount, if the threshold includes it.
    fn crossed(&self, least: Amount, before: Amount, after: Amount) -> Option<&'static str> {
        match (before >= least, after >= least) {
            (false, true) if self.crossing != Crossing::Below => Some("above"),
            (true, false) if self.crossing != Crossing::Above => Some("below"),
            _ => None,
        }
    }
}

/// The changes of the feed in balances of watched addresses behind the items that are processed. An earlier balance is
/// the present one less these changes.
#[derive(Debug, Default)]
pub(super) struct LaterChanges {
    by_account: FxHashMap<(Chain, Address), Vec<(FeedItem, Change)>>,
    /// The last position that is included.
    until: u64,
}

impl LaterChanges {
    /// Drops changes at or before a position, and reads new items of the feed.
    fn read(&mut self, view: &View, position: u64, addresses: &FxHashSet<Address>) -> Result<(), Error> {
        let newest = view.feed.newest();
        let mut until = self.until.max(position);
        while until < newest {
            // A few at a time, so that a long feed is never in memory whole.
            for item in view.feed.after(until, 256)? {
                let changes = view.changes(&item)?;
                each_watched(&changes, addresses, |address, of_address| {
                    let known = self.by_account.entry((item.chain, *address)).or_default();
                    known.extend(of_address.iter().map(|change| (item, *change)));
                });
                until = item.position;
                self.until = until;
            }
        }
        self.until = until;
        self.by_account.retain(|_, changes| {
            changes.retain(|(item, _)| item.position > position);
            !changes.is_empty()
        });
        Ok(())
    }

    /// Returns the balance of an account in an asset after the last processed item.
    fn balance(&self, ledger: &dyn Ledger, chain: Chain, address: &Address, asset: &Asset) -> Result<Balance, Error> {
        let mut balance = Balance::default();
        if let Some(account) = ledger.account(chain, address)? {
            let held = ledger.holdings(&account)?.into_iter().find(|holding| holding.asset == *asset);
            balance = held.map_or(balance, |holding| holding.balance);
        }
        let later = self.by_account.get(&(chain, *address)).into_iter().flatten();
        for (item, change) in later.filter(|(_, change)| change.asset == *asset) {
            balance = if item.removed { change.after(balance) } else { change.before(balance) };
        }
        Ok(balance)
    }
}

/// Visits the changes of watched addresses, by way of the shorter list.
fn each_watched(changes: &Changes, addresses: &FxHashSet<Address>, mut show: impl FnMut(&Address, &[Change])) {
    if addresses.len() < changes.by_address.len() {
        for address in addresses {
            if let Some(of_address) = changes.by_address.get(address) {
                show(address, of_address);
            }
        }
    } else {
        for (address, of_address) in changes.by_address.iter().filter(|(address, _)| addresses.contains(*address)) {
            show(address, of_address);
        }
    }
}

/// Returns the balances of watched addresses that pass the threshold with an item, those of one address in order.
fn crossings(subscription: &Subscription, step: &FeedStep, later: &mut LaterChanges) -> Result<Vec<Draft>, Error> {
    let Some(threshold) = &subscription.threshold else { return Ok(Vec::new()) };
    let (item, ledger, addresses) = (step.item(), &**step.view.feed.ledger(), &subscription.addresses);
    later.read(&step.view, item.position, addresses)?;
    let mut touched: Vec<(Address, Vec<Change>)> = Vec::new();
    each_watched(&step.block.changes, addresses, |address, changes| touched.push((*address, changes.to_vec())));
    touched.sort_unstable_by_key(|(address, _)| *address);
    let mut book = AssetBook::new(ledger, item.chain);
    let mut drafts = Vec::new();
    for (address, changes) in touched {
        let mut assets: Vec<Asset> = changes.iter().map(|change| change.asset).collect();
        assets.sort_unstable();
        assets.dedup();
        for asset in assets {
            let number = book.of_asset(asset)?;
            let view = book.view(number);
            let Some(least) = view.decimals.filter(|_| threshold.is_of(view)) else { continue };
            let Some(least) = threshold.amount.least(least) else { continue };
            let of_asset: Vec<&Change> = changes.iter().filter(|change| change.asset == asset).collect();
            let mut held = later.balance(ledger, item.chain, &address, &asset)?;
            // After a removal the balance is that before the block: in both cases the changes start there.
            if !item.removed {
                held = of_asset.iter().rev().fold(held, |held, change| change.before(held));
            }
            for change in of_asset {
                let after = change.after(held);
                if let Some(crossed) = threshold.crossed(least, held.shown(), after.shown()) {
                    let data = data(item, &address, view, (held.shown(), after.shown()), crossed);
                    let cause = Some(change.cause);
                    drafts.push(Draft { cause, matched: Some(address), data, has_confirmations: false });
                }
                held = after;
            }
        }
    }
    Ok(drafts)
}

fn data(
    item: &FeedItem,
    address: &Address,
    view: &AssetView,
    (before, after): (Amount, Amount),
    crossed: &str,
) -> Map<String, Value> {
    let text = |amount: Amount| view.decimals.map(|decimals| amount.to_decimal(decimals));
    let Value::Object(data) = json!({
        "blockchain": item.chain.name(),
        "address": address.to_string(),
        "symbol": view.symbol,
        "contract": view.contract,
        "balance": text(after),
        "balance_raw": after.to_string(),
        "previous_balance": text(before),
        "crossed": crossed,
        "block_number": item.number,
        "timestamp": item.time.secs(),
    }) else {
        unreachable!("an object is written above")
    };
    data
}
