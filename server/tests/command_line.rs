//! The command line: what it prints, and how it exits.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::{Process, headwater, run, run_json, small_store};

const SENDER: &str = "0xa1e4380a3b1f749673e270229993ee55f35663b4";

/// A state that nobody answers for: what is missing is reported before it is asked.
const SHARED: &str = "postgres://headwater@127.0.0.1:1/none";

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn exit_codes_distinguish_wrong_usage_from_failure() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let nowhere = place.path().join("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    let blocks = place.path().join("blocks.csv");
    std::fs::write(&blocks, "number,hash,parent_hash,timestamp,gas_limit\n7,,,1438270000,5000\n").unwrap();
    let blocks = blocks.to_str().unwrap();
    run_json(&["--json", "keys", "create", "--store", at]);
    for (code, arguments, named) in [
        (0, vec!["--version"], ""),
        (0, vec!["stats", "--store", at], ""),
        (0, vec!["compact", "--store", at], ""),
        (1, vec!["backup", at, "--store", nowhere], "nowhere"),
        (0, vec!["verify", "--store", at], ""),
        (2, vec![], "Usage"),
        (2, vec!["fly"], "fly"),
        (2, vec!["stats"], "--store"),
        (2, vec!["query", "nothing", "--store", at], "expected one of chains"),
        (2, vec!["query", "transactions", "--store", at, "--body", "{"], "--body"),
        (2, vec!["query", "transactions", "--store", at, "--param", "x"], "NAME=VALUE"),
        (2, vec!["query", "chains", "--store", at, "--out", "x.pdf"], ".json"),
        (2, vec!["serve", "--store", at, "--set", "auth.require=false"], "auth.require"),
        (2, vec!["serve"], "--store"),
        (1, vec!["stats", "--store", nowhere], "nowhere"),
        (1, vec!["serve", "--store", nowhere], "nowhere"),
        (1, vec!["query", "transactions", "--store", at], "blockchain"),
        (1, vec!["ingest", "--store", at, nowhere], "nowhere"),
        (1, vec!["keys", "revoke", "AAAAAAAA", "--store", at], "AAAAAAAA"),
        (1, vec!["credits", "add", "AAAAAAAA", "5", "--store", at], "keys list"),
        (1, vec!["admin", "revoke", "AAAAAAAA", "--store", at], "admin list"),
        (1, vec!["ingest", "--store", at, "--chain", "tron", blocks], "which is of bsc or ethereum"),
        (2, vec!["ingest", "--store", at, "--format", "zz", blocks], "ethereum-etl"),
        (2, vec!["ingest", "--store", at, "--chain", "zz", blocks], "zz"),
        (2, vec!["plans", "set", "x", "--store", at, "--definition", "{bad"], "line 1"),
        (2, vec!["keys", "create", "--store", at, "--name", "a\nb"], "1 to 200 characters"),
        (2, vec!["admin", "create", "--store", at, "--name", ""], "1 to 200 characters"),
        (2, vec!["audit", "--store", at, "--before", "xyz"], "is not an id"),
        (2, vec!["credits", "refund", "--store", at], "<REQUEST_ID|--lost>"),
        (2, vec!["credits", "refund", "x", "--lost", "--store", at], "cannot be used with"),
        (2, vec!["state", "init", "--state", SHARED], "--secrets-dir DIR"),
        (2, vec!["state", "restore", nowhere, "--state", SHARED], "--secrets-dir DIR"),
        (2, vec!["keys", "list", "--state", SHARED], "auth.secrets_dir"),
        (2, vec!["serve", "--store", at, "--state", SHARED], "--secrets-dir DIR"),
        (1, vec!["keys", "list", "--store", nowhere], "headwater state init"),
        (1, vec!["keys", "revoke", "AAAAAAAA", "--store", nowhere], "no state"),
        (1, vec!["admin", "list", "--store", nowhere], "no state"),
        (1, vec!["audit", "--store", nowhere], "no state"),
        (1, vec!["audit", "changes", "--store", nowhere], "no state"),
        (1, vec!["usage", "AAAAAAAA", "--store", nowhere], "no state"),
        (1, vec!["plans", "list", "--store", nowhere], "no state"),
        (1, vec!["credits", "lost", "--store", nowhere], "no state"),
        (1, vec!["state", "check", "--store", nowhere], "no state"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(named), "{arguments:?}: {}", stderr(&output));
        assert!(code == 0 || output.stdout.is_empty(), "{arguments:?}");
    }
    // A store that is not there must not be left behind as a folder by a command that only asked.
    assert!(!std::path::Path::new(nowhere).exists());
    assert!(!place.path().join("nowhere.state").exists());
}

