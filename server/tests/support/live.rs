//! A store that grows while a gateway follows it, and those who listen to the gateway.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use headwater_ledger::facts::{Batch, BlockFacts, Body, TransactionFacts};
use headwater_ledger::feed::FeedLimits;
use headwater_ledger::read::Status;
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use headwater_server::events::webhook::egress::{EgressSettings, Policy};
use headwater_server::events::{EventSettings, EventTasks, Pace};
use headwater_server::gateway::{Gateway, Settings, bind};
use headwater_server::service::{Service, serve};
use headwater_state::{Environment, Home, Options, State};
use headwater_types::{Address, Amount, Chain, Timestamp, TxHash};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::{Client, Reply, within};

/// The payer of every transaction of a [`LiveStore`].
pub const PAYER: &str = "0x00000000000000000000000000000000000000a1";
/// The payee.
pub const PAYEE: &str = "0x00000000000000000000000000000000000000b2";
/// 2025-01-01 00:00:00 UTC.
const START: i64 = 1_735_689_600;

/// Filters that match the events of [`LiveStore::block`].
pub fn filters() -> Value {
    json!({"blockchain": "ethereum", "addresses": [PAYER]})
}

/// A store that makes an event of every block it is given.
pub struct LiveStore {
    place: TempDir,
    writer: Writer,
    blocks: u64,
    transactions: u64,
}

impl LiveStore {
    pub fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    fn within(place: TempDir) -> Self {
        let mut writer = Writer::open_or_create(place.path().join("demo")).unwrap();
        writer.begin_events();
        writer.begin_load();
        let mut live = Self { place, writer, blocks: 0, transactions: 0 };
        live.block(0);
        live
    }

    /// Makes the store anew, at its place.
    pub fn anew(self) -> Self {
        let Self { place, writer, .. } = self;
        drop(writer);
        std::fs::remove_dir_all(place.path().join("demo")).unwrap();
        Self::within(place)
    }

    pub fn store(&self) -> PathBuf {
        self.place.path().join("demo")
    }

    /// Adds a block in which the payer pays so many times, each time a wei more.
    pub fn block(&mut self, payments: u64) {
        let values: Vec<u64> = (1..=payments).map(|number| self.transactions + number).collect();
        self.pay((PAYER, PAYEE), &values);
    }

    /// Adds a block in which one pays another so many wei at a time.
    pub fn pay(&mut self, (from, to): (&str, &str), values: &[u64]) {
        self.blocks += 1;
        let (block, time) = (1000 + self.blocks, Timestamp::new(START + i64::try_from(self.blocks).unwrap() * 12));
        let account = |text: &str| Address::parse(Chain::ETHEREUM, text).unwrap();
        let transactions = values
            .iter()
            .zip(0..)
            .map(|(value, index)| {
                self.transactions += 1;
                let mut hash = [7; 32];
                hash[24..].copy_from_slice(&self.transactions.to_be_bytes());
                TransactionFacts {
                    time: Some(time),
                    index: Some(index),
                    body: Some(Body { from: Some(account(from)), to: Some(account(to)), value: Amount::from(*value) }),
                    status: Some(Status::Success),
                    ..TransactionFacts::new(TxHash::new(hash), block)
                }
            })
            .collect();
        let blocks = vec![BlockFacts { number: block, hash: None, parent: None, time }];
        let batch = Batch { blocks, transactions, ..Batch::new(Chain::ETHEREUM) };
        self.writer.commit(batch, &Cancel::new()).unwrap();
    }

    /// From now on the feed holds so many blocks and no more.
    pub fn forget_all_but(&mut self, items: u64) {
        self.writer.keep_feed(FeedLimits { secs: 0, items, most: items });
    }

    /// Payments so far.
    pub fn payments(&self) -> usize {
        usize::try_from(self.transactions).unwrap()
    }
}

/// Local receivers, and a schedule whose seconds take so many milliseconds.
pub fn local(second_ms: u32) -> EventSettings {
    EventSettings {
        egress: EgressSettings { policy: Policy::LOCAL, ..EgressSettings::default() },
        pace: Pace { second_ms },
        ..EventSettings::default()
    }
}

