//! A call of a data endpoint, check by check, in the one order that all of them share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Response};
use headwater_engine::{Answer, Column, Desk, Endpoint, ErrorKind, Shape, TableHead, Warning};
use headwater_table::Format;
use tokio::time::timeout_at;

use super::arguments::{self, Read};
use super::pool::Stopped;
use super::problem::{Status, causes};
use super::sent::{Large, OnItsWay};
use super::{Context, Gate, Gateway, Meta, Problem, accept, head, record, repeat, stream};
use crate::state::{Answered, Caller, Hold, Keep, Kept, Refusal, StateError};

impl Gateway {
    /// Answers a call of a data endpoint that the router found.
    pub(crate) async fn answer(&self, endpoint: &'static Endpoint, request: Request) -> Response<Body> {
        let context =
            request.extensions().get::<Arc<Context>>().cloned().expect("the outermost layer gives every request one");
        let (mut parts, mut body) = request.into_parts();
        self.answer_data(endpoint, &context, &mut parts, &mut body).await
    }

    /// Answers a call of a data endpoint.
    pub(super) async fn answer_data(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        parts: &mut Parts,
        body: &mut Body,
    ) -> Response<Body> {
        context.set_endpoint(endpoint.path);
        match self.call(endpoint, context, parts, body).await {
            Ok(response) => response,
            Err(problem) => {
                arguments::drain(&parts.headers, std::mem::take(body));
                problem.response()
            }
        }
    }

    /// The order of checks. Route and method were right, or the router would have answered.
    async fn call(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        parts: &mut Parts,
        body: &mut Body,
    ) -> Result<Response<Body>, Problem> {
        let gate = Gate { path: endpoint.path, class: endpoint.class };
        let caller = self.enter(gate, parts, context).await?;
        let key = match caller {
            Some(_) if endpoint.cost > 0 => repeat::key(&parts.headers)?,
            _ => None,
        };
        // A repeated request is answered whatever is left of the credits, so its reservation comes last.
        let early = if key.is_none() { self.reserve(endpoint, caller).await? } else { None };
        let form = accept::form_of(&parts.headers, || endpoint.columns())?;
        let read = self.read(endpoint, context, parts, body).await?;
        context.facts().parameter_hash = Some(read.parameter_hash);
        if self.0.settings.audit_parameters {
            context.facts().parameters = Some(read.parameters());
        }
        self.check_chains(endpoint, caller, read.asked.request())?;
        head::release(parts);
        // Apart, here and below, so that what a request takes in memory is not that of its rarest form.
        match (key, caller) {
            (Some(key), Some(caller)) => {
                Box::pin(self.respond_once(endpoint, context, (caller, key), read, form)).await
            }
            _ => self.respond(endpoint, context, early, read, (form, None)).await,
        }
    }

    /// Does the work and makes the answer, unless it was made before under this key of repetition.
    async fn respond_once(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        (caller, key): (&Caller, String),
        read: Arc<Read>,
        form: Option<(Vec<Column>, Format)>,
    ) -> Result<Response<Body>, Problem> {
        let request_hash = self.request_hash(endpoint, &read, form.as_ref());
        let deadline = context.deadline(self.budget(endpoint));
        let _turn = self.0.repeats.turn(caller.account().id(), &key, deadline).await?;
        match self.kept(caller, &key).await? {
            Some(kept) if kept.request_hash == request_hash => {
                return self.replay(endpoint, context, &kept, read, form).await;
            }
            kept => {
                self.check_values(endpoint, context, &read, form.as_ref()).await?;
                if kept.is_some() {
                    return Err(repeat::mismatch());
                }
            }
        }
        let hold = self.reserve(endpoint, Some(caller)).await?;
        let claim = Claim { key: key.clone(), request_hash };
        let answered = self.respond(endpoint, context, hold, Arc::clone(&read), (form.clone(), Some(claim))).await;
        match answered {
            // Where another replica was faster, what it answered is there.
            Err(refused) if refused.status == Status::TooManyRequests => match self.kept(caller, &key).await? {
                Some(kept) if kept.request_hash == request_hash => {
                    self.replay(endpoint, context, &kept, read, form).await
                }
                Some(_) => Err(repeat::mismatch()),
                None => Err(refused),
            },
            answered => answered,
        }
    }

