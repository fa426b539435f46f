//! The interactive documentation, from the binary alone: nothing is loaded from another host.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::{Arc, LazyLock, OnceLock};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, Response, header};
use axum::response::{IntoResponse, Redirect};
use headwater_engine::Endpoint;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;
use zip::result::ZipResult;

use super::assets::{Asset, page};
use crate::gateway::{Gateway, Problem, Status};

/// The path of the description.
const DESCRIPTION: &str = "/api-docs/openapi.json";

/// Browsers enforce what we promise: only this host, no frames around it.
const POLICY: &str =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

/// The parts of the page that are ours; the others are Swagger UI's, which its archive holds.
const OURS: [(&str, &str); 2] = [
    ("index.html", include_str!("docs/index.html")),
    ("swagger-initializer.js", include_str!("docs/swagger-initializer.js")),
];
const SWAGGER_UI: [&str; 5] =
    ["favicon-16x16.png", "favicon-32x32.png", "index.css", "swagger-ui-bundle.js", "swagger-ui.css"];

/// Headers of the files of the page.
const FILE_HEADERS: [(HeaderName, &str); 2] =
    [(header::CACHE_CONTROL, "public, max-age=3600"), (header::CONTENT_SECURITY_POLICY, POLICY)];
/// Headers of the description, which changes with the version of the server.
const DESCRIPTION_HEADERS: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "public, max-age=300")];

/// All files of the page, by their names.
static FILES: LazyLock<HashMap<&str, Asset>> = LazyLock::new(|| {
    let mut files = swagger_ui().expect("the build carries Swagger UI");
    files.extend(OURS.map(|(name, text)| (name, text.as_bytes().to_vec())));
    files.into_iter().map(|(name, bytes)| (name, Asset::new(kind(name), bytes))).collect()
});

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        _ => "image/png",
    }
}

fn swagger_ui() -> ZipResult<HashMap<&'static str, Vec<u8>>> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    let mut files = HashMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index)?;
        let path = file.name()?.into_owned();
        let is = |name: &&str| path.split('/').skip(1).eq(["dist", name]);
        if let Some(name) = SWAGGER_UI.into_iter().find(is) {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            files.insert(name, bytes);
        }
    }
    Ok(files)
}

/// The description of the API as it is served, made when it is asked for first.
#[derive(Clone)]
pub(super) struct Description {
    endpoints: &'static [Endpoint],
    text: Arc<OnceLock<Asset>>,
}

impl Description {
    /// That of these data endpoints and the gateway's own routes.
    pub fn new(endpoints: &'static [Endpoint]) -> Self {
        Self { endpoints, text: Arc::default() }
    }

    fn text(&self) -> &Asset {
        let text = || serde_json::to_vec(&super::document(self.endpoints)).expect("a JSON value is JSON");
        self.text.get_or_init(|| Asset::new("application/json", text()))
    }
}

/// Interactive API documentation
///
/// Swagger UI over the description. Needs no key.
#[utoipa::path(
    get, path = "/docs", tag = "System", security(()),
    responses((status = 200, description = "The page.", body = String, content_type = "text/html"))
)]
pub(super) async fn index(State(gateway): State<Gateway>, request: Request) -> Response<Body> {
    file_of(&gateway, request, "index.html").await
}

/// Redirects a browser that was given the host alone.
pub(super) async fn root(State(gateway): State<Gateway>, request: Request) -> Response<Body> {
    page(&gateway, "/docs", request, |_| Ok(Redirect::temporary("/docs").into_response())).await
}

/// This description
///
/// Made from the code that answers. Needs no key.
#[utoipa::path(
    get, path = "/api-docs/openapi.json", tag = "System", security(()),
    responses((status = 200, description = "The description.", body = serde_json::Value, content_type = "application/json"))
)]
pub(super) async fn openapi(
    State(gateway): State<Gateway>,
    Extension(description): Extension<Description>,
    request: Request,
) -> Response<Body> {
    page(&gateway, DESCRIPTION, request, |headers| Ok(description.text().answer(headers, &DESCRIPTION_HEADERS))).await
}

/// The files of the page.
pub(super) async fn file(State(gateway): State<Gateway>, Path(name): Path<String>, request: Request) -> Response<Body> {
    file_of(&gateway, request, &name).await
}

async fn file_of(gateway: &Gateway, request: Request, name: &str) -> Response<Body> {
    page(gateway, "/docs", request, |headers| match FILES.get(name) {
        Some(file) => Ok(file.answer(headers, &FILE_HEADERS)),
        None => Err(Problem::new(Status::NotFound, "the documentation has no such file: it begins at /docs")),
    })
    .await
}
