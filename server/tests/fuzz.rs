//! Requests of every route and plain bytes, nearly right and random: what is wrong is the caller's fault or nobody's,
//! never a status of 500 or more, and the server continues.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use headwater_server::routes::document;
use headwater_testkit::fuzz::{FuzzOutcome, Reader};
use serde_json::Value;

use crate::support::{Client, QUIET, Reply, Server};

fn reader(name: &'static str) -> Reader {
    Reader::new(name, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus"))
}

/// A request written as `METHOD path`, a line end, and the body.
struct RawRequest {
    method: String,
    path: String,
    body: Vec<u8>,
}

impl RawRequest {
    /// The nearest request that HTTP can carry.
    fn read(input: &[u8]) -> Self {
        let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let line = String::from_utf8_lossy(&input[..end]);
        let (method, path) = line.split_once(' ').unwrap_or(("GET", &line));
        let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(&method);
        let mut text = String::from("/");
        // What is longer than a head may be at all has no answer, which `door` shows.
        for byte in path.trim_start_matches('/').bytes().take(10_000) {
            // Others no URI has: hyper refuses them before anything of ours sees the request.
            if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte) {
                text.push(char::from(byte));
            } else {
                write!(text, "%{byte:02x}").unwrap();
            }
        }
        let body = input.get(end + 1..).unwrap_or_default().to_vec();
        Self { method: if known { method.to_owned() } else { "GET".to_owned() }, path: text, body }
    }
}

/// A connection that is made anew when the server has ended it.
struct Line {
    address: SocketAddr,
    headers: [(&'static str, String); 2],
    client: RefCell<Client>,
}

impl Line {
    fn to(address: SocketAddr, key: (&'static str, &str)) -> Self {
        let headers = [(key.0, key.1.to_owned()), ("Content-Type", "application/json".to_owned())];
        Self { address, headers, client: RefCell::new(Client::connect(address).unwrap()) }
    }

    fn ask(&self, asked: &RawRequest) -> Reply {
        let headers = self.headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let send = |client: &mut Client| client.send(&asked.method, &asked.path, &headers, &asked.body);
        let mut client = self.client.borrow_mut();
        send(&mut client).unwrap_or_else(|_| {
            *client = Client::connect(self.address).unwrap();
            send(&mut client).unwrap_or_else(|error| panic!("{} {}: {error}", asked.method, asked.path))
        })
    }

    /// Sends a request; the answer is whole and no defect.
    fn check(&self, input: &[u8]) -> FuzzOutcome {
        let asked = RawRequest::read(input);
        let reply = self.ask(&asked);
        let text = String::from_utf8_lossy(&reply.body);
        // A store without tables of holders says what to do.
        let is_defect = reply.status >= 500 && !text.contains("run `headwater compact`");
        assert!(!is_defect, "{} {}: {text}", asked.method, asked.path);
        if reply.status >= 400 {
            let (code, _) = reply.error();
            assert!(!code.is_empty() && reply.body.len() < 20_000, "an error stays short: {} bytes", reply.body.len());
        }
        // What is not there was asked for rightly.
        if reply.status < 300 || reply.status == 404 { FuzzOutcome::Taken } else { FuzzOutcome::Refused }
    }
}

/// The description's example of every operation.
fn described() -> Vec<String> {
    let document = document(headwater_engine::ENDPOINTS);
    let mut requests = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap() {
            let mut query = Vec::new();
            let mut path = path.clone();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let referred = parameter["$ref"].as_str().and_then(|to| document.pointer(to.trim_start_matches('#')));
                let parameter = referred.unwrap_or(parameter);
                let name = parameter["name"].as_str().unwrap();
                let example = match &parameter["example"] {
                    Value::Null => continue,
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                match parameter["in"].as_str() {
                    Some("path") => path = path.replace(&format!("{{{name}}}"), &example),
                    Some("query") => query.push(format!("{name}={example}")),
                    _ => {}
                }
            }
            let body = &operation["requestBody"]["content"]["application/json"]["example"];
            let body = if body.is_null() { String::new() } else { body.to_string() };
            requests.push(format!("{} {path}?{}\n{body}", verb.to_uppercase(), query.join("&")));
        }
    }
    requests
}

#[test]
fn no_request_of_any_described_route_is_met_with_a_defect() {
    let server = Server::start();
    let (_, key) = server.key(1_000_000_000);
    let line = Line::to(server.address, ("X-API-Key", &key));
    // Some ask for what an empty store does not hold.
    let all = described();
    let samples: Vec<String> =
        all.iter().filter(|request| line.check(request.as_bytes()) == FuzzOutcome::Taken).cloned().collect();
    assert!(samples.len() * 2 > all.len(), "{} of {} examples are answered", samples.len(), all.len());
    let words = [
        "%00",
        "&limit=",
        "\"filters\":{}",
        "\"target_url\":\"https://example.com/\"",
        "\"event_type\":\"balance_threshold\"",
        "null",
        "[[",
        "%ff",
        "+",
        "\"threshold\":{\"amount_usd\":1e308}",
        "/../",
        "{id}",
        "\"from\":",
        "PATCH",
        "DELETE",
    ];
    reader("http_requests").samples(samples).words(words).check(|input| line.check(input));
    assert_eq!(line.check(b"GET /healthz"), FuzzOutcome::Taken);
}

#[test]
fn no_request_of_the_back_office_is_met_with_a_defect() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    let (id, _) = server.key(10);
    let line = Line::to(server.admin, ("X-Admin-Key", &admin));
    let samples = [
        "GET /admin/v1/keys".to_owned(),
        "POST /admin/v1/keys\n{\"name\":\"x\",\"credits\":5,\"test\":true}".to_owned(),
        format!("GET /admin/v1/keys/{id}"),
        format!("POST /admin/v1/keys/{id}/credits\n{{\"add\":7}}"),
        "PUT /admin/v1/plans/p\n{\"light\":\"50/100\",\"concurrency\":5}".to_owned(),
        "GET /admin/v1/plans".to_owned(),
        "GET /admin/v1/audit?limit=2&since=0".to_owned(),
        "GET /admin/v1/changes?limit=2".to_owned(),
        format!("GET /admin/v1/usage?key_id={id}"),
        "GET /admin/v1/lost-answers".to_owned(),
    ];
    let samples: Vec<String> =
        samples.into_iter().filter(|request| line.check(request.as_bytes()) == FuzzOutcome::Taken).collect();
    assert!(samples.len() > 7, "{samples:?}");
    let words = [
        "%00",
        "&cursor=",
        "\"refund\":\"x\"",
        "\"plan\":null",
        "-1",
        "DELETE",
        "/rotate",
        "\"grace_hours\":",
        "\"add\":",
    ];
    reader("admin_requests").samples(samples).words(words).check(|input| line.check(input));
    assert_eq!(line.check(b"GET /admin/v1/keys"), FuzzOutcome::Taken);
}

/// A masked frame of WebSocket.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    assert!(length < 126);
    [&[first, 0x80 | length, 0, 0, 0, 0], payload].concat()
}

