//! Stores with a change feed, and those who watch it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;

use headwater_engine::events::{Event, Follower, Subscription, Watcher};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::read::Generations;
use headwater_ledger::store::MemoryStore;
use headwater_testkit::token;
use headwater_types::{Chain, Timestamp};
use serde_json::Value;

/// An empty store that knows token 1 of Ethereum as USDT of two decimals, worth a dollar; an ether is worth 2,000 dollars, a
/// bitcoin 10,000.
pub fn store() -> MemoryStore {
    let mut store = MemoryStore::default();
    let contract = *token(Chain::ETHEREUM, 1).contract().unwrap();
    let (symbol, name) = ("USDT".to_owned(), "Tether".to_owned());
    let listing = TokenListing {
        chain: Chain::ETHEREUM,
        contract,
        symbol,
        name,
        decimals: 2,
        verified: true,
        coingecko_id: None,
    };
    store.import_tokens("town", vec![listing]).unwrap();
    let price = |symbol: &str, usd| PricePoint { symbol: symbol.to_owned(), time: Timestamp::new(1_600_000_000), usd };
    store.import_prices("town", vec![price("eth", 2000.0), price("usdt", 1.0), price("btc", 10_000.0)]).unwrap();
    store
}

pub fn shared(store: MemoryStore) -> Arc<MemoryStore> {
    Arc::new(store)
}

pub fn follower(store: &Arc<MemoryStore>, position: u64) -> Follower {
    Follower::new(Arc::clone(store) as Arc<dyn Generations>, position)
}

/// A subscription, checked against the registry of [`store`].
#[expect(clippy::needless_pass_by_value, reason = "filters are written where they are used")]
pub fn watch(event_type: &str, filters: Value) -> Subscription {
    let store = store();
    let ledger = store.snapshot();
    Subscription::parse(event_type, &filters, &*ledger).unwrap_or_else(|error| panic!("{filters}: {error:?}")).0
}

/// What a subscriber hears from a position on, the feed read a few items at a time.
pub fn events_from(store: &Arc<MemoryStore>, subscription: &Subscription, from: u64) -> Vec<Event> {
    let mut follower = follower(store, from);
    let mut watcher = Watcher::new(subscription.clone(), from);
    let mut events = Vec::new();
    loop {
        let steps = follower.next_steps(3).unwrap();
        if steps.is_empty() {
            return events;
        }
        for step in steps {
            events.extend(watcher.advance(&step).unwrap());
        }
    }
}

pub fn all_events(store: MemoryStore, subscription: &Subscription) -> Vec<Event> {
    events_from(&shared(store), subscription, 0)
}

/// One field of the data of every event.
pub fn fields(events: &[Event], name: &str) -> Vec<Value> {
    events.iter().map(|event| event.data[name].clone()).collect()
}
