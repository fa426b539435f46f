//! A gateway in this process or in its own, and a small HTTP client that hides nothing.

pub mod faults;
pub mod hub;
pub mod live;
pub mod postgres;
pub mod redis;
pub mod replicas;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use headwater_ledger::LedgerError;
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::read::{Generations, Ledger};
use headwater_ledger::store::MemoryStore;
use headwater_server::events::EventSettings;
use headwater_server::gateway::{Deadlines, Gateway, ListenerConfig, Settings, bind};
use headwater_server::service::{Service, serve_on};
use headwater_state::{Access, AdminService, Environment, Home, Options, State, StateError};
pub use headwater_testkit::is_full;
use headwater_testkit::{address, claim, label_import};
use headwater_types::Chain;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A port for a server that is given one by its number. It lies below those that the system deals out, of which another
/// test could take it before the server does, or a second time after a crash.
pub fn own_port() -> u16 {
    const FIRST: u16 = 12_000;
    const COUNT: u16 = 20_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let process = u16::try_from(std::process::id() % u32::from(COUNT)).unwrap();
    let mut ports = std::iter::repeat_with(|| {
        let turn = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        FIRST + (process + turn) % COUNT
    });
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// The address that tests ask about; it never did anything, which is an answer like any other.
pub const QUIET: &str = r#"{"blockchain":"ethereum","address":"0x00000000000000000000000000000000000000aa"}"#;

/// The answer of the store when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Answers.
    Good,
    /// Panics.
    Panics,
    /// Cannot be read.
    Broken,
    /// Takes a while, then answers: 300 ms unless a test says otherwise.
    Slow,
    /// Answers every other time, and keeps who asks in between waiting while it is so.
    Halting,
}

/// A store of one label on each chain: calls about any of them are answered, with nothing.
pub fn store_without_rows() -> MemoryStore {
    let named = |chain| claim(chain, address(chain, 1), Code::Exchange, Level::Unknown, "list");
    let mut store = MemoryStore::default();
    store.import_labels(label_import("list", Chain::all().map(named).collect(), 0)).unwrap();
    store
}

/// A store with moods.
pub struct MoodyStore {
    store: MemoryStore,
    mood: AtomicU8,
    /// Milliseconds that it takes while it is slow.
    pub slow_ms: AtomicU64,
    /// Times that it was asked.
    pub asked: AtomicUsize,
}

impl MoodyStore {
    pub fn set(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::SeqCst);
    }
}

