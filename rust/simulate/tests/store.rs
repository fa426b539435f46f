//! The economy in a store: what the store answers follows from the facts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use headwater_ledger::facts::{MovementFact, TransactionFacts};
use headwater_ledger::read::{Accounts, Balances, CoverageTable, Generation, Status};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use headwater_simulate::{Destination, Preset, SimulateError, SimulateReport, Truth, simulate};
use headwater_types::{Address, Amount, Asset, Balance, Chain};
use tempfile::TempDir;

use crate::demo;

const SEED: u64 = 3;

fn make(
    seed: u64,
    writer: &mut Writer,
    truth: Option<&Path>,
    progress: &dyn Fn(u64, u64),
) -> Result<SimulateReport, SimulateError> {
    simulate(Preset::Demo, seed, Destination { writer, truth }, progress, &Cancel::new())
}

/// A store of the economy and its truth.
struct DemoStore {
    folder: TempDir,
    report: SimulateReport,
    /// The progress that was reported last.
    reported: (u64, u64),
}

impl DemoStore {
    /// Made once for the tests that run at the same time, in none of which its content changes; it goes with the last of
    /// them.
    fn made() -> Arc<Self> {
        static MADE: Mutex<Weak<DemoStore>> = Mutex::new(Weak::new());
        let mut place = MADE.lock().unwrap();
        place.upgrade().unwrap_or_else(|| {
            let folder = tempfile::tempdir().unwrap();
            let reported = Cell::new((0, 0));
            let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
            let truth = folder.path().join("truth");
            let report = make(SEED, &mut writer, Some(&truth), &|done, total| reported.set((done, total))).unwrap();
            let made = Arc::new(Self { folder, report, reported: reported.get() });
            *place = Arc::downgrade(&made);
            made
        })
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn truth(&self) -> PathBuf {
        self.folder.path().join("truth")
    }
}

#[test]
fn loading_the_economy_again_changes_nothing() {
    let whole = DemoStore::made();
    let (report, truth) = (&whole.report, whole.truth());
    let mut writer = Writer::open_or_create(whole.store()).unwrap();
    assert_eq!(whole.reported, (400, 400));
    assert!((42_000..70_000).contains(&report.transfers), "{}", report.transfers);
    assert_eq!(writer.snapshot().generation(), report.generation);

    let snapshot = writer.snapshot();
    for summary in &report.chains {
        let coverage = &snapshot.coverage()[&summary.chain];
        assert_eq!(coverage.transactions, summary.transactions, "{}", summary.chain);
        assert_eq!(coverage.ranges[&CoverageTable::Transactions], [(0, summary.blocks - 1)], "{}", summary.chain);
    }
    assert!(report.highlights.len() >= 4 * 3);
    for highlight in &report.highlights {
        let address = Address::parse(highlight.chain, &highlight.address).unwrap();
        assert!(snapshot.account(highlight.chain, &address).unwrap().is_some(), "{highlight:?}");
    }
    let economy = demo(SEED);
    assert_eq!(Truth::read(&truth).unwrap(), economy.truth);
    assert_eq!(report.lists, economy.lists);
    let mut published = files(&truth.join("labels"));
    for list in &report.lists {
        let folder = match list.edition {
            Some(edition) => format!("sanctions-{}/", edition.to_string().split_once('T').unwrap().0),
            None => String::new(),
        };
        for file in &list.files {
            assert_eq!(published.remove(&format!("{folder}{}", file.name)).as_ref(), Some(&file.bytes));
        }
    }
    assert!(published.is_empty(), "{:?}", published.keys());

    let again = make(SEED, &mut writer, None, &|_, _| {}).unwrap();
    assert_eq!(again, *report);
    assert_eq!(writer.snapshot().generation(), report.generation);
    let other = make(SEED + 1, &mut writer, None, &|_, _| {}).unwrap_err();
    let text = other.to_string();
    assert!(text.contains("preset demo, seed 3 already") && text.contains("empty store"), "{text}");
    assert_eq!(writer.snapshot().generation(), report.generation);
}

/// Every file of a folder and its folders, with what it holds.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn stopped_run_leaves_no_table_and_ends_the_same_when_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let whole = DemoStore::made();
    let expected = &whole.report;

