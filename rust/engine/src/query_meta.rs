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

    /// The end of the JSON text of a report that has it as its last field.
    fn ending(&self) -> String {
        let meta = serde_json::to_string(self).expect("plain numbers and text have a JSON form");
        format!("\"meta\":{meta}}}")
    }
}

/// The JSON text of a report whose query meta is set at the end: the meta is its last field, and is not in the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Headed {
    text: String,
    meta: QueryMeta,
}

impl Headed {
    /// Takes the meta off the text of a report; `None` where it is not the last field.
    pub fn new(text: &str, meta: QueryMeta) -> Option<Self> {
        Some(Self { text: text.strip_suffix(&meta.ending())?.to_owned(), meta })
    }

    /// The whole text.
    pub fn complete(&self, query_duration_ms: u64, cached: bool) -> String {
        let meta = QueryMeta { query_duration_ms, cached, ..self.meta };
        format!("{}{}", self.text, meta.ending())
    }

    /// Bytes that it takes to keep.
    pub fn len(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meta_of_an_answer_is_set_at_its_end() {
        let meta = QueryMeta { limit: Some(10), ..QueryMeta::new(CostClass::Heavy) };
        let text = r#"{"symbol":"x","meta":{"query_duration_ms":0,"cost_class":"heavy","cached":false,"limit":10}}"#;
        let headed = Headed::new(text, meta).unwrap();
        let whole = r#"{"symbol":"x","meta":{"query_duration_ms":7,"cost_class":"heavy","cached":true,"limit":10}}"#;
        assert_eq!(headed.complete(7, true), whole);
        assert_eq!(Headed::new("{}", meta), None);
    }
}
