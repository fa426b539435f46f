//! The public listener as strangers and browsers meet it: pages without a key, keys behind a shared address, host names,
//! other origins, compressed answers, a store whose newest generation cannot be read.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use headwater_server::gateway::{LimitSettings, Settings};
use headwater_state::{Environment, Home, KeyText, Plan, Rate};
use serde_json::{Value, json};

use crate::support::live::Socket;
use crate::support::postgres::Postgres;
use crate::support::{
    Process, QUIET, Reply, Server, StopOnDrop, at_once, is_full, made_key, quantile, run, small_store, verdict, within,
};

const DESCRIPTION: &str = "/api-docs/openapi.json";
const BEHIND: (&str, &str) = ("X-Forwarded-For", "203.0.113.9");

/// A server behind a proxy on this machine, with these limits.
fn behind_proxy(limits: LimitSettings) -> Server {
    Server::with(Settings {
        limits: LimitSettings { enabled: true, ..limits },
        trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
        ..Settings::default()
    })
}

/// The body as it was before it was compressed.
fn decoded(reply: &Reply) -> Vec<u8> {
    let mut body = Vec::new();
    match reply.header("content-encoding") {
        "" => body.clone_from(&reply.body),
        "gzip" => _ = GzDecoder::new(&reply.body[..]).read_to_end(&mut body).unwrap(),
        "zstd" => body = zstd::decode_all(&reply.body[..]).unwrap(),
        other => panic!("{other}"),
    }
    body
}

#[test]
fn valid_key_passes_whatever_others_behind_its_address_show() {
    let server = behind_proxy(LimitSettings { wrong_keys: Rate::new(1, 5), ..LimitSettings::default() });
    let (_, key) = server.key(100);
    let ask = |key: &str| server.send("GET", "/v1/chains", &[BEHIND, ("X-API-Key", key)], "");
    let wrong = || KeyText::generate(Environment::Live).unwrap().expose().to_owned();
    let refused = (0..20).map(|_| ask(&wrong())).filter(|reply| reply.status == 429).count();
    assert!(refused >= 10, "{refused}");
    for _ in 0..20 {
        // One a second is looked at again.
        assert!(matches!((ask(&wrong()).status, ask(&key).status), (401 | 429, 200)));
        assert!(matches!(server.send("GET", "/v1/chains", &[BEHIND], "").status, 401 | 429), "no key at all");
    }
    // Streams: by header, by ticket, and in the first message.
    let open = |query: &str, headers: &[(&str, &str)]| Socket::open(server.address, query, headers);
    assert_eq!(open("", &[BEHIND, ("X-API-Key", &key)]).unwrap().hear().unwrap()["type"], "welcome");
    let ticket = server.send("POST", "/v1/stream/ticket", &[BEHIND, ("X-API-Key", &key)], "").json();
    let query = format!("?ticket={}", ticket["data"]["ticket"].as_str().unwrap());
    assert_eq!(open(&query, &[BEHIND]).unwrap().hear().unwrap()["type"], "welcome");
    let mut socket = open("", &[BEHIND]).unwrap();
    socket.say(&json!({"action": "auth", "api_key": key}));
    assert_eq!(socket.hear().unwrap()["type"], "welcome");
}

#[test]
fn pages_without_a_key_have_the_limit_of_their_address() {
    let plan = Plan { free: Rate::new(1, 3), endpoints: Some(vec!["/v1/chains".into()]), ..Plan::default() };
    let server = behind_proxy(LimitSettings { plan: Arc::new(plan), ..LimitSettings::default() });
    let (_, key) = server.key(0);
    for path in [DESCRIPTION, "/docs", "/docs/swagger-ui.css", "/explore", "/explore/main.js"] {
        // Files of one page count together.
        let address = format!("203.0.113.{}", path.split('/').nth(1).unwrap().len());
        let ask = |headers: &[(&str, &str)]| server.send("GET", path, headers, "");
        let replies: Vec<Reply> = (0..20).map(|_| ask(&[("X-Forwarded-For", &address)])).collect();
        let refused = replies.iter().find(|reply| reply.status == 429).unwrap();
        assert_eq!(
            (refused.error().1.as_str(), refused.header("ratelimit-policy")),
            ("rate_limited", "\"free\";q=3;w=3")
        );
        assert!(!refused.header("retry-after").is_empty());
        // This machine is not limited, and a key has its own limit.
        assert!((0..10).all(|_| ask(&[]).status == 200));
        assert_eq!(ask(&[("X-Forwarded-For", &address), ("X-API-Key", &key)]).status, 200, "{path}");
    }
}

