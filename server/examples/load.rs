//! Throughput of the gateway beside a bare axum handler, in one run: a free call, and a billed one whose charge is on
//! the disk before its answer.
//!
//! ```text
//! cargo run --release -p headwater-server --example load -- STORE [SECONDS]
//! ```
//!
//! Servers and clients share this process and its cores. Rounds alternate; ratios are medians of five. The state lies in
//! the folder of `TMPDIR`, whose disk decides what a billed call costs: its `fdatasync` is measured in the same run.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::Router;
use axum::routing::get;
use headwater_ledger::Store;
use headwater_server::gateway::{Gateway, LimitSettings, Plan, Rate, Settings, serve};
use headwater_server::state::{Access, Environment, Home, Options, State, check_ledger};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const ROUNDS: usize = 5;
const CREDITS: i64 = 1_000_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bare,
    Free,
    Billed,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let store = PathBuf::from(arguments.next().context("usage: load STORE [SECONDS]")?);
    let seconds: u64 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let place = std::env::temp_dir().join(format!("headwater-load-{}", std::process::id()));
    let home = Home::in_folder(&place)?;
    let made = home.office("load", |office| office.create_key("load", Environment::Test, CREDITS, None))?;
    let key = made.key.expose().to_owned();
    let state = State::start(&home, Options::default(), Box::new(|| std::process::abort()))?;
    let gateway = Gateway::new(Arc::new(Store::open(&store)?), state, settings());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (ours, bare) = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let ours = listener.local_addr()?;
        let served = gateway.clone();
        tokio::spawn(async move { serve(listener, &served, std::future::pending(), Duration::ZERO).await });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let bare = listener.local_addr()?;
        let hello = || async { ([("content-type", "application/json")], "{\"message\":\"hello world\"}") };
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/", get(hello))).await });
        Ok::<_, io::Error>((ours, bare))
    })?;
    let body = r#"{"blockchain":"ethereum","address":"0x00000000000000000000000000000000000000aa"}"#;
    let request = |kind: Kind| match kind {
        Kind::Bare => "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        Kind::Free => format!("GET /v1/chains?include=none HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\r\n"),
        Kind::Billed => format!(
            "POST /v1/transactions HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    };
    let sync = fdatasync(&place, 200)?;
    println!("fdatasync p50 {:?}, p99 {:?}", at(&sync, 50), at(&sync, 99));
    println!(
        "| connections | bare calls/s | free calls/s | billed calls/s | free / bare | billed / bare | free p50 / p99 | billed p50 / p99 |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for connections in [64, 256] {
        let mut rates = [const { Vec::new() }; 3];
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            for (place, kind) in [Kind::Bare, Kind::Free, Kind::Billed].into_iter().enumerate() {
                if std::env::var("ONLY").is_ok_and(|only| !only.contains(&place.to_string())) {
                    rates[place].push(1.0);
                    continue;
                }
                let address = if kind == Kind::Bare { bare } else { ours };
                let time = Duration::from_secs(seconds);
                let mut round = runtime.block_on(load(address, Arc::from(request(kind)), connections, time))?;
                #[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
                rates[place].push(round.len() as f64 / time.as_secs_f64());
                times[place].append(&mut round);
            }
        }
        let [bare, free, billed] = rates.each_ref().map(|rates| median(rates));
        let over = |place: usize| {
            let ratios: Vec<f64> = rates[place].iter().zip(&rates[0]).map(|(ours, bare)| ours / bare).collect();
            median(&ratios)
        };
        for times in &mut times {
            times.sort_unstable();
        }
        let shown = |times: &[Duration]| format!("{:?} / {:?}", at(times, 50), at(times, 99));
        println!(
            "| {connections} | {bare:.0} | {free:.0} | {billed:.0} | {:.2} | {:.2} | {} | {} |",
            over(1),
            over(2),
            shown(&times[1]),
            shown(&times[2])
        );
    }
    runtime.block_on(gateway.state().flush())?;
    let mut db = home.connect(Access::Read)?;
    println!("entries of the credit ledger, every link of the chain checked: {}", check_ledger(&mut db)?);
    runtime.shutdown_background();
    std::fs::remove_dir_all(&place).context("removing the state")?;
    Ok(())
}

/// Every limit is looked at, none is met.
fn settings() -> Settings {
    let rate = Rate::new(1_000_000, 1_000_000);
    let plan = Plan { free: rate, light: rate, medium: rate, concurrency: 10_000, ..Plan::default() };
    Settings {
        limits: LimitSettings { enabled: true, plan: Arc::new(plan), ..LimitSettings::default() },
        ..Settings::default()
    }
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

/// Times of all calls, in a closed loop per connection.
async fn load(address: SocketAddr, request: Arc<str>, connections: usize, time: Duration) -> io::Result<Vec<Duration>> {
    let until = Instant::now() + time;
    let mut running = Vec::with_capacity(connections);
    for _ in 0..connections {
        let request = Arc::clone(&request);
        running.push(tokio::spawn(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let mut stream = BufReader::new(stream);
            let (mut line, mut body, mut times) = (String::new(), Vec::new(), Vec::new());
            while Instant::now() < until {
                let started = Instant::now();
                stream.write_all(request.as_bytes()).await?;
                let mut length = 0;
                loop {
                    line.clear();
                    stream.read_line(&mut line).await?;
                    if line.len() <= 2 {
                        break;
                    }
                    if line.starts_with("HTTP/1.1 ") && !line.starts_with("HTTP/1.1 200") {
                        return Err(io::Error::other(line));
                    }
                    if let Some((name, digits)) = line.split_once(':')
                        && name.eq_ignore_ascii_case("content-length")
                    {
                        length = digits.trim().parse().map_err(io::Error::other)?;
                    }
                }
                body.resize(length, 0);
                stream.read_exact(&mut body).await?;
                times.push(started.elapsed());
            }
            Ok(times)
        }));
    }
    let mut times = Vec::new();
    for one in running {
        times.append(&mut one.await.map_err(io::Error::other)??);
    }
    Ok(times)
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
