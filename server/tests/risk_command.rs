//! `headwater risk`: the same answer as `headwater query`, in words; parameters of one's own.

use std::path::Path;

use headwater_intel::behaviour::Behaviour;
use headwater_intel::risk::Parameters;
use serde_json::{Value, json};

use crate::support::{run, run_json};

const ALICE: &str = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const BOB: &str = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const SHOP: &str = "0xcccccccccccccccccccccccccccccccccccccccc";
const NOBODY: &str = "0xdddddddddddddddddddddddddddddddddddddddd";

/// Bob pays Alice 3 ether, of which she pays the shop one; an ether is worth 2,000 dollars.
struct Store {
    place: tempfile::TempDir,
    path: String,
}

impl Store {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store").to_str().unwrap().to_owned();
        let store = Self { place, path };
        let columns = "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,\
                       input,block_timestamp,receipt_status,receipt_gas_used\n";
        let row = |number: u64, from: &str, to: &str, value: u128| {
            let time = 1_600_000_000 + 12 * number;
            format!("0x{number:064x},{number},,{number},0,{from},{to},{value},21000,0,0x,{time},1,21000\n")
        };
        let ether = 10_u128.pow(18);
        let moved = [columns.to_owned(), row(1, BOB, ALICE, 3 * ether), row(2, ALICE, SHOP, ether)].concat();
        store.asked(&["ingest", &store.file("transactions.csv", &moved)]);
        store.asked(&["prices", "import", &store.file("prices.csv", "symbol,ts,price_usd\neth,1600000000,2000\n")]);
        store
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.place.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn label(&self, address: &str, code: &str, level: &str) {
        let list = self.file(&format!("{code}.csv"), &format!("address,chain,code\n{address},ethereum,{code}\n"));
        self.asked(&["labels", "import", "--source", "team", "--level", level, &list]);
    }

    fn asked(&self, arguments: &[&str]) -> Value {
        run_json(&[arguments, &["--json", "--store", &self.path]].concat())
    }

