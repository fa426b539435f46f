//! Label files against brute force, and imports in sequence against a model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_types::{Address, Chain, Timestamp};
use proptest::prelude::*;

use super::{Action, Claim, Code, DateBasis, LabelTable, Level, Link, NameQuery, NamedAddresses, Scope};
use crate::Cancel;
use crate::memory::Memory;
use crate::read::Labels as _;
use crate::store::{LabelImport, MemoryStore, MissingClaims, ShrinkPolicy, Store, Writer};

/// One of a few addresses of three families, so that claims meet.
fn address(number: u8) -> Address {
    match number % 3 {
        0 => Address::Evm([number; 20]),
        1 => Address::Tron([number; 20]),
        _ => {
            let texts = ["1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"];
            Address::parse(Chain::BITCOIN, texts[usize::from(number) % 2]).unwrap()
        }
    }
}

fn claim(number: u8, code: usize, entity: Option<&str>, asserted_at: Option<i64>) -> Claim {
    let address = address(number);
    Claim {
        address,
        scope: match address {
            Address::Evm(_) if code.is_multiple_of(2) => Scope::Evm,
            Address::Evm(_) => Scope::Chain(Chain::BSC),
            Address::Tron(_) => Scope::Chain(Chain::TRON),
            Address::Utxo(_) => Scope::Chain(Chain::BITCOIN),
        },
        code: (code < Code::ALL.len()).then(|| Code::ALL[code]),
        name: entity.map(|entity| Arc::from(format!("{entity} 1"))),
        entity: entity.map(Arc::from),
        source: Arc::from("list"),
        source_url: (code % 3 == 1).then(|| Arc::from("https://list.example/a")),
        group: Arc::from("group"),
        level: Level::ALL[code % Level::ALL.len()],
        reliability: 500,
        link: Link::Exact,
        asserted_at: asserted_at.map(Timestamp::new),
        date_basis: asserted_at.and_then(|time| {
            [Some(DateBasis::Address), Some(DateBasis::Entity), None][usize::try_from(time).unwrap() % 3]
        }),
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    }
}

fn claims() -> impl Strategy<Value = Vec<Claim>> {
    let one = (0u8..12, 0usize..45, prop::option::of("[A-C]"), prop::option::of(0i64..100));
    prop::collection::vec(
        one.prop_map(|(number, code, entity, time)| claim(number, code, entity.as_deref(), time)),
        0..24,
    )
}

fn import(list: u8, claims: Vec<Claim>, time: i64) -> LabelImport {
    let time = Timestamp::new(time);
    LabelImport {
        source: "source".into(),
        list: format!("list {list}"),
        licence: None,
        imported_at: time,
        ended_at: time,
        claims,
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Accepted,
        sanctions_of: Vec::new(),
    }
}

/// All claims of a table by address, sorted.
fn held(table: &LabelTable) -> Vec<Claim> {
    let mut all = Vec::new();
    for number in 0..12 {
        let of_address: Vec<_> = table.claims_about(&address(number)).unwrap().iter().map(Claim::to_owned).collect();
        assert!(of_address.iter().all(|claim| claim.address == address(number)));
        all.extend(of_address);
    }
    all.sort();
    all.dedup();
    let mut each = Vec::new();
    let visited = table.each(&mut |_, claim| {
        each.push(claim.to_owned());
        Ok(())
    });
    visited.unwrap();
    each.sort();
    each.dedup();
    assert_eq!(each, all, "a walk shows what look-ups find");
    all
}

/// The expected state after a sequence of imports, by replaying those in force.
#[derive(Default)]
struct Model {
    imports: Vec<(u64, u8, Vec<Claim>, i64, bool)>,
}

