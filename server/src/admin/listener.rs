//! The listener itself, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Settings, router};
use crate::gateway::Gateway;

/// A running admin listener.
pub struct Listener {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<io::Result<()>>,
}

impl Listener {
    /// Starts one.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(address: SocketAddr, gateway: &Gateway, settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let service = router(gateway, settings).into_make_service_with_connect_info::<SocketAddr>();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = axum::serve(listener, service).with_graceful_shutdown(async {
            // A sender that is gone means the same.
            let _ = stopped.await;
        });
        Ok(Self { address, stop, served: tokio::spawn(server.into_future()) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections and waits a moment for requests under way.
    pub async fn stop(self) {
        const PATIENCE: Duration = Duration::from_secs(2);
        let Self { stop, mut served, .. } = self;
        let _ = stop.send(());
        match tokio::time::timeout(PATIENCE, &mut served).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::error!(%error, "the admin listener failed"),
            Ok(Err(error)) => tracing::error!(%error, "the admin listener panicked"),
            Err(_) => {
                tracing::warn!("a request of the admin listener was still under way at the end");
                served.abort();
            }
        }
    }
}
