//! An import of an exported file makes the claims that were exported.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use headwater_export::{LabelExport, LabelFormat, labels};
use headwater_ingest::labels::{LabelOptions, read_labels};
use headwater_ledger::labels::{Action, Claim, Code, DateBasis, Level, Link, Scope, entity_key, entity_name};
use headwater_ledger::read::Labels as _;
use headwater_ledger::store::MemoryStore;
use headwater_testkit::{address, claim, label_import};
use headwater_types::{Address, Chain, Family, Timestamp};
use proptest::prelude::*;

/// Names that break careless writers.
const NAMES: [&str; 14] = [
    "Example: Hot Wallet 3",
    "a \"b\" c",
    "it's: 'x' # y",
    "🐟 Example Drainer",
    "two\nlines\r\nand\ttabs",
    "- dash",
    "[list] {map}",
    "no",
    "0x05",
    "Tom & Jerry; Inc",
    "&amp; twice",
    "back\\slash",
    "漢字 \u{85} \u{2028} ü",
    "Example Token (EXT)",
];
const ENTITIES: [&str; 5] = ["Example Exchange", "O'Neil: \"x\"", "Müller & Söhne; KG", "漢字", "Line\nBreak"];
const LINKS: [&str; 3] =
    ["https://forum.example/a?b=1#c", "https://etherscan.io/accounts/label/x", "a text: with colon"];

/// Exports claims and reads the file back.
fn through(claims: Vec<Claim>, format: LabelFormat, name: &str) -> (LabelExport, Vec<Claim>) {
    let mut store = MemoryStore::default();
    store.import_labels(label_import("list", claims, 1_700_000_000)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let report = export(&store, format, &path);
    let mut read = if report.claims == 0 {
        Vec::new()
    } else {
        let read = read_labels(&[path], &LabelOptions::default());
        read.unwrap_or_else(|error| panic!("{error}")).claims
    };
    read.sort();
    (report, read)
}

fn export(store: &MemoryStore, format: LabelFormat, path: &Path) -> LabelExport {
    let snapshot = store.snapshot();
    let report = labels(snapshot.labels(), None, format, path).unwrap();
    let bytes = std::fs::read(path).unwrap();
    labels(snapshot.labels(), None, format, path).unwrap();
    assert_eq!(bytes, std::fs::read(path).unwrap(), "the same claims give the same bytes");
    report
}

fn text(texts: &'static [&'static str]) -> impl Strategy<Value = Option<Arc<str>>> {
    prop::option::of(prop::sample::select(texts).prop_map(Arc::from))
}

fn place() -> impl Strategy<Value = (Address, Scope)> {
    let chains: Vec<Chain> = Chain::all().collect();
    (prop::sample::select(chains), 1..9_u64, any::<bool>()).prop_map(|(chain, number, is_wide)| {
        let is_wide = is_wide && chain.family() == Family::Evm;
        (address(chain, number), if is_wide { Scope::Evm } else { Scope::Chain(chain) })
    })
}

fn any_claim() -> impl Strategy<Value = Claim> {
    let names = prop_oneof![text(&NAMES), "[a-zA-Z0-9:\"'#,; ]{1,9}x".prop_map(|text| Some(Arc::from(text.trim())))];
    let said = (prop::option::of(prop::sample::select(Code::ALL)), names, text(&ENTITIES), text(&LINKS));
    let trust = (prop::sample::select(Level::ALL), prop::option::of(0..=1_000_u16), any::<bool>(), 0..3_usize);
    let times = (
        prop::option::of(1..2_000_000_000_i64),
        prop::option::of(1..9_000_i64),
        prop::option::of(1..9_000_i64),
        0..3_usize,
    );
    (place(), said, trust, times, 0..8_u8).prop_map(|(place, said, trust, times, kind)| {
        let (address, scope) = place;
        let (code, name, entity, source_url) = said;
        let (level, reliability, is_address_only, group) = trust;
        let (asserted, later, end, basis) = times;
        let asserted_at = asserted.map(Timestamp::new);
        let after = |secs: i64| Timestamp::new(asserted.unwrap_or(1_000) + secs);
        let is_removal = kind == 0 && level == Level::Override && code.is_some();
        let evm = address.family() == Family::Evm;
        Claim {
            address,
            // A sanction holds on every EVM chain.
            scope: if matches!(code, Some(Code::Sanction | Code::SanctionDelisted)) && evm {
                Scope::Evm
            } else {
                scope
            },
            entity: entity.map(|entity| Arc::from(entity_name(&entity))),
            name: name.or_else(|| code.is_none().then(|| Arc::from("a name"))),
            code,
            source: Arc::from("Lab: \"one\""),
            source_url,
            group: Arc::from(["lab", "ofac", "etherscan"][group]),
            level,
            reliability: reliability.unwrap_or(level.thousandths()),
            link: if is_address_only && !is_removal { Link::ExactOnly } else { Link::Exact },
            asserted_at,
            date_basis: asserted_at.and([Some(DateBasis::Address), Some(DateBasis::Entity), None][basis]),
            last_seen: later.map(after),
            valid_until: end.filter(|_| kind == 1).map(after),
            action: if is_removal { Action::Remove } else { Action::Add },
            dispute: None,
        }
    })
}

