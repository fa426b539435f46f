//! Errors as faces need them: a kind that they match without a wildcard, and details that name the place.

use headwater_ledger::{DisputeRefusal, LedgerError, OverBudget};
use serde::Serialize;
use utoipa::ToSchema;

/// Characters of a message about what a caller sent: what is sent back must not grow with it.
const LONGEST_MESSAGE: usize = 1000;

/// Why no answer was given.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What the faces act on.
    pub kind: ErrorKind,
    /// Text for people: names the offending value and what was expected.
    pub message: String,
    /// JSON path of the offending field, such as `addresses[3]`.
    pub field: Option<String>,
    /// Position in a list.
    pub index: Option<u64>,
    /// The limit that was passed.
    pub limit: Option<u64>,
    /// The offending value.
    pub value: Option<String>,
    /// Names that may have been meant, nearest first.
    pub candidates: Vec<String>,
    /// The failure below, for the log only.
    #[source]
    pub source: Option<LedgerError>,
}

/// What went wrong, by who has to act. Matched without a wildcard by every face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request cannot be understood or met: 400.
    InvalidInput(Reason),
    /// What was named is not there: 404.
    NotFound,
    /// The deadline passed or the caller went away: 504.
    Cancelled,
    /// The queries under way take all the memory there is for them: 429.
    Overloaded,
    /// Stored data could not be read: 502.
    Storage,
    /// A defect of ours: 500.
    Internal,
}

/// The `details.reason` of an invalid input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A required field is missing.
    MissingField,
    /// A field has the wrong JSON type.
    InvalidType,
    /// A field has a value that it cannot have.
    InvalidValue,
    /// The chain is not supported here.
    UnsupportedChain,
    /// The store contains neither rows nor labels of the chain.
    ChainNotHeld,
    /// Not an address of the chain.
    InvalidAddress,
    /// Not a contract address of the chain.
    InvalidContract,
    /// No row of the store and no registry names the contract.
    UnknownContract,
    /// Not a transaction hash.
    InvalidHash,
    /// A list that needs entries has none.
    EmptyList,
    /// A list is too long.
    TooManyItems,
    /// `limit` is above its maximum.
    LimitOutOfRange,
    /// The page lies outside the window that pages reach; use the cursor.
    PageWindow,
    /// The start lies after the end.
    TimeRange,
    /// A time was given in milliseconds.
    Milliseconds,
    /// No token of that symbol is known.
    UnknownSymbol,
    /// A prefix is too short.
    PrefixTooShort,
    /// The chain cannot be told from the value.
    AmbiguousChain,
    /// The body is no JSON.
    InvalidJson,
    /// A field that this request does not have.
    UnknownField,
    /// An address of another network than the store's.
    NetworkMismatch,
    /// The cursor's generation is gone, or the filters changed.
    CursorExpired,
    /// The query would take more memory than one may.
    QueryTooLarge,
    /// All claims that were to be disputed are.
    AlreadyDisputed,
    /// None of the claims that were to be confirmed is disputed.
    NotDisputed,
}

impl Reason {
    /// The name of the reason, as `details.reason` states it.
    fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => unreachable!("a reason without fields serialises to its name"),
        }
    }
}

/// Place and reason of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Details {
    /// Stable reason, finer than the code. Of a 400: `missing_field`, `invalid_type`, `invalid_value`,
    /// `unsupported_chain`, `chain_not_held`, `invalid_address`, `invalid_contract`, `unknown_contract`, `invalid_hash`,
    /// `empty_list`, `too_many_items`, `limit_out_of_range`, `page_window`, `time_range`, `milliseconds`, `unknown_symbol`,
    /// `prefix_too_short`, `ambiguous_chain`, `invalid_json`, `unknown_field`, `network_mismatch`, `cursor_expired`,
    /// `query_too_large`; of a 409: `idempotency_mismatch`; of a 429: `rate_limited`, `concurrency`, `overloaded`;
    /// of a 503: `draining`, `halted`, `lagging`, `storage_failed`.
    #[schema(pattern = "^[a-z0-9_]+$", example = "invalid_address")]
    pub reason: String,
    /// JSON path of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub field: Option<String>,
    /// Position in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub index: Option<u64>,
    /// The limit that was passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    pub limit: Option<u64>,
    /// The offending value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub value: Option<String>,
    /// Names that may have been meant, nearest first; left out where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

impl Details {
    /// The reason and the field of an invalid input.
    #[must_use]
    pub fn invalid(reason: Reason, field: Option<&str>) -> Self {
        Self { reason: reason.name(), field: field.map(str::to_owned), ..Self::default() }
    }
}

impl ErrorKind {
    /// The stable code that interfaces show: `bad_request`, `not_found`, ...
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidInput(_) => "bad_request",
            Self::NotFound => "not_found",
            Self::Cancelled => "gateway_timeout",
            Self::Overloaded => "too_many_requests",
            Self::Storage => "bad_gateway",
            Self::Internal => "internal_server_error",
        }
    }
}