#[test]
fn a_query_gives_what_http_gives_without_credits() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let body = json!({"blockchain": "ethereum", "address": SENDER, "typo": null}).to_string();
    let answer = run_json(&["query", "transactions", "--store", at, "--body", &body]);
    assert_eq!(answer["data"]["datas"][0]["amount_raw"], "31337");
    let typed = json!({"blockchain": "ETH", "address": SENDER}).to_string();
    assert_eq!(run_json(&["query", "transactions", "--store", at, "--body", &typed]), answer);
    let file = place.path().join("transactions.csv");
    for alias in ["eth", "Ethereum", "1", "EIP155:1"] {
        run_json(&["ingest", "--json", "--store", at, "--chain", alias, file.to_str().unwrap()]);
    }
    assert!(!run(&["ingest", "--store", at, "--chain", "solana", file.to_str().unwrap()]).status.success());
    assert!(answer["meta"].get("credit_cost").is_none());
    let params = run_json(&[
        "query",
        "transactions",
        "--store",
        at,
        "--param",
        "blockchain=ethereum",
        "--param",
        &format!("address={SENDER}"),
        "--param",
        "limit=1",
    ]);
    assert_eq!(params["data"]["datas"], answer["data"]["datas"]);
    let file = place.path().join("body.json");
    std::fs::write(&file, &body).unwrap();
    let from_file = run_json(&["query", "transactions", "--store", at, "--body", &format!("@{}", file.display())]);
    assert_eq!(from_file, answer);
    let out = place.path().join("answer.json");
    assert!(
        run(&["query", "/v1/transactions", "--store", at, "--body", &body, "--out", out.to_str().unwrap()])
            .stdout
            .is_empty()
    );
    assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(&out).unwrap()).unwrap(), answer);
    let hash = "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060";
    let named = format!("hash={hash}");
    let detail = run_json(&["query", "transaction", "--store", at, "--param", &named]);
    assert_eq!(detail["data"]["block_number"], 46147);
    for path in [format!("transaction/{hash}"), format!("/v1/transaction/{hash}")] {
        assert_eq!(run_json(&["query", &path, "--store", at]), detail, "{path}");
        let twice = run(&["query", &path, "--store", at, "--param", &named]);
        assert!(twice.status.code() == Some(2) && stderr(&twice).contains("given twice"), "{}", stderr(&twice));
    }
    assert_eq!(run_json(&["query", "transaction/{hash}", "--store", at, "--param", &named]), detail);
    for path in [format!("transactions/{hash}"), format!("transaction/{hash}/x"), "transaction/".to_owned() + "/"] {
        assert!(!run(&["query", &path, "--store", at]).status.success(), "{path}");
    }
    let from_environment = headwater(&["query", "chains"]).env("HEADWATER_STORE", at).output().unwrap();
    assert!(from_environment.status.success());
}

