//! Slow clients that stay within the limits, and some that do not.

use std::sync::{Mutex, Weak};

use axum::body::Body;
use axum::http::{Request, Response};
use headwater_state::RequestId;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use super::*;
use crate::gateway::answer::InFlightResponse;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// More than what the system holds for a client.
const LARGE: usize = 2 << 20;
/// One byte more than the first window of HTTP/2.
const WINDOW_AND_ONE: usize = 65_536;
/// No test takes as long.
const LONG: Duration = Duration::from_mins(1);

/// Gives as many bytes as the path says, after so many milliseconds as the query says.
#[derive(Clone, Default)]
struct Answers {
    in_flight: Arc<Mutex<Weak<InFlightResponse>>>,
}

impl Answers {
    fn is_on_its_way(&self) -> bool {
        self.in_flight.lock().unwrap().upgrade().is_some()
    }
}

impl Routes for Answers {
    fn answer(&self, request: Request<Body>, _: SocketAddr) -> impl Future<Output = Response<Body>> + Send + use<> {
        let answers = self.clone();
        async move {
            let bytes = request.uri().path()[1..].parse().unwrap();
            let wait_ms = request.uri().query().map_or(0, |wait_ms| wait_ms.parse().unwrap());
            sleep(Duration::from_millis(wait_ms)).await;
            let in_flight = Arc::new(InFlightResponse::new(Some((Arc::default(), RequestId::default())), None));
            *answers.in_flight.lock().unwrap() = Arc::downgrade(&in_flight);
            let mut response = Response::new(Body::from(vec![b'x'; bytes]));
            response.extensions_mut().insert(in_flight);
            response
        }
    }
}

fn config(idle_ms: u64, stall_ms: u64) -> ListenerConfig {
    let [idle, stall] = [idle_ms, stall_ms].map(Duration::from_millis);
    ListenerConfig { idle, stall, ..ListenerConfig::default() }
}

/// Serves, and connects to it with little room for what comes.
async fn connect(config: ListenerConfig) -> (Answers, TcpStream) {
    let answers = Answers::default();
    let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let routes = answers.clone();
    tokio::spawn(async move { listen(config, listener, routes, std::future::pending(), LONG).await });
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 << 10).unwrap();
    // The listener bounds what the system holds once it runs.
    sleep(Duration::from_millis(50)).await;
    (answers, socket.connect(address).await.unwrap())
}

async fn ask(stream: &mut (impl AsyncWrite + Unpin), path: &str) {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
}

/// Reads an answer of so many bytes, a part at a time; gives how many of them came.
async fn read_slowly(stream: &mut (impl AsyncRead + Unpin), bytes: usize, pause: Duration) -> usize {
    let (mut head, mut part, mut came) = (Vec::new(), vec![0; 16 << 10], 0);
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    while came < bytes {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => break,
            Ok(read) => came += read,
        }
        sleep(pause).await;
    }
    came
}

/// One frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes()[..], payload].concat()
}

/// Returns the bytes that open a connection of HTTP/2 and ask once on it.
fn first_of_http2(path: &str) -> Vec<u8> {
    let length = u8::try_from(path.len()).unwrap();
    let head = [&[0x82, 0x86, 0x04, length], path.as_bytes(), &[0x01, 1, b'x']].concat();
    [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 0x5, 1, &head)].concat()
}

/// Reads the bodies of HTTP/2 until one is whole; what comes makes room for as much again where it is said to.
async fn read_http2(stream: &mut TcpStream, makes_room: bool, pause: Duration) -> usize {
    let (mut came, mut taken) = (0, 0_u32);
    let mut head = [0; 9];
    while stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        if stream.read_exact(&mut payload).await.is_err() {
            break;
        }
        if head[3] != 0 {
            continue;
        }
        came += payload.len();
        if head[4] & 1 == 1 {
            break;
        }
        taken += length;
        if makes_room && taken >= 16 << 10 {
            let room = [0, 1].map(|number| frame(8, 0, number, &taken.to_be_bytes())).concat();
            stream.write_all(&room).await.unwrap();
            taken = 0;
            sleep(pause).await;
        }
    }
    came
}

const PAUSE: Duration = Duration::from_millis(30);

#[tokio::test]
async fn steady_client_gets_its_whole_answer_despite_a_short_idle() {
    let (_, mut stream) = connect(config(200, 3000)).await;
    ask(&mut stream, &format!("/{LARGE}")).await;
    assert_eq!(timeout(LONG, read_slowly(&mut stream, LARGE, PAUSE)).await.unwrap(), LARGE);
}

#[tokio::test]
async fn so_does_one_of_http2() {
    let (answers, mut stream) = connect(config(200, 3000)).await;
    stream.write_all(&first_of_http2(&format!("/{LARGE}"))).await.unwrap();
    assert_eq!(timeout(LONG, read_http2(&mut stream, true, PAUSE)).await.unwrap(), LARGE);
    sleep(PAUSE).await;
    assert!(!answers.is_on_its_way());
}

#[tokio::test]
async fn http2_answer_without_room_is_in_flight_until_it_stalls() {
    let (answers, mut stream) = connect(config(60_000, 1000)).await;
    stream.write_all(&first_of_http2(&format!("/{WINDOW_AND_ONE}"))).await.unwrap();
    let reader = tokio::spawn(async move { read_http2(&mut stream, false, Duration::ZERO).await });
    sleep(Duration::from_millis(500)).await;
    assert!(answers.is_on_its_way());
    assert_eq!(timeout(LONG, reader).await.unwrap().unwrap(), WINDOW_AND_ONE - 1);
    sleep(PAUSE).await;
    assert!(!answers.is_on_its_way());
}

#[tokio::test]
async fn http2_is_known_when_its_first_bytes_come_one_by_one() {
    let (_, mut stream) = connect(config(60_000, 1000)).await;
    stream.set_nodelay(true).unwrap();
    let first = first_of_http2(&format!("/{LARGE}"));
    for byte in &first[..2] {
        stream.write_all(&[*byte]).await.unwrap();
        sleep(Duration::from_millis(100)).await;
    }
    stream.write_all(&first[2..]).await.unwrap();
    assert_eq!(timeout(LONG, read_http2(&mut stream, false, Duration::ZERO)).await.unwrap(), WINDOW_AND_ONE - 1);
}

#[tokio::test]
async fn under_tls_a_request_after_a_large_answer_has_its_time() {
    let place = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (place.path().join("server.pem"), place.path().join("server.key"));
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    let tls = Some(Arc::new(Tls::load(&certificate, &key).unwrap()));
    let config = ListenerConfig { tls, ..config(60_000, 2000) };
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(client));
    // Of one of them a last part waits under TLS for the system, whatever the system holds.
    let sizes = (256..1280).step_by(40).map(|kibibytes| kibibytes << 10);
    let asked = sizes.map(|size| tokio::spawn(answers_two(config.clone(), connector.clone(), size)));
    for answered in asked.collect::<Vec<_>>() {
        timeout(LONG, answered).await.unwrap().unwrap();
    }
}

/// Lets a large answer wait, takes it at once, and asks for one that takes longer than the large one may be stalled.
async fn answers_two(config: ListenerConfig, connector: TlsConnector, size: usize) {
    let (_, stream) = connect(config).await;
    let mut stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
    ask(&mut stream, &format!("/{size}")).await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(read_slowly(&mut stream, size, Duration::ZERO).await, size);
    ask(&mut stream, "/5?4000").await;
    assert_eq!(read_slowly(&mut stream, 5, Duration::ZERO).await, 5, "after {size} bytes");
}