impl Generations for MoodyStore {
    fn current(&self) -> Result<Arc<dyn Ledger>, LedgerError> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        match self.mood.load(Ordering::SeqCst) {
            0 => {}
            1 => panic!("secret of the store"),
            2 => return Err(LedgerError::Latched { path: "/secret/place".into() }),
            3 => thread::sleep(Duration::from_millis(self.slow_ms.load(Ordering::SeqCst))),
            _ => {
                while asked % 2 == 1 && self.mood.load(Ordering::SeqCst) == Mood::Halting as u8 {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
        self.store.current()
    }

    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>, LedgerError> {
        self.store.generation(number)
    }
}

/// A gateway in this process, on a port of its own.
pub struct Server {
    pub address: SocketAddr,
    pub moody: Arc<MoodyStore>,
    pub gateway: Gateway,
    /// The address of the admin listener.
    pub admin: SocketAddr,
    state: PathBuf,
    runtime: tokio::runtime::Handle,
    /// The name of its threads.
    name: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    _place: TempDir,
}

impl Server {
    pub fn start() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        Self::on(ListenerConfig::default(), settings)
    }

    /// One whose calls have so many milliseconds.
    pub fn hurried(milliseconds: u64) -> Self {
        let deadlines = Deadlines::all(Duration::from_millis(milliseconds));
        Self::with(Settings { deadlines, ..Settings::default() })
    }

    pub fn on(config: ListenerConfig, settings: Settings) -> Self {
        Self::over(store_without_rows(), config, settings)
    }

    /// One over a store with something in it.
    pub fn over(store: MemoryStore, config: ListenerConfig, settings: Settings) -> Self {
        static SERVERS: AtomicUsize = AtomicUsize::new(0);
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("demo.state");
        let moody = Arc::new(MoodyStore {
            store,
            mood: AtomicU8::new(0),
            slow_ms: AtomicU64::new(300),
            asked: AtomicUsize::new(0),
        });
        let (ledgers, folder) = (Arc::clone(&moody), state.clone());
        let admin_settings =
            headwater_server::admin::Settings { open_metrics: false, backup_dir: Some(place.path().join("backups")) };
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, ready) = mpsc::channel();
        let name = format!("server-{}", SERVERS.fetch_add(1, Ordering::Relaxed));
        let threads = name.clone();
        let thread = thread::spawn(move || {
            let folder = Home::in_folder(&folder).unwrap();
            let service = Service::new(
                Gateway::new(ledgers, State::start(&folder, Options::default(), Box::new(|| {})).unwrap(), settings),
                EventSettings::default(),
            );
            let gateway = service.gateway().clone();
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            // Threads that have nothing to do are soon gone, so that those that are left over can be counted.
            builder.worker_threads(2).thread_name(threads).thread_keep_alive(Duration::from_secs(1)).enable_all();
            let runtime = builder.build().unwrap();
            runtime.block_on(async {
                let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
                let at = SocketAddr::from(([127, 0, 0, 1], 0));
                let admin = headwater_server::admin::Listener::start(at, &gateway, admin_settings, &config).unwrap();
                let runtime = tokio::runtime::Handle::current();
                started.send((listener.local_addr().unwrap(), admin.address(), gateway.clone(), runtime)).unwrap();
                let stop = async {
                    let _ = stopped.await;
                };
                serve_on(config, listener, &service, stop, Duration::from_secs(5)).await.unwrap();
                admin.stop().await;
            });
        });
        let (address, admin, gateway, runtime) = ready.recv().unwrap();
        let (stop, thread) = (Some(stop), Some(thread));
        Self { address, moody, gateway, admin, state, runtime, name, stop, thread, _place: place }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address).unwrap()
    }

    /// Tasks, threads and connections that it has.
    pub fn held(&self) -> [usize; 3] {
        let tasks = self.runtime.metrics().num_alive_tasks();
        let threads = std::fs::read_dir("/proc/self/task").unwrap().filter(|thread| {
            let name = thread.as_ref().map(|thread| std::fs::read_to_string(thread.path().join("comm")));
            name.is_ok_and(|name| name.is_ok_and(|name| name.trim_end() == self.name))
        });
        [tasks, threads.count(), connections(self.address)]
    }

    /// Sends one request on a connection of its own.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.client().send(method, path, headers, body.as_bytes()).unwrap()
    }

    /// Makes an admin key.
    pub fn admin_key(&self) -> (String, String) {
        let made = self.admin(|admin| admin.create_admin("test"));
        (made.id, made.key.expose().to_owned())
    }

    /// Asks the admin listener, on a connection of its own.
    pub fn ask_admin(&self, method: &str, path: &str, key: &str, body: &str) -> Reply {
        ask_admin(self.admin, method, path, key, body)
    }

    pub fn home(&self) -> Home {
        Home::in_folder(&self.state).unwrap()
    }

    /// A change of the back office, as another process makes it.
    pub fn admin<T>(&self, work: impl FnOnce(&mut AdminService<'_, '_>) -> Result<T, StateError>) -> T {
        self.home().admin("test", work).unwrap()
    }

    /// Makes a key and waits until the gateway has it.
    pub fn key(&self, credits: i64) -> (String, String) {
        let made = self.admin(|admin| admin.create_key("test", Environment::Test, credits, None));
        let key = made.key.expose().to_owned();
        within(Duration::from_secs(20), "the key is known", || {
            self.send("GET", "/v1/chains", &[("X-API-Key", &key)], "").status == 200
        });
        (made.id, key)
    }

    pub fn database(&self) -> rusqlite::Connection {
        reader(&self.home())
    }

    /// A number that the database gives, once all that was handed over is written.
    pub fn count(&self, sql: &str) -> i64 {
        self.flush();
        self.database().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Requests that the database counts but does not list, once all that was handed over is written.
    pub fn summed(&self, condition: &str) -> i64 {
        self.count(&format!("SELECT coalesce(sum(requests), 0) FROM request_sum WHERE {condition}"))
    }

    /// Lines of the audit log, oldest first, once all that was handed over is written.
    pub fn logged(&self) -> Vec<Value> {
        self.flush();
        logged(&self.state)
    }

    pub fn flush(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.gateway.state().flush()).unwrap();
    }
}

