//! A web server in the place of a node: it answers as a test says, and limits or cuts as providers do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use headwater_ledger::read::{CoverageTable, Generation as _};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use headwater_node::{
    HistoryOptions, HistoryProgress, HistoryReport, HistoryState, NodeError, Providers, Traces, load_history,
};
use headwater_types::{Chain, Timestamp};
use serde_json::{Value, json};

/// A failure that passes, or a limit, which nodes of all kinds have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disturbance {
    None,
    /// Every second request is refused for a moment.
    RateLimit,
    /// Every third connection is cut.
    Cut,
    /// It takes no more than two calls at once.
    SmallBatch,
}

/// A request to a node.
pub(crate) struct Request {
    pub path: String,
    /// Headers by their name in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

/// The answer to a request.
pub(crate) struct Reply {
    pub status: &'static str,
    pub text: String,
}

impl Reply {
    pub fn ok(value: &Value) -> Self {
        Self::text("200 OK", value.to_string())
    }

    pub fn text(status: &'static str, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }
}

/// The error of a call: code and message.
pub(crate) type RpcError = (i64, &'static str);

/// Answers calls of JSON-RPC, alone or in a batch. A single call that fails has a status of its own.
pub(crate) fn json_rpc(
    request: &Request,
    status_of_errors: &'static str,
    answer: impl Fn(&str, &Value) -> Result<Value, RpcError>,
) -> Reply {
    let one = |call: &Value| match answer(call["method"].as_str().unwrap_or_default(), &call["params"]) {
        Ok(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}})
        }
    };
    if let Some(calls) = request.body.as_array() {
        return Reply::ok(&calls.iter().map(one).collect());
    }
    let answer = one(&request.body);
    let status = if answer.get("error").is_some() { status_of_errors } else { "200 OK" };
    Reply::text(status, answer.to_string())
}

/// A node at an address of this computer, until it is dropped.
pub(crate) struct FakeNode {
    pub url: String,
    stopped: Arc<AtomicBool>,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl FakeNode {
    pub fn start(disturbance: Disturbance, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::default();
        let server = Arc::new(Server {
            answer: Box::new(answer),
            disturbance,
            requests: AtomicUsize::new(0),
            asked: Arc::clone(&asked),
        });
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        thread::spawn(move || {
            for stream in listener.incoming().flatten().take_while(|_| !stop.load(Ordering::Relaxed)) {
                let server = Arc::clone(&server);
                thread::spawn(move || server.serve(&stream));
            }
        });
        Self { url, stopped, asked }
    }

    /// Returns how often a method, or a path without methods, was called.
    pub fn asked(&self, method: &str) -> usize {
        self.asked.lock().unwrap().get(method).copied().unwrap_or(0)
    }
}

impl Drop for FakeNode {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        drop(TcpStream::connect(self.url.trim_start_matches("http://")));
    }
}

struct Server {
    answer: Box<dyn Fn(&Request) -> Reply + Send + Sync>,
    disturbance: Disturbance,
    requests: AtomicUsize,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Server {
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let request = read(&mut reader)?;
            let number = self.requests.fetch_add(1, Ordering::Relaxed);
            if self.disturbance == Disturbance::Cut && number % 3 == 1 {
                return None;
            }
            if self.disturbance == Disturbance::RateLimit && number % 2 == 1 {
                write(stream, "429 Too Many Requests", "Retry-After: 0\r\n", "{}")?;
                continue;
            }
            if self.disturbance == Disturbance::SmallBatch && request.body.as_array().is_some_and(|all| all.len() > 2) {
                let error = json!({"code": -32600, "message": "batch size exceeds 2"});
                write(stream, "200 OK", "", &json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string())?;
                continue;
            }
            self.count(&request);
            let reply = (self.answer)(&request);
            write(stream, reply.status, "", &reply.text)?;
        }
    }

    fn count(&self, request: &Request) {
        let mut asked = self.asked.lock().unwrap();
        let one = std::slice::from_ref(&request.body);
        for call in request.body.as_array().map_or(one, Vec::as_slice) {
            let name = call["method"].as_str().unwrap_or(&request.path).to_owned();
            *asked.entry(name).or_default() += 1;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let path = line.split_whitespace().nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, headers, body: serde_json::from_slice(&body).ok()? })
}

fn write(mut stream: &TcpStream, status: &str, headers: &str, text: &str) -> Option<()> {
    // In one piece: two small writes would wait for each other.
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{text}",
        text.len()
    );
    stream.write_all(answer.as_bytes()).ok()
}

struct SilentProgress;

impl HistoryProgress for SilentProgress {
    fn update(&self, _: HistoryState) {}
}

pub(crate) fn options(chain: Chain, (from, to): (u64, Option<u64>)) -> HistoryOptions {
    let imported_at = Timestamp::new(1_767_225_600);
    let traces = Traces::WherePossible;
    HistoryOptions { chain, from: Some(from), to, parallel: 3, blocks_per_commit: 7, traces, imported_at }
}

/// Loads a range of a chain from nodes.
pub(crate) fn load(
    store: &Path,
    chain: Chain,
    nodes: &[&FakeNode],
    range: (u64, Option<u64>),
) -> (Result<HistoryReport, NodeError>, Providers) {
    let urls: Vec<String> = nodes.iter().map(|node| node.url.clone()).collect();
    let providers = Providers::new(&urls, None).unwrap();
    (load_history(store, &providers, &options(chain, range), &SilentProgress, &Cancel::new()), providers)
}

/// Cancels a load once so many blocks are loaded.
struct Canceller {
    after: u64,
    cancel: Cancel,
}

impl HistoryProgress for Canceller {
    fn update(&self, state: HistoryState) {
        if state.done >= self.after {
            self.cancel.cancel();
        }
    }
}

/// Loads a range of a chain from a node, and cancels the load midway.
pub(crate) fn load_until(
    store: &Path,
    chain: Chain,
    node: &FakeNode,
    range: (u64, Option<u64>),
    after: u64,
) -> Result<HistoryReport, NodeError> {
    let providers = Providers::new(std::slice::from_ref(&node.url), None).unwrap();
    let canceller = Canceller { after, cancel: Cancel::new() };
    load_history(store, &providers, &options(chain, range), &canceller, &canceller.cancel)
}

/// Returns the ranges of a chain with which a table is complete.
pub(crate) fn ranges(store: &Path, chain: Chain, table: CoverageTable) -> Vec<(u64, u64)> {
    let writer = Writer::open_or_create(store).unwrap();
    let snapshot = writer.snapshot();
    snapshot.coverage()[&chain].ranges.get(&table).cloned().unwrap_or_default()
}

pub(crate) fn digest(store: &Path) -> String {
    Store::open(store).unwrap().digest(&Cancel::new()).unwrap().to_string()
}
