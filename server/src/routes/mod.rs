//! Every route: one file per noun, one handler of a line or two per endpoint. What a handler's comment and attribute
//! do not say (parameters, bodies, errors, costs) the description takes from the engine's own types.

mod addresses;
mod assets;
mod counterparty;
mod docs;
mod examples;
mod openapi;
mod own;
mod own_fields;
mod rates;
mod stream;
mod system;
mod token;
mod transactions;
mod usage;
mod wallet;
mod webhooks;

use axum::Router;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::gateway::Gateway;

pub use openapi::document;

/// The routes that the description describes.
fn described() -> OpenApiRouter<Gateway> {
    OpenApiRouter::with_openapi(openapi::head())
        .routes(routes!(assets::chains))
        .routes(routes!(assets::registry))
        .routes(routes!(assets::assets))
        .routes(routes!(assets::resolve))
        .routes(routes!(rates::rates))
        .routes(routes!(rates::history))
        .routes(routes!(rates::symbols))
        .routes(routes!(transactions::transactions))
        .routes(routes!(transactions::transaction))
        .routes(routes!(counterparty::counterparty))
        .routes(routes!(counterparty::transfer_between))
        .routes(routes!(counterparty::overview))
        .routes(routes!(counterparty::list))
        .routes(routes!(wallet::balance_history))
        .routes(routes!(wallet::wallet_overview))
        .routes(routes!(token::holders))
        .routes(routes!(token::concentration))
        .routes(routes!(token::addresses_flow, token::addresses_flow_by_post))
        .routes(routes!(addresses::resolve))
        .routes(routes!(addresses::autocomplete))
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
}

/// What the description says of the gateway's own routes besides their comments.
fn own_operations() -> impl Iterator<Item = own::OwnOperation> {
    webhooks::operations().into_iter().chain(stream::operations()).chain(usage::operations())
}

/// All routes.
pub(crate) fn router() -> Router<Gateway> {
    let (router, _) = described().split_for_parts();
    router
        .route("/", get(docs::root))
        .route("/docs/", get(docs::index))
        .route("/docs/{*file}", get(docs::file))
        .fallback(system::no_such_route)
        .method_not_allowed_fallback(system::no_such_method)
}
