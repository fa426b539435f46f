//! HTTP/2 by hand, where a well-behaved client would not do what a test is about.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::{Server, is_full, within};

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM_AND_HEADERS: u8 = 0x5;

/// One frame (RFC 9113, 4.1).
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes()[..], payload].concat()
}

/// SETTINGS with these values.
pub fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> =
        values.iter().flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()[..]].concat()).collect();
    frame(SETTINGS, 0, 0, &payload)
}

/// A GET without a body: `:method`, `:scheme`, `:path`, `:authority` from the static table (RFC 7541, appendix A).
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    let length = u8::try_from(path.len()).ok().filter(|length| *length < 127).unwrap();
    let head = [&[0x82, 0x86, 0x04, length], path.as_bytes(), &[0x01, 1, b'x']].concat();
    frame(HEADERS, END_STREAM_AND_HEADERS, stream, &head)
}

/// Kind and payload of the frames that come until the connection ends or nothing comes for a second.
fn frames(stream: &mut TcpStream) -> Vec<(u8, Vec<u8>)> {
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut all = Vec::new();
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        if stream.read_exact(&mut payload).is_err() {
            break;
        }
        all.push((head[3], payload));
    }
    all
}

#[test]
fn http_2_is_spoken_without_an_upgrade() {
    let server = Server::start();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(&[PREFACE, &settings(&[]), &get(1, "/healthz")].concat()).unwrap();
    let frames = frames(&mut stream);
    // HEADERS whose first field is `:status: 200`, index 8 of the static table, and DATA.
    assert!(frames.iter().any(|(kind, payload)| *kind == HEADERS && payload.contains(&0x88)), "{frames:?}");
    assert!(frames.iter().any(|(kind, payload)| *kind == 0 && payload == b"{\"status\":\"ok\"}"));
    // SETTINGS_MAX_CONCURRENT_STREAMS.
    assert!(
        frames
            .iter()
            .any(|(kind, payload)| *kind == SETTINGS && payload.chunks(6).any(|one| one == [0, 3, 0, 0, 0, 100]))
    );
}

#[test]
fn who_asks_and_resets_again_and_again_is_put_out() {
    let server = Server::start();
    let attackers = if is_full() { 500 } else { 5 };
    let started = Instant::now();
    let mut sent = Vec::new();
    for _ in 0..attackers {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(&[PREFACE, &settings(&[])].concat()).unwrap();
        let mut resets = 0_u32;
        while resets < 100_000 {
            let number = 2 * resets + 1;
            let pair = [get(number, "/openapi.json"), frame(RST_STREAM, 0, number, &8_u32.to_be_bytes())].concat();
            if stream.write_all(&pair).is_err() {
                break;
            }
            resets += 1;
        }
        sent.push(resets);
    }
    let most = sent.iter().max().unwrap();
    println!(
        "rapid reset: {attackers} clients, each put out after at most {most} resets sent, {:.1?} in all",
        started.elapsed()
    );
    // What is sent before the end is heard of is more than what was taken.
    assert!(*most < 100_000, "{sent:?}");
    assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
    within(Duration::from_secs(20), "nothing is held", || server.gateway.state().accounts().held() == 0);
}

#[test]
fn http2_clients_are_notified_before_shutdown() {
    let server = Server::start();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(&[PREFACE, &settings(&[]), &get(1, "/healthz")].concat()).unwrap();
    let mut first = [0; 9];
    stream.read_exact(&mut first).unwrap();
    let reader = std::thread::spawn(move || frames_after(&mut stream, first));
    drop(server);
    let kinds = reader.join().unwrap();
    assert!(kinds.contains(&GOAWAY), "{kinds:?}");
}

/// The kinds of all frames, the first of which was begun already.
fn frames_after(stream: &mut TcpStream, head: [u8; 9]) -> Vec<u8> {
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload).unwrap();
    frames(stream).into_iter().map(|(kind, _)| kind).collect()
}