#[test]
fn with_json_a_refusal_is_the_error_envelope() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let output = run(&[
        "query",
        "transactions",
        "--json",
        "--store",
        store.to_str().unwrap(),
        "--param",
        "blockchain=solana",
        "--param",
        "address=x",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let envelope: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(envelope["error"]["code"], "bad_request");
    assert_eq!(envelope["error"]["details"]["reason"], "unsupported_chain");
}

#[test]
fn query_refuses_unknown_fields_and_chains_not_held() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let refused = |name: &str, body: &Value| {
        let output = run(&["query", name, "--json", "--store", at, "--body", &body.to_string()]);
        assert_eq!(output.status.code(), Some(1));
        serde_json::from_slice::<Value>(&output.stderr).unwrap()["error"].clone()
    };
    let error = refused("transactions", &json!({"blockchain": "ethereum", "address": SENDER, "symbol": "eth"}));
    assert_eq!(error["message"], "unknown field \"symbol\"; did you mean \"symbols\"?");
    let details = json!({"reason": "unknown_field", "field": "symbol", "candidates": ["symbols"]});
    assert_eq!(error["details"], details);
    let error = refused("labels", &json!({"blockchain": "bsc", "address": SENDER}));
    assert_eq!(error["details"]["reason"], "chain_not_held");
}

#[test]
fn a_key_is_shown_once_and_listed_without_its_secret() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("s");
    let at = state.to_str().unwrap();
    let made = run_json(&["keys", "create", "--state", at, "--name", "N", "--credits", "7", "--json"]);
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("hw_live_") && key.len() == 66, "{key}");
    let listed = run(&["keys", "list", "--state", at, "--json"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.contains(made["id"].as_str().unwrap()) && !text.contains(&key[17..]), "{text}");
    let human = String::from_utf8(run(&["keys", "list", "--state", at]).stdout).unwrap();
    assert!(human.starts_with("id "), "{human}");
    let rotated = run_json(&["keys", "rotate", made["id"].as_str().unwrap(), "--state", at, "--json"]);
    assert_eq!((&rotated["name"], &rotated["credits"]), (&made["name"], &made["credits"]));
    let fields = |key: &Value| key.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&rotated), fields(&made));
    assert_eq!(run(&["keys", "create", "--state", at, "--credits=-1"]).status.code(), Some(2));
}

#[test]
fn what_serve_logs_names_its_settings() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let file = place.path().join("headwater.toml");
    std::fs::write(&file, "[auth]\nrequired = \"maybe\"\n").unwrap();
    let output = run(&["serve", "--store", store.to_str().unwrap(), "--config", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("auth.required") && stderr(&output).contains("headwater.toml"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn serve_creates_a_missing_store_on_request() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("chain.hw");
    let server = Process::start(&store, &["--set", "store.create=true", "--set", "auth.required=false"]);
    let mut client = server.client().unwrap();
    let ready = client.send("GET", "/readyz", &[], b"").unwrap();
    assert_eq!(ready.status, 200);
    let chains = client.send("GET", "/v1/chains", &[], b"").unwrap().json();
    let heights: Vec<&Value> =
        chains["data"]["chains"].as_array().unwrap().iter().map(|chain| &chain["indexed_to_block"]).collect();
    assert!(!heights.is_empty() && heights.iter().all(|height| height.is_null()), "{chains}");
    // Rows that another process brings are served.
    let sample = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sample");
    let loaded = run(&["ingest", "--store", store.to_str().unwrap(), sample.to_str().unwrap()]);
    assert!(loaded.status.success(), "{}", stderr(&loaded));
    let chains = client.send("GET", "/v1/chains", &[], b"").unwrap().json();
    assert!(
        chains["data"]["chains"].as_array().unwrap().iter().any(|chain| !chain["indexed_to_block"].is_null()),
        "{chains}"
    );
}

#[test]
fn backup_copies_one_generation_while_others_write() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (store, copy) = (small_store(place.path()), at("copy"));
    let store = store.to_str().unwrap();
    let stats = |store: &str| run_json(&["stats", "--json", "--store", store]);
    let before = stats(store);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut imports = 0;
            while !stop.load(Ordering::Relaxed) {
                let list = at(&format!("list-{imports}.csv"));
                std::fs::write(&list, format!("address,code\n0x{:040x},exchange\n", imports + 1)).unwrap();
                let imported = run(&["labels", "import", &list, "--chain", "ethereum", "--store", store]);
                assert!(imported.status.success(), "{}", stderr(&imported));
                imports += 1;
            }
            imports
        });
        for round in 0..5 {
            let copy = format!("{copy}-{round}");
            let report = run_json(&["backup", &copy, "--json", "--store", store]);
            let copied = stats(&copy);
            assert_eq!(copied["generation"], report["generation"]);
            assert_eq!(copied["chains"], before["chains"]);
        }
        stop.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 1);
    });
    let again = run(&["backup", &format!("{copy}-0"), "--store", store]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("name a new folder"), "{}", stderr(&again));
    // Its files are those of a store that can be written to.
    assert!(
        run(&["labels", "import", &at("list-0.csv"), "--chain", "ethereum", "--store", &format!("{copy}-0")])
            .status
            .success()
    );
}

