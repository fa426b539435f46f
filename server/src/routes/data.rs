//! The routes of data endpoints, all from the engine's table.

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{MethodFilter, MethodRouter};
use headwater_engine::{Endpoint, Method};

use crate::events::Events;
use crate::gateway::Gateway;

/// A route for each endpoint.
pub(super) fn router(endpoints: &'static [Endpoint]) -> Router<Events> {
    endpoints.iter().fold(Router::new(), |router, endpoint| router.route(endpoint.path, methods(endpoint)))
}

fn methods(endpoint: &'static Endpoint) -> MethodRouter<Events> {
    endpoint.methods().fold(MethodRouter::new(), |methods, (method, ..)| {
        let filter = match method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
        };
        methods.on(filter, move |State(gateway): State<Gateway>, request: Request| async move {
            gateway.answer(endpoint, request).await
        })
    })
}
