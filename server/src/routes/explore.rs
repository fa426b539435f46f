//! The page on which people follow money by clicking, from the binary alone. It asks the public API and nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, Response, header};
use headwater_engine::Endpoint;
use serde_json::json;

use super::assets::{Asset, page};
use crate::gateway::{Gateway, Problem, Status};

/// Browsers enforce what the page promises: its own scripts and styles, calls to this host, and no script from a text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of the files of the page. Browsers ask each time, so that scripts of two versions never meet.
const HEADERS: [(HeaderName, &str); 3] = [
    (header::CACHE_CONTROL, "no-cache"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// The scripts of the page, in alphabetical order.
macro_rules! scripts {
    ($($name:literal),+) => { [$(($name, include_str!(concat!("explore/", $name)))),+] };
}

/// The files of the page besides those of pictures and `facts.js`.
const OURS: [(&str, &str); 23] = scripts![
    "index.html",
    "explore.css",
    "icon.svg",
    "address_page.js",
    "answers.js",
    "api.js",
    "calls.js",
    "case.js",
    "dom.js",
    "files.js",
    "filters.js",
    "layout.js",
    "line_page.js",
    "main.js",
    "merge.js",
    "panel.js",
    "picture.js",
    "search.js",
    "shared.js",
    "table.js",
    "tools.js",
    "transaction_page.js",
    "words.js"
];

/// The files of the page, by their names.
#[derive(Clone)]
pub(super) struct Page {
    endpoints: &'static [Endpoint],
    files: Arc<OnceLock<BTreeMap<&'static str, Asset>>>,
}

impl Page {
    /// The page of a server with these data endpoints.
    pub fn new(endpoints: &'static [Endpoint]) -> Self {
        Self { endpoints, files: Arc::default() }
    }

    fn files(&self, gateway: &Gateway) -> &BTreeMap<&'static str, Asset> {
        self.files.get_or_init(|| {
            let marks = headwater_picture::marks();
            let pictures =
                [("cytoscape.min.js", marks.library), ("marks.js", marks.script), ("marks.css", marks.style)];
            let files =
                OURS.into_iter().chain(pictures).map(|(name, text)| (name, Bytes::from_static(text.as_bytes())));
            let facts = Bytes::from(facts(self.endpoints, gateway.settings().auth_required));
            files.chain([("facts.js", facts)]).map(|(name, bytes)| (name, Asset::new(kind(name), bytes))).collect()
        })
    }

    async fn answer(&self, name: &str, gateway: &Gateway, request: Request) -> Response<Body> {
        page(gateway, "/explore", request, |headers| match self.files(gateway).get(name) {
            Some(file) => Ok(file.answer(headers, &HEADERS)),
            None => Err(Problem::new(Status::NotFound, "the page has no such file: it begins at /explore")),
        })
        .await
    }
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}

/// Writes the module with the facts that the page shares with the server: the need of a key, costs, words and marks.
fn facts(endpoints: &[Endpoint], needs_key: bool) -> String {
    let costs: BTreeMap<&str, u32> = endpoints.iter().map(|endpoint| (endpoint.path, endpoint.cost)).collect();
    let facts = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "needs_key": needs_key,
        "costs": costs,
        "vocabulary": headwater_picture::vocabulary(),
    });
    format!(
        "// Whether a key is needed, costs in credits, words and marks: written by the server.\nexport const FACTS = {facts};\n"
    )
}

/// A page to follow money by clicking
///
/// A graph of addresses and payments that grows by calls of this API, with the caller's key. Needs no key itself.
#[utoipa::path(
    get, path = "/explore", tag = "System", security(()),
    responses((status = 200, description = "The page.", body = String, content_type = "text/html"))
)]
pub(super) async fn index(
    State(gateway): State<Gateway>,
    Extension(page): Extension<Page>,
    request: Request,
) -> Response<Body> {
    page.answer("index.html", &gateway, request).await
}

/// The files of the page.
pub(super) async fn file(
    State(gateway): State<Gateway>,
    Extension(page): Extension<Page>,
    Path(name): Path<String>,
    request: Request,
) -> Response<Body> {
    page.answer(&name, &gateway, request).await
}
