//! The tables are whole, and errors name their place.

use std::collections::BTreeSet;

use crate::Tables;
use crate::tables::FAMILIES;

const SOURCES: &str = include_str!("../../tables/sources.csv");

#[test]
fn tables_are_read_and_every_source_is_known() {
    let tables = Tables::builtin();
    let known: BTreeSet<&str> = SOURCES.lines().filter_map(|line| Some(line.split_once(',')?.0)).collect();
    for (file, text) in [
        ("chains.csv", include_str!("../../tables/chains.csv")),
        ("chain_ids.csv", include_str!("../../tables/chain_ids.csv")),
    ] {
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(known.contains(line.rsplit(',').next().unwrap()), "{file}: {line}");
        }
    }
    println!("{} events, {} contracts, {} families", tables.events().len(), tables.contracts().len(), FAMILIES.len());
}

#[test]
fn tables_name_every_family_of_the_contracts() {
    let tables = Tables::builtin();
    for contract in tables.contracts() {
        assert_ne!(contract.bridge(), contract.family(), "no [names] entry for {}", contract.family());
    }
    let names: Vec<&str> = tables.families().iter().map(crate::Family::name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a family stands once");
}

#[test]
fn tables_have_an_event_once_per_family() {
    let tables = Tables::builtin();
    let mut seen = BTreeSet::new();
    for event in tables.events() {
        let name = (tables.family_of(event).name(), event.signature());
        assert!(!event.evidence().is_empty(), "{name:?}");
        let indexed = event.declaration.topic_count();
        assert!(seen.insert((name.clone(), indexed)), "{name:?}");
    }
}

#[test]
fn table_contract_stands_once_per_bridge_and_chain() {
    let mut seen = BTreeSet::new();
    for contract in Tables::builtin().contracts() {
        let place = (contract.family(), contract.chain(), contract.address());
        assert!(seen.insert(place), "{place:?}");
    }
}

#[test]
fn table_errors_name_file_and_line() {
    let head = "family = \"x\"\n[names]\nx = \"X\"\n[[event]]\nevidence = \"C\"\n";
    for (row, message) in [
        ("is = \"A(uint7 a)\"", "x.toml:6: unknown type \"uint7\""),
        ("is = \"A(bool a)\"\nstep = \"sent\"", "x.toml:6: step, class and key stand together or not at all"),
        ("is = \"A(bool a)\"\nstep = \"sent\"\nclass = \"unique_id\"\nkey = [\"b\"]", "x.toml:9: no field \"b\""),
        ("is = \"A(bool a)\"\nstep = \"sent\"\nclass = \"unique_id\"\nkey = [\"B::b\"]", "x.toml:6: no field \"B::b\""),
        (
            "is = \"A(bool a)\"\nstep = \"sent\"\nclass = \"unique_id\"\nkey = [\"a\"]\nfailed_unless = \"a\"",
            "x.toml:10: expected \"field = number\"",
        ),
    ] {
        let error = crate::tables::read_family("x.toml", &format!("{head}{row}\n")).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error =
        crate::tables::read_family("x.toml", &format!("{head}is = \"A(bool a)\"\nstepp = \"sent\"\n")).unwrap_err();
    assert!(error.to_string().starts_with("x.toml:7: unknown field `stepp`"), "{error}");
    let error =
        crate::tables::read_family("x.toml", "family = \"x\"\npeers = [\"ethereum\", \"x\"]\nevent = []\n[names]\n");
    assert_eq!(error.unwrap_err().to_string(), "x.toml:2: no chain \"x\" in chains.csv");
}
