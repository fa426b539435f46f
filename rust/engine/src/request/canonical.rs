//! The one canonical form of a request, for cursors, cached answers, idempotency keys and the audit: two requests that
//! differ only in the order of fields, in null fields or in the spelling of a chain have the same text.

use std::borrow::Cow;
use std::sync::Arc;

use headwater_types::Chain;
use serde_json::{Map, Value};

/// Fields that name a chain.
const CHAIN_FIELDS: [&str; 2] = ["blockchain", "chain"];
/// Fields that select a page of a list.
const PAGING_FIELDS: [&str; 4] = ["limit", "page", "offset", "cursor"];

/// A request in canonical form.
///
/// ```
/// use headwater_engine::CanonicalRequest;
/// use serde_json::json;
/// let request = json!({"symbols": ["eth"], "limit": 5, "chain": null, "blockchain": "ETH"});
/// let canonical = CanonicalRequest::new("transactions", request);
/// assert_eq!(
///     canonical.text(),
///     "transactions\n{\"blockchain\":\"ethereum\",\"symbols\":[\"eth\"]}\n{\"limit\":5}"
/// );
/// assert_eq!(canonical.request()["blockchain"], "ethereum");
/// ```
#[derive(Debug, Clone)]
pub struct CanonicalRequest {
    request: Value,
    text: Arc<str>,
    /// Bytes of the text before the paging fields.
    filters: usize,
}

impl CanonicalRequest {
    /// The canonical form of a request to a named endpoint. `request` is a JSON object as a client writes it.
    #[must_use]
    pub fn new(endpoint: &str, request: Value) -> Self {
        let request = match canonical_chains(&request) {
            Cow::Owned(renamed) => renamed,
            Cow::Borrowed(_) => request,
        };
        let none = Map::new();
        let mut fields: Vec<_> = request.as_object().unwrap_or(&none).iter().collect();
        fields.retain(|(_, value)| !value.is_null());
        fields.sort_by_key(|(name, _)| *name);
        let is_paging = |(name, _): &(&String, &Value)| PAGING_FIELDS.contains(&name.as_str());
        let (paging, filters): (Vec<_>, Vec<_>) = fields.into_iter().partition(is_paging);
        let filters = format!("{endpoint}\n{}", Object(&filters));
        let text = format!("{filters}\n{}", Object(&paging)).into();
        Self { request, text, filters: filters.len() }
    }

    /// Endpoint, filters and paging, one line each. Equal texts mean equal answers from the same data.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same text to keep.
    pub(crate) fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The request, with each chain under its canonical name.
    #[must_use]
    pub const fn request(&self) -> &Value {
        &self.request
    }

    /// A hash of endpoint and filters, by which a cursor is refused with other filters than it was made for: FNV-1a over
    /// the text in lower case, so that the case of an address does not matter.
    pub(crate) fn filter_hash(&self) -> u64 {
        let bytes = self.text.as_bytes().iter().take(self.filters);
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

/// Fields of a JSON object in a given order.
struct Object<'a>(&'a [(&'a String, &'a Value)]);

impl std::fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("{")?;
        for (number, (name, value)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{}:{value}", Value::from(name.as_str()))?;
        }
        f.write_str("}")
    }
}

/// The request with each chain under its canonical name, in the filters of a subscription too. A value that is not a chain
/// stays: the call itself refuses it.
fn canonical_chains(request: &Value) -> Cow<'_, Value> {
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

/// The fields of an object that name a chain by an alias, with the canonical name.
fn renamed(object: &Value) -> impl Iterator<Item = (&'static str, &'static str)> {
    CHAIN_FIELDS.into_iter().filter_map(|field| {
        let given = object.get(field)?.as_str()?;
        let name = given.parse::<Chain>().ok()?.name();
        (name != given).then_some((field, name))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(request: Value) -> String {
        CanonicalRequest::new("x", request).text().to_owned()
    }

    #[test]
    fn text_of_a_chain_alias_is_that_of_the_chain() {
        let named = text(json!({"blockchain": "bsc", "limit": 5}));
        assert_eq!(text(json!({"limit": 5, "blockchain": "eip155:56", "cursor": null})), named);
        assert_ne!(text(json!({"limit": 5, "blockchain": "ethereum"})), named);
        let filters = json!({"filters": {"blockchain": "trx"}});
        assert_eq!(CanonicalRequest::new("x", filters).request()["filters"]["blockchain"], "tron");
    }

    #[test]
    fn text_tells_values_of_other_types_and_names_apart() {
        let texts = [json!({"a": 1}), json!({"a": "1"}), json!({"b": 1}), json!({"a": 1, "b": 1}), json!({"a,b": 1})];
        for (number, one) in texts.iter().enumerate() {
            for other in &texts[..number] {
                assert_ne!(text(one.clone()), text(other.clone()));
            }
        }
    }

    #[test]
    fn canonical_leaves_other_values_alone() {
        for request in [
            json!({"blockchain": "ethereum", "chain": "solana", "filters": {"blockchain": null}}),
            json!({"blockchain": 1, "filters": [{"blockchain": "eth"}], "address": {"chain": "eth"}}),
            json!([{"blockchain": "eth"}]),
            json!(null),
        ] {
            assert!(matches!(canonical_chains(&request), Cow::Borrowed(_)), "{request}");
        }
    }

    #[test]
    fn filter_hash_ignores_paging_order_and_case() {
        let of = |endpoint: &str, request: &Value| CanonicalRequest::new(endpoint, request.clone()).filter_hash();
        let one = json!({"address": "0xab", "limit": 5, "page": 2, "direction": "in"});
        let same = json!({"direction": "in", "cursor": "x", "address": "0xAB", "sort": null});
        assert_eq!(of("transactions", &one), of("transactions", &same));
        assert_ne!(of("transactions", &one), of("counterparty", &one));
        assert_ne!(of("transactions", &one), of("transactions", &json!({"address": "0xab"})));
        assert_ne!(of("transactions", &one), of("transactions", &json!({"address": "0xac", "direction": "in"})));
    }
}