    let truth = folder.path().join("truth");
    let mut writer = Writer::open_or_create(folder.path().join("stopped")).unwrap();
    for stop_at in [1, 290] {
        let stop = Cancel::new();
        let progress = |done, _| {
            if done >= stop_at {
                stop.cancel();
            }
        };
        let destination = Destination { writer: &mut writer, truth: Some(&truth) };
        let error = simulate(Preset::Demo, SEED, destination, &progress, &stop).unwrap_err();
        assert!(matches!(error, SimulateError::Cancelled(_) | SimulateError::Ledger(_)), "{error:?}");
        assert_eq!(files(&truth).into_keys().filter(|name| !name.ends_with(".partial")).count(), 0);
        let store = Store::open(folder.path().join("stopped")).unwrap();
        assert!(store.verify(&|_, _| {}, &cancel).unwrap().is_sound());
    }
    let held: u64 = writer.snapshot().coverage().values().map(|coverage| coverage.transactions).sum();
    let all: u64 = expected.chains.iter().map(|chain| chain.transactions).sum();
    assert!((1..all).contains(&held), "{held} of {all}");

    let report = make(SEED, &mut writer, Some(&truth), &|_, _| {}).unwrap();
    assert_eq!(SimulateReport { generation: expected.generation, ..report }, *expected);
    assert_eq!(files(&truth), files(&whole.truth()));
    let digest = |store: PathBuf| Store::open(store).unwrap().digest(&cancel).unwrap();
    assert_eq!(digest(folder.path().join("stopped")), digest(whole.store()));
}

/// Balances of every address from the facts, by a few lines that know nothing of the store.
#[test]
fn the_holdings_of_every_address_are_those_of_the_facts() {
    let economy = demo(SEED);
    let mut expected: BTreeMap<(Chain, Address), BTreeMap<Asset, Balance>> = BTreeMap::new();
    for batch in &economy.batches {
        for facts in &batch.transactions {
            for (from, to, asset, amount) in flows(facts) {
                let mut at = |address: Address| {
                    let of_address = expected.entry((batch.chain, address)).or_default();
                    let balance = of_address.entry(asset).or_default();
                    let sum = if from == Some(address) { Balance::send } else { Balance::receive };
                    sum(balance, amount).unwrap();
                };
                // A transfer to oneself changes nothing.
                if from != to {
                    from.into_iter().chain(to).for_each(&mut at);
                }
            }
        }
    }
    let whole = DemoStore::made();
    let snapshot = Store::open(whole.store()).unwrap().snapshot().unwrap();
    for ((chain, address), assets) in expected {
        let account = snapshot.account(chain, &address).unwrap().expect("an address of the facts");
        let nonzero = |asset: Asset, balance: &Balance| {
            let net = balance.net_decimal(0);
            (net != "0").then_some((asset, net))
        };
        let held: Vec<_> = snapshot.holdings(&account).unwrap();
        let held: BTreeMap<_, _> = held.iter().filter_map(|held| nonzero(held.asset, &held.balance)).collect();
        let wanted: BTreeMap<_, _> = assets.iter().filter_map(|(asset, balance)| nonzero(*asset, balance)).collect();
        assert_eq!(held, wanted, "{chain} {address}");
    }
}

type FlowOf = (Option<Address>, Option<Address>, Asset, Amount);

fn flows(facts: &TransactionFacts) -> Vec<FlowOf> {
    let mut flows: Vec<FlowOf> = Vec::new();
    if let Some(body) = &facts.body {
        let by_gas = facts.gas_used.zip(facts.effective_gas_price);
        let by_gas = by_gas.map(|(used, price)| Amount::from(used).checked_mul(price).unwrap());
        flows.push((body.from, None, Asset::Native, facts.fee.or(by_gas).unwrap_or_default()));
        if facts.status == Some(Status::Success) {
            flows.push((body.from, body.to.or(facts.created), Asset::Native, body.value));
        }
    }
    for movement in facts.movements.iter().filter(|movement| movement.kind != MovementFact::NonFungible) {
        flows.push((movement.from, movement.to, movement.asset, movement.amount));
    }
    if let Some(utxo) = &facts.utxo {
        for spent in utxo.inputs.iter().filter_map(|input| input.spent.as_ref()) {
            flows.push((spent.owner, None, Asset::Native, spent.amount.into()));
        }
        for output in &utxo.outputs {
            flows.push((None, output.owner, Asset::Native, output.amount.into()));
        }
    }
    flows
}
