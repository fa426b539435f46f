//! `headwater labels`: what an import says of the versions before it, and that an export reads back.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{run, run_json, small_store};

const A: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
const B: &str = "0x0494c0950a34a7f024c18ad5dca185f4aa01d307";
const C: &str = "0x7330c536024389edb93b629aec8a214c391c2581";
const BITCOIN: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";
const TRON: &str = "TDumhjnkbkDDrKrMXb242Wh8jXt3u66NpT";

struct Store {
    place: tempfile::TempDir,
    path: String,
}

impl Store {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = small_store(place.path()).to_str().unwrap().to_owned();
        Self { place, path }
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.place.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn labels(&self, arguments: &[&str]) -> Value {
        run_json(&[&["labels"], arguments, &["--json", "--store", &self.path]].concat())
    }

    /// Returns the error of a command that must fail.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = run(&[&["labels"], arguments, &["--store", &self.path]].concat());
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// The answers about all addresses, on their chains.
    fn answers(&self) -> Vec<Value> {
        let asked = [A, B, C].into_iter().flat_map(|address| [("ethereum", address), ("bsc", address)]);
        let asked = asked.chain([("bitcoin", BITCOIN), ("tron", TRON)]);
        let ask = |(chain, address): (&str, &str)| {
            let body = json!({"blockchain": chain, "address": address}).to_string();
            let mut answer = run_json(&["query", "labels", "--json", "--store", &self.path, "--body", &body]);
            let answer = answer["data"].as_object_mut().unwrap();
            // The list is that of the import: another one for each file.
            for source in answer["sources"].as_array_mut().unwrap() {
                source.as_object_mut().unwrap().remove("list");
            }
            ["entity_name", "labels", "confidence", "sources"].map(|name| answer.remove(name).unwrap()).into()
        };
        asked.map(ask).collect()
    }
}

#[test]
fn label_import_says_which_version_it_replaces() {
    let store = Store::new();
    let list = store.file("team.csv", &format!("address,chain,code\n{A},bsc,mixer\n"));
    let first = store.labels(&["import", "--source", "team", &list]);
    assert_eq!((&first["version"], &first["replaces"]), (&json!(1), &Value::Null));
    let second = store.labels(&["import", "--source", "team", &list]);
    assert_eq!((&second["version"], &second["replaces"]), (&json!(2), &json!(1)));
    let shown = run(&["labels", "import", "--source", "team", &list, "--store", &store.path]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("version 3, replaces version 2"), "{shown}");
    // A version that was rolled back is replaced by nobody.
    store.labels(&["rollback", "3"]);
    assert_eq!(store.labels(&["import", "--source", "team", &list])["replaces"], 2);
}

#[test]
fn label_import_of_a_new_list_names_the_others_of_its_source() {
    let store = Store::new();
    let list = |name: &str| store.file(name, &format!("address,chain,code\n{A},bsc,mixer\n"));
    let (march, april) = (list("mixers.csv"), list("mixers-of-april.csv"));
    let first = store.labels(&["import", "--source", "team", &march]);
    assert_eq!(first["warnings"], json!([]));
    let other = store.labels(&["import", "--source", "team", &april]);
    let warning = other["warnings"][0].as_str().unwrap();
    assert!(warning.contains("mixers (version 1)") && warning.contains("--list \"mixers\""), "{warning}");
    // A list that is known, and another source, are expected.
    assert_eq!(store.labels(&["import", "--source", "team", &april])["warnings"], json!([]));
    assert_eq!(store.labels(&["import", "--source", "others", &march])["warnings"], json!([]));
}

#[test]
fn label_import_of_sdn_without_its_comments_delists_nobody() {
    let store = Store::new();
    let row =
        |remarks: &str| format!("91001,\"DOE\",-0- ,\"CYBER2\",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,\"{remarks}\"\r\n");
    let cut: String = "x; ".repeat(400).chars().take(1_000).collect();
    let sdn = store.file("sdn.csv", &row(&cut));
    let comments =
        store.file("sdn_comments.csv", &format!("91001,\"Digital Currency Address - ETH {A}; Linked To: X.\"\r\n"));
    let whole = store.labels(&["import", &sdn, &comments]);
    assert_eq!((&whole["list"], &whole["counts"]["claims"]), (&json!("sdn"), &json!(1)));
    let short = store.file("sdn.csv", &[row(&cut), row(&format!("Digital Currency Address - ETH {B}."))].concat());
    let refusal = store.refused(&["import", &short]);
    assert!(refusal.contains("the file of comments is missing") && refusal.contains(A), "{refusal}");
    assert_eq!(store.labels(&["import", &short, "--accept-shrinking"])["replaces"], 1);
}

