//! Throughput and latency of the gateway beside a bare axum handler, in one run: a free call, and a billed one whose
//! charge is on the disk before its answer.
//!
//! ```text
//! cargo run --release -p headwater-server --example load -- STORE [SECONDS [OPEN_SECONDS]]
//! ```
//!
//! Servers and clients share this process and its cores. Closed loops take turns in five rounds of SECONDS each, every
//! other one in reverse; ratios are medians. Then calls come at half the rate that was reached, whether earlier ones are
//! answered or not, for `OPEN_SECONDS`, and times count from when a call was due. The state lies in the folder of
//! `TMPDIR`, whose disk decides what a billed call costs: its `fdatasync` is measured in the same run. At the end every
//! call must have its row in the audit and every charge its link in the credit ledger.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use axum::Router;
use axum::routing::get;
use headwater_ledger::Store;
use headwater_server::events::EventSettings;
use headwater_server::gateway::{Gateway, LimitSettings, Settings, bind};
use headwater_server::service::{Service, serve};
use headwater_state::{Access, Environment, Home, Options, Plan, Rate, State, check_ledger};
use memchr::memmem::Finder;
use mimalloc::MiMalloc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const ROUNDS: usize = 5;
/// The pause of a call at a rate, so that its clock does not take a core.
const TICK: Duration = Duration::from_micros(100);
const CREDITS: i64 = 1_000_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bare,
    Free,
    Billed,
}

/// The target of calls, and their bodies.
struct Target {
    kind: Kind,
    address: SocketAddr,
    request: Arc<str>,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let store = PathBuf::from(arguments.next().context("usage: load STORE [SECONDS [OPEN_SECONDS]]")?);
    let mut seconds = |otherwise| arguments.next().map_or(Ok(otherwise), |text| text.parse().map(Duration::from_secs));
    let (closed, open) = (seconds(Duration::from_secs(3))?, seconds(Duration::from_secs(20))?);
    let place = std::env::temp_dir().join(format!("headwater-load-{}", std::process::id()));
    let home = Home::in_folder(&place)?;
    let made = home.admin("load", |admin| admin.create_key("load", Environment::Test, CREDITS, None))?;
    let state = State::start(&home, Options::default(), Box::new(|| std::process::abort()))?;
    let gateway = Gateway::new(Arc::new(Store::open(&store)?), state, settings());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let targets = targets(&runtime, &gateway, made.key.expose())?;
    let sync = fdatasync(&place, 200)?;
    println!("fdatasync p50 {:?}, p99 {:?}", at(&sync, 50), at(&sync, 99));
    let mut calls = 0;
    let [_, free, billed] = closed_loops(&runtime, &targets, closed, &mut calls)?;
    println!("at half of that, for {open:?}, from when each call was due:");
    for (target, rate) in [(&targets[1], free / 2.0), (&targets[2], billed / 2.0)] {
        let mut times = runtime.block_on(drive(target, 256, open, Some(rate)))?;
        calls += times.len();
        times.sort_unstable();
        let name = if target.kind == Kind::Free { "free" } else { "billed" };
        println!("{name}: {rate:.0} calls/s, p50 {:?}, p99 {:?}, errors 0", at(&times, 50), at(&times, 99));
    }
    runtime.block_on(gateway.state().flush())?;
    let mut db = home.connect(Access::Read)?;
    let rows = db.transaction(|tx| {
        let row = tx.row("SELECT CAST(coalesce(sum(requests), 0) AS BIGINT) FROM audit_page", &[])?;
        row.map_or(Ok(0), |row| row.int(0))
    })?;
    println!("calls of the gateway {calls}, rows of the audit {rows}");
    ensure!(i64::try_from(calls)? == rows, "every call has one row");
    println!("entries of the credit ledger, every link of the chain checked: {}", check_ledger(&mut db)?);
    runtime.shutdown_background();
    std::fs::remove_dir_all(&place).context("removing the state")?;
    Ok(())
}

/// Every limit is looked at, none is met.
fn settings() -> Settings {
    let rate = Rate::new(1_000_000, 1_000_000);
    let plan = Plan { free: rate, medium: rate, concurrency: 10_000, ..Plan::default() };
    let limits = LimitSettings { enabled: true, plan: Arc::new(plan), ..LimitSettings::default() };
    Settings { limits, ..Settings::default() }
}

/// Starts both servers.
fn targets(runtime: &Runtime, gateway: &Gateway, key: &str) -> anyhow::Result<[Target; 3]> {
    let (ours, bare) = runtime.block_on(async {
        let listener = bind(([127, 0, 0, 1], 0).into())?;
        let ours = listener.local_addr()?;
        let service = Service::new(gateway.clone(), EventSettings::default());
        tokio::spawn(async move { serve(listener, &service, std::future::pending(), Duration::ZERO).await });
        let listener = bind(([127, 0, 0, 1], 0).into())?;
        let bare = listener.local_addr()?;
        let hello = || async { ([("content-type", "application/json")], "{\"message\":\"hello world\"}") };
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/", get(hello))).await });
        Ok::<_, io::Error>((ours, bare))
    })?;
    let body = r#"{"blockchain":"ethereum","address":"0x00000000000000000000000000000000000000aa"}"#;
    let free = format!("GET /v1/rates?symbols=eth HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\r\n");
    let billed = format!(
        "POST /v1/transactions HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    Ok([
        Target { kind: Kind::Bare, address: bare, request: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".into() },
        Target { kind: Kind::Free, address: ours, request: free.into() },
        Target { kind: Kind::Billed, address: ours, request: billed.into() },
    ])
}

