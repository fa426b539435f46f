//! `headwater trace`, `path` and `exposure`: the same answers as `headwater query`, in words, as `GraphML`, as a picture.

use serde_json::{Value, json};

use crate::support::{run, run_json};

const ALICE: &str = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const BOB: &str = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const SHOP: &str = "0xcccccccccccccccccccccccccccccccccccccccc";
const NOBODY: &str = "0xdddddddddddddddddddddddddddddddddddddddd";

/// Bob pays Alice 3 ether, she pays the shop one of them, and the shop pays half of that on; an ether is worth 2,000 dollars.
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
        let rows = [row(1, BOB, ALICE, 3 * ether), row(2, ALICE, SHOP, ether), row(3, SHOP, NOBODY, ether / 2)];
        store.asked(&["ingest", &store.file("transactions.csv", &[columns.to_owned(), rows.concat()].concat())]);
        store.asked(&["prices", "import", &store.file("prices.csv", "symbol,ts,price_usd\neth,1600000000,2000\n")]);
        store
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.at(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn at(&self, name: &str) -> String {
        self.place.path().join(name).to_str().unwrap().to_owned()
    }

    fn label(&self, address: &str, code: &str, entity: &str) {
        let rows = format!("address,chain,code,entity\n{address},ethereum,{code},{entity}\n");
        let list = self.file(&format!("{code}.csv"), &rows);
        self.asked(&["labels", "import", "--source", "team", "--level", "forensic", &list]);
    }

    fn asked(&self, arguments: &[&str]) -> Value {
        untimed(run_json(&[arguments, &["--json", "--store", &self.path]].concat()))
    }

    /// Code, standard output and standard error of a trace on Ethereum.
    fn reported(&self, arguments: &[&str]) -> (i32, String, String) {
        self.run_command("trace", arguments)
    }

    fn run_command(&self, command: &str, arguments: &[&str]) -> (i32, String, String) {
        let output = run(&[&[command, "--chain", "eth"], arguments, &["--store", &self.path]].concat());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

/// An answer without how long it took.
fn untimed(mut answer: Value) -> Value {
    if let Some(meta) = answer["data"]["meta"].as_object_mut() {
        meta.remove("query_duration_ms");
    }
    answer
}

fn has(text: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[test]
fn trace_as_json_is_the_answer_of_query() {
    let store = Store::new();
    let body = json!({
        "blockchain": "ethereum", "address": ALICE,
        "track_setting": {
            "outward_depth": 1, "inward_depth": 2, "limit": 5, "method": "fifo", "start_time": 1_600_000_000,
            "end_time": 1_600_000_100,
        },
    });
    let query = store.asked(&["query", "trace", "--body", &body.to_string()]);
    let flags = ["--outward", "1", "--inward", "2", "--limit", "5", "--method", "fifo"];
    let times = ["--from", "1600000000", "--to", "1600000100"];
    let asked = store.asked(&[&["trace", "--chain", "ethereum", ALICE], &flags[..], &times[..]].concat());
    assert_eq!(asked, query);
    let out = store.at("trace.json");
    let (code, reported, _) = store.reported(&[&[ALICE, "--out", &out], &flags[..], &times[..]].concat());
    assert_eq!((code, reported), (0, format!("{out}: 3 addresses, 2 edges\n")));
    let written = untimed(serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap());
    assert_eq!(written["data"], query["data"]);
}

#[test]
fn words_say_the_path_the_ends_and_what_was_left_out() {
    let store = Store::new();
    store.label(SHOP, "exchange", "Corner Exchange");
    let (code, reported, _) = store.reported(&[ALICE]);
    assert_eq!(code, 0);
    assert!(reported.starts_with("100 % reached Corner Exchange, an exchange, within 1 hop\n"), "{reported}");
    let wanted = [
        &format!("{ALICE} on ethereum"),
        "2 hops outward, 2 inward",
        "3 addresses, 2 edges",
        "Outward along the largest amounts:",
        "1 eth",
        "2,000.00",
        "Corner Exchange; exchange; a service: what leaves it is other people's money",
        "Inward along the largest amounts:",
        "3 eth",
        "Where it ends:",
        "100.00 %",
        "no further payments",
        "A trace is a hypothesis",
    ];
    has(&reported, &wanted);
    assert!(!reported.contains("What was left out"), "{reported}");
    let (_, reported, _) = store.reported(&[BOB, "--outward", "1", "--inward", "0"]);
    has(&reported, &["What was left out:", "raise --outward or --inward", "the last hop"]);
    let (_, reported, _) = store.reported(&["0x1111111111111111111111111111111111111111"]);
    has(&reported, &["1 addresses, 0 edges"]);
    assert!(!reported.contains("Where it ends"), "{reported}");
}

#[test]
fn graphml_and_picture_hold_every_address() {
    let store = Store::new();
    store.label(SHOP, "merchant", "A <b> & Co");
    let [graphml, svg] = ["trace.GraphML", "trace.svg"].map(|name| store.at(name));
    for file in [&graphml, &svg] {
        let (code, reported, error) = store.reported(&[ALICE, "--out", file]);
        assert_eq!((code, reported), (0, format!("{file}: 4 addresses, 3 edges\n")), "{error}");
    }
    let graph = std::fs::read_to_string(graphml).unwrap();
    assert_eq!((graph.matches("<node ").count(), graph.matches("<edge ").count()), (4, 3));
    let wanted = [
        "<key id=\"edge_amount_usd\" for=\"edge\" attr.name=\"amount_usd\" attr.type=\"double\"/>",
        "<data key=\"node_entity_name\">A &lt;b&gt; &amp; Co</data>",
        "<data key=\"edge_amount_raw\">1000000000000000000</data>",
        &format!("source=\"{ALICE}\" target=\"{SHOP}\""),
    ];
    has(&graph, &wanted);
    let picture = std::fs::read_to_string(svg).unwrap();
    assert_eq!((picture.matches("<g><title>").count(), picture.matches("<g stroke-opacity").count()), (4, 3));
    has(&picture, &["A &lt;b&gt; &amp; Co", "1 eth ($2,000)", "begins here: no further", ALICE, NOBODY]);
    let [html, png] = ["trace.html", "trace.png"].map(|name| store.at(name));
    for file in [&html, &png] {
        assert_eq!(store.reported(&[ALICE, "--out", file]).0, 0);
    }
    has(&std::fs::read_to_string(html).unwrap(), &["Content-Security-Policy", "A \\u003cb\\u003e \\u0026 Co"]);
    assert!(std::fs::read(png).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn wrong_usage_is_refused_with_the_remedy() {
    let store = Store::new();
    for name in ["trace.gif", "trace"] {
        let out = store.at(name);
        let (code, _, error) = store.reported(&[ALICE, "--out", &out]);
        assert_eq!(code, 2);
        has(&error, &["does not end in .html, .svg, .png, .json or .graphml"]);
        assert!(!std::path::Path::new(&out).exists());
    }
    let (code, _, error) = store.reported(&[ALICE, "--outward", "8"]);
    assert_eq!(code, 1);
    has(&error, &["track_setting.outward_depth", "from 0 to 7"]);
    let (_, _, error) = store.reported(&[ALICE, "--outward", "0", "--inward", "0"]);
    has(&error, &["nothing to follow"]);
    let (_, _, error) = store.reported(&["0x12"]);
    has(&error, &["0x12"]);
    let (_, _, error) = store.reported(&[ALICE, "--method", "lifo"]);
    has(&error, &["none, haircut, fifo, poison"]);
}

#[test]
fn path_is_the_answer_of_query_hop_by_hop() {
    let store = Store::new();
    let body = json!({"blockchain": "ethereum", "source": BOB, "targets": [NOBODY, SHOP], "max_hops": 3, "k": 2, "min_amount_usd": 1.5});
    let query = store.asked(&["query", "path", "--body", &body.to_string()]);
    let flags = ["--max-hops", "3", "--k", "2", "--min-usd", "1.5"];
    let asked = store.asked(&[&["path", "--chain", "ethereum", BOB, NOBODY, SHOP], &flags[..]].concat());
    assert_eq!(asked, query);
    let (code, reported, error) = store.run_command("path", &[BOB, NOBODY]);
    assert_eq!(code, 0, "{error}");
    let wanted = [
        &format!("1 path: at most 1,000.00 US dollars can have moved along the widest, to {NOBODY} in 3 payments"),
        &format!("from {BOB} on ethereum; "),
        &format!("Path 1 to {NOBODY}, bottleneck 1,000.00"),
        "0.5 eth",
        "A path is a possibility",
    ];
    has(&reported, &wanted);
    let (_, reported, _) = store.run_command("path", &[NOBODY, BOB]);
    has(&reported, &["no path is found"]);
    let (code, _, error) = store.run_command("path", &[BOB, BOB]);
    assert_eq!(code, 1);
    has(&error, &["targets[0]", "name another address"]);
}

#[test]
fn exposure_is_the_answer_of_query_by_category() {
    let store = Store::new();
    store.label(SHOP, "exchange", "Corner Exchange");
    let body = json!({"blockchain": "ethereum", "address": BOB, "direction": "out", "max_hops": 2});
    let query = store.asked(&["query", "exposure", "--body", &body.to_string()]);
    let asked = store.asked(&["exposure", "--chain", "ethereum", BOB, "--direction", "out", "--max-hops", "2"]);
    assert_eq!(asked, query);
    let (code, reported, error) = store.run_command("exposure", &[ALICE]);
    assert_eq!(code, 0, "{error}");
    let wanted = [
        "8,000.00 US dollars in all, 6,000.00 without a name",
        "100 % of what left went to the category exchange (Corner Exchange)",
        "Direct:",
        "exchange",
        "100.00 %",
        "Corner Exchange",
        "raise --max-hops",
    ];
    has(&reported, &wanted);
    let (_, reported, _) = store.run_command("exposure", &[BOB, "--max-hops", "2"]);
    // Of Alice's 3 ether one went to the exchange: 2,000 dollars less 5 %.
    has(
        &reported,
        &["Through others that have no name:", "1,900.00", "stayed at an address between", "5 % for each hop"],
    );
}