    /// Returns the text about an address.
    fn run(&self, arguments: &[&str]) -> String {
        let output = run(&[&["risk"], arguments, &["--store", &self.path]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn has(text: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

/// An answer without when it was computed.
fn untimed(mut answer: Value) -> Value {
    answer["data"]["meta"]["computed_at"] = Value::Null;
    answer
}

#[test]
fn risk_as_json_is_the_answer_of_query() {
    let store = Store::new();
    store.label(SHOP, "mixer", "forensic");
    for (chain, address) in [("ethereum", ALICE), ("eth", SHOP), ("evm", SHOP), ("ethereum", NOBODY)] {
        let body = json!({"blockchain": chain, "address": address}).to_string();
        let queried = store.asked(&["query", "address-risk", "--body", &body]);
        let explained = store.asked(&["risk", "--chain", chain, address]);
        assert_eq!(untimed(explained), untimed(queried), "{chain} {address}");
    }
}

#[test]
fn risk_in_words_names_score_factors_and_evidence() {
    let store = Store::new();
    store.label(SHOP, "mixer", "forensic");
    let text = store.run(&["--chain", "ethereum", ALICE]);
    // 100 (1 - (1 - 0.6 · 0.5655) (1 - 0.85 · 0.25795)), with 0.35 · 0.73701 for a quarter and 2,000 dollars; the class of so few
    // transfers adds 1.55 to the 55 of the behaviour.
    has(
        &text,
        &[
            "48.42 of 100: medium (medium from 30, high from 70)",
            "no label tells what kind of address it is",
            "no list names the address",
            "2 looked up, 1 of them risky, with 25.00 % of 8,000.00 US dollars",
            "Mixer interaction: once, intensity 1.00, age counts 1.00",
            "25.00 % of volume, 2000.00 US dollars",
            "Mixer interaction (mixer_interaction, high): once, 2020-09-13 12:27:04Z to 2020-09-13 12:27:04Z",
            &format!("transactions  0x{:064x}", 2),
            "2 transfers, 2020-09-13 12:26:52Z to 2020-09-13 12:27:04Z",
            &Parameters::standard().version,
            "no probability and no proof",
        ],
    );
    has(
        &store.run(&["--chain", "ethereum", SHOP]),
        &["mixer: mixer; confidence 0.500", "mixing", "context     mixer, confidence 0.500"],
    );
}

#[test]
fn risk_in_words_states_floors_and_omissions() {
    let store = Store::new();
    store.label(SHOP, "sanction", "sanctions_list");
    let payer = store.run(&["--chain", "ethereum", ALICE]);
    let floor = format!("at least 70: dealt with {SHOP}, which is under sanctions; direct_sanctioned_edge");
    assert!(
        payer.starts_with(&format!("high, 72.54 of 100: deals with {SHOP}, which is under sanctions\n")),
        "{payer}"
    );
    has(&payer, &[&floor, "without a floor", "what the floor adds", "under sanctions"]);
    let listed = store.run(&["--chain", "ethereum", SHOP]);
    has(&listed, &["100.00 of 100: high", "at least 100: listed by team", "the labels decide already"]);
    let unseen = store.run(&["--chain", "ethereum", NOBODY]);
    let verdict = "not enough data to judge: no transfer of the address is held: headwater ingest PATH\n";
    assert!(unseen.starts_with(verdict), "{unseen}");
    has(
        &unseen,
        &[
            "0.00 of 100: no level, since there is not enough data",
            "assessment  not enough data to judge",
            "nothing was found in too little data",
            "  the address was never seen on the chain:\n    rapid_in_out",
        ],
    );
    has(&store.run(&["--chain", "evm", ALICE]), &["only on ethereum and tron"]);
    let listed = store.file("tron.csv", "address,chain,code\nTR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t,tron,exchange\n");
    store.asked(&["labels", "import", "--source", "others", &listed]);
    has(
        &store.run(&["--chain", "tron", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"]),
        &["the store has no data of the chain"],
    );
}

#[test]
fn risk_takes_parameters_of_ones_own_or_refuses_them_whole() {
    let store = Store::new();
    store.label(SHOP, "mixer", "forensic");
    let printed = run(&["risk", "--print-parameters"]);
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), Parameters::standard_text());
    let own = |from: &str, to: &str| {
        let version = format!("version = \"{}\"", Parameters::standard().version);
        let text = Parameters::standard_text().replace(&version, "version = \"own\"");
        assert!(text.contains(from));
        store.file("own.toml", &text.replace(from, to))
    };
    let grave = own("mixer = 70.0", "mixer = 100.0");
    let answer = store.asked(&["risk", "--chain", "ethereum", "--parameters", &grave, ALICE]);
    assert_eq!(answer["data"]["meta"]["model_version"], "own");
    assert!(answer["data"]["composite_score"].as_f64().unwrap() > 50.0);
    let levels = own("medium = 30.0", "medium = 60.0");
    let text = store.run(&["--chain", "ethereum", "--parameters", &levels, ALICE]);
    has(&text, &["48.42 of 100: low (medium from 60, high from 70)"]);
    for (from, to, named) in [
        ("mixer = 70.0", "mixer = 170.0", "severities.mixer is 170"),
        ("mixer = 70.0", "mixers = 70.0", "mixers"),
        ("least_inflows = 3\n", "", "least_inflows"),
    ] {
        let output =
            run(&["risk", "--chain", "ethereum", "--parameters", &own(from, to), ALICE, "--store", &store.path]);
        let refusal = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{refusal}");
        assert!(refusal.contains("own.toml") && refusal.contains(named), "{refusal}");
    }
    for (arguments, named) in [
        (vec!["risk", "--chain", "ethereum"], "<ADDRESS>"),
        (vec!["risk", ALICE], "--store"),
        (vec!["risk", "--chain", "solana", ALICE], "solana"),
        (vec!["risk", "--print-parameters", "--chain", "evm", ALICE], "cannot be used with"),
        (vec!["risk", "--chain", "ethereum", ALICE], "--store"),
    ] {
        let output = run(&arguments);
        let refusal = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && refusal.contains(named), "{arguments:?}: {refusal}");
    }
}

#[test]
fn page_of_behaviours_lists_the_catalogue() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/behaviours.md");
    let page = std::fs::read_to_string(page).unwrap();
    for behaviour in Behaviour::ALL.iter().copied().chain([Behaviour::ScamPattern]) {
        let (severity, base) = Parameters::standard().behaviours.terms(behaviour);
        let row = format!(
            "| `{}` | {}, {} | {} | {} | {base} | ",
            behaviour.code(),
            behaviour.name(),
            behaviour.name_zh(),
            behaviour.family().name(),
            severity.name()
        );
        assert!(page.contains(&row), "docs/behaviours.md lacks the row {row}");
    }
}
