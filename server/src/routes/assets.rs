//! Files that are served from memory: with a tag, so that a client asks for them again without a body, and compressed once.

use std::io::Write;
use std::sync::OnceLock;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::gateway::{AcceptedCodings, Context, Gateway, Outcome, Problem};

/// Answers a request for a page that needs no key, below the limit of callers without one.
pub(super) async fn page(
    gateway: &Gateway,
    path: &'static str,
    request: Request,
    answer: impl FnOnce(&HeaderMap) -> Result<Response<Body>, Problem> + Send,
) -> Response<Body> {
    let (context, mut outcome) = (Context::of(&request), Outcome::of(path));
    let headers = request.into_parts().0.headers;
    let admitted = gateway.admit_page(path, (&headers, &context), &mut outcome).await;
    let answered = admitted.and_then(|()| answer(&headers));
    outcome.attach(answered.unwrap_or_else(|problem| problem.response()))
}

/// Files of fewer bytes are sent as they are.
const LEAST: usize = 1 << 10;

/// A file.
pub(super) struct Asset {
    bytes: Bytes,
    kind: &'static str,
    tag: HeaderValue,
    gzip: OnceLock<Bytes>,
}

impl Asset {
    /// A file of a media type. Its tag is weak, since it is the same for the file as it is and compressed.
    pub fn new(kind: &'static str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let tag = format!("W/\"{}\"", URL_SAFE_NO_PAD.encode(&Sha256::digest(&bytes)[..12]));
        let tag = HeaderValue::try_from(tag).expect("base64 is header text");
        Self { bytes, kind, tag, gzip: OnceLock::new() }
    }

    /// Answers a request for it: 304 where the client has it already.
    pub fn answer(&self, request: &HeaderMap, headers: &[(HeaderName, &'static str)]) -> Response<Body> {
        let mut response = if self.is_known(request) {
            StatusCode::NOT_MODIFIED.into_response()
        } else if self.is_compressible() && AcceptedCodings::of(request).has_gzip() {
            ([(header::CONTENT_ENCODING, "gzip")], self.gzip()).into_response()
        } else {
            self.bytes.clone().into_response()
        };
        let all = response.headers_mut();
        all.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        all.insert(header::ETAG, self.tag.clone());
        if self.is_compressible() {
            all.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        for (name, value) in headers {
            all.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// Images are compressed already, and small files fit into one packet.
    fn is_compressible(&self) -> bool {
        self.bytes.len() >= LEAST && self.kind != "image/png"
    }

    /// The file as gzip, made when it is first asked for.
    fn gzip(&self) -> Bytes {
        let compressed = || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let written = encoder.write_all(&self.bytes).and_then(|()| encoder.finish());
            written.expect("memory takes what is written").into()
        };
        self.gzip.get_or_init(compressed).clone()
    }

    /// Returns whether `If-None-Match` names it. Tags are compared without their weakness (RFC 9110, 13.1.2).
    fn is_known(&self, request: &HeaderMap) -> bool {
        let weakless = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        let tag = weakless(self.tag.to_str().unwrap_or_default());
        let lines = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(',')).any(|known| known.trim() == "*" || weakless(known) == tag)
    }
}
