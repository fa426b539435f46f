//! Calls that the gateway answers from its own state: the checks of a data endpoint in the same order, without an engine
//! behind them and without a cost.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use headwater_engine::{CanonicalText, Column, CostClass, Method, Pagination, TableHead, Warning, Warnings, decode};
use headwater_state::{AnswerBody, AnswerRecord, Caller, StateError, StoredAnswer, causes};
use headwater_table::Format;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::arguments::{self, Arguments};
use super::call::json;
use super::limits::CallSlot;
use super::pool::Ticket;
use super::problem::Status;
use super::record::{catch_panic, panicked};
use super::repeat::{self, Turn};
use super::{AdmittedCall, Context, Gate, Gateway, Meta, Outcome, Problem, stream};

/// A route of the gateway's own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnRoute {
    /// The path, as limits, plans and audit name it.
    pub path: &'static str,
    /// What is read of a request besides its path.
    pub takes: RequestInput,
    /// The columns of its answer as a table, where that is a list.
    pub columns: Option<fn() -> Vec<Column>>,
}

/// What is read of a request besides its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestInput {
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
    headers: HeaderMap,
    request_hash: [u8; 32],
    deadline: Instant,
    /// The balance that the reply tells.
    remaining: i64,
    route: OwnRoute,
    path: HashMap<String, String>,
    request: Value,
    warnings: Vec<Warning>,
    /// The table that the client takes in place of JSON.
    form: Option<(Vec<Column>, Format)>,
    /// Its place among the calls at work and among those of its caller, held until it is over.
    _held: (Ticket, Arc<CallSlot>),
}

impl Call {
    /// A part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// Reads the parameters.
    ///
    /// # Errors
    /// A 400 that names the field.
    pub fn decode<R: DeserializeOwned>(&mut self) -> Result<R, Problem> {
        let method = match self.route.takes {
            RequestInput::Body => Method::Post,
            RequestInput::Query | RequestInput::Nothing => Method::Get,
        };
        let mut warnings = Warnings::default();
        let decoded =
            decode(&self.request, method, &mut warnings).map_err(|error| Problem::quietly_from_engine(&error))?;
        self.warn(warnings.into_list());
        Ok(decoded)
    }

