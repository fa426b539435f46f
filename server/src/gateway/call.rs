//! A call of a data endpoint, check by check, in the one order that all of them share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response, header};
use headwater_engine::{Column, Endpoint, ErrorKind, Pricing, Query, QueryEngine, Shape, TableHead};
use headwater_state::{AnswerBody, AnswerRecord, Caller, Hold, StateError, StoredAnswer, causes};
use headwater_table::Format;
use tokio::time::timeout_at;

use super::answer::{InFlightResponse, LargeBody};
use super::answers::{self, JsonAnswer};
use super::context::CommittedCharge;
use super::limits::CallSlot;
use super::pool::StopReason;
use super::problem::Status;
use super::record::{catch_panic, panicked};
use super::{AdmittedCall, Context, Gate, Gateway, Meta, Outcome, Problem, arguments, repeat, stream};

/// A call that passed the checks of its head and was read.
struct Call<'a> {
    gateway: &'a Gateway,
    endpoint: &'static Endpoint,
    context: &'a Arc<Context>,
    caller: Option<Caller>,
    slot: Arc<CallSlot>,
    query: Arc<Query>,
    request_hash: [u8; 32],
    /// The table that the client takes in place of JSON.
    form: Option<(Vec<Column>, Format)>,
    budget: Duration,
    /// When the budget began.
    started: tokio::time::Instant,
}

/// The idempotency key that the answer is kept under.
struct Claim(String);

impl Gateway {
    /// Answers a call of a data endpoint that the router found.
    pub(crate) async fn answer(&self, endpoint: &'static Endpoint, request: Request) -> Response<Body> {
        let context = Context::of(&request);
        let (mut parts, mut body) = request.into_parts();
        let mut outcome = Outcome::of(endpoint.path);
        let response = match catch_panic(self.call(endpoint, &context, &mut outcome, &mut parts, &mut body)).await {
            Ok(Ok(response)) => response,
            Ok(Err(problem)) => {
                arguments::drain(&parts.headers, body);
                problem.response()
            }
            Err(_) => panicked(&context),
        };
        outcome.attach(response)
    }

    /// The order of checks. Route and method were right, or the router would have answered.
    async fn call(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        outcome: &mut Outcome,
        parts: &mut Parts,
        body: &mut Body,
    ) -> Result<Response<Body>, Problem> {
        let gate = Gate { path: endpoint.path, class: endpoint.class };
        let AdmittedCall { caller, slot } = self.enter(gate, &parts.headers, context, outcome).await?;
        let key = match caller {
            Some(_) if endpoint.cost > 0 => repeat::key(&parts.headers)?,
            _ => None,
        };
        // A repeated request is answered whatever is left of the credits, and what a list costs is known once it is read:
        // the reservation of these comes last.
        let is_reserved_last = key.is_some() || matches!(endpoint.pricing(), Pricing::PerItem { .. });
        let hold = if is_reserved_last { None } else { self.reserve(endpoint.cost, caller.as_ref()).await? };
        let form = arguments::form_of(&parts.headers, || endpoint.columns())?;
        let read = arguments::read(endpoint, parts, body, &self.0.settings).await?;
        outcome.parameters = self.0.settings.audit_parameters.then(|| read.parameters());
        let query = Arc::new(endpoint.query(read.request));
        let format = form.as_ref().map(|(_, format)| *format);
        let request_hash = self.request_hash(endpoint.path, query.text(), format);
        outcome.request_hash = Some(request_hash);
        self.check_chains(caller.as_ref(), query.chains())?;
        let (budget, started) = (self.0.settings.deadlines.of(endpoint.path, endpoint.class), Instant::now().into());
        let call = Call { gateway: self, endpoint, context, caller, slot, query, request_hash, form, budget, started };
        match key {
            Some(key) => call.respond_once(outcome, key).await,
            None if is_reserved_last => call.respond_per_item(outcome).await,
            None => call.respond(outcome, hold, None).await,
        }
    }

