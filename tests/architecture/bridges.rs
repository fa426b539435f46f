//! The page of bridges is written from their tables.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use headwater_bridge::Tables;

/// `docs/bridge-coverage.md`, from the tables of bridges.
fn listed() -> String {
    let tables = Tables::builtin();
    let mut page = format!(
        "# Bridges that are known\n\nWritten by `HEADWATER_WRITE=1 cargo test -p headwater-tests bridges_page`. \
         [Bridges](bridges.md) says what the answers mean, and [EVALUATION.md](../EVALUATION.md#bridges) what was measured.\n\n\
         {} protocols, {} events, {} contracts. *Chains* are those with a listed contract; a leg on another chain is named by the \
         event on the chain that is held. *Joined by* is what the legs of a transfer share; where code reads the events it says \
         so leg by leg.\n\n\
         | protocol | bridges | joined by | events | contracts | chains |\n|---|---|---|---|---|---|\n",
        tables.families().len(),
        tables.events().len(),
        tables.contracts().len()
    );
    for family in tables.families() {
        let events: Vec<_> =
            tables.events().iter().filter(|event| tables.family_of(event).name() == family.name()).collect();
        let classes: BTreeSet<_> = events.iter().filter_map(|event| event.class()).collect();
        let classes: Vec<&str> = classes.into_iter().map(headwater_bridge::MatchClass::name).collect();
        let joined = if classes.is_empty() { "code".to_owned() } else { classes.join("; ") };
        let bridges: BTreeSet<&str> = family.bridges().collect();
        let contracts: Vec<_> =
            tables.contracts().iter().filter(|contract| bridges.contains(contract.bridge())).collect();
        let chains: BTreeSet<String> = contracts
            .iter()
            .map(|contract| {
                contract.chain().map_or_else(|| "every EVM chain".to_owned(), headwater_bridge::BridgeChain::name)
            })
            .collect();
        let chains: Vec<String> = chains.into_iter().collect();
        let bridges: Vec<&str> = bridges.into_iter().collect();
        writeln!(
            page,
            "| `{}` | {} | {joined} | {} | {} | {} |",
            family.name(),
            bridges.join(", "),
            events.len(),
            contracts.len(),
            chains.join(", ")
        )
        .unwrap();
    }
    page
}

#[test]
fn bridges_page_lists_every_protocol_of_the_tables() {
    let path = super::root().join("docs/bridge-coverage.md");
    if std::env::var_os("HEADWATER_WRITE").is_some() {
        fs::write(&path, listed()).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), listed(), "HEADWATER_WRITE=1 writes it");
}