#[test]
fn pages_are_tagged_compressed_and_not_sent_twice() {
    let server = Server::start();
    for (path, kind, cache) in [
        (DESCRIPTION, "application/json", "public, max-age=300"),
        ("/docs", "text/html", "public, max-age=3600"),
        ("/docs/swagger-ui-bundle.js", "text/javascript", "public, max-age=3600"),
        ("/explore", "text/html; charset=utf-8", "no-cache"),
        ("/explore/main.js", "text/javascript; charset=utf-8", "no-cache"),
    ] {
        let get = |headers: &[(&str, &str)]| server.send("GET", path, headers, "");
        let plain = get(&[]);
        let tag = plain.header("etag").to_owned();
        assert_eq!((plain.status, plain.header("content-type"), plain.header("cache-control")), (200, kind, cache));
        assert!(tag.starts_with("W/\"") && plain.header("content-encoding").is_empty(), "{path}");
        let gzip = get(&[("Accept-Encoding", "gzip, br")]);
        assert_eq!((gzip.header("etag"), decoded(&gzip) == plain.body), (tag.as_str(), true), "{path}");
        if plain.body.len() >= 1024 {
            assert_eq!((gzip.header("content-encoding"), gzip.header("vary")), ("gzip", "accept-encoding"), "{path}");
            assert_eq!(plain.header("vary"), "accept-encoding");
            assert_eq!(gzip.header("content-length"), gzip.body.len().to_string());
            let zstd = get(&[("Accept-Encoding", "zstd")]);
            assert_eq!((zstd.header("content-encoding"), decoded(&zstd) == plain.body), ("zstd", true), "{path}");
            println!("{path}: {} bytes, {} as gzip, {} as zstd", plain.body.len(), gzip.body.len(), zstd.body.len());
        }
        let strong = tag.trim_start_matches("W/");
        for known in [tag.as_str(), strong, "*", &format!("\"other\", {tag}")] {
            let same = get(&[("If-None-Match", known), ("Accept-Encoding", "gzip")]);
            assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, tag.as_str()), "{known}");
            assert_eq!(same.header("cache-control"), cache);
        }
        assert_eq!(get(&[("If-None-Match", "\"other\"")]).status, 200);
    }
}

#[test]
fn without_keys_only_loopback_and_allowed_names_are_answered() {
    let open = |allowed: &[&str]| {
        let allowed_hosts = allowed.iter().map(ToString::to_string).collect();
        Server::with(Settings { auth_required: false, allowed_hosts, ..Settings::default() })
    };
    let get = |server: &Server, host: &str, path: &str| {
        let mut client = server.client();
        client.raw(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        client.read(false).unwrap()
    };
    let server = open(&[]);
    let own = server.address.to_string();
    for host in ["localhost", own.as_str(), "[::1]:8080"] {
        assert_eq!(get(&server, host, "/v1/chains").status, 200, "{host}");
    }
    for path in ["/v1/chains", "/docs", "/explore", DESCRIPTION, "/nothing"] {
        let refused = get(&server, "rebound.example:8080", path);
        assert_eq!((refused.status, refused.error()), (403, ("forbidden".into(), "host_not_allowed".into())), "{path}");
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("rebound.example:8080") && message.contains("http.allowed_hosts"), "{message}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(&server, "10.0.0.7", path).status, 200, "probes come by address");
    }
    assert_eq!(get(&open(&["rebound.example"]), "rebound.example:8080", "/v1/chains").status, 200);
    // With keys a name protects nothing.
    assert_eq!(get(&Server::start(), "rebound.example", "/docs").status, 200);
}

#[test]
fn other_origins_are_allowed_by_name_only() {
    const APP: (&str, &str) = ("Origin", "https://app.example.com");
    let closed = Server::start();
    let preflight = [APP, ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "x-api-key")];
    let refused = closed.send("OPTIONS", "/v1/transactions", &preflight, "");
    assert_eq!((refused.status, refused.headers.contains_key("access-control-allow-origin")), (405, false));
    let server =
        Server::with(Settings { cors_origins: vec!["https://app.example.com".to_owned()], ..Settings::default() });
    let (_, key) = server.key(10);
    let allowed = server.send("OPTIONS", "/v1/transactions", &preflight, "");
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, "https://app.example.com"));
    for (header, names) in [
        ("access-control-allow-methods", ["POST", "DELETE"]),
        ("access-control-allow-headers", ["x-api-key", "idempotency-key"]),
    ] {
        assert!(names.iter().all(|name| allowed.header(header).contains(name)), "{}", allowed.header(header));
    }
    assert_eq!((allowed.header("access-control-max-age"), allowed.header("vary").contains("origin")), ("3600", true));
    // Answers and refusals can be read, with the headers that a client needs.
    let paid = server.send(
        "POST",
        "/v1/transactions",
        &[APP, ("X-API-Key", &key), ("Content-Type", "application/json")],
        QUIET,
    );
    let wrong = server.send("GET", "/v1/chains", &[APP], "");
    for (reply, status) in [(&paid, 200), (&wrong, 401)] {
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (status, "https://app.example.com"));
        assert!(!reply.headers.contains_key("access-control-allow-credentials"));
        let exposed = reply.header("access-control-expose-headers");
        for name in ["x-request-id", "x-credit-cost", "x-credit-remaining", "ratelimit", "retry-after", "x-next-cursor"]
        {
            assert!(exposed.split(',').any(|one| one.trim() == name), "{name} in {exposed}");
        }
    }
    let stranger = server.send("GET", "/v1/chains", &[("Origin", "https://evil.example"), ("X-API-Key", &key)], "");
    assert_eq!((stranger.status, stranger.headers.contains_key("access-control-allow-origin")), (200, false));
}

