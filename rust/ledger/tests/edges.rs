//! Edges answer as postings do: built, grouped on reading, or over several segments, in every order.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use headwater_ledger::edges::{AssetEdge, EdgeFlows, EdgeOrder, EdgeSide, Edges};
use headwater_ledger::facts::Batch;
use headwater_ledger::market::{AssetTerms, PricePoint, TokenListing};
use headwater_ledger::read::{Account, Accounts, Counterparties, Direction, Ledger, Scan, Status};
use headwater_ledger::store::{MemoryStore, Segmentation, Split, Writer, in_memory};
use headwater_ledger::{Cancel, Store};
use headwater_testkit::strategies::account_chain;
use headwater_testkit::{Chainlet, address, is_full, token};
use headwater_types::{Address, Amount, Asset, Chain, Timestamp, Usd};
use proptest::prelude::*;

const CHAIN: Chain = Chain::ETHEREUM;
const ORDERS: [EdgeOrder; 3] = [EdgeOrder::Total, EdgeOrder::Sent, EdgeOrder::Received];
const WAYS: [Segmentation; 4] = [
    Segmentation { segments: 1, split: Split::Runs, tail_blocks: 0 },
    Segmentation { segments: 3, split: Split::Runs, tail_blocks: 1 },
    Segmentation { segments: 3, split: Split::Scattered, tail_blocks: 0 },
    Segmentation { segments: 17, split: Split::Scattered, tail_blocks: 2 },
];

/// Token 1 is listed and verified, token 2 is not; prices begin and end inside of the history.
fn market() -> (Vec<TokenListing>, Vec<PricePoint>) {
    let Asset::Token(contract) = token(CHAIN, 1) else { unreachable!("a token has a contract") };
    let listing = TokenListing {
        chain: CHAIN,
        contract,
        symbol: "usdx".into(),
        name: "X".into(),
        decimals: 1,
        verified: true,
        coingecko_id: None,
    };
    let point = |symbol: &str, block: i64, usd| PricePoint {
        symbol: symbol.into(),
        time: Timestamp::new(1_600_000_000 + 12 * block),
        usd,
    };
    // A wei is worth something, so that sums of dollars differ.
    let prices = vec![point("usdx", 3, 0.3), point("eth", 0, 1e17), point("eth", 9, 7e16), point("eth", 12, 0.0)];
    (vec![listing], prices)
}

/// A row as it should be: whose, flows, and by asset flows and sums.
type Sums = (EdgeFlows, Option<Amount>, Option<Amount>);
type Row = (Address, EdgeFlows, BTreeMap<Asset, Sums>);

fn add(
    flows: &mut Option<EdgeFlows>,
    latest: &mut [Option<u64>; 3],
    number: u64,
    way: usize,
    time: Timestamp,
    usd: Option<Usd>,
) {
    let none = EdgeFlows {
        received: EdgeSide::default(),
        sent: EdgeSide::default(),
        transactions: 0,
        first: time,
        last: time,
    };
    let flows = flows.get_or_insert(none);
    flows.first = flows.first.min(time);
    flows.last = flows.last.max(time);
    flows.transactions += u64::from(latest[2].replace(number) != Some(number));
    let side = if way == 0 { &mut flows.received } else { &mut flows.sent };
    side.transfers += 1;
    side.transactions += u64::from(latest[way].replace(number) != Some(number));
    match usd {
        Some(usd) => side.usd += usd,
        None => side.unpriced += 1,
    }
}

