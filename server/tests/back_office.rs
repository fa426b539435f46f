//! The commands of the back office: plans, admin keys, audit, usage, state, doctor.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::{Process, QUIET, TRANSACTIONS, logged, run, run_json, small_store};

fn refused(arguments: &[&str], named: &str) {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(named), "{arguments:?}: {said}");
}

#[test]
fn plans_are_made_assigned_and_removed() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("s");
    let at = ["--json", "--state", state.to_str().unwrap()];
    let with = |more: &[&str]| run_json(&[&at, more].concat());
    let id = with(&["keys", "create"])["id"].as_str().unwrap().to_owned();
    let file = place.path().join("plan.json");
    std::fs::write(&file, r#"{"heavy": {"per_second": 1, "burst": 2}, "chains": ["bitcoin"]}"#).unwrap();
    assert_eq!(with(&["plans", "set", "small", "--file", file.to_str().unwrap()])["heavy"]["burst"], 2);
    with(&["plans", "set", "large", "--definition", r#"{"concurrency": 100}"#]);
    let names: Vec<Value> =
        with(&["plans", "list"])["plans"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["default", "large", "small"], "as the admin listener lists them");
    let config = place.path().join("headwater.toml");
    std::fs::write(&config, "[limits]\nconcurrency = 7\n").unwrap();
    let listed = with(&["plans", "list", "--config", config.to_str().unwrap()]);
    assert_eq!((&listed["plans"][0]["concurrency"], &listed["default_stored"]), (&json!(7), &json!(false)));
    let human = String::from_utf8(run(&["plans", "list", "--state", state.to_str().unwrap()]).stdout).unwrap();
    assert!(human.contains("default is not stored"), "{human}");
    with(&["plans", "assign", &id, "small"]);
    assert_eq!(with(&["usage", &id])["plan"], "small");
    with(&["plans", "remove", "small"]);
    assert_eq!(with(&["usage", &id])["plan"], "default");
    refused(&[&at[..], &["plans", "assign", &id, "small"]].concat(), "plans list");
    refused(&[&at[..], &["plans", "set", "x", "--definition", r#"{"heavi": 1}"#]].concat(), "heavi");
    refused(
        &[&at[..], &["plans", "set", "x", "--definition", r#"{"name": "y"}"#]].concat(),
        "the definition has the name",
    );
    with(&["plans", "set", "large", "--definition", r#"{"name": "large", "concurrency": 100}"#]);
    refused(&[&at[..], &["plans", "set", "x"]].concat(), "<--file <FILE>|--definition <JSON>>");
    let changes = with(&["audit", "changes", "--limit", "4"]);
    let actions: Vec<&Value> = changes["changes"].as_array().unwrap().iter().map(|one| &one["action"]).collect();
    assert_eq!(actions, ["plans.set", "plans.remove", "plans.assign", "plans.set"]);
    let name = std::process::Command::new("id").arg("-un").output().unwrap().stdout;
    assert_eq!(changes["changes"][2]["actor"], format!("cli:{}", String::from_utf8_lossy(&name).trim_end()));
    assert_eq!(changes["changes"][2]["after"], json!({"plan": "small"}).to_string());
}

#[test]
fn the_default_plan_is_removed_where_one_is_stored() {
    let place = tempfile::tempdir().unwrap();
    let at = ["--json", "--state", place.path().to_str().unwrap()];
    let with = |more: &[&str]| run_json(&[&at, more].concat());
    with(&["keys", "create"]);
    refused(&[&at[..], &["plans", "remove", "default"]].concat(), "no plan is stored under the name default");
    with(&["plans", "set", "default", "--definition", r#"{"concurrency": 3}"#]);
    let listed = with(&["plans", "list"]);
    assert_eq!((&listed["plans"][0]["concurrency"], &listed["default_stored"]), (&json!(3), &json!(true)));
    let human = run(&[&at[1..], &["plans", "remove", "default"]].concat());
    let said = String::from_utf8(human.stdout).unwrap();
    assert!(human.status.success() && said.contains("limits.*"), "{said}");
    assert_eq!(with(&["plans", "list"])["default_stored"], json!(false));
    let changes = with(&["audit", "changes"]);
    let actions: Vec<&Value> = changes["changes"].as_array().unwrap().iter().map(|one| &one["action"]).collect();
    assert_eq!(actions, ["plans.remove", "plans.set", "keys.create"], "what was refused changed nothing");
}

#[test]
fn changes_are_listed_wherever_the_options_are() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path().to_str().unwrap();
    run_json(&["--json", "keys", "create", "--state", at]);
    let listed = |arguments: &[&str]| run_json(arguments)["changes"].as_array().unwrap().len();
    assert_eq!(listed(&["audit", "--json", "--state", at, "--limit", "1", "changes"]), 1);
    assert_eq!(listed(&["audit", "changes", "--json", "--state", at, "--limit", "1"]), 1);
    refused(&["audit", "--state", at, "--status", "200", "changes"], "choose requests");
}

#[test]
fn an_admin_key_is_shown_once_and_can_be_revoked() {
    let place = tempfile::tempdir().unwrap();
    let at = ["--json", "--state", place.path().to_str().unwrap()];
    let with = |more: &[&str]| run_json(&[&at, more].concat());
    let made = with(&["admin", "create", "--name", "ops"]);
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("hw_admin_"), "{key}");
    let listed = with(&["admin", "list"]);
    assert_eq!(listed["admins"][0]["name"], "ops");
    assert!(!listed.to_string().contains(&key[18..]));
    with(&["admin", "revoke", made["id"].as_str().unwrap()]);
    assert!(with(&["admin", "list"])["admins"][0]["revoked_at"].is_i64());
    refused(&[&at[..], &["admin", "revoke", "AAAAAAAA"]].concat(), "admin list");
}

#[test]
fn what_was_requested_is_found_by_key_status_and_time() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = ["--json", "--store", store.to_str().unwrap()];
    let with = |more: &[&str]| run_json(&[&at, more].concat());
    let made = with(&["keys", "create", "--credits", "100"]);
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let mut process = Process::start(&store, &[]);
    let mut client = process.client().unwrap();
    let paid = client.post("/v1/transactions", key, QUIET).unwrap();
    assert_eq!(paid.status, 200);
    assert_eq!(client.send("GET", "/v1/chains", &[("X-API-Key", key)], b"").unwrap().status, 200);
    assert_eq!(client.post("/v1/transactions", key, "{}").unwrap().status, 400);
    assert_eq!(client.post("/v1/transactions", "nobody", QUIET).unwrap().status, 401);
    process.terminate();
    process.wait();
    let requests = |more: &[&str]| with(&[&["audit"], more].concat())["requests"].as_array().unwrap().clone();
    let statuses = |more: &[&str]| requests(more).iter().map(|one| one["status"].clone()).collect::<Vec<_>>();
    assert_eq!(statuses(&[]), [200, 200]);
    assert_eq!(statuses(&["--key", id]), [200, 200]);
    assert_eq!(statuses(&["--status", "200"]), [200, 200]);
    assert_eq!(statuses(&["--status", "401"]), Vec::<Value>::new());
    assert_eq!(statuses(&["--since", "2100-01-01"]), Vec::<Value>::new());
    let newest = requests(&["--limit", "1"])[0]["request_id"].as_str().unwrap().to_owned();
    assert_eq!(statuses(&["--before", &newest]), [200]);
    // What was refused is counted by minute, and the log that lists it is named.
    let counted = with(&["audit", "sums"]);
    let mut sums: Vec<_> = counted["sums"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sum| {
            (sum["status"].as_i64().unwrap(), sum["endpoint"].as_str().unwrap(), sum["requests"].as_i64().unwrap())
        })
        .collect();
    sums.sort_unstable();
    assert_eq!(sums, [(400, "/v1/transactions", 1), (401, "/v1/transactions", 1)]);
    assert_eq!(with(&["audit", "sums", "--status", "401"])["sums"].as_array().unwrap().len(), 1);
    assert_eq!(with(&["audit", "sums", "--since", "2100-01-01"])["sums"], json!([]));
    let state = headwater_state::Home::beside(&store);
    assert_eq!(counted["log"]["folder"], state.join("audit").to_str().unwrap());
    assert_eq!((&counted["log"]["files"], logged(&state).len()), (&json!(1), 2));
    let found = &requests(&["--status", "200"])[1];
    assert_eq!((&found["cost"], &found["endpoint"]), (&json!(5), &json!("/v1/transactions")));
    assert_eq!(found["request_id"], paid.header("x-request-id"));
    let usage = with(&["usage", id]);
    assert_eq!(usage["credit_remaining"], 95);
    assert_eq!(
        usage["by_endpoint"],
        json!([
            {"endpoint": "/v1/chains", "calls": 1, "failed": 0, "credits": 0},
            {"endpoint": "/v1/transactions", "calls": 2, "failed": 1, "credits": 5}
        ])
    );
    refused(&[&at[..], &["audit", "--since", "soon"]].concat(), "2026-01-31");
    refused(&[&at[..], &["audit", "--since", "1700000000000"]].concat(), "milliseconds");
    for status in ["42", "9999"] {
        refused(&[&at[..], &["audit", "--status", status]].concat(), "100..=599");
    }
}

#[test]
fn a_state_is_backed_up_while_it_is_served_and_restored() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = ["--json", "--store", store.to_str().unwrap()];
    let with = |more: &[&str]| run_json(&[&at, more].concat());
    let made = with(&["keys", "create", "--credits", "100"]);
    let key = made["key"].as_str().unwrap();
    let process = Process::start(&store, &[]);
    assert_eq!(process.client().unwrap().post("/v1/transactions", key, QUIET).unwrap().status, 200);
    let backup = place.path().join("backup");
    let folder = backup.to_str().unwrap();
    assert_eq!(with(&["state", "backup", folder])["entries"], 2);
    refused(&[&at[..], &["state", "backup", folder]].concat(), "nothing is overwritten");
    refused(&[&at[..], &["state", "restore", folder]].concat(), "nothing is overwritten");
    let again = place.path().join("again");
    let to = ["--json", "--state", again.to_str().unwrap()];
    refused(&[&to[..], &["state", "check"]].concat(), "no state");
    run_json(&[&to[..], &["state", "restore", folder]].concat());
    assert_eq!(run_json(&[&to[..], &["state", "check"]].concat()), json!({"sound": true, "entries": 2}));
    assert_eq!(run_json(&[&to[..], &["keys", "list"]].concat())["keys"][0]["credits"], 95);
    let other = Process::start(&store, &["--state", again.to_str().unwrap()]);
    let reply = other.client().unwrap().post("/v1/transactions", key, QUIET).unwrap();
    assert_eq!((reply.status, reply.header("x-credit-remaining")), (200, "90"));
}

/// The findings of one level, and whether the command failed.
fn doctor(arguments: &[&str], level: &str) -> (Vec<String>, i32) {
    let output = run(&[&["--json", "doctor"], arguments].concat());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fits = found["findings"].as_array().unwrap().iter().filter(|one| one["level"] == level);
    for finding in fits.clone() {
        assert_eq!(finding["remedy"].is_string(), level != "good", "{finding}");
    }
    let what = fits.map(|one| one["what"].as_str().unwrap().to_owned()).collect();
    (what, output.status.code().unwrap())
}

#[test]
fn a_healthy_set_up_has_nothing_broken() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = ["--store", store.to_str().unwrap()];
    run_json(&[&["--json", "keys", "create"], &at[..]].concat());
    let (broken, code) = doctor(&[&at[..], &["--deep"]].concat(), "broken");
    assert_eq!((broken, code), (vec![], 0));
    let (good, _) = doctor(&at, "good");
    for expected in ["generation", "entries of the credit ledger fit", "key.pepper", "keys are good", "the clock"] {
        assert!(good.iter().any(|what| what.contains(expected)), "{expected} in {good:?}");
    }
    let human = String::from_utf8(run(&[&["doctor"], &at[..]].concat()).stdout).unwrap();
    assert!(human.contains("-> `headwater tokens import`"), "{human}");
}

#[test]
fn doctor_names_data_behind_the_last_price() {
    let place = tempfile::tempdir().unwrap();
    let (store, file) = (place.path().join("store"), place.path().join("transactions.csv"));
    let at = ["--store", store.to_str().unwrap()];
    std::fs::write(&file, TRANSACTIONS.replace("1438918233", "1790899200")).unwrap();
    run_json(&[&["ingest", "--json", file.to_str().unwrap()], &at[..]].concat());
    let (warned, _) = doctor(&at, "warning");
    let expected =
        "ethereum: the newest price of eth is of 2026-09-28T23:59:59Z, the data of 2026-10-02T00:00:00Z".to_owned();
    assert!(warned.contains(&expected), "{warned:?}");
}

#[test]
fn certificates_that_end_and_a_redis_that_is_away_are_found() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let (certificate, key) = (place.path().join("server.pem"), place.path().join("server.key"));
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let day = |day| rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(86_400 * day);
    let around = [
        (today - 9, today - 1, "broken"),
        (today + 1, today + 99, "broken"),
        (today, today + 9, "warning"),
        (today, today + 99, "good"),
    ];
    for (from, to, level) in around {
        let mut made = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        (made.not_before, made.not_after) = (day(from), day(to));
        let secret = rcgen::KeyPair::generate().unwrap();
        std::fs::write(&certificate, made.self_signed(&secret).unwrap().pem()).unwrap();
        std::fs::write(&key, secret.serialize_pem()).unwrap();
        let set = |name: &str, value: &Path| format!("server.{name}={}", value.display());
        let [certificate, key] = [set("tls_cert", &certificate), set("tls_key", &key)];
        let (found, _) = doctor(&["--store", store.to_str().unwrap(), "--set", &certificate, "--set", &key], level);
        assert!(found.iter().any(|what| what.contains("server.pem is valid from")), "{level}: {found:?}");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let redis = format!("limits.redis=redis://:secret@{}/0", listener.local_addr().unwrap());
    drop(listener);
    let (found, _) = doctor(&["--store", store.to_str().unwrap(), "--set", &redis], "warning");
    let reported = found.iter().find(|what| what.starts_with("Redis at")).expect("Redis is away");
    assert!(reported.contains("gives no answer") && !reported.contains("secret"), "{reported}");
}

#[test]
fn what_is_broken_is_named_with_its_remedy() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = ["--store", store.to_str().unwrap()];
    let state = place.path().join("demo.state");
    run_json(&[&["--json", "keys", "create", "--credits", "7"], &at[..]].concat());
    let breaks = |named: &str, more: &[&str]| {
        let (broken, code) = doctor(&[&at[..], more].concat(), "broken");
        assert!(code == 1 && broken.iter().any(|what| what.contains(named)), "{named} in {broken:?}");
    };
    let pepper = state.join("key.pepper");
    std::fs::set_permissions(&pepper, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (warned, _) = doctor(&at, "warning");
    assert!(warned.iter().any(|what| what.contains("the mode 644")), "{warned:?}");
    let secret = std::fs::read(&pepper).unwrap();
    std::fs::write(&pepper, [0; 32]).unwrap();
    breaks("key.pepper does not fit", &[]);
    std::fs::write(&pepper, secret).unwrap();

    let config = place.path().join("headwater.toml");
    std::fs::write(&config, "[auth]\nrequire = true\n").unwrap();
    breaks("auth.require", &["--config", config.to_str().unwrap()]);

    let database = rusqlite::Connection::open(state.join("gateway.sqlite")).unwrap();
    database.execute_batch("UPDATE account SET balance = 8").unwrap();
    drop(database);
    breaks("is broken at entry", &[]);
    let manifest = newest_file(&store);
    std::fs::write(&manifest, "{").unwrap();
    breaks("", &[]);
    let (broken, code) = doctor(&["--store", place.path().join("nowhere").to_str().unwrap()], "broken");
    assert!(code == 1 && broken[0].contains("nowhere"), "{broken:?}");
}

fn newest_file(store: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let manifests = files.filter(|path| path.is_file() && path.to_string_lossy().contains("manifest"));
    manifests.max().expect("a store has a manifest")
}
