//! One connection, from its handshake to its end.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, Version, header};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::ListenerConfig;
use super::sent::{Open, Sent};
use super::watchdog::{ConnectionWatchdog, Why};
use super::wire::{Watched, Wire};

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long an idle connection is kept open when the server drains: a request that is on its way is still answered.
const LAST_WORD: Duration = Duration::from_millis(500);
/// When a connection with requests at work is looked at again, for what happens to it elsewhere.
const LOOK: Duration = Duration::from_secs(15);
/// How long a connection that was told to end may take for it.
const GOODBYE: Duration = Duration::from_secs(2);

/// What answers requests.
pub(crate) trait Routes: Clone + Send + Sync + 'static {
    /// Answers a request of a connection from `peer`.
    fn answer(
        &self,
        request: Request<Body>,
        peer: SocketAddr,
    ) -> impl Future<Output = Response<Body>> + Send + use<Self>;
}

/// What connections of one listener share.
#[derive(Debug)]
pub(super) struct Shared<S> {
    pub routes: S,
    pub config: ListenerConfig,
    builder: Builder<TokioExecutor>,
}

impl<S> Shared<S> {
    pub fn new(routes: S, config: ListenerConfig) -> Self {
        Self { routes, config, builder: builder() }
    }
}

/// The limits of the protocols, each above our own of the same thing, which answer in JSON.
fn builder() -> Builder<TokioExecutor> {
    const HEAD_BYTES: u32 = 64 << 10;
    let mut builder = Builder::new(TokioExecutor::new());
    // The library's time for a head counts from the end of the request before: it would end idle connections, so it is
    // off, and the watchdog of the connection tells the two apart.
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

/// What a connection holds as long as it is open: its place among the connections, and the word that it is there, which
/// outlives all the rest of it.
pub(super) type Held = (OwnedSemaphorePermit, mpsc::Sender<()>);

/// Serves a connection until it ends by itself, breaks its limits, or the server stops.
///
/// Thousands of these wait at a time, so what is large and not needed while they wait stands in a box of its own.
pub(super) async fn serve<S: Routes>(
    (place, _alive): Held,
    shared: Arc<Shared<S>>,
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
    let io = TokioIo::new(Watched::new(wire, Arc::clone(&watchdog), place));
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

/// What a connection can be told.
trait Closing: Future {
    /// To take nothing new.
    fn close(self: Pin<&mut Self>);
}

impl<I, S> Closing for hyper_util::server::conn::auto::UpgradeableConnection<'_, I, S, TokioExecutor>
where
    S: hyper::service::Service<Request<Incoming>, Response = Response<Sent>, Error = Infallible>,
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
    C: Closing<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let stopped = stopping.clone();
    let mut stop = pin!(stopping.changed());
    let mut is_told = false;
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
            if !is_told {
                // Once is enough for a task to be woken by it.
                is_told = true;
                let _ = stop.as_mut().poll(cx);
            }
            if end == Ending::Running && is_stopping(&stopped) {
                end = Ending::Listening(Instant::now() + LAST_WORD);
                if watchdog.is_http2() {
                    // Its client is told the last request that counts, so none is lost.
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
                (Ending::Listening(_), Why::Idle) => {
                    // Ends at once where nothing is under way, else with the answer.
                    connection.as_mut().close();
                    end = Ending::Closing;
                }
                (Ending::Running, Why::Idle) => {
                    connection.as_mut().close();
                    end = Ending::Leaving(now + GOODBYE);
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

/// Whether the server stops: that is the one change there is. A sender that is gone stops it as well.
fn is_stopping(stopping: &watch::Receiver<bool>) -> bool {
    stopping.has_changed().unwrap_or(true)
}

/// How far the end of a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Not begun.
    Running,
    /// The server stops; requests that are on their way are still taken.
    Listening(Instant),
    /// The server stops and waits for what is under way.
    Closing,
    /// The connection was idle for too long and was told to end.
    Leaving(Instant),
}

impl Ending {
    /// When to act next, given what the watchdog says, and why.
    fn until(self, watchdog: Option<(Instant, Why)>) -> Option<(Instant, Why)> {
        let (own, watchdog) = match (self, watchdog) {
            (Self::Listening(last), watchdog) => (Some((last, Why::Idle)), watchdog),
            // Being idle is why it leaves, and it has a moment for that. A request that came in between is answered.
            (Self::Leaving(last), Some((_, Why::Idle))) => (Some((last, Why::Idle)), None),
            (Self::Running | Self::Closing | Self::Leaving(_), watchdog) => (None, watchdog),
        };
        own.into_iter().chain(watchdog).min_by_key(|(until, _)| *until)
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;

    use super::*;

    #[derive(Clone)]
    struct Nothing;

    impl Routes for Nothing {
        fn answer(&self, _: Request<Body>, _: SocketAddr) -> impl Future<Output = Response<Body>> + Send + use<> {
            std::future::ready(Response::default())
        }
    }

    #[tokio::test]
    async fn a_connection_that_waits_is_small() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        let shared = Arc::new(Shared::new(Nothing, ListenerConfig::default()));
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let (stopping, alive) = (watch::channel(false).1, mpsc::channel(1).0);
        let bytes = size_of_val(&serve((place, alive), shared, accepted, stopping));
        println!("a connection takes {bytes} bytes besides the buffers of its protocol");
        assert!(bytes <= 4096, "{bytes}");
    }
}
