//! The stream of events.

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri, header};
use axum::response::Response;
use headwater_engine::{CostClass, Reason};
use headwater_state::{Caller, causes, now_ms};
use headwater_types::Timestamp;
use headwater_types::text::{SHOWN, shortened};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::openapi::headers;
use super::openapi::responses::{Circumstances, failures};
use super::own::{Data, OwnOperation};
use crate::events::Events;
use crate::events::stream::{self, FRAME_BYTES, MESSAGE_BYTES, SUBPROTOCOL, StreamCaller, Ticket};
use crate::gateway::{
    Call, Context, ErrorEnvelope, Gate, Gateway, Opening, Outcome, OwnRoute, Problem, Reply, RequestInput, Status,
};

const STREAM: &str = stream::PATH;
/// The text of a ticket: 32 bytes in the base64 of URLs.
const TICKET_FORM: &str = "^[A-Za-z0-9_-]{43}$";
const TICKET: &str = "/v1/stream/ticket";
const GATE: Gate = Gate { path: STREAM, class: CostClass::Free };
/// Bytes that are read from a socket at a time.
const READ_BYTES: usize = 4 << 10;
/// Bytes that are gathered before they are written to a socket.
const WRITE_BYTES: usize = 16 << 10;
/// Bytes that may wait to be written to a socket.
const WRITE_LIMIT: usize = 1 << 20;

/// Open a stream of events
///
/// A `WebSocket`. The key goes into `X-API-Key` of the handshake; a browser, which cannot set it, sends
/// `{"action": "auth", "api_key": "..."}` as its first message within 5 seconds, or a ticket of `POST /v1/stream/ticket`
/// in the query. Then `subscribe`, `unsubscribe`, `resume` and `ping` are taken, and `welcome`, `subscribed`,
/// `unsubscribed`, `event`, `heartbeat`, `error` and `pong` are sent. A client that was cut off sends
/// `{"action": "resume", "id": "...", "after": "evt_..."}` before it subscribes, or with each subscription `after`, the
/// last event that this one was told itself, and is told what it missed: at most 100,000 events and 24 hours. Close
/// codes: 1001 draining, 1002 and 1007 no WebSocket, 1009 message too large, 1013 overloaded, 4008 slow consumer, 4010
/// cursor expired, 4401 unauthorized, 4408 auth timeout, 4409 too many connections, 4429 too many messages. A heartbeat
/// has `heads`, the newest block of each chain, and `lag_seconds`, its age for each chain with a live follower.
#[utoipa::path(
    get, path = STREAM, tag = "Events",
    responses(
        (status = 101, description = "The stream is open."),
        (status = 400, description = "The request is no WebSocket handshake, or its address or headers are too long.", body = ErrorEnvelope,
            example = json!({"error": {
                "code": "bad_request", "message": "this route is a WebSocket of version 13: send its handshake",
                "details": {"reason": "invalid_value"}, "request_id": headers::REQUEST_ID
            }})),
        (status = 401, description = "Key or ticket is not valid, or the page that opens the stream is not admitted.",
            body = ErrorEnvelope,
            example = json!({"error": {
                "code": "unauthorized", "message": "the API key is not valid", "request_id": headers::REQUEST_ID
            }}))
    )
)]
pub(super) async fn open(State(events): State<Events>, request: Request) -> Response {
    let (context, mut outcome) = (Context::of(&request), Outcome::of(STREAM));
    let (mut parts, _) = request.into_parts();
    let response = match handshake(&events, &context, &mut outcome, &mut parts).await {
        Ok((upgrade, comer)) => upgrade.on_upgrade(move |socket| stream::run(socket, events, comer)),
        Err(problem) => {
            let mut refused = problem.response();
            if problem.status == Status::BadRequest {
                // Whoever speaks another version of the protocol learns which one is spoken here (RFC 6455, 4.4).
                refused.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            refused
        }
    };
    outcome.attach(response)
}

/// Everything that is checked before the protocol changes.
async fn handshake(
    events: &Events,
    context: &Arc<Context>,
    outcome: &mut Outcome,
    parts: &mut Parts,
) -> Result<(WebSocketUpgrade, StreamCaller), Problem> {
    let gateway = events.gateway();
    check_origin(events, parts)?;
    let address = gateway.address(&parts.headers, context);
    let caller = if parts.headers.contains_key("x-api-key") {
        gateway.enter(GATE, &parts.headers, context, outcome).await?.caller
    } else if let Some(ticket) = ticket_of(&parts.uri) {
        let caller = redeem(gateway, context, ticket).await?;
        if caller.is_none() {
            gateway.check_address(address)?;
            gateway.note_refused_key(address);
        }
        let refused =
            || Problem::new(Status::Unauthorized, "the ticket is not valid: it is good for one stream and 30 s");
        let caller = caller.ok_or_else(refused)?;
        gateway.enter_known(GATE, caller, context, outcome).await?.caller
    } else {
        None
    };
    let is_known = caller.is_some() || !gateway.settings().auth_required;
    let upgrade = WebSocketUpgrade::from_request_parts(parts, gateway).await.map_err(|_| {
        if !is_known {
            // Only who has opened the stream can say first in it who it is.
            return Problem::new(Status::Unauthorized, "the header X-API-Key is missing");
        }
        Problem::new(Status::BadRequest, "this route is a WebSocket of version 13: send its handshake")
            .because("invalid_value")
    })?;
    check_query(&parts.uri)?;
    let upgrade = upgrade
        .protocols([SUBPROTOCOL])
        .max_message_size(MESSAGE_BYTES)
        .max_frame_size(FRAME_BYTES)
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES)
        .max_write_buffer_size(WRITE_LIMIT);
    let comer = if is_known {
        StreamCaller::Known(caller)
    } else {
        StreamCaller::Unknown(Box::new(Opening::new(gateway, context, outcome, address)), address)
    };
    Ok((upgrade, comer))
}

