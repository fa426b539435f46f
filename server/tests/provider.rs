//! A provider of further claims that is asked over HTTP: when, with what, and what becomes of its answer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use headwater_engine::{Intelligence, RiskParameters};
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::store::MemoryStore;
use headwater_server::gateway::{ListenerConfig, Settings};
use headwater_server::provider::{HttpProvider, ProviderKey, ProviderSettings, ProviderUrl};
use headwater_testkit::{claim, label_import};
use headwater_types::{Address, Chain};
use serde_json::{Value, json};

use crate::support::{Process, Server, headwater, run_json, small_store};

const SANCTIONED: &str = "0x00000000000000000000000000000000000000bb";
const UNKNOWN: &str = "0x00000000000000000000000000000000000000cc";
/// The answer of a provider about a mixer.
const MIXER: &str = r#"{"claims":[{"code":"mixer","entity":"Whirl","confidence":0.9},{"code":"no_such_code"}]}"#;

/// The answer of a provider.
#[derive(Debug, Clone)]
enum ProviderAnswer {
    /// This body.
    Body(String),
    /// These bytes in place of an answer.
    Raw(String),
    /// Nothing, for as long as a test lasts.
    Nothing,
}

/// Headers, and under `request` the first line; the body.
type Request = (BTreeMap<String, String>, Value);

/// A provider on this machine, which remembers what it was asked.
struct Provider {
    address: SocketAddr,
    says: Arc<Mutex<ProviderAnswer>>,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Provider {
    fn start(says: ProviderAnswer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (says, asked) = (Arc::new(Mutex::new(says)), Arc::<Mutex<Vec<_>>>::default());
        let (shared, seen) = (Arc::clone(&says), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (says, seen) = (Arc::clone(&shared), Arc::clone(&seen));
                thread::spawn(move || {
                    let request = read(&stream);
                    seen.lock().unwrap().push(request);
                    let says = says.lock().unwrap().clone();
                    answer(stream, &says);
                });
            }
        });
        Self { address, says, asked }
    }

    fn says(&self, says: ProviderAnswer) {
        *self.says.lock().unwrap() = says;
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// The setting of a server in this process.
    fn settings(&self, kept: Duration) -> ProviderSettings {
        ProviderSettings {
            url: ProviderUrl::parse(&format!("http://{}/claims", self.address)).unwrap(),
            name: Arc::from("acme"),
            key: ProviderKey::parse("canary"),
            level: Level::TrustedProvider,
            timeout: Duration::from_millis(500),
            kept,
        }
    }
}

fn read(stream: &TcpStream) -> Request {
    let mut lines = BufReader::new(stream);
    let mut headers = BTreeMap::new();
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    headers.insert("request".to_owned(), line.trim().to_owned());
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    lines.read_exact(&mut body).unwrap();
    (headers, serde_json::from_slice(&body).unwrap())
}

fn answer(mut stream: TcpStream, says: &ProviderAnswer) {
    // Who asked may have gone.
    let _ = match says {
        ProviderAnswer::Body(body) => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        }
        ProviderAnswer::Raw(bytes) => stream.write_all(bytes.as_bytes()),
        ProviderAnswer::Nothing => {
            thread::sleep(Duration::from_secs(20));
            Ok(())
        }
    };
}

/// A server that asks a provider, over a store in which one address is under sanctions.
struct AskingServer {
    server: Server,
    key: String,
    // Its threads ask.
    _runtime: tokio::runtime::Runtime,
}

