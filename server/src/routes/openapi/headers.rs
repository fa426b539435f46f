//! The headers of requests and answers, described once and referred to by every operation.

use serde_json::{Map, Value, json};

use crate::gateway::LONGEST_REPEAT_KEY;

/// The id of the requests that examples answer.
pub(in crate::routes) const REQUEST_ID: &str = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b";

/// The headers that every answer carries or may carry.
const EVERY: [&str; 3] = ["X-Request-Id", "X-Correlation-Id", "X-Credit-Cost"];
/// The headers that an answer to a known key may carry besides.
const KEYED: [&str; 4] = ["X-Credit-Remaining", "RateLimit-Policy", "RateLimit", "X-Queue-Wait-Ms"];
/// The headers of a table besides its rows.
pub(super) const OF_TABLES: [&str; 6] =
    ["X-Next-Cursor", "X-Total-Count", "X-As-Of-Block", "X-Amount-Unit", "X-Pegged", "X-Warnings"];

/// References to what answers of routes without a key carry.
pub(in crate::routes) fn open() -> Value {
    Value::Object(EVERY.iter().map(|name| named(name)).collect())
}

/// References to what answers to a key carry.
pub(in crate::routes) fn keyed() -> Value {
    Value::Object(EVERY.iter().chain(&KEYED).map(|name| named(name)).collect())
}

/// Adds a header to those of an answer.
pub(in crate::routes) fn add(headers: &mut Value, name: &str) {
    let (name, reference) = named(name);
    headers[name] = reference;
}

fn named(name: &str) -> (String, Value) {
    (name.to_owned(), json!({"$ref": format!("#/components/headers/{name}")}))
}

/// The header that lets a request be repeated.
pub(in crate::routes) fn repeat_key() -> Value {
    json!({"$ref": "#/components/parameters/IdempotencyKey"})
}

/// The client's own id of a request.
pub(in crate::routes) fn correlation_id() -> Value {
    json!({"$ref": "#/components/parameters/CorrelationId"})
}

/// The headers of requests.
pub(in crate::routes) fn parameters() -> Value {
    // A key has no example: the page would fill it in, and every second call from it would be a 409.
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Lets the call be repeated: within 24 hours the same key brings the same answer, paid once. \
                            With another request it is refused with 409.",
            "schema": {
                "type": "string", "minLength": 1, "maxLength": LONGEST_REPEAT_KEY,
                "pattern": "^[!-~]([ -~]*[!-~])?$"
            }
        },
        "CorrelationId": {
            "name": "X-Correlation-Id", "in": "header", "required": false,
            "description": "The client's own id of the request: recorded, and in the answer again. 1 to 64 characters \
                            `[A-Za-z0-9._-]`; anything else is passed over.",
            "schema": {"type": "string"},
            "example": "order-4711"
        }
    })
}

/// The headers of answers.
pub(in crate::routes) fn answers() -> Value {
    let header =
        |text: &str, schema: Value, example: Value| json!({"description": text, "schema": schema, "example": example});
    let seconds = json!({"type": "integer", "format": "int64", "minimum": 1});
    let count = json!({"type": "integer", "format": "int64", "minimum": 0});
    let text = json!({"type": "string"});
    let all = [
        (
            "X-Request-Id",
            header(
                "Id of the request, made by the server; the same as `meta.request_id`, and of an error as `error.request_id`.",
                json!({"type": "string", "format": "uuid"}),
                json!(REQUEST_ID),
            ),
        ),
        (
            "X-Correlation-Id",
            header(
                "What the request brought under this name.",
                json!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}),
                json!("order-4711"),
            ),
        ),
        ("X-Credit-Cost", header("Credits deducted: 0 of what is no success.", count.clone(), json!(5))),
        (
            "X-Credit-Remaining",
            header(
                "Credit balance after the request, where the key is known.",
                json!({"type": "integer", "format": "int64"}),
                json!(985),
            ),
        ),
        (
            "RateLimit-Policy",
            header(
                "Of a known key: the class of the endpoint, calls at once, and the seconds in which as many come back.",
                json!({"type": "string", "pattern": "^\"[a-z]+\";q=[0-9]+;w=[0-9]+$"}),
                json!("\"medium\";q=40;w=2"),
            ),
        ),
        (
            "RateLimit",
            header(
                "Of a known key: calls that are left, and seconds until all are.",
                json!({"type": "string", "pattern": "^\"[a-z]+\";r=[0-9]+;t=[0-9]+$"}),
                json!("\"medium\";r=37;t=1"),
            ),
        ),
        ("X-Queue-Wait-Ms", header("How long the call stood in line, where there is one.", count.clone(), json!(120))),
        ("Retry-After", header("Seconds after which another try makes sense.", seconds, json!(2))),
        (
            "Idempotent-Replayed",
            header(
                "`true` on an answer that an earlier request with the same `Idempotency-Key` paid.",
                json!({"type": "string", "enum": ["true"]}),
                json!("true"),
            ),
        ),
        (
            "Location",
            header("Path of what was made.", text.clone(), json!("/v1/webhooks/019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b")),
        ),
        (
            "X-Next-Cursor",
            header(
                "Of a table: give this as `cursor` to go on behind its last row. Absent on the last page.",
                json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}),
                json!("eyJnIjoxLCJiIjozfQ"),
            ),
        ),
        (
            "X-Total-Count",
            header("Of a table: rows of all pages, where they are counted.", count.clone(), json!(1_204)),
        ),
        ("X-As-Of-Block", header("Of a table: last block of the data that was read.", count, json!(21_534_004))),
        ("X-Amount-Unit", header("Of a table: unit of its amounts.", text.clone(), json!("usd"))),
        (
            "X-Pegged",
            header(
                "Of a table: the `meta.pegged` of its answer, symbols with commas between them.",
                text.clone(),
                json!("usdc, usdt"),
            ),
        ),
        (
            "X-Warnings",
            header(
                "Of a table: its warnings with commas between them, each as `code`, or `code:field` with the field \
                 percent-encoded.",
                text,
                json!("checksum:address"),
            ),
        ),
    ];
    let mut headers: Map<String, Value> = all.into_iter().map(|(name, header)| (name.to_owned(), header)).collect();
    for name in ["X-Request-Id", "X-Credit-Cost"] {
        headers[name]["required"] = json!(true);
    }
    Value::Object(headers)
}