    /// The balance, for a reply that has asked the database: a replica by itself knows it as of its last lease.
    pub fn left(&mut self, credits: i64) {
        self.remaining = credits;
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
            warnings: Warning::merged(std::mem::take(&mut self.warnings)),
            ..self.empty()
        }
    }

    fn empty(&self) -> Reply {
        Reply { remaining: self.remaining, ..Reply::default() }
    }

    /// A page of a list, in the form that the client takes.
    pub async fn page<R: Serialize>(&mut self, rows: &[R], pagination: Pagination) -> Result<Reply, Problem> {
        let Some(form) = self.form.take() else {
            return Ok(Reply { pagination: Some(pagination), ..self.reply(&rows) });
        };
        let mut lines = Vec::new();
        for row in rows {
            serde_json::to_writer(&mut lines, row).expect("replies are made of maps with text for keys");
            lines.push(b'\n');
        }
        let warnings = Warning::merged(std::mem::take(&mut self.warnings));
        let head = TableHead { total: pagination.total, warnings, ..TableHead::default() };
        let encoded = tokio::task::spawn_blocking(move || {
            stream::whole(&form, &head, &lines).map(|body| Table { head, format: form.1, body })
        });
        match encoded.await.map_err(|_| Problem::internal())? {
            Ok(table) => Ok(Reply { table: Some(table), ..self.empty() }),
            Err(error) => {
                tracing::error!(
                    request_id = self.context.request_id.as_str(),
                    error = causes(&error),
                    "a table could not be encoded"
                );
                Err(Problem::internal())
            }
        }
    }

    /// What became of this call when it came before under the same `Idempotency-Key`. Of several at a time one goes on,
    /// while it has its claim; the others wait.
    pub async fn repetition(&self, gateway: &Gateway) -> Result<Repetition, Problem> {
        let Some(key) = repeat::key(&self.headers)? else { return Ok(Repetition::Without) };
        let request_hash = self.request_hash;
        let turn = gateway.repeats().turn(self.caller.account().id(), &key, self.deadline).await?;
        match gateway.kept(&self.caller, &key).await? {
            None => Ok(Repetition::First(Claim { key, request_hash, _turn: turn })),
            Some(kept) => self.again(gateway, request_hash, kept).map(|reply| Repetition::Again(Box::new(reply))),
        }
    }

    /// The reply that is kept, given again.
    pub fn again(&self, gateway: &Gateway, request_hash: [u8; 32], kept: StoredAnswer) -> Result<Reply, Problem> {
        if kept.request_hash != request_hash {
            return Err(repeat::mismatch());
        }
        let sealed = kept.body.as_deref().unwrap_or_default();
        let body = gateway.state().home().master().open(sealed).map_err(|error| self.failed(&error))?;
        let status = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
        Ok(Reply { status, again: Some(Again { request_id: kept.request_id, body }), ..self.empty() })
    }

    /// The reply as it is kept for a repetition: sealed, since it may hold a secret.
    pub fn keep(&self, gateway: &Gateway, claim: &Claim, reply: &Reply) -> Result<AnswerRecord, Problem> {
        let body = reply.meta(&self.context).wrap(&reply.data);
        let sealed = gateway.state().home().master().seal(&body).map_err(|error| self.failed(&error))?;
        Ok(AnswerRecord {
            key: claim.key.clone(),
            request_hash: claim.request_hash,
            answer: AnswerBody::Sealed(sealed),
        })
    }

    /// What a failure of the state is to the client: its text is for the log.
    pub fn failed(&self, error: &StateError) -> Problem {
        tracing::error!(
            request_id = self.context.request_id.as_str(),
            error = causes(error),
            "a call of the state failed"
        );
        Problem::new(Status::BadGateway, "the state of the gateway could not be read or written: try again")
    }
}

/// How a call stands with its `Idempotency-Key`.
#[derive(Debug)]
pub(crate) enum Repetition {
    /// It has none.
    Without,
    /// It is the first one.
    First(Claim),
    /// It was answered before.
    Again(Box<Reply>),
}

/// The right to be answered first under a key.
#[derive(Debug)]
pub(crate) struct Claim {
    key: String,
    request_hash: [u8; 32],
    _turn: Turn,
}

#[derive(Debug)]
struct Again {
    request_id: String,
    body: Vec<u8>,
}

/// A list as a table, whole.
#[derive(Debug)]
struct Table {
    head: TableHead,
    format: Format,
    body: Vec<u8>,
}

/// A success.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    status: StatusCode,
    remaining: i64,
    data: String,
    location: Option<String>,
    pagination: Option<Pagination>,
    warnings: Vec<Warning>,
    again: Option<Again>,
    table: Option<Table>,
}

impl Reply {
    fn meta(&self, context: &Context) -> Meta {
        Meta {
            credit_cost: Some(0),
            credit_remaining: Some(self.remaining),
            pagination: self.pagination,
            request_id: Some(context.request_id),
            warnings: self.warnings.clone(),
            ..Meta::default()
        }
    }

    /// Something was made, and is found there.
    pub fn created(self, location: String) -> Self {
        Self { status: StatusCode::CREATED, location: Some(location), ..self }
    }

    /// The same of a reply that is given again: what was made is found under its id below `path`.
    pub fn created_before(self, path: &str) -> Self {
        let body = self.again.as_ref().map(|again| again.body.as_slice()).unwrap_or_default();
        let id =
            serde_json::from_slice::<Value>(body).ok().and_then(|body| Some(body["data"]["id"].as_str()?.to_owned()));
        Self { location: id.map(|id| format!("{path}/{id}")), ..self }
    }
}