#[test]
fn label_find_prints_addresses_with_a_name() {
    let store = Store::new();
    let rows = [(A, "Acme Vault"), (B, "acme"), (C, "Acme \u{1b}[2J\u{202e}Evil")];
    let rows = rows.map(|(address, entity)| format!("{address},ethereum,exchange,{entity}\n")).concat();
    let list = store.file("team.csv", &format!("address,chain,code,entity\n{rows}{TRON},tron,mixer,Acme\n"));
    store.labels(&["import", "--source", "team", "--trust", &list]);
    let found = |arguments: &[&str]| -> Vec<String> {
        let answer = store.labels(&[&["find"], arguments].concat());
        let rows = answer["data"]["results"].as_array().unwrap();
        rows.iter().map(|row| row["address"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(found(&["ACME"]), [B, TRON, C, A], "whole names by chain, then words by address");
    assert_eq!(found(&["acme", "--chain", "tron"]), [TRON]);
    assert_eq!(found(&["acme", "--limit", "1"]), [B]);
    assert_eq!(found(&["vau", "acme"]), [A], "several arguments are the words of one name");
    let text = |arguments: &[&str]| {
        let output = run(&[&["labels", "find"], arguments, &["--store", &store.path]].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let table = text(&["acme", "--limit", "3"]);
    assert!(table.starts_with("4 addresses have the name \"acme\"; the first 3 are shown\n"), "{table}");
    assert!(table.contains("Acme \\u{1b}[2J\\u{202e}Evil") && table.lines().count() == 5, "{table}");
    let csv = text(&["acme", "--csv"]);
    let head = "blockchain,address,entity_name,labels,name,sanctioned,disputed,confidence";
    assert!(csv.starts_with(head) && csv.lines().count() == 5, "{csv}");
    assert!(store.refused(&["find", "a"]).contains("give 2 to 128"));
    assert!(store.refused(&["find", "acme", "--chain", "bitcoin"]).contains("neither rows nor labels of bitcoin"));
}

#[test]
fn label_licences_are_stored_listed_and_exported() {
    let store = Store::new();
    let list = store.file("team.csv", &format!("address,chain,code\n{A},bsc,mixer\n"));
    assert_eq!(store.labels(&["import", "--list", "old", &list])["licence"], Value::Null);
    assert_eq!(store.labels(&["import", "--licence", "CC BY 4.0", &list])["licence"], "CC BY 4.0");
    let listed = store.labels(&["list"]);
    let licences: Vec<_> =
        listed["imports"].as_array().unwrap().iter().map(|version| &version["list"]["licence"]).collect();
    assert_eq!(licences, [&Value::Null, &json!("CC BY 4.0")]);
    let out = store.place.path().join("out.csv").to_str().unwrap().to_owned();
    let exported = store.labels(&["export", "--only", "2", &out]);
    assert_eq!(exported["lists"], json!([{"source": "team", "list": "team", "licence": "CC BY 4.0"}]));
}

#[test]
fn label_export_reads_back_into_the_same_answers() {
    let from = Store::new();
    let header = "address,chain,code,name,entity,source,source_url,group,level,confidence,asserted_at,date_basis,last_seen,valid_until";
    let rows = [
        format!("{A},evm,sanction,,\"DOE, John\",ofac,https://ofac.example/1,ofac,sanctions_list,,2024-05-06,entity,,"),
        format!(
            "{A},bsc,mixer,\"Tom &amp; \"\"Jerry\"\"; \nInc\",Mixer Co,Lab,,lab,forensic,0.437,2024-05-06,address,2025-01-01,"
        ),
        format!("{B},ethereum,exchange,Binance 14,Binance,etherscan,,etherscan,web_crawl,,,,,"),
        format!("{B},ethereum,mixer,,Binance,Lab,,lab,forensic,,2020-01-01,,,2021-01-01"),
        format!("{BITCOIN},bitcoin,ransomware,,Somebody,Lab,,lab,forensic,,2020-01-01T01:02:03Z,address,,"),
        format!("{TRON},tron,,A name,Nobody,Lab,,lab,forensic,,,,,"),
    ];
    let list = from.file("list.csv", &format!("{header}\n{}\n", rows.join("\n")));
    from.labels(&["import", &list]);
    let curated = from.file("own.csv", &format!("address,chain,code,action\n{B},ethereum,exchange,remove\n"));
    from.labels(&["import", "--level", "override", &curated]);
    let gone = |rows: &str| from.file("short.csv", &format!("address,chain,code\n{rows}"));
    from.labels(&["import", &gone(&format!("{C},bsc,phishing\n{C},ethereum,scam\n"))]);
    from.labels(&["import", &gone(&format!("{C},bsc,phishing\n"))]);

    let expected = from.answers();
    // Nobody says anything of B on BNB Smart Chain.
    assert_eq!(expected.iter().filter(|answer| answer[3] == json!([])).count(), 1, "{expected:#?}");
    for name in ["out.csv", "out.parquet"] {
        let out = from.place.path().join(name).to_str().unwrap().to_owned();
        assert_eq!(from.labels(&["export", &out])["claims"], 9, "{name}");
        assert!(!Path::new(&format!("{out}.tmp")).exists());
        let into = Store::new();
        let read = into.labels(&["import", &out]);
        assert_eq!((&read["counts"]["duplicates"], &read["warnings"]), (&json!(0), &json!([])), "{name}");
        assert_eq!(into.answers(), expected, "{name}");
    }
    // A TagPack says all of it but the claim that ended and the removal.
    let pack = from.place.path().join("out.yaml").to_str().unwrap().to_owned();
    let written = from.labels(&["export", &pack]);
    assert_eq!(
        (&written["format"], &written["claims"], &written["left_out"]),
        (&json!("tagpack"), &json!(6), &json!({"claims that ended": 2, "removals of a code": 1}))
    );
    assert_eq!(Store::new().labels(&["import", &pack])["counts"]["claims"], 5);
    // Tags of OLI say the exchange alone: the other codes have no category there.
    let tags = from.place.path().join("tags.csv").to_str().unwrap().to_owned();
    let written = from.labels(&["export", "--format", "oli", &tags]);
    assert_eq!((&written["format"], &written["not_written"][2]), (&json!("oli"), &json!("group")));
    assert_eq!(Store::new().labels(&["import", &tags])["format"], "oli");
    let one = from.place.path().join("one.csv").to_str().unwrap().to_owned();
    assert_eq!(from.labels(&["export", "--only", "2", &one])["claims"], 1);
    assert!(from.refused(&["export", "--only", "3", &one]).contains("those are 1, 2, 4"));
    assert!(from.refused(&["export", "labels.xlsx"]).contains(".parquet"));
}

#[test]
fn label_import_of_core_prints_lists_and_is_idempotent() {
    let store = Store::new();
    let import = || {
        let shown = run(&["labels", "import", "core", "--store", &store.path]);
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        String::from_utf8(shown.stdout).unwrap()
    };
    let first = import();
    for line in ["ofac", "2026-08-20", "public domain (US government work)", "graphsense", "Apache-2.0"] {
        assert!(first.contains(line), "{line}: {first}");
    }
    let again = import();
    assert!(again.lines().filter(|line| line.contains("unchanged")).count() == 9, "{again}");
    let versions = store.labels(&["list"]);
    assert_eq!(versions["imports"].as_array().unwrap().len(), 9);
    // Each list can be taken out.
    store.labels(&["rollback", "1"]);
}

#[test]
fn label_import_of_core_takes_no_options_of_files() {
    let store = Store::new();
    let refusal = store.refused(&["import", "core", "--source", "team"]);
    assert!(refusal.contains("core: --source cannot be combined with the core lists"), "{refusal}");
    let refusal = store.refused(&["import", "core", "mine.csv"]);
    assert!(refusal.contains("further paths") && refusal.contains("./core"), "{refusal}");
}
