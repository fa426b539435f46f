//! The interactive documentation, from the binary alone: nothing is loaded from another host.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, Response, header};
use axum::response::IntoResponse;
use utoipa_swagger_ui::Config;

use crate::gateway::{Context, Problem, Status};

/// Where the description is served.
const DESCRIPTION: &str = "/api-docs/openapi.json";

/// Browsers enforce what we promise: only this host, no frames around it.
const POLICY: &str =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

static CONFIG: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    // The badge of an outside validator is off, and a key that was typed in is not kept in the browser.
    Arc::new(Config::from(DESCRIPTION).validator_url("none").display_request_duration(true))
});

static DOCUMENT: LazyLock<Vec<u8>> =
    LazyLock::new(|| serde_json::to_vec(&super::document()).expect("a JSON value is JSON"));

/// Interactive API documentation
///
/// Swagger UI over the description. Needs no key.
#[utoipa::path(
    get, path = "/docs", tag = "System", security(()),
    responses((status = 200, description = "The page.", body = String, content_type = "text/html"))
)]
pub(super) async fn index(Extension(context): Extension<Arc<Context>>) -> Response<Body> {
    context.set_endpoint("/docs");
    asset("index.html")
}

/// This description
///
/// Made from the code that answers. Needs no key.
#[utoipa::path(
    get, path = "/api-docs/openapi.json", tag = "System", security(()),
    responses((status = 200, description = "The description.", body = serde_json::Value, content_type = "application/json"))
)]
pub(super) async fn openapi(Extension(context): Extension<Arc<Context>>) -> Response<Body> {
    context.set_endpoint(DESCRIPTION);
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_slice()).into_response()
}

/// The files of the page.
pub(super) async fn file(Extension(context): Extension<Arc<Context>>, Path(name): Path<String>) -> Response<Body> {
    context.set_endpoint("/docs");
    asset(&name)
}

fn asset(name: &str) -> Response<Body> {
    let Ok(Some(found)) = utoipa_swagger_ui::serve(name, Arc::clone(&CONFIG)) else {
        return Problem::new(Status::NotFound, "the documentation has no such file: it begins at /docs").response();
    };
    // Its links are relative to a folder, and the page also answers without the slash at the end.
    let bytes = if name == "index.html" { Cow::Owned(with_base(&found.bytes)) } else { found.bytes };
    let mut response = Response::new(Body::from(bytes.into_owned()));
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(&found.content_type) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    if found.gzpipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

fn with_base(page: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(page)
        .replacen("<head>", "<head>\n    <base href=\"/docs/\">", 1)
        .replacen("<title>Swagger UI</title>", "<title>Headwater API</title>", 1)
        .into_bytes()
}
