//! One connection, from its handshake to its end: its bytes, its requests, and the answer to what is not a request.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, Version, header};
use headwater_state::now_ms;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio_rustls::server::TlsStream;

use super::ListenerConfig;
use super::watchdog::{ConnectionWatchdog, EndReason, Open, PacedBody};
use crate::gateway::context::{self, new_request_id};
use crate::gateway::problem::Problem;

/// The time that a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The time for which an idle connection is kept open when the server drains: a request that is on its way is still
/// answered.
const DRAIN_GRACE: Duration = Duration::from_millis(500);
/// When a connection with requests at work is looked at again, for what happens to it elsewhere.
const LOOK: Duration = Duration::from_secs(15);
/// The time that a connection that was asked to end may take for it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The handler of requests.
pub(crate) trait Routes: Clone + Send + Sync + 'static {
    /// Answers a request of a connection from `peer`.
    fn answer(
        &self,
        request: Request<Body>,
        peer: SocketAddr,
    ) -> impl Future<Output = Response<Body>> + Send + use<Self>;
}

/// The state that connections of one listener share.
#[derive(Debug)]
pub(super) struct ListenerShared<S> {
    pub routes: S,
    pub config: ListenerConfig,
    builder: Builder<TokioExecutor>,
}

impl<S> ListenerShared<S> {
    pub fn new(routes: S, config: ListenerConfig) -> Self {
        Self { routes, config, builder: builder() }
    }
}

/// The limits of the protocols, each above our own of the same thing, which answer in JSON.
fn builder() -> Builder<TokioExecutor> {
    const HEAD_BYTES: u32 = 64 << 10;
    let mut builder = Builder::new(TokioExecutor::new());
    // The library's time for a head counts from the end of the request before: it would end idle connections, so it is
    // off, and the watchdog of the connection separates the two.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEAD_BYTES as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .max_header_list_size(HEAD_BYTES)
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(256 << 10)
        .max_send_buf_size(256 << 10)
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(100)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

/// The resources of a connection as long as it is open: its place among the connections, and the sign that it is there,
/// which outlives all the rest of it.
pub(super) type ConnectionGuard = (OwnedSemaphorePermit, mpsc::Sender<()>);

/// Serves a connection until it ends by itself, breaks its limits, or the server stops.
///
/// Thousands of these wait at a time, so what is large and not needed while they wait is in a box of its own.
pub(super) async fn serve<S: Routes>(
    (place, _alive): ConnectionGuard,
    shared: Arc<ListenerShared<S>>,
    (stream, peer): (TcpStream, SocketAddr),
    stopping: watch::Receiver<bool>,
) {
    // Answers are written in one go: waiting for more to send would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    let (wire, http2) = match &shared.config.tls {
        None => (Wire::Plain(stream), false),
        Some(tls) => match tokio::time::timeout(HANDSHAKE, Box::pin(tls.acceptor().accept(stream))).await {
            Ok(Ok(stream)) => {
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                (Wire::Tls(Box::new(stream)), http2)
            }
            Ok(Err(error)) => return tracing::debug!(%peer, %error, "a handshake failed"),
            Err(_) => return tracing::debug!(%peer, "a handshake took too long"),
        },
    };
    let watchdog = Arc::new(ConnectionWatchdog::new(http2));
    let io = TokioIo::new(WatchedWire::new(wire, Arc::clone(&watchdog), place));
    let (routes, asked, leaving) = (shared.routes.clone(), Arc::clone(&watchdog), stopping.clone());
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (open, leaving) = (Open::new(&asked), leaving.clone());
        let version = request.version();
        let answer = routes.answer(request.map(Body::new), peer);
        async move {
            let mut response = answer.await;
            if is_stopping(&leaving) && version < Version::HTTP_2 {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(open.send(response))
        }
    });
    let connection = pin!(shared.builder.serve_connection_with_upgrades(io, service));
    watch_over(connection, &watchdog, &shared.config, stopping, peer).await;
}

/// A connection that can end gracefully.
trait GracefulConnection: Future {
    /// To take nothing new.
    fn close(self: Pin<&mut Self>);
}

