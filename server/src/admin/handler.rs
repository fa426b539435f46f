//! The input of every handler: who asks, what was sent, and how it is answered.

use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::Response;
use headwater_engine::{Error, Method, Reason, Warnings, decode};
use headwater_state::{AdminService, StateError, causes};
use headwater_types::text::{SHOWN, shortened};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::AdminState;
use crate::gateway::{Context, Gateway, Meta, Problem, Settings as Limits, Status, drain, read_json};

/// Somebody with an admin key.
#[derive(Clone)]
pub(super) struct Admin {
    pub shared: AdminState,
    actor: String,
    context: Arc<Context>,
}

impl Admin {
    pub fn new(shared: AdminState, actor: String, context: Arc<Context>) -> Self {
        Self { shared, actor, context }
    }

    /// Returns who it is, as changes name them: `admin:ID`.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    pub fn gateway(&self) -> &Gateway {
        &self.shared.gateway
    }

    /// Changes something; the change holds for every request after this.
    pub async fn change<T, F>(&self, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnMut(&mut AdminService<'_, '_>) -> Result<T, StateError> + Send + 'static,
    {
        self.gateway().state().admin(&self.actor, work).await.map_err(|error| explain(&error))
    }

    /// Looks something up.
    pub async fn look<T, F>(&self, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&mut AdminService<'_, '_>) -> Result<T, StateError> + Send + 'static,
    {
        let (gateway, actor) = (self.gateway().clone(), self.actor.clone());
        let read = tokio::task::spawn_blocking(move || {
            let state = gateway.state();
            state.read(|tx| work(&mut AdminService::new(tx, state.home().pepper(), &actor)))
        });
        read.await.map_err(|_| Problem::internal())?.map_err(|error| explain(&error))
    }

    /// The envelope of what came of it.
    pub fn answer(&self, result: Result<impl Serialize, Problem>) -> Response {
        let text = result.and_then(|data| {
            serde_json::to_string(&data).map_err(|error| {
                tracing::error!(%error, "an answer of the back office has no JSON form");
                Problem::internal()
            })
        });
        match text {
            Ok(text) => {
                let meta = Meta { request_id: Some(self.context.request_id), ..Meta::default() };
                let mut response = Response::new(Body::from(meta.wrap(&text)));
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                response
            }
            Err(problem) => problem.response(),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Admin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        // A route that the check of keys does not cover must not work.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::internal().response())
    }
}

/// The one part of the path that is not a fixed text.
pub(super) struct PathName(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathName {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let path = RawPathParams::from_request_parts(parts, state).await;
        let name = path.ok().and_then(|path| path.iter().next().map(|(_, value)| value.to_owned()));
        let unreadable = || Problem::invalid(Reason::InvalidValue, None, "the path cannot be read").response();
        name.map(Self).ok_or_else(unreadable)
    }
}

/// The query of a request. A parameter that does not exist is refused: what was meant is not done by leaving it out.
pub(super) fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let unreadable = |_| Problem::invalid(Reason::InvalidValue, None, "the query cannot be read");
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(unreadable)?;
    let mut fields = Map::new();
    for (name, value) in pairs {
        if fields.contains_key(&name) {
            let message = format!("the parameter {name:?} is given twice: give it once");
            return Err(Problem::invalid(Reason::InvalidValue, Some(&name), message));
        }
        fields.insert(name, Value::String(value));
    }
    read(&Value::Object(fields), Method::Get)
}

/// Reads what was sent as the public listener does.
fn read<T: DeserializeOwned>(sent: &Value, method: Method) -> Result<T, Problem> {
    decode(sent, method, &mut Warnings::default()).map_err(|error| Problem::quietly_from_engine(&error))
}

/// A 400 about the value of a field.
pub(super) fn unfit(reason: Reason, field: &str, value: impl fmt::Display, expected: impl fmt::Display) -> Problem {
    let value = shortened(&value.to_string(), SHOWN);
    let error = Error::invalid(reason, field, format!("{field}: expected {expected}, got {value}"));
    Problem::quietly_from_engine(&Error { value: Some(value), ..error })
}

/// A 400 that names no field yet, with the field that it is about.
pub(super) fn about(mut problem: Problem, field: &str) -> Problem {
    if let Some(details) = &mut problem.details {
        details.field.get_or_insert_with(|| field.to_owned());
    }
    problem
}

/// The empty input of a route that takes nothing but its path.
#[derive(Debug, Deserialize)]
pub(super) struct EmptyRequest {}

impl<S: Send + Sync> FromRequest<S> for EmptyRequest {
    type Rejection = Response;

    async fn from_request(mut request: Request, _: &S) -> Result<Self, Response> {
        if is_empty(request.headers()) {
            request.headers_mut().remove(header::CONTENT_TYPE);
        }
        body(request).await.map_err(|problem| problem.response())
    }
}

fn is_empty(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_LENGTH).is_none_or(|length| length == "0")
        && headers.get(header::TRANSFER_ENCODING).is_none()
}

/// The JSON body of a request, which has no query; where none was sent, as if it were `{}`.
pub(super) async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let (parts, mut body) = request.into_parts();
    let EmptyRequest {} = query(&parts.uri)?;
    let is_empty = parts.headers.get(header::CONTENT_TYPE).is_none() && is_empty(&parts.headers);
    let sent = if is_empty { Ok(json!({})) } else { read_json(&parts, &mut body, &Limits::default()).await };
    let sent = sent.inspect_err(|_| drain(&parts.headers, body))?;
    read(&sent, Method::Post)
}

/// Explains why a change was not made.
pub(super) fn explain(error: &StateError) -> Problem {
    let text = error.to_string();
    match error {
        StateError::UnknownKey(_)
        | StateError::UnknownAdmin(_)
        | StateError::UnknownPlan(_)
        | StateError::DefaultPlan
        | StateError::UnknownCharge(_) => Problem::new(Status::NotFound, text),
        StateError::DeadKey(_) | StateError::ExpiredKey { .. } | StateError::Occupied { .. } => {
            Problem::new(Status::Conflict, text)
        }
        StateError::BadExpiry { .. } => Problem::invalid(Reason::InvalidValue, Some("expires_at"), text),
        StateError::BadMonth { .. } => Problem::invalid(Reason::InvalidValue, Some("month"), text),
        StateError::BadName(_) => Problem::invalid(Reason::InvalidValue, Some("name"), text),
        StateError::BadCursor(_) => Problem::invalid(Reason::InvalidValue, Some("cursor"), text),
        StateError::BadPlan { .. } | StateError::BadAmount { .. } => Problem::invalid(Reason::InvalidValue, None, text),
        _ => {
            tracing::error!(error = causes(error), "the back office could not do what it was asked to");
            Problem::new(Status::BadGateway, "the state cannot be read or written now: the log says why")
        }
    }
}
