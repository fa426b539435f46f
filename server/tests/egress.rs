//! Targets that deliveries must not reach, and hostile receivers.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::HeaderMap;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use headwater_server::events::webhook::egress::{
    Attempt, DeliveryError, Egress, EgressSettings, Policy, Reach, Resolve, Scope, Target, reach,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{is_full, resident};

/// Answers from a list; a name that is not in it does not exist.
#[derive(Default)]
struct Names(Mutex<HashMap<String, Vec<Vec<IpAddr>>>>, AtomicUsize);

impl Names {
    /// The answers that a name gives, one after the other; the last one stays.
    fn put(&self, name: &str, answers: Vec<Vec<IpAddr>>) {
        self.0.lock().unwrap().insert(format!("{name}."), answers);
    }

    fn asked(&self) -> usize {
        self.1.load(Ordering::SeqCst)
    }
}

impl Resolve for Names {
    fn resolve<'a>(
        &'a self,
        name: &'a str,
    ) -> std::pin::Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let mut names = self.0.lock().unwrap();
        let answer = names.get_mut(name).map(|answers| match answers.as_slice() {
            [only] => only.clone(),
            _ => answers.remove(0),
        });
        Box::pin(async move { answer.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }
}

/// A listener on all addresses of this machine that nobody may ever reach.
struct Trap {
    port: u16,
    seen: Arc<AtomicUsize>,
}

