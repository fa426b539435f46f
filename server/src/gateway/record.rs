//! The outermost layer: every request gets an id, an end and a row in the audit.

use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Response, header};
use tower::Service;

use super::metrics::{Ended, Refused};
use super::problem::Status;
use super::telemetry::{Telemetry, Traced};
use super::{Context, Gateway, Problem, drain, head};

/// Headers that an answer may have.
pub(super) const HEADERS: usize = 12;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const CREDIT_COST: HeaderName = HeaderName::from_static("x-credit-cost");
const CREDIT_REMAINING: HeaderName = HeaderName::from_static("x-credit-remaining");

/// Routes, with what every request gets around them.
#[derive(Clone)]
pub(crate) struct Recorded {
    gateway: Gateway,
    routes: Router,
}

impl Recorded {
    pub const fn new(gateway: Gateway, routes: Router) -> Self {
        Self { gateway, routes }
    }
}

impl Service<Request> for Recorded {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Carried;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    /// Gives a request its context and its way back.
    fn call(&mut self, mut request: Request) -> Carried {
        let Self { gateway, routes } = self.clone();
        let cancel = gateway.memory().token();
        let context = Arc::new(Context::new(request.method().clone(), request.headers(), cancel));
        let parent = gateway.telemetry().and_then(|_| Telemetry::parent(request.headers()));
        request.extensions_mut().insert(Arc::clone(&context));
        let carried = Box::pin(carry(gateway, Arc::clone(&context), parent, request, routes));
        Carried { context, request: Some(carried) }
    }
}

/// A request on its connection. Dropped before its end, which means that the client went away, it goes on in a task of
/// its own, so that holds are given back and the audit is written in every case.
pub(crate) struct Carried {
    context: Arc<Context>,
    request: Option<Pin<Box<dyn Future<Output = Response<Body>> + Send>>>,
}

impl Future for Carried {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        // Taken out while it runs: what panicked is not carried on.
        let mut request = self.request.take().expect("a request is not polled after its end");
        let polled = request.as_mut().poll(cx);
        if polled.is_pending() {
            self.request = Some(request);
        }
        polled.map(Ok)
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.context.client_left();
            // Without a runtime the process is ending, and what the request holds is given back by dropping it.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(request);
            }
        }
    }
}

async fn carry(
    gateway: Gateway,
    context: Arc<Context>,
    parent: Option<opentelemetry::Context>,
    request: Request,
    mut routes: Router,
) -> Response<Body> {
    let _under_way = gateway.metrics().begin();
    let response = match head::check(request.uri(), request.headers()) {
        Ok(()) => match CatchPanic(pin!(routes.call(request))).await {
            Ok(Ok(response)) => response,
            Err(Panicked) => {
                tracing::error!(request_id = context.request_id, "a handler panicked");
                Problem::internal().response()
            }
        },
        Err(problem) => {
            let (parts, body) = request.into_parts();
            drain(&parts.headers, body);
            problem.response()
        }
    };
    let response = with_headers(response, &context);
    let took = context.elapsed();
    measure(&gateway, &context, took, parent, &response);
    if context.facts().charged.is_none() {
        let status = if context.is_client_gone() { Status::ClientGone.http() } else { response.status().as_u16() };
        let row = context.audit_row(status, 0, body_length(&response), took);
        tracing::debug!(
            request_id = row.request_id,
            endpoint = row.endpoint,
            status,
            millis = row.duration_ms,
            "answered"
        );
        if let Err(error) = gateway.state().record(row).await {
            tracing::error!(%error, request_id = context.request_id, "an audit row could not be handed over");
        }
    }
    response
}

/// What figures and traces are told of a request that ended.
fn measure(
    gateway: &Gateway,
    context: &Context,
    took: Duration,
    parent: Option<opentelemetry::Context>,
    response: &Response<Body>,
) {
    let facts = context.facts();
    let gone = context.is_client_gone() && facts.charged.is_none();
    let status = if gone { Status::ClientGone.http() } else { response.status().as_u16() };
    let cost = facts.charged.map_or(0, |(cost, _)| cost);
    let refused = response.extensions().get::<Refused>();
    gateway.metrics().end(&Ended { endpoint: facts.endpoint, status, took, cost, refused });
    if let Some(telemetry) = gateway.telemetry() {
        let (request_id, method) = (context.request_id.as_str(), context.method());
        telemetry.span(Traced { parent, request_id, method, endpoint: facts.endpoint, status, cost, took });
    }
}

fn with_headers(mut response: Response<Body>, context: &Context) -> Response<Body> {
    let facts = context.facts();
    let (cost, remaining) = match facts.charged {
        Some((cost, remaining)) => (cost, Some(remaining)),
        None => (0, facts.account.as_ref().map(|account| account.balance())),
    };
    let text = |text: &str| HeaderValue::from_str(text).expect("an id is made of letters, digits and marks");
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, text(facts.answered_id.as_ref().unwrap_or(&context.request_id)));
    if let Some(id) = &context.correlation_id {
        headers.insert(CORRELATION_ID, text(id));
    }
    headers.insert(CREDIT_COST, HeaderValue::from(cost));
    if let Some(remaining) = remaining {
        headers.insert(CREDIT_REMAINING, HeaderValue::from(remaining));
    }
    if let Some(standing) = &facts.standing {
        standing.tell(headers);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn body_length(response: &Response<Body>) -> u64 {
    let stated = response.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    stated.unwrap_or_else(|| response.body().size_hint().lower())
}

/// A future whose panic is a value.
struct CatchPanic<'a, F>(Pin<&'a mut F>);

struct Panicked;

impl<F: Future> Future for CatchPanic<'_, F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is never polled again, so what it left half done is never seen.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(polled) => Poll::Ready(Ok(ready!(polled))),
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    }
}
