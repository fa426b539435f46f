//! Tables: unique rows, known sources, and errors with file and line.

use std::collections::BTreeSet;

use crate::Tables;
use crate::tables::FAMILIES;

const CHAINS: &str = include_str!("../../tables/chains.csv");
const SOURCES: &str = include_str!("../../tables/sources.csv");

#[test]
fn chain_names_have_known_sources() {
    let tables = Tables::builtin();
    let known: BTreeSet<&str> = SOURCES.lines().filter_map(|line| Some(line.split_once(',')?.0)).collect();
    for line in CHAINS.lines().filter(|line| !line.starts_with('#')) {
        assert!(known.contains(line.rsplit(',').next().unwrap()), "{line}");
    }
    println!("{} events, {} contracts, {} families", tables.events().len(), tables.contracts().len(), FAMILIES.len());
}

#[test]
fn family_names_are_unique() {
    let tables = Tables::builtin();
    let names: Vec<&str> = tables.families().iter().map(crate::Family::name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a family has one file");
}

#[test]
fn events_are_unique_in_their_family() {
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
fn contracts_are_unique_per_bridge_and_chain() {
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
    let address = "0x5e4861a80b55f035d899f66772117f00fa0e8e7b";
    let facts = format!("[facts]\ncontracts = '''\n# comment\nx,ethereum,{address},Pool,,,yes,s1\n'''\n");
    for (facts, message) in [
        (facts.replace(address, "0x00"), "x.toml:10: \"0x00\" is not a valid Ethereum address"),
        (facts.replace("x,eth", "y,eth"), "x.toml:10: no name \"y\" in [names]"),
        (facts.replace(",s1", ""), "x.toml:10: expected 8 fields, found 7"),
        ("[facts]\nchain_ids = '''\nx,ethereum,1,s1\n'''\n".to_owned(), "x.toml:9: no source \"s1\" in the file"),
    ] {
        let text = format!("{head}is = \"A(bool a)\"\n{facts}");
        let error = crate::tables::read_family("x.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let error =
        crate::tables::read_family("x.toml", "family = \"x\"\npeers = [\"ethereum\", \"x\"]\nevent = []\n[names]\n");
    assert_eq!(error.unwrap_err().to_string(), "x.toml:2: no chain \"x\" in chains.csv");
}
