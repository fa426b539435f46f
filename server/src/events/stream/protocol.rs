//! The protocol of a stream: the messages of both sides and the codes that end it.

use std::collections::BTreeMap;

use headwater_engine::{Error, Method, Warning, Warnings, decode};
use headwater_types::Timestamp;
use headwater_types::text::shortened;
use serde::Deserialize;
use serde_json::{Value, json};

use super::heads::Heads;
use crate::gateway::{Problem, StrictJson};

/// Messages that may wait for a client.
pub(super) const QUEUED_MESSAGES: usize = 1024;
/// Bytes that may wait for a client.
pub(super) const QUEUED_BYTES: usize = 1 << 20;
/// The path of the stream.
pub(crate) const PATH: &str = "/v1/stream";
/// The name of the protocol, which a client may ask for.
pub(crate) const SUBPROTOCOL: &str = "events.v1.json";
/// Seconds between two heartbeats.
pub(super) const HEARTBEAT_SECS: u64 = 30;
/// Subscriptions of one connection.
pub(super) const SUBSCRIPTIONS: usize = 100;
/// Addresses that one subscription names.
pub(super) const ADDRESSES: usize = 1000;
/// Bytes of the id that a client gives a message.
const LONGEST_ID: usize = 128;
/// Characters that the message of a refusal has.
const LONGEST_REFUSAL: usize = 300;
/// Messages that a client may send in a second.
pub(super) const MESSAGES_PER_SECOND: usize = 20;
/// Bytes of a client's message: a subscription that names 1,000 addresses fits.
pub(crate) const MESSAGE_BYTES: usize = 64 << 10;
/// Bytes of a client's frame. As much as a message, since browsers do not let a page choose how it is cut.
pub(crate) const FRAME_BYTES: usize = MESSAGE_BYTES;

/// The reason why the server ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server is shutting down.
    Draining,
    /// The message is not a frame of a WebSocket.
    Malformed,
    /// A text is not UTF-8.
    NotText,
    /// A message larger than is taken.
    TooLarge,
    /// There are too many streams in all.
    Overloaded,
    /// The client does not read what is sent.
    SlowConsumer,
    /// The event to continue after is too old or unknown.
    CursorExpired,
    /// The key is not valid, or no more.
    Unauthorized,
    /// No key came in time.
    AuthTimeout,
    /// The key has too many streams.
    TooManyConnections,
    /// The client sends too much.
    TooManyMessages,
}

impl Ending {
    /// The close code.
    pub const fn code(self) -> u16 {
        match self {
            Self::Draining => 1001,
            Self::Malformed => 1002,
            Self::NotText => 1007,
            Self::TooLarge => 1009,
            Self::Overloaded => 1013,
            Self::SlowConsumer => 4008,
            Self::CursorExpired => 4010,
            Self::Unauthorized => 4401,
            Self::AuthTimeout => 4408,
            Self::TooManyConnections => 4409,
            Self::TooManyMessages => 4429,
        }
    }

    /// The close reason.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Draining => "draining",
            Self::Malformed => "protocol_error",
            Self::NotText => "not_utf8",
            Self::TooLarge => "message_too_large",
            Self::Overloaded => "overloaded",
            Self::SlowConsumer => "slow_consumer",
            Self::CursorExpired => "cursor_expired",
            Self::Unauthorized => "unauthorized",
            Self::AuthTimeout => "auth_timeout",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyMessages => "too_many_messages",
        }
    }
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    /// The key or ticket: the first message of those who showed no key before.
    Auth(String),
    /// It wants events.
    Subscribe {
        /// Comes back in the answer.
        id: String,
        /// The type of the events.
        event_type: String,
        /// The filters.
        filters: Value,
        /// Begin behind this event and not now.
        after: Option<String>,
    },
    /// It wants them no more.
    Unsubscribe {
        /// Comes back in the answer.
        id: String,
        /// The subscription.
        subscription: String,
    },
    /// It wants what came after an event.
    Resume {
        /// Comes back where it cannot be.
        id: String,
        /// The event.
        after: String,
    },
    /// It wants to know whether anybody is there.
    Ping {
        /// Comes back in the answer.
        id: String,
    },
}

