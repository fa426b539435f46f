//! Waiting for the next block: for a time, or until a WebSocket interface announces one.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use headwater_ledger::Cancel;
use headwater_types::{Chain, Family};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket, client_tls};

use crate::error::NodeError;

/// The longest wait until the cancel token is looked at.
const STEP: Duration = Duration::from_millis(50);
/// The longest silence of a socket until it is looked at whether it is still wanted.
const SILENCE: Duration = Duration::from_secs(1);
/// The longest time of each step in which a socket is opened.
const OPENING: Duration = Duration::from_secs(10);
/// A socket that says nothing for this time is opened anew.
const LAPSE: Duration = Duration::from_mins(2);
/// The first and the longest wait before a socket is opened again.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Asks for the announcement of new blocks.
const SUBSCRIBE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}"#;

/// Separates addresses of nodes from those of WebSocket interfaces.
#[must_use]
pub fn split_sockets(urls: &[String]) -> (Vec<String>, Vec<String>) {
    let is_socket = |url: &&String| {
        let scheme = url.trim().split("://").next().unwrap_or_default().to_ascii_lowercase();
        matches!(scheme.as_str(), "ws" | "wss")
    };
    let (sockets, nodes): (Vec<&String>, Vec<&String>) = urls.iter().partition(is_socket);
    let trimmed = |urls: Vec<&String>| urls.into_iter().map(|url| url.trim().to_owned()).collect();
    (trimmed(nodes), trimmed(sockets))
}

/// The wait for the next block.
pub(super) struct Wake {
    bell: Arc<Bell>,
}

/// Rung by sockets.
#[derive(Default)]
struct Bell {
    is_rung: Mutex<bool>,
    rung: Condvar,
    is_over: AtomicBool,
}

impl Wake {
    /// Opens each socket in a thread. A socket that fails is opened again later; polling does not depend on it.
    pub fn new(chain: Chain, sockets: &[String]) -> Result<Self, NodeError> {
        let bell = Arc::new(Bell::default());
        if let (Some(_), false) = (sockets.first(), chain.family() == Family::Evm) {
            return Err(NodeError::Socket(format!(
                "WebSocket interfaces are used of EVM nodes only: leave out ws:// and wss:// addresses for {chain}"
            )));
        }
        for url in sockets {
            let (url, bell) = (url.clone(), Arc::clone(&bell));
            thread::spawn(move || bell.listen(&url));
        }
        Ok(Self { bell })
    }

    /// Waits for a time, or until a socket announces a block or the work is cancelled.
    pub fn wait(&self, time: Duration, cancel: &Cancel) {
        let until = Instant::now() + time;
        let mut is_rung = self.bell.is_rung.lock().expect("no holder of the lock panics");
        while !*is_rung && cancel.check().is_ok() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            is_rung = self.bell.rung.wait_timeout(is_rung, left.min(STEP)).expect("no holder of the lock panics").0;
        }
        *is_rung = false;
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        self.bell.is_over.store(true, Ordering::Release);
    }
}

impl Bell {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    fn ring(&self) {
        *self.is_rung.lock().expect("no holder of the lock panics") = true;
        self.rung.notify_all();
    }

    /// Listens until nobody waits any more.
    fn listen(&self, url: &str) {
        let mut wait = WAITS.0;
        while !self.is_over() {
            let began = Instant::now();
            // Whatever ended it: the next try shows whether it passes.
            let _ = self.listen_once(url);
            wait = if began.elapsed() > LAPSE { WAITS.0 } else { (wait * 2).min(WAITS.1) };
            let until = Instant::now() + wait;
            while !self.is_over() && Instant::now() < until {
                thread::sleep(STEP);
            }
        }
    }

    fn listen_once(&self, url: &str) -> Result<(), Box<dyn std::error::Error>> {
        let mut socket = open(url)?;
        socket.send(Message::text(SUBSCRIBE))?;
        socket.get_mut().set_timeout(SILENCE)?;
        let mut heard = Instant::now();
        while !self.is_over() && heard.elapsed() < LAPSE {
            match socket.read() {
                Ok(message) => {
                    heard = Instant::now();
                    // The answer to the subscription, and what else comes, announces no block.
                    if message.to_text().is_ok_and(|text| text.contains("eth_subscription")) {
                        self.ring();
                    }
                }
                Err(tungstenite::Error::Io(error))
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Opens a socket. No step of it takes longer than [`OPENING`].
fn open(url: &str) -> Result<WebSocket<MaybeTlsStream<TcpStream>>, Box<dyn std::error::Error>> {
    let request = url.into_client_request()?;
    let uri = request.uri();
    let host = uri.host().ok_or("an address without a host")?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("wss") { 443 } else { 80 });
    let address = (host.trim_matches(['[', ']']), port).to_socket_addrs()?.next().ok_or("a host without an address")?;
    let stream = TcpStream::connect_timeout(&address, OPENING)?;
    stream.set_read_timeout(Some(OPENING))?;
    stream.set_write_timeout(Some(OPENING))?;
    Ok(client_tls(request, stream)?.0)
}

/// A stream whose reads end after a time.
trait ReadTimeout {
    fn set_timeout(&mut self, time: Duration) -> io::Result<()>;
}

impl ReadTimeout for MaybeTlsStream<TcpStream> {
    fn set_timeout(&mut self, time: Duration) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.set_read_timeout(Some(time)),
            Self::Rustls(stream) => stream.sock.set_read_timeout(Some(time)),
            _ => Ok(()),
        }
    }
}