impl Model {
    fn claims(&self) -> Vec<Claim> {
        let mut lists: BTreeMap<u8, Vec<Claim>> = BTreeMap::new();
        for (_, list, claims, time, _) in self.imports.iter().filter(|import| import.4) {
            let before = lists.remove(list).unwrap_or_default();
            let mut now = claims.clone();
            for old in before {
                let is_stated =
                    claims.iter().any(|new| (new.address, new.scope, new.code) == (old.address, old.scope, old.code));
                if !is_stated && old.code.is_some() {
                    let until = old.valid_until.map_or(*time, |until| until.secs().min(*time));
                    now.push(Claim { valid_until: Some(Timestamp::new(until)), ..old });
                }
            }
            lists.insert(*list, now);
        }
        let mut all: Vec<_> = lists.into_values().flatten().collect();
        all.sort();
        all.dedup();
        all
    }
}

#[derive(Debug, Clone)]
enum Step {
    Import(u8, Vec<Claim>),
    RollBack(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let import = (0u8..2, claims()).prop_map(|(list, claims)| Step::Import(list, claims));
    prop::collection::vec(prop_oneof![3 => import, 1 => (0usize..8).prop_map(Step::RollBack)], 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn imports_in_sequence_equal_their_replay(steps in steps()) {
        let mut store = MemoryStore::default();
        let mut model = Model::default();
        for (time, step) in (1000..).zip(steps) {
            match step {
                Step::Import(list, claims) => {
                    let number = store.import_labels(import(list, claims.clone(), time)).unwrap();
                    model.imports.push((number, list, claims, time, true));
                }
                Step::RollBack(place) => {
                    let Some(entry) = model.imports.get_mut(place) else { continue };
                    let outcome = store.roll_back_import(entry.0);
                    prop_assert_eq!(outcome.is_ok(), entry.4);
                    entry.4 = false;
                }
            }
            prop_assert_eq!(held(store.snapshot().labels()), model.claims());
        }
    }
}

/// The addresses that a look at every claim finds: those to which a list gives the name, and of which it makes a claim on the chain.
fn scanned(table: &LabelTable, query: &NameQuery, chain: Option<Chain>) -> BTreeSet<Address> {
    let (mut named, mut on_chain) = (BTreeSet::new(), BTreeSet::new());
    let visited = table.each(&mut |version, claim| {
        let fits = claim.name.and_then(|name| query.rank(name)).or(claim.entity.and_then(|of| query.rank_entity(of)));
        named.extend(fits.map(|_| (version, claim.address)));
        on_chain.extend(chain.is_none_or(|chain| claim.scope.contains(chain)).then_some((version, claim.address)));
        Ok(())
    });
    visited.unwrap();
    named.intersection(&on_chain).map(|(_, address)| *address).collect()
}

proptest! {
    #[test]
    fn search_finds_the_addresses_that_a_scan_finds(
        lists in prop::collection::vec(prop::collection::vec((0u8..12, 0usize..45, "[aB1]{0,2}([ .:]{1,2}[aB1]{1,2}){0,3}"), 0..24), 1..4),
        query in "[ab1]{1,2}( [ab1]{1,2}){0,1}",
        limit in 0usize..8,
    ) {
        let mut store = MemoryStore::default();
        for (place, list) in (0..).zip(lists) {
            let claims = list.iter().map(|(number, code, text)| claim(*number, *code, Some(text), None)).collect();
            store.import_labels(import(place, claims, 1)).unwrap();
        }
        let table = Arc::clone(store.snapshot().labels());
        let query = NameQuery::new(&query).unwrap();
        for chain in [None, Some(Chain::ETHEREUM), Some(Chain::BSC), Some(Chain::TRON), Some(Chain::BITCOIN)] {
            let scanned = scanned(&table, &query, chain);
            let named = |limit| table.named(&query, chain, limit, &Cancel::new()).unwrap();
            let all = NamedAddresses { addresses: scanned.iter().copied().collect(), is_cut: false };
            prop_assert_eq!(named(usize::MAX - 1), all);
            let cut = named(limit);
            prop_assert_eq!((cut.is_cut, cut.addresses.len()), (scanned.len() > limit, scanned.len().min(limit)));
            prop_assert!(cut.addresses.is_sorted() && cut.addresses.iter().all(|address| scanned.contains(address)));
        }
    }
}

#[test]
fn search_within_a_limit_takes_close_and_trusted_names() {
    let with = |number, name: &str, reliability| Claim {
        reliability,
        name: Some(name.into()),
        ..claim(number, 0, None, None)
    };
    let mut store = MemoryStore::default();
    let first = vec![with(0, "Acme Deposit 1", 200), with(3, "Acme Deposit 2", 300), with(6, "Acmeist", 1_000)];
    store.import_labels(import(0, first, 1)).unwrap();
    store.import_labels(import(1, vec![with(9, "acme", 50), with(0, "Acme Deposit", 500)], 1)).unwrap();
    let table = Arc::clone(store.snapshot().labels());
    let query = NameQuery::new("acme").unwrap();
    let taken = |limit| table.named(&query, None, limit, &Cancel::new()).unwrap().addresses;
    // The whole name, then the words by trust, then the beginning.
    let order = [9, 0, 3, 6].map(address);
    for limit in 0..=order.len() {
        let mut expected = order[..limit].to_vec();
        expected.sort_unstable();
        assert_eq!(taken(limit), expected, "{limit}");
    }
}

#[test]
fn search_over_its_share_of_memory_is_refused_with_the_remedy() {
    let mut store = MemoryStore::default();
    let of = |number: u16| Claim { name: Some(format!("name {number}").into()), ..claim(0, 0, None, None) };
    store.import_labels(import(0, (0..5_000).map(of).collect(), 1)).unwrap();
    let table = Arc::clone(store.snapshot().labels());
    let query = NameQuery::new("name").unwrap();
    let search = |bytes| table.named(&query, None, 5, &Cancel::within(&Memory::new(bytes, bytes)));
    let error = search(100_000).unwrap_err().to_string();
    assert!(error.contains("raise limits.query_memory_mib"), "{error}");
    assert_eq!(search(1 << 20).unwrap().addresses, [address(0)]);
}

#[test]
fn store_on_disk_keeps_labels_and_verifies_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let first = vec![claim(0, 0, Some("A"), None), claim(1, 9, None, Some(5)), claim(2, 19, Some("B"), None)];
    let second = vec![claim(1, 9, None, Some(7))];
    let mut writer = Writer::open_or_create(&path).unwrap();
    let one = writer.import_labels(import(0, first.clone(), 100)).unwrap();
    let two = writer.import_labels(import(0, second.clone(), 200)).unwrap();

    let store = Store::open(&path).unwrap();
    let ended = |claim: &Claim| Claim { valid_until: Some(Timestamp::new(200)), ..claim.clone() };
    let mut expected = vec![second[0].clone(), ended(&first[0]), ended(&first[2])];
    expected.sort();
    assert_eq!(held(store.snapshot().unwrap().labels()), expected);
    let table = Arc::clone(store.snapshot().unwrap().labels());
    assert_eq!((table.imported_at(), table.newest_claim()), (Some(Timestamp::new(200)), Some(Timestamp::new(7))));
    assert_eq!(table.versions().collect::<Vec<_>>(), [two]);

    let diff = store.diff_labels(two, None).unwrap();
    assert_eq!((diff.added.len(), diff.removed.len()), (0, 2));
    assert_eq!(diff.changed, [(first[1].clone(), second[0].clone())]);
    assert_eq!(store.diff_labels(one, None).unwrap().added.len(), 3);
    assert!(store.verify(&|_, _| {}, &crate::Cancel::new()).unwrap().is_sound());

    writer.roll_back_import(one).unwrap();
    assert_eq!(held(store.snapshot().unwrap().labels()), second);
    writer.roll_back_import(two).unwrap();
    assert!(store.snapshot().unwrap().labels().is_empty());
    assert!(writer.roll_back_import(two).is_err());
    assert!(store.verify(&|_, _| {}, &crate::Cancel::new()).unwrap().is_sound());
}

#[test]
fn damaged_label_file_is_an_error_and_named_by_verify() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut writer = Writer::open_or_create(&path).unwrap();
    let many: Vec<Claim> = (0..=255).map(|number| claim(0, 0, Some(&format!("entity {number}")), None)).collect();
    writer.import_labels(import(0, many, 100)).unwrap();
    drop(writer);
    let file = std::fs::read_dir(path.join("labels")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(9).position(|window| window == b"entity 77").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let store = Store::open(&path).unwrap();
    let read =
        store.snapshot().and_then(|snapshot| snapshot.labels().claims_about(&address(0)).map(|claims| claims.len()));
    assert!(read.is_err());
    let report = store.verify(&|_, _| {}, &crate::Cancel::new()).unwrap();
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.problems[0].file, file);
}