impl<I, S> GracefulConnection for hyper_util::server::conn::auto::UpgradeableConnection<'_, I, S, TokioExecutor>
where
    S: hyper::service::Service<Request<Incoming>, Response = Response<PacedBody>, Error = Infallible>,
    S::Future: Send + 'static,
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    fn close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Drives a connection and ends it when its watchdog says so.
async fn watch_over<C, E>(
    mut connection: Pin<&mut C>,
    watchdog: &ConnectionWatchdog,
    config: &ListenerConfig,
    mut stopping: watch::Receiver<bool>,
    peer: SocketAddr,
) where
    C: GracefulConnection<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let stopped = stopping.clone();
    let mut stop = pin!(stopping.changed());
    let mut is_notified = false;
    let mut timer = pin!(tokio::time::sleep_until(Instant::now().into()));
    let mut end = Ending::Running;
    poll_fn(|cx| {
        loop {
            if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "a connection broke off");
                }
                return Poll::Ready(());
            }
            if !is_notified {
                // Once is enough for a task to be woken by it.
                is_notified = true;
                let _ = stop.as_mut().poll(cx);
            }
            if end == Ending::Running && is_stopping(&stopped) {
                end = Ending::Listening(Instant::now() + DRAIN_GRACE);
                if watchdog.is_http2() {
                    // Its client learns the last request that counts, so none is lost.
                    connection.as_mut().close();
                }
            }
            let due = end.until(watchdog.until(config));
            // A timer that goes off too early only looks again, so that it is not set anew for every request.
            if let Some((until, _)) = due.filter(|(until, _)| *until < timer.deadline().into_std()) {
                timer.as_mut().reset(until.into());
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            let Some((_, why)) = due.filter(|(until, _)| *until <= now) else {
                timer.as_mut().reset(due.map_or(now + LOOK, |(until, _)| until).into());
                continue;
            };
            match (end, why) {
                (Ending::Listening(_), EndReason::Idle) => {
                    // Ends at once where nothing is under way, else with the answer.
                    connection.as_mut().close();
                    end = Ending::Closing;
                }
                (Ending::Running, EndReason::Idle) => {
                    connection.as_mut().close();
                    end = Ending::Leaving(now + CLOSE_TIMEOUT);
                }
                (_, why) => {
                    tracing::debug!(%peer, ?why, "a connection is ended");
                    return Poll::Ready(());
                }
            }
        }
    })
    .await;
}

/// Returns whether the server stops: that is the one change there is. A sender that is gone stops it as well.
fn is_stopping(stopping: &watch::Receiver<bool>) -> bool {
    stopping.has_changed().unwrap_or(true)
}

/// The stage of the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Not begun.
    Running,
    /// The server stops; requests that are on their way are still taken.
    Listening(Instant),
    /// The server stops and waits for what is under way.
    Closing,
    /// The connection was idle for too long and was asked to end.
    Leaving(Instant),
}

impl Ending {
    /// When to act next, given what the watchdog says, and why.
    fn until(self, watchdog: Option<(Instant, EndReason)>) -> Option<(Instant, EndReason)> {
        let (own, watchdog) = match (self, watchdog) {
            (Self::Listening(last), watchdog) => (Some((last, EndReason::Idle)), watchdog),
            // Being idle is why it leaves, and it has a moment for that. A request that came in between is answered.
            (Self::Leaving(last), Some((_, EndReason::Idle))) => (Some((last, EndReason::Idle)), None),
            (Self::Running | Self::Closing | Self::Leaving(_), watchdog) => (None, watchdog),
        };
        own.into_iter().chain(watchdog).min_by_key(|(until, _)| *until)
    }
}

/// The first bytes of every connection of HTTP/2, and of no request of HTTP/1.1.
const HTTP2: &[u8] = b"PRI";

/// The wire that bytes go through.
#[derive(Debug)]
pub(super) enum Wire {
    /// In clear.
    Plain(TcpStream),
    /// Under TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A wire with its watchdog. It holds the place of its connection, also after an upgrade took it elsewhere.
#[derive(Debug)]
pub(super) struct WatchedWire {
    wire: Wire,
    watchdog: Arc<ConnectionWatchdog>,
    /// The number of bytes of [`HTTP2`] that came, as long as nothing else did.
    begun: Option<usize>,
    /// The bytes that are written in place of what the connection was asked to write, and how many of them are.
    instead: Option<(Vec<u8>, usize)>,
    _place: OwnedSemaphorePermit,
}

impl WatchedWire {
    pub fn new(wire: Wire, watchdog: Arc<ConnectionWatchdog>, place: OwnedSemaphorePermit) -> Self {
        Self { wire, watchdog, begun: Some(0), instead: None, _place: place }
    }

    /// Looks at the first bytes, which may come one by one.
    fn tell_protocol(&mut self, new: &[u8]) {
        let Some(begun) = self.begun else { return };
        let expected = &HTTP2[begun..];
        if new.starts_with(expected) {
            self.watchdog.speaks_http2();
            self.begun = None;
        } else {
            self.begun = expected.starts_with(new).then_some(begun + new.len());
        }
    }

    fn poll_wire(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        };
        self.note(bytes.len(), &written);
        written
    }

