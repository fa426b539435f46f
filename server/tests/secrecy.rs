//! No secret gets into a log, a figure, a trace, an error or the audit.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::{Client, Mood, Process, QUIET, Server, ask_admin, headwater, run, run_json, small_store};

/// A collector that takes everything; gives the body of each request with its head.
fn collector() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let sender = sender.clone();
            thread::spawn(move || {
                let mut bytes = Vec::new();
                loop {
                    let head = loop {
                        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                            break end;
                        }
                        let mut more = [0; 4096];
                        match stream.read(&mut more) {
                            Ok(0) | Err(_) => return,
                            Ok(read) => bytes.extend_from_slice(&more[..read]),
                        }
                    };
                    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
                    let length: usize =
                        text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
                    while bytes.len() < head + 4 + length {
                        let mut more = [0; 4096];
                        let read = stream.read(&mut more).unwrap();
                        bytes.extend_from_slice(&more[..read]);
                    }
                    let body = bytes[head + 4..head + 4 + length].to_vec();
                    bytes.drain(..head + 4 + length);
                    let _ = sender.send((text, body));
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                }
            });
        }
    });
    (address, received)
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Asks in every way that a key can be shown wrongly, with keys in headers where none belong; gives ids and bodies.
fn refusals_and_one_answer(client: &mut Client, keys: [&str; 4]) -> Vec<(String, Vec<u8>)> {
    let [key, poor, revoked, admin] = keys;
    let bearer = format!("Bearer {key}");
    let unknown_chain = r#"{"blockchain": "solana", "address": "x"}"#;
    let longer = format!("{key}x");
    let ways = [
        (key, QUIET),
        (key, "{"),
        (key, unknown_chain),
        (poor, QUIET),
        (revoked, QUIET),
        (&longer, QUIET),
        (admin, QUIET),
    ];
    ways.into_iter()
        .map(|(shown, body)| {
            let headers = [
                ("X-API-Key", shown),
                ("Authorization", &bearer),
                ("Content-Type", "application/json"),
                ("Cookie", key),
                ("X-Correlation-Id", &bearer),
            ];
            let reply = client.send("POST", "/v1/transactions", &headers, body.as_bytes()).unwrap();
            (reply.header("x-request-id").to_owned(), reply.body)
        })
        .collect()
}