impl AskingServer {
    fn of(provider: &Provider, kept: Duration) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let asked = HttpProvider::new(provider.settings(kept), runtime.handle().clone());
        let settings = Settings::default();
        let intelligence = Intelligence { provider: Some(Arc::new(asked)), ..settings.intelligence.clone() };
        let mut store = MemoryStore::default();
        let address = Address::parse(Chain::ETHEREUM, SANCTIONED).unwrap();
        let listed = claim(Chain::ETHEREUM, address, Code::Sanction, Level::SanctionsList, "ofac");
        store.import_labels(label_import("ofac", vec![listed], 1100)).unwrap();
        let server = Server::over(store, ListenerConfig::default(), Settings { intelligence, ..settings });
        let (_, key) = server.key(10_000);
        Self { server, key, _runtime: runtime }
    }

    fn ask(&self, address: &str, third_party: &str) -> Value {
        let body = json!({"blockchain": "ethereum", "address": address, "third_party": third_party}).to_string();
        let reply = self.server.client().post("/v1/address-risk", &self.key, &body).unwrap();
        assert_eq!((reply.status, reply.header("x-credit-cost")), (200, "5"), "{address} {third_party}");
        reply.json()
    }
}

/// The message of a warning that the provider failed.
fn failure(answer: &Value) -> Option<&str> {
    let warnings = answer["meta"]["warnings"].as_array()?;
    warnings.iter().find(|one| one["code"] == "provider_failed")?["message"].as_str()
}

#[test]
fn provider_is_asked_as_the_request_says() {
    let provider = Provider::start(ProviderAnswer::Body(MIXER.to_owned()));
    let asking = AskingServer::of(&provider, Duration::ZERO);
    let count = |address: &str, third_party: &str| {
        let before = provider.count();
        let answer = asking.ask(address, third_party);
        let asked = provider.count() - before;
        assert_eq!(answer["data"]["meta"]["third_party_used"], asked > 0);
        asked
    };
    // The gate of a sanctioned address stays whatever else is said.
    assert_eq!([count(UNKNOWN, "auto"), count(SANCTIONED, "auto")], [1, 0]);
    assert_eq!([count(UNKNOWN, "off"), count(SANCTIONED, "off")], [0, 0]);
    assert_eq!([count(UNKNOWN, "force"), count(SANCTIONED, "force")], [1, 1]);
    // An answer of a provider is not given to the next caller.
    assert_eq!([count(UNKNOWN, "auto"), count(UNKNOWN, "auto")], [1, 1]);
    let (headers, body) = provider.asked.lock().unwrap()[0].clone();
    assert_eq!(headers["request"], "POST /claims HTTP/1.1");
    assert_eq!(
        (headers["authorization"].as_str(), headers["content-type"].as_str()),
        ("Bearer canary", "application/json")
    );
    assert_eq!(body, json!({"blockchain": "ethereum", "address": UNKNOWN}));
}

#[test]
fn claims_of_a_provider_count_beside_labels_at_their_level() {
    let provider = Provider::start(ProviderAnswer::Body(MIXER.to_owned()));
    let asking = AskingServer::of(&provider, Duration::ZERO);
    let without = asking.ask(UNKNOWN, "off");
    assert_eq!(without["data"]["dimensions"]["intel"]["score"], 0.0);
    let with = asking.ask(UNKNOWN, "auto");
    let intel = &with["data"]["dimensions"]["intel"];
    assert_eq!((&intel["labels"], &intel["entity"]), (&json!(["mixer"]), &json!("Whirl")));
    assert_eq!(intel["confidence"], 0.5, "no more than the level allows");
    assert!(intel["score"].as_f64().unwrap() > 0.0 && failure(&with).is_none());
    // The time of the computation is that of the clock.
    assert!(with["data"]["meta"]["computed_at"].as_i64().unwrap() > 1_700_000_000);
}

#[test]
fn provider_answers_are_cached_for_the_configured_time() {
    let provider = Provider::start(ProviderAnswer::Body(MIXER.to_owned()));
    let asking = AskingServer::of(&provider, Duration::from_mins(10));
    let first = asking.ask(UNKNOWN, "force");
    provider.says(ProviderAnswer::Nothing);
    let again = asking.ask(UNKNOWN, "force");
    assert_eq!(provider.count(), 1);
    assert_eq!(again["data"]["dimensions"], first["data"]["dimensions"]);
    assert_eq!(again["data"]["meta"]["third_party_used"], true);
}