#[test]
fn answers_are_compressed_as_the_client_accepts() {
    let server = Server::start();
    let (_, key) = server.key(100);
    let get = |coding: &str| server.send("GET", "/v1/chains", &[("X-API-Key", &key), ("Accept-Encoding", coding)], "");
    let plain = get("identity");
    assert!(plain.body.len() > 1024 && plain.header("content-encoding").is_empty(), "{}", plain.body.len());
    assert_eq!(plain.header("vary"), "accept-encoding");
    let data = |reply: &Reply| serde_json::from_slice::<Value>(&decoded(reply)).unwrap()["data"].clone();
    for (accepted, coding) in [
        ("gzip", "gzip"),
        ("zstd, gzip", "zstd"),
        ("zstd;q=0.1, gzip;q=0.2", "gzip"),
        ("br", ""),
        ("gzip;q=0", ""),
        // Nothing that is accepted is left: the answer is paid, and sent as it is.
        ("identity;q=0", ""),
    ] {
        let reply = get(accepted);
        assert_eq!((reply.status, reply.header("content-encoding")), (200, coding), "{accepted}");
        assert_eq!(data(&reply), data(&plain), "{accepted}");
        assert!(coding.is_empty() || reply.body.len() < plain.body.len());
    }
    // The audit counts the bytes of the answer, not those on the wire.
    let rows = "SELECT count(DISTINCT bytes) FROM audit WHERE endpoint = '/v1/chains' AND bytes > 1024";
    assert_eq!(server.count(rows), 1);
    let head = server.client().send("HEAD", "/v1/chains", &[("X-API-Key", &key), ("Accept-Encoding", "gzip")], b"");
    assert_eq!(head.unwrap().status, 200);
}

/// An answer is kept as it is: each repetition is compressed as it accepts.
#[test]
fn replayed_answer_is_the_same_in_every_coding() {
    let server = Server::start();
    let (_, key) = server.key(100);
    let post = |coding: &str| {
        let headers = [
            ("X-API-Key", key.as_str()),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", "job 8"),
            ("Accept-Encoding", coding),
        ];
        server.send("POST", "/v1/wallet-overview", &headers, QUIET)
    };
    let first = post("gzip");
    assert_eq!(first.status, 200, "{:?}", String::from_utf8_lossy(&decoded(&first)));
    for coding in ["identity", "zstd", "gzip"] {
        let again = post(coding);
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"), "{coding}");
        assert_eq!(decoded(&again), decoded(&first), "{coding}");
        assert_eq!(again.header("x-request-id"), first.header("x-request-id"));
    }
    assert_eq!(server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'"), 1);
}

/// The newest manifest of a store.
fn newest(store: &Path) -> (u64, std::path::PathBuf) {
    let names = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let number = |name: String| name.strip_prefix("manifest-")?.strip_suffix(".json")?.parse().ok();
    let number = names.filter_map(number).max().unwrap();
    (number, store.join(format!("manifest-{number:010}.json")))
}

#[test]
fn unreadable_generation_is_reported_and_the_one_before_answers() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let key = made_key(&store, 100);
    let log_file = place.path().join("log");
    let server = Process::with_log(&store, &[], fs::File::create(&log_file).unwrap().into());
    let ready = || server.client().unwrap().send("GET", "/readyz", &[], b"").unwrap();
    let ask = || server.client().unwrap().post("/v1/transactions", &key, QUIET).unwrap();
    assert_eq!((ready().json(), ask().status), (json!({"status": "ready"}), 200));
    let (number, _) = newest(&store);
    let next = store.join(format!("manifest-{:010}.json", number + 1));
    fs::write(&next, "{").unwrap();
    within(Duration::from_secs(20), "it is stale", || {
        let ready = ready();
        assert_eq!(ready.status, 200);
        ready.json() == json!({"status": "ready", "stale": true})
    });
    assert_eq!(ask().status, 200);
    let looked = run(&["doctor", "--json", "--store", store.to_str().unwrap()]);
    let found: Value = serde_json::from_slice(&looked.stdout).unwrap();
    let findings = found["findings"].as_array().unwrap();
    let said = format!("generation {} cannot be read", number + 1);
    assert!(findings.iter().any(|finding| finding["what"].as_str().unwrap().starts_with(&said)), "{findings:?}");
    let logged = || fs::read_to_string(&log_file).unwrap();
    let said = format!("generation {} of the store cannot be read: generation {number} answers", number + 1);
    within(Duration::from_secs(20), "it is logged", || logged().contains(&said));
    // Put right, it is taken within seconds.
    fs::remove_file(&next).unwrap();
    within(Duration::from_secs(20), "it is current", || ready().json() == json!({"status": "ready"}));
    within(Duration::from_secs(20), "that is logged", || logged().contains("can be read again"));
}