    /// Refuses what cannot be meant, before it is paid.
    async fn check_values(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        read: &Arc<Read>,
        form: Option<&(Vec<Column>, Format)>,
    ) -> Result<(), Problem> {
        let shape = if form.is_some() { Shape::Table } else { Shape::Envelope };
        let (desk, read, budget) = (self.0.desk.clone(), Arc::clone(read), self.budget(endpoint));
        // What the call holds is held until the look is over, whoever waits for it.
        let held = Arc::clone(context);
        let look = tokio::task::spawn_blocking(move || {
            let checked = desk.check(endpoint, read.asked.request(), shape);
            drop(held);
            checked
        });
        let checked = timeout_at(context.deadline(budget), look).await.map_err(|_| timed_out(budget))?;
        match checked.map_err(|_| Problem::internal())? {
            Err(error) if matches!(error.kind, ErrorKind::InvalidInput(_)) => Err(explain(&error, budget, context)),
            // Anything else the work itself meets.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Does the work and makes the answer: what is at hand is given at once.
    async fn respond(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        hold: Option<Hold>,
        read: Arc<Read>,
        (form, claim): (Option<(Vec<Column>, Format)>, Option<Claim>),
    ) -> Result<Response<Body>, Problem> {
        if let Some(form) = form {
            return Box::pin(self.respond_table(endpoint, context, read, form, (hold, claim))).await;
        }
        let answer = match self.0.desk.at_hand(&read.asked, Instant::now()) {
            Some(answer) => answer,
            None => Box::pin(self.work(endpoint, context, &read)).await?,
        };
        let answer = read.complete(answer);
        match hold {
            Some(hold) => Box::pin(self.settle(context, (hold, claim), answer)).await,
            None => Ok(self.give(context, answer)),
        }
    }

    /// The same for an answer as a table.
    async fn respond_table(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        read: Arc<Read>,
        (columns, format): (Vec<Column>, Format),
        (hold, claim): (Option<Hold>, Option<Claim>),
    ) -> Result<Response<Body>, Problem> {
        let (desk, keep) = match claim {
            None => (self.0.desk.clone(), None),
            Some(Claim { key, request_hash }) => {
                let generation = self.generation().await?;
                let answer = Answered::Table { generation };
                (self.desk_at(generation), Some(Keep { key, request_hash, answer }))
            }
        };
        let (head, table) = self.begin(endpoint, context, read, (columns, format), desk).await?;
        self.settle_table(context, (hold, keep), (head, table), format).await
    }

    /// Digest of all that a repeated request must have in common with the first one.
    fn request_hash(&self, endpoint: &Endpoint, read: &Read, form: Option<&(Vec<Column>, Format)>) -> [u8; 32] {
        let form = form.map_or("json", |(_, format)| format.media_type());
        let whole = [form, "\n", read.asked.parameters()].concat();
        self.0.state.book().parameter_hash(endpoint.path, whole.as_bytes())
    }

    /// The answer that is kept for a request of this caller.
    pub(super) async fn kept(&self, caller: &Caller, key: &str) -> Result<Option<Kept>, Problem> {
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

    /// Gives a kept answer again, without a charge.
    async fn replay(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        kept: &Kept,
        read: Arc<Read>,
        form: Option<(Vec<Column>, Format)>,
    ) -> Result<Response<Body>, Problem> {
        match (&kept.body, kept.generation, form) {
            (Some(body), _, _) => Ok(OnItsWay::free(repeat::replay(context, kept, body.clone()), context)),
            (None, Some(generation), Some((columns, format))) => {
                let desk = self.desk_at(generation);
                let (head, table) = self.begin(endpoint, context, read, (columns, format), desk).await?;
                let mut response = self.settle_table(context, (None, None), (head, table), format).await?;
                context.facts().answered_id = Some(kept.request_id.clone());
                repeat::mark(&mut response);
                Ok(response)
            }
            (None, _, _) => Err(repeat::mismatch()),
        }
    }

    /// Number of the generation that answers now.
    async fn generation(&self) -> Result<u64, Problem> {
        let ledgers = Arc::clone(&self.0.ledgers);
        match tokio::task::spawn_blocking(move || ledgers.current().map(|ledger| ledger.generation())).await {
            Ok(Ok(number)) => Ok(number),
            Ok(Err(error)) => {
                tracing::error!(error = causes(&error), "the store cannot be read");
                Err(Problem::new(Status::BadGateway, "stored data cannot be read now: try again"))
            }
            Err(_) => Err(Problem::internal()),
        }
    }

    fn desk_at(&self, number: u64) -> Desk {
        Desk::new(Arc::new(repeat::At { ledgers: Arc::clone(&self.0.ledgers), number }))
    }

    /// Holds what the call costs; nothing is done for a caller who cannot pay.
    async fn reserve(&self, endpoint: &Endpoint, caller: Option<&Caller>) -> Result<Option<Hold>, Problem> {
        let cost = i64::from(endpoint.cost);
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

    /// Who calls; `None` where no key is needed and none was shown.
    pub(super) fn identify<'a>(
        &self,
        headers: &HeaderMap,
        context: &'a Context,
    ) -> Result<Option<&'a Caller>, Problem> {
        let mut shown = headers.get_all(API_KEY).iter();
        let key = match (shown.next(), shown.next()) {
            (Some(key), None) => key,
            (None, _) if !self.0.settings.auth_required => return Ok(None),
            (None, _) => return Err(unauthorized("the header X-API-Key is missing")),
            (Some(_), Some(_)) => return Err(unauthorized("the header X-API-Key is there more than once")),
        };
        let refused = |refusal| {
            let message = match refusal {
                Refusal::Unverified => {
                    return Problem::new(Status::BadGateway, "keys cannot be verified now: try again");
                }
                Refusal::Malformed | Refusal::Unknown => "the API key is not valid",
                Refusal::Revoked => "the API key was revoked",
                Refusal::Expired => "the API key has expired",
            };
            unauthorized(message)
        };
        let (text, book) = (key.to_str().map_err(|_| refused(Refusal::Malformed))?, self.0.state.book());
        let caller = context.peer.holder(text, book, context.began_ms() / 1000).map_err(refused)?;
        Ok(Some(context.identify(caller)))
    }

    /// Asks the desk, on a thread that may block, within the budget of the endpoint's class.
    async fn work(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        read: &Arc<Read>,
    ) -> Result<Answer, Problem> {
        let budget = self.budget(endpoint);
        let ticket = self.ticket(endpoint.class)?;
        let (desk, cancel) = (self.0.desk.clone(), context.cancel(&self.0.memory).clone());
        let read = Arc::clone(read);
        let done = self
            .0
            .pool
            .run(ticket, context.deadline(budget), context, move || {
                desk.answer(endpoint, read.asked.request(), &cancel).map_err(Box::new)
            })
            .await;
        match done {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(explain(&error, budget, context)),
            Err(Stopped::Deadline) => Err(timed_out(budget)),
            Err(Stopped::ClientGone) => Err(Problem::new(Status::ClientGone, "the client went away")),
            Err(Stopped::Panicked) => {
                tracing::error!(request_id = context.request_id.as_str(), endpoint = endpoint.path, "a call panicked");
                Err(Problem::internal())
            }
        }
    }

    /// Begins a table: what it says besides its rows, and the body that they will come in. The budget of the class holds
    /// until it begins; its rows may take ten times as long.
    async fn begin(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        read: Arc<Read>,
        form: (Vec<Column>, Format),
        desk: Desk,
    ) -> Result<(TableHead, Body), Problem> {
        const LONGER: u32 = 10;
        let budget = self.budget(endpoint);
        let ticket = self.ticket(endpoint.class)?;
        let held = (context.cancel(&self.0.memory).clone(), self.0.pool.slot(&ticket));
        let (job, begun, body) = stream::table(desk, endpoint, Arc::clone(&read), form, held);
        let (gateway, waiting, end) = (self.clone(), Arc::clone(context), context.deadline(budget * LONGER));
        tokio::spawn(async move {
            // How it ended the body says, or what waits for its beginning.
            let _ = gateway.0.pool.run(ticket, end, &waiting, job).await;
        });
        match timeout_at(context.deadline(budget), begun).await {
            Ok(Ok(Ok(head))) => {
                let warnings = Warning::merged(read.warnings.iter().cloned().chain(head.warnings));
                Ok((TableHead { warnings, ..head }, body))
            }
            Ok(Ok(Err(error))) => Err(explain(&error, budget, context)),
            Ok(Err(_)) => {
                tracing::error!(request_id = context.request_id.as_str(), endpoint = endpoint.path, "a call panicked");
                Err(Problem::internal())
            }
            Err(_) => {
                context.stop();
                Err(timed_out(budget))
            }
        }
    }

    /// Charges for a table, which is paid when it begins, and says in headers what an envelope would say.
    async fn settle_table(
        &self,
        context: &Arc<Context>,
        (hold, keep): (Option<Hold>, Option<Keep>),
        (head, body): (TableHead, Body),
        format: Format,
    ) -> Result<Response<Body>, Problem> {
        let mut response = Response::new(body);
        if let Some(hold) = hold {
            if context.is_client_gone() {
                return Err(Problem::new(Status::ClientGone, "the client went away"));
            }
            let cost = hold.cost();
            let row = context.audit_row(&context.facts(), 200, cost, 0, context.elapsed());
            tracing::trace!("the work is done");
            let charged = self.0.state.charge(hold, row, keep).await;
            let remaining = charged.map_err(|error| not_settled(&error, context))?;
            tracing::trace!("the charge is committed");
            context.facts().charged = Some((cost, remaining));
            response = OnItsWay::charged(self.0.state.unsent(), response, context);
        }
        stream::say(response.headers_mut(), head, format);
        Ok(response)
    }

    fn budget(&self, endpoint: &Endpoint) -> Duration {
        self.0.settings.deadlines.of(endpoint.path, endpoint.class)
    }

    /// Charges what was held and only then makes the answer: no commit, no 2xx.
    async fn settle(
        &self,
        context: &Arc<Context>,
        (hold, claim): (Hold, Option<Claim>),
        answer: Answer,
    ) -> Result<Response<Body>, Problem> {
        if context.is_client_gone() {
            return Err(Problem::new(Status::ClientGone, "the client went away"));
        }
        let (cost, Answer { data, pagination, warnings }) = (hold.cost(), answer);
        // Made with a balance of one digit, in place of which come the digits there are.
        let (credit_cost, credit_remaining, request_id) = (Some(cost), Some(0), Some(context.request_id));
        let meta = Meta { credit_cost, credit_remaining, pagination, request_id, warnings };
        let (data_bytes, kept) = (data.len(), claim.map(|claim| (claim, data.clone())));
        let mut body = meta.wrap(data);
        let row = context.audit_row(&context.facts(), 200, cost, body.len() as u64 - 1, context.elapsed());
        let keep = kept.map(|(Claim { key, request_hash }, data)| {
            let answer = Answered::Envelope { data, meta: Box::new(meta) };
            Keep { key, request_hash, answer }
        });
        tracing::trace!("the work is done");
        let charged = self.0.state.charge(hold, row, keep).await;
        let remaining = charged.map_err(|error| not_settled(&error, context))?;
        tracing::trace!("the charge is committed");
        context.facts().charged = Some((cost, remaining));
        Meta::set_remaining(&mut body, data_bytes, remaining);
        let response = record::json(context, self.body(body, context), Some(remaining));
        Ok(OnItsWay::charged(self.0.state.unsent(), response, context))
    }

    /// An answer that costs nothing.
    fn give(&self, context: &Arc<Context>, answer: Answer) -> Response<Body> {
        let Answer { data, pagination, warnings } = answer;
        let (credit_remaining, request_id) = (context.remaining(), Some(context.request_id));
        let meta = Meta { credit_cost: Some(0), credit_remaining, pagination, request_id, warnings };
        let response = record::json(context, self.body(meta.wrap(data), context), credit_remaining);
        OnItsWay::free(response, context)
    }

    /// The body of an answer. A large one holds the memory of its query until it has left.
    fn body(&self, text: Vec<u8>, context: &Context) -> Body {
        if text.len() < Large::FROM { text.into() } else { Large::body(text, context.cancel(&self.0.memory)) }
    }
}

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

fn unauthorized(message: &str) -> Problem {
    Problem::new(Status::Unauthorized, message)
}

/// What a request brings to be kept under.
struct Claim {
    key: String,
    request_hash: [u8; 32],
}

fn insufficient(cost: i64) -> Problem {
    Problem::new(
        Status::InsufficientCredit,
        format!("this call costs {cost} credits, which the balance less what other calls hold does not cover"),
    )
}

fn timed_out(budget: Duration) -> Problem {
    let message = format!("the query did not end within its {budget:?}: narrow it, or try again later");
    Problem::new(Status::GatewayTimeout, message)
}

fn explain(error: &headwater_engine::Error, budget: Duration, context: &Context) -> Problem {
    match error.kind {
        ErrorKind::Cancelled if context.is_client_gone() => Problem::new(Status::ClientGone, "the client went away"),
        ErrorKind::Cancelled => timed_out(budget),
        ErrorKind::InvalidInput(_)
        | ErrorKind::NotFound
        | ErrorKind::Overloaded
        | ErrorKind::Storage
        | ErrorKind::Internal => Problem::from_engine(error, &context.request_id),
    }
}

fn not_settled(error: &StateError, context: &Context) -> Problem {
    match error {
        StateError::Insufficient { cost } => return insufficient(*cost),
        // By another replica, whose answer is there.
        StateError::Repeated => return repeat::under_way(),
        _ => {}
    }
    tracing::error!(request_id = context.request_id.as_str(), error = causes(error), "a charge failed");
    let message = if matches!(error, StateError::Latched) {
        "whether the answer was paid for is not known yet, so it is not given; if it was, it is listed to be refunded: \
         try again"
    } else {
        "the answer could not be accounted for, so it is not given and costs nothing: try again"
    };
    Problem::new(Status::BadGateway, message)
}
