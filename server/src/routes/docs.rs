//! The interactive documentation, from the binary alone: nothing is loaded from another host.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::{Arc, LazyLock, OnceLock};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{Response, header};
use axum::response::{IntoResponse, Redirect};
use headwater_engine::Endpoint;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;
use zip::result::ZipResult;

use crate::gateway::{Outcome, Problem, Status};

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

/// All files of the page, by their names.
static FILES: LazyLock<HashMap<&str, Vec<u8>>> = LazyLock::new(|| {
    let mut files = swagger_ui().expect("the build carries Swagger UI");
    files.extend(OURS.map(|(name, text)| (name, text.as_bytes().to_vec())));
    files
});

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
    text: Arc<OnceLock<Bytes>>,
}

impl Description {
    /// That of these data endpoints and the gateway's own routes.
    pub fn new(endpoints: &'static [Endpoint]) -> Self {
        Self { endpoints, text: Arc::default() }
    }

    fn text(&self) -> Bytes {
        let text = || serde_json::to_vec(&super::document(self.endpoints)).expect("a JSON value is JSON").into();
        self.text.get_or_init(text).clone()
    }
}

/// Interactive API documentation
///
/// Swagger UI over the description. Needs no key.
#[utoipa::path(
    get, path = "/docs", tag = "System", security(()),
    responses((status = 200, description = "The page.", body = String, content_type = "text/html"))
)]
pub(super) async fn index() -> Response<Body> {
    asset("index.html")
}

/// Redirects a browser that was given the host alone.
pub(super) async fn root() -> Response<Body> {
    Outcome::of("/docs").attach(Redirect::temporary("/docs").into_response())
}

/// This description
///
/// Made from the code that answers. Needs no key.
#[utoipa::path(
    get, path = "/api-docs/openapi.json", tag = "System", security(()),
    responses((status = 200, description = "The description.", body = serde_json::Value, content_type = "application/json"))
)]
pub(super) async fn openapi(Extension(description): Extension<Description>) -> Response<Body> {
    let document = ([(header::CONTENT_TYPE, "application/json")], description.text()).into_response();
    Outcome::of(DESCRIPTION).attach(document)
}

/// The files of the page.
pub(super) async fn file(Path(name): Path<String>) -> Response<Body> {
    asset(&name)
}

fn asset(name: &str) -> Response<Body> {
    let Some(bytes) = FILES.get(name) else {
        let problem = Problem::new(Status::NotFound, "the documentation has no such file: it begins at /docs");
        return Outcome::of("/docs").attach(problem.response());
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        _ => "image/png",
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=3600"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    Outcome::of("/docs").attach((headers, bytes.as_slice()).into_response())
}