#[test]
fn an_ingest_says_which_rows_and_files_it_left_out_and_why() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("in");
    std::fs::create_dir(&folder).unwrap();
    let head = "token_address,from_address,to_address,value,transaction_hash,log_index,block_number";
    let row = format!("{SENDER},{SENDER},{SENDER},1,0x{:064},0,9", 5);
    std::fs::write(folder.join("transfers.csv"), format!("{head}\n{row}\n")).unwrap();
    let blocks = "number,hash,parent_hash,timestamp,gas_limit\n8,,,1438270000,5000\n";
    std::fs::write(folder.join("blocks.csv"), blocks).unwrap();
    std::fs::write(folder.join("notes.txt"), "x\n").unwrap();
    let store = place.path().join("store");
    let at = ["--store", store.to_str().unwrap(), "--on-error", "skip", folder.to_str().unwrap()];
    let text = String::from_utf8(run(&[&["ingest"], &at[..]].concat()).stdout).unwrap();
    assert!(text.contains("transfers.csv, line 2: column \"block_number\" is \"9\""), "{text}");
    assert!(text.contains("notes.txt is in no known format") && text.contains("1 rows left out"), "{text}");
    let output = run_json(&[&["--json", "ingest"], &at[..]].concat());
    assert_eq!((&output["skipped"], &output["files"][1]["skipped"]), (&json!(1), &json!(1)));
}

#[test]
fn an_import_of_a_folder_leaves_out_what_is_something_else() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("lists");
    std::fs::create_dir(&folder).unwrap();
    let (prices, notes) = (folder.join("prices.csv"), folder.join("notes.txt"));
    std::fs::write(&prices, "symbol,ts,price_usd\neth,1735689600,3350.25\n").unwrap();
    std::fs::write(&notes, "bought some\n").unwrap();
    let store = place.path().join("store");
    let import =
        |path: &std::path::Path| run(&["prices", "import", "--store", store.to_str().unwrap(), path.to_str().unwrap()]);
    let named = import(&notes);
    assert_eq!(named.status.code(), Some(1), "a file that was named is meant");
    assert!(stderr(&named).contains("price_usd") && !store.exists(), "{}", stderr(&named));
    let text = String::from_utf8(import(&folder).stdout).unwrap();
    assert!(text.contains(": 1 prices, version 1") && text.contains("notes.txt"), "{text}");
}

const TETHER: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";