impl Trap {
    async fn set() -> Self {
        let seen = Arc::new(AtomicUsize::new(0));
        let four = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = four.local_addr().unwrap().port();
        // A machine without IPv6 has nothing to be trapped there.
        let six = TcpListener::bind(("::1", port)).await.ok();
        for listener in [Some(four), six].into_iter().flatten() {
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                while listener.accept().await.is_ok() {
                    seen.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        Self { port, seen }
    }

    /// Returns the policy of the public, if this port were one that is taken.
    fn policy(&self) -> Policy {
        Policy { scope: Scope::Public, ports: Some(Box::leak(Box::new([443, 80, self.port]))) }
    }
}

fn egress(policy: Policy, names: &Arc<Names>, deadline: Duration) -> Arc<Egress> {
    let resolver: Arc<dyn Resolve> = Arc::<Names>::clone(names);
    Arc::new(Egress::new(EgressSettings { policy, resolver, deadline, ..EgressSettings::default() }))
}

async fn post(egress: &Egress, url: &str) -> Attempt {
    egress.post(1, url, HeaderMap::new(), Bytes::from_static(b"{}")).await
}

const FOUR: &[&str] = &[
    "0.0.0.0",
    "0.0.0.1",
    "0.255.255.255",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.254",
    "127.0.0.1",
    "127.0.0.2",
    "127.1.2.3",
    "127.255.255.255",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.2.1",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "192.175.48.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "233.252.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
];

const SIX: &[&str] = &[
    "::",
    "::1",
    "::7f00:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::127.0.0.1",
    "64:ff9b:1:ffff::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "2001:2::1",
    "2001:3::1",
    "2001:4:112::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:a9fe:a9fe::1",
    "2620:4f:8000::1",
    "2606:4700::5efe:7f00:1",
    "2606:4700::200:5efe:a00:1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "8000::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff00::1",
    "ff02::1",
    "ff05::2",
    "ff0e::1",
];

/// Other ways to write 127.0.0.1, 10.0.0.1, 192.168.0.1, 169.254.169.254 and 0.0.0.0.
const SPELLINGS: &[&str] = &[
    "2130706433",
    "0x7f000001",
    "0X7F000001",
    "017700000001",
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0177.1",
    "0177.0.0.1",
    "0x7f.0x0.0x0.0x1",
    "0177.0x0.0.01",
    "127.0.0.1.",
    "127.000.000.001",
    "00000177.0.0.1",
    "0x0000007f.0.0.1",
    "167772161",
    "0xa000001",
    "012.0.0.1",
    "10.1",
    "3232235521",
    "0xc0a80001",
    "192.168.1",
    "0300.0250.0.1",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.16689662",
    "0",
    "0x0",
    "00",
    "0.0",
    "0x.0x.0.0",
];

/// Whole URLs that mislead a reader of URLs; `PORT` becomes the port of the trap.
const MISLEADING: &[&str] = &[
    "https://example.com@127.0.0.1:PORT/",
    "https://127.0.0.1:PORT@example.com/",
    "https://a:b@127.0.0.1:PORT/",
    "https://:@127.0.0.1:PORT/",
    "https://@127.0.0.1:PORT/",
    "https://example.com:443@127.0.0.1:PORT/",
    "https://127.0.0.1:PORT\\@example.com/",
    "https://example.com\\@127.0.0.1:PORT/",
    "https:\\\\127.0.0.1:PORT/",
    "https:127.0.0.1:PORT",
    "https:/127.0.0.1:PORT/",
    "https:///127.0.0.1:PORT/",
    "//127.0.0.1:PORT/",
    "127.0.0.1:PORT",
    "http://127.0.0.1:PORT/",
    "ftp://127.0.0.1:PORT/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:PORT/_x",
    "https://127.0.0.1 :PORT/",
    "https://127.0.0.1\t:PORT/",
    "https://127.0.0.1\n:PORT/",
    "https://127.0.0.1\0:PORT/",
    "https://①②⑦.⓪.⓪.①:PORT/",
    "https://127。0。0。1:PORT/",
    "https://１２７.0.0.1:PORT/",
    "https://%31%32%37.0.0.1:PORT/",
    "https://127.0.0.1%00.example.com:PORT/",
    "https://localhost:PORT/",
    "https://LOCALHOST.:PORT/",
    "https://a.localhost:PORT/",
    "https://localhost%2e:PORT/",
    "https://[::1%25lo]:PORT/",
    "https://[::1]%40example.com:PORT/",
    "https://[::1:PORT/",
    "https://[[::1]]:PORT/",
    "https://[v1.x]:PORT/",
    "https://127.0.0.1:PORT#@example.com/",
    "https://256.0.0.1:PORT/",
    "https://0x100007f000001:PORT/",
    "https://127.0.0.0x1g:PORT/",
    "https://1.2.3.4.127.0.0.1:PORT/",
    "https://:PORT/",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_url_and_no_name_leads_a_delivery_inside() {
    let (trap, names) = (Trap::set().await, Arc::new(Names::default()));
    let egress = egress(trap.policy(), &names, Duration::from_millis(500));
    let port = trap.port;
    let mut urls: Vec<String> = FOUR.iter().chain(SPELLINGS).map(|host| format!("https://{host}:{port}/")).collect();
    urls.extend(SIX.iter().map(|host| format!("https://[{host}]:{port}/")));
    urls.extend(MISLEADING.iter().map(|url| url.replace("PORT", &port.to_string())));
    let literals = urls.len();
    for url in &urls {
        assert!(Target::parse(url, trap.policy()).is_err(), "{url} is taken when it is made");
    }
    // The same addresses behind names, alone and among public ones, before and behind them.
    let public: IpAddr = "1.1.1.1".parse().unwrap();
    for (place, text) in FOUR.iter().chain(SIX).enumerate() {
        let address: IpAddr = text.parse().unwrap();
        assert_ne!(reach(address), Reach::Global, "{text}");
        for (kind, answer) in [vec![address], vec![public, address], vec![address, public]].into_iter().enumerate() {
            let name = format!("n{place}-{kind}.example.com");
            names.put(&name, vec![answer]);
            urls.push(format!("https://{name}:{port}/"));
        }
    }
    names.put("empty.example.com", vec![vec![]]);
    urls.extend(["empty", "missing"].map(|name| format!("https://{name}.example.com:{port}/")));
    for url in &urls {
        let attempt = post(&egress, url).await;
        // One answer for all, with the same time, so that nothing can be learned from it.
        assert_eq!((attempt.trouble, attempt.outcome.status), (Some(DeliveryError::Unreachable), None), "{url}");
        assert_eq!(attempt.duration, Duration::ZERO, "{url}");
    }
    // First it does not exist, then it is private.
    for _ in 0..3 {
        assert_eq!(
            post(&egress, &format!("https://late.example.com:{port}/")).await.trouble,
            Some(DeliveryError::Unreachable)
        );
        names.put("late.example.com", vec![vec!["127.0.0.1".parse().unwrap()]]);
    }
    println!(
        "{} vectors ({literals} literal), connections seen by the trap: {}",
        urls.len() + 3,
        trap.seen.load(Ordering::SeqCst)
    );
    assert!(urls.len() >= 150);
    assert_eq!(trap.seen.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_checked_is_what_is_dialled_however_a_name_changes() {
    let (trap, names) = (Trap::set().await, Arc::new(Names::default()));
    let deadline = Duration::from_millis(50);
    let egress = egress(trap.policy(), &names, deadline);
    // Global by number, given to nobody: the old test network of IPv6.
    let public: IpAddr = "3ffe::1".parse().unwrap();
    let inside: IpAddr = "127.0.0.1".parse().unwrap();
    let rounds = if is_full() { 1000 } else { 40 };
    for round in 0..rounds {
        let name = format!("r{round}.example.com");
        names.put(&name, vec![vec![public], vec![inside], vec![inside]]);
        let before = names.asked();
        let attempt = post(&egress, &format!("https://{name}:{}/", trap.port)).await;
        assert_eq!(attempt.outcome.status, None);
        assert_eq!(names.asked() - before, 1, "a name is asked once per delivery");
        let second = post(&egress, &format!("https://{name}:{}/", trap.port)).await;
        assert_eq!(second.trouble, Some(DeliveryError::Unreachable));
    }
    println!("{rounds} rounds of a changing name, connections seen by the trap: {}", trap.seen.load(Ordering::SeqCst));
    assert_eq!(trap.seen.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn own_listeners_are_no_targets_even_for_local_use() {
    let (trap, names) = (Trap::set().await, Arc::new(Names::default()));
    let egress = egress(Policy::LOCAL, &names, Duration::from_secs(2));
    let url = format!("http://127.0.0.1:{}/", trap.port);
    // The trap can be reached, or the other tests would show nothing.
    assert_eq!(post(&egress, &url).await.trouble, Some(DeliveryError::BrokenAnswer));
    assert_eq!(trap.seen.load(Ordering::SeqCst), 1);
    egress.refuse_own(vec![SocketAddr::from(([0, 0, 0, 0], trap.port))]);
    for host in ["127.0.0.1", "127.8.8.8", "localhost", "2130706433"] {
        names.put(host, vec![vec!["127.0.0.1".parse().unwrap()]]);
        let attempt = post(&egress, &format!("http://{host}:{}/", trap.port)).await;
        assert_eq!(attempt.trouble, Some(DeliveryError::Unreachable), "{host}");
    }
    assert_eq!(trap.seen.load(Ordering::SeqCst), 1);
}

/// The behaviour of a hostile receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostileReceiver {
    EndlessBody,
    EndlessChunks,
    Gigabyte,
    OneBytePerSecond,
    GzipBomb,
    Redirects,
    EndlessHead,
    EndlessContinues,
    HugeChunkExtension,
    Silent,
    TlsStall,
    TlsGarbage,
    NotHttp,
    Hangs,
}

const HOSTILE: [HostileReceiver; 14] = [
    HostileReceiver::EndlessBody,
    HostileReceiver::EndlessChunks,
    HostileReceiver::Gigabyte,
    HostileReceiver::OneBytePerSecond,
    HostileReceiver::GzipBomb,
    HostileReceiver::Redirects,
    HostileReceiver::EndlessHead,
    HostileReceiver::EndlessContinues,
    HostileReceiver::HugeChunkExtension,
    HostileReceiver::Silent,
    HostileReceiver::TlsStall,
    HostileReceiver::TlsGarbage,
    HostileReceiver::NotHttp,
    HostileReceiver::Hangs,
];

static NOISE: [u8; 16 << 10] = [b'x'; 16 << 10];

/// The size of the bomb where somebody inflates it.
const INFLATED: u64 = 10 << 20;

/// Each kilobyte stands for a megabyte of zeros, and all of it is within what is read of a body.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..INFLATED >> 14 {
        encoder.write_all(&[0; 16 << 10]).unwrap();
    }
    encoder.finish().unwrap()
});

impl HostileReceiver {
    const fn scheme(self) -> &'static str {
        match self {
            Self::TlsStall | Self::TlsGarbage => "https",
            _ => "http",
        }
    }

    async fn treat(self, mut stream: TcpStream) -> io::Result<()> {
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await?;
        let ok = "HTTP/1.1 200 OK\r\n";
        match self {
            Self::EndlessBody => {
                stream.write_all(format!("{ok}\r\n").as_bytes()).await?;
                loop {
                    stream.write_all(&NOISE).await?;
                }
            }
            Self::EndlessChunks => {
                stream.write_all(format!("{ok}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).await?;
                loop {
                    stream.write_all(b"1\r\nx\r\n").await?;
                }
            }
            Self::Gigabyte => {
                stream.write_all(format!("{ok}Content-Length: 1073741824\r\n\r\n").as_bytes()).await?;
                loop {
                    stream.write_all(&NOISE).await?;
                }
            }
            Self::OneBytePerSecond => {
                stream.write_all(format!("{ok}Content-Length: 1000\r\n\r\n").as_bytes()).await?;
                loop {
                    stream.write_all(b"x").await?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
            Self::GzipBomb => {
                let head = format!("{ok}Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", BOMB.len());
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(&BOMB).await?;
            }
            Self::Redirects => {
                let address = stream.local_addr()?;
                let text = format!(
                    "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{address}/again\r\nContent-Length: 0\r\n\r\n"
                );
                stream.write_all(text.as_bytes()).await?;
            }
            Self::EndlessHead => {
                stream.write_all(ok.as_bytes()).await?;
                loop {
                    stream.write_all(b"X-More: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n").await?;
                }
            }
            Self::EndlessContinues => loop {
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            },
            Self::HugeChunkExtension => {
                stream.write_all(format!("{ok}Transfer-Encoding: chunked\r\n\r\n1;").as_bytes()).await?;
                loop {
                    stream.write_all(&NOISE).await?;
                }
            }
            Self::TlsGarbage => loop {
                stream.write_all(&[22, 3, 3, 0x40, 0]).await?;
                stream.write_all(&NOISE).await?;
            },
            Self::NotHttp => stream.write_all(b"220 mail.example.com ESMTP\r\n").await?,
            Self::Hangs => {}
            Self::Silent | Self::TlsStall => std::future::pending::<()>().await,
        }
        Ok(())
    }

    /// Returns whether it may count as delivered: the answer was a whole 2xx head, and its body is nobody's business.
    const fn may_succeed(self) -> bool {
        matches!(self, Self::EndlessBody | Self::EndlessChunks | Self::Gigabyte | Self::GzipBomb)
    }
}

/// Listens, and counts the connections.
async fn receiver(hostile: HostileReceiver) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(hostile.treat(stream));
        }
    });
    (address, seen)
}

/// The kind of receiver that a process of the next test is there for.
const KIND: &str = "HEADWATER_HOSTILE_RECEIVER";

/// Each kind has a process of its own, so that memory is what its deliveries take, and not what others left or take.
#[test]
fn hostile_receiver_is_bounded_by_deadline_and_memory() {
    if let Ok(kind) = std::env::var(KIND) {
        let hostile = HOSTILE.into_iter().find(|one| format!("{one:?}") == kind).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(meet(hostile));
        return;
    }
    let inflated = io::copy(&mut GzDecoder::new(BOMB.as_slice()), &mut io::sink()).unwrap();
    assert!(inflated == INFLATED && BOMB.len() <= 16 << 10, "{} bytes become {inflated}", BOMB.len());
    let name = "egress::hostile_receiver_is_bounded_by_deadline_and_memory";
    let (mut longest, mut most) = (0, 0);
    for hostile in HOSTILE {
        let mut own = Command::new(std::env::current_exe().unwrap());
        let output = own.args(["--exact", name, "--nocapture"]).env(KIND, format!("{hostile:?}")).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{hostile:?}: {printed}{error}");
        let line = printed.lines().find(|line| line.starts_with("held ")).unwrap_or_else(|| panic!("{printed}"));
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        println!("{hostile:?}: {line}");
        (longest, most) = (longest.max(numbers[0]), most.max(numbers[1]));
    }
    println!("longest {longest} ms of {:?}, at most {most} KiB per delivery, redirects followed 0", size().0);
}

/// The deadline and how many deliveries are made at a time.
fn size() -> (Duration, usize) {
    if is_full() { (Duration::from_secs(20), 256) } else { (Duration::from_secs(1), 64) }
}

async fn meet(hostile: HostileReceiver) {
    /// The growth of the process itself meanwhile, the receivers included.
    const OWN_BYTES: u64 = 2 << 20;
    // A machine that does other things too takes longer to notice.
    let slack = Duration::from_secs(if is_full() { 1 } else { 5 });
    let (deadline, deliveries) = size();
    LazyLock::force(&BOMB);
    let names = Arc::new(Names::default());
    let egress = egress(Policy::LOCAL, &names, deadline);
    let (address, seen) = receiver(hostile).await;
    // The first one makes what all have together.
    let (first, _) = receiver(HostileReceiver::NotHttp).await;
    assert!(!post(&egress, &format!("{}://{first}/", hostile.scheme())).await.outcome.is_success());
    let own = std::process::id();
    let before = resident(own);
    let tasks: Vec<_> = (0..deliveries)
        .map(|_| {
            let egress = Arc::clone(&egress);
            tokio::spawn(async move {
                let started = Instant::now();
                let attempt = post(&egress, &format!("{}://{address}/", hostile.scheme())).await;
                (attempt, started.elapsed())
            })
        })
        .collect();
    let mut peak = before;
    while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
        peak = peak.max(resident(own));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut longest = Duration::ZERO;
    for task in tasks {
        let (attempt, took) = task.await.unwrap();
        longest = longest.max(took);
        assert!(took <= deadline + slack, "held a delivery for {took:?}");
        assert!(hostile.may_succeed() || !attempt.outcome.is_success(), "{attempt:?}");
    }
    let grown = peak.max(resident(own)) - before;
    let count = u64::try_from(deliveries).unwrap();
    println!("held {} ms and {} KiB per delivery", longest.as_millis(), grown / count / 1024);
    assert!(grown <= count * (64 << 10) + OWN_BYTES, "{grown} bytes");
    assert_eq!(seen.load(Ordering::SeqCst), deliveries, "followed or not reached");
}
