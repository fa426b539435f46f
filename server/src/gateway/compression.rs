//! Compression of answers by `Accept-Encoding`: gzip and zstd, at their fastest levels, of texts from 1 KiB.

use std::io;

use async_compression::Level;
use async_compression::tokio::bufread::{GzipEncoder, ZstdEncoder};
use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use futures_util::TryStreamExt;
use tokio_util::io::{ReaderStream, StreamReader};

/// Bodies of fewer bytes are sent as they are: they fit into one packet.
const LEAST: u64 = 1 << 10;
/// Bytes of a compressed body that are sent together.
const CHUNK: usize = 16 << 10;
/// A weight of 1 in thousandths.
const WHOLE: u16 = 1000;

/// A form in which a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Zstd,
}

/// The weights of codings that a client accepts, in thousandths (RFC 9110, 12.5.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AcceptedCodings {
    gzip: u16,
    zstd: u16,
    identity: u16,
}

impl AcceptedCodings {
    /// Reads `Accept-Encoding`. What cannot be read is not accepted.
    pub fn of(headers: &HeaderMap) -> Self {
        let (mut gzip, mut zstd, mut identity, mut any) = (None, None, None, None);
        let lines = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        for item in lines.flat_map(|line| line.split(',')) {
            let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
            let weight = Some(weight(parameters).unwrap_or(0));
            match name.trim().to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => gzip = weight,
                "zstd" => zstd = weight,
                "identity" => identity = weight,
                "*" => any = weight,
                _ => {}
            }
        }
        let or_any = |weight: Option<u16>| weight.or(any).unwrap_or(0);
        Self { gzip: or_any(gzip), zstd: or_any(zstd), identity: identity.unwrap_or(0) }
    }

    /// Returns whether gzip is accepted, and not less than the body as it is.
    pub const fn has_gzip(self) -> bool {
        self.gzip > 0 && self.gzip >= self.identity
    }

    /// Returns the coding that is accepted best: of two that are accepted alike zstd, which takes less time.
    pub(super) fn best(self) -> Option<Coding> {
        let (weight, coding) =
            if self.zstd >= self.gzip { (self.zstd, Coding::Zstd) } else { (self.gzip, Coding::Gzip) };
        (weight > 0 && weight >= self.identity).then_some(coding)
    }
}

/// The weight among the parameters of a coding; that without one is 1.
fn weight(parameters: &str) -> Option<u16> {
    let parameters = parameters.trim();
    if parameters.is_empty() {
        return Some(WHOLE);
    }
    let text = parameters.strip_prefix(['q', 'Q'])?.trim_start().strip_prefix('=')?.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let fraction: u16 = format!("{fraction:0<3}").parse().ok().filter(|_| digits)?;
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(WHOLE),
        _ => None,
    }
}

/// Compresses the body of an answer, where that is worth it and the client accepts it.
pub(super) fn compress(response: Response<Body>, accepted: AcceptedCodings) -> Response<Body> {
    if !is_compressible(&response) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let varies = HeaderValue::from_static("accept-encoding");
    // Files from memory say so themselves.
    if !parts.headers.get_all(header::VARY).iter().any(|known| *known == varies) {
        parts.headers.append(header::VARY, varies);
    }
    let Some(coding) = accepted.best() else { return Response::from_parts(parts, body) };
    parts.headers.remove(header::CONTENT_LENGTH);
    // A body that breaks off breaks off compressed too.
    let reader = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
    let (name, body) = match coding {
        Coding::Gzip => ("gzip", sent(GzipEncoder::with_quality(reader, Level::Fastest))),
        Coding::Zstd => ("zstd", sent(ZstdEncoder::with_quality(reader, Level::Fastest))),
    };
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    Response::from_parts(parts, body)
}

fn sent(encoder: impl tokio::io::AsyncRead + Send + 'static) -> Body {
    Body::from_stream(ReaderStream::with_capacity(encoder, CHUNK))
}

fn is_compressible(response: &Response<Body>) -> bool {
    let (headers, size) = (response.headers(), response.body().size_hint());
    let has_body = !matches!(
        response.status(),
        StatusCode::SWITCHING_PROTOCOLS | StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    has_body
        && size.exact().is_none_or(|bytes| bytes >= LEAST)
        && !headers.contains_key(header::CONTENT_ENCODING)
        && headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(is_text)
}

/// Returns whether a media type is one of texts. Parquet and Arrow compress their columns themselves, images are small.
fn is_text(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.starts_with("text/")
        || matches!(
            kind,
            "application/json" | "application/x-ndjson" | "application/openmetrics-text" | "image/svg+xml"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(lines: &[&str]) -> AcceptedCodings {
        let line = |text: &&str| (header::ACCEPT_ENCODING, HeaderValue::from_str(text).unwrap());
        AcceptedCodings::of(&lines.iter().map(line).collect())
    }

    #[test]
    fn coding_follows_the_weights_of_the_client() {
        use Coding::{Gzip, Zstd};
        let cases: [(&[&str], Option<Coding>); 16] = [
            (&[], None),
            (&[""], None),
            (&["gzip"], Some(Gzip)),
            (&["GZIP, deflate, br"], Some(Gzip)),
            (&["gzip, deflate, br, zstd"], Some(Zstd)),
            (&["gzip;q=0.9, zstd;q=0.8"], Some(Gzip)),
            (&["gzip", "zstd"], Some(Zstd)),
            (&["zstd;q=0, gzip ; q = 0.001"], Some(Gzip)),
            (&["gzip;q=0"], None),
            (&["*"], Some(Zstd)),
            (&["*;q=0"], None),
            (&["zstd;q=0, *"], Some(Gzip)),
            (&["identity, gzip;q=0.5"], None),
            (&["identity;q=0, gzip"], Some(Gzip)),
            (&["gzip;q=2, zstd;q=0.1234"], None),
            (&["deflate, br"], None),
        ];
        for (lines, coding) in cases {
            assert_eq!(accepted(lines).best(), coding, "{lines:?}");
        }
    }

    #[tokio::test]
    async fn compressed_body_that_breaks_off_is_an_error() {
        let pieces = [Ok(vec![b'x'; 5000]), Err(io::Error::other("the table broke off"))];
        let mut response = Response::new(Body::from_stream(futures_util::stream::iter(pieces)));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv"));
        let sent = compress(response, accepted(&["gzip"]));
        assert_eq!(sent.headers()[header::CONTENT_ENCODING], "gzip");
        assert!(axum::body::to_bytes(sent.into_body(), 1 << 20).await.is_err());
    }

    #[test]
    fn short_and_binary_bodies_are_sent_as_they_are() {
        for (kind, bytes, is_compressed) in [
            ("application/json", 1024, true),
            ("application/json", 1023, false),
            ("text/html; charset=utf-8", 2000, true),
            ("image/png", 2000, false),
            ("application/vnd.apache.parquet", 2000, false),
        ] {
            let mut response = Response::new(Body::from(vec![b'x'; bytes]));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            let sent = compress(response, accepted(&["zstd"]));
            assert_eq!(sent.headers().contains_key(header::CONTENT_ENCODING), is_compressed, "{kind} {bytes}");
            assert_eq!(sent.headers().contains_key(header::VARY), is_compressed, "{kind} {bytes}");
        }
    }
}
