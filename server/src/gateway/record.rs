//! The outermost layer: every request gets an id, an end and a row in the audit.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, ready};

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Response, header};
use headwater_engine::{ENDPOINTS, Endpoint};
use tower::Service;

use super::context::Facts;
use super::listener::{Peer, Routes};
use super::metrics::{Ended, Refused};
use super::problem::Status;
use super::said::{CREDIT_COST, CREDIT_REMAINING, REQUEST_ID, Said, Usual};
use super::telemetry::{Telemetry, Traced};
use super::{Context, Gateway, Problem, drain, head};
use crate::state::{AuditRow, Caller};

pub(super) const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const QUEUE_WAIT: HeaderName = HeaderName::from_static("x-queue-wait-ms");
/// Paths that ask whether the server lives.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];
/// Most rows of the audit that probes leave behind.
pub(super) const LEFT_BEHIND: usize = 1024;

/// Routes, with what every request gets around them.
#[derive(Clone)]
pub(crate) struct Recorded {
    gateway: Gateway,
    routes: Router,
    has_data: bool,
}

impl Recorded {
    /// Routes of the gateway's own.
    pub const fn new(gateway: Gateway, routes: Router) -> Self {
        Self { gateway, routes, has_data: false }
    }

    /// The same with those of data, of which most are found without asking the router.
    pub fn with_data(self) -> Self {
        Self { has_data: true, ..self }
    }
}

impl Routes for Recorded {
    /// Gives a request its context and its way back.
    fn answer(
        self: &Arc<Self>,
        request: Request,
        peer: &Arc<Peer>,
    ) -> impl Future<Output = Response<Body>> + Send + use<> {
        let gateway = &self.gateway;
        let context = Arc::new(Context::new(request.method().clone(), request.headers(), Arc::clone(peer)));
        let parent = gateway.telemetry().and_then(|_| Telemetry::parent(request.headers()));
        let carried = Box::pin(carry(Arc::clone(self), Arc::clone(&context), parent, request.into_parts()));
        Carried { context, request: Some(carried) }
    }
}

/// The data endpoint of a request. One with parts in its path, or asked in another way than its own, the router finds.
fn endpoint(parts: &Parts) -> Option<&'static Endpoint> {
    let method = match parts.method {
        Method::GET => headwater_engine::Method::Get,
        Method::POST => headwater_engine::Method::Post,
        _ => return None,
    };
    let path = parts.uri.path();
    ENDPOINTS.iter().find(|endpoint| endpoint.path == path && endpoint.method == method && !path.contains('{'))
}

/// A request on its connection. Dropped before its end, which means that the client went away, it goes on in a task of
/// its own, so that holds are given back and the audit is written in every case.
struct Carried {
    context: Arc<Context>,
    request: Option<Pin<Box<dyn Future<Output = Response<Body>> + Send>>>,
}