/// A gateway in this process that follows a store.
pub struct LiveServer {
    pub address: SocketAddr,
    state: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl LiveServer {
    pub fn start(store: &Path, events: EventSettings) -> Self {
        let state = store.with_file_name("live.state");
        let (path, ledgers) = (state.clone(), Arc::new(Store::open(store).unwrap()));
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, ready) = mpsc::channel();
        let thread = thread::spawn(move || {
            let state = State::start(&Home::in_folder(&path).unwrap(), Options::default(), Box::new(|| {})).unwrap();
            let service = Service::new(Gateway::new(ledgers, state, Settings::default()), events);
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
                let address = listener.local_addr().unwrap();
                let running = EventTasks::start(service.events(), vec![address]);
                started.send(address).unwrap();
                let stop = async {
                    let _ = stopped.await;
                };
                serve(listener, &service, stop, Duration::from_secs(5)).await.unwrap();
                running.stop().await;
            });
        });
        let address = ready.recv().unwrap();
        Self { address, state, stop: Some(stop), thread: Some(thread) }
    }

    /// Makes a key; gives its id and text.
    pub fn key(&self) -> (String, String) {
        let home = Home::in_folder(&self.state).unwrap();
        let made = home.admin("test", |admin| admin.create_key("test", Environment::Test, 0, None)).unwrap();
        let key = made.key.expose().to_owned();
        within(Duration::from_secs(20), "the key is known", || self.call("GET", "/v1/chains", &key, "").status == 200);
        (made.id, key)
    }

    pub fn revoke(&self, id: &str) {
        Home::in_folder(&self.state).unwrap().admin("test", |admin| admin.revoke_key(id)).unwrap();
    }

    pub fn call(&self, method: &str, path: &str, key: &str, body: &str) -> Reply {
        call(self.address, method, path, key, body)
    }

    /// Makes a webhook for all payments; gives its id and secret.
    pub fn webhook(&self, key: &str, url: &str) -> (String, String) {
        webhook(self.address, key, url)
    }

    /// Returns the server to stop, and does not wait for it.
    pub fn begin_stop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
    }
}

impl Drop for LiveServer {
    fn drop(&mut self) {
        self.begin_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn call(address: SocketAddr, method: &str, path: &str, key: &str, body: &str) -> Reply {
    let mut headers = vec![("X-API-Key", key)];
    if !body.is_empty() {
        headers.push(("Content-Type", "application/json"));
    }
    Client::connect(address).unwrap().send(method, path, &headers, body.as_bytes()).unwrap()
}

pub fn webhook(address: SocketAddr, key: &str, url: &str) -> (String, String) {
    let body = json!({"target_url": url, "event_type": "address_activity", "filters": filters()});
    let reply = call(address, "POST", "/v1/webhooks", key, &body.to_string());
    assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(&reply.body));
    let data = &reply.json()["data"];
    (data["id"].as_str().unwrap().to_owned(), data["secret"].as_str().unwrap().to_owned())
}

/// A delivery as it arrived.
#[derive(Debug, Clone)]
pub struct ReceivedDelivery {
    pub path: String,
    pub id: String,
    pub timestamp: i64,
    pub signatures: Vec<String>,
    pub body: String,
    pub at: Instant,
}

type Answer = dyn Fn(&ReceivedDelivery) -> String + Send + Sync;

/// Somebody who takes deliveries.
pub struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Vec<ReceivedDelivery>>>,
    /// Most connections at a time.
    pub most: Arc<AtomicUsize>,
}

impl Receiver {
    /// Takes deliveries; what `answer` gives is a status line's end, such as `200 OK`, and headers behind it.
    pub fn start(answer: impl Fn(&ReceivedDelivery) -> String + Send + Sync + 'static) -> Self {
        Self::over(answer, None)
    }

    /// Takes deliveries over TLS, with a certificate.
    pub fn secure(
        answer: impl Fn(&ReceivedDelivery) -> String + Send + Sync + 'static,
        certificate: Arc<rustls::ServerConfig>,
    ) -> Self {
        Self::over(answer, Some(certificate))
    }

