//! No secret gets into a log, a figure, a trace, an error or the audit.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::{Process, QUIET, ask_admin, headwater, run, run_json, small_store};

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
    let bearer = format!("Bearer {key}");
    let mut ids = Vec::new();
    for (shown, body) in [
        (key.as_str(), QUIET),
        (&key, "{"),
        (&key, r#"{"blockchain": "solana", "address": "x"}"#),
        (&poor, QUIET),
        (&revoked, QUIET),
        (&format!("{key}x"), QUIET),
        (&admin, QUIET),
    ] {
        let headers = [
            ("X-API-Key", shown),
            ("Authorization", &bearer),
            ("Content-Type", "application/json"),
            ("Cookie", &key),
            ("X-Correlation-Id", &bearer),
        ];
        let reply = client.send("POST", "/v1/transactions", &headers, body.as_bytes()).unwrap();
        ids.push(reply.header("x-request-id").to_owned());
        seen.push((format!("answer {}", reply.status), reply.body));
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
    while let Ok((head, body)) = traces.recv_timeout(Duration::from_millis(200)) {
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
    for key in [&key, &poor, &revoked, &admin] {
        canaries.push(key.splitn(4, '_').nth(3).unwrap().as_bytes()[..43].to_vec());
    }
    for file in ["key.pepper", "master.key"] {
        let secret = std::fs::read(state.join(file)).unwrap();
        canaries.push(secret.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect());
        canaries.push(secret);
    }
    let mut hits = 0;
    for (name, text) in &seen {
        for canary in &canaries {
            if holds(text, canary) {
                hits += 1;
                println!("a secret is in {name}: {}", String::from_utf8_lossy(text));
            }
        }
    }
    let bytes: usize = seen.iter().map(|(_, text)| text.len()).sum();
    println!("{} places of {bytes} bytes searched for {} canaries: hits {hits}", seen.len(), canaries.len());
    assert_eq!(hits, 0);
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