/// The same from postings, without any shared code but that of values.
fn oracle(ledger: &dyn Ledger, account: &Account) -> Vec<Row> {
    /// Flows, the latest transaction of each kind, sums both ways.
    type OfAsset = (Option<EdgeFlows>, [Option<u64>; 3], [Option<Amount>; 2]);
    #[derive(Default)]
    struct EdgeAnswer {
        all: Option<EdgeFlows>,
        latest: [Option<u64>; 3],
        assets: BTreeMap<Asset, OfAsset>,
    }
    let mut rows: BTreeMap<Address, EdgeAnswer> = BTreeMap::new();
    let (mut number, mut latest) = (0, None);
    for posting in ledger.postings(account, &Scan::default()).unwrap() {
        let posting = posting.unwrap();
        number += u64::from(latest.replace(posting.transaction) != Some(posting.transaction));
        let way = match posting.direction {
            Direction::In => 0,
            Direction::Out => 1,
            Direction::Own => continue,
        };
        let Some(other) = posting.counterparty.map(|other| ledger.address(other).unwrap()) else { continue };
        if posting.amount.is_zero() || posting.status == Some(Status::Failed) || other.is_zero() {
            continue;
        }
        let asset = ledger.asset(posting.asset).unwrap();
        let terms = AssetTerms::of(ledger.registry(), CHAIN, &asset, |token| ledger.token_facts(CHAIN, token)).unwrap();
        let usd = terms.usd(ledger.prices(), posting.amount, posting.time);
        let row = rows.entry(other).or_default();
        let sums = row.assets.entry(asset).or_insert((None, [None; 3], [Some(Amount::ZERO); 2]));
        add(&mut sums.0, &mut sums.1, number, way, posting.time, usd);
        sums.2[way] = sums.2[way].and_then(|sum| sum.checked_add(posting.amount));
        if terms.verified {
            add(&mut row.all, &mut row.latest, number, way, posting.time, usd);
        }
    }
    let rows = rows.into_iter().map(|(address, row)| {
        let assets = row.assets.into_iter().map(|(asset, (flows, _, [received, sent]))| {
            (asset, (flows.expect("made with a movement"), received, sent))
        });
        let none = EdgeFlows {
            received: EdgeSide::default(),
            sent: EdgeSide::default(),
            transactions: 0,
            first: Timestamp::new(i64::MAX),
            last: Timestamp::new(i64::MIN),
        };
        (address, row.all.unwrap_or(none), assets.collect())
    });
    rows.collect()
}

fn shown(ledger: &dyn Ledger, edges: &Edges) -> Vec<Row> {
    let row = |edge: &headwater_ledger::edges::Edge| {
        let assets = edges.assets(edge).iter();
        let assets = assets.map(|row| (ledger.asset(row.asset).unwrap(), (row.flows, row.received, row.sent)));
        (ledger.address(edge.counterparty).unwrap(), edge.flows, assets.collect())
    };
    edges.pairs.iter().map(row).collect()
}

fn ordered(mut rows: Vec<Row>, order: EdgeOrder) -> Vec<Row> {
    let weight = |flows: &EdgeFlows| match order {
        EdgeOrder::Total => (flows.received.usd + flows.sent.usd, flows.transfers()),
        EdgeOrder::Sent => (flows.sent.usd, flows.sent.transfers),
        EdgeOrder::Received => (flows.received.usd, flows.received.transfers),
    };
    rows.retain(|(_, flows, _)| order == EdgeOrder::Total || weight(flows).1 > 0);
    rows.sort_by(|one, other| weight(&other.1).cmp(&weight(&one.1)).then_with(|| one.0.cmp(&other.0)));
    rows
}