/// Strangers without a key, and with wrong ones, behind the same proxy as a key that is used: the state grows by sums, the
/// log stays within its bounds, and every call of the key is answered.
#[test]
fn anonymous_load_leaves_the_state_small_and_keys_answered() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let key = made_key(&store, 0);
    let seconds = if is_full() { 60 } else { 4 };
    let server = Process::start(
        &store,
        &[
            "--set",
            "limits.enabled=true",
            "--set",
            "server.trusted_proxies=127.0.0.1",
            "--set",
            "audit.log_file_mib=1",
            "--set",
            "audit.log_files=4",
        ],
    );
    let state = Home::beside(&store);
    let size = |name: &str| fs::metadata(state.join(name)).map_or(0, |file| file.len());
    let database = || [size("gateway.sqlite"), size("gateway.sqlite-wal")];
    let ask = |key: &str| {
        let headers = [BEHIND, ("X-API-Key", key)];
        server.client().unwrap().send("GET", "/v1/chains", &headers, b"").unwrap().status
    };
    within(Duration::from_secs(20), "the key is known", || ask(&key) == 200);
    thread::sleep(Duration::from_secs(2));
    let (before, over) = (database(), AtomicBool::new(false));
    let (strangers, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let (good, others, mut times) = thread::scope(|scope| {
        for number in 0..4_usize {
            let (server, over, strangers, refused) = (&server, &over, &strangers, &refused);
            scope.spawn(move || {
                let mut client = server.client().unwrap();
                let paths = ["/v1/chains", "/docs", "/nothing", "/v1/rates?symbols=eth", DESCRIPTION];
                let wrong = KeyText::generate(Environment::Live).unwrap().expose().to_owned();
                for (turn, path) in (number..).zip(paths.iter().cycle()) {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let headers = [BEHIND, ("X-API-Key", wrong.as_str())];
                    // Every other one shows a key that nobody has.
                    let reply = client.send("GET", path, &headers[..=(turn % 2)], b"").unwrap();
                    strangers.fetch_add(1, Ordering::Relaxed);
                    refused.fetch_add(u64::from(reply.status == 429), Ordering::Relaxed);
                }
            });
        }
        let _end = StopOnDrop(&over);
        let (started, mut good, mut others, mut times) = (Instant::now(), 0, 0, Vec::new());
        let mut client = server.client().unwrap();
        while started.elapsed() < Duration::from_secs(seconds) {
            let asked = Instant::now();
            let status = client.send("GET", "/v1/chains", &[BEHIND, ("X-API-Key", &key)], b"").unwrap().status;
            times.push(asked.elapsed());
            if status == 200 {
                good += 1;
            } else {
                others += 1;
            }
            thread::sleep(Duration::from_millis(20));
        }
        (good, others, times)
    });
    thread::sleep(Duration::from_secs(2));
    let after = database();
    let [rows, commits] = [after[0].saturating_sub(before[0]), after[1].saturating_sub(before[1])];
    let log: u64 = fs::read_dir(state.join("audit")).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    let sums = run(&["audit", "sums", "--json", "--limit", "10000", "--store", store.to_str().unwrap()]);
    let sums: Value = serde_json::from_slice(&sums.stdout).unwrap();
    let summed: u64 = sums["sums"].as_array().unwrap().iter().map(|sum| sum["requests"].as_u64().unwrap()).sum();
    let strangers = strangers.into_inner();
    println!(
        "anonymous load: {seconds} s, {strangers} requests of strangers ({} answered 429), {summed} summed; the database grew by {rows} bytes and its log of commits by {commits}; the audit log has {log} bytes (bound {}); {good} of {} calls of a key behind the same proxy answered (aim all: {}), p99 {:.1?}",
        refused.into_inner(),
        4 << 20,
        good + others,
        verdict(others == 0),
        quantile(&mut times, 0.99)
    );
    assert_eq!(others, 0, "a valid key is never refused because of others");
    assert!(summed >= strangers, "{summed} of {strangers}");
    // The sums take some kilobytes a minute, and the calls of the key some more; SQLite uses its log of commits again from 4 MiB on.
    assert!(rows <= 1 << 20 && commits <= 6 << 20, "{rows} and {commits}");
    assert!(log <= (4 << 20) + 4096, "{log}");
}

