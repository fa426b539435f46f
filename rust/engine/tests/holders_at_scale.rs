//! A token with five million holders: what its table takes, and what questions about it take when nothing of it is in
//! memory. Run by hand; as the superuser of Linux it empties the page cache before each first question:
//!
//! `cargo test -p headwater-engine holders_at_scale -- --ignored --nocapture`
#![expect(clippy::disallowed_methods, reason = "it measures time, and asks the system to empty its cache")]
#![expect(clippy::cast_precision_loss, reason = "figures are shown with three digits")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "balances are floored")]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::facts::{Batch, Movement, MovementFact, TransactionFacts, opening};
use headwater_ledger::holders::Moments;
use headwater_ledger::market::TokenListing;
use headwater_ledger::read::{Generations, Ordinal, Status};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use headwater_metrics::concentration::{Balances, Params, concentration, spread};
use headwater_types::{Address, Amount, Asset, Chain, Timestamp, TxHash};
use serde_json::{Value, json};

const HOLDERS: u64 = 5_000_000;
const CHAIN: Chain = Chain::ETHEREUM;
const TOKEN: Address = Address::Evm([0xdd; 20]);
const TIME: Timestamp = Timestamp::new(1_600_000_000);

fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn holder(number: u64) -> Address {
    let mut bytes = [0; 20];
    match number {
        0 => bytes[18..].copy_from_slice(&[0xde, 0xad]),
        1 => bytes = [0xdd; 20],
        _ => {
            bytes[..8].copy_from_slice(&mix(number).to_be_bytes());
            bytes[8..16].copy_from_slice(&mix(number ^ 1 << 40).to_be_bytes());
        }
    }
    Address::Evm(bytes)
}

/// A power law of exponent 0.9, of 18 decimals.
fn balance(number: u64) -> Amount {
    let unit = (mix(number.wrapping_add(1 << 50)) >> 11).max(1) as f64 / (1_u64 << 53) as f64;
    let whole = (unit.powf(-0.9) * 1e6).floor() as u128 * 1_000_000_000_000;
    Amount::from_u128(whole + u128::from(mix(number ^ 1 << 45) % 1_000_000_000_000))
}

fn build(folder: &Path) {
    let mut writer = Writer::open_or_create(folder).unwrap();
    let listing = TokenListing {
        chain: CHAIN,
        contract: TOKEN,
        symbol: "DAI".to_owned(),
        name: "Dai".to_owned(),
        decimals: 18,
        verified: true,
        coingecko_id: None,
    };
    writer.import_tokens("made up", vec![listing]).unwrap();
    let held = (0..HOLDERS).map(|number| (holder(number), balance(number))).collect();
    let all: Vec<TransactionFacts> = opening(CHAIN, TOKEN, 100, TIME, held).unwrap().collect();
    for part in all.chunks(100) {
        let batch = Batch { transactions: part.to_vec(), ..Batch::new(CHAIN) };
        writer.commit(batch, &Cancel::new()).unwrap();
    }
    writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
    let started = Instant::now();
    let is_built = writer.rebuild_sidecars(&|_, _, _| {}, &Cancel::new()).unwrap();
    println!("table built: {is_built}, {:.2} s", started.elapsed().as_secs_f64());
    let tables = std::fs::read_dir(folder.join("holders")).unwrap();
    for table in tables {
        let length = table.unwrap().metadata().unwrap().len();
        println!("table: {:.2} bytes per holder", length as f64 / HOLDERS as f64);
    }
}

/// Transfers after the table, of a new block.
fn add(folder: &Path, count: u64) {
    let mut batch = Batch::new(CHAIN);
    batch.transactions = (0..count)
        .map(|number| {
            let mut hash = [1; 32];
            hash[..8].copy_from_slice(&mix(number + 7).to_be_bytes());
            TransactionFacts {
                time: Some(TIME),
                status: Some(Status::Success),
                index: u32::try_from(number).ok(),
                movements: vec![Movement {
                    kind: MovementFact::Token,
                    ordinal: Ordinal::Indexed(number),
                    from: Some(holder(2 + mix(number) % HOLDERS)),
                    to: Some(holder(2 + mix(number + 99) % (HOLDERS + 1000))),
                    asset: Asset::Token(TOKEN),
                    amount: Amount::from(500_000_000_000 + number),
                }],
                ..TransactionFacts::new(TxHash::new(hash), 101)
            }
        })
        .collect();
    Writer::open_or_create(folder).unwrap().commit(batch, &Cancel::new()).unwrap();
}

/// The system writes and forgets what it holds of files; tells whether it may be asked to.
fn empty_cache() -> bool {
    let _ = std::process::Command::new("sync").status();
    std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}

/// Pages that the process had to wait for so far, as Linux counts them.
fn pages_read() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().nth(9).and_then(|field| field.parse().ok()).unwrap_or(0)
}

fn ask(folder: &Path, what: &str) {
    let contract = TOKEN.to_string();
    let about = |more: Value| {
        let mut request = json!({"blockchain": "ethereum", "contract": contract});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    };
    for (name, request) in [
        ("token/concentration", about(json!({}))),
        ("token/holders", about(json!({}))),
        ("token/holders", about(json!({"limit": 100, "offset": 10_000}))),
    ] {
        let is_cold = empty_cache();
        let started = Instant::now();
        let engine = QueryEngine::new(Arc::new(Store::open(folder).unwrap()));
        let opened = started.elapsed();
        let mut took = Vec::new();
        let mut pages = vec![pages_read()];
        for _ in 0..5 {
            let started = Instant::now();
            engine.answer(endpoint(name).unwrap(), &request, &Cancel::new()).unwrap();
            took.push(started.elapsed().as_secs_f64() * 1e3);
            pages.push(pages_read());
        }
        let opened = opened.as_secs_f64() * 1e3;
        println!(
            "{what}, {name} {request}: opened in {opened:.1} ms, first (cache emptied: {is_cold}) {:.2} ms with {} \
             waits for the disk, then {:.2} ms",
            took[0],
            pages[1] - pages[0],
            took[4]
        );
    }
}

#[test]
#[ignore = "builds a store of five million holders"]
fn a_token_with_five_million_holders_is_measured_at_once() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    ask(folder.path(), "table");
    let store = Store::open(folder.path()).unwrap();
    let ledger = store.current().unwrap();
    let holders = ledger.holders(CHAIN, &Asset::Token(TOKEN)).unwrap().unwrap();
    let started = Instant::now();
    let mut balances = Vec::new();
    holders
        .visit(&mut |batch| {
            balances.extend(batch.rows().filter_map(|(_, held)| held.to_u128()));
            ControlFlow::Continue(())
        })
        .unwrap();
    let one_by_one = Balances { small: &balances, large: &[] };
    let found = concentration(one_by_one, &Params::default(), &Cancel::new()).unwrap();
    let theil = spread(one_by_one).theil;
    println!("one by one, for comparison: {:.1} ms, {found:?}, {theil}", started.elapsed().as_secs_f64() * 1e3);
    let started = Instant::now();
    let mut moments = Moments::default();
    for held in &balances {
        moments.push(Amount::from_u128(*held));
    }
    println!("sums of all, part of the building of the table: {:.2} s", started.elapsed().as_secs_f64());
    assert_eq!(moments, *holders.ranked(&[]).unwrap().moments());
    drop(store);
    add(folder.path(), 1000);
    ask(folder.path(), "table and 1000 transfers outside of it");
}