#[test]
fn provider_that_does_not_answer_in_time_is_a_warning() {
    let provider = Provider::start(ProviderAnswer::Nothing);
    let asking = AskingServer::of(&provider, Duration::ZERO);
    let begun = Instant::now();
    let answer = asking.ask(UNKNOWN, "auto");
    let took = begun.elapsed();
    assert!((Duration::from_millis(500)..Duration::from_secs(10)).contains(&took), "{took:?}");
    assert_eq!(failure(&answer), Some("acme could not be asked: there was no answer (timeout)"));
    assert_eq!(answer["data"]["meta"]["third_party_used"], false);
    assert_eq!(answer["data"]["composite_score"], asking.ask(UNKNOWN, "off")["data"]["composite_score"]);
}

#[test]
fn provider_that_answers_something_else_is_a_warning() {
    let redirect = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let long = format!(r#"{{"claims":[{{"name":"{}"}}]}}"#, "x".repeat(64 << 10));
    for (says, named) in [
        (
            ProviderAnswer::Raw("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".to_owned()),
            "the status 500",
        ),
        (ProviderAnswer::Raw(redirect.to_owned()), "the status 302"),
        (ProviderAnswer::Raw("no HTTP\r\n\r\n".to_owned()), "broken_answer"),
        (ProviderAnswer::Body("{}".to_owned()), "not of the protocol"),
        (ProviderAnswer::Body(r#"{"claims":[{"code":"mixer","confidence":7}]}"#.to_owned()), "not of the protocol"),
        (ProviderAnswer::Body(long), "more than 65536 bytes"),
    ] {
        let provider = Provider::start(says.clone());
        let asking = AskingServer::of(&provider, Duration::from_mins(10));
        for _ in 0..2 {
            let answer = asking.ask(UNKNOWN, "force");
            let message = failure(&answer).unwrap_or_default();
            assert!(message.contains(named), "{named}: {message}");
        }
        assert_eq!(provider.count(), 2, "a failure is not kept");
    }
}

#[test]
fn provider_that_fails_again_and_again_is_left_alone() {
    let provider = Provider::start(ProviderAnswer::Body("{}".to_owned()));
    let asking = AskingServer::of(&provider, Duration::ZERO);
    let queries = vec![json!({"blockchain": "ethereum", "address": UNKNOWN}); 20];
    let body = json!({"queries": queries, "third_party": "force"}).to_string();
    let reply = asking.server.client().post("/v1/address-risk/batch", &asking.key, &body).unwrap();
    assert_eq!((reply.status, reply.header("x-credit-cost")), (200, "100"));
    assert_eq!(provider.count(), 5);
    provider.says(ProviderAnswer::Body(MIXER.to_owned()));
    let answer = asking.ask(UNKNOWN, "force");
    assert!(failure(&answer).unwrap().contains("is not asked for"), "{answer}");
    assert_eq!(provider.count(), 5);
}

#[test]
fn without_a_provider_force_is_a_warning() {
    let server = Server::start();
    let (_, key) = server.key(10);
    let body = json!({"blockchain": "ethereum", "address": UNKNOWN, "third_party": "force"}).to_string();
    let reply = server.client().post("/v1/address-risk", &key, &body).unwrap();
    let warnings = reply.json()["meta"]["warnings"].clone();
    assert!(warnings.as_array().unwrap().iter().any(|one| one["code"] == "no_provider"), "{warnings}");
}

#[test]
fn repeated_call_with_a_provider_asks_it_once() {
    let provider = Provider::start(ProviderAnswer::Body(MIXER.to_owned()));
    let asking = AskingServer::of(&provider, Duration::ZERO);
    let body = json!({"blockchain": "ethereum", "address": UNKNOWN, "third_party": "force"}).to_string();
    let headers =
        [("X-API-Key", asking.key.as_str()), ("Content-Type", "application/json"), ("Idempotency-Key", "once")];
    let ask = || asking.server.send("POST", "/v1/address-risk", &headers, &body);
    let (first, again) = (ask(), ask());
    assert_eq!((again.header("idempotent-replayed"), &again.body), ("true", &first.body));
    assert_eq!(provider.count(), 1);
}

#[test]
fn configured_provider_is_asked_and_logged_without_its_secrets() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let provider = Provider::start(ProviderAnswer::Body(MIXER.to_owned()));
    let file = place.path().join("headwater.toml");
    let text = format!(
        "[intel]\nprovider_url = \"http://{}/canary-path?canary-query\"\nprovider_key = \"canary-key\"\nprovider_name = \"acme\"\n",
        provider.address
    );
    std::fs::write(&file, text).unwrap();
    let log = place.path().join("log");
    let more = ["--config", file.to_str().unwrap(), "--set", "auth.required=false", "--set", "log.filter=trace"];
    let server = Process::with_log(&store, &more, File::create(&log).unwrap().into());
    let body = json!({"blockchain": "ethereum", "address": UNKNOWN}).to_string();
    let mut client = server.client().unwrap();
    let reply =
        client.send("POST", "/v1/address-risk", &[("Content-Type", "application/json")], body.as_bytes()).unwrap();
    assert_eq!((reply.status, &reply.json()["data"]["meta"]["third_party_used"]), (200, &json!(true)));
    assert_eq!(provider.asked.lock().unwrap()[0].0["authorization"], "Bearer canary-key");
    drop(server);
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(!log.contains("canary"), "a secret is in the log");
    let line = log.lines().find(|line| line.contains("a provider of claims was asked")).unwrap();
    for part in ["provider=\"acme\"", "ethereum", UNKNOWN, "answered", "millis="] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}

#[test]
fn operator_parameters_are_read_at_start_or_refused() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let file = place.path().join("risk.toml");
    let at = file.to_str().unwrap();
    let standard = RiskParameters::standard_text();
    let version = format!("version = \"{}\"", RiskParameters::standard().version);
    std::fs::write(&file, standard.replace(&version, "version = \"ours-1\"")).unwrap();
    let body = json!({"blockchain": "ethereum", "address": UNKNOWN}).to_string();
    let output = headwater(&["query", "address-risk", "--json", "--store", store.to_str().unwrap(), "--body", &body])
        .env("HEADWATER_INTEL_RISK_PARAMETERS", at)
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"]["meta"]["model_version"], "ours-1");
    assert!(answer["data"]["meta"]["computed_at"].as_i64().unwrap() > 1_700_000_000, "the time of the clock");
    let plain = run_json(&["query", "address-risk", "--json", "--store", store.to_str().unwrap(), "--body", &body]);
    assert_eq!(plain["data"]["meta"]["model_version"], RiskParameters::standard().version);

    let setting = format!("intel.risk_parameters={at}");
    let refused = |text: Option<&str>| {
        match text {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let arguments = ["serve", "--store", store.to_str().unwrap(), "--listen", "127.0.0.1:0", "--set", &setting];
        let output = headwater(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    for (text, named) in [
        (Some(standard.replace("medium = 30.0", "medium = 300.0")), "levels"),
        (Some(standard.replace("medium = 30.0", "middle = 30.0")), "middle"),
        (Some(String::new()), "missing"),
        (None, "cannot be used"),
    ] {
        let why = refused(text.as_deref());
        assert!(why.contains("intel.risk_parameters") && why.contains(named), "{named}: {why}");
    }
    let key = headwater(&["serve", "--store", store.to_str().unwrap(), "--set", "intel.provider_key=canary"]);
    let output = { key }.output().unwrap();
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("intel.provider_url") && !why.contains("canary"), "{why}");
}