#[test]
fn no_bytes_bring_the_server_down() {
    let server = Server::start();
    let (_, key) = server.key(1_000_000_000);
    let head = format!("Host: localhost\r\nX-API-Key: {key}\r\n");
    let upgrade = format!(
        "GET /v1/stream HTTP/1.1\r\n{head}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    let subscribe = br#"{"action":"subscribe","id":"1","event_type":"large_transfer","filters":{"blockchain":"tron"}}"#;
    let samples = [
        format!("GET /v1/chains HTTP/1.1\r\n{head}\r\n").into_bytes(),
        format!("POST /v1/transactions HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{QUIET}", QUIET.len()).into_bytes(),
        format!("POST /v1/transactions HTTP/1.1\r\n{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{QUIET}\r\n0\r\n\r\n", QUIET.len()).into_bytes(),
        [upgrade.as_bytes(), &frame(0x81, br#"{"action":"ping","id":"4"}"#), &frame(0x88, b"")].concat(),
        [upgrade.as_bytes(), &frame(0x81, subscribe), &frame(0x89, b"x")].concat(),
        [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0], &[0, 0, 0, 4, 1, 0, 0, 0, 0]].concat(),
    ];
    let words: [&[u8]; 12] = [
        b"\r\n\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"HTTP/1.0",
        b"HTTP/9.9",
        b"ffffffffffffffff\r\n",
        b"X: \x80\xff\r\n",
        &[0x82, 0xff, 0xff],
        &[0x81, 0xfe, 0xff, 0xff],
        &[0, 0, 4, 1, 5, 0, 0, 0, 1],
        b"OPTIONS * ",
    ];
    reader("wire").samples(samples).words(words).check(|input| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        // The server may close as soon as it has had enough, and wait for what was not sent.
        let _ = stream.write_all(input);
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut answer = vec![0; 1 << 16];
        let begun = stream.read(&mut answer).unwrap_or(0);
        answer.truncate(begun);
        let _ = stream.shutdown(Shutdown::Write);
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let _ = stream.read_to_end(&mut answer);
        let status = answer.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.first().copied());
        assert!(status != Some(b'5'), "{}", String::from_utf8_lossy(&answer));
        if answer.is_empty() || status == Some(b'4') { FuzzOutcome::Refused } else { FuzzOutcome::Taken }
    });
    assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
}
