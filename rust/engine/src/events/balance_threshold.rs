//! Thresholds of balances: balances of watched addresses that pass an amount.

use headwater_ledger::Ledger;
use headwater_ledger::feed::FeedItem;
use headwater_types::{Address, Amount, Asset, Balance, Chain};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value, json};

use super::changes::{Change, Changes};
use super::event::Draft;
use super::kind::{EventKind, Filter};
use super::step::View;
use super::{FeedStep, Subscription};
use crate::Error;
use crate::asset_book::{AssetBook, AssetView};

/// The event.
pub(super) const KIND: EventKind = EventKind {
    name: "balance_threshold",
    needs_addresses: true,
    needs_threshold: true,
    default_min_usd: None,
    ignored: &[Filter::Symbols, Filter::Contracts, Filter::Direction, Filter::MinAmountUsd, Filter::Labels],
};

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
pub(super) fn drafts(
    subscription: &Subscription,
    step: &FeedStep,
    later: &mut LaterChanges,
) -> Result<Vec<Draft>, Error> {
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