/// A store with a movement of USDT and two of a token that no registry lists, and the report of its ingest.
fn store_of_tokens(place: &std::path::Path) -> (String, Value) {
    let [blocks, transfers, store] = ["blocks.csv", "token_transfers.csv", "store"].map(|name| place.join(name));
    std::fs::write(&blocks, "number,hash,parent_hash,timestamp,gas_limit\n7,,,1438270000,5000\n").unwrap();
    let mut rows = "token_address,from_address,to_address,value,transaction_hash,log_index,block_number\n".to_owned();
    let unlisted = format!("0x{}", "ef".repeat(20));
    for (log, contract) in [TETHER, &unlisted, &unlisted].into_iter().enumerate() {
        let (to, hash) = ("bb".repeat(20), "11".repeat(32));
        writeln!(rows, "{contract},{SENDER},0x{to},2500000,0x{hash},{log},7").unwrap();
    }
    std::fs::write(&transfers, rows).unwrap();
    let [blocks, transfers, store] = [blocks, transfers, store].map(|path| path.to_str().unwrap().to_owned());
    let report = run_json(&["--json", "ingest", "--store", &store, &blocks, &transfers]);
    (store, report)
}

#[test]
fn ingest_of_unlisted_tokens_is_noted_once() {
    let place = tempfile::tempdir().unwrap();
    let (store, report) = store_of_tokens(place.path());
    assert_eq!((&report["added"], &report["unlisted_tokens"]), (&json!(1), &json!(1)));
    let transfers = place.path().join("token_transfers.csv");
    let again = run_json(&["--json", "ingest", "--store", &store, transfers.to_str().unwrap()]);
    assert_eq!(again.get("unlisted_tokens"), None);
    let other = place.path().join("other");
    let blocks = place.path().join("blocks.csv");
    let files = [&other, &blocks, &transfers].map(|path| path.to_str().unwrap());
    let output = run(&["ingest", "--store", files[0], files[1], files[2]]);
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.contains("note: 1 token is in no registry") && output.contains("headwater tokens import FILE"),
        "{output}"
    );
}

#[test]
fn answers_that_hide_tokens_say_so_on_every_interface() {
    let place = tempfile::tempdir().unwrap();
    let (store, _) = store_of_tokens(place.path());
    let body = json!({"blockchain": "ethereum", "address": SENDER}).to_string();
    let printed = run_json(&["query", "transactions", "--store", &store, "--body", &body]);
    assert_eq!(
        (&printed["data"]["datas"][0]["symbol"], &printed["data"]["datas"][0]["amount"]),
        (&json!("usdt"), &json!("2.5"))
    );
    let server = Process::start(std::path::Path::new(&store), &["--set", "auth.required=false"]);
    let headers = [("Content-Type", "application/json")];
    let mut client = server.client().unwrap();
    let reply = client.send("POST", "/v1/transactions", &headers, body.as_bytes()).unwrap().json();
    for answer in [&printed, &reply] {
        let warnings = answer["meta"]["warnings"].as_array().unwrap();
        let hidden: Vec<_> = warnings.iter().filter(|warning| warning["code"] == "unverified_hidden").collect();
        let [hidden] = hidden[..] else { panic!("{warnings:?}") };
        assert_eq!((&hidden["field"], &hidden["count"]), (&Value::Null, &json!(2)));
    }
    let all = body.replace('}', ", \"include_unverified\": true}");
    let shown = client.send("POST", "/v1/transactions", &headers, all.as_bytes()).unwrap().json();
    assert_eq!(shown["data"]["datas"].as_array().unwrap().len(), 3);
    assert!(!shown["meta"]["warnings"].to_string().contains("unverified_hidden"));
}

