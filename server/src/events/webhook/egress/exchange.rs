//! One request and the beginning of its answer.

use std::time::UNIX_EPOCH;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use headwater_state::now_ms;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::super::schedule::Outcome;
use super::DeliveryError;
use super::target::Target;

/// Bytes of an answer's body that are read; what comes after them is left where it is.
const BODY_LIMIT: usize = 16 << 10;
/// Bytes of an answer's head.
const HEAD_LIMIT: usize = 16 << 10;

/// The part of an answer's body that is kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum BodyCapture {
    /// Nothing.
    Nothing,
    /// All of it, unless it is longer than so many bytes: then what was read when that was seen.
    Beyond(usize),
}

/// Sends the request and reads the answer, of its body so many bytes at least where there are more. Gives the body where it
/// is kept. Dropping the future closes the connection.
pub(super) async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    target: &Target,
    (headers, body): (HeaderMap, Bytes),
    keeps: BodyCapture,
) -> Result<(Outcome, Vec<u8>), DeliveryError> {
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_LIMIT)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| DeliveryError::BrokenAnswer)?;
    let request = request(target, headers, body).ok_or(DeliveryError::Unreachable)?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|_| DeliveryError::BrokenAnswer)?;
        read(response, keeps).await
    };
    tokio::pin!(answer);
    // Connection and answer are polled together; an end of the connection is not an end of what it has already brought.
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        _ = connection => answer.await,
    }
}

fn request(target: &Target, mut headers: HeaderMap, body: Bytes) -> Option<Request<Full<Bytes>>> {
    headers.insert(header::HOST, HeaderValue::from_str(&target.authority).ok()?);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from(target.path.clone());
    *request.headers_mut() = headers;
    Some(request)
}

async fn read(response: Response<Incoming>, keeps: BodyCapture) -> Result<(Outcome, Vec<u8>), DeliveryError> {
    let status = Some(response.status().as_u16());
    let retry_after_secs = response
        .headers()
        .get(header::RETRY_AFTER)
        .and_then(|value| retry_after(value.to_str().ok()?, now_ms() / 1000));
    let (limit, is_kept) = match keeps {
        BodyCapture::Nothing => (BODY_LIMIT, false),
        BodyCapture::Beyond(bytes) => (bytes.saturating_add(1), true),
    };
    let mut body = response.into_body();
    let (mut taken, mut kept) = (0, Vec::new());
    while taken < limit {
        match body.frame().await {
            None => break,
            Some(Ok(frame)) => {
                let data = frame.data_ref().map_or(&[][..], |data| data);
                taken += data.len();
                if is_kept {
                    kept.extend_from_slice(data);
                }
            }
            Some(Err(_)) => return Err(DeliveryError::BrokenAnswer),
        }
    }
    Ok((Outcome { status, retry_after_secs }, kept))
}

/// Seconds, or a date (RFC 9110, 10.2.3).
fn retry_after(text: &str, now_secs: i64) -> Option<u64> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let date = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    date.as_secs().checked_sub(u64::try_from(now_secs).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after(" 120 ", 0), Some(120));
        // The forms of RFC 9110's own example, which is 784,111,777 seconds after 1970.
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(retry_after(text, 784_111_700), Some(77), "{text}");
        }
        for text in ["", "-1", "soon", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert_eq!(retry_after(text, 2_000_000_000), None, "{text}");
        }
    }
}