/// A message that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RejectedMessage {
    /// The id that it had.
    pub id: Option<String>,
    /// The fault.
    pub message: String,
}

/// A message as it is written.
#[derive(Deserialize)]
struct RawMessage {
    action: Option<String>,
    id: Option<Value>,
    api_key: Option<String>,
    event_type: Option<String>,
    filters: Option<Value>,
    subscription: Option<String>,
    after: Option<String>,
}

impl Request {
    /// Reads a message.
    pub fn parse(text: &str) -> Result<Self, RejectedMessage> {
        let StrictJson(value) = serde_json::from_str(text)
            .map_err(|error| RejectedMessage { id: None, message: format!("the message is no JSON: {error}") })?;
        if !value.is_object() {
            return Err(RejectedMessage { id: None, message: "a message is one JSON object".to_owned() });
        }
        // What is refused is not sent back at length.
        let given = value.get("id").and_then(Value::as_str).filter(|id| id.len() <= LONGEST_ID).map(str::to_owned);
        let refused =
            |message: String| RejectedMessage { id: given.clone(), message: shortened(&message, LONGEST_REFUSAL) };
        let written: RawMessage = decode(&value, Method::Post, &mut Warnings::default())
            .map_err(|error| refused(format!("the message cannot be read: {error}")))?;
        let needed = |field: Option<String>, name: &str| field.ok_or_else(|| refused(format!("{name} is required")));
        let action = needed(written.action, "action")?;
        let id = || match &written.id {
            Some(Value::String(id)) if id.len() <= LONGEST_ID => Ok(id.clone()),
            Some(Value::String(_)) => Err(refused(format!("id has more than {LONGEST_ID} bytes"))),
            Some(other) => Err(refused(format!("id: expected text, got {other}"))),
            None => Err(refused("id is required".to_owned())),
        };
        match action.as_str() {
            "auth" => Ok(Self::Auth(needed(written.api_key, "api_key")?)),
            "subscribe" => Ok(Self::Subscribe {
                id: id()?,
                event_type: needed(written.event_type, "event_type")?,
                filters: written.filters.unwrap_or(Value::Null),
                after: written.after,
            }),
            "unsubscribe" => {
                Ok(Self::Unsubscribe { id: id()?, subscription: needed(written.subscription, "subscription")? })
            }
            "resume" => Ok(Self::Resume { id: id()?, after: needed(written.after, "after")? }),
            "ping" => Ok(Self::Ping { id: id()? }),
            other => {
                Err(refused(format!("action: expected auth, subscribe, unsubscribe, resume or ping, got {other:?}")))
            }
        }
    }
}

/// The first message of the server.
pub(super) fn welcome(connection_id: &str, connections: usize) -> String {
    let limits = json!({
        "connections_per_key": connections,
        "subscriptions": SUBSCRIPTIONS,
        "addresses_per_subscription": ADDRESSES,
        "messages_per_second": MESSAGES_PER_SECOND,
        "message_bytes": MESSAGE_BYTES,
        "queue_messages": QUEUED_MESSAGES,
        "queue_bytes": QUEUED_BYTES,
    });
    json!({"type": "welcome", "connection_id": connection_id, "heartbeat_seconds": HEARTBEAT_SECS, "limits": limits})
        .to_string()
}

/// A subscription holds; `warnings` are in it only where there are some.
pub(super) fn subscribed(id: &str, subscription: &str, warnings: &[Warning]) -> String {
    let mut message = json!({"type": "subscribed", "id": id, "subscription": subscription});
    if !warnings.is_empty() {
        message["warnings"] = json!(Warning::merged(warnings.iter().cloned()));
    }
    message.to_string()
}

