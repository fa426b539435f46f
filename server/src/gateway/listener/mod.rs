//! The listener: which connections are accepted, under which limits, and how it stops.
//!
//! An accept loop of our own, because every wait for a client needs an end: a head, an idle connection, an answer that
//! nobody takes (`watchdog`). `connection` reports to it what happens on the wire, and acts on what it says.

mod connection;
#[cfg(test)]
mod tests;
mod tls;
mod watchdog;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use connection::ListenerShared;

pub(crate) use connection::Routes;
pub use tls::{Tls, TlsError};

/// Bytes of an answer that the system may hold for a client that does not take them. Left to itself it holds up to 4 MB
/// for each, so that a few hundred such clients take what all connections of the machine have together. At 100 ms to
/// the client and back this still lets some megabytes a second through.
const UNREAD: u32 = 256 << 10;

/// Connections that the system keeps until they are accepted. With the library's 128, who came behind a burst of some
/// hundred would try again only after a second.
const BACKLOG: u32 = 4096;

/// A listener to serve on.
///
/// # Errors
/// When the address cannot be listened on.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A new process may follow an old one at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves routes until `stop` resolves, then takes no more connections and gives the requests in flight `drain` to end.
///
/// # Errors
/// When the listener fails.
pub(crate) async fn listen(
    config: ListenerConfig,
    listener: TcpListener,
    routes: impl Routes,
    stop: impl Future<Output = ()> + Send,
    drain: Duration,
) -> io::Result<()> {
    if let Err(error) = bound_unread(&listener) {
        tracing::warn!(%error, "clients that do not read may take more memory of the system than is meant");
    }
    let places = Arc::new(Semaphore::new(config.connections));
    let tls = config.tls.clone();
    let shared = Arc::new(ListenerShared::new(routes, config));
    let (stopping, stopped) = watch::channel(false);
    // Every connection has a sender; when the last one is gone there is nothing more to wait for.
    let (alive, mut all_gone) = mpsc::channel::<()>(1);
    let mut connections = JoinSet::new();
    let admit = |connections: &mut JoinSet<()>, accepted| match Arc::clone(&places).try_acquire_owned() {
        Ok(place) => {
            let held = (place, alive.clone());
            connections.spawn(connection::serve(held, Arc::clone(&shared), accepted, stopped.clone()));
        }
        Err(_) => tracing::debug!("a connection is closed: there are too many"),
    };
    let follow = async {
        match &tls {
            Some(tls) => tls.follow().await,
            None => std::future::pending().await,
        }
    };
    let (mut stop, mut follow) = (pin!(stop), pin!(follow));
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            () = &mut follow => {}
            accepted = listener.accept() => match accepted {
                Ok(accepted) => admit(&mut connections, accepted),
                Err(error) => refused(&error).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    // Who connected before the end was accepted by the system already, and may have asked.
    while let Some(Ok(accepted)) = now_or_never(listener.accept()).await {
        admit(&mut connections, accepted);
    }
    drop(listener);
    // The receivers live as long as their connections.
    let _ = stopping.send(true);
    drop(alive);
    drop(shared);
    if tokio::time::timeout(drain, all_gone.recv()).await.is_err() {
        tracing::warn!(seconds = drain.as_secs(), "requests were still under way at the end of the drain");
        // As clients that leave: what they asked is stopped, and recorded.
        connections.shutdown().await;
    }
    Ok(())
}

/// Bounds what the system holds for each connection that is accepted from now on.
fn bound_unread(listener: &TcpListener) -> io::Result<()> {
    // Another handle of the same socket: what is set on it, accepted connections inherit.
    let handle = listener.as_fd().try_clone_to_owned()?;
    TcpSocket::from_std_stream(handle.into()).set_send_buffer_size(UNREAD)
}

/// The value of a future that has one already.
async fn now_or_never<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    tokio::select! {
        biased;
        value = &mut future => Some(value),
        () = std::future::ready(()) => None,
    }
}

/// Decides what to do when the system gives no connection: one that broke off is nobody's concern, anything else
/// (no more file descriptors) needs a moment.
async fn refused(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "no connection can be accepted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The limits for those who connect.
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// Connections open at a time; more are closed as they come.
    pub connections: usize,
    /// The time that the head of a request may take, from its first byte, and a new connection may say nothing.
    pub head: Duration,
    /// The time for which a connection may be kept without a request under way.
    pub idle: Duration,
    /// The time for which a client may take next to nothing of its answer.
    pub stall: Duration,
    /// Certificate and key; `None` serves in clear.
    pub tls: Option<Arc<Tls>>,
}

impl Default for ListenerConfig {
    /// 10,240 connections; 5 s for a head, 60 s idle, 30 s stalled.
    fn default() -> Self {
        Self {
            connections: 10_240,
            head: Duration::from_secs(5),
            idle: Duration::from_mins(1),
            stall: Duration::from_secs(30),
            tls: None,
        }
    }
}
