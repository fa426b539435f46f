//! The real lists of `labels/`, imported into one store and asked through the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::labels::{LabelOptions, read_labels};
use headwater_intel::label::{Moment, aggregate};
use headwater_ledger::labels::{Category, Claim, Code};
use headwater_ledger::read::Labels;
use headwater_ledger::store::{LabelImport, MemoryStore, MissingClaims, ShrinkPolicy, Writer};
use headwater_ledger::{Cancel, Snapshot};
use headwater_types::{Address, Chain, Timestamp};
use serde_json::{Value, json};

fn list(path: &str) -> PathBuf {
    headwater_tests::corpus().join("labels").join(path)
}

/// One import of these paths under `labels/`.
fn import(store: &mut MemoryStore, paths: &[&str]) {
    store.import_labels(read(paths)).unwrap();
}

/// One import of these paths under `labels/`, which are read once for all tests.
fn read(paths: &[&str]) -> LabelImport {
    static READ: Mutex<BTreeMap<String, Arc<OnceLock<LabelImport>>>> = Mutex::new(BTreeMap::new());
    let place = Arc::clone(READ.lock().unwrap().entry(paths.join(" ")).or_default());
    place.get_or_init(|| read_anew(paths)).clone()
}

fn read_anew(paths: &[&str]) -> LabelImport {
    let paths: Vec<PathBuf> = paths.iter().map(|path| list(path)).collect();
    let labels = read_labels(&paths, &LabelOptions::default()).unwrap();
    let time = labels.list_date.unwrap_or(Timestamp::new(1_760_000_000));
    LabelImport {
        source: labels.source,
        list: labels.list,
        licence: labels.licence,
        imported_at: time,
        ended_at: time,
        claims: labels.claims,
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Refused,
        sanctions_of: Vec::new(),
    }
}

/// All lists about Ethereum and the official ones.
static STORE: LazyLock<Arc<MemoryStore>> = LazyLock::new(|| {
    let mut store = MemoryStore::default();
    import(&mut store, &["ofac/*.txt"]);
    for path in [
        "etherscan-labels/etherscan_combinedAccountLabels.json.gz",
        "etherscan-labels/etherscan_combinedTokenLabels.json.gz",
        "forta/phishing_scams.csv.gz",
        "forta/etherscan_malicious_labels.csv.gz",
        "forta/malicious_smart_contracts.csv.gz",
        "mining-pools/pools-v2.json",
        "hop/exchange_deposit_addresses.txt.gz",
    ] {
        import(&mut store, &[path]);
    }
    import(&mut store, &["graphsense-tagpacks/*.yaml*"]);
    Arc::new(store)
});

fn labels(chain: &str, address: &str) -> Value {
    answer("labels", chain, address)
}

fn answer(name: &str, chain: &str, address: &str) -> Value {
    static ENGINE: LazyLock<QueryEngine> = LazyLock::new(|| QueryEngine::new(Arc::clone(&*STORE) as _));
    let request = json!({"blockchain": chain, "address": address});
    ENGINE.answer(endpoint(name).unwrap(), &request, &Cancel::new()).unwrap().value()
}

/// The chains on which an address of the official list is under sanctions, for every such address.
fn sanctioned() -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for ticker in ["ETH", "ETC", "ARB", "BSC", "USDC", "USDT", "TRX", "XBT"] {
        for address in lines(&format!("ofac/sanctioned_addresses_{ticker}.txt")) {
            if Address::parse(Chain::ETHEREUM, &address).is_ok() {
                found.push(("ethereum", address.clone()));
                found.push(("bsc", address));
            } else if Address::parse(Chain::TRON, &address).is_ok() {
                found.push(("tron", address));
            } else {
                found.push(("bitcoin", address));
            }
        }
    }
    found
}