/// Claims that an import does not join.
fn distinct() -> impl Strategy<Value = Vec<Claim>> {
    prop::collection::vec(any_claim(), 1..24).prop_map(|claims| {
        let key = |claim: &Claim| {
            let entity = claim.entity.as_deref().map(entity_key);
            let action = (claim.action, claim.link == Link::ExactOnly);
            (claim.address, claim.scope, claim.code, entity, Arc::clone(&claim.group), action)
        };
        let mut claims: Vec<Claim> =
            claims.into_iter().map(|claim| (key(&claim), claim)).collect::<BTreeMap<_, _>>().into_values().collect();
        claims.sort();
        claims
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn plain_tables_carry_every_field(claims in distinct()) {
        for (format, name) in [(LabelFormat::Csv, "a.csv"), (LabelFormat::Parquet, "a.parquet")] {
            let (report, read) = through(claims.clone(), format, name);
            prop_assert_eq!(report.claims, claims.len() as u64);
            prop_assert_eq!(&read, &claims, "{}", name);
        }
    }

    #[test]
    fn tagpacks_carry_every_field_of_claims_that_hold(claims in distinct()) {
        let (report, read) = through(claims.clone(), LabelFormat::TagPack, "a.yaml");
        let holds = |claim: &Claim| claim.valid_until.is_none() && claim.action == Action::Add;
        let expected: Vec<Claim> = claims.iter().filter(|claim| holds(claim)).cloned().collect();
        prop_assert_eq!(report.claims, expected.len() as u64);
        prop_assert_eq!(report.left_out.values().sum::<u64>(), (claims.len() - expected.len()) as u64);
        prop_assert_eq!(&read, &expected);
    }

    #[test]
    fn tags_of_oli_carry_code_name_entity_and_date(claims in distinct()) {
        let said = |claim: &Claim| {
            let time = claim.code.and(claim.asserted_at);
            (claim.address, claim.scope, claim.code, claim.name.clone(), claim.entity.clone(), time)
        };
        for (format, name) in [(LabelFormat::OliJson, "a.json"), (LabelFormat::OliCsv, "a.csv")] {
            let (report, read) = through(claims.clone(), format, name);
            prop_assert_eq!(report.claims + report.left_out.values().sum::<u64>(), claims.len() as u64);
            prop_assert_eq!(report.claims, read.len() as u64);
            for claim in &read {
                prop_assert!(claims.iter().any(|exported| said(exported) == said(claim)), "{:?}", claim);
            }
        }
    }
}

fn of(code: Code, number: u64) -> Claim {
    claim(Chain::ETHEREUM, address(Chain::ETHEREUM, number), code, Level::Forensic, "lab")
}

#[test]
fn tags_of_oli_leave_out_what_they_cannot_say() {
    let named =
        |code, number, name: &str, reliability| Claim { name: Some(Arc::from(name)), reliability, ..of(code, number) };
    let on_tron = Chain::TRON;
    let claims = vec![
        named(Code::Exchange, 1, "Example", 700),
        named(Code::Dex, 1, "Example", 500),
        named(Code::Gambling, 1, "Other", 500),
        of(Code::Phishing, 2),
        Claim { valid_until: Some(Timestamp::new(5)), ..of(Code::Scam, 3) },
        claim(on_tron, address(on_tron, 4), Code::Scam, Level::Forensic, "lab"),
    ];
    let (report, read) = through(claims, LabelFormat::OliJson, "a.json");
    let left_out: Vec<(&str, u64)> = report.left_out.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    assert_eq!(
        left_out,
        [
            ("claims that ended", 1),
            ("claims with another name or entity than a more reliable one about the address", 1),
            ("phishing, which OLI has no category for", 1),
        ]
    );
    let mut codes: Vec<_> = read.iter().map(|claim| (claim.scope.name(), claim.code.unwrap())).collect();
    codes.sort_unstable();
    assert_eq!(codes, [("ethereum", Code::Exchange), ("ethereum", Code::Dex), ("tron", Code::Scam)]);
}

#[test]
fn files_without_a_claim_are_whole() {
    let removal = Claim { action: Action::Remove, level: Level::Override, ..of(Code::Mixer, 1) };
    let mut store = MemoryStore::default();
    store.import_labels(label_import("list", vec![removal], 1)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (format, name, end) in
        [(LabelFormat::TagPack, "a.yaml", "tags: []\n"), (LabelFormat::OliJson, "a.json", "[]\n")]
    {
        let path = folder.path().join(name);
        assert_eq!(export(&store, format, &path).claims, 0);
        assert!(std::fs::read_to_string(&path).unwrap().ends_with(end), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn tags_say_what_the_schema_of_tagpacks_asks_for() {
    let claim = Claim {
        name: Some(Arc::from("Example: \"1\"")),
        entity: Some(Arc::from("Example")),
        source_url: Some(Arc::from("https://forum.example/a")),
        asserted_at: Some(Timestamp::new(1_709_251_200)),
        date_basis: Some(DateBasis::Address),
        ..of(Code::Mixer, 1)
    };
    let mut store = MemoryStore::default();
    store.import_labels(label_import("list", vec![claim], 1)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    export(&store, LabelFormat::TagPack, &path);
    let expected = format!(
        r#"title: Labels of Headwater
creator: headwater
description: The claims in force of a store, written by `headwater labels export`.
tags:
- address: "{}"
  label: "Example: \"1\""
  source: "https://forum.example/a"
  currency: ETH
  network: ETH
  confidence: forensic
  concepts: [mixing_service]
  actor: "Example"
  lastmod: 2024-03-01
  context: "{{\"headwater\":{{\"chain\":\"ethereum\",\"code\":\"mixer\",\"level\":\"forensic\",\"group\":\"lab\",\"source\":\"lab\",\"date_basis\":\"address\"}}}}"
"#,
        address(Chain::ETHEREUM, 1)
    );
    assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
}
