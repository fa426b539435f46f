//! The outermost layer: every request gets an id, an end and a row in the audit.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, ready};

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Response, header};
use headwater_state::{AuditRow, Caller, LoggedRequest};
use tower::Service;

use super::compression::{AcceptedCodings, compress};
use super::context::{CORRELATION_ID, check_head};
use super::hosts;
use super::listener::Routes;
use super::metrics::RequestEnd;
use super::problem::{RefusalDetails, Status};
use super::telemetry::{SpanDetails, Telemetry};
use super::{Context, Gateway, Outcome, Problem, drain};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const CREDIT_COST: HeaderName = HeaderName::from_static("x-credit-cost");
const CREDIT_REMAINING: HeaderName = HeaderName::from_static("x-credit-remaining");
/// Paths that ask whether the server lives. Their requests are counted in the metrics alone.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// Routes, with what every request gets around them.
#[derive(Clone)]
pub(crate) struct RecordedRoutes {
    gateway: Gateway,
    routes: Router,
    /// True if requests for other host names than those of the settings are refused.
    checks_hosts: bool,
}

impl RecordedRoutes {
    /// Routes of a gateway that all need a key.
    pub const fn new(gateway: Gateway, routes: Router) -> Self {
        Self { gateway, routes, checks_hosts: false }
    }

    /// Routes that need a key where the settings say so: without keys only some host names are answered.
    pub fn open(gateway: Gateway, routes: Router) -> Self {
        let checks_hosts = !gateway.settings().auth_required;
        Self { gateway, routes, checks_hosts }
    }

    /// Refuses what is not to reach a route.
    fn check(&self, request: &Request) -> Result<(), Problem> {
        check_head(request)?;
        if self.checks_hosts && !PROBES.contains(&request.uri().path()) {
            hosts::check(request, &self.gateway.settings().allowed_hosts)?;
        }
        Ok(())
    }
}

impl Routes for RecordedRoutes {
    fn answer(&self, request: Request, peer: SocketAddr) -> impl Future<Output = Response<Body>> + Send + use<> {
        let gateway = &self.gateway;
        let address = peer.ip().to_canonical();
        let cancel = gateway.memory().token();
        let context = Arc::new(Context::new(request.method().clone(), request.headers(), address, cancel));
        let parent = gateway.telemetry().and_then(|_| Telemetry::parent(request.headers()));
        let carried = Box::pin(carry(self.clone(), Arc::clone(&context), parent, request));
        RequestTask { context, request: Some(carried) }
    }
}

/// A request on its connection. Dropped before its end, which means that the client closed the connection, it continues
/// in a task of its own, so that holds are given back and the audit is written in every case.
struct RequestTask {
    context: Arc<Context>,
    request: Option<Pin<Box<dyn Future<Output = Response<Body>> + Send>>>,
}

impl Future for RequestTask {
    type Output = Response<Body>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Response<Body>> {
        // Taken out while it runs: a future that panicked is not continued.
        let mut request = self.request.take().expect("a request is not polled after its end");
        let polled = request.as_mut().poll(cx);
        if polled.is_pending() {
            self.request = Some(request);
        }
        polled
    }
}

impl Drop for RequestTask {
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
    served: RecordedRoutes,
    context: Arc<Context>,
    parent: Option<opentelemetry::Context>,
    mut request: Request,
) -> Response<Body> {
    let checked = served.check(&request);
    let RecordedRoutes { gateway, mut routes, .. } = served;
    let _in_flight = gateway.metrics().begin();
    let (address, accepted) = (gateway.address(request.headers(), &context), AcceptedCodings::of(request.headers()));
    let answered = match checked {
        Ok(()) => {
            request.extensions_mut().insert(Arc::clone(&context));
            catch_panic(routes.call(request)).await.map(|Ok(response)| response)
        }
        Err(problem) => {
            let (parts, body) = request.into_parts();
            drain(&parts.headers, body);
            Ok(problem.response())
        }
    };
    let mut response = answered.unwrap_or_else(|PanicError| panicked(&context));
    let mut outcome = Outcome::take(&mut response);
    add_headers(&mut response, &context, &mut outcome);
    let (took, cost, is_charged) = (context.elapsed(), outcome.cost(), outcome.charged.is_some());
    let gone = context.is_client_gone() && !is_charged;
    let status = if gone { Status::ClientGone.http() } else { response.status().as_u16() };
    let endpoint = outcome.endpoint;
    let refused = response.extensions().get::<RefusalDetails>();
    // A stream says later who calls.
    let is_keyless = outcome.is_keyless() && !outcome.is_opening;
    gateway.metrics().end(&RequestEnd { endpoint, status, took, cost, is_keyless, refused });
    if let Some(telemetry) = gateway.telemetry() {
        let (request_id, method) = (context.request_id.as_str(), context.method());
        telemetry.span(SpanDetails { parent, request_id, method, endpoint, status, cost, took });
    }
    if !is_charged && !outcome.is_opening && !endpoint.is_some_and(|endpoint| PROBES.contains(&endpoint)) {
        let row = outcome.audit_row(&context, status, 0, body_length(&response));
        tracing::debug!(
            request_id = row.request_id.as_str(),
            endpoint = row.endpoint,
            status,
            millis = row.duration_ms,
            "answered"
        );
        let request = logged(row, address, refused);
        if request.row.is_listed() {
            if let Err(row) = gateway.state().note(request.row) {
                hand_over(&gateway, row).await;
            }
        } else {
            gateway.state().log(request).await;
        }
    }
    compress(response, accepted)
}

