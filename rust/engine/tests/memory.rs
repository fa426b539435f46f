//! The memory of queries: what is counted is what they take, and one that would take more than its share is refused with
//! words that help, whatever it was about to do.
#![expect(clippy::disallowed_methods, reason = "it runs itself as a process of its own and asks the system of it")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use headwater_engine::{AnyRow, Error, ErrorKind, QueryEngine, Reason, SinkClosed, TableHead, TableSink, endpoint};
use headwater_ledger::facts::Batch;
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::memory::{FREE_BYTES, Purpose};
use headwater_ledger::read::Generations;
use headwater_ledger::store::{MemoryStore, Writer};
use headwater_ledger::{Cancel, Memory, Store};
use headwater_testkit::{Chainlet, address, token};
use headwater_types::{Asset, Chain, Timestamp};
use serde_json::{Value, json};

const CHAIN: Chain = Chain::ETHEREUM;
/// The account that all of it is about.
const HUB: u64 = 1;
/// Verified tokens, by number.
const TOKENS: u64 = 5;

/// The hub pays and is paid by so many others, who deal in one asset each; so many movements, one a block.
fn hub(others: u64, movements: std::ops::Range<u64>) -> Batch {
    let mut chain = Chainlet::ethereum().at_block(movements.start + 1);
    for number in movements {
        let other = 10 + number.wrapping_mul(0x9e37_79b9) % others;
        let (from, to) = if number % 3 == 0 { (HUB, other) } else { (other, HUB) };
        chain = match other % (TOKENS + 1) {
            0 => chain.transfer(from, to, 1_000_000_000_000 + number),
            contract => chain.token_transfer(contract, from, to, 1_000_000 + number),
        };
    }
    chain.batch()
}

fn listings() -> Vec<TokenListing> {
    let listing = |number: u64| {
        let Asset::Token(contract) = token(CHAIN, number) else { unreachable!("a token has a contract") };
        let (symbol, name) = (format!("T{number}"), format!("Token {number}"));
        TokenListing { chain: CHAIN, contract, symbol, name, decimals: 6, verified: true, coingecko_id: None }
    };
    (1..=TOKENS).map(listing).collect()
}

fn prices() -> Vec<PricePoint> {
    let of = |symbol: String| PricePoint { symbol, time: Timestamp::new(1_600_000_000), usd: 2.0 };
    (1..=TOKENS).map(|number| of(format!("t{number}"))).chain([of("eth".to_owned())]).collect()
}

fn about(more: &Value) -> Value {
    let mut request = json!({"blockchain": "ethereum", "address": address(CHAIN, HUB).to_string()});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

/// Every way of an account to take memory: a name, the endpoint, the request.
fn questions() -> Vec<(&'static str, &'static str, Value)> {
    // What begins in the middle of a window is in no edges.
    let window = 1_600_000_100;
    let tokens: Vec<String> = (1..=TOKENS).map(|number| format!("t{number}")).collect();
    let Asset::Token(contract) = token(CHAIN, 1) else { unreachable!("a token has a contract") };
    let flow = json!({"blockchain": "ethereum", "contract": contract.to_string(), "addresses": [address(CHAIN, HUB).to_string(),
        address(CHAIN, 10).to_string()]});
    vec![
        ("ranking of movements", "counterparty", about(&json!({"start_time": window}))),
        ("ranking by symbol", "counterparty", about(&json!({"start_time": window, "output_asset": "per_symbol"}))),
        ("ranking of edges", "counterparty", about(&json!({}))),
        ("ranking of edges by count", "counterparty/list", about(&json!({"sort": "total_count"}))),
        ("ranking of edges of a token", "counterparty", about(&json!({"symbols": ["t1"], "sort": "total_count"}))),
        ("movements by value", "transactions", about(&json!({"sort": "amount_usd", "limit": 1000}))),
        ("movements in order", "transactions", about(&json!({"limit": 1000}))),
        ("wallet", "wallet-overview", about(&json!({}))),
        ("history", "balance-history", about(&json!({"symbols": tokens, "start_time": 1_570_000_000}))),
        ("flows", "token/addresses_flow", flow),
    ]
}

/// The JSON text of an answer, which takes memory of the query too.
fn ask(engine: &QueryEngine, name: &str, request: &Value, cancel: &Cancel) -> Result<String, Error> {
    engine.answer(endpoint(name).unwrap(), request, cancel)?.report.json(cancel)
}

#[test]
fn a_query_gets_its_answer_with_the_memory_it_needs_and_an_error_that_helps_with_less() {
    let mut store = MemoryStore::default();
    store.commit(hub(1500, 0..2000), &Cancel::new()).unwrap();
    store.commit(hub(1500, 2000..4000), &Cancel::new()).unwrap();
    store.import_tokens("made up", listings()).unwrap();
    store.import_prices("made up", prices()).unwrap();
    let built = store.with_sidecars(&Cancel::new()).unwrap();
    for (at, store) in [("movements", store), ("edges", built)] {
        let engine = QueryEngine::new(Arc::new(store));
        for (what, name, request) in questions() {
            let free = ask(&engine, name, &request, &Cancel::new()).unwrap();
            let plenty = Memory::new(1 << 30, 1 << 30);
            assert_eq!(ask(&engine, name, &request, &plenty.token()).unwrap(), free, "{what}");
            let (needed, left) = (plenty.usage().most, plenty.usage().taken);
            assert_eq!(left, 0, "{what}");
            assert!(needed > 4096, "{what} takes memory: {needed}");
            let mut refused = 0;
            for sixteenth in 0..16 {
                let memory = Memory::new(1 << 30, needed * sixteenth / 16);
                match ask(&engine, name, &request, &memory.token()) {
                    // An account asks for more than it needs where there is more.
                    Ok(answer) => assert_eq!(answer, free, "{what}"),
                    Err(error) => {
                        refused += 1;
                        assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::QueryTooLarge), "{what}: {error:?}");
                        assert_eq!(error.limit, Some(memory.per_query()), "{what}");
                        let text = error.message;
                        assert!(text.contains("take more memory than") && text.contains(": ask for"), "{what}: {text}");
                    }
                }
                assert_eq!(memory.usage().taken, 0, "{what}");
            }
            assert!(refused > 0, "{what} of {at}");
            let exact = Memory::new(needed, needed);
            assert_eq!(ask(&engine, name, &request, &exact.token()).unwrap(), free, "{what}");
            // There is enough for one, but another has taken some of it.
            let other = exact.token();
            let mut held = other.holding(Purpose { what: "others", narrower: "wait" });
            held.reach(usize::try_from(FREE_BYTES + needed - 1000).unwrap()).unwrap();
            let error = ask(&engine, name, &request, &exact.token()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Overloaded, "{what}: {error:?}");
            println!("{what} of {at}: {needed} bytes, refused with less {refused} of 16 times");
        }
    }
}