/// Prints the answers per second in each coding beside those as they are, in one run.
#[test]
fn compression_costs_are_measured_beside_plain_answers() {
    let (rounds, length) = if is_full() { (5, Duration::from_secs(3)) } else { (3, Duration::from_millis(300)) };
    let server = Server::start();
    let (_, key) = server.key(0);
    for path in ["/v1/chains", DESCRIPTION] {
        let codings = ["identity", "gzip", "zstd"];
        let mut rates: [Vec<f64>; 3] = Default::default();
        let mut bytes = [0; 3];
        for round in 0..rounds {
            for turn in 0..3 {
                let place = if round % 2 == 0 { turn } else { 2 - turn };
                let headers = [("X-API-Key", key.as_str()), ("Accept-Encoding", codings[place])];
                let answered = at_once(4, |_| {
                    let (mut client, started, mut count, mut size) = (server.client(), Instant::now(), 0_u32, 0);
                    while started.elapsed() < length {
                        let reply = client.send("GET", path, &headers, b"").unwrap();
                        assert_eq!(reply.status, 200);
                        (count, size) = (count + 1, reply.body.len());
                    }
                    (count, size)
                });
                bytes[place] = answered[0].1;
                rates[place]
                    .push(f64::from(answered.iter().map(|(count, _)| count).sum::<u32>()) / length.as_secs_f64());
            }
        }
        let medians = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        });
        println!(
            "compression of {path}: {:.0}/s as it is ({} bytes), gzip {:.2} of that ({} bytes), zstd {:.2} of that ({} bytes)",
            medians[0],
            bytes[0],
            medians[1] / medians[0],
            bytes[1],
            medians[2] / medians[0],
            bytes[2]
        );
        assert!(bytes[1] < bytes[0] && bytes[2] < bytes[0]);
    }
}

/// Replicas add to the same sums in PostgreSQL; each writes a log of its own beside the store.
#[test]
fn replicas_count_refused_requests_together() {
    let (postgres, place) = (Postgres::start(), tempfile::tempdir().unwrap());
    let (store, secrets) = (small_store(place.path()), place.path().join("secrets"));
    fs::create_dir(&secrets).unwrap();
    drop(postgres.home(&secrets));
    let (url, secrets) = (postgres.url(), secrets.to_str().unwrap().to_owned());
    let state = ["--state", url.as_str(), "--secrets-dir", secrets.as_str()];
    let servers = [Process::start(&store, &state), Process::start(&store, &state)];
    for server in &servers {
        for _ in 0..3 {
            assert_eq!(server.client().unwrap().send("GET", "/v1/chains", &[], b"").unwrap().status, 401);
        }
    }
    let counted = || {
        let command = ["audit", "sums", "--json", "--store", store.to_str().unwrap()];
        let said = run(&[&command[..], &state].concat());
        serde_json::from_slice::<Value>(&said.stdout).unwrap()
    };
    within(Duration::from_secs(20), "all are summed", || {
        let sums = counted()["sums"].as_array().unwrap().clone();
        sums.iter().map(|sum| sum["requests"].as_i64().unwrap()).sum::<i64>() == 6
    });
    let folder = store.with_file_name(format!("{}.audit", store.file_name().unwrap().to_str().unwrap()));
    assert_eq!((&counted()["log"]["folder"], &counted()["log"]["files"]), (&json!(folder), &json!(2)));
    let lines = |name: &str| fs::read_to_string(folder.join(name)).unwrap().lines().count();
    assert_eq!((lines("requests.log"), lines("requests-2.log")), (3, 3));
}
