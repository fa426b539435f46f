//! What the credits of a call pay for.

use serde_json::Value;

/// What the credits of an endpoint pay for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pricing {
    /// The call.
    PerCall,
    /// Each item of a list of the request that succeeded.
    PerItem {
        /// The field of the request that has the items.
        list: &'static str,
        /// Most items that a request may have.
        max_items: usize,
    },
}

impl Pricing {
    /// Items that a request asks for, as far as it may; `None` where a call has one price.
    pub(crate) fn items(self, request: &Value) -> Option<u32> {
        match self {
            Self::PerCall => None,
            Self::PerItem { list, max_items } => {
                let given = request.get(list).and_then(Value::as_array).map_or(0, Vec::len);
                Some(u32::try_from(given.min(max_items)).unwrap_or(u32::MAX))
            }
        }
    }

    /// Credits at a price where so many items succeeded.
    pub(crate) fn credits(self, price: u32, paid_items: Option<u32>) -> u32 {
        match self {
            Self::PerCall => price,
            Self::PerItem { .. } => price.saturating_mul(paid_items.unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn price_per_item_counts_what_is_asked_for_up_to_the_most() {
        let per_item = Pricing::PerItem { list: "queries", max_items: 2 };
        for (request, items) in [
            (json!({"queries": [1, 2]}), 2),
            (json!({"queries": [1, 2, 3]}), 2),
            (json!({"queries": []}), 0),
            (json!({"queries": "x"}), 0),
            (json!({}), 0),
        ] {
            assert_eq!(per_item.items(&request), Some(items), "{request}");
            assert_eq!(per_item.credits(5, Some(items)), 5 * items);
        }
        assert_eq!((Pricing::PerCall.items(&json!({})), Pricing::PerCall.credits(5, None)), (None, 5));
    }
}