/// Prints a line for each number of connections, and gives the rates that were reached with the last.
fn closed_loops(
    runtime: &Runtime,
    targets: &[Target; 3],
    time: Duration,
    calls: &mut usize,
) -> anyhow::Result<[f64; 3]> {
    println!(
        "| connections | bare calls/s | free calls/s | billed calls/s | free / bare | billed / bare | free p50 / p99 | billed p50 / p99 |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut reached = [0.0; 3];
    for connections in [64, 256] {
        let mut rates = [const { Vec::new() }; 3];
        let mut times = [const { Vec::new() }; 3];
        for number in 0..ROUNDS {
            let mut order = [0, 1, 2];
            if number % 2 == 1 {
                order.reverse();
            }
            for place in order {
                let target = &targets[place];
                let mut round = runtime.block_on(drive(target, connections, time, None))?;
                *calls += if target.kind == Kind::Bare { 0 } else { round.len() };
                #[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
                rates[place].push(round.len() as f64 / time.as_secs_f64());
                times[place].append(&mut round);
            }
        }
        reached = rates.each_ref().map(|rates| median(rates));
        let over = |place: usize| {
            let ratios: Vec<f64> = rates[place].iter().zip(&rates[0]).map(|(ours, bare)| ours / bare).collect();
            median(&ratios)
        };
        for times in &mut times {
            times.sort_unstable();
        }
        let shown = |times: &[Duration]| format!("{:?} / {:?}", at(times, 50), at(times, 99));
        let [bare, free, billed] = reached;
        println!(
            "| {connections} | {bare:.0} | {free:.0} | {billed:.0} | {:.2} | {:.2} | {} | {} |",
            over(1),
            over(2),
            shown(&times[1]),
            shown(&times[2])
        );
    }
    Ok(reached)
}

fn fdatasync(folder: &Path, times: usize) -> io::Result<Vec<Duration>> {
    let mut file = File::create(folder.join("sync"))?;
    let mut taken = Vec::with_capacity(times);
    for _ in 0..times {
        file.write_all(&[0; 4096])?;
        let started = Instant::now();
        file.sync_data()?;
        taken.push(started.elapsed());
    }
    taken.sort_unstable();
    Ok(taken)
}

/// Times of all calls. In a closed loop each connection calls again as soon as it is answered; at a rate, when its next
/// call is due, and what it is late counts: in turn, so that calls come one by one.
async fn drive(target: &Target, connections: u32, time: Duration, rate: Option<f64>) -> io::Result<Vec<Duration>> {
    let mut clients = Vec::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        clients.push(Client { stream, answer: Vec::with_capacity(4096) });
    }
    let start = Instant::now();
    let until = start + time;
    // Calls are numbered over all connections, which have their turns one after the other.
    let due = move |call: u32| rate.map(|rate| start + Duration::from_secs_f64(f64::from(call) / rate));
    let (mut running, mut bells) = (Vec::new(), Vec::new());
    for (number, mut client) in (0..).zip(clients) {
        let request = Arc::clone(&target.request);
        let bell = Arc::new(Notify::new());
        bells.push(Arc::clone(&bell));
        running.push(tokio::spawn(async move {
            let mut times = Vec::new();
            for call in (number..).step_by(connections as usize) {
                let started = due(call).unwrap_or_else(Instant::now);
                if started >= until {
                    break;
                }
                while Instant::now() < started {
                    bell.notified().await;
                }
                client.call(&request).await?;
                times.push(started.elapsed());
            }
            Ok::<_, io::Error>(times)
        }));
    }
    // A thread of its own: the runtime's clock ticks in milliseconds, which would make bursts of the calls.
    let ringing = thread::spawn(move || {
        for (call, bell) in (0..).zip(bells.iter().cycle()) {
            let Some(due) = due(call).filter(|due| *due < until) else { break };
            while Instant::now() < due {
                thread::sleep(TICK);
            }
            bell.notify_one();
        }
    });
    let mut times = Vec::new();
    for one in running {
        times.append(&mut one.await.map_err(io::Error::other)??);
    }
    ringing.join().map_err(|_| io::Error::other("the clock of the calls panicked"))?;
    Ok(times)
}

/// One connection. It does as little as it can, since what it does counts for both servers.
struct Client {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Client {
    /// One call, answered with 200 and a whole body.
    async fn call(&mut self, request: &str) -> io::Result<()> {
        self.stream.write_all(request.as_bytes()).await?;
        self.answer.clear();
        let mut whole = None;
        while whole.is_none_or(|whole| self.answer.len() < whole) {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if whole.is_none() {
                whole = length(&self.answer)?;
            }
        }
        Ok(())
    }
}

/// Bytes of an answer with its head, once that is there.
fn length(answer: &[u8]) -> io::Result<Option<usize>> {
    static END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\r\n\r\n"));
    static STATED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\r\ncontent-length: "));
    let Some(head) = END.find(answer) else { return Ok(None) };
    let refused = || io::Error::other(String::from_utf8_lossy(answer).into_owned());
    let stated = STATED.find(&answer[..head]).ok_or_else(refused)?;
    let digits = answer[stated + STATED.needle().len()..].iter().take_while(|byte| byte.is_ascii_digit());
    let body = digits.fold(0, |body, digit| 10 * body + usize::from(digit - b'0'));
    if answer.starts_with(b"HTTP/1.1 200") { Ok(Some(head + 4 + body)) } else { Err(refused()) }
}

fn at(times: &[Duration], percent: usize) -> Duration {
    let time = times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default();
    Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