impl Future for Carried {
    type Output = Response<Body>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Response<Body>> {
        // Taken out while it runs: what panicked is not carried on.
        let mut request = self.request.take().expect("a request is not polled after its end");
        let polled = request.as_mut().poll(cx);
        if polled.is_pending() {
            self.request = Some(request);
        }
        polled
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
    served: Arc<Recorded>,
    context: Arc<Context>,
    parent: Option<opentelemetry::Context>,
    (mut parts, mut body): (Parts, Body),
) -> Response<Body> {
    let gateway = &served.gateway;
    let _under_way = gateway.metrics().begin();
    let endpoint = if served.has_data { endpoint(&parts) } else { None };
    let answered = match (head::check(&parts), endpoint) {
        (Ok(()), Some(endpoint)) => {
            CatchPanic(pin!(gateway.answer_data(endpoint, &context, &mut parts, &mut body))).await
        }
        (Ok(()), None) => {
            let mut request = head::detached(Request::from_parts(parts, body));
            request.extensions_mut().insert(Arc::clone(&context));
            // Apart, so that what a call of data takes in memory is not what the router takes.
            let mut routed = Box::pin(served.routes.clone().call(request));
            CatchPanic(routed.as_mut()).await.map(|Ok(response)| response)
        }
        (Err(problem), _) => {
            drain(&parts.headers, body);
            Ok(problem.response())
        }
    };
    let mut response = answered.unwrap_or_else(|Panicked| {
        tracing::error!(request_id = context.request_id.as_str(), "a handler panicked");
        Problem::internal().response()
    });
    let mut facts = std::mem::take(&mut *context.facts());
    add_headers(&mut response, &context, &mut facts);
    let (took, charged) = (context.elapsed(), facts.charged);
    let gone = context.is_client_gone() && charged.is_none();
    let status = if gone { Status::ClientGone.http() } else { response.status().as_u16() };
    let (endpoint, cost) = (facts.endpoint, charged.map_or(0, |(cost, _)| cost));
    let refused = response.extensions().get::<Refused>();
    gateway.metrics().end(&Ended { endpoint, status, took, cost, refused });
    if let Some(telemetry) = gateway.telemetry() {
        let (request_id, method) = (context.request_id.as_str(), context.method());
        telemetry.span(Traced { parent, request_id, method, endpoint, status, cost, took });
    }
    if charged.is_none() && !facts.is_opening {
        let row = context.audit_row(&facts, status, 0, body_length(&response), took);
        tracing::debug!(
            request_id = row.request_id.as_str(),
            endpoint = row.endpoint,
            status,
            millis = row.duration_ms,
            "answered"
        );
        if !gateway.state().note(&row) {
            Box::pin(wait_for_room(gateway, row)).await;
        }
    }
    response
}

/// Hands a row of the audit over where too many wait. Probes leave theirs behind as far as there is room: a server that
/// is silent because its disk is full would be killed, and the rows that wait with it.
async fn wait_for_room(gateway: &Gateway, row: AuditRow) {
    let is_probe = row.endpoint.is_some_and(|endpoint| PROBES.contains(&endpoint));
    match Arc::clone(&gateway.0.left_behind).try_acquire_owned() {
        Ok(room) if is_probe => {
            let gateway = gateway.clone();
            tokio::spawn(async move {
                hand_over(&gateway, row).await;
                drop(room);
            });
        }
        _ => hand_over(gateway, row).await,
    }
}

/// The row in the audit of a request that is answered before it is known who calls. It is written when this is dropped.
pub(crate) struct Opening {
    gateway: Gateway,
    context: Arc<Context>,
    facts: Facts,
    status: u16,
}

impl Opening {
    /// Takes the row over from the request that is being answered.
    pub fn new(gateway: &Gateway, context: &Arc<Context>) -> Self {
        let mut facts = context.facts();
        facts.is_opening = true;
        let (gateway, context, facts) = (gateway.clone(), Arc::clone(context), facts.clone());
        Self { gateway, context, facts, status: Status::ClientGone.http() }
    }

    /// Notes who calls.
    pub fn identify(&self, caller: &Caller) {
        self.context.identify(Arc::new(caller.clone()));
    }

    /// Notes what became of it, in place of a client that went away.
    pub fn end(mut self, status: u16) {
        self.status = status;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let row = self.context.audit_row(&self.facts, self.status, 0, 0, self.context.elapsed());
        if self.gateway.state().note(&row) {
            return;
        }
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

/// An answer in JSON. Where a caller is told of a limit, as nearly all are, it says what it has to say already.
pub(super) fn json(context: &Context, body: Body, remaining: Option<i64>) -> Response<Body> {
    let (mut response, facts) = (Response::new(body), context.facts());
    if let (Some(remaining), Some(standing)) = (remaining, facts.standing) {
        let (id, cost) = told(context, &facts);
        *response.headers_mut() = Usual::lines(id, cost, remaining, standing);
    } else {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}

/// The id of the request that an answer was made for, and what it cost.
fn told<'a>(context: &'a Context, facts: &'a Facts) -> (&'a str, i64) {
    (facts.answered_id.as_deref().unwrap_or(&context.request_id), facts.charged.map_or(0, |(cost, _)| cost))
}

/// Says what an answer does not say yet.
fn add_headers(response: &mut Response<Body>, context: &Context, facts: &mut Facts) {
    let headers = response.headers_mut();
    if !headers.contains_key(REQUEST_ID) {
        let remaining = context.remaining_of(facts);
        let ((id, cost), mut said) = (told(context, facts), Said::default());
        said.text(REQUEST_ID, &[id]);
        said.number(CREDIT_COST, cost);
        if let Some(remaining) = remaining {
            said.number(CREDIT_REMAINING, remaining);
        }
        if let Some(standing) = &facts.standing {
            standing.tell(&mut said);
        }
        said.tell(headers);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    if let Some(Refused { envelope, .. }) = response.extensions().get() {
        let body = envelope.body_for(told(context, facts).0);
        // What the router stated is the length of the body that it saw.
        response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
        *response.body_mut() = Body::from(body);
    }
    let headers = response.headers_mut();
    if let Some(id) = &context.correlation_id {
        headers.insert(CORRELATION_ID, HeaderValue::from_str(id).expect("it was looked at"));
    }
    if let Some(waited_ms) = facts.standing.and_then(|standing| standing.waited_ms()) {
        headers.insert(QUEUE_WAIT, waited_ms.into());
    }
}

fn body_length(response: &Response<Body>) -> u64 {
    let size = response.body().size_hint();
    let stated = || response.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
    size.exact().filter(|bytes| *bytes > 0).or_else(stated).unwrap_or_else(|| size.lower())
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
