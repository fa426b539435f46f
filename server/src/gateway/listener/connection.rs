//! One connection, from its handshake to its end.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Request, Response, Uri, Version, header};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tower::Service;

use super::Terms;
use super::pulse::{Pulse, Why};
use super::sent::Open;
use super::wire::{Watched, Wire};

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long an idle connection is kept open when the server drains: a request that is on its way is still answered.
const LAST_WORD: Duration = Duration::from_millis(500);
/// How long a connection that was told to end may take for it.
const GOODBYE: Duration = Duration::from_secs(2);

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// What answers requests, always ready to take one.
pub(crate) trait Routes:
    Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + Sync + 'static
{
}

impl<S> Routes for S where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// What connections of one listener share.
#[derive(Debug)]
pub(super) struct Shared<S> {
    pub routes: S,
    pub terms: Terms,
    builder: Builder<TokioExecutor>,
}

impl<S> Shared<S> {
    pub fn new(routes: S, terms: Terms) -> Self {
        Self { routes, terms, builder: builder() }
    }
}

/// The limits of the protocols, each above our own of the same thing, which answer in JSON.
fn builder() -> Builder<TokioExecutor> {
    const HEAD_BYTES: u32 = 64 << 10;
    let mut builder = Builder::new(TokioExecutor::new());
    // The library's time for a head counts from the end of the request before: it would end idle connections, so it is
    // off, and the pulse of the connection tells the two apart.
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

/// Serves a connection until it ends by itself, breaks the terms, or the server stops.
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
    let (wire, http2) = match &shared.terms.tls {
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
    let pulse = Arc::new(Pulse::new(http2));
    let io = TokioIo::new(Watched::new(wire, Arc::clone(&pulse), place));
    let routes = shared.routes.clone();
    let (asked, leaving) = (Arc::clone(&pulse), stopping.clone());
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (open, leaving) = (Open::new(&asked), leaving.clone());
        let version = request.version();
        let mut request = detached(request).map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        let answer = routes.clone().call(request);
        async move {
            let Ok(mut response) = answer.await;
            if *leaving.borrow() && version < Version::HTTP_2 {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(open.send(response))
        }
    });
    let connection = pin!(shared.builder.serve_connection_with_upgrades(io, service));
    watch_over(connection, &pulse, &shared.terms, stopping, peer).await;
}

/// A request whose head is its own. As it comes, its parts share the buffer that it was read into, and while they do so
/// the connection reads into another one: two buffers in turn leave holes behind, several kilobytes per connection.
fn detached<B>(mut request: Request<B>) -> Request<B> {
    if request.version() >= Version::HTTP_2 {
        return request;
    }
    for value in request.headers_mut().values_mut() {
        let sensitive = value.is_sensitive();
        *value = HeaderValue::from_bytes(value.as_bytes()).expect("it is the value of a header already");
        value.set_sensitive(sensitive);
    }
    // What was read as an address has a text that reads as the same one.
    let uri = request.uri();
    let copied = match (uri.scheme(), uri.authority(), uri.path_and_query()) {
        (None, None, Some(path)) => {
            PathAndQuery::from_maybe_shared(Bytes::copy_from_slice(path.as_str().as_bytes())).map(Uri::from)
        }
        _ => uri.to_string().parse(),
    };
    if let Ok(uri) = copied {
        *request.uri_mut() = uri;
    }
    request
}

/// What a connection can be told.
trait Closing: Future {
    /// To take nothing new.
    fn close(self: Pin<&mut Self>);
}

impl<I, S> Closing for hyper_util::server::conn::auto::UpgradeableConnection<'_, I, S, TokioExecutor>
where
    S: hyper::service::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    fn close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Drives a connection and ends it when its pulse says so.
async fn watch_over<C, E>(
    mut connection: Pin<&mut C>,
    pulse: &Pulse,
    terms: &Terms,
    mut stopping: watch::Receiver<bool>,
    peer: SocketAddr,
) where
    C: Closing<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    // The sender outlives the connections; one that is gone stops them as well.
    let mut stop = pin!(async move { drop(stopping.wait_for(|stopping| *stopping).await) });
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
            if end == Ending::Running && stop.as_mut().poll(cx).is_ready() {
                end = Ending::Listening(Instant::now() + LAST_WORD);
                if pulse.is_http2() {
                    // Its client is told the last request that counts, so none is lost.
                    connection.as_mut().close();
                }
            }
            let now = Instant::now();
            let (until, why) = end.until(pulse.until(terms), now);
            let set = timer.deadline().into_std();
            if set != until && (why.is_some() || set <= now) {
                timer.as_mut().reset(until.into());
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            match (end, why) {
                (_, None) => {}
                (Ending::Listening(_), Some(Why::Idle)) => {
                    // Ends at once where nothing is under way, else with the answer.
                    connection.as_mut().close();
                    end = Ending::Closing;
                }
                (Ending::Running, Some(Why::Idle)) => {
                    connection.as_mut().close();
                    end = Ending::Leaving(Instant::now() + GOODBYE);
                }
                (_, Some(why)) => {
                    tracing::debug!(%peer, ?why, "a connection is ended");
                    return Poll::Ready(());
                }
            }
        }
    })
    .await;
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
    /// When to act next, given what the pulse says, and why; without a reason it is time to look again.
    fn until(self, pulse: Option<(Instant, Why)>, now: Instant) -> (Instant, Option<Why>) {
        const LOOK: Duration = Duration::from_secs(15);
        let (own, pulse) = match (self, pulse) {
            (Self::Listening(last), pulse) => (Some((last, Why::Idle)), pulse),
            // Being idle is why it leaves, and it has a moment for that. A request that came in between is answered.
            (Self::Leaving(last), Some((_, Why::Idle))) => (Some((last, Why::Idle)), None),
            (Self::Running | Self::Closing | Self::Leaving(_), pulse) => (None, pulse),
        };
        match own.into_iter().chain(pulse).min_by_key(|(until, _)| *until) {
            Some((until, why)) => (until, Some(why)),
            None => (now + LOOK, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn a_head_of_its_own_says_what_the_shared_one_said() {
        for uri in ["/", "*", "/v1/a%20b?c=d&e=%ff", "http://example.com:80/x?y", "example.com:443", "//a/b?", "/a#b"] {
            let Ok(uri) = uri.parse::<axum::http::Uri>() else { panic!("{uri}") };
            let mut request = Request::builder().uri(uri).header("x-one", "1").body(()).unwrap();
            request.headers_mut().append("x-one", HeaderValue::from_bytes(b"\xff two").unwrap());
            request.headers_mut().get_mut("x-one").unwrap().set_sensitive(true);
            let (expected, found) = (request.clone(), detached(request));
            assert_eq!((found.uri(), found.headers()), (expected.uri(), expected.headers()));
            assert!(found.headers()["x-one"].is_sensitive());
        }
    }

    #[tokio::test]
    async fn a_connection_that_waits_is_small() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        let shared = Arc::new(Shared::new(axum::Router::new(), Terms::default()));
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let (stopping, alive) = (watch::channel(false).1, mpsc::channel(1).0);
        let bytes = size_of_val(&serve((place, alive), shared, accepted, stopping));
        println!("a connection takes {bytes} bytes besides the buffers of its protocol");
        assert!(bytes <= 4096, "{bytes}");
    }
}