fn check(ledger: &dyn Ledger, number: u64) {
    let Some(account) = ledger.account(CHAIN, &address(CHAIN, number)).unwrap() else { return };
    let rows = oracle(ledger, &account);
    for order in ORDERS {
        let rows = ordered(rows.clone(), order);
        for limit in [0, 1, 3, 40, usize::MAX] {
            let edges = ledger.edges(&account, order, limit, &Cancel::new()).unwrap().expect("built or small");
            assert_eq!(shown(ledger, &edges), rows[..rows.len().min(limit)], "{number} {order:?} {limit}");
        }
        let mut seen = Vec::new();
        let visited = ledger.visit_edges(&account, order, &Cancel::new(), &mut |other, flows| {
            seen.push((ledger.address(other).unwrap(), *flows));
            if seen.len() == 50 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(visited.unwrap(), Some(()));
        let expected: Vec<_> = rows.iter().take(50).map(|(address, flows, _)| (*address, *flows)).collect();
        assert_eq!(seen, expected, "{number} {order:?}");
        let handle = account.handle().expect("it is held");
        let mut weighed = Vec::new();
        let visited = ledger.visit_weights(handle, order, &Cancel::new(), &mut |other, usd| {
            weighed.push((ledger.address(other).unwrap(), usd));
            if weighed.len() == 50 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(visited.unwrap(), Some(()));
        let usd = |flows: &EdgeFlows| match order {
            EdgeOrder::Total => flows.usd(),
            EdgeOrder::Sent => flows.sent.usd,
            EdgeOrder::Received => flows.received.usd,
        };
        let expected: Vec<_> = seen.iter().map(|(address, flows)| (*address, usd(flows))).collect();
        assert_eq!(weighed, expected, "{number} {order:?}");
    }
    let all = ledger.edges(&account, EdgeOrder::Total, usize::MAX, &Cancel::new()).unwrap().unwrap();
    let every_third: Vec<_> = all.pairs.iter().step_by(3).map(|edge| edge.counterparty).rev().collect();
    let some = ledger.edges_with(&account, &every_third, &Cancel::new()).unwrap().expect("built or small");
    let expected: Vec<_> = shown(ledger, &all).into_iter().step_by(3).collect();
    assert_eq!(shown(ledger, &some), expected, "{number}");
    let named = |other, row: &AssetEdge| {
        let sums = (row.flows, row.received, row.sent);
        (ledger.address(other).unwrap(), ledger.asset(row.asset).unwrap(), sums)
    };
    let of_pair = |edge| all.assets(edge).iter().map(|row| named(edge.counterparty, row));
    let mut rows: Vec<_> = all.pairs.iter().flat_map(of_pair).collect();
    rows.sort_by_key(|(.., (flows, ..))| Reverse(flows.transfers()));
    for limit in [0, 1, 7, usize::MAX] {
        let busiest = ledger.busiest_edges(&account, limit, &Cancel::new()).unwrap().expect("built or small");
        let busiest: Vec<_> = busiest.iter().map(|(other, row)| named(*other, row)).collect();
        assert_eq!(busiest, rows[..rows.len().min(limit)], "{number} {limit}");
    }
}

fn check_everywhere(batch: Batch, numbers: &[u64]) {
    let (listings, prices) = market();
    let store = in_memory(vec![batch], listings, prices).unwrap();
    for way in WAYS {
        let segmented = store.in_segments(way).unwrap();
        for store in [segmented.with_sidecars(&Cancel::new()).unwrap(), segmented] {
            for number in numbers {
                check(&*store.snapshot(), *number);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 48 } else { 32 }))]
    #[test]
    fn edges_are_what_the_postings_come_to(batch in account_chain()) {
        check_everywhere(batch, &[0, 1, 2, 3, 4, 5, 1_000_001]);
    }
}

/// An account with hundreds of counterparties of very different weight, some of them in several assets.
fn hub(counterparties: u64, rounds: u64) -> Batch {
    let mut chain = Chainlet::ethereum();
    for number in 0..counterparties * rounds {
        let other = 10 + number * 7919 % counterparties;
        let amount = 1 + (number * number) % 1_000_003;
        chain = if number % 3 == 0 { chain.same_block() } else { chain };
        chain = if number % 5 < 2 { chain.transfer(1, other, amount) } else { chain.transfer(other, 1, amount) };
        if other.is_multiple_of(4) {
            chain = chain.token_movement(other % 3, 1, other, amount * 1000).token_movement(1, other, 1, 5);
        }
    }
    chain.batch()
}

#[test]
fn a_hub_is_the_same_in_blocks_and_in_every_order() {
    check_everywhere(hub(700, 3), &[1, 10, 12]);
    check_everywhere(hub(129, 1), &[1]);
}

#[test]
fn sum_past_256_bits_is_reported_and_not_clipped() {
    let batch = Chainlet::ethereum()
        .token_transfer(2, 1, 3, 1)
        .with(|facts| facts.movements[0].amount = Amount::MAX)
        .token_transfer(2, 1, 3, 1)
        .token_transfer(2, 3, 1, 1)
        .with(|facts| facts.movements[0].amount = Amount::MAX)
        .batch();
    check_everywhere(batch.clone(), &[1, 3]);
    let store = in_memory(vec![batch], vec![], vec![]).unwrap().with_sidecars(&Cancel::new()).unwrap();
    let ledger = store.snapshot();
    let account = ledger.account(CHAIN, &address(CHAIN, 1)).unwrap().unwrap();
    let edges = ledger.edges(&account, EdgeOrder::Total, 9, &Cancel::new()).unwrap().unwrap();
    let row = edges.assets(&edges.pairs[0])[0];
    assert_eq!((row.sent, row.received), (None, Some(Amount::MAX)));
}

#[test]
fn utxo_chains_have_no_edges() {
    let store = in_memory(vec![Chainlet::bitcoin().mine(1, 50).batch()], vec![], vec![]).unwrap();
    let ledger = store.with_sidecars(&Cancel::new()).unwrap().snapshot();
    let account = ledger.account(Chain::BITCOIN, &address(Chain::BITCOIN, 1)).unwrap().unwrap();
    assert_eq!(ledger.edges(&account, EdgeOrder::Total, 1, &Cancel::new()).unwrap(), None);
}

/// As many transfers of one account as cannot be grouped on reading.
fn large() -> Batch {
    let chain = Chainlet::ethereum();
    (0..66_000).fold(chain, |chain, number| chain.same_block().transfer(1, number % 89 + 200, number + 1)).batch()
}

fn first(ledger: &dyn Ledger) -> Option<Edges> {
    let account = ledger.account(CHAIN, &address(CHAIN, 1)).unwrap().unwrap();
    ledger.edges(&account, EdgeOrder::Total, usize::MAX, &Cancel::new()).unwrap()
}

#[test]
fn edges_go_stale_on_import_and_are_whole_after_a_rebuild() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.commit(large(), &Cancel::new()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert!(first(&*store.snapshot().unwrap()).is_some(), "a segment with a large account comes with its edges");

    let (listings, prices) = market();
    let unused = vec![PricePoint { symbol: "nobody".into(), ..prices[0].clone() }];
    writer.import_prices("unused", unused).unwrap();
    assert!(first(&*store.snapshot().unwrap()).is_some(), "what changes no value makes nothing stale");
    writer.rebuild_sidecars(&|kind, _, _| assert_ne!(kind, "edges"), &Cancel::new()).unwrap();

    let version = writer.import_prices("prices", prices.clone()).unwrap();
    assert_eq!(first(&*store.snapshot().unwrap()), None, "stale");
    writer.roll_back_import(version).unwrap();
    assert!(first(&*store.snapshot().unwrap()).is_some(), "the prices that it was built under are in force again");
    writer.import_prices("prices", prices).unwrap();
    writer.import_tokens("tokens", listings).unwrap();
    assert_eq!(first(&*store.snapshot().unwrap()), None);

    let reported = std::cell::Cell::new((0, 0));
    assert!(writer.rebuild_sidecars(&|_, done, total| reported.set((done, total)), &Cancel::new()).unwrap());
    assert_eq!(reported.get().0, reported.get().1);
    check(&*store.snapshot().unwrap(), 1);
    check(&*store.snapshot().unwrap(), 200);
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
    drop(writer);
    let before = store.snapshot().unwrap();
    let after = Writer::open_or_create(folder.path()).unwrap().snapshot();
    assert_eq!(first(&*before), first(&*after));
}

#[test]
fn damaged_edges_are_reported_with_file_and_offset() {
    let folder = tempfile::tempdir().unwrap();
    Writer::open_or_create(folder.path()).unwrap().commit(large(), &Cancel::new()).unwrap();
    let sound = first(&*Store::open(folder.path()).unwrap().snapshot().unwrap());
    let file = std::fs::read_dir(folder.path().join("edges")).unwrap().next().unwrap().unwrap().path();
    let good = std::fs::read(&file).unwrap();
    for step in 0..60 {
        let place = (good.len() - 1) * step / 59;
        let mut bad = good.clone();
        bad[place] ^= 1 << (step % 8);
        std::fs::write(&file, &bad).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
        assert!(report.problems.iter().any(|problem| problem.file == file), "byte {place}: {report:?}");
        let served = store.snapshot().and_then(|ledger| {
            let account = ledger.account(CHAIN, &address(CHAIN, 1))?.expect("it is there");
            ledger.edges(&account, EdgeOrder::Total, usize::MAX, &Cancel::new())
        });
        match served {
            Ok(edges) => assert_eq!(edges, sound, "byte {place}"),
            Err(error) => assert!(error.to_string().contains("edges"), "{error}"),
        }
    }
}

#[test]
fn memory_and_disk_keep_the_same_edges() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.commit(large(), &Cancel::new()).unwrap();
    let mut memory = MemoryStore::default();
    memory.commit(large(), &Cancel::new()).unwrap();
    assert_eq!(first(&*writer.snapshot()), first(&*memory.with_sidecars(&Cancel::new()).unwrap().snapshot()));
    assert_eq!(first(&*memory.snapshot()), None, "too large to group on reading");
}