#[test]
fn canaries_in_all_secrets_are_found_nowhere() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = ["--json", "--store", store.to_str().unwrap()];
    let with = |more: &[&str]| run_json(&[&at, more].concat());
    let made = with(&["keys", "create", "--credits", "1000"]);
    let key = made["key"].as_str().unwrap().to_owned();
    let poor = with(&["keys", "create"])["key"].as_str().unwrap().to_owned();
    let revoked = with(&["keys", "create"]);
    with(&["keys", "revoke", revoked["id"].as_str().unwrap()]);
    let revoked = revoked["key"].as_str().unwrap().to_owned();
    let admin = with(&["admin", "create"])["key"].as_str().unwrap().to_owned();
    let (url, traces) = collector();
    let log = place.path().join("log");
    let otlp = format!("telemetry.otlp={url}");
    let more = ["--set", &otlp, "--set", "log.format=json", "--set", "log.filter=trace"];
    let mut process = Process::with_log(&store, &more, File::create(&log).unwrap().into());
    let mut seen: Vec<(String, Vec<u8>)> = Vec::new();
    let mut client = process.client().unwrap();
    let mut ids = Vec::new();
    for (id, answer) in refusals_and_one_answer(&mut client, [&key, &poor, &revoked, &admin]) {
        ids.push(id);
        seen.push(("an answer".to_owned(), answer));
    }
    let hook = r#"{"target_url": "https://hooks.example.com/in", "event_type": "large_transfer"}"#;
    let hook = client.post("/v1/webhooks", &key, hook).unwrap();
    let hook = hook.json()["data"]["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap().to_owned();
    let ticket = client.send("POST", "/v1/stream/ticket", &[("X-API-Key", &key)], b"").unwrap();
    let ticket = ticket.json()["data"]["ticket"].as_str().unwrap().to_owned();
    let entered = client.send("GET", &format!("/v1/stream?ticket={ticket}"), &[], b"").unwrap();
    seen.push(("no handshake".to_owned(), entered.body));
    let headers = [("X-API-Key", key.as_str()), ("Content-Type", "application/json"), ("Accept", "text/html")];
    seen.push(("not acceptable".to_owned(), client.send("POST", "/v1/transactions", &headers, b"{}").unwrap().body));
    let listener = process.admin.unwrap();
    for (method, path, shown) in [
        ("GET", "/metrics", admin.as_str()),
        ("GET", "/admin/v1/keys", &admin),
        ("GET", "/admin/v1/audit", &admin),
        ("GET", "/admin/v1/changes", &admin),
        ("GET", "/admin/v1/keys", &key),
        ("GET", "/admin/v1/keys", &format!("{admin}x")),
        ("GET", "/metrics", &admin),
    ] {
        seen.push((path.to_owned(), ask_admin(listener, method, path, shown, "").body));
    }
    process.terminate();
    assert_eq!(process.wait(), Some(0));
    let log = std::fs::read(&log).unwrap();
    assert!(holds(&log, b"answered"), "the log was on: {}", String::from_utf8_lossy(&log));
    seen.push(("log".to_owned(), log));
    let mut spans = Vec::new();
    // What comes late on a busy machine is waited for.
    let limit = |spans: &[u8]| if ids.iter().all(|id| holds(spans, id.as_bytes())) { 200 } else { 20_000 };
    while let Ok((head, body)) = traces.recv_timeout(Duration::from_millis(limit(&spans))) {
        assert!(head.starts_with("post /v1/traces") && head.contains("application/x-protobuf"), "{head}");
        spans.extend_from_slice(&body);
        seen.push(("trace".to_owned(), [head.as_bytes(), &body].concat()));
    }
    for id in &ids {
        assert!(holds(&spans, id.as_bytes()), "a span of {id}");
    }
    for expected in ["POST /v1/transactions", "http.response.status_code", "headwater"] {
        assert!(holds(&spans, expected.as_bytes()), "{expected}");
    }
    seen.push(("audit".to_owned(), run(&[&at[..], &["audit", "--limit", "1000"]].concat()).stdout));
    seen.push(("changes".to_owned(), run(&[&at[..], &["audit", "changes"]].concat()).stdout));
    seen.push(("doctor".to_owned(), run(&[&at[..], &["doctor"]].concat()).stdout));
    let state = place.path().join("demo.state");
    for file in ["gateway.sqlite", "gateway.sqlite-wal"] {
        seen.push((file.to_owned(), std::fs::read(state.join(file)).unwrap_or_default()));
    }
    let mut canaries: Vec<Vec<u8>> = vec![hook.into_bytes(), ticket.into_bytes()];
    canaries.extend(secrets(&[&key, &poor, &revoked, &admin]));
    for file in ["key.pepper", "master.key"] {
        let secret = std::fs::read(state.join(file)).unwrap();
        canaries.push(secret.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect());
        canaries.push(secret);
    }
    assert_eq!(search(&seen, &canaries), 0);
}

/// The secrets of keys, without what all keys have in common.
fn secrets(keys: &[&str]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| key.splitn(4, '_').nth(3).unwrap().as_bytes()[..43].to_vec()).collect()
}

/// The file where a test that runs itself a second time has the other run put the keys that it used.
const KEYS: &str = "SECRECY_TEST_KEYS";

#[test]
fn secrets_of_failing_calls_are_found_nowhere() {
    let name = "secrecy::secrets_of_failing_calls_are_found_nowhere";
    if let Some(keys) = std::env::var_os(KEYS) {
        return panics_and_defects(Path::new(&keys));
    }
    // Apart, so that all that it says can be read: what is logged, and what the runtime says of a panic.
    let place = tempfile::tempdir().unwrap();
    let keys = place.path().join("keys");
    let mut apart = Command::new(std::env::current_exe().unwrap());
    apart.args(["--exact", name, "--nocapture"]).env(KEYS, &keys).env("RUST_BACKTRACE", "full");
    let output = apart.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    // There was something to find: the panics, the defects, and the log of everything.
    for expected in ["secret of the store", "a call panicked", "/secret/place", "DEBUG"] {
        assert!(holds(&said, expected.as_bytes()), "{expected}");
    }
    for line in String::from_utf8_lossy(&said).lines().filter(|line| line.contains(" searched for ")) {
        println!("calls that panic or cannot be done: {line}");
    }
    let keys = std::fs::read_to_string(keys).unwrap();
    let canaries = secrets(&keys.lines().collect::<Vec<_>>());
    assert_eq!(canaries.len(), 2);
    assert_eq!(search(&[("what was said beside panics".to_owned(), said)], &canaries), 0);
}

