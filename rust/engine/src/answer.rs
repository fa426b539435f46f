//! What comes back from the desk.

use serde::Serialize;

/// A successful answer, the same through every face.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The `data` of the envelope, as JSON text: written once, straight from the report.
    pub data: String,
    /// The `meta.pagination` of GET lists.
    pub pagination: Option<Pagination>,
    /// The `meta.warnings`.
    pub warnings: Vec<Warning>,
}

impl Answer {
    /// Bytes for which an answer that was kept has room besides its own: most envelopes need no more, and so need not
    /// move it.
    pub const ROOM: usize = 256;

    /// The `data` to look into.
    #[must_use]
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.data).expect("what was written as JSON reads as JSON")
    }
}

/// Paging of GET lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Pagination {
    /// Page size used.
    pub limit: u32,
    /// Start offset used.
    pub offset: u32,
    /// Total matching rows, where counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// Something the caller should know that is no error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Warning {
    /// Stable code, such as `unknown_field`.
    pub code: String,
    /// The field it is about.
    pub field: Option<String>,
    /// Text for people.
    pub message: String,
    /// How many it is about, where that was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}