/// A line of the audit log.
fn logged(row: AuditRow, address: IpAddr, refused: Option<&RefusalDetails>) -> LoggedRequest {
    let reason =
        refused.and_then(|refused| refused.envelope.error.details.as_ref().map(|details| details.reason.clone()));
    LoggedRequest { row, address: Some(address), code: refused.map(|refused| refused.code), reason }
}

/// The answer of a request whose handler panicked.
pub(super) fn panicked(context: &Context) -> Response<Body> {
    tracing::error!(request_id = context.request_id.as_str(), "a handler panicked");
    Problem::internal().response()
}

/// The row in the audit of a request that is answered before it is known who calls. It is written when this is dropped.
pub(crate) struct Opening {
    gateway: Gateway,
    context: Arc<Context>,
    outcome: Outcome,
    address: IpAddr,
    status: u16,
}

impl Opening {
    /// Takes the row over from the request that is being answered.
    pub fn new(gateway: &Gateway, context: &Arc<Context>, outcome: &mut Outcome, address: IpAddr) -> Self {
        outcome.is_opening = true;
        let status = Status::ClientGone.http();
        Self { gateway: gateway.clone(), context: Arc::clone(context), outcome: outcome.clone(), address, status }
    }

    /// Notes who calls.
    pub fn identify(&mut self, caller: &Caller) {
        self.outcome.caller = Some(caller.clone());
    }

    /// Notes what became of it, in place of a client that went away.
    pub fn end(mut self, status: u16) {
        self.status = status;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let row = self.outcome.audit_row(&self.context, self.status, 0, 0);
        if !row.is_listed() {
            return self.gateway.state().log_now(logged(row, self.address, None));
        }
        let Err(row) = self.gateway.state().note(row) else { return };
        // Where too many wait it does as well. Without a runtime the process is ending.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let gateway = self.gateway.clone();
            runtime.spawn(async move { hand_over(&gateway, row).await });
        }
    }
}

/// Hands a row of the audit over, and waits while too many wait.
async fn hand_over(gateway: &Gateway, row: AuditRow) {
    let request_id = row.request_id;
    if let Err(error) = gateway.state().record(row).await {
        tracing::error!(%error, request_id = request_id.as_str(), "an audit row could not be handed over");
    }
}

/// Adds the headers of every answer, and to an error its body, which names the request.
fn add_headers(response: &mut Response<Body>, context: &Context, outcome: &mut Outcome) {
    let request_id = outcome.replayed_id.clone().unwrap_or_else(|| context.request_id.to_string());
    if let Some(RefusalDetails { envelope, .. }) = response.extensions().get() {
        let body = envelope.body_for(&request_id);
        // The router stated the length of the empty body.
        response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
        *response.body_mut() = Body::from(body);
    }
    let headers = response.headers_mut();
    let text = |text: &str| HeaderValue::from_str(text).expect("ids are header text");
    headers.insert(REQUEST_ID, text(&request_id));
    headers.insert(CREDIT_COST, outcome.cost().into());
    if let Some(remaining) = outcome.told_remaining() {
        headers.insert(CREDIT_REMAINING, remaining.into());
    }
    if let Some(rate) = &outcome.rate {
        rate.add_headers(headers);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(id) = &context.correlation_id {
        headers.insert(CORRELATION_ID, text(id));
    }
}

fn body_length(response: &Response<Body>) -> u64 {
    let size = response.body().size_hint();
    let stated = || response.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
    size.exact().filter(|bytes| *bytes > 0).or_else(stated).unwrap_or_else(|| size.lower())
}

/// Awaits a future; its panic is a value.
pub(super) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, PanicError> {
    CatchPanic(pin!(future)).await
}

/// A future whose panic is a value.
struct CatchPanic<'a, F>(Pin<&'a mut F>);

pub(super) struct PanicError;

impl<F: Future> Future for CatchPanic<'_, F> {
    type Output = Result<F::Output, PanicError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is never polled again, so what it left half done is never seen.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(polled) => Poll::Ready(Ok(ready!(polled))),
            Err(_) => Poll::Ready(Err(PanicError)),
        }
    }
}
