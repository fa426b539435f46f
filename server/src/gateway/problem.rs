//! The error envelope: every answer that is not 2xx is one.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use headwater_engine::{Details, Error, ErrorKind, Reason};
use headwater_state::causes;
use headwater_types::text::shortened;
use serde::Serialize;
use utoipa::ToSchema;

/// Body of every error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorEnvelope {
    /// The error.
    pub error: ErrorBody,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorBody {
    /// Stable and machine-readable; programs branch on it.
    #[schema(value_type = Status, example = "bad_request")]
    pub code: String,
    /// Text for people; its format is not stable.
    #[schema(
        example = "address: \"0x12\" is not a valid Ethereum address: its length is wrong; expected 0x and 40 hex digits"
    )]
    pub message: String,
    /// Place and reason, where there is more to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub details: Option<Details>,
    /// Id of the request, the same as in `X-Request-Id`. Every error over HTTP has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uuid", example = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b")]
    pub request_id: Option<String>,
}

impl ErrorEnvelope {
    /// The same under the id of its request, as a body.
    pub(super) fn body_for(&self, request_id: &str) -> Vec<u8> {
        let error = ErrorBody { request_id: Some(request_id.to_owned()), ..self.error.clone() };
        serde_json::to_vec(&Self { error }).expect("an envelope of strings and numbers is JSON")
    }
}

/// Every status of an error, with its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// 400.
    BadRequest,
    /// 401.
    Unauthorized,
    /// 402.
    InsufficientCredit,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 405.
    MethodNotAllowed,
    /// 406.
    NotAcceptable,
    /// 409.
    Conflict,
    /// 413.
    PayloadTooLarge,
    /// 415.
    UnsupportedMediaType,
    /// 429.
    TooManyRequests,
    /// 500.
    InternalServerError,
    /// 502.
    BadGateway,
    /// 503: an answer of `/readyz` only; in the audit a stream that ended with the server before it said its key.
    ServiceUnavailable,
    /// 504.
    GatewayTimeout,
    /// 499: the client went away. Never sent, only recorded.
    ClientGone,
}

impl utoipa::PartialSchema for Status {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        let codes = Self::SENT.map(Self::code);
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(codes))
            .into()
    }
}

impl ToSchema for Status {
    fn name() -> std::borrow::Cow<'static, str> {
        "ErrorCode".into()
    }
}

impl Status {
    /// Those that a client can be answered.
    pub const SENT: [Self; 15] = [
        Self::BadRequest,
        Self::Unauthorized,
        Self::InsufficientCredit,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::NotAcceptable,
        Self::Conflict,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::TooManyRequests,
        Self::InternalServerError,
        Self::BadGateway,
        Self::ServiceUnavailable,
        Self::GatewayTimeout,
    ];

    /// The HTTP status.
    #[must_use]
    pub const fn http(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::InsufficientCredit => 402,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::Conflict => 409,
            Self::PayloadTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::TooManyRequests => 429,
            Self::ClientGone => 499,
            Self::InternalServerError => 500,
            Self::BadGateway => 502,
            Self::ServiceUnavailable => 503,
            Self::GatewayTimeout => 504,
        }
    }

    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::Unauthorized => "unauthorized",
            Self::InsufficientCredit => "insufficient_credit",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NotAcceptable => "not_acceptable",
            Self::Conflict => "conflict",
            Self::PayloadTooLarge => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::TooManyRequests => "too_many_requests",
            Self::ClientGone => "client_closed_request",
            Self::InternalServerError => "internal_server_error",
            Self::BadGateway => "bad_gateway",
            Self::ServiceUnavailable => "service_unavailable",
            Self::GatewayTimeout => "gateway_timeout",
        }
    }

    const fn retry_after_secs(self) -> Option<u64> {
        match self {
            Self::BadGateway => Some(2),
            Self::ServiceUnavailable => Some(5),
            Self::GatewayTimeout => Some(30),
            _ => None,
        }
    }
}

/// The details of a refusal, for the client and for the figures; travels with the response inside the gateway.
#[derive(Debug, Clone)]
pub(super) struct RefusalDetails {
    pub code: &'static str,
    pub envelope: ErrorEnvelope,
}

/// An error on its way to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Status and code.
    pub status: Status,
    /// Text for people.
    pub message: String,
    /// Place and reason.
    pub details: Option<Box<Details>>,
    /// Seconds after which another try makes sense, where that is not the same for all errors of the status.
    pub retry_after_secs: Option<u64>,
}

