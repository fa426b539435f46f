//! Bodies that are meant to do harm.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{
    Process, QUIET, Reply, forget_peak, is_full, made_key, peak, quantile, resident, small_store, verdict,
};

/// Most bytes of a body that are taken.
const LIMIT: usize = 1 << 20;

/// The time that a refusal may take.
const AIM: Duration = Duration::from_millis(50);

/// The maximum growth of memory under all of them together.
const MAX_MEMORY: u64 = 32 << 20;

/// A hostile body: headers, how often which piece is sent, and the status that it meets.
struct HostileBody<'a> {
    name: &'static str,
    headers: Vec<(&'a str, &'a str)>,
    body: Vec<u8>,
    status: u16,
    reason: &'static str,
}

#[test]
fn hostile_bodies_are_refused_at_once_and_freed() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let key = made_key(&store, 100_000);
    let key = key.as_str();
    let server = Process::start(&store, &[]);
    let json = ("Content-Type", "application/json");
    let keyed = ("X-API-Key", key);
    let mut many = String::from("{\"blockchain\":\"ethereum\"");
    for field in 0..60_000 {
        write!(many, ",\"f{field}\":0").unwrap();
    }
    many.push('}');
    assert!(many.len() < LIMIT);
    let number = format!("{{\"limit\":{}}}", "1".repeat(LIMIT - 20));
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let text = |text: &str| text.as_bytes().to_vec();
    let gzip = ("Content-Encoding", "gzip");
    // In full as large as a body may be.
    let bomb = zipped(if is_full() { 1000 << 20 } else { 64 << 20 });
    assert!(bomb.len() < LIMIT);
    let hostile = |name, headers: Vec<_>, body, status, reason| HostileBody { name, headers, body, status, reason };
    let cases = [
        hostile(
            "a stated length of 1 GiB",
            vec![keyed, json, ("Content-Length", "1073741824")],
            Vec::new(),
            413,
            "payload_too_large",
        ),
        hostile("2 MiB", vec![keyed, json], vec![b' '; 2 << 20], 413, "payload_too_large"),
        hostile("a depth of 100,000", vec![keyed, json], deep.into_bytes(), 400, "invalid_json"),
        hostile("60,000 unknown fields", vec![keyed, json], many.into_bytes(), 400, "invalid_json"),
        hostile("a number of 1 MiB", vec![keyed, json], number.into_bytes(), 400, "invalid_json"),
        hostile(
            "a field given twice",
            vec![keyed, json],
            text(r#"{"blockchain":"ethereum","blockchain":"tron"}"#),
            400,
            "invalid_json",
        ),
        hostile("gzip of a thousand times its size", vec![keyed, json, gzip], bomb.clone(), 415, ""),
        hostile("the same without its header", vec![keyed, json], bomb, 400, "invalid_json"),
        hostile("another media type", vec![keyed, ("Content-Type", "text/xml")], text(QUIET), 415, ""),
        hostile("bytes that are not text", vec![keyed, json], vec![0xff; 1000], 400, "invalid_json"),
    ];
    let rounds = if is_full() { 50 } else { 3 };
    let (mut times, mut before) = (Vec::new(), 0);
    let mut streamed: [Vec<StreamedReply>; 2] = Default::default();
    // The first round is not measured: what the allocator keeps for each thread is there before it begins.
    for round in 0..=rounds {
        if round == 1 {
            before = resident(server.id());
            forget_peak(server.id());
            times.clear();
        }
        for case in &cases {
            let mut client = server.client().unwrap();
            let started = Instant::now();
            let reply = client.send("POST", "/v1/transactions", &case.headers, &case.body).unwrap();
            times.push(started.elapsed());
            assert_eq!((reply.status, reply.error().1.as_str()), (case.status, case.reason), "{}", case.name);
            assert!(reply.body.len() < 10_000, "{}: the answer has {} bytes", case.name, reply.body.len());
        }
        let bodies: [Box<dyn Iterator<Item = Vec<u8>>>; 2] = [Box::new(spaces()), Box::new(fields())];
        for (body, seen) in bodies.into_iter().zip(&mut streamed) {
            let one = in_chunks(&server, key, body);
            assert_eq!((one.reply.status, one.reply.error().1.as_str()), (413, "payload_too_large"));
            assert!(one.sent < 64 << 20, "{} bytes were let through", one.sent);
            times.push(one.after_limit);
            seen.push(one);
        }
    }
    let grown = peak(server.id()).saturating_sub(before);
    let left = resident(server.id()).saturating_sub(before);
    let [half, slowest] = [0.5, 1.0].map(|share| quantile(&mut times, share));
    let [spaces, fields] = streamed.map(|seen| seen.iter().map(|one| one.sent >> 10).max().unwrap());
    println!(
        "bodies: {} hostile ones, half of them refused in {half:.1?}, slowest in {slowest:.1?} (aim 50 ms: {}); of 1 GiB in chunks at most {spaces} KiB were let through, of {FIELDS} fields {fields} KiB, each answered 413; memory +{} KiB at its peak (aim 32 MiB: {}), +{} KiB afterwards",
        times.len(),
        verdict(slowest <= AIM),
        grown >> 10,
        verdict(grown <= MAX_MEMORY),
        left >> 10
    );
    // The slowest waits for a processor as long as others keep it busy.
    assert!(half <= AIM && slowest <= Duration::from_secs(2), "{half:?} {slowest:?}");
    // What was given back the allocator hands on to the system a little later, so that the peak moves.
    assert!(left <= MAX_MEMORY && grown <= 2 * MAX_MEMORY, "{left} {grown}");
    assert_eq!(server.client().unwrap().post("/v1/transactions", key, QUIET).unwrap().status, 200);
}