#[test]
fn core_tokens_are_listed_and_never_rolled_back() {
    let place = tempfile::tempdir().unwrap();
    let (store, _) = store_of_tokens(place.path());
    let listed = || run_json(&["--json", "tokens", "list", "--store", &store])["imports"].clone();
    let core = &listed()[0];
    assert_eq!((&core["version"], &core["source"], &core["in_force"]), (&json!(0), &json!("core"), &json!(true)));
    let refused = run(&["tokens", "rollback", "0", "--store", &store]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("the core tokens"), "{}", stderr(&refused));
    let prices = run_json(&["--json", "prices", "list", "--store", &store])["imports"].clone();
    let core = |field: &str| prices[0][field].clone();
    assert_eq!((core("version"), core("source"), core("entries")), (json!(0), json!("core"), json!(16_645)));
    assert_eq!(prices.as_array().unwrap().len(), 1);
    let refused = run(&["prices", "rollback", "0", "--store", &store]);
    assert!(stderr(&refused).contains("the core prices"), "{}", stderr(&refused));

    let mine = place.path().join("mine.json");
    let token = json!({"tokens": [{"address": TETHER, "symbol": "MINE", "name": "Mine", "decimals": 2, "chainId": 1}]});
    std::fs::write(&mine, token.to_string()).unwrap();
    let symbol = || {
        let body = json!({"blockchain": "ethereum", "contracts": [TETHER]}).to_string();
        run_json(&["query", "resolve", "--store", &store, "--body", &body])["data"]["assets"][0]["symbol"].clone()
    };
    assert_eq!(symbol(), "usdt");
    run_json(&["--json", "tokens", "import", "--store", &store, mine.to_str().unwrap()]);
    assert_eq!(symbol(), "mine");
    run_json(&["--json", "tokens", "rollback", "1", "--store", &store]);
    assert_eq!((symbol(), listed().as_array().unwrap().len()), (json!("usdt"), 2));
}

#[test]
fn price_and_rate_versions_are_listed_and_rolled_back() {
    let place = tempfile::tempdir().unwrap();
    let (prices, rates) = (place.path().join("prices.csv"), place.path().join("ecb.csv"));
    std::fs::write(&prices, "symbol,ts,price_usd\neth,1644969600,3000\n").unwrap();
    std::fs::write(&rates, "Date,USD,JPY,\n2022-02-15,1.25,130,\n").unwrap();
    let store = place.path().join("store");
    let at = store.to_str().unwrap();
    run_json(&["--json", "prices", "import", "--store", at, prices.to_str().unwrap()]);
    run_json(&["--json", "prices", "import", "--fx", "--store", at, rates.to_str().unwrap()]);
    let quoted = |code: i32| {
        let asked = ["--param", "symbols=eth", "--param", "quote=EUR", "--param", "at=1644969600"];
        let output = run(&[&["query", "rates", "--store", at][..], &asked].concat());
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()["data"]["rates"][0]["price"].clone()
    };
    assert_eq!(quoted(0), 2400.0);
    let day = ["--param", "start=1644969600", "--param", "end=1644969600"];
    let history = run_json(&[&["query", "rates/history", "--store", at, "--param", "symbol=eth"][..], &day].concat());
    assert_eq!(history["data"]["points"], json!([{"ts": 1_644_969_600, "price_usd": 3000.0}]));

    let listed = run_json(&["--json", "prices", "list", "--store", at]);
    assert_eq!((&listed["imports"][2]["kind"], &listed["imports"][2]["source"]), (&json!("fx"), &json!("ecb.csv")));
    let wrong = run(&["tokens", "rollback", "2", "--store", at]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stderr(&wrong).contains("version 2 of tokens"), "{}", stderr(&wrong));
    run_json(&["--json", "prices", "rollback", "2", "--store", at]);
    quoted(1);
    assert_eq!(run_json(&["--json", "prices", "list", "--store", at])["imports"][2]["in_force"], false);
}

/// The first minute of the README is a session at a shell.
#[test]
fn readme_first_minute_prints_what_it_shows() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let session = readme.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let place = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root.join("docs"), place.path().join("docs")).unwrap();
    let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_headwater")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let mut printed = String::new();
    for command in session.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let run = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(place.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(run.status.success(), "{command}: {}", stderr(&run));
        writeln!(printed, "$ {command}").unwrap();
        printed.push_str(&String::from_utf8(run.stdout).unwrap());
    }
    assert_eq!(printed, session);
}
