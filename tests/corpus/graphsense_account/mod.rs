//! The reference of the GraphSense transformation, held against Headwater's answers about the same rows.
//!
//! The fixture has five early blocks' worth of first payments and a sample of blocks 15000000 to 15000004. GraphSense
//! publishes what its transformation makes of it: 143 transfers of USDT, aggregates of 782 addresses (a sample of them)
//! and 2,454 relations between addresses. Its definitions are not Headwater's:
//!
//! * a relation is a pair of addresses with a *frame* between them, be its value nothing and whatever it calls;
//!   Headwater has counterparties, between which something moved;
//! * a frame that runs another account's code (`delegatecall`) carries the value of the frame above it along, and
//!   GraphSense adds it to what the other account received; Headwater holds that it moves nothing;
//! * what an account sends to itself is in GraphSense's sums, and in none of Headwater's;
//! * wrapping ether mints a token: Headwater counts it as received from the zero address, GraphSense, which reads
//!   `Transfer` only, does not;
//! * it takes native value from the table of traces alone, so that transactions without frames move none;
//! * its counts are those of frames and transfers whose transaction is in the table of transactions (the fixture has
//!   only some of them), not of transactions.
//!
//! Neither counts fees, failed transactions, or what lies under a frame that failed. The tests below derive GraphSense's
//! numbers from the rows by these definitions, which gives all of its reference to the last digit, and then hold
//! Headwater's answers against them, row by row and reason by reason.

mod reference;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{Gathered, Options, Silent, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, MovementFact};
use headwater_ledger::market::TokenListing;
use headwater_ledger::read::Ordinal;
use headwater_ledger::store::in_memory;
use headwater_types::{Address, Amount, Asset, Chain, Family, TxHash};
use reference::Reference;
use rows::{Frames, Pair, TOKENS, ZERO};
use serde_json::{Value, json};