fn lines(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(list(path)).unwrap();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn corpus_label_lists_sanction_every_ofac_address() {
    let sanctioned = sanctioned();
    for (chain, address) in &sanctioned {
        let found = labels(chain, address);
        assert_eq!(found["labels"][0], "sanction", "{chain} {address}");
        assert_eq!(found["confidence"], 1.0, "{chain} {address}");
    }
    assert!(sanctioned.len() > 700, "{} looked up", sanctioned.len());
}

/// The single claims about an address: whether somebody curated, or only somebody, calls it illicit, whether anybody
/// names an honest business, and whether it is under sanctions.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "four facts that do not exclude each other")]
struct ClaimSummary {
    curated: bool,
    crawled: bool,
    benign: bool,
    sanctioned: bool,
}

#[test]
fn corpus_label_lists_open_the_gates_that_they_should() {
    for (chain, address) in sanctioned() {
        for chain in if chain == "ethereum" { vec![chain, "evm"] } else { vec![chain] } {
            let risk = answer("address-risk", chain, &address);
            assert_eq!(risk["composite_score"], 100.0, "{chain} {address}");
            assert_eq!(risk["decision"]["gate_reason"], "ofac_sanctioned", "{chain} {address}");
        }
    }

    let snapshot: Arc<Snapshot> = STORE.snapshot();
    let mut said: BTreeMap<Address, ClaimSummary> = BTreeMap::new();
    let visited = snapshot.labels().each(&mut |_, claim| {
        let Some(code) = claim.code.filter(|_| claim.scope.contains(Chain::ETHEREUM)) else { return Ok(()) };
        let of = said.entry(claim.address).or_default();
        match code.category() {
            Category::Sanctions => of.sanctioned = true,
            Category::Identity => of.benign = true,
            Category::Terrorism | Category::Theft | Category::Ransomware | Category::Darknet | Category::Scam => {
                let is_curated = claim.reliability >= 500 && claim.valid_until.is_none();
                of.curated |= is_curated;
                of.crawled |= claim.reliability <= 200;
            }
            _ => {}
        }
        Ok(())
    });
    visited.unwrap();
    let (mut confirmed, mut crawled, mut stray) = (0, 0, 0);
    for (address, said) in said.iter().filter(|(_, said)| !said.sanctioned) {
        let gate = || answer("address-risk", "ethereum", &address.to_string())["decision"]["gate_reason"].clone();
        match (said.curated, said.crawled, said.benign) {
            (true, _, false) if confirmed < 2_000 => {
                assert_eq!(gate(), "confirmed_illicit", "{address}");
                confirmed += 1;
            }
            (false, true, _) => {
                assert_eq!(gate(), Value::Null, "{address}");
                crawled += 1;
            }
            (false, _, true) if stray < 200 => {
                assert_eq!(gate(), Value::Null, "{address}");
                stray += 1;
            }
            _ => {}
        }
    }
    println!("gates of Ethereum: {confirmed} curated illicit at 90, {crawled} crawled and {stray} businesses at none");
    assert!(confirmed == 2_000 && stray == 200, "{confirmed} {crawled} {stray}");
}

#[test]
fn corpus_label_lists_copy_of_etherscan_by_forta_counts_once() {
    let snapshot: Arc<Snapshot> = STORE.snapshot();
    let moment = Moment::present(snapshot.labels(), None);
    let mut groups_of: BTreeMap<Address, BTreeSet<String>> = BTreeMap::new();
    let mut by_two_sources = Vec::new();
    let visited = snapshot.labels().each(&mut |_, claim| {
        if claim.code.is_some() && claim.scope.contains(Chain::ETHEREUM) {
            groups_of.entry(claim.address).or_default().insert(claim.group.to_owned());
            if claim.source == "forta" {
                by_two_sources.push(claim.address);
            }
        }
        Ok(())
    });
    visited.unwrap();
    let mut by_groups: BTreeMap<usize, usize> = BTreeMap::new();
    for groups in groups_of.values() {
        *by_groups.entry(groups.len()).or_default() += 1;
    }
    println!("labelled Ethereum addresses by number of independent groups: {by_groups:?}");
    // Forta's files are Etherscan's labels: alone they make one group, at the confidence of one.
    let only_copies: Vec<_> = by_two_sources
        .iter()
        .filter(|address| groups_of[*address] == BTreeSet::from(["etherscan".to_owned()]))
        .collect();
    assert!(only_copies.len() > 3_000, "{}", only_copies.len());
    for address in only_copies {
        let judged = aggregate(&snapshot.labels().claims(Chain::ETHEREUM, address).unwrap(), &moment);
        assert!(judged.codes.iter().all(|code| code.confidence <= 0.5), "{address}: {:?}", judged.codes);
    }
    assert!(by_groups[&1] > 10 * by_groups.get(&2).copied().unwrap_or_default());
}

#[test]
fn corpus_label_lists_darknet_markets_are_those_that_say_so() {
    let snapshot = STORE.snapshot();
    let mut markets: BTreeSet<String> = BTreeSet::new();
    let visited = snapshot.labels().each(&mut |_, claim| {
        if claim.code == Some(Code::DarknetMarket) {
            markets.insert(
                format!("{} {}", claim.entity.unwrap_or_default(), claim.name.unwrap_or_default()).to_lowercase(),
            );
        }
        Ok(())
    });
    visited.unwrap();
    for name in ["opensea", "rarible", "superrare", "foundation", "looksrare", "blur", "cryptopunks"] {
        assert!(!markets.iter().any(|market| market.contains(name)), "{name} is a market of NFTs");
    }
}

#[test]
fn corpus_label_lists_export_reads_back() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("store");
    let mut writer = Writer::open_or_create(&store).unwrap();
    let lists = [
        "ofac/*.txt",
        "etherscan-labels/etherscan_combinedAccountLabels.json.gz",
        "forta/malicious_smart_contracts.csv.gz",
        "mining-pools/pools-v2.json",
        "graphsense-tagpacks/*.yaml*",
    ];
    for path in lists {
        writer.import_labels(read(&[path])).unwrap();
    }
    let mut held: BTreeMap<u64, Vec<Claim>> = BTreeMap::new();
    let visited = writer.snapshot().labels().each(&mut |version, claim| {
        held.entry(version).or_default().push(claim.to_owned());
        Ok(())
    });
    visited.unwrap();
    drop(writer);
    assert_eq!(held.len(), lists.len());
    for (version, mut claims) in held {
        let file = place.path().join(format!("{version}.{}", if version % 2 == 0 { "csv" } else { "parquet" }));
        let number = version.to_string();
        let words = ["headwater", "labels", "export", "--only", &number, "--store"].map(str::to_owned);
        let paths = [&store, &file].map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(headwater_server::commands::run(words.into_iter().chain(paths)), 0);
        let mut back = read_labels(&[file], &LabelOptions::default()).unwrap().claims;
        claims.sort();
        back.sort();
        let differ = claims.iter().zip(&back).find(|(claim, back)| claim != back);
        assert_eq!((differ, back.len()), (None, claims.len()), "version {version}");
    }
}
