//! Access to the back office: the admin key, and how often an address may show a wrong one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use headwater_state::clock::milliseconds;
use headwater_state::{AdminService, causes};

use super::handler::Admin;
use super::{AdminState, PATHS};
use crate::gateway::{Context, Outcome, Problem, Status, drain};

/// Wrong keys that an address may show at once; one more is allowed per second.
const BURST: u64 = 10;
/// Addresses that are remembered at a time.
const MOST: usize = 10_000;

/// Wrong keys by address, as the time at which all of them are forgiven, in milliseconds.
#[derive(Default)]
pub(super) struct Failures(Mutex<HashMap<IpAddr, u64>>);

impl Failures {
    const FORGIVEN_MS: u64 = 1000;

    fn is_over(&self, address: IpAddr, now_ms: u64) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&address).is_some_and(|until| until.saturating_sub(now_ms) > (BURST - 1) * Self::FORGIVEN_MS)
    }

    fn note(&self, address: IpAddr, now_ms: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, until| *until > now_ms);
        }
        let until = known.entry(address).or_insert(now_ms);
        *until = (*until).max(now_ms) + Self::FORGIVEN_MS;
    }
}

/// Names the matched route to the audit.
pub(super) async fn name_endpoint(request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
    let named = PATHS.iter().chain(&["/healthz", "/readyz"]).find(|path| **path == matched);
    let mut response = next.run(request).await;
    let mut outcome = Outcome::take(&mut response);
    outcome.endpoint = named.copied();
    outcome.attach(response)
}

/// Lets a request through that shows an admin key.
pub(super) async fn admit(State(shared): State<AdminState>, mut request: Request, next: Next) -> Response {
    let context = Context::of(&request);
    match identify(&shared, request.headers(), context.address).await {
        Ok(id) => {
            let actor = format!("admin:{id}");
            let outcome = Outcome::default().by(&actor);
            request.extensions_mut().insert(Admin::new(shared, actor, context));
            outcome.attach(next.run(request).await)
        }
        Err(problem) => {
            let (parts, body) = request.into_parts();
            drain(&parts.headers, body);
            problem.response()
        }
    }
}

/// The id of the admin key that was shown.
async fn identify(shared: &AdminState, headers: &HeaderMap, address: IpAddr) -> Result<String, Problem> {
    let now_ms = milliseconds();
    if shared.failures.is_over(address, now_ms) {
        let message = "too many wrong admin keys came from this address: wait a second between tries";
        return Err(Problem::new(Status::TooManyRequests, message).because("rate_limited").after(1));
    }
    let refused = |message: &str| {
        shared.failures.note(address, now_ms);
        Err(Problem::new(Status::Unauthorized, message))
    };
    let text = match shown_key(headers) {
        Ok(text) => text,
        Err(message) => return refused(message),
    };
    let gateway = shared.gateway.clone();
    let found = tokio::task::spawn_blocking(move || {
        let state = gateway.state();
        state.read(|tx| AdminService::new(tx, state.home().pepper(), "").identify_admin(&text))
    });
    match found.await {
        Ok(Ok(Some(id))) => Ok(id),
        Ok(Ok(None)) => refused("the admin key is not valid"),
        Ok(Err(error)) => {
            tracing::error!(error = causes(&error), "admin keys cannot be read");
            Err(Problem::new(Status::BadGateway, "keys cannot be verified now: try again"))
        }
        Err(_) => Err(Problem::internal()),
    }
}

/// Returns the key of a request: from `X-Admin-Key`, or from `Authorization: Bearer` as Prometheus and other tools send it.
fn shown_key(headers: &HeaderMap) -> Result<String, &'static str> {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let mut shown = headers.get_all("x-admin-key").iter();
    match (shown.next(), shown.next()) {
        (Some(key), None) => Ok(text(key)),
        (Some(_), Some(_)) => Err("the header X-Admin-Key is there more than once"),
        (None, _) => headers
            .get(header::AUTHORIZATION)
            .and_then(|value| Some(text(value).strip_prefix("Bearer ")?.trim().to_owned()))
            .ok_or("the header X-Admin-Key is missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_key_is_read_from_either_header() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            let pair =
                |(name, value): &(&'static str, &'static str)| (name.parse().unwrap(), HeaderValue::from_static(value));
            pairs.iter().map(pair).collect::<HeaderMap>()
        };
        assert_eq!(shown_key(&headers(&[("x-admin-key", "hw_admin_1")])).unwrap(), "hw_admin_1");
        assert_eq!(shown_key(&headers(&[("authorization", "Bearer hw_admin_2")])).unwrap(), "hw_admin_2");
        let both = headers(&[("authorization", "Bearer hw_admin_2"), ("x-admin-key", "hw_admin_1")]);
        assert_eq!(shown_key(&both).unwrap(), "hw_admin_1");
        assert!(shown_key(&headers(&[("authorization", "Basic YTpi")])).is_err());
        assert!(shown_key(&headers(&[])).is_err());
    }

    #[test]
    fn an_address_has_ten_tries_and_one_more_each_second() {
        let (failures, one) = (Failures::default(), IpAddr::from([10, 0, 0, 1]));
        for _ in 0..10 {
            assert!(!failures.is_over(one, 5000));
            failures.note(one, 5000);
        }
        assert!(failures.is_over(one, 5000) && failures.is_over(one, 5999));
        assert!(!failures.is_over(one, 6000), "one second forgives one");
        assert!(!failures.is_over(IpAddr::from([10, 0, 0, 2]), 5000), "others are not concerned");
    }

    #[test]
    fn what_is_remembered_stays_bounded() {
        let failures = Failures::default();
        for number in 0..30_000_u32 {
            failures.note(IpAddr::from(number.to_be_bytes()), u64::from(number) * 10);
        }
        assert!(failures.0.lock().unwrap().len() <= MOST);
    }
}