impl Gateway {
    /// Answers a call of a route of the gateway's own.
    pub(crate) async fn answer_own<F, W>(&self, route: OwnRoute, request: Request, work: F) -> Response<Body>
    where
        F: FnOnce(Call) -> W,
        W: Future<Output = Result<Reply, Problem>>,
    {
        let context = Context::of(&request);
        let mut outcome = Outcome::of(route.path);
        let (mut parts, mut body) = request.into_parts();
        let answer = self.reply_own(route, &context, &mut outcome, (&mut parts, &mut body), work);
        let response = match catch_panic(answer).await {
            Ok(Ok(reply)) => envelope(reply, &context, &mut outcome),
            Ok(Err(problem)) => {
                arguments::drain(&parts.headers, body);
                problem.response()
            }
            Err(_) => panicked(&context),
        };
        outcome.attach(response)
    }

    async fn reply_own<F, W>(
        &self,
        route: OwnRoute,
        context: &Arc<Context>,
        outcome: &mut Outcome,
        (parts, body): (&mut Parts, &mut Body),
        work: F,
    ) -> Result<Reply, Problem>
    where
        F: FnOnce(Call) -> W,
        W: Future<Output = Result<Reply, Problem>>,
    {
        let call = self.admit_own(route, context, outcome, (parts, body)).await?;
        let late = || Problem::new(Status::GatewayTimeout, "the call did not end in time: try again later");
        timeout_at(call.deadline, work(call)).await.map_err(|_| late())?
    }

    /// The checks, in the order of data endpoints.
    async fn admit_own(
        &self,
        route: OwnRoute,
        context: &Arc<Context>,
        outcome: &mut Outcome,
        (parts, body): (&mut Parts, &mut Body),
    ) -> Result<Call, Problem> {
        let gate = Gate { path: route.path, class: CostClass::Free };
        let AdmittedCall { caller, slot } = self.enter(gate, &parts.headers, context, outcome).await?;
        let caller = caller.ok_or_else(|| {
            Problem::new(Status::Unauthorized, "this call belongs to a key: give one in the header X-API-Key")
        })?;
        let form = arguments::form_of(&parts.headers, || route.columns.map(|columns| columns()))?;
        let path = path_of(parts).await?;
        let Arguments { request, .. } = match route.takes {
            RequestInput::Body => arguments::of_body(parts, body, self.settings()).await?,
            RequestInput::Query => arguments::of_query(parts)?,
            RequestInput::Nothing => arguments::of_nothing(parts)?,
        };
        let format = form.as_ref().map(|(_, format)| *format);
        // What the path names is a parameter like others.
        let canonical = CanonicalText::new(parts.uri.path(), &mut (&request).into());
        let request_hash = self.request_hash(route.path, canonical.text(), format);
        outcome.request_hash = Some(request_hash);
        let remaining = caller.account().balance();
        Ok(Call {
            remaining,
            caller,
            context: Arc::clone(context),
            headers: parts.headers.clone(),
            request_hash,
            deadline: Instant::now() + self.settings().deadlines.of(route.path, CostClass::Free),
            route,
            path,
            request,
            warnings: Vec::new(),
            form,
            _held: (self.ticket(CostClass::Free)?, slot),
        })
    }
}

async fn path_of(parts: &mut Parts) -> Result<HashMap<String, String>, Problem> {
    let path = RawPathParams::from_request_parts(parts, &()).await.map_err(|rejection| {
        let message = format!("the path cannot be read: {}", rejection.body_text());
        Problem::invalid(headwater_engine::Reason::InvalidValue, None, message)
    })?;
    Ok(path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn envelope(reply: Reply, context: &Context, outcome: &mut Outcome) -> Response<Body> {
    outcome.remaining = Some(reply.remaining);
    if let Some(Table { head, format, body }) = reply.table {
        let mut response = Response::new(Body::from(body));
        stream::add_headers(response.headers_mut(), head, format);
        return response;
    }
    let mut response = match reply.again {
        Some(Again { request_id, body }) => {
            outcome.replayed_id = Some(request_id);
            let mut response = json(Body::from(body));
            repeat::mark(&mut response);
            response
        }
        None => json(Body::from(reply.meta(context).wrap(&reply.data))),
    };
    *response.status_mut() = reply.status;
    if let Some(location) = reply.location {
        let location = HeaderValue::from_str(&location).expect("a location is a path of ours with an id at its end");
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}
