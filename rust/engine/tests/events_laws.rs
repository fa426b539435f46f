//! Laws of events over random feeds: blocks of two chains that come, go and come again, and history between them.
#![expect(clippy::disallowed_methods, reason = "it measures time, and prints it")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use headwater_engine::events::{Event, Follower, Subscription, Watcher, position_of};
use headwater_engine::{ErrorKind, QueryEngine, Reason, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::read::{Accounts, Balances, Generations};
use headwater_ledger::store::MemoryStore;
use headwater_testkit::{Chainlet, address, followed, is_full};
use headwater_types::{Amount, Asset, Chain, TxHash};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::feeds::{events_from, follower, shared, store, watch};

const ACCOUNTS: u64 = 5;
/// Wei that balances pass.
const THRESHOLD: u64 = 40;

/// What happens to a store.
#[derive(Debug, Clone)]
enum Step {
    /// A block on the tail of a chain: one transaction per (sender, receiver, amount, fee, luck).
    Block(usize, Vec<(u64, u64, u64, u64, u8)>),
    /// So many blocks are taken back; they come again.
    Flip(usize, usize),
    /// So many blocks are taken back and forgotten.
    Back(usize, usize),
    /// All but so many blocks become final.
    Seal(usize, u64),
    /// A block of history, which stands below all others.
    History(u64, u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let movement = (0..ACCOUNTS, 0..ACCOUNTS, 0..60u64, 0..9u64, 0..9u8);
    let chain = 0..2usize;
    prop_oneof![
        6 => (chain.clone(), prop::collection::vec(movement, 0..5)).prop_map(|(chain, block)| Step::Block(chain, block)),
        1 => (chain.clone(), 1..4usize).prop_map(|(chain, count)| Step::Flip(chain, count)),
        1 => (chain.clone(), 1..4usize).prop_map(|(chain, count)| Step::Back(chain, count)),
        1 => (chain, 2..6u64).prop_map(|(chain, left)| Step::Seal(chain, left)),
        1 => (0..ACCOUNTS, 0..ACCOUNTS, 1..60u64).prop_map(|(from, to, amount)| Step::History(from, to, amount)),
    ]
}

const CHAINS: [Chain; 2] = [Chain::ETHEREUM, Chain::TRON];

/// The blocks of a tail: batch, and the fork it is on.
type Tail = Vec<(Batch, u8)>;

struct Life {
    store: MemoryStore,
    tails: [Tail; 2],
    /// Blocks made so far: each is a fork of its own.
    made: u8,
    history: u64,
}

impl Life {
    fn new() -> Self {
        let mut store = store();
        store.begin_events();
        Self { store, tails: [vec![], vec![]], made: 0, history: 0 }
    }

    fn live(&mut self, step: Step) {
        match step {
            Step::Block(chain, movements) => {
                self.made += 1;
                let parent_fork = self.tails[chain].last().map_or(0, |(_, fork)| *fork);
                let number = self.tails[chain].last().map_or(100, |(batch, _)| batch.blocks[0].number + 1);
                let made = self.made;
                let mut chainlet = Chainlet::new(CHAINS[chain]).at_block(number);
                for (place, (from, to, amount, fee, luck)) in movements.into_iter().enumerate() {
                    chainlet = if place > 0 { chainlet.same_block() } else { chainlet };
                    chainlet = chainlet.transfer(from, to, amount).fee(fee);
                    chainlet = match luck {
                        0 => chainlet.failed(),
                        1 => chainlet.internal(to, from, amount / 2),
                        2 => chainlet.token_movement(1, from, to, amount + 1),
                        _ => chainlet,
                    };
                    chainlet = chainlet.with(|facts| {
                        let mut bytes = *facts.hash.as_bytes();
                        bytes[12] = made;
                        facts.hash = TxHash::new(bytes);
                    });
                }
                let mut batch = chainlet.clone().batch();
                if batch.blocks.is_empty() {
                    // A block without transactions.
                    batch = Chainlet::new(CHAINS[chain]).at_block(number).transfer(0, 1, 1).batch();
                    batch.transactions.clear();
                }
                self.append(chain, batch, (self.made, parent_fork));
            }
            Step::Flip(chain, count) => {
                let taken = self.take_back(chain, count);
                for (batch, fork) in taken {
                    let parent_fork = self.tails[chain].last().map_or(0, |(_, fork)| *fork);
                    self.append(chain, batch, (fork, parent_fork));
                }
            }
            Step::Back(chain, count) => drop(self.take_back(chain, count)),
            Step::Seal(chain, left) => {
                let Some((newest, _)) = self.tails[chain].last() else { return };
                let up_to = newest.blocks[0].number - left.min(newest.blocks[0].number);
                self.store.seal_tail(CHAINS[chain], up_to).unwrap();
                self.tails[chain].retain(|(batch, _)| batch.blocks[0].number > up_to);
            }
            Step::History(from, to, amount) => {
                self.history += 1;
                let batch = Chainlet::ethereum().at_block(self.history).transfer(from, to, amount).fee(2).batch();
                self.store.commit(batch, &Cancel::new()).unwrap();
            }
        }
    }

    fn append(&mut self, chain: usize, batch: Batch, (fork, parent_fork): (u8, u8)) {
        self.store.append_tail_block(followed(batch.clone(), fork, parent_fork)).unwrap();
        self.tails[chain].push((batch, fork));
    }

    /// Takes back so many blocks, but never the whole tail: the parent of the next block must be known.
    fn take_back(&mut self, chain: usize, count: usize) -> Tail {
        let left = self.tails[chain].len().saturating_sub(count).max(1);
        if self.tails[chain].len() <= left {
            return Vec::new();
        }
        let taken = self.tails[chain].split_off(left);
        self.store.roll_back_tail(CHAINS[chain], taken[0].0.blocks[0].number - 1).unwrap();
        taken
    }
}

/// Events told and not taken back, by the id of their row.
fn net(events: &[Event]) -> BTreeMap<String, i64> {
    let mut net = BTreeMap::new();
    for event in events {
        let count = if event.data["removed"] == true { -1 } else { 1 };
        *net.entry(event.data["id"].as_str().unwrap().to_owned()).or_default() += count;
    }
    net.retain(|_, count| *count != 0);
    net
}

fn listed(store: &Arc<MemoryStore>, chain: Chain, who: &str) -> BTreeMap<String, i64> {
    let engine = QueryEngine::new(Arc::clone(store) as Arc<dyn Generations>);
    let request = json!({"blockchain": chain.name(), "address": who, "limit": 1000});
    let answer = match engine.answer(endpoint("transactions").unwrap(), &request, &Cancel::new()) {
        Err(error) if error.kind == ErrorKind::InvalidInput(Reason::ChainNotHeld) => return BTreeMap::new(),
        answer => answer.unwrap().value(),
    };
    answer["datas"].as_array().unwrap().iter().map(|row| (row["id"].as_str().unwrap().to_owned(), 1)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "filters are written where they are used")]
fn activity(chain: Chain, more: Value) -> Value {
    let addresses: Vec<String> = (0..ACCOUNTS).map(|number| address(chain, number).to_string()).collect();
    let mut filters = json!({"addresses": addresses});
    filters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    filters
}

/// What several subscribers hear from a position on; the feed is read for all of them at once.
fn heard(store: &Arc<MemoryStore>, subscriptions: &[Subscription], from: u64) -> Vec<Vec<Event>> {
    let mut follower = follower(store, from);
    let mut watchers: Vec<_> =
        subscriptions.iter().map(|subscription| Watcher::new(subscription.clone(), from)).collect();
    let mut events = vec![Vec::new(); watchers.len()];
    loop {
        let steps = follower.next_steps(3).unwrap();
        if steps.is_empty() {
            return events;
        }
        for step in steps {
            for (watcher, events) in watchers.iter_mut().zip(&mut events) {
                events.extend(watcher.advance(&step).unwrap());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 48 } else { 32 }))]

    #[test]
    fn whoever_begins_earlier_hears_the_same_and_the_sum_of_all_is_what_is_held(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut life = Life::new();
        for step in steps {
            life.live(step);
        }
        let store = shared(life.store);
        let newest = store.feed().unwrap().newest();
        let threshold = json!({"contract": "native", "amount": format!("0.0000000000000000{THRESHOLD}")});
        let [eth, tron] = CHAINS;
        let watched: Vec<_> = [
            ("address_activity", activity(eth, json!({}))),
            ("address_activity", activity(tron, json!({"min_confirmations": 3, "direction": "out"}))),
            ("address_activity", activity(eth, json!({"min_confirmations": 2}))),
            ("large_transfer", json!({"min_amount_usd": 0, "min_confirmations": 2})),
            ("balance_threshold", activity(eth, json!({"threshold": threshold}))),
            ("balance_threshold", activity(eth, json!({"threshold": threshold, "min_confirmations": 3}))),
        ]
        .into_iter()
        .map(|(event, filters)| watch(event, filters))
        .collect();
        let whole = heard(&store, &watched, 0);
        for (all, watched) in whole.iter().zip(&watched) {
            prop_assert!(all.array_windows().all(|[one, next]| one.seq < next.seq));
            let mut ids: Vec<&String> = all.iter().map(|event| &event.id).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), all.len(), "{:?}", watched.to_json());
        }
        for from in (1..=newest).step_by(if is_full() { 1 } else { 3 }) {
            for ((all, later), watched) in whole.iter().zip(heard(&store, &watched, from)).zip(&watched) {
                let expected: Vec<Event> = all.iter().filter(|event| position_of(event.seq) > from).cloned().collect();
                prop_assert_eq!(later, expected, "{:?} from {}", watched.to_json(), from);
            }
        }
        for chain in CHAINS {
            for number in 0..ACCOUNTS {
                let who = address(chain, number).to_string();
                let watched = watch("address_activity", json!({"blockchain": chain.name(), "addresses": [who]}));
                prop_assert_eq!(net(&events_from(&store, &watched, 0)), listed(&store, chain, &who), "{}", who);
            }
        }
        let ledger = store.snapshot();
        for number in 0..ACCOUNTS {
            let who = address(eth, number);
            let filters = json!({"addresses": [who.to_string()], "threshold": threshold});
            let events = events_from(&store, &watch("balance_threshold", filters), 0);
            let passed: i64 = events
                .iter()
                .map(|event| match (event.data["crossed"].as_str(), event.data["removed"].as_bool()) {
                    (Some("above"), Some(false)) | (Some("below"), Some(true)) => 1,
                    _ => -1,
                })
                .sum();
            let account = ledger.account(eth, &who).unwrap();
            let holdings = account.map(|account| ledger.holdings(&account).unwrap()).unwrap_or_default();
            let held = holdings.into_iter().find(|holding| holding.asset == Asset::Native);
            let held = held.map_or(Amount::ZERO, |holding| holding.balance.shown());
            prop_assert_eq!(passed, i64::from(held >= Amount::from(THRESHOLD)), "{} holds {}", who, held);
        }
    }
}

