//! The listener, and how it ends.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::Gateway;

/// Serves until `stop` resolves, then takes no more connections and gives the requests under way `drain` to end.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    gateway: &Gateway,
    stop: impl Future<Output = ()> + Send + 'static,
    drain: Duration,
) -> io::Result<()> {
    // Answers are written in one go: waiting for more to send would only delay them.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
    });
    let (stopping, mut stopped) = watch::channel(false);
    let announced = gateway.clone();
    let server = axum::serve(listener, gateway.router()).with_graceful_shutdown(async move {
        stop.await;
        announced.drain();
        drop(announced);
        // The receiver outlives the server.
        let _ = stopping.send(true);
    });
    let deadline = async {
        if stopped.wait_for(|stopped| *stopped).await.is_ok() {
            tokio::time::sleep(drain).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        result = server.into_future() => result,
        () = deadline => {
            tracing::warn!(seconds = drain.as_secs(), "requests were still under way at the end of the drain");
            Ok(())
        }
    }
}