/// Returns whose ticket it is, which is used up by this.
async fn redeem(gateway: &Gateway, context: &Context, text: &str) -> Result<Option<Caller>, Problem> {
    let Some(ticket) = Ticket::parse(gateway.state().home().pepper(), text) else { return Ok(None) };
    let key_id = gateway.state().write(move |tx| ticket.redeem(tx)).await.map_err(|error| {
        tracing::error!(
            request_id = context.request_id.as_str(),
            error = causes(&error),
            "a ticket could not be looked up"
        );
        Problem::new(Status::BadGateway, "the ticket could not be looked up: get another one and try again")
    })?;
    // The key may have been revoked since.
    Ok(key_id.and_then(|key_id| gateway.state().accounts().holder(&key_id, now_ms() / 1000)))
}

/// Browsers let any page open a socket to any host and reveal only whose page it was: so strangers' pages are refused
/// here.
fn check_origin(events: &Events, parts: &Parts) -> Result<(), Problem> {
    let refused = || {
        let message =
            "pages of this origin may not open a stream: stream.origins in the configuration names those that may";
        Err(Problem::new(Status::Unauthorized, message))
    };
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let origin = match (origins.next(), origins.next()) {
        (None, _) => return Ok(()),
        (Some(origin), None) => origin.to_str().unwrap_or_default(),
        (Some(_), Some(_)) => return refused(),
    };
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| parts.uri.authority().map(axum::http::uri::Authority::as_str));
    let same = origin.split_once("://").is_some_and(|(scheme, authority)| {
        matches!(scheme, "http" | "https") && host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
    });
    if same || events.admits_origin(origin) { Ok(()) } else { refused() }
}

fn ticket_of(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("ticket="))
}

/// Refuses parameters besides the ticket.
fn check_query(uri: &Uri) -> Result<(), Problem> {
    let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let mut names = pairs.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    let Some(name) = names.find(|name| *name != "ticket") else { return Ok(()) };
    let message = format!("unknown query parameter {:?}; the stream takes \"ticket\" alone", shortened(name, SHOWN));
    Err(Problem::invalid(Reason::UnknownField, Some(name), message))
}

