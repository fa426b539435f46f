//! The short commands: verdicts in words, tables, CSV, lists of addresses, the chain of an address.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::support::{headwater, run, run_json};

const ALICE: &str = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const BOB: &str = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const SHOP: &str = "0xcccccccccccccccccccccccccccccccccccccccc";
const NOBODY: &str = "0xdddddddddddddddddddddddddddddddddddddddd";

/// Bob pays Alice 3 ether, of which she pays the shop one.
struct Store {
    place: tempfile::TempDir,
    path: String,
}

impl Store {
    fn new() -> Self {
        let store = Self::empty();
        store.load("ethereum", 1_600_000_000);
        store
    }

    fn empty() -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store").to_str().unwrap().to_owned();
        Self { place, path }
    }

    /// Days on which no built-in price exists.
    fn unpriced() -> Self {
        let store = Self::empty();
        store.load("ethereum", 1_438_300_000);
        store
    }

    fn load(&self, chain: &str, start: u64) {
        self.load_payments(chain, start, [BOB, ALICE, SHOP]);
    }

    /// The first pays the second 3 coins, who pays the third one of them.
    fn load_payments(&self, chain: &str, start: u64, [first, second, third]: [&str; 3]) {
        let columns = "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,\
                       input,block_timestamp,receipt_status,receipt_gas_used\n";
        let row = |number: u64, from: &str, to: &str, value: u128| {
            let time = start + 12 * number;
            format!("0x{number:064x},{number},,{number},0,{from},{to},{value},21000,0,0x,{time},1,21000\n")
        };
        let ether = 10_u128.pow(18);
        let moved = [columns.to_owned(), row(1, first, second, 3 * ether), row(2, second, third, ether)].concat();
        self.asked(&["ingest", "--chain", chain, &self.file("transactions.csv", &moved)]);
    }

    fn price(&self) {
        let prices = self.file("prices.csv", "symbol,ts,price_usd\neth,1600000000,2000\n");
        self.asked(&["prices", "import", &prices]);
    }

    fn label(&self, address: &str, code: &str) {
        let list = self.file("list.csv", &format!("address,chain,code,entity\n{address},ethereum,{code},Corner\n"));
        self.asked(&["labels", "import", "--source", "team", "--level", "forensic", &list]);
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.place.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn asked(&self, arguments: &[&str]) -> Value {
        run_json(&[arguments, &["--json", "--store", &self.path]].concat())
    }

    fn output(&self, arguments: &[&str]) -> (i32, String, String) {
        read(&run(&[arguments, &["--store", &self.path]].concat()))
    }

    /// Returns the text of a command that must succeed.
    fn text(&self, arguments: &[&str]) -> String {
        let (code, text, error) = self.output(arguments);
        assert_eq!(code, 0, "{arguments:?}: {error}");
        text
    }

    /// Runs a command with a text on standard input.
    fn with_input(&self, arguments: &[&str], input: &str) -> (i32, String, String) {
        let mut child = headwater(&[arguments, &["--store", &self.path]].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        read(&child.wait_with_output().unwrap())
    }
}

fn read(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[test]
fn verdict_is_the_first_line_of_each_command() {
    let store = Store::new();
    store.price();
    store.label(SHOP, "exchange");
    for (arguments, verdict) in [
        (&["wallet", ALICE][..], "holds 1 asset on ethereum worth 4,000.00 US dollars"),
        (&["wallet", NOBODY], "no movement of this address is held on ethereum"),
        (&["balance", ALICE], "held 4,000.00 US dollars at the end (30 days, 2020-08-15 to 2020-09-13)"),
        (
            &["counterparties", ALICE],
            &format!("dealt with 2 addresses on ethereum; first {BOB}, in 1 transaction for 6,000.00 US dollars"),
        ),
        (&["transactions", ALICE], "2 movements on ethereum, 2020-09-13 12:26:52Z to 2020-09-13 12:27:04Z"),
        (
            &["transactions", ALICE, "--with", SHOP],
            "1 movement on ethereum, 2020-09-13 12:27:04Z to 2020-09-13 12:27:04Z",
        ),
        (&["holders", "eth"], "eth on ethereum has 2 holders; the 2 shown have 100.00 % of the supply"),
        (&["labels", "show", SHOP], "Corner: exchange, confidence 0.5"),
        (&["labels", "show", NOBODY], "no list names this address"),
        (&["labels", "find", "corn"], "1 address has the name \"corn\""),
        (&["labels", "find", "orner"], "no list gives an address the name \"orner\""),
    ] {
        assert_eq!(first_line(&store.text(arguments)), verdict, "{arguments:?}");
    }
}

#[test]
fn dollars_without_a_price_are_empty_in_tables() {
    let store = Store::unpriced();
    let wallet = store.text(&["wallet", ALICE]);
    assert_eq!(first_line(&wallet), "holds 1 asset on ethereum, none with a price: headwater prices import FILE");
    for command in ["wallet", "transactions", "balance"] {
        let text = store.text(&[command, ALICE]);
        assert!(text.contains('3') && !text.contains("0.00"), "{text}");
    }
}

#[test]
fn short_commands_as_json_are_the_answers_of_query() {
    let store = Store::new();
    let body = json!({"blockchain": "ethereum", "address": ALICE}).to_string();
    for (command, endpoint) in [
        ("wallet", "wallet-overview"),
        ("balance", "balance-history"),
        ("counterparties", "counterparty"),
        ("transactions", "transactions"),
    ] {
        let asked = store.asked(&[command, ALICE]);
        assert_eq!(asked, store.asked(&["query", endpoint, "--body", &body]), "{command}");
    }
}

#[test]
fn csv_has_the_rows_of_query() {
    let store = Store::new();
    let out = store.place.path().join("rows.csv").to_str().unwrap().to_owned();
    let body = json!({"blockchain": "ethereum", "address": ALICE}).to_string();
    store.asked(&["query", "transactions", "--body", &body, "--out", &out]);
    let written = std::fs::read_to_string(out).unwrap();
    assert_eq!(store.text(&["transactions", ALICE, "--csv"]), written);
    assert_eq!(store.text(&["query", "transactions", "--body", &body, "--csv"]), written);
    let (code, _, error) = store.output(&["transactions", ALICE, "--csv", "--json"]);
    assert!(code == 2 && error.contains("--csv and --json"), "{error}");
}

#[test]
fn chain_follows_from_the_form_or_the_error_names_it() {
    let store = Store::new();
    assert_eq!(store.asked(&["wallet", ALICE])["data"]["blockchain"], "ethereum");
    let (code, _, error) = store.output(&["wallet", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"]);
    assert!(code == 1 && error.contains("tron") && error.contains("it contains ethereum"), "{error}");
    let (code, _, error) = store.output(&["wallet", "0x12"]);
    assert!(code == 1 && error.contains("0x12"), "{error}");
    let other = "0x2222222222222222222222222222222222222222";
    store.load_payments("bsc", 1_600_000_000, [BOB, other, NOBODY]);
    // Of several chains the one on which the address has movements.
    assert_eq!(store.asked(&["wallet", ALICE])["data"]["blockchain"], "ethereum");
    assert_eq!(store.asked(&["wallet", other])["data"]["blockchain"], "bsc");
    for command in ["wallet", "risk", "trace", "exposure"] {
        let (code, _, error) = store.output(&[command, BOB]);
        assert!(code == 2 && error.contains("--chain bsc or --chain ethereum"), "{command}: {error}");
        store.text(&[command, BOB, "--chain", "bsc"]);
    }
}

#[test]
fn lists_keep_good_addresses_beside_bad_ones() {
    let store = Store::new();
    store.label(SHOP, "exchange");
    let input = format!("address,note\n# mine\n{ALICE},\"a, b\"\n\n0x12,bad\n{SHOP}\n");
    for command in [&["risk", "-"][..], &["classify", "-"], &["labels", "show", "-"]] {
        let (code, text, error) = store.with_input(command, &input);
        assert_eq!(code, 1, "{error}");
        assert!(error.contains("1 of 3 addresses have no answer"), "{error}");
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert!(text.starts_with("3 addresses: ") && rows.len() == 3, "{text}");
        assert!(rows[0].contains(ALICE) && rows[2].contains(SHOP), "{text}");
        assert!(rows[1].starts_with("no answer") && rows[1].contains("line 5"), "{text}");
        let (code, csv, _) = store.with_input(&[command, &["--csv"]].concat(), &input);
        assert!(code == 1 && csv.contains(ALICE) && csv.contains(SHOP), "{csv}");
        assert!(csv.contains("line 5") || command[0] == "labels", "{csv}");
        let (code, text, _) = store.with_input(&[command, &["--json"]].concat(), &input);
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(code == 1 && answer["data"]["results"][1]["error"].as_str().unwrap().contains("line 5"), "{answer}");
    }
    let (code, _, error) = store.with_input(&["risk", "-"], "\n# nothing\n");
    assert!(code == 2 && error.contains("one per line"), "{error}");
    let two = store.text(&["labels", "show", ALICE, SHOP]);
    assert!(two.starts_with("2 addresses: lists name 1\n"), "{two}");
}

#[test]
fn warnings_about_the_whole_store_are_not_repeated() {
    let store = Store::new();
    store.label(SHOP, "exchange");
    store.asked(&["prices", "import", &store.file("p.csv", "symbol,ts,price_usd\neth,1600000000,2000\n")]);
    for command in ["wallet", "counterparties", "transactions", "trace", "risk", "exposure", "classify"] {
        let (code, text, error) = store.output(&[command, ALICE]);
        assert_eq!((code, &*error), (0, ""), "{command}: {text}");
    }
    assert!(store.text(&["wallet", ALICE]).contains("note: no loaded source of ethereum covers internal transfers"));
    assert!(store.text(&["stats"]).contains("ethereum: no source brings internal transfers of the native coin"));
    let warned = store.asked(&["transactions", ALICE]);
    assert_eq!(warned["meta"]["warnings"][0]["code"], "partial_data");
}

#[test]
fn scores_take_addresses_from_standard_input() {
    let store = Store::new();
    let out = store.place.path().join("scores.parquet").to_str().unwrap().to_owned();
    let arguments = ["score", "--chain", "ethereum", "--columns", "risk", "--input", "-", "--output", &out];
    let (code, text, error) = store.with_input(&arguments, &format!("address\n{ALICE}\n{BOB}\n"));
    assert!(code == 0 && text.starts_with("2 addresses in "), "{text}{error}");
}

#[test]
fn help_of_query_lists_every_endpoint() {
    let (_, help, _) = read(&run(&["query", "--help"]));
    for endpoint in headwater_engine::ENDPOINTS {
        assert!(help.contains(endpoint.name) && help.contains(endpoint.summary), "{}", endpoint.name);
    }
}

#[test]
fn page_of_the_shell_names_every_short_command() {
    let page = include_str!("../../docs/shell.md");
    for command in [
        "wallet",
        "balance",
        "counterparties",
        "transactions",
        "holders",
        "labels show",
        "classify",
        "risk",
        "trace",
        "path",
        "exposure",
        "change",
        "cluster",
        "cross-chain",
        "query",
        "demo",
    ] {
        assert!(page.contains(&format!("`{command} ")) || page.contains(&format!("headwater {command}")), "{command}");
    }
}

#[test]
fn demo_prints_ten_lines_whose_commands_work() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("demo").to_str().unwrap().to_owned();
    let (code, text, error) = read(&run(&["demo", "--no-serve", "--store", &store]));
    assert_eq!(code, 0, "{error}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 10, "{text}");
    assert!(lines[6].contains("/explore#chain=") && lines[8].contains("hw_live_"), "{text}");
    let answers: Vec<String> = lines[2..6]
        .iter()
        .map(|line| {
            let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
            let (code, answer, error) = read(&run(&[&arguments[..], &["--store", &store]].concat()));
            assert_eq!(code, 0, "{line}: {error}");
            answer
        })
        .collect();
    let exchange = answers[3].split(':').next().unwrap();
    assert!(first_line(&answers[0]).contains("movement"), "{}", answers[0]);
    assert!(first_line(&answers[1]).contains(&format!("{exchange}, an exchange")), "{}", answers[1]);
    assert!(first_line(&answers[2]).starts_with("high, "), "{}", answers[2]);
    assert!(first_line(&answers[3]).contains("exchange"), "{}", answers[3]);
    let (code, listed, _) = read(&run(&["demo", "--list", "--store", &store]));
    assert!(
        code == 0 && listed.contains("bridge user") && listed.contains("curl") && listed.contains("hw.open"),
        "{listed}"
    );
    let other = Store::new();
    let (code, _, error) = other.output(&["demo", "--no-serve"]);
    assert!(code == 2 && error.contains("other data than the demo economy"), "{error}");
}

#[test]
fn one_address_without_a_chain_is_refused_directly() {
    let store = Store::new();
    store.load("bsc", 1_600_000_000);
    for command in [&["classify", BOB][..], &["labels", "show", BOB]] {
        let (code, text, error) = store.output(command);
        assert_eq!((code, &*text), (2, ""), "{error}");
        assert!(error.contains("--chain bsc or --chain ethereum"), "{error}");
    }
}
