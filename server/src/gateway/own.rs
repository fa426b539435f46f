//! Calls that the gateway answers from its own state: the checks of a data endpoint in the same order, without a desk
//! behind them and without a cost.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use headwater_engine::{CostClass, Method, Pagination, Warning, Warnings, decode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::accept::{Form, chosen};
use super::arguments::{self, Arguments};
use super::problem::{Status, causes};
use super::{Context, Gate, Gateway, Meta, Problem};
use crate::state::{Caller, StateError};

/// A route of the gateway's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnRoute {
    /// The path, as limits, plans and audit name it.
    pub path: &'static str,
    /// What is read of a request besides its path.
    pub takes: Takes,
}

/// What is read of a request besides its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The parameters of its query.
    Query,
    /// Its JSON body.
    Body,
    /// Nothing: a body would have no meaning.
    Nothing,
}

/// A call that passed the checks.
#[derive(Debug)]
pub(crate) struct Call {
    /// Who calls.
    pub caller: Caller,
    /// The request it came with.
    pub context: Arc<Context>,
    /// The headers, for what only some calls look at.
    #[expect(dead_code, reason = "the seam of `Idempotency-Key`, which is read from here")]
    pub headers: HeaderMap,
    /// The parameters as they were sent, for the digest of a repeated call.
    #[expect(dead_code, reason = "the seam of `Idempotency-Key`, which compares them")]
    pub raw: Vec<u8>,
    route: OwnRoute,
    path: HashMap<String, String>,
    request: Value,
    warnings: Vec<Warning>,
}

impl Call {
    /// A part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// Reads the parameters; those that have no meaning become warnings of the reply.
    ///
    /// # Errors
    /// A 400 that names the field.
    pub fn decode<R: DeserializeOwned>(&mut self) -> Result<R, Problem> {
        let method = match self.route.takes {
            Takes::Body => Method::Post,
            Takes::Query | Takes::Nothing => Method::Get,
        };
        let mut warnings = Warnings::default();
        let decoded =
            decode(&self.request, method, &mut warnings).map_err(|error| Problem::quietly_from_engine(&error))?;
        self.warn(warnings.into_list());
        Ok(decoded)
    }

    /// Adds warnings to the reply.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.warnings.extend(warnings);
    }

    /// A reply with the warnings that have gathered.
    pub fn reply(&mut self, data: &impl Serialize) -> Reply {
        let data = serde_json::to_string(data).expect("replies are made of maps with text for keys");
        Reply {
            status: StatusCode::OK,
            data,
            location: None,
            pagination: None,
            warnings: std::mem::take(&mut self.warnings),
        }
    }

    /// What a failure of the state is to the client: its text is for the log.
    pub fn failed(&self, error: &StateError) -> Problem {
        tracing::error!(request_id = self.context.request_id, error = causes(error), "a call of the state failed");
        Problem::new(Status::BadGateway, "the state of the gateway could not be read or written: try again")
    }
}

/// A success.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    data: String,
    location: Option<String>,
    pagination: Option<Pagination>,
    warnings: Vec<Warning>,
}

impl Reply {
    /// Something was made, and is found there.
    pub fn created(self, location: String) -> Self {
        Self { status: StatusCode::CREATED, location: Some(location), ..self }
    }

    /// A page of a list.
    pub fn page(self, pagination: Pagination) -> Self {
        Self { pagination: Some(pagination), ..self }
    }
}

impl Gateway {
    /// Answers a call of a route of the gateway's own.
    pub(crate) async fn answer_own<F, W>(&self, route: OwnRoute, request: Request, work: F) -> Response<Body>
    where
        F: FnOnce(Call) -> W,
        W: Future<Output = Result<Reply, Problem>>,
    {
        let context =
            request.extensions().get::<Arc<Context>>().cloned().expect("the outermost layer gives every request one");
        context.set_endpoint(route.path);
        let (mut parts, mut body) = request.into_parts();
        let answered = match self.admit_own(route, &context, &mut parts, &mut body).await {
            Ok(call) => {
                let caller = call.caller.clone();
                let budget = Duration::from_secs(CostClass::Free.budget_secs());
                match tokio::time::timeout(budget, work(call)).await {
                    Ok(reply) => reply.map(|reply| envelope(reply, &caller, &context)),
                    Err(_) => {
                        Err(Problem::new(Status::GatewayTimeout, "the call did not end in time: try again later"))
                    }
                }
            }
            Err(problem) => Err(problem),
        };
        match answered {
            Ok(response) => response,
            Err(problem) => {
                arguments::drain(&parts.headers, body);
                problem.response()
            }
        }
    }

    /// The checks, in the order of data endpoints.
    async fn admit_own(
        &self,
        route: OwnRoute,
        context: &Arc<Context>,
        parts: &mut Parts,
        body: &mut Body,
    ) -> Result<Call, Problem> {
        let gate = Gate { path: route.path, class: CostClass::Free };
        let caller = self.enter(gate, parts, context).await?.ok_or_else(|| {
            Problem::new(Status::Unauthorized, "this call belongs to a key: give one in the header X-API-Key")
        })?;
        if chosen(&parts.headers) != Some(Form::Json) {
            let message = "only application/json is given here: leave `Accept` out, or let it include that";
            return Err(Problem::new(Status::NotAcceptable, message));
        }
        let path = path_of(parts).await?;
        let Arguments { request, raw, warnings } = match route.takes {
            Takes::Body => arguments::of_post(parts, body, self.settings()).await?,
            Takes::Query => arguments::of_query(parts)?,
            Takes::Nothing => Arguments::default(),
        };
        context.facts().parameter_hash = Some(self.state().book().parameter_hash(route.path, &raw));
        let (context, headers) = (Arc::clone(context), parts.headers.clone());
        Ok(Call { caller, context, headers, raw, route, path, request, warnings })
    }
}

async fn path_of(parts: &mut Parts) -> Result<HashMap<String, String>, Problem> {
    let path = RawPathParams::from_request_parts(parts, &()).await.map_err(|rejection| {
        let message = format!("the path cannot be read: {}", rejection.body_text());
        Problem::invalid(headwater_engine::Reason::InvalidValue, None, message)
    })?;
    Ok(path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn envelope(reply: Reply, caller: &Caller, context: &Context) -> Response<Body> {
    let Reply { status, data, location, pagination, warnings } = reply;
    let meta = Meta {
        credit_cost: Some(0),
        credit_remaining: Some(caller.account.balance()),
        pagination,
        request_id: Some(context.request_id.clone()),
        warnings,
    };
    let mut response = Response::new(Body::from(meta.wrap(&data)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(location) = location {
        let location = HeaderValue::from_str(&location).expect("a location is a path of ours with an id at its end");
        headers.insert(header::LOCATION, location);
    }
    response
}