impl Problem {
    /// An error with a text.
    #[must_use]
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), details: None, retry_after_secs: None }
    }

    /// The same with a reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.details.get_or_insert_default().reason = reason.into();
        self
    }

    /// The same with the seconds after which another try makes sense.
    #[must_use]
    pub fn after(self, seconds: u64) -> Self {
        Self { retry_after_secs: Some(seconds.max(1)), ..self }
    }

    /// A 400 with its reason and field.
    #[must_use]
    pub fn invalid(reason: Reason, field: Option<&str>, message: impl Into<String>) -> Self {
        let details = Details::invalid(reason, field);
        Self { details: Some(Box::new(details)), ..Self::new(Status::BadRequest, message) }
    }

    /// The service has as much to do as it can.
    #[must_use]
    pub fn overloaded(message: impl Into<String>) -> Self {
        Self::new(Status::TooManyRequests, message).because("overloaded").after(1)
    }

    /// A defect: the cause is in the log, the client gets a fixed sentence.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(Status::InternalServerError, "an unexpected error happened: report it with the request id")
    }

    /// The refusal of a call at the engine. The text of unexpected errors goes to the log, here and only here.
    #[must_use]
    pub fn from_engine(error: &Error, request_id: &str) -> Self {
        match error.kind {
            ErrorKind::Storage | ErrorKind::Internal => {
                tracing::error!(request_id, error = causes(error), "a call failed");
            }
            ErrorKind::InvalidInput(_) | ErrorKind::NotFound | ErrorKind::Cancelled | ErrorKind::Overloaded => {}
        }
        Self::quietly_from_engine(error)
    }

    /// The same without a log.
    #[must_use]
    pub fn quietly_from_engine(error: &Error) -> Self {
        let status = match error.kind {
            ErrorKind::InvalidInput(_) => Status::BadRequest,
            ErrorKind::NotFound => Status::NotFound,
            ErrorKind::Cancelled => Status::GatewayTimeout,
            ErrorKind::Overloaded => return Self::overloaded(error.message.clone()),
            ErrorKind::Storage => Status::BadGateway,
            ErrorKind::Internal => Status::InternalServerError,
        };
        Self { details: error.details().map(Box::new), ..Self::new(status, error.message.clone()) }
    }

    /// The body.
    #[must_use]
    pub fn envelope(&self) -> ErrorEnvelope {
        /// Characters of a text.
        const SHOWN: usize = 1000;
        let code = self.status.code().to_owned();
        let mut details = self.details.as_deref().cloned();
        if let Some(field) = details.as_mut().and_then(|details| details.field.as_mut()) {
            *field = shortened(field, SHOWN);
        }
        ErrorEnvelope { error: ErrorBody { code, message: shortened(&self.message, SHOWN), details, request_id: None } }
    }

    /// The response, without what every response gets on its way: its headers, and of an error the body, in which the id
    /// of the request is.
    #[must_use]
    pub fn response(&self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        // 499 is for the audit alone: whoever could have read it is gone.
        *response.status_mut() =
            StatusCode::from_u16(self.status.http()).expect("every status is a number between 400 and 599");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after_secs.or(self.status.retry_after_secs()) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(RefusalDetails { code: self.status.code(), envelope: self.envelope() });
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_code_and_the_details_of_the_engine() {
        let kinds = [
            ErrorKind::InvalidInput(Reason::EmptyList),
            ErrorKind::NotFound,
            ErrorKind::Cancelled,
            ErrorKind::Overloaded,
            ErrorKind::Storage,
            ErrorKind::Internal,
        ];
        for kind in kinds {
            let error = Error::new(kind, "text");
            let problem = Problem::quietly_from_engine(&error);
            assert_eq!(problem.status.code(), kind.code());
            assert_eq!(problem.details.as_deref(), error.details().as_ref());
        }
    }

    #[test]
    fn codes_are_reason_phrases_in_snake_case_but_one() {
        for status in Status::SENT.into_iter().filter(|status| *status != Status::InsufficientCredit) {
            let phrase = StatusCode::from_u16(status.http()).unwrap().canonical_reason().unwrap();
            assert_eq!(status.code(), phrase.to_lowercase().replace(' ', "_"));
        }
        assert_eq!(Status::InsufficientCredit.code(), "insufficient_credit");
    }

    #[test]
    fn long_names_do_not_fill_an_error() {
        let name = "\u{e9}".repeat(8000);
        let body =
            Problem::invalid(Reason::InvalidValue, Some(&name), format!("{name:?} has no meaning")).envelope().error;
        assert_eq!(body.message.chars().count(), 1003);
        assert_eq!(body.details.unwrap().field.unwrap().chars().count(), 1003);
    }

    #[test]
    fn the_text_of_a_failed_store_stays_in_the_log() {
        let path = std::path::PathBuf::from("/secret/place");
        let error = Error::from(headwater_ledger::LedgerError::Latched { path });
        let problem = Problem::from_engine(&error, "id");
        assert_eq!(problem.status, Status::BadGateway);
        assert!(!problem.message.contains("secret"));
    }
}