    fn over(
        answer: impl Fn(&ReceivedDelivery) -> String + Send + Sync + 'static,
        tls: Option<Arc<rustls::ServerConfig>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // Set to listen again, it has room for who comes while no thread accepts.
        rustix::net::listen(&listener, 4096).unwrap();
        let address = listener.local_addr().unwrap();
        let (received, most, now) = (Arc::default(), Arc::default(), Arc::new(AtomicUsize::new(0)));
        let (answer, list): (Arc<Answer>, Arc<Mutex<Vec<ReceivedDelivery>>>) =
            (Arc::new(answer), Arc::clone(&received));
        let peak: Arc<AtomicUsize> = Arc::clone(&most);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (answer, list, now, tls) = (Arc::clone(&answer), Arc::clone(&list), Arc::clone(&now), tls.clone());
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::spawn(move || {
                    let _ = match tls {
                        None => take(stream, &*answer, &list),
                        Some(tls) => {
                            let connection = rustls::ServerConnection::new(tls).unwrap();
                            take(rustls::StreamOwned::new(connection, stream), &*answer, &list)
                        }
                    };
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, received, most }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Returns the URL under which a name leads to it.
    pub fn https_url(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}/{path}", self.address.port())
    }

    pub fn received(&self) -> Vec<ReceivedDelivery> {
        self.received.lock().unwrap().clone()
    }

    pub fn wait_for(&self, time: Duration, count: usize) -> Vec<ReceivedDelivery> {
        within(time, &format!("{count} deliveries"), || self.received.lock().unwrap().len() >= count);
        self.received()
    }
}

fn take(stream: impl Read + Write, answer: &Answer, list: &Mutex<Vec<ReceivedDelivery>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let path = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let mut headers = std::collections::BTreeMap::new();
    loop {
        let mut line = String::new();
        // Who is killed before its request is whole has delivered nothing.
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let received = ReceivedDelivery {
        path,
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp").parse().unwrap_or(0),
        signatures: header("webhook-signature").split(' ').map(str::to_owned).collect(),
        body: String::from_utf8(body).unwrap_or_default(),
        at: Instant::now(),
    };
    let text = answer(&received);
    list.lock().unwrap().push(received);
    let stream = reader.get_mut();
    stream.write_all(format!("HTTP/1.1 {text}\r\nContent-Length: 0\r\n\r\n").as_bytes())?;
    stream.flush()
}

/// A client of the stream.
pub struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// Opens a stream; the status where that is refused.
    pub fn open(address: SocketAddr, query: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let mut request = format!("ws://{address}/v1/stream{query}").into_client_request().unwrap();
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).map_err(|_| 0_u16)?;
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        match client(request, stream) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(tokio_tungstenite::tungstenite::HandshakeError::Failure(
                tokio_tungstenite::tungstenite::Error::Http(response),
            )) => Err(response.status().as_u16()),
            Err(_) => Err(0),
        }
    }

    /// From now on the system of the client holds this little for it, so that what it does not read stays with the server.
    pub fn hold_little(&self) {
        rustix::net::sockopt::set_socket_recv_buffer_size(self.0.get_ref(), 16 << 10).unwrap();
    }

    pub fn say(&mut self, message: &Value) {
        self.text(&message.to_string());
    }

    pub fn text(&mut self, text: &str) {
        // The server may have ended it already, which the next read shows.
        let _ = self.0.send(Message::text(text));
    }

    /// Says a text in frames of so many bytes.
    pub fn frames(&mut self, text: &str, bytes: usize) {
        let last = text.len().div_ceil(bytes) - 1;
        for (place, piece) in text.as_bytes().chunks(bytes).enumerate() {
            let data = OpCode::Data(if place == 0 { Data::Text } else { Data::Continue });
            let _ = self.0.send(Message::Frame(Frame::message(piece.to_vec(), data, place == last)));
        }
    }

    /// Says what is not a message: bytes on the wire.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Says that it ends the stream.
    pub fn close(&mut self) {
        let frame = CloseFrame { code: 1000.into(), reason: "done".into() };
        self.0.close(Some(frame)).unwrap();
    }

    /// The next message, heartbeats left out; the close code where there is none (0 without a code).
    pub fn hear(&mut self) -> Result<Value, u16> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => {
                    let value: Value = serde_json::from_str(&text).unwrap();
                    if value["type"] != "heartbeat" {
                        return Ok(value);
                    }
                }
                Ok(Message::Close(frame)) => return Err(frame.map_or(0, |frame| frame.code.into())),
                Ok(_) => {}
                Err(_) => return Err(0),
            }
        }
    }

    /// The code it is closed with; what comes before is passed over.
    pub fn closing(&mut self) -> u16 {
        loop {
            if let Err(code) = self.hear() {
                return code;
            }
        }
    }

    /// Subscribes to all payments, from behind an event or from now on; gives the subscription.
    pub fn subscribe(&mut self, after: Option<&str>) -> Result<String, u16> {
        let mut message =
            json!({"action": "subscribe", "id": "s", "event_type": "address_activity", "filters": filters()});
        if let Some(after) = after {
            message["after"] = json!(after);
        }
        self.say(&message);
        loop {
            let answer = self.hear()?;
            assert_ne!(answer["type"], "error", "{answer}");
            if answer["type"] == "subscribed" {
                return Ok(answer["subscription"].as_str().unwrap().to_owned());
            }
        }
    }

    /// The next event, with what else is said passed over.
    pub fn event(&mut self) -> Result<(i64, String), u16> {
        loop {
            let message = self.hear()?;
            if message["type"] == "event" {
                let seq = message["seq"].as_i64().unwrap();
                return Ok((seq, message["event"]["id"].as_str().unwrap().to_owned()));
            }
        }
    }

    pub fn stream(&self) -> &TcpStream {
        self.0.get_ref()
    }
}