#[test]
fn ten_thousand_watched_addresses_cost_milliseconds_a_block() {
    let mut store = store();
    let blocks: u64 = if is_full() { 200 } else { 20 };
    for number in 1..=blocks {
        let chain = (0..500u64).fold(Chainlet::ethereum().at_block(number), |chain, place| {
            let chain = if place > 0 { chain.same_block() } else { chain };
            let from = (number * 977 + place * 31) % 30_000;
            chain.transfer(from, from + 1, 1 + place).fee(1).token_movement(1, from, from + 2, 100)
        });
        store.append_tail_block(followed(chain.batch(), 1, 1)).unwrap();
    }
    let addresses: Vec<String> = (0..10_000).map(|number| address(Chain::ETHEREUM, number * 3).to_string()).collect();
    let wide = watch("address_activity", json!({"addresses": addresses}));
    let narrow = watch("address_activity", json!({"addresses": addresses[..1]}));
    let mut watchers: Vec<Watcher> = (0..1000).map(|_| Watcher::new(narrow.clone(), 0)).collect();
    let mut wide = Watcher::new(wide, 0);
    let mut follower = Follower::new(shared(store), 0);
    let started = Instant::now();
    let steps = follower.next_steps(usize::MAX).unwrap();
    let read = started.elapsed();
    let rows: usize = steps.iter().map(|step| step.row_count()).sum();
    assert_eq!((steps.len() as u64, rows as u64), (blocks, blocks * 1000));
    let started = Instant::now();
    let told: usize = steps.iter().map(|step| wide.advance(step).unwrap().len()).sum();
    let one_wide = started.elapsed();
    let started = Instant::now();
    for step in &steps {
        for watcher in &mut watchers {
            watcher.advance(step).unwrap();
        }
    }
    let many_narrow = started.elapsed();
    let per_block = u32::try_from(blocks).unwrap();
    println!(
        "per block of 1,000 rows: {:?} to read and price, {:?} for one watcher of 10,000 addresses ({told} events in all), \
         {:?} for 1,000 watchers of one address",
        read / per_block,
        one_wide / per_block,
        many_narrow / per_block
    );
    assert!(told > 0);
}