/// Calls with keys in every header that panic or meet a store that cannot be read, under a log of everything.
fn panics_and_defects(keys: &Path) {
    // What these say below `info` may repeat what went over a connection; a server never has them say it.
    let filter = "trace,h2=info,hyper=info,hyper_util=info,tungstenite=info,tokio_tungstenite=info";
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let server = Server::start();
    let (key, admin) = (server.key(1000).1, server.admin_key().1);
    std::fs::write(keys, format!("{key}\n{admin}\n")).unwrap();
    let bearer = format!("Bearer {key}");
    let headers = [
        ("X-API-Key", key.as_str()),
        ("Authorization", &bearer),
        ("Cookie", &admin),
        ("X-Correlation-Id", &bearer),
        ("Content-Type", "application/json"),
    ];
    let mut seen = Vec::new();
    for (mood, status) in [(Mood::Panics, 500), (Mood::Broken, 502)] {
        server.moody.set(mood);
        for (method, path, body) in [
            ("POST", "/v1/transactions", QUIET),
            ("POST", "/v1/counterparty", QUIET),
            ("GET", "/v1/token/holders?blockchain=ethereum&contract=native", ""),
        ] {
            let reply = server.send(method, path, &headers, body);
            assert_eq!(reply.status, status, "{path}");
            // Neither what is the client's, nor what is the server's.
            assert!(!holds(&reply.body, b"secret"), "{}", String::from_utf8_lossy(&reply.body));
            seen.push((format!("the answer of {path}"), reply.body));
        }
    }
    server.moody.set(Mood::Good);
    for path in ["/metrics", "/admin/v1/audit", "/admin/v1/changes", "/admin/v1/keys"] {
        let reply = server.ask_admin("GET", path, &admin, "");
        assert_eq!(reply.status, 200, "{path}");
        seen.push((path.to_owned(), reply.body));
    }
    server.flush();
    let database = server.home().database().unwrap();
    for file in [database.clone(), database.with_extension("sqlite-wal")] {
        seen.push((file.display().to_string(), std::fs::read(file).unwrap()));
    }
    assert_eq!(search(&seen, &secrets(&[&key, &admin])), 0);
}

/// Returns how often a canary is found.
fn search(seen: &[(String, Vec<u8>)], canaries: &[Vec<u8>]) -> usize {
    let mut hits = 0;
    for (name, text) in seen {
        for canary in canaries.iter().filter(|canary| holds(text, canary)) {
            hits += 1;
            println!("a secret of {} bytes is in {name}: {}", canary.len(), String::from_utf8_lossy(text));
        }
    }
    let bytes: usize = seen.iter().map(|(_, text)| text.len()).sum();
    println!("{} places of {bytes} bytes searched for {} canaries: hits {hits}", seen.len(), canaries.len());
    hits
}

#[test]
fn a_password_in_an_address_is_never_repeated() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let secrets = place.path().to_str().unwrap();
    for arguments in [
        vec!["serve", "--store", at, "--state", "postgres://me:canary77@127.0.0.1:1/none", "--secrets-dir", secrets],
        vec!["doctor", "--store", at, "--state", "postgres://me:canary77@127.0.0.1:1/none", "--secrets-dir", secrets],
        vec!["keys", "list", "--state", "postgres://me:canary77@127.0.0.1:1/none", "--secrets-dir", secrets],
        vec!["serve", "--store", at, "--set", "state.path=postgres://me:canary77@host:x/none"],
        vec!["serve", "--store", at, "--set", "telemetry.otlp=http://me:canary77@host"],
    ] {
        let output = headwater(&arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        let said = [output.stdout, output.stderr].concat();
        assert!(!holds(&said, b"canary77"), "{arguments:?}: {}", String::from_utf8_lossy(&said));
    }
}