/// A subscription is over.
pub(super) fn unsubscribed(id: &str, subscription: &str) -> String {
    json!({"type": "unsubscribed", "id": id, "subscription": subscription}).to_string()
}

/// An event; `body` is what a webhook would get.
pub(crate) fn event(subscription: &str, seq: i64, body: &str) -> String {
    format!(r#"{{"type":"event","subscription":"{subscription}","seq":{seq},"event":{body}}}"#)
}

/// A sign of life with the newest blocks.
pub(super) fn heartbeat(now_secs: i64, heads: &Heads) -> String {
    let blocks: BTreeMap<&str, u64> = heads.blocks.iter().map(|(chain, block)| (chain.name(), *block)).collect();
    let timestamp = Timestamp::new(now_secs).to_string();
    json!({"type": "heartbeat", "timestamp": timestamp, "heads": blocks, "lag_seconds": heads.lags(now_secs)})
        .to_string()
}

/// The answer to a ping.
pub(super) fn pong(id: &str) -> String {
    json!({"type": "pong", "id": id}).to_string()
}

/// A message could not be followed.
pub(super) fn error(id: Option<&str>, code: &str, message: &str) -> String {
    json!({"type": "error", "id": id, "error": {"code": code, "message": message}}).to_string()
}

/// The same for a refusal of the engine, whose text goes to the log where it is not the client's doing.
pub(super) fn refusal(id: &str, connection_id: &str, cause: &Error) -> String {
    let problem = Problem::from_engine(cause, connection_id);
    error(Some(id), problem.status.code(), &problem.message)
}

#[cfg(test)]
mod tests {
    use headwater_testkit::fuzz::{FuzzOutcome, Reader};
    use headwater_types::Chain;

    use super::*;

    #[test]
    fn unknown_field_of_a_message_is_refused() {
        let text = r#"{"action":"subscribe","id":"1","event_type":"large_transfer","filter":{},"x":1,"y":null}"#;
        let refused = Request::parse(text).unwrap_err();
        let expected = r#"unknown field "filter"; did you mean "filters"? Also unknown: "x""#;
        assert_eq!(refused.id.as_deref(), Some("1"));
        assert_eq!(refused.message, format!("the message cannot be read: {expected}"));
    }

    #[test]
    fn heartbeat_has_the_lag_of_followed_chains() {
        let heads = Heads {
            blocks: [(Chain::TRON, 7), (Chain::ETHEREUM, 9)].into(),
            followed: [(Chain::ETHEREUM, Timestamp::new(95)), (Chain::BSC, Timestamp::new(200))].into(),
        };
        let sent: Value = serde_json::from_str(&heartbeat(100, &heads)).unwrap();
        let expected = json!({
            "type": "heartbeat", "timestamp": "1970-01-01T00:01:40Z", "heads": {"ethereum": 9, "tron": 7},
            "lag_seconds": {"bsc": 0, "ethereum": 5},
        });
        assert_eq!(sent, expected);
    }

    #[test]
    fn each_message_is_read() {
        let subscribe =
            r#"{"action":"subscribe","id":"1","event_type":"large_transfer","filters":{"blockchain":"ethereum"}}"#;
        let expected = Request::Subscribe {
            id: "1".to_owned(),
            event_type: "large_transfer".to_owned(),
            filters: json!({"blockchain": "ethereum"}),
            after: None,
        };
        assert_eq!(Request::parse(subscribe), Ok(expected));
        for (text, expected) in [
            (r#"{"action":"auth","api_key":"k"}"#, Request::Auth("k".to_owned())),
            (
                r#"{"action":"unsubscribe","id":"2","subscription":"sub_1"}"#,
                Request::Unsubscribe { id: "2".to_owned(), subscription: "sub_1".to_owned() },
            ),
            (
                r#"{"action":"resume","id":"3","after":"evt_1"}"#,
                Request::Resume { id: "3".to_owned(), after: "evt_1".to_owned() },
            ),
            (r#"{"action":"ping","id":"4","more":null}"#, Request::Ping { id: "4".to_owned() }),
        ] {
            assert_eq!(Request::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_refusal_names_the_field_and_keeps_the_id() {
        for (text, id, named) in [
            ("{", None, "JSON"),
            ("[]", None, "one JSON object"),
            (r#"["ping","7",null,null,null,null,null]"#, None, "one JSON object"),
            (r#"{"action":"ping","id":"7","id":"8"}"#, None, "twice"),
            ("{}", None, "action"),
            (r#"{"action":"dance","id":"7"}"#, Some("7"), "dance"),
            (r#"{"action":"subscribe","id":"7"}"#, Some("7"), "event_type"),
            (r#"{"action":"subscribe","event_type":"x"}"#, None, "id"),
            (r#"{"action":"ping","id":7}"#, None, "text"),
            (r#"{"action":"auth"}"#, None, "api_key"),
            (r#"{"action":"resume","id":"7"}"#, Some("7"), "after"),
        ] {
            let refused = Request::parse(text).unwrap_err();
            assert_eq!(refused.id.as_deref(), id, "{text}");
            assert!(refused.message.contains(named), "{text}: {}", refused.message);
        }
    }

    #[test]
    fn any_message_is_read_or_refused_with_an_answer_that_is_short() {
        let samples = [
            r#"{"action":"subscribe","id":"1","event_type":"large_transfer","filters":{"blockchain":"tron"},"after":"evt_1"}"#,
            r#"{"action":"auth","api_key":"k"}"#,
            r#"{"action":"unsubscribe","id":"2","subscription":"sub_1"}"#,
            r#"{"action":"resume","id":"3","after":"evt_1"}"#,
        ];
        let words = ["\"action\":\"ping\"", "\"id\":[[1]]", "\"id\":null", "\\u0000", "\"filters\":[]", "{}", "null"];
        let reader = Reader::new("stream_frames", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus"));
        reader.samples(samples).words(words).check(|input| {
            let Ok(text) = std::str::from_utf8(input) else { return FuzzOutcome::Refused };
            let read = Request::parse(text);
            match &read {
                Ok(Request::Subscribe { id, .. } | Request::Unsubscribe { id, .. } | Request::Ping { id }) => {
                    assert!(id.len() <= LONGEST_ID);
                    assert!(serde_json::from_str::<Value>(&pong(id)).unwrap()["id"] == id.as_str());
                }
                Ok(Request::Auth(_) | Request::Resume { .. }) => {}
                Err(refused) => {
                    let answer = error(refused.id.as_deref(), "bad_request", &refused.message);
                    assert!(serde_json::from_str::<Value>(&answer).unwrap()["error"]["message"].is_string());
                    assert!(answer.len() < 4_000, "{} bytes", answer.len());
                }
            }
            FuzzOutcome::from(&read)
        });
    }

    #[test]
    fn an_event_carries_the_body_as_it_is() {
        let text = event("sub_1", 7, r#"{"id":"evt_1","data":{"amount":"1.10"}}"#);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["event"]["data"]["amount"], "1.10");
        assert_eq!((&value["type"], &value["seq"]), (&json!("event"), &json!(7)));
    }

    #[test]
    fn endings_have_distinct_codes_and_reasons_that_fit_a_frame() {
        let all = [
            Ending::Draining,
            Ending::TooLarge,
            Ending::Overloaded,
            Ending::SlowConsumer,
            Ending::CursorExpired,
            Ending::Unauthorized,
            Ending::AuthTimeout,
            Ending::TooManyConnections,
            Ending::TooManyMessages,
        ];
        let codes: std::collections::BTreeSet<u16> = all.iter().map(|ending| ending.code()).collect();
        assert_eq!(codes.len(), all.len());
        assert!(all.iter().all(|ending| ending.reason().len() <= 123));
    }
}