/// Lines of the audit log of a state in a folder, oldest first.
pub fn logged(state: &Path) -> Vec<Value> {
    let current = state.join("audit/requests.log");
    let older = (1..100).map(|number| state.join(format!("audit/requests.log.{number}")));
    let mut files: Vec<PathBuf> = older.take_while(|file| file.exists()).collect();
    files.reverse();
    let files = files.into_iter().chain([current]);
    let texts: Vec<String> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    texts.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asks threads to end, also when the test fails before it comes to that.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Connections of a server's side, by its port: other tests of this process have ports of their own.
pub fn connections(address: SocketAddr) -> usize {
    let port = format!(":{:04X}", address.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let open = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    // 06 is one that is over and remembered, 0A the listener.
    open.filter(|line| line[1].ends_with(&port) && line[3] != "06" && line[3] != "0A").count()
}

/// Resident memory of a process in bytes.
pub fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Most resident memory of a process since [`forget_peak`], or ever, in bytes.
pub fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// From now on the peak is what comes.
pub fn forget_peak(process: u32) {
    std::fs::write(format!("/proc/{process}/clear_refs"), "5").unwrap();
}

/// Returns how a figure compares with its aim.
pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}

/// Calls `work` on this many threads with the number of each, and gives what came of it.
pub fn at_once<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = (0..threads).map(|number| scope.spawn(move || work(number))).collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// A key made by the command line; `key` is its text.
pub fn made_key(store: &Path, credits: u32) -> String {
    let credits = credits.to_string();
    let made =
        run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap(), "--credits", credits.as_str()]);
    made["key"].as_str().unwrap().to_owned()
}

/// The value below which `share` of them lie.
pub fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small")]
    let place = (share * (times.len() - 1) as f64).round() as usize;
    times[place]
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns whether what takes hours is to be done as a whole as well: `HEADWATER_FULL=all`.
pub fn is_whole() -> bool {
    std::env::var("HEADWATER_FULL").is_ok_and(|value| value == "all")
}

/// A connection that only reads a state in a folder.
pub fn reader(home: &Home) -> rusqlite::Connection {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    rusqlite::Connection::open_with_flags(home.database().unwrap(), flags).unwrap()
}

/// Checks all chains of a credit ledger; gives the number of entries.
pub fn check_ledger(home: &Home) -> Result<u64, StateError> {
    headwater_state::check_ledger(&mut home.connect(Access::Read).unwrap())
}

/// Asks an admin listener, on a connection of its own.
pub fn ask_admin(admin: SocketAddr, method: &str, path: &str, key: &str, body: &str) -> Reply {
    let mut headers = vec![("X-Admin-Key", key)];
    if !body.is_empty() {
        headers.push(("Content-Type", "application/json"));
    }
    Client::connect(admin).unwrap().send(method, path, &headers, body.as_bytes()).unwrap()
}

/// A seed, to be printed: another one each time, or that of `HEADWATER_SEED`, so that a failure can be had again.
pub fn random() -> u64 {
    match std::env::var("HEADWATER_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() & u128::from(u64::MAX))
            .unwrap(),
    }
}

/// Waits for something that happens by itself.
pub fn within(time: Duration, what: &str, mut happened: impl FnMut() -> bool) {
    let started = Instant::now();
    while !happened() {
        assert!(started.elapsed() < time, "not within {time:?}: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&self.body)))
    }

    /// Code and reason of the error envelope, which must be whole.
    pub fn error(&self) -> (String, String) {
        let json = self.json();
        assert_eq!(self.header("content-type"), "application/json");
        assert!(!json["error"]["message"].as_str().unwrap().is_empty());
        assert_eq!(self.header("x-credit-cost"), "0");
        assert_eq!(self.header("x-request-id").len(), 36);
        assert_eq!(json["error"]["request_id"], self.header("x-request-id"));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&json["error"]["code"]), text(&json["error"]["details"]["reason"]))
    }
}