    /// Writes what goes in place of `length` bytes, which are written when all of it is.
    fn poll_instead(&mut self, cx: &mut Context<'_>, length: usize) -> Poll<io::Result<usize>> {
        while let Some((instead, done)) = self.instead.take() {
            let written = self.poll_wire(cx, &instead[done..]);
            let done = done + if let Poll::Ready(Ok(bytes)) = written { bytes } else { 0 };
            if done < instead.len() {
                self.instead = Some((instead, done));
            }
            match written {
                Poll::Ready(Ok(1..)) => {}
                other => return other,
            }
        }
        Poll::Ready(Ok(length))
    }

    fn note(&self, offered: usize, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(taken)) => self.watchdog.wrote(offered, *taken),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.watchdog.wrote(offered.max(1), 0),
        }
    }
}

impl AsyncRead for WatchedWire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Wire::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        let new = &buffer.filled()[before..];
        if !new.is_empty() {
            self.tell_protocol(new);
            self.watchdog.heard();
        }
        read
    }
}

impl AsyncWrite for WatchedWire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            self.instead = in_place_of(bytes).map(|instead| (instead, 0));
        }
        if self.instead.is_some() {
            return self.poll_instead(cx, bytes.len());
        }
        self.poll_wire(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        // A refusal of the parser is written in one piece.
        if let [one] = slices {
            return self.poll_write(cx, one);
        }
        let written = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Wire::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        };
        self.note(length, &written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(stream) => stream.is_write_vectored(),
            Wire::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        match flushed {
            Poll::Ready(Ok(())) => self.watchdog.flushed(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.watchdog.holds_back(),
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// Returns what goes in place of what is to be written, where that is a refusal of the parser.
pub(super) fn in_place_of(written: &[u8]) -> Option<Vec<u8>> {
    // The gateway's own answers have an id.
    let status = written.strip_prefix(b"HTTP/1.1 4")?.get(..2)?;
    if !written.ends_with(b"\r\n\r\n") || written.windows(ID.len()).any(|part| part == ID) {
        return None;
    }
    let problem = match status {
        b"00" => context::unreadable(),
        b"14" | b"31" => context::too_much(),
        _ => return None,
    };
    let date = written.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"date: "));
    Some(answer(&problem, String::from_utf8_lossy(date.unwrap_or_default()).trim_end()))
}

const ID: &[u8] = b"x-request-id";

fn answer(problem: &Problem, date: &str) -> Vec<u8> {
    let request_id = new_request_id(now_ms());
    tracing::info!(request_id = request_id.as_str(), problem = problem.message, "a request could not be read");
    let body = problem.envelope().body_for(request_id.as_str());
    let body = String::from_utf8_lossy(&body);
    format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nx-request-id: {request_id}\r\n\
         x-credit-cost: 0\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\
         content-length: {}\r\n{date}{}\r\n{body}",
        body.len(),
        if date.is_empty() { "" } else { "\r\n" },
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;

    #[derive(Clone)]
    struct EmptyRoutes;

    impl Routes for EmptyRoutes {
        fn answer(&self, _: Request<Body>, _: SocketAddr) -> impl Future<Output = Response<Body>> + Send + use<> {
            std::future::ready(Response::default())
        }
    }

    #[tokio::test]
    async fn a_connection_that_waits_is_small() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        let shared = Arc::new(ListenerShared::new(EmptyRoutes, ListenerConfig::default()));
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let (stopping, alive) = (watch::channel(false).1, mpsc::channel(1).0);
        let bytes = size_of_val(&serve((place, alive), shared, accepted, stopping));
        println!("a connection takes {bytes} bytes besides the buffers of its protocol");
        assert!(bytes <= 4096, "{bytes}");
    }

    #[test]
    fn only_what_the_parser_says_is_replaced() {
        let bare = |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\ndate: now\r\n\r\n").into_bytes();
        for status in ["400 Bad Request", "414 URI Too Long", "431 Request Header Fields Too Large"] {
            let said = String::from_utf8(in_place_of(&bare(status)).unwrap()).unwrap();
            let (head, body) = said.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n") && head.contains("\r\nx-request-id: 0"), "{head}");
            assert!(head.contains(&format!("content-length: {}\r\ndate: now", body.len())), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["error"]["details"]["reason"], "invalid_value");
            assert!(head.contains(body["error"]["request_id"].as_str().unwrap()), "{head}");
        }
        let own = b"HTTP/1.1 400 Bad Request\r\nx-request-id: 1\r\ncontent-length: 0\r\n\r\n";
        for other in [bare("200 OK"), bare("404 Not Found"), own.to_vec(), b"HTTP/1.1 4".to_vec(), Vec::new()] {
            assert_eq!(in_place_of(&other), None);
        }
    }
}