    /// The one digest of a request, for idempotency keys and the audit: keyed, so that nobody without the pepper can test
    /// guesses of what was asked.
    pub(super) fn request_hash(&self, path: &str, canonical: &str, format: Option<Format>) -> [u8; 32] {
        let format = format.map_or("json", Format::media_type);
        let parts = [b"request", path.as_bytes(), format.as_bytes(), canonical.as_bytes()];
        self.0.state.home().pepper().digest(&parts)
    }

    /// The answer that is kept for a request of this caller.
    pub(super) async fn kept(&self, caller: &Caller, key: &str) -> Result<Option<StoredAnswer>, Problem> {
        let (gateway, account, key) = (self.clone(), caller.account().id(), key.to_owned());
        let found = tokio::task::spawn_blocking(move || gateway.0.state.kept(account, &key)).await;
        match found {
            Ok(Ok(kept)) => Ok(kept),
            Ok(Err(error)) => {
                tracing::error!(error = causes(&error), "kept answers cannot be read");
                Err(Problem::new(Status::BadGateway, "kept answers cannot be read now: try again"))
            }
            Err(_) => Err(Problem::internal()),
        }
    }

    /// Holds what the call costs, or can cost at most; nothing is done for a caller who cannot pay.
    async fn reserve(&self, credits: u32, caller: Option<&Caller>) -> Result<Option<Hold>, Problem> {
        let cost = i64::from(credits);
        let Some(caller) = caller.filter(|_| cost > 0) else { return Ok(None) };
        match self.0.state.reserve(caller.account(), cost).await {
            Ok(Some(hold)) => {
                tracing::trace!("credits are held");
                Ok(Some(hold))
            }
            Ok(None) => Err(insufficient(cost)),
            Err(error) => {
                tracing::error!(error = causes(&error), "credits cannot be reserved");
                Err(Problem::new(Status::BadGateway, "credits cannot be reserved now: try again"))
            }
        }
    }
}

