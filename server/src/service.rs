//! The service: a gateway, its events, and the routes over both, on a listener.

use std::io;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::events::{EventSettings, Events};
use crate::gateway::{Gateway, ListenerConfig, RecordedRoutes, cors_layer, listen};
use crate::routes;

/// A gateway with its events; cheap to clone.
#[derive(Clone)]
pub struct Service {
    events: Events,
}

impl Service {
    /// A service over a gateway.
    #[must_use]
    pub fn new(gateway: Gateway, events: EventSettings) -> Self {
        Self { events: Events::new(gateway, events) }
    }

    /// The gateway.
    #[must_use]
    pub fn gateway(&self) -> &Gateway {
        self.events.gateway()
    }

    /// Webhooks and streams.
    #[must_use]
    pub const fn events(&self) -> &Events {
        &self.events
    }

    fn routes(&self) -> RecordedRoutes {
        let settings = self.gateway().settings();
        let mut routes = routes::router(settings.endpoints).with_state(self.events.clone());
        if let Some(cors) = cors_layer(&settings.cors_origins) {
            routes = routes.layer(cors);
        }
        RecordedRoutes::open(self.gateway().clone(), routes)
    }
}

/// Serves until `stop` resolves, then takes no more connections and gives the requests in flight `drain` to end.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    service: &Service,
    stop: impl Future<Output = ()> + Send,
    drain: Duration,
) -> io::Result<()> {
    serve_on(ListenerConfig::default(), listener, service, stop, drain).await
}

/// The same with another configuration of the listener.
///
/// # Errors
/// When the listener fails.
pub async fn serve_on(
    config: ListenerConfig,
    listener: TcpListener,
    service: &Service,
    stop: impl Future<Output = ()> + Send,
    drain: Duration,
) -> io::Result<()> {
    let announced = async {
        stop.await;
        service.gateway().drain();
    };
    listen(config, listener, service.routes(), announced, drain).await
}