impl Error {
    /// The same error again, without the failure below it.
    pub(crate) fn repeated(&self) -> Self {
        let Self { kind, message, field, index, limit, value, candidates, .. } = self;
        let (message, field, value) = (message.clone(), field.clone(), value.clone());
        Self {
            kind: *kind,
            message,
            field,
            index: *index,
            limit: *limit,
            value,
            candidates: candidates.clone(),
            source: None,
        }
    }

    /// Reason and place of the error, where there is more to say than its code.
    #[must_use]
    pub fn details(&self) -> Option<Details> {
        match self.kind {
            ErrorKind::InvalidInput(reason) => {
                let (field, value, candidates) = (self.field.clone(), self.value.clone(), self.candidates.clone());
                let (index, limit) = (self.index, self.limit);
                Some(Details { reason: reason.name(), field, index, limit, value, candidates })
            }
            ErrorKind::Overloaded => Some(Details { reason: "overloaded".to_owned(), ..Details::default() }),
            ErrorKind::NotFound | ErrorKind::Cancelled | ErrorKind::Storage | ErrorKind::Internal => None,
        }
    }

    /// An error of a kind with a text.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let (field, index, limit, value, candidates, source) = (None, None, None, None, Vec::new(), None);
        Self { kind, message: message.into(), field, index, limit, value, candidates, source }
    }

    /// An invalid input in a named field. A message that repeats a long value is cut.
    #[must_use]
    pub fn invalid(reason: Reason, field: impl Into<String>, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
            message.truncate(end);
            message.push_str("...");
        }
        Self { field: Some(field.into()), ..Self::new(ErrorKind::InvalidInput(reason), message) }
    }
}

impl From<OverBudget> for Error {
    fn from(refusal: OverBudget) -> Self {
        let (kind, limit) = match refusal {
            OverBudget::Query { limit, .. } => (ErrorKind::InvalidInput(Reason::QueryTooLarge), Some(limit)),
            OverBudget::Total { .. } => (ErrorKind::Overloaded, None),
        };
        Self { limit, source: Some(refusal.into()), ..Self::new(kind, refusal.to_string()) }
    }
}

impl From<&DisputeRefusal> for Error {
    fn from(refusal: &DisputeRefusal) -> Self {
        let (kind, field) = match refusal {
            DisputeRefusal::NoClaim { .. } => (ErrorKind::NotFound, "address"),
            DisputeRefusal::AlreadyDisputed { .. } => (ErrorKind::InvalidInput(Reason::AlreadyDisputed), "address"),
            DisputeRefusal::NotDisputed { .. } => (ErrorKind::InvalidInput(Reason::NotDisputed), "address"),
            DisputeRefusal::BadReason { .. } => (ErrorKind::InvalidInput(Reason::InvalidValue), "reason"),
        };
        Self { field: Some(field.to_owned()), ..Self::new(kind, refusal.to_string()) }
    }
}

impl From<LedgerError> for Error {
    fn from(source: LedgerError) -> Self {
        let kind = match &source {
            LedgerError::OverBudget(refusal) => return Self::from(*refusal),
            LedgerError::Cancelled(_) => ErrorKind::Cancelled,
            LedgerError::GenerationGone { .. } | LedgerError::FeedGone { .. } => {
                ErrorKind::InvalidInput(Reason::CursorExpired)
            }
            LedgerError::UnknownGeneration { .. } => ErrorKind::InvalidInput(Reason::InvalidValue),
            LedgerError::NetworkMismatch { .. } => ErrorKind::InvalidInput(Reason::NetworkMismatch),
            LedgerError::Dispute(refusal) => return Self::from(refusal),
            LedgerError::Io { .. }
            | LedgerError::Corrupt { .. }
            | LedgerError::OtherFormat { .. }
            | LedgerError::NoStore { .. }
            | LedgerError::Locked { .. }
            | LedgerError::Latched { .. } => ErrorKind::Storage,
            LedgerError::Conflict { .. }
            | LedgerError::ForeignAddress { .. }
            | LedgerError::UnknownTime { .. }
            | LedgerError::SegmentFull { .. }
            | LedgerError::UnknownVersion(_)
            | LedgerError::InvalidPrice { .. }
            | LedgerError::InvalidExchangeRate { .. }
            | LedgerError::TailBlock { .. }
            | LedgerError::TailBroken { .. }
            | LedgerError::BelowTail { .. }
            | LedgerError::ListShrank { .. }
            | LedgerError::OlderEdition { .. }
            | LedgerError::SumOverflow(_) => ErrorKind::Internal,
        };
        Self { source: Some(source), ..Self::new(kind, kind_text(kind)) }
    }
}

/// The fixed sentence a client gets where the cause is for the log only.
fn kind_text(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidInput(Reason::CursorExpired) => "the cursor has expired: start again from the first page",
        ErrorKind::InvalidInput(_) => "the request does not fit this store",
        ErrorKind::NotFound => "not found",
        ErrorKind::Cancelled => "the query was stopped before it ended: narrow it, or try again later",
        ErrorKind::Overloaded => "the service has as much to do as it can: try again in a moment",
        ErrorKind::Storage => "stored data could not be read: try again later, or run `headwater verify`",
        ErrorKind::Internal => "an unexpected error happened: report it with the request id",
    }
}