#[test]
fn scope_decides_the_chains_of_a_claim() {
    let mut store = MemoryStore::default();
    store.import_labels(import(0, vec![claim(0, 0, None, None), claim(3, 1, None, None)], 1)).unwrap();
    let labels = Arc::clone(store.snapshot().labels());
    let count = |chain, number| labels.claims(chain, &address(number)).unwrap().len();
    assert_eq!([count(Chain::ETHEREUM, 0), count(Chain::BSC, 0)], [1, 1], "every EVM chain");
    assert_eq!([count(Chain::ETHEREUM, 3), count(Chain::BSC, 3)], [0, 1], "one chain");
}

#[test]
fn short_lists_may_not_shrink_either() {
    let mut store = MemoryStore::default();
    let own = |count: usize| (0..count).map(|code| claim(0, code, None, None)).collect::<Vec<_>>();
    let next = |list, count, time| LabelImport { shrinking: ShrinkPolicy::Refused, ..import(list, own(count), time) };
    // Code 0 is a sanction: nine tenths must stay.
    store.import_labels(next(0, 4, 1)).unwrap();
    assert!(store.import_labels(next(0, 3, 2)).is_err());
    assert!(store.import_labels(next(0, 0, 2)).is_err());
    store.import_labels(next(0, 4, 2)).unwrap();
}

