//! Latency and throughput of each class of endpoints over HTTP, beside a bare axum handler, in one run.
//!
//! ```text
//! cargo run --release -p headwater-server --example http -- STORE [SECONDS]
//! ```
//!
//! Gateway and bare handler run in this process on ports of their own; clients are threads with a connection each that
//! ask one question after the other. Every question goes through key, credits, audit and envelope, as customers' do.
//! The bare handler answers the same number of bytes from memory. The table is printed as Markdown.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use headwater_ledger::Store;
use headwater_ledger::read::{Generations as _, Ledger};
use headwater_server::events::EventSettings;
use headwater_server::gateway::{Gateway, Settings, bind};
use headwater_server::service::{Service, serve};
use headwater_state::{Environment, Home, Options, State};
use headwater_types::{Address, Asset, Chain};
use serde_json::{Value, json};

/// Clients at a time, for throughput.
const CLIENTS: usize = 8;
/// Addresses looked at to find accounts of a size.
const LOOKED_AT: usize = 50_000;

/// One question, as it goes over the wire.
struct Question {
    class: &'static str,
    name: &'static str,
    /// Several forms of it, asked in turn.
    requests: Vec<Vec<u8>>,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let store = PathBuf::from(arguments.next().context("usage: http STORE [SECONDS]")?);
    let seconds: u64 = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let place = std::env::temp_dir().join(format!("headwater-http-{}", std::process::id()));
    let ledgers = Arc::new(Store::open(&store)?);
    let home = Home::in_folder(&place)?;
    let key = home
        .admin("load", |admin| admin.create_key("load", Environment::Test, 1_000_000_000, None))?
        .key
        .expose()
        .to_owned();
    let questions = questions(&*ledgers.current()?, &key)?;
    let state = State::start(&home, Options::default(), Box::new(|| std::process::abort()))?;
    let service = Service::new(Gateway::new(ledgers, state, Settings::default()), EventSettings::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (address, bare) = runtime.block_on(async {
        let listener = bind(([127, 0, 0, 1], 0).into())?;
        let address = listener.local_addr()?;
        tokio::spawn(async move { serve(listener, &service, std::future::pending(), Duration::ZERO).await });
        let listener = bind(([127, 0, 0, 1], 0).into())?;
        let bare = listener.local_addr()?;
        tokio::spawn(async move { axum::serve(listener, bare_handler()).await });
        Ok::<_, io::Error>((address, bare))
    })?;
    println!(
        "| class | endpoint | bytes | median | p99 | bare median | times bare | calls/s of {CLIENTS} clients | bare calls/s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for question in &questions {
        measure(question, (address, bare), Duration::from_secs(seconds))?;
    }
    runtime.shutdown_background();
    std::fs::remove_dir_all(&place).context("removing the state")?;
    Ok(())
}

/// Answers so many bytes, and does nothing else.
fn bare_handler() -> Router {
    let answer = |Path(bytes): Path<usize>| async move { ([("content-type", "application/json")], vec![b' '; bytes]) };
    Router::new().route("/{bytes}", get(answer))
}

fn measure(question: &Question, (address, bare): (SocketAddr, SocketAddr), time: Duration) -> anyhow::Result<()> {
    let mut client = Client::connect(address)?;
    let mut bytes = 0;
    let first = question.requests.iter().take(20);
    let asked = first.len();
    for request in first {
        let (status, length) = client.ask(request)?;
        anyhow::ensure!(status == 200, "{} answers {status}", question.name);
        bytes += length;
    }
    let bytes = bytes / asked;
    let plain = vec![request("GET", &format!("/{bytes}"), "", None)];
    let alone = |address, requests: &[Vec<u8>]| load(address, requests, 1, time / 2);
    let ours = alone(address, &question.requests)?;
    let theirs = alone(bare, &plain)?;
    let many = load(address, &question.requests, CLIENTS, time)?;
    let many_bare = load(bare, &plain, CLIENTS, time)?;
    let rate = |calls: usize| f64::from(u32::try_from(calls).unwrap_or(u32::MAX)) / time.as_secs_f64();
    println!(
        "| {} | {} | {} | {:?} | {:?} | {:?} | {:.1} | {:.0} | {:.0} |",
        question.class,
        question.name,
        bytes,
        at(&ours, 50),
        at(&ours, 99),
        at(&theirs, 50),
        at(&ours, 50).as_secs_f64() / at(&theirs, 50).as_secs_f64(),
        rate(many.len()),
        rate(many_bare.len()),
    );
    Ok(())
}

/// Times of all calls of some clients, in order.
fn load(address: SocketAddr, requests: &[Vec<u8>], clients: usize, time: Duration) -> anyhow::Result<Vec<Duration>> {
    let until = Instant::now() + time;
    let client = |first: usize| -> io::Result<Vec<Duration>> {
        let mut client = Client::connect(address)?;
        let mut times = Vec::new();
        for request in requests.iter().cycle().skip(first) {
            let start = Instant::now();
            if start >= until {
                break;
            }
            client.ask(request)?;
            times.push(start.elapsed());
        }
        Ok(times)
    };
    let times = thread::scope(|scope| {
        let running: Vec<_> = (0..clients).map(|number| scope.spawn(move || client(number))).collect();
        running.into_iter().map(|one| one.join().expect("a client does not panic")).collect::<io::Result<Vec<_>>>()
    })?;
    let mut times = times.concat();
    times.sort_unstable();
    Ok(times)
}

fn at(times: &[Duration], percent: usize) -> Duration {
    let time = times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default();
    Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// Questions about accounts of three sizes, and about the token most of them hold.
fn questions(ledger: &dyn Ledger, key: &str) -> anyhow::Result<Vec<Question>> {
    let chain = Chain::ETHEREUM;
    let mut accounts: Vec<(u64, Address)> = Vec::new();
    for address in ledger.addresses(chain, None, LOOKED_AT)? {
        let postings = ledger.account(chain, &address)?.map_or(0, |account| account.postings);
        accounts.push((postings, address));
    }
    accounts.sort_unstable();
    let sized = |least: u64| -> Vec<Address> {
        let from = accounts.partition_point(|(postings, _)| *postings < least);
        accounts[from.min(accounts.len().saturating_sub(1))..].iter().take(20).map(|(_, address)| *address).collect()
    };
    let (light, medium) = (sized(20), sized(1000));
    let mut widest = (0, Asset::Native);
    for entry in ledger.registry().entries(chain) {
        let holders = ledger.holders(chain, &entry.asset)?.map_or(0, |holders| holders.count());
        widest = widest.max((holders, entry.asset));
    }
    let contract = widest.1.contract().map_or("native".to_owned(), ToString::to_string);
    let symbols = ledger.prices().symbols().take(3).collect::<Vec<_>>().join(",");
    let get = |path: &str| request("GET", path, key, None);
    let post = |path: &str, body: &Value| request("POST", path, key, Some(body));
    let about = |path: &str, who: &[Address]| -> Vec<Vec<u8>> {
        let body = |address: &Address| json!({"blockchain": "ethereum", "address": address.to_string(), "limit": 100});
        who.iter().map(|address| post(path, &body(address))).collect()
    };
    let set = medium.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let of_token = |name: &str, number: usize| {
        format!("/v1/token/{name}?blockchain=ethereum&contract={}", spelling(&contract, number))
    };
    let tokens = |name: &str| (0..100_000).map(|number| get(&of_token(name, number))).collect();
    Ok(vec![
        Question { class: "free", name: "rates", requests: vec![get(&format!("/v1/rates?symbols={symbols}"))] },
        Question {
            class: "light",
            name: "addresses/resolve",
            requests: vec![get(&format!("/v1/addresses/resolve?q={}", light[0]))],
        },
        Question { class: "medium", name: "transactions, 100 rows", requests: about("/v1/transactions", &light) },
        Question { class: "medium", name: "balance-history, 30 days", requests: about("/v1/balance-history", &medium) },
        Question {
            class: "medium",
            name: "token/addresses_flow, 20 addresses",
            requests: vec![get(&format!(
                "/v1/token/addresses_flow?blockchain=ethereum&contract={contract}&addresses={set}"
            ))],
        },
        Question { class: "heavy", name: "counterparty, 100 rows", requests: about("/v1/counterparty", &medium) },
        Question { class: "heavy", name: "token/holders", requests: tokens("holders") },
        Question { class: "heavy", name: "token/concentration", requests: tokens("concentration") },
        Question {
            class: "heavy",
            name: "token/concentration, cached",
            requests: vec![get(&of_token("concentration", 0))],
        },
    ])
}

/// A contract in another case for each number: a question that is not in the cache yet, with the same answer.
fn spelling(contract: &str, number: usize) -> String {
    let (prefix, digits) = contract.split_at(contract.len().min(2));
    let mut bits = number;
    let mut spelt = |letter: char| {
        let is_upper = letter.is_ascii_alphabetic() && bits & 1 == 1;
        bits >>= usize::from(letter.is_ascii_alphabetic());
        if is_upper { letter.to_ascii_uppercase() } else { letter }
    };
    digits.chars().fold(prefix.to_owned(), |text, letter| text + &spelt(letter).to_string())
}

fn request(method: &str, path: &str, key: &str, body: Option<&Value>) -> Vec<u8> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Status and length of the answer.
    fn ask(&mut self, request: &[u8]) -> io::Result<(u16, usize)> {
        self.0.get_mut().write_all(request)?;
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let text = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = text.strip_prefix("http/1.1 ") {
                status = rest.get(..3).and_then(|digits| digits.parse().ok()).unwrap_or(0);
            } else if let Some(digits) = text.strip_prefix("content-length:") {
                length = digits.trim().parse().map_err(io::Error::other)?;
            } else if text.is_empty() {
                break;
            }
        }
        io::copy(&mut self.0.by_ref().take(length as u64), &mut io::sink())?;
        Ok((status, length))
    }
}