/// Get a ticket for one stream
///
/// For browsers: `/v1/stream?ticket=...` within 30 seconds. A ticket is good once, on whichever server of the service.
#[utoipa::path(post, path = TICKET, tag = "Events")]
pub(super) async fn ticket(State(gateway): State<Gateway>, request: Request) -> Response {
    let own = gateway.clone();
    let route = OwnRoute { path: TICKET, takes: RequestInput::Nothing, columns: None };
    gateway.answer_own(route, request, |call| issue(own, call)).await
}

/// A ticket.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ticket)]
struct TicketView {
    /// Its text, for the query of the stream.
    #[schema(pattern = "^[A-Za-z0-9_-]{43}$", example = "3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")]
    ticket: String,
    /// When it is good no more.
    #[schema(format = DateTime)]
    expires_at: String,
}

async fn issue(gateway: Gateway, mut call: Call) -> Result<Reply, Problem> {
    let ticket = Ticket::generate(gateway.state().home().pepper()).map_err(|error| call.failed(&error))?;
    let (own, key_id) = (ticket.clone(), call.caller.key_id());
    let issued = gateway.state().write(move |tx| own.issue(tx, &key_id)).await;
    let Some(expires_at_ms) = issued.map_err(|error| call.failed(&error))? else {
        let message = "the key holds too many tickets that were not used: they expire after 30 s";
        return Err(Problem::new(Status::BadRequest, message).because("too_many_items"));
    };
    let expires_at = Timestamp::new(expires_at_ms / 1000).to_string();
    Ok(call.reply(&TicketView { ticket: ticket.expose().to_owned(), expires_at }))
}

/// Returns what the description says of the ticket besides.
pub(super) fn operations() -> Vec<OwnOperation> {
    let example = json!({
        "ticket": "3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "expires_at": "2026-11-20T10:00:30Z"
    });
    let refusal = "the key holds too many tickets that were not used: they expire after 30 s";
    vec![
        OwnOperation::new("create_stream_ticket", ("post", TICKET), Data::one::<TicketView>(), example)
            .refused_for("too_many_items", refusal),
    ]
}

/// Completes the description of the stream itself.
pub(super) fn complete(paths: &mut Value) {
    let open = &mut paths[STREAM]["get"];
    open["operationId"] = json!("stream");
    open["parameters"] = json!([headers::correlation_id(), {
        "name": "ticket", "in": "query", "required": false, "description": "A ticket in place of a key.",
        "schema": {"type": "string", "pattern": TICKET_FORM}, "example": "3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    }]);
    let of = Circumstances {
        path: STREAM,
        cost: 0,
        class: CostClass::Free,
        has_body: false,
        is_repeatable: false,
        missing: None,
    };
    let mut responses = failures(&of);
    // A handshake asks for no media type and waits for no query.
    for never in ["406", "504"] {
        responses.remove(never);
    }
    for (status, mut own) in std::mem::take(&mut open["responses"]).as_object().cloned().unwrap_or_default() {
        own["headers"] = if status == "101" { headers::open() } else { headers::keyed() };
        responses.insert(status, own);
    }
    responses.sort_keys();
    open["responses"] = Value::Object(responses);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_from_the_query() {
        let of = |uri: &str| ticket_of(&uri.parse().unwrap()).map(str::to_owned);
        assert_eq!(of("/v1/stream?ticket=abc").as_deref(), Some("abc"));
        assert_eq!(of("/v1/stream?a=1&ticket=abc").as_deref(), Some("abc"));
        assert_eq!(of("/v1/stream?tickets=abc"), None);
        assert_eq!(of("/v1/stream"), None);
    }

    #[test]
    fn parameters_besides_the_ticket_are_refused() {
        let check = |uri: &str| check_query(&uri.parse().unwrap());
        for uri in ["/v1/stream", "/v1/stream?", "/v1/stream?ticket=abc&"] {
            assert_eq!(check(uri), Ok(()), "{uri}");
        }
        let refused = check("/v1/stream?ticket=abc&tikcet").unwrap_err();
        assert_eq!(refused.message, r#"unknown query parameter "tikcet"; the stream takes "ticket" alone"#);
        assert_eq!(refused.details.unwrap().reason, "unknown_field");
    }
}