#[test]
fn list_that_lost_more_than_half_is_refused_unless_accepted() {
    let mut store = MemoryStore::default();
    let whole: Vec<Claim> = (0..Code::ALL.len()).map(|code| claim(0, code, None, None)).collect();
    store.import_labels(import(0, whole.clone(), 1)).unwrap();
    let cut = |shrinking| LabelImport { shrinking, ..import(0, whole[..10].to_vec(), 2) };
    let error = store.import_labels(cut(ShrinkPolicy::Refused)).unwrap_err();
    assert!(error.to_string().contains("repeats 10 of the"), "{error}");
    assert_eq!(held(store.snapshot().labels()).len(), whole.len(), "nothing ended");
    store.import_labels(cut(ShrinkPolicy::Accepted)).unwrap();
    let older = LabelImport { shrinking: ShrinkPolicy::Refused, ..import(0, whole, 1) };
    assert!(store.import_labels(older).unwrap_err().to_string().contains("the edition that is held is of"));
}

#[test]
fn claims_know_the_lists_that_make_them() {
    let mut store = MemoryStore::default();
    let (shared, own) = (claim(3, 2, Some("A"), Some(7)), claim(3, 4, None, None));
    store
        .import_labels(LabelImport { licence: Some("MIT".into()), ..import(0, vec![shared.clone(), own], 1) })
        .unwrap();
    store.import_labels(import(1, vec![shared], 2)).unwrap();
    let snapshot = store.snapshot();
    let table = snapshot.labels();
    let lists = |claim: &Claim<&str>| -> Vec<_> {
        let origins = table.origins_of(claim).unwrap();
        origins.iter().map(|origin| (origin.list.clone(), origin.licence.clone())).collect()
    };
    let about = table.claims_about(&address(3)).unwrap();
    let (first, second) = (("list 0".to_owned(), Some("MIT".to_owned())), ("list 1".to_owned(), None));
    assert_eq!(
        about.iter().map(lists).collect::<Vec<_>>(),
        [vec![first.clone(), second.clone()], vec![first.clone()], vec![first, second],]
    );
    let elsewhere = Claim { source: "elsewhere", ..about[0] };
    assert!(lists(&elsewhere).is_empty());
    assert_eq!(table.origins().map(|origin| origin.list.as_str()).collect::<Vec<_>>(), ["list 0", "list 1"]);
}
