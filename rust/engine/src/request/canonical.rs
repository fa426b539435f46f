//! Chains of a request under their own names, so that a call is the same call however it spells them: for cursors, kept
//! answers, digests and the chains of a plan.

use std::borrow::Cow;
use std::sync::Arc;

use headwater_types::Chain;
use serde_json::Value;

/// Fields that name a chain.
const FIELDS: [&str; 2] = ["blockchain", "chain"];

/// The request with each chain under its own name, in the filters of a subscription too. A value that is not a chain
/// stays: the call itself refuses it.
///
/// ```
/// use serde_json::json;
/// let request = json!({"blockchain": "ETH", "filters": {"blockchain": "trx"}, "symbols": ["eth"]});
/// let expected = json!({"blockchain": "ethereum", "filters": {"blockchain": "tron"}, "symbols": ["eth"]});
/// assert_eq!(*headwater_engine::canonical(&request), expected);
/// ```
#[must_use]
pub fn canonical(request: &Value) -> Cow<'_, Value> {
    let in_filters = request.get("filters").into_iter().flat_map(renamed);
    let mut renames: Vec<_> = renamed(request).map(|(field, name)| (None, field, name)).collect();
    renames.extend(in_filters.map(|(field, name)| (Some("filters"), field, name)));
    if renames.is_empty() {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    for (parent, field, name) in renames {
        let object = match parent {
            Some(parent) => &mut request[parent],
            None => &mut request,
        };
        object[field] = Value::from(name);
    }
    Cow::Owned(request)
}

/// The text that calls with the same parameters share: the fields in order of name, chains under their own names, without
/// those that are null.
#[must_use]
pub fn parameters(request: &Value) -> Arc<str> {
    let request = canonical(request);
    let mut fields: Vec<(&String, &Value)> = match &*request {
        Value::Object(fields) => fields.iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Vec::new(),
    };
    fields.sort_by_key(|(name, _)| *name);
    serde_json::to_string(&fields).expect("what was JSON has a JSON form").into()
}

/// The fields of an object that name a chain otherwise than answers do, with the name that they get.
fn renamed(object: &Value) -> impl Iterator<Item = (&'static str, &'static str)> {
    FIELDS.into_iter().filter_map(|field| {
        let given = object.get(field)?.as_str()?;
        let name = given.parse::<Chain>().ok()?.name();
        (name != given).then_some((field, name))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_with_a_chain_alias_are_those_with_its_name() {
        let named = parameters(&json!({"blockchain": "bsc", "limit": 5}));
        assert_eq!(parameters(&json!({"limit": 5, "blockchain": "eip155:56", "cursor": null})), named);
        assert_ne!(parameters(&json!({"limit": 5, "blockchain": "ethereum"})), named);
    }

    #[test]
    fn canonical_leaves_other_values_alone() {
        for request in [
            json!({"blockchain": "ethereum", "chain": "solana", "filters": {"blockchain": null}}),
            json!({"blockchain": 1, "filters": [{"blockchain": "eth"}], "address": {"chain": "eth"}}),
            json!([{"blockchain": "eth"}]),
            json!(null),
        ] {
            assert!(matches!(canonical(&request), Cow::Borrowed(_)), "{request}");
        }
    }
}
