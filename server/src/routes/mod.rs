//! Every route. Those of data endpoints follow from the engine's table (`data`); of the gateway's own there is a file per
//! noun, with a handler of a line or two per route.

mod assets;
mod data;
mod docs;
mod document;
mod examples;
mod explore;
mod openapi;
mod own;
mod stream;
mod system;
mod usage;
mod webhooks;

use axum::routing::get;
use axum::{Extension, Router};
use headwater_engine::Endpoint;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::events::Events;

pub use document::document;

/// The routes of the gateway's own that the description describes.
fn described() -> OpenApiRouter<Events> {
    OpenApiRouter::with_openapi(document::head())
        .routes(routes!(usage::usage))
        .routes(routes!(webhooks::list, webhooks::create))
        .routes(routes!(webhooks::show, webhooks::delete, webhooks::update))
        .routes(routes!(webhooks::test))
        .routes(routes!(webhooks::rotate))
        .routes(routes!(webhooks::deliveries))
        .routes(routes!(webhooks::replay))
        .routes(routes!(stream::open))
        .routes(routes!(stream::ticket))
        .routes(routes!(system::healthz))
        .routes(routes!(system::readyz))
        .routes(routes!(docs::index))
        .routes(routes!(docs::openapi))
        .routes(routes!(explore::index))
}

/// Returns what the description says of the gateway's own routes besides their comments.
fn own_operations() -> impl Iterator<Item = own::OwnOperation> {
    webhooks::operations().into_iter().chain(stream::operations()).chain(usage::operations())
}

/// All routes.
pub(crate) fn router(endpoints: &'static [Endpoint]) -> Router<Events> {
    let (router, _) = described().split_for_parts();
    router
        .merge(data::router(endpoints))
        .route("/", get(docs::root))
        .route("/docs/", get(docs::index))
        .route("/docs/{*file}", get(docs::file))
        .route("/explore/", get(explore::index))
        .route("/explore/{*file}", get(explore::file))
        .layer(Extension(docs::Description::new(endpoints)))
        .layer(Extension(explore::Page::new(endpoints)))
        .fallback(system::no_such_route)
        .method_not_allowed_fallback(system::no_such_method)
}
