//! What the fields of the gateway's own records hold, as the description says it: the bounds that are checked.

use headwater_engine::events::EventType;
use serde_json::{Value, json};

use crate::events;
use crate::events::webhook::egress::LONGEST;
use crate::gateway::Status;

/// What is said of a field, by the names of record and field; `None` where the engine or the type says all there is.
pub(super) fn keywords(record: &str, field: &str) -> Option<Value> {
    Some(match (record, field) {
        ("CreateWebhookRequest" | "UpdateWebhookRequest", "target_url") => {
            json!({"format": "uri", "pattern": "^https?://[!-\\[\\]-~]+$", "maxLength": LONGEST})
        }
        ("DeliveryView", "event_type") => event_types(&["test", events::LOST]),
        (_, "event_type") => event_types(&[]),
        ("UpdateWebhookRequest", "status") => json!({"enum": ["active", "paused"]}),
        ("WebhookView", "status") => json!({"enum": ["active", "paused", "disabled"]}),
        ("WebhookView", "status_reason") => json!({"enum": ["gone", "only_failures"]}),
        ("DeliveryView", "status") => json!({"enum": ["pending", "delivered", "failed"]}),
        ("AttemptView", "status") => json!({"minimum": 100, "maximum": 999}),
        ("AttemptView", "error") => json!({"pattern": "^[a-z0-9_]+$"}),
        ("AttemptView", "number") => json!({"minimum": 1}),
        (_, "event_id") => json!({"pattern": "^evt_[0-9a-f]{32}$"}),
        (_, "secret") => json!({"pattern": "^whsec_[A-Za-z0-9+/]{43}=$"}),
        (_, "ticket") => json!({"pattern": TICKET}),
        ("WebhookView" | "DeletedWebhook" | "RotatedSecret", "id") => json!({"format": "uuid"}),
        ("AttemptView", "duration_ms") | ("UsageLine", "calls" | "failed" | "credits") => json!({"minimum": 0}),
        ("ErrorBody", "code") => json!({"enum": Status::SENT.map(Status::code)}),
        _ => return None,
    })
}

/// The text of a ticket: 32 bytes in the base64 of URLs.
pub(super) const TICKET: &str = "^[A-Za-z0-9_-]{43}$";

fn event_types(besides: &[&'static str]) -> Value {
    json!({"enum": EventType::ALL.map(EventType::name).iter().chain(besides).collect::<Vec<_>>()})
}