fn ingest(folder: &str) -> Vec<Batch> {
    let folder = headwater_tests::corpus().join(folder);
    let mut target = Gathered::default();
    let report = ingest_into(&[folder], &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap();
    assert!(report.files.iter().all(|file| file.format == "graphsense-account" && file.skipped == 0));
    target.batches
}

/// The fixture, and the time of block 0, whose allocations it has but not the block. Six transactions were added to it by
/// hand and name another block and time than theirs: here they name theirs.
fn sources() -> Vec<Batch> {
    let own = tempfile::tempdir().unwrap();
    let first = own.path().join("blocks.csv");
    std::fs::write(&first, "blockId,blockHash,parentHash,timestamp\n0,,,0\n").unwrap();
    let mended = own.path().join("transactions.csv");
    std::fs::write(&mended, rows::transactions_at_the_time_of_their_block()).unwrap();
    let folder = headwater_tests::corpus().join("ethereum/graphsense-spark/tokens");
    let files = ["blocks.csv.gz", "logs.json.gz", "traces.csv.gz"].map(|name| folder.join(name));
    let files: Vec<_> = files.into_iter().chain([first, mended]).collect();
    let mut target = Gathered::default();
    let report = ingest_into(&files, &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap();
    assert_eq!((report.rows, report.skipped), (89 + 332 + 2228 + 5547 + 1, 0));
    target.batches
}

#[test]
fn corpus_rows_of_another_block_are_omitted() {
    let folder = headwater_tests::corpus().join("ethereum/graphsense-spark/tokens");
    let files = ["blocks.csv.gz", "transactions.csv.gz"].map(|name| folder.join(name));
    let mut target = Gathered::default();
    let report = ingest_into(&files, &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap();
    let omitted: Vec<_> = report.files.iter().flat_map(|file| &file.omitted).map(|omitted| omitted.rows).collect();
    assert_eq!(omitted, [6]);
    in_memory(target.batches, Vec::new(), Vec::new()).map(|_| ()).unwrap();
}

fn engine() -> QueryEngine {
    let listing = |(symbol, contract, decimals): (&str, &str, u8)| TokenListing {
        chain: Chain::ETHEREUM,
        contract: Address::parse(Chain::ETHEREUM, contract).unwrap(),
        symbol: symbol.to_owned(),
        name: symbol.to_owned(),
        decimals,
        verified: true,
        coingecko_id: None,
    };
    QueryEngine::new(in_memory(sources(), TOKENS.map(listing).into(), Vec::new()).unwrap())
}

fn ask(engine: &QueryEngine, call: &str, address: &str, more: &Value) -> Value {
    let contracts: Vec<Value> = [Value::Null].into_iter().chain(TOKENS.map(|token| json!(token.1))).collect();
    let mut request = json!({"blockchain": "ethereum", "address": address, "contracts": contracts});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let endpoint = endpoint(call).unwrap();
    engine.answer(endpoint, &request, &Cancel::new()).unwrap().value()
}

/// An amount in whole units as an answer states it.
fn raw(asset: &str, amount: &Value) -> u128 {
    let decimals = TOKENS.iter().find(|token| token.0.eq_ignore_ascii_case(asset)).map_or(18, |token| token.2);
    Amount::parse_decimal(amount.as_str().unwrap(), decimals).unwrap().to_u128().unwrap()
}

#[test]
fn corpus_the_transfers_of_usdt_are_exactly_those_published() {
    let usdt = Asset::Token(Address::parse(Chain::ETHEREUM, TOKENS[0].1).unwrap());
    let mut read = BTreeSet::new();
    for facts in sources().iter().flat_map(|batch| &batch.transactions) {
        for movement in facts.movements.iter().filter(|movement| movement.asset == usdt) {
            assert_eq!(movement.kind, MovementFact::Token);
            let Ordinal::Indexed(index) = movement.ordinal else { panic!("a log index") };
            let (from, to) = (movement.from.unwrap().to_string(), movement.to.unwrap().to_string());
            let row = (facts.block, index, facts.hash.display(Family::Evm), from, to, movement.amount.to_string());
            assert!(read.insert(row));
        }
    }
    assert_eq!(read, reference::usdt_transfers());
    assert_eq!(read.len(), 143);
    // The file of them is in the format, too, and says the same.
    let path = headwater_tests::corpus().join("ethereum/graphsense-spark/tokens/reference/USDT_token_transfers.json");
    let blocks = headwater_tests::corpus().join("ethereum/graphsense-spark/tokens/blocks.csv.gz");
    let mut target = Gathered::default();
    ingest_into(&[path, blocks], &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap();
    let again: usize = target.batches[0].transactions.iter().map(|facts| facts.movements.len()).sum();
    assert_eq!(again, 143);
}

/// The definitions above are those by which the reference was made: all of it follows from the rows.
#[test]
fn corpus_reference_follows_from_the_rows() {
    let (reference, frames) = (Reference::read(), Frames::read());
    assert_eq!((reference.addresses.len(), reference.relations.len()), (782, 2454));
    let known = |address: &str| reference.addresses.contains_key(address).then(|| address.to_owned());
    let mut derived: Vec<_> = frames
        .pairs
        .iter()
        .map(|((from, to), pair)| (known(from), known(to), pair.native(), pair.tokens.clone(), pair.count))
        .collect();
    let mut published = reference.relations.clone();
    derived.sort();
    published.sort();
    assert_eq!(derived, published);
    for (address, of) in &reference.addresses {
        let (received, spent) = (frames.received(address), frames.spent(address));
        assert_eq!((received.native(), &received.tokens), (of.received, &of.tokens_received), "{address}");
        assert_eq!((spent.native(), &spent.tokens), (of.spent, &of.tokens_spent), "{address}");
        assert_eq!((received.count, spent.count), (of.incoming, of.outgoing), "{address}");
    }
}

#[test]
fn corpus_received_and_sent_agree_but_for_known_differences() {
    let (engine, frames, reference) = (engine(), Frames::read(), Reference::read());
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut alike = 0;
    for address in reference.addresses.keys() {
        let overview = ask(&engine, "wallet-overview", address, &json!({}));
        let mut sums: BTreeMap<String, (u128, u128)> = BTreeMap::new();
        for asset in overview["balances"].as_array().unwrap() {
            let symbol = asset["symbol"].as_str().unwrap();
            let sum = (raw(symbol, &asset["received_amount"]), raw(symbol, &asset["sent_amount"]));
            sums.insert(symbol.to_uppercase(), sum);
        }
        let sum = |symbol: &str| sums.get(symbol).copied().unwrap_or_default();
        let mut why = BTreeSet::new();
        // What GraphSense counts on top, or leaves out, is exactly the difference.
        let (received, spent) = (frames.received(address), frames.spent(address));
        let (ours, sides) = (sum("ETH"), [("received", &received), ("sent", &spent)]);
        for ((name, theirs), ours) in sides.into_iter().zip([ours.0, ours.1]) {
            let is_side =
                |(from, to): &(String, String)| if name == "received" { to == address } else { from == address };
            let untraced: u128 = frames.untraced.iter().filter(|(pair, _)| is_side(pair)).map(|(_, wei)| wei).sum();
            assert_eq!(ours - untraced, theirs.called, "{name} by {address}");
            assert_eq!(theirs.called + theirs.delegated + theirs.own, theirs.native());
            if untraced > 0 {
                *reasons.entry("without frames").or_default() += 1;
                why.insert("untraced");
            }
            if theirs.delegated > 0 {
                *reasons.entry(if name == "received" { "delegated to it" } else { "delegated by it" }).or_default() +=
                    1;
                why.insert("delegated");
            }
            if theirs.own > 0 && name == "received" {
                *reasons.entry("sent to itself").or_default() += 1;
                why.insert("own");
            }
        }
        let (wrapped, unwrapped) = frames.wrapped.get(address).copied().unwrap_or_default();
        for (symbol, _, _) in TOKENS {
            let theirs = |pair: &Pair| pair.tokens.get(symbol).copied().unwrap_or_default();
            let (wrapped, unwrapped) = if symbol == "WETH" { (wrapped, unwrapped) } else { (0, 0) };
            assert_eq!(sum(symbol), (theirs(&received) + wrapped, theirs(&spent) + unwrapped), "{symbol} of {address}");
        }
        if wrapped + unwrapped > 0 {
            *reasons.entry("wrapped or unwrapped").or_default() += 1;
            why.insert("wrapped");
        }
        alike += usize::from(why.is_empty());
    }
    let expected = [
        ("delegated by it", 9),
        ("delegated to it", 15),
        ("sent to itself", 3),
        ("without frames", 3),
        ("wrapped or unwrapped", 20),
    ];
    assert_eq!((alike, reasons), (738, expected.into()));
}

#[test]
fn corpus_relations_are_counterparties_but_where_nothing_moved() {
    let (engine, frames) = (engine(), Frames::read());
    let sources: BTreeSet<&String> = frames.pairs.keys().chain(frames.untraced.keys()).map(|(from, _)| from).collect();
    let mut ours: BTreeMap<(String, String), BTreeMap<String, u128>> = BTreeMap::new();
    for from in sources {
        let page = json!({"direction": "out", "output_asset": "per_symbol", "limit": 1000});
        let ranking = ask(&engine, "counterparty", from, &page);
        assert!(ranking["pagination"]["next_cursor"].is_null(), "{from}");
        for row in ranking["datas"].as_array().unwrap() {
            let (to, symbol) = (row["address"].as_str().unwrap(), row["symbol"].as_str().unwrap());
            let sums = ours.entry((from.clone(), to.to_owned())).or_default();
            assert!(sums.insert(symbol.to_uppercase(), raw(symbol, &row["sent_amount"])).is_none());
        }
    }
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for (pair @ (from, to), theirs) in &frames.pairs {
        let held = ours.remove(pair);
        let reason = match held {
            _ if from == to => "to itself",
            _ if to == ZERO || from == ZERO => "mint or burn",
            Some(held) => {
                let mut expected = theirs.tokens.clone();
                let untraced = frames.untraced.get(pair).copied().unwrap_or_default();
                if theirs.called + untraced > 0 {
                    expected.insert("ETH".to_owned(), theirs.called + untraced);
                }
                assert_eq!((held, theirs.delegated), (expected, 0), "{pair:?}");
                if untraced > 0 { "alike but for what has no frames" } else { "alike" }
            }
            None if theirs.delegated > 0 => "delegated value only",
            None => {
                assert_eq!((theirs.native(), theirs.tokens.len()), (0, 0), "{pair:?}");
                "calls of nothing"
            }
        };
        *found.entry(reason).or_default() += 1;
    }
    let expected = [
        ("alike", 1041),
        ("alike but for what has no frames", 1),
        ("calls of nothing", 1352),
        ("delegated value only", 40),
        ("mint or burn", 1),
        ("to itself", 19),
    ];
    assert_eq!(found, expected.into());
    let unknown: BTreeSet<_> = ours.keys().collect();
    let untraced: BTreeSet<_> = frames.untraced.keys().filter(|pair| !frames.pairs.contains_key(*pair)).collect();
    assert_eq!((unknown.len(), unknown), (1, untraced), "GraphSense has all others");
}

/// The first day of TRON: fees are in a table of their own, and what has no receiver moves nothing.
#[test]
fn corpus_tron_transactions_and_fees_equal_their_values() {
    let batches = ingest("tron/graphsense-spark/0to10000");
    assert_eq!((batches.len(), batches[0].chain), (1, Chain::TRON));
    let mut all: BTreeMap<TxHash, _> = BTreeMap::new();
    for facts in batches[0].transactions.iter().cloned() {
        let joined = match all.remove(&facts.hash) {
            Some(held) => facts.clone().join(held, Chain::TRON).unwrap(),
            None => facts.clone(),
        };
        all.insert(facts.hash, joined);
    }
    assert_eq!(all.len(), 2172);
    let fees: u128 = all.values().map(|facts| facts.fee.unwrap().to_u128().unwrap()).sum();
    assert_eq!(fees, 277_312_297_920, "added with another program");
    let without = all.values().filter(|facts| facts.body.unwrap().to.is_none());
    assert!(without.clone().all(|facts| facts.body.unwrap().value.is_zero()));
    assert_eq!(without.count(), 214);
    let moved: u128 = all.values().map(|facts| facts.body.unwrap().value.to_u128().unwrap()).sum();
    assert_eq!(moved, rows::tron_value_with_receiver());
}

#[test]
fn corpus_blocks_of_tron_follow_each_other() {
    let batches = ingest("tron/graphsense-spark/56804500to56805500");
    let blocks: BTreeMap<u64, _> = batches[0].blocks.iter().map(|block| (block.number, block)).collect();
    assert_eq!((blocks.len(), batches[0].chain), (1001, Chain::TRON));
    for (number, block) in &blocks {
        if let Some(next) = blocks.get(&(number + 1)) {
            assert_eq!((next.parent, next.time.secs() - block.time.secs()), (block.hash, 3), "{number}");
        }
    }
}