/// So many zeros, compressed.
fn zipped(zeros: u64) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    std::io::copy(&mut std::io::repeat(0).take(zeros), &mut encoder).unwrap();
    encoder.flush().unwrap();
    let zipped = encoder.finish().unwrap();
    assert!(u64::try_from(zipped.len()).unwrap() * 1000 <= zeros, "{} bytes", zipped.len());
    zipped
}

/// 1 GiB of nothing, in pieces.
fn spaces() -> impl Iterator<Item = Vec<u8>> {
    std::iter::repeat_n(vec![b' '; 1 << 16], 1 << 14)
}

/// Fields of the body that has most of them.
const FIELDS: usize = 10_000_000;

/// An object of so many fields, in pieces.
fn fields() -> impl Iterator<Item = Vec<u8>> {
    const PIECE: usize = 5_000;
    (0..FIELDS / PIECE).map(|piece| {
        let mut text = String::from(if piece == 0 { "{\"blockchain\":\"ethereum\"" } else { "" });
        for field in piece * PIECE..(piece + 1) * PIECE {
            write!(text, ",\"f{field}\":0").unwrap();
        }
        text.into_bytes()
    })
}

/// The outcome of a body without a stated length.
struct StreamedReply {
    reply: Reply,
    /// Bytes that the server let through.
    sent: usize,
    /// From the byte that was one too many to the answer.
    after_limit: Duration,
}

/// Sends a body in chunks until the server has had enough, and reads its answer meanwhile.
fn in_chunks(server: &Process, key: &str, body: impl Iterator<Item = Vec<u8>>) -> StreamedReply {
    let mut client = server.client().unwrap();
    let mut reader = client.twin().unwrap();
    let answer = thread::spawn(move || {
        let reply = reader.read(false).unwrap();
        (reply, Instant::now())
    });
    let head = format!(
        "POST /v1/transactions HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    client.try_raw(head.as_bytes()).unwrap();
    let (mut sent, mut beyond) = (0, None);
    for piece in body {
        if sent + piece.len() > LIMIT {
            beyond.get_or_insert_with(Instant::now);
        }
        let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
        if client.try_raw(&chunk).is_err() {
            break;
        }
        sent += piece.len();
    }
    let (reply, answered) = answer.join().unwrap();
    StreamedReply { reply, sent, after_limit: answered.saturating_duration_since(beyond.unwrap()) }
}
