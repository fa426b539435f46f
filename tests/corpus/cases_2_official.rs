//! The inputs of `cases-2/` about official lists: what each of them says.

use std::path::PathBuf;

use headwater_ingest::labels::{LabelOptions, Labels, read_labels};

fn read(path: &str) -> Labels {
    let path: PathBuf = headwater_tests::corpus().join("cases-2").join(path);
    read_labels(&[path], &LabelOptions::default()).unwrap()
}

/// Chain, address, code and entity of each claim.
fn shown(labels: &Labels) -> Vec<String> {
    let claim = |claim: &headwater_ledger::labels::Claim| {
        let code = claim.code.map(headwater_ledger::labels::Code::name).unwrap_or_default();
        let entity = claim.entity.as_deref().unwrap_or_default();
        format!("{} {} {code} {entity}", claim.scope.name(), claim.address)
    };
    let mut shown: Vec<_> = labels.claims.iter().map(claim).collect();
    shown.sort();
    shown
}

fn foreign(labels: &Labels) -> Vec<(&str, &str)> {
    labels.foreign.iter().map(|foreign| (foreign.ticker.as_str(), foreign.address.as_str())).collect()
}

#[test]
fn sdnlist_text_is_read() {
    let labels = read("022-ofac-sdnlist-txt/sdnlist.txt");
    let expected = [
        "bitcoin 18TCVPYqvnCbq1qEWo6Mvx8ou8u6yTzA74 sanction EXAMPLE MIXER",
        "evm 0xdd7b336af7b158fd9b64cfb500a51ccb2ccfbee3 sanction EXAMPLE MIXER",
        "tron TNgeqS9bRrgHUnXeE46xtgLahFJVXg6Mxz sanction DOE, Example",
    ];
    assert_eq!(shown(&labels), expected);
    assert_eq!((labels.format, labels.source.as_str()), ("ofac_text", "ofac"));
    assert_eq!(labels.list_date.unwrap().to_string(), "2026-07-25T00:00:00Z");
    assert!(labels.licence.is_some_and(|licence| licence.contains("public domain")));
}

#[test]
fn uk_text_names_coins_in_words() {
    let labels = read("025-uk-text-coin-words/UK-Sanctions-List.csv");
    let expected = [
        "bitcoin 13ar6jcCYdjELo6YtBN5x1cjuWz1oKW9QS sanction EXAMPLE 1 LLC",
        "bitcoin bc1q7r3gypsgy7lgyflh5f760034820zak0473hk5r sanction EXAMPLE 2 LLC",
        "evm 0xe66dfa8827a4d317f0840df906519cd1010f2e75 sanction EXAMPLE 2 LLC",
        "tron TSgy8bh5HjnQRaAchySyPtVaqWydDqNUVg sanction EXAMPLE 2 LLC",
    ];
    assert_eq!(shown(&labels), expected);
    let kept = [
        ("BCH", "17ZhMAT8dY3R4RR5jo3pqHVVmPLsotFeA5"),
        ("DOGE", "DJ17TzrJBzBf16hokp3c7Ux1mXh49N95Nq"),
        ("LTC", "3KBJ9aU9SGZiw4oUGU3wAuyGq48uEE1y3M"),
    ];
    assert_eq!(foreign(&labels), kept);
    assert_eq!(labels.licence.as_deref(), Some("Open Government Licence v3.0"));
}

#[test]
fn eu_xml_is_read() {
    let labels = read("026-eu-xml/xmlFullSanctionsList_1_1.xml");
    assert_eq!(shown(&labels), ["tron TNUnDGdiq5q7DVKgsHnSDF5T3QVhyHU9hD sanction Example Exchange"]);
    assert_eq!((labels.format, labels.source.as_str()), ("eu_xml", "eu"));
    assert_eq!(labels.list_date.unwrap().to_string(), "2026-02-13T00:00:00Z");
}
