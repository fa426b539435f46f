//! Traces for OpenTelemetry: one span per request, sent in the background to a collector.
//!
//! A span has the request's id, its route, method, status and cost, and nothing else: no header, parameter, key or body
//! can reach the collector, because nothing but these fields is ever handed over.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span, SpanKind, Status, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HeaderExtractor, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

/// The time that one sending may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of a collector's answer.
const ANSWER: usize = 64 << 10;

/// The way to a collector.
pub struct Telemetry {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// The details of a span.
pub(super) struct SpanDetails<'a> {
    pub parent: Option<Context>,
    pub request_id: &'a str,
    pub method: &'a str,
    pub endpoint: Option<&'static str>,
    pub status: u16,
    pub cost: i64,
    pub took: Duration,
}

impl Telemetry {
    /// Begins to send to the collector at an address such as `http://127.0.0.1:4318`; `/v1/traces` is added where it
    /// names no path. Sending runs on `runtime`.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn start(collector: &str, runtime: Handle) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let address: hyper::Uri = collector.parse()?;
        let target = if address.path() == "/" {
            format!("{}/v1/traces", collector.trim_end_matches('/'))
        } else {
            collector.to_owned()
        };
        let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender { client, runtime })
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(target)
            .with_timeout(TIMEOUT)
            .build()?;
        let resource = Resource::builder()
            .with_service_name("headwater")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        let tracer = provider.tracer("headwater");
        Ok(Self { provider, tracer })
    }

    /// The span that a client's `traceparent` names, where it sent one.
    pub(super) fn parent(headers: &axum::http::HeaderMap) -> Option<Context> {
        headers
            .contains_key("traceparent")
            .then(|| TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers)))
    }

    pub(super) fn span(&self, traced: SpanDetails<'_>) {
        let end = SystemTime::now();
        let route = traced.endpoint.unwrap_or("none");
        let attributes = vec![
            KeyValue::new("http.request.method", traced.method.to_owned()),
            KeyValue::new("http.route", route),
            KeyValue::new("http.response.status_code", i64::from(traced.status)),
            KeyValue::new("headwater.request_id", traced.request_id.to_owned()),
            KeyValue::new("headwater.credit_cost", traced.cost),
        ];
        let builder = self
            .tracer
            .span_builder(format!("{} {route}", traced.method))
            .with_kind(SpanKind::Server)
            .with_start_time(end.checked_sub(traced.took).unwrap_or(end))
            .with_attributes(attributes);
        let mut span = self.tracer.build_with_context(builder, &traced.parent.unwrap_or_default());
        if traced.status >= 500 {
            span.set_status(Status::error(""));
        }
        span.end_with_timestamp(end);
    }

    /// Sends what waits and ends. Blocks; the runtime that it was started with must still be there.
    pub fn stop(&self) {
        if let Err(error) = self.provider.shutdown_with_timeout(TIMEOUT) {
            tracing::warn!(%error, "the last traces may not have reached the collector");
        }
    }
}

/// Sends over plain HTTP/1.1, without redirects and without a proxy.
#[derive(Debug)]
struct Sender {
    client: Client<HttpConnector, Full<Bytes>>,
    runtime: Handle,
}

impl HttpClient for Sender {
    fn send_bytes<'s, 'a>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>
    where
        's: 'a,
        Self: 'a,
    {
        let client = self.client.clone();
        // The exporter waits on a thread of its own, which drives no connections.
        let sending = self.runtime.spawn(async move {
            let sent = async {
                let answer = client.request(request.map(Full::new)).await?;
                let (parts, body) = answer.into_parts();
                let body = Limited::new(body, ANSWER).collect().await?.to_bytes();
                Ok::<_, HttpError>(Response::from_parts(parts, body))
            };
            tokio::time::timeout(TIMEOUT, sent).await?
        });
        Box::pin(async move { sending.await? })
    }
}