/// A connection that is kept.
pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub fn post(&mut self, path: &str, key: &str, body: &str) -> io::Result<Reply> {
        self.send("POST", path, &[("X-API-Key", key), ("Content-Type", "application/json")], body.as_bytes())
    }

    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Reply> {
        self.write(method, path, headers, body)?;
        self.read(method == "HEAD")
    }

    pub fn write(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<()> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            write!(head, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        let mut whole = (head + "\r\n").into_bytes();
        whole.extend_from_slice(body);
        self.0.get_mut().write_all(&whole)
    }

    /// Writes bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        // The server may answer and close before it has read all of them.
        let _ = self.0.get_mut().write_all(bytes);
    }

    /// Writes bytes as they are, unless the server has closed.
    pub fn try_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// The same connection once more: one may read while the other writes.
    pub fn twin(&self) -> io::Result<Self> {
        Ok(Self(BufReader::new(self.0.get_ref().try_clone()?)))
    }

    pub fn shutdown(&self, how: std::net::Shutdown) {
        self.0.get_ref().shutdown(how).unwrap();
    }

    pub fn read(&mut self, without_body: bool) -> io::Result<Reply> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line == "\r\n" {
                break;
            }
            lines.push(line.trim_end().to_owned());
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let headers: BTreeMap<String, String> = lines[1..]
            .iter()
            .map(|line| line.split_once(": ").unwrap_or((line.trim_end_matches(':'), "")))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; if without_body { 0 } else { length }];
        self.0.read_exact(&mut body)?;
        if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            self.read_chunks(&mut body)?;
        }
        Ok(Reply { status, headers, body })
    }

    /// Reads a body whose length was not known; one that breaks off is an error.
    fn read_chunks(&mut self, body: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let mut size = String::new();
            if self.0.read_line(&mut size)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let size = usize::from_str_radix(size.trim_end(), 16).map_err(io::Error::other)?;
            let start = body.len();
            body.resize(start + size + 2, 0);
            self.0.read_exact(&mut body[start..])?;
            body.truncate(start + size);
            if size == 0 {
                return Ok(());
            }
        }
    }
}

/// The `headwater` command with a clean environment.
pub fn headwater(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEADWATER_")) {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    headwater(arguments).output().unwrap()
}

/// Runs a command that must succeed and reads its JSON.
pub fn run_json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A store with one transaction in it.
pub fn small_store(place: &Path) -> PathBuf {
    let store = place.join("demo");
    let file = place.join("transactions.csv");
    std::fs::write(&file, TRANSACTIONS).unwrap();
    run_json(&["ingest", "--json", "--store", store.to_str().unwrap(), file.to_str().unwrap()]);
    store
}

/// One transaction in the form of ethereum-etl.
pub const TRANSACTIONS: &str = "\
hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,block_timestamp,max_fee_per_gas,max_priority_fee_per_gas,transaction_type
0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060,0,0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd,46147,0,0xa1e4380a3b1f749673e270229993ee55f35663b4,0x5df9b87991262f6ba471f09758cde1c0fc1de734,31337,21000,50000000000000,0x,1438918233,,,0
";

/// A serving process.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
    /// The address of the admin listener, unless it is switched off.
    pub admin: Option<SocketAddr>,
}

impl Process {
    pub fn start(store: &Path, more: &[&str]) -> Self {
        Self::with_log(store, more, Stdio::null())
    }

    /// One whose log goes somewhere.
    pub fn with_log(store: &Path, more: &[&str], log: Stdio) -> Self {
        Self::spawn(store, more, log, None).expect("the server starts")
    }

    /// One that has faults under it; `None` when it ended before it answered.
    pub fn with_faults(store: &Path, more: &[&str], faults: &faults::Faults) -> Option<Self> {
        // What it logs may be what it dies of.
        Self::spawn(store, more, Stdio::null(), Some(faults))
    }

    fn spawn(store: &Path, more: &[&str], log: Stdio, faults: Option<&faults::Faults>) -> Option<Self> {
        let mut arguments = vec!["serve", "--json", "--store", store.to_str().unwrap(), "--listen", "127.0.0.1:0"];
        // Most tests call faster than callers may; those about limits set them.
        arguments.extend_from_slice(&["--set", "limits.enabled=false"]);
        arguments.extend_from_slice(more);
        let mut command = headwater(&arguments);
        command.envs(faults.iter().flat_map(|faults| faults.environment()));
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            child.wait().unwrap();
            return None;
        }
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        let url = said["url"].as_str().unwrap();
        let address = url.split_once("://").unwrap().1.parse().unwrap();
        let admin = said["admin"].as_str().map(|url| url.split_once("://").unwrap().1.parse().unwrap());
        Some(Self { child, address, admin })
    }

    pub fn client(&self) -> io::Result<Client> {
        Client::connect(self.address)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
    }

    /// The same, if it still runs.
    pub fn terminate_if_alive(&mut self) {
        if self.ended().is_none() {
            // It may end in between, and stays known until it is waited for.
            let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        }
    }

    /// Waits for the end; gives the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Returns how it ended, if it did.
    pub fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// kill -9.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
