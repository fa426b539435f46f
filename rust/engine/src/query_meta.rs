//! What an answer says of the query behind it (`data.meta`).

use serde::{Deserialize, Serialize};

use crate::CostClass;
use crate::fields::values;

values! {
    /// What the movements of a walk were read from: the edges that the ledger keeps, the movements of accounts, or inputs and
    /// outputs.
    MovementSource { Edges = "edges", Postings = "postings", Utxo = "utxo" }
}

/// The query behind an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct QueryMeta {
    /// How long the query took, in milliseconds; of a cached answer, how long it took to find it.
    pub query_duration_ms: u64,
    /// `light`, `medium` or `heavy`: the class of the endpoint, whose limits and deadlines it shares.
    pub cost_class: CostClass,
    /// Whether the result came from the cache: the same question was answered before from the same data.
    pub cached: bool,
    /// Rows asked for; on rankings of holders only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    pub limit: Option<u32>,
    /// Rows left out before them; on rankings of holders only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub offset: Option<u32>,
    /// What was read; on traces, paths and exposure only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source: Option<MovementSource>,
}

impl QueryMeta {
    /// Of a query of a class that is not over yet.
    pub(crate) const fn new(class: CostClass) -> Self {
        Self { query_duration_ms: 0, cost_class: class, cached: false, limit: None, offset: None, source: None }
    }
}
