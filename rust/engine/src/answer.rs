//! What comes back from the engine.

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
    /// The `meta.pegged`: symbols that the chains of the answer value at one US dollar because no price of them was
    /// imported, in order. Empty where the answer shows no US dollars.
    pub pegged: Vec<String>,
    /// Items that are paid for, where the price is per item ([`crate::Pricing`]).
    pub paid_items: Option<u32>,
}

impl Answer {
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
    #[schema(minimum = 1)]
    pub limit: u32,
    /// Start offset used.
    pub offset: u32,
    /// Total matching rows, where counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total: Option<u64>,
}

/// Something the caller should know that is no error. An answer has one entry per code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Warning {
    /// Stable code, such as `partial_data`.
    pub code: String,
    /// The field it is about; of several the first.
    pub field: Option<String>,
    /// Text for people. Where there are several of the code, the texts of the first ones.
    pub message: String,
    /// How many there are of the code, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub count: Option<u64>,
}

impl Warning {
    /// A warning that stands for itself.
    #[must_use]
    pub fn new(code: &str, field: Option<&str>, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), field: field.map(str::to_owned), message: message.into(), count: None }
    }

    /// The same warnings with one entry per code, in the order of the first of each.
    #[must_use]
    pub fn merged(warnings: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for warning in warnings {
            match merged.iter_mut().find(|known| known.code == warning.code) {
                Some(known) => known.absorb(&warning),
                None => merged.push(warning),
            }
        }
        merged
    }

    fn absorb(&mut self, other: &Self) {
        /// Bytes of a message that others are added to; beyond them only the count tells.
        const LONGEST: usize = 600;
        self.count = Some(self.count.unwrap_or(1) + other.count.unwrap_or(1));
        if self.message.len() + other.message.len() <= LONGEST {
            self.message.push_str("; ");
            self.message.push_str(&other.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_one_code_become_one_entry_with_count() {
        let empty = |field: &str| Warning::new("not_built", Some(field), format!("{field} is empty"));
        let other = Warning::new("no_data", None, "nothing is held");
        let merged = Warning::merged([empty("labels"), other.clone(), empty("entity_name"), empty("cluster")]);
        let message = "labels is empty; entity_name is empty; cluster is empty".to_owned();
        assert_eq!(merged, [Warning { message, count: Some(3), ..empty("labels") }, other.clone()]);
        assert_eq!(Warning::merged(merged.clone()), merged);
        let twice = Warning::merged(merged.iter().chain(&merged).cloned());
        assert_eq!((twice[0].count, twice[1].count), (Some(6), Some(2)));
        let text = serde_json::to_string(&other).unwrap();
        assert_eq!(text, r#"{"code":"no_data","field":null,"message":"nothing is held"}"#);
    }

    #[test]
    fn warnings_of_one_code_keep_a_bounded_message() {
        let many = (0..1000).map(|number| Warning::new("c", None, format!("{number} is wrong")));
        let merged = Warning::merged(many);
        assert_eq!((merged.len(), merged[0].count), (1, Some(1000)));
        assert!(merged[0].message.starts_with("0 is wrong; 1 is wrong") && merged[0].message.len() <= 620);
    }
}
