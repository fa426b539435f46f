//! The listener itself, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Settings, routes};
use crate::gateway::{Gateway, ListenerConfig, bind, listen};

/// Connections open at a time: operators, a scraper, and scripts.
const CONNECTIONS: usize = 256;
/// The time that requests under way have at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A running admin listener.
pub struct Listener {
    address: SocketAddr,
    is_tls: bool,
    stop: oneshot::Sender<()>,
    served: JoinHandle<io::Result<()>>,
}

impl Listener {
    /// Starts one with the configuration of the public listener, with fewer connections. What does not leave this machine is
    /// served in clear.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start(
        address: SocketAddr,
        gateway: &Gateway,
        settings: Settings,
        config: &ListenerConfig,
    ) -> io::Result<Self> {
        let listener = bind(address)?;
        let address = listener.local_addr()?;
        let tls = config.tls.clone().filter(|_| !address.ip().is_loopback());
        let is_tls = tls.is_some();
        let config = ListenerConfig { connections: config.connections.min(CONNECTIONS), tls, ..config.clone() };
        let (stop, stopped) = oneshot::channel::<()>();
        let routes = routes(gateway, settings);
        let served = tokio::spawn(async move {
            let stopped = async {
                // A sender that is gone means the same.
                let _ = stopped.await;
            };
            listen(config, listener, routes, stopped, DRAIN_TIMEOUT).await
        });
        Ok(Self { address, is_tls, stop, served })
    }

    /// Returns where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns where it is found.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.is_tls { "https" } else { "http" }, self.address)
    }

    /// Takes no more connections and waits a moment for requests under way.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        match self.served.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the admin listener failed"),
            Err(error) => tracing::error!(%error, "the admin listener panicked"),
        }
    }
}
