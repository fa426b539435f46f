//! The responses of operations: the successes' frame and every error, each with the body and headers that it comes with.

use headwater_engine::{Column, CostClass, Endpoint, Method};
use headwater_state::{Plan, Rate};
use headwater_table::Format;
use serde_json::{Map, Value, json};

use super::headers;
use super::{envelope, reference};
use crate::gateway::{BODY_LIMIT, Status};

/// The circumstances that decide which errors an operation can answer.
#[derive(Debug, Clone, Copy)]
pub(in crate::routes) struct Circumstances<'a> {
    /// The path, as errors name it.
    pub path: &'a str,
    /// Credits per success; of one that is paid by its items, those of the example.
    pub cost: u32,
    /// The class that decides its time and its rate.
    pub class: CostClass,
    /// True if parameters are in a body.
    pub has_body: bool,
    /// True if it takes an `Idempotency-Key`.
    pub is_repeatable: bool,
    /// The message where the thing that the path names is not there.
    pub missing: Option<&'a str>,
}

impl Circumstances<'_> {
    /// Those of a data endpoint.
    pub fn of(endpoint: &Endpoint) -> Circumstances<'_> {
        Circumstances {
            path: endpoint.path,
            cost: endpoint.query((endpoint.example.request)()).max_credits(),
            class: endpoint.class,
            has_body: endpoint.method == Method::Post,
            is_repeatable: endpoint.cost > 0,
            missing: endpoint.example.missing.map(|_| "what the path names is not held"),
        }
    }

    fn applies(&self, status: Status) -> bool {
        match status {
            Status::InsufficientCredit => self.cost > 0,
            Status::NotFound => self.missing.is_some(),
            Status::Conflict => self.is_repeatable,
            Status::PayloadTooLarge | Status::UnsupportedMediaType => self.has_body,
            _ => true,
        }
    }

    fn message(&self, status: Status, otherwise: &str) -> String {
        match status {
            Status::InsufficientCredit => format!(
                "this call needs {} credits, which the balance less what other calls hold does not cover",
                self.cost
            ),
            Status::Forbidden => format!("the plan \"small\" of this key does not include {}", self.path),
            Status::PayloadTooLarge => format!("the body is larger than the {BODY_LIMIT} bytes that are taken"),
            Status::TooManyRequests => {
                let Rate { per_second, burst } = Plan::default().rate(self.class);
                format!(
                    "{} takes {per_second} calls a second and {burst} at once from one caller: wait as long as Retry-After says",
                    self.path
                )
            }
            Status::GatewayTimeout => {
                let budget_secs = self.class.budget_secs();
                format!("the query did not end within its {budget_secs}s: narrow it, or try again later")
            }
            _ => self.missing.filter(|_| status == Status::NotFound).unwrap_or(otherwise).to_owned(),
        }
    }
}

/// Every error of an operation, by status.
pub(in crate::routes) fn failures(of: &Circumstances<'_>) -> Map<String, Value> {
    let all = FAILURES.iter().filter(|(status, ..)| of.applies(*status));
    all.map(|(status, description, message, reason)| {
        (status.http().to_string(), failure(*status, description, &of.message(*status, message), *reason))
    })
    .collect()
}

/// One error.
pub(in crate::routes) fn failure(status: Status, description: &str, message: &str, reason: Option<&str>) -> Value {
    let mut error = json!({"code": status.code(), "message": message, "request_id": headers::REQUEST_ID});
    if let Some(reason) = reason {
        error["details"] = json!({ "reason": reason });
    }
    match status {
        Status::BadRequest => error["details"]["field"] = json!("blockchain"),
        Status::PayloadTooLarge => error["details"]["limit"] = json!(BODY_LIMIT),
        _ => {}
    }
    let mut headers = headers::keyed();
    if matches!(
        status,
        Status::TooManyRequests | Status::BadGateway | Status::ServiceUnavailable | Status::GatewayTimeout
    ) {
        headers::add(&mut headers, "Retry-After");
    }
    json!({
        "description": description,
        "headers": headers,
        "content": {"application/json": {"schema": reference("ErrorEnvelope"), "example": {"error": error}}}
    })
}

/// The success of a data endpoint, and of one that is a list its tables.
pub(in crate::routes) fn success(endpoint: &Endpoint, noun: &str, columns: Option<&[Column]>) -> Value {
    let mut success = json!({
        "description": "The answer.",
        "headers": headers::keyed(),
        "content": {"application/json": {"schema": envelope(noun, &reference(&format!("{noun}Data")))}}
    });
    if endpoint.cost > 0 {
        headers::add(&mut success["headers"], "Idempotent-Replayed");
    }
    if let Some(columns) = columns {
        add_tables(&mut success, columns);
    }
    success
}

/// Adds the forms of a list to its JSON.
pub(in crate::routes) fn add_tables(success: &mut Value, columns: &[Column]) {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    for format in Format::ALL {
        success["content"][format.media_type()] = if matches!(format, Format::Csv | Format::Ndjson) {
            json!({"schema": {"type": "string", "description": format!("Rows of {}.", names.join(", "))}})
        } else {
            json!({"schema": {"type": "string", "format": "binary", "description": format!("Columns {}.", names.join(", "))}})
        };
    }
    for name in headers::OF_TABLES {
        headers::add(&mut success["headers"], name);
    }
}

/// Status, when it comes, an example of its message and reason.
const FAILURES: &[(Status, &str, &str, Option<&str>)] = &[
    (
        Status::BadRequest,
        "Something in the request cannot be understood or met; `details` names it. `query_too_large` says that the query would \
         take more memory than one may: the message says how to ask for less. `invalid_value` with a `limit` and without a \
         `field` says that the address or the headers are too long.",
        "blockchain: unknown chain \"solana\": use bitcoin (btc), bsc (bnb, binance-smart-chain), ethereum (eth, mainnet), tron (trx)",
        Some("unsupported_chain"),
    ),
    (Status::Unauthorized, "The key is missing, unknown, revoked or expired.", "the API key is not valid", None),
    (Status::InsufficientCredit, "The balance does not cover the call.", "", None),
    (Status::Forbidden, "The plan of the key does not include the endpoint or the chain.", "", None),
    (Status::NotFound, "What was named is not there.", "", None),
    (
        Status::NotAcceptable,
        "`Accept` leaves out all that is given.",
        "`Accept` leaves out all that is given here: application/json, and of lists text/csv, application/x-ndjson, \
         application/vnd.apache.parquet, application/vnd.apache.arrow.stream",
        None,
    ),
    (
        Status::Conflict,
        "The `Idempotency-Key` belongs to another request.",
        "this Idempotency-Key was used for another request: give each request its own",
        Some("idempotency_mismatch"),
    ),
    (Status::PayloadTooLarge, "The body is too large.", "", Some("payload_too_large")),
    (Status::UnsupportedMediaType, "The body is no JSON.", "this call needs a JSON body", None),
    (
        Status::TooManyRequests,
        "The rate is exceeded (`rate_limited`), too many calls of the key are under way (`concurrency`), or the service has \
         as much to do as it can (`overloaded`).",
        "",
        Some("rate_limited"),
    ),
    (
        Status::InternalServerError,
        "A defect of the service.",
        "an unexpected error happened: report it with the request id",
        None,
    ),
    (
        Status::BadGateway,
        "What is stored cannot be read or written now; try again.",
        "stored data could not be read: try again later, or run `headwater verify`",
        None,
    ),
    (Status::GatewayTimeout, "The call did not end in time.", "", None),
];