/// Takes a table and fails after some rows, if it is told to.
struct Broken {
    rows: usize,
    memory: Memory,
    most: u64,
}

impl TableSink for Broken {
    fn begin(&mut self, _: TableHead) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, _: &dyn AnyRow) -> Result<(), SinkClosed> {
        self.most = self.most.max(self.memory.usage().taken);
        self.rows = self.rows.checked_sub(1).ok_or(SinkClosed)?;
        Ok(())
    }
}

#[test]
fn a_table_holds_its_page_until_it_ends_or_breaks_off() {
    let mut store = MemoryStore::default();
    store.commit(hub(700, 0..4000), &Cancel::new()).unwrap();
    store.import_tokens("made up", listings()).unwrap();
    let engine = QueryEngine::new(Arc::new(store));
    for rows in [usize::MAX, 1500] {
        let memory = Memory::new(1 << 30, 1 << 30);
        let mut sink = Broken { rows, memory: memory.clone(), most: 0 };
        let request = about(&json!({"limit": 100_000}));
        let made = engine.table(&endpoint("transactions").unwrap().query(request), &memory.token(), &mut sink);
        assert_eq!(made.is_ok(), rows == usize::MAX);
        // The movements of the page, of 100 bytes at least.
        assert!(sink.most > 4000 * 100, "{}", sink.most);
        assert_eq!(memory.usage().taken, 0);
    }
}

#[test]
fn work_that_is_cancelled_under_way_gives_its_memory_back() {
    let mut store = MemoryStore::default();
    store.commit(hub(5000, 0..20_000), &Cancel::new()).unwrap();
    let engine = QueryEngine::new(Arc::new(store));
    let memory = Memory::new(1 << 30, 1 << 30);
    let token = memory.token();
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            while token.held_bytes() < 100_000 {
                std::thread::yield_now();
            }
            token.cancel();
        });
        let mut ended = Ok(());
        // It may be through before the token is set: then it is asked again.
        while ended.is_ok() {
            let request = about(&json!({"start_time": 1_600_000_100}));
            ended = ask(&engine, "counterparty", &request, &token).map(drop);
        }
        ended.unwrap_err()
    });
    assert_eq!(stopped.kind, ErrorKind::Cancelled);
    drop(token);
    assert_eq!(memory.usage().taken, 0);
}