impl Call<'_> {
    /// When the call must be done. Waiting for another call under its idempotency key counts.
    fn deadline(&self, budget: Duration) -> tokio::time::Instant {
        self.started + budget
    }

    /// Holds the most that the call can cost. The request was read and checked before.
    async fn reserve(&self) -> Result<Option<Hold>, Problem> {
        self.gateway.reserve(self.query.max_credits(), self.caller.as_ref()).await
    }

    /// Does the work and makes the answer of a call that is paid by its items.
    async fn respond_per_item(&self, outcome: &mut Outcome) -> Result<Response<Body>, Problem> {
        if self.caller.is_some() {
            self.check_values().await?;
        }
        let hold = self.reserve().await?;
        self.respond(outcome, hold, None).await
    }

    /// What is to be paid of a hold, once it is known which items succeeded: the rest is given back. `None` where nothing is.
    fn due(&self, hold: Hold, paid_items: Option<u32>) -> Option<Hold> {
        let hold = hold.lowered_to(i64::from(self.endpoint.credits(paid_items)));
        Some(hold).filter(|hold| hold.cost() > 0)
    }

    /// Does the work and makes the answer, unless it was made before under this idempotency key.
    async fn respond_once(&self, outcome: &mut Outcome, key: String) -> Result<Response<Body>, Problem> {
        let Some(caller) = &self.caller else { return self.respond(outcome, None, None).await };
        let deadline = self.deadline(self.budget);
        let _turn = self.gateway.repeats().turn(caller.account().id(), &key, deadline).await?;
        match self.gateway.kept(caller, &key).await? {
            Some(kept) if kept.request_hash == self.request_hash => return self.replay(outcome, &kept).await,
            kept => {
                self.check_values().await?;
                if kept.is_some() {
                    return Err(repeat::mismatch());
                }
            }
        }
        let hold = self.reserve().await?;
        match self.respond(outcome, hold, Some(Claim(key.clone()))).await {
            // Where another replica was faster, its answer is there.
            Err(refused) if refused.status == Status::TooManyRequests => match self.gateway.kept(caller, &key).await? {
                Some(kept) if kept.request_hash == self.request_hash => self.replay(outcome, &kept).await,
                Some(_) => Err(repeat::mismatch()),
                None => Err(refused),
            },
            answered => answered,
        }
    }

    /// Refuses invalid values before anything is paid.
    async fn check_values(&self) -> Result<(), Problem> {
        let shape = if self.form.is_some() { Shape::Table } else { Shape::Envelope };
        let (engine, query) = (self.gateway.0.engine.clone(), Arc::clone(&self.query));
        // The call counts as under way until the check is over, whoever waits for it.
        let slot = Arc::clone(&self.slot);
        let check = tokio::task::spawn_blocking(move || {
            let checked = engine.check(&query, shape);
            drop(slot);
            checked
        });
        let checked = timeout_at(self.deadline(self.budget), check).await.map_err(|_| self.timed_out())?;
        match checked.map_err(|_| Problem::internal())? {
            Err(error) if matches!(error.kind, ErrorKind::InvalidInput(_)) => Err(self.explain(&error)),
            // Anything else the work itself meets.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Does the work and makes the answer: a cached one is given at once.
    async fn respond(
        &self,
        outcome: &mut Outcome,
        hold: Option<Hold>,
        claim: Option<Claim>,
    ) -> Result<Response<Body>, Problem> {
        if let Some((columns, format)) = &self.form {
            return self.respond_table(outcome, (columns.clone(), *format), hold, claim).await;
        }
        let answer = match self.cached() {
            Some(answer) => answer,
            None => self.work().await?,
        };
        match hold.and_then(|hold| self.due(hold, answer.paid_items)) {
            Some(hold) => self.settle(outcome, hold, claim, answer).await,
            None => Ok(self.give(outcome, answer)),
        }
    }

    /// The same for an answer as a table.
    async fn respond_table(
        &self,
        outcome: &mut Outcome,
        form: (Vec<Column>, Format),
        hold: Option<Hold>,
        claim: Option<Claim>,
    ) -> Result<Response<Body>, Problem> {
        let (engine, keep) = match claim {
            None => (self.gateway.0.engine.clone(), None),
            Some(Claim(key)) => {
                let generation = self.generation().await?;
                let keep =
                    AnswerRecord { key, request_hash: self.request_hash, answer: AnswerBody::Table { generation } };
                (self.engine_at(generation), Some(keep))
            }
        };
        let (head, table) = self.begin(form, engine).await?;
        self.settle_table(outcome, hold, keep, (head, table)).await
    }

    /// Gives a kept answer again, without a charge.
    async fn replay(&self, outcome: &mut Outcome, kept: &StoredAnswer) -> Result<Response<Body>, Problem> {
        let mut response = match (&kept.body, kept.generation, &self.form) {
            (Some(body), _, _) => InFlightResponse::send(json(Body::from(body.clone())), None, &self.slot),
            (None, Some(generation), Some((columns, format))) => {
                let begun = self.begin((columns.clone(), *format), self.engine_at(generation)).await?;
                self.settle_table(outcome, None, None, begun).await?
            }
            (None, _, _) => return Err(repeat::mismatch()),
        };
        outcome.replayed_id = Some(kept.request_id.clone());
        repeat::mark(&mut response);
        Ok(response)
    }

    /// Number of the current generation.
    async fn generation(&self) -> Result<u64, Problem> {
        let ledgers = Arc::clone(&self.gateway.0.ledgers);
        match tokio::task::spawn_blocking(move || ledgers.current().map(|ledger| ledger.generation())).await {
            Ok(Ok(number)) => Ok(number),
            Ok(Err(error)) => {
                tracing::error!(error = causes(&error), "the store cannot be read");
                Err(Problem::new(Status::BadGateway, "stored data cannot be read now: try again"))
            }
            Err(_) => Err(Problem::internal()),
        }
    }

    fn engine_at(&self, number: u64) -> QueryEngine {
        self.gateway.0.engine.over(Arc::new(repeat::LedgerAt { ledgers: Arc::clone(&self.gateway.0.ledgers), number }))
    }

    /// Returns the answer where it is cached for the generation that is known without a wait.
    fn cached(&self) -> Option<JsonAnswer> {
        let (parts, now) = (&self.gateway.0, Instant::now());
        // A query with a cursor is answered from the generation of that.
        if !matches!(self.query.generation(), Ok(None)) {
            return None;
        }
        let generation = parts.ledgers.at_hand(now)?;
        let elapsed_ms = || u64::try_from(now.elapsed().as_millis()).unwrap_or(u64::MAX);
        parts.answers.find(generation, &self.query, elapsed_ms)
    }

    /// Asks the engine, on a thread that may block, within the budget.
    async fn work(&self) -> Result<JsonAnswer, Problem> {
        let ticket = self.gateway.ticket(self.endpoint.class)?;
        let (Gateway(parts), query) = (self.gateway.clone(), Arc::clone(&self.query));
        let cancel = self.context.cancel().clone();
        let work = move || answers::answer((&parts.engine, &parts.answers), &query, &cancel).map_err(Box::new);
        match self.gateway.0.pool.run(ticket, self.deadline(self.budget), (self.context, &self.slot), work).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explain(&error)),
            Err(StopReason::Deadline) => Err(self.timed_out()),
            Err(StopReason::ClientGone) => Err(client_gone()),
            Err(StopReason::Panicked) => Err(self.panicked()),
        }
    }

    /// Begins a table: its head, and the body that its rows will come in. The budget holds until it begins; its rows may
    /// take ten times as long.
    async fn begin(&self, form: (Vec<Column>, Format), engine: QueryEngine) -> Result<(TableHead, Body), Problem> {
        const LONGER: u32 = 10;
        let parts = &self.gateway.0;
        let ticket = self.gateway.ticket(self.endpoint.class)?;
        let held = (self.context.cancel().clone(), parts.pool.slot(&ticket));
        let (job, begun, body) = stream::table(engine, Arc::clone(&self.query), form, held);
        let (gateway, context, slot) = (self.gateway.clone(), Arc::clone(self.context), Arc::clone(&self.slot));
        let end = self.deadline(self.budget * LONGER);
        tokio::spawn(async move {
            // The body, or its beginning, tells how it ended.
            let _ = gateway.0.pool.run(ticket, end, (&context, &slot), job).await;
        });
        match timeout_at(self.deadline(self.budget), begun).await {
            Ok(Ok(Ok(head))) => Ok((head, body)),
            Ok(Ok(Err(error))) => Err(self.explain(&error)),
            Ok(Err(_)) => Err(self.panicked()),
            Err(_) => {
                self.context.cancel().cancel();
                Err(self.timed_out())
            }
        }
    }

    /// Charges for a table, which is paid when it begins, and says in headers what an envelope would say.
    async fn settle_table(
        &self,
        outcome: &mut Outcome,
        hold: Option<Hold>,
        keep: Option<AnswerRecord>,
        (head, body): (TableHead, Body),
    ) -> Result<Response<Body>, Problem> {
        let mut response = Response::new(body);
        if let Some(hold) = hold.and_then(|hold| self.due(hold, head.paid_items)) {
            self.charge(outcome, hold, keep, 0).await?;
            let charged = (self.gateway.0.state.unsent(), self.context.request_id);
            response = InFlightResponse::send(response, Some(charged), &self.slot);
        }
        if let Some((_, format)) = &self.form {
            stream::add_headers(response.headers_mut(), head, *format);
        }
        Ok(response)
    }

    /// Charges what was held and only then makes the answer: no commit, no 2xx.
    async fn settle(
        &self,
        outcome: &mut Outcome,
        hold: Hold,
        claim: Option<Claim>,
        answer: JsonAnswer,
    ) -> Result<Response<Body>, Problem> {
        let (cost, JsonAnswer { data, pagination, warnings, pegged, .. }) = (hold.cost(), answer);
        let request_id = self.context.request_id;
        let meta = move |remaining| Meta {
            credit_cost: Some(cost),
            credit_remaining: Some(remaining),
            pagination,
            request_id: Some(request_id),
            warnings: warnings.clone(),
            pegged: pegged.clone(),
        };
        // Less the digit of the balance, which is known only after the charge.
        let bytes = meta(0).wrapped_length(data.len()) - 1;
        let envelope = Arc::new(move |remaining| meta(remaining).wrap(&data));
        let keep = claim.map(|Claim(key)| {
            let envelope = Arc::clone(&envelope);
            AnswerRecord { key, request_hash: self.request_hash, answer: AnswerBody::Envelope(envelope) }
        });
        let remaining = self.charge(outcome, hold, keep, bytes as u64).await?;
        let charged = (self.gateway.0.state.unsent(), request_id);
        Ok(InFlightResponse::send(json(self.body(envelope(remaining))), Some(charged), &self.slot))
    }

    /// Commits a charge with its audit row, whose body has so many bytes without the digits of the balance. Gives the
    /// balance.
    async fn charge(
        &self,
        outcome: &mut Outcome,
        hold: Hold,
        keep: Option<AnswerRecord>,
        bytes: u64,
    ) -> Result<i64, Problem> {
        if self.context.is_client_gone() {
            return Err(client_gone());
        }
        let cost = hold.cost();
        let row = outcome.audit_row(self.context, 200, cost, bytes);
        tracing::trace!("the work is done");
        let charged = self.gateway.0.state.charge(hold, row, keep).await;
        let remaining = charged.map_err(|error| self.not_settled(&error))?;
        tracing::trace!("the charge is committed");
        outcome.charged = Some(CommittedCharge { cost, remaining });
        Ok(remaining)
    }

    /// An answer that costs nothing.
    fn give(&self, outcome: &mut Outcome, answer: JsonAnswer) -> Response<Body> {
        let JsonAnswer { data, pagination, warnings, pegged, .. } = answer;
        let (credit_remaining, request_id) = (outcome.told_remaining(), Some(self.context.request_id));
        let meta = Meta { credit_cost: Some(0), credit_remaining, pagination, request_id, warnings, pegged };
        InFlightResponse::send(json(self.body(meta.wrap(&data))), None, &self.slot)
    }

    /// The body of an answer. A large one holds the memory of its query until it has left.
    fn body(&self, text: Vec<u8>) -> Body {
        if text.len() < LargeBody::FROM { text.into() } else { LargeBody::body(text, self.context.cancel()) }
    }

    fn timed_out(&self) -> Problem {
        let message = format!("the query did not end within its {:?}: narrow it, or try again later", self.budget);
        Problem::new(Status::GatewayTimeout, message)
    }

    fn panicked(&self) -> Problem {
        let request_id = self.context.request_id.as_str();
        tracing::error!(request_id, endpoint = self.endpoint.path, "a call panicked");
        Problem::internal()
    }

    fn explain(&self, error: &headwater_engine::Error) -> Problem {
        match error.kind {
            ErrorKind::Cancelled if self.context.is_client_gone() => client_gone(),
            ErrorKind::Cancelled => self.timed_out(),
            ErrorKind::InvalidInput(_)
            | ErrorKind::NotFound
            | ErrorKind::Overloaded
            | ErrorKind::Storage
            | ErrorKind::Internal => Problem::from_engine(error, &self.context.request_id),
        }
    }

    fn not_settled(&self, error: &StateError) -> Problem {
        match error {
            StateError::Insufficient { cost } => return insufficient(*cost),
            // By another replica, whose answer is there.
            StateError::Repeated => return repeat::under_way(),
            _ => {}
        }
        tracing::error!(request_id = self.context.request_id.as_str(), error = causes(error), "a charge failed");
        let message = if matches!(error, StateError::Latched) {
            "whether the answer was paid for is not known yet, so it is not given; if it was, it is listed to be \
             refunded: try again"
        } else {
            "the answer could not be accounted for, so it is not given and costs nothing: try again"
        };
        Problem::new(Status::BadGateway, message)
    }
}

/// An answer in JSON.
pub(super) fn json(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn client_gone() -> Problem {
    Problem::new(Status::ClientGone, "the client went away")
}

fn insufficient(cost: i64) -> Problem {
    Problem::new(
        Status::InsufficientCredit,
        format!("this call needs {cost} credits, which the balance less what other calls hold does not cover"),
    )
}
