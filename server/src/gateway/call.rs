//! A call of a data endpoint, check by check, in the one order that all of them share.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use headwater_engine::{Answer, Endpoint, ErrorKind, Method};

use super::arguments::{self, Arguments};
use super::pool::Stopped;
use super::problem::{Status, causes};
use super::{Context, Gateway, Meta, Problem, accept};
use crate::state::{Caller, Hold, Refusal, StateError, now_ms};

impl Gateway {
    /// Answers a call of the endpoint that has this name.
    pub(crate) async fn answer(&self, name: &'static str, request: Request) -> Response<Body> {
        let endpoint = headwater_engine::endpoint(name).expect("handlers name endpoints of the engine's table");
        let context =
            request.extensions().get::<Arc<Context>>().cloned().expect("the outermost layer gives every request one");
        context.set_endpoint(endpoint.path);
        let (mut parts, mut body) = request.into_parts();
        match self.call(endpoint, &context, &mut parts, &mut body).await {
            Ok(response) => response,
            Err(problem) => {
                arguments::drain(&parts.headers, &mut body).await;
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
        arguments::check_head(parts)?;
        let caller = self.identify(&parts.headers, context)?;
        // The limits of rate and concurrency (429) have their place here.
        let hold = reserve(endpoint, caller.as_ref())?;
        if !accept::takes_json(&parts.headers) {
            let message = "only application/json is given here: leave `Accept` out, or let it include that";
            return Err(Problem::new(Status::NotAcceptable, message));
        }
        let arguments = match endpoint.method {
            Method::Get => arguments::of_get(parts).await?,
            Method::Post => arguments::of_post(parts, body, &self.0.settings).await?,
        };
        context.facts().parameter_hash = Some(self.0.state.book().parameter_hash(endpoint.path, &arguments.raw));
        let answer = self.work(endpoint, context, arguments).await?;
        self.settle(context, caller.as_ref(), hold, answer).await
    }

    /// Who calls; `None` where no key is needed and none was shown.
    fn identify(&self, headers: &HeaderMap, context: &Context) -> Result<Option<Caller>, Problem> {
        let mut shown = headers.get_all("x-api-key").iter();
        let key = match (shown.next(), shown.next()) {
            (Some(key), None) => key,
            (None, _) if !self.0.settings.auth_required => return Ok(None),
            (None, _) => return Err(unauthorized("the header X-API-Key is missing")),
            (Some(_), Some(_)) => return Err(unauthorized("the header X-API-Key is there more than once")),
        };
        let refused = |refusal| {
            unauthorized(match refusal {
                Refusal::Malformed | Refusal::Unknown => "the API key is not valid",
                Refusal::Revoked => "the API key was revoked",
                Refusal::Expired => "the API key has expired",
            })
        };
        let text = key.to_str().map_err(|_| refused(Refusal::Malformed))?;
        let caller = self.0.state.book().identify(text, now_ms() / 1000).map_err(refused)?;
        let mut facts = context.facts();
        facts.key_id = Some(Arc::clone(&caller.key_id));
        facts.account = Some(Arc::clone(&caller.account));
        Ok(Some(caller))
    }

    /// Asks the desk, on a thread that may block, within the budget of the endpoint's class.
    async fn work(
        &self,
        endpoint: &'static Endpoint,
        context: &Arc<Context>,
        arguments: Arguments,
    ) -> Result<Answer, Problem> {
        let budget =
            self.0.settings.budget_ms.map_or(Duration::from_secs(endpoint.class.budget_secs()), Duration::from_millis);
        let (desk, cancel) = (self.0.desk.clone(), context.cancel.clone());
        let Arguments { request, warnings, .. } = arguments;
        let done = self
            .0
            .pool
            .run(endpoint.class, budget, &context.cancel, move || {
                desk.answer(endpoint, &request, &cancel).map_err(Box::new)
            })
            .await;
        match done {
            Ok(Ok(answer)) => Ok(Answer { warnings: warnings.into_iter().chain(answer.warnings).collect(), ..answer }),
            Ok(Err(error)) => Err(explain(&error, endpoint, context)),
            Err(Stopped::Deadline) => Err(timed_out(endpoint)),
            Err(Stopped::Panicked) => {
                tracing::error!(request_id = context.request_id, endpoint = endpoint.path, "a call panicked");
                Err(Problem::internal())
            }
        }
    }

    /// Charges what was held and only then makes the answer: no commit, no 2xx.
    async fn settle(
        &self,
        context: &Arc<Context>,
        caller: Option<&Caller>,
        hold: Option<Hold>,
        answer: Answer,
    ) -> Result<Response<Body>, Problem> {
        let Answer { data, pagination, warnings } = answer;
        let request_id = Some(context.request_id.clone());
        let mut meta = Meta { credit_cost: Some(0), credit_remaining: None, pagination, request_id, warnings };
        match hold {
            Some(hold) => {
                if context.is_client_gone() {
                    return Err(Problem::new(Status::ClientGone, "the client went away"));
                }
                let cost = hold.cost();
                // Made with a balance of one digit, which the writer replaces by the digits there are.
                meta.credit_cost = Some(cost);
                meta.credit_remaining = Some(0);
                let bytes = data.len() + meta.wrap("").len() - 1;
                let row = context.audit_row(200, cost, bytes as u64);
                let remaining = self.0.state.charge(hold, row).await.map_err(|error| not_settled(&error, context))?;
                context.facts().charged = Some((cost, remaining));
                meta.credit_remaining = Some(remaining);
            }
            None => meta.credit_remaining = caller.map(|caller| caller.account.balance()),
        }
        let mut response = Response::new(Body::from(meta.wrap(&data)));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }
}

fn unauthorized(message: &str) -> Problem {
    Problem::new(Status::Unauthorized, message)
}

/// Holds what the call costs; nothing is done for a caller who cannot pay.
fn reserve(endpoint: &Endpoint, caller: Option<&Caller>) -> Result<Option<Hold>, Problem> {
    let cost = i64::from(endpoint.cost);
    match caller {
        Some(caller) if cost > 0 => match caller.account.reserve(cost) {
            Some(hold) => Ok(Some(hold)),
            None => Err(insufficient(cost)),
        },
        _ => Ok(None),
    }
}

fn insufficient(cost: i64) -> Problem {
    Problem::new(
        Status::InsufficientCredit,
        format!("this call costs {cost} credits, which the balance less what other calls hold does not cover"),
    )
}

fn timed_out(endpoint: &Endpoint) -> Problem {
    let seconds = endpoint.class.budget_secs();
    Problem::new(
        Status::GatewayTimeout,
        format!("the query did not end within its {seconds} seconds: narrow it, or try again later"),
    )
}

fn explain(error: &headwater_engine::Error, endpoint: &Endpoint, context: &Context) -> Problem {
    match error.kind {
        ErrorKind::Cancelled if context.is_client_gone() => Problem::new(Status::ClientGone, "the client went away"),
        ErrorKind::Cancelled => timed_out(endpoint),
        ErrorKind::InvalidInput(_) | ErrorKind::NotFound | ErrorKind::Storage | ErrorKind::Internal => {
            Problem::from_engine(error, &context.request_id)
        }
    }
}

fn not_settled(error: &StateError, context: &Context) -> Problem {
    if let StateError::Insufficient { cost } = error {
        return insufficient(*cost);
    }
    tracing::error!(request_id = context.request_id, error = causes(error), "a charge failed");
    let message = "the answer could not be accounted for, so it is not given and costs nothing: try again";
    Problem::new(Status::BadGateway, message)
}