/// Anonymous memory of this process in bytes.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Asks one question of a store and tells what memory grew by at most, and what was counted of it.
fn measure(folder: &Path, wanted: &str) {
    let (_, name, request) = questions().into_iter().find(|(what, ..)| *what == wanted).unwrap();
    let store: Arc<dyn Generations> = Arc::new(Store::open(folder).unwrap());
    let engine = QueryEngine::new(store);
    // What is made once is made by another question.
    ask(
        &engine,
        "wallet-overview",
        &json!({"blockchain": "ethereum", "address": address(CHAIN, 11).to_string()}),
        &Cancel::new(),
    )
    .unwrap();
    let memory = Memory::new(1 << 40, 1 << 40);
    let (is_over, most, before) = (AtomicBool::new(false), AtomicU64::new(0), anonymous());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most.fetch_max(anonymous(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let answer = ask(&engine, name, &request, &memory.token());
        is_over.store(true, Ordering::Relaxed);
        answer.unwrap();
    });
    println!("measured {} counted {}", most.into_inner().saturating_sub(before), memory.usage().most);
}

/// Bytes that are not counted: buffers of fixed size for each thread and segment.
const UNCOUNTED: u64 = 6 << 20;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn what_is_counted_bounds_what_the_process_grows_by() {
    const FOLDER: &str = "HEADWATER_TEST_MEMORY_STORE";
    const QUESTION: &str = "HEADWATER_TEST_MEMORY_QUESTION";
    if let (Some(folder), Ok(question)) = (std::env::var_os(FOLDER), std::env::var(QUESTION)) {
        return measure(Path::new(&folder), &question);
    }
    let is_full = headwater_testkit::is_full();
    let (others, movements) = if is_full { (400_000, 1_200_000) } else { (40_000, 120_000) };
    let place = tempfile::tempdir().unwrap();
    let loaded = place.path().join("movements");
    let mut writer = Writer::open_or_create(&loaded).unwrap();
    for part in 0..3 {
        let range = movements * part / 3..movements * (part + 1) / 3;
        writer.commit(hub(others, range), &Cancel::new()).unwrap();
    }
    writer.import_tokens("made up", listings()).unwrap();
    writer.import_prices("made up", prices()).unwrap();
    drop(writer);
    let built = place.path().join("edges");
    copy(&loaded, &built);
    Writer::open_or_create(&built).unwrap().rebuild_sidecars(&|_, _, _| {}, &Cancel::new()).unwrap();
    for folder in ["movements", "edges"] {
        // The others read movements, whether there are edges or not.
        let is_asked = |what: &str| is_full || folder == "movements" || what == "wallet" || what.contains("edges");
        for (what, ..) in questions().into_iter().filter(|(what, ..)| is_asked(what)) {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "what_is_counted_bounds_what_the_process_grows_by", "--nocapture"])
                .env(FOLDER, place.path().join(folder))
                .env(QUESTION, what)
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&child.stdout);
            assert!(child.status.success(), "{what}: {told}{}", String::from_utf8_lossy(&child.stderr));
            let line = told.lines().find_map(|line| Some(line.split_once("measured ")?.1)).unwrap();
            let (measured, counted) = line.split_once(" counted ").unwrap();
            let (measured, counted): (u64, u64) = (measured.parse().unwrap(), counted.trim().parse().unwrap());
            println!("{what} of {movements} {folder}: grew by {} KiB, counted {} KiB", measured >> 10, counted >> 10);
            assert!(measured <= counted + UNCOUNTED, "{what} of {folder}: {measured} of {counted}");
        }
    }
}

/// Run by hand: `cargo test -p headwater-engine memory -- --ignored --nocapture`.
#[test]
#[ignore = "it measures time, which is told and not judged"]
fn what_a_budget_costs_a_page() {
    const ROUNDS: usize = 200;
    const CALLS: u32 = 50;
    let mut store = MemoryStore::default();
    store.commit(hub(20, 0..100), &Cancel::new()).unwrap();
    let engine = QueryEngine::new(Arc::new(store));
    let memory = Memory::new(512 << 20, 128 << 20);
    for (name, request) in [
        ("transactions", about(&json!({"limit": 10}))),
        ("transactions", about(&json!({"limit": 100}))),
        ("counterparty", about(&json!({"start_time": 1_600_000_100}))),
    ] {
        // One after the other, so that whatever else the machine does falls on both.
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (place, times) in times.iter_mut().enumerate() {
                let started = std::time::Instant::now();
                for _ in 0..CALLS {
                    let token = if place == 0 { Cancel::new() } else { memory.token() };
                    ask(&engine, name, &request, &token).unwrap();
                }
                times.push(started.elapsed() / CALLS);
            }
        }
        let [without, with] = times.map(|mut times| {
            times.sort_unstable();
            (times[ROUNDS / 10], times[ROUNDS / 2])
        });
        println!("{name} {request}: first tenth and median without a budget {without:?}, with one {with:?}");
    }
}
