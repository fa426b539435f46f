//! The arguments of a call, as any interface received them, and their canonical text.
//!
//! Cursors, cached answers, idempotency keys and the audit use the text: two requests that differ only in the order of
//! fields, in null fields or in the spelling of a chain have the same one.

use std::sync::Arc;

use headwater_types::Chain;
use serde_json::{Map, Value};

/// The arguments of one call: a JSON object as clients write it.
///
/// The parameters of a GET may all be texts (`{"symbols": "btc,eth"}`), and those of its path have their own names
/// (`{"hash": "0x..."}`). Arguments that were typed as text at a shell are texts for every endpoint: the field that they
/// are for decides what they mean.
///
/// ```
/// use headwater_engine::Arguments;
/// use serde_json::json;
///
/// let of_body = Arguments::from(json!({"blockchain": "ethereum", "limit": 5}));
/// let of_shell = Arguments::default().with_text("blockchain", "ethereum").with_text("limit", "5");
/// assert!(of_shell.contains("limit") && of_body.contains("limit"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    value: Value,
    /// Fields that were given as text.
    texts: Vec<String>,
}

impl Arguments {
    /// Adds an argument that was typed as text, in the place of an earlier one of its name. `null` means to leave it out.
    #[must_use]
    pub fn with_text(mut self, name: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        let value = if text == "null" { Value::Null } else { Value::String(text) };
        self.insert(name, value);
        self.texts.push(name.to_owned());
        self
    }

    /// Adds an argument, in the place of an earlier one of its name.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.insert(name, value.into());
        self.texts.retain(|text| text != name);
        self
    }

    /// Returns whether an argument of this name was given.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.value.get(name).is_some_and(|value| !value.is_null())
    }

    /// The arguments as one JSON value.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    fn value_mut(&mut self) -> &mut Value {
        &mut self.value
    }

    /// Returns whether an argument was typed as text.
    pub(crate) fn is_text(&self, name: &str) -> bool {
        self.texts.iter().any(|text| text == name)
    }

    fn insert(&mut self, name: &str, value: Value) {
        if self.value.is_null() {
            self.value = Value::Object(Map::new());
        }
        if let Value::Object(fields) = &mut self.value {
            fields.insert(name.to_owned(), value);
        }
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Self { value, texts: Vec::new() }
    }
}

impl From<&Value> for Arguments {
    fn from(value: &Value) -> Self {
        value.clone().into()
    }
}

/// Fields that name a chain.
const CHAIN_FIELDS: [&str; 2] = ["blockchain", "chain"];
/// Fields that select a page of a list.
const PAGING_FIELDS: [&str; 4] = ["limit", "page", "offset", "cursor"];

/// The canonical text of a request.
#[derive(Debug, Clone)]
pub struct CanonicalText {
    text: Arc<str>,
    /// Bytes of the text before the paging fields.
    filters: usize,
}

impl CanonicalText {
    /// Writes the arguments of a call to a named endpoint, in which each chain then has its canonical name.
    ///
    /// ```
    /// use headwater_engine::{Arguments, CanonicalText};
    /// use serde_json::json;
    /// let mut request = Arguments::from(json!({"symbols": ["eth"], "limit": 5, "chain": null, "blockchain": "ETH"}));
    /// let canonical = CanonicalText::new("transactions", &mut request);
    /// assert_eq!(
    ///     canonical.text(),
    ///     "transactions\n{\"blockchain\":\"ethereum\",\"symbols\":[\"eth\"]}\n{\"limit\":5}"
    /// );
    /// assert_eq!(request.value()["blockchain"], "ethereum");
    /// ```
    #[must_use]
    pub fn new(endpoint: &str, arguments: &mut Arguments) -> Self {
        rename_chains(arguments.value_mut());
        let none = Map::new();
        let mut fields: Vec<_> = arguments.value().as_object().unwrap_or(&none).iter().collect();
        fields.retain(|(_, value)| !value.is_null());
        fields.sort_by_key(|(name, _)| *name);
        let is_paging = |(name, _): &(&String, &Value)| PAGING_FIELDS.contains(&name.as_str());
        let (paging, filters): (Vec<_>, Vec<_>) = fields.into_iter().partition(is_paging);
        let filters = format!("{endpoint}\n{}", Object(&filters));
        let text = format!("{filters}\n{}", Object(&paging)).into();
        Self { text, filters: filters.len() }
    }

    /// Endpoint, filters and paging, one line each. Equal texts mean equal answers from the same data.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) const fn shared(&self) -> &Arc<str> {
        &self.text
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

/// Gives each chain of a request its canonical name, in the filters of a subscription too. A value that is not a chain stays:
/// the call itself refuses it.
fn rename_chains(request: &mut Value) {
    rename_in(request);
    if let Some(filters) = request.get_mut("filters") {
        rename_in(filters);
    }
}

fn rename_in(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    for field in CHAIN_FIELDS {
        let Some(Value::String(given)) = fields.get_mut(field) else { continue };
        if let Ok(chain) = given.parse::<Chain>()
            && chain.name() != given
        {
            chain.name().clone_into(given);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(request: Value) -> String {
        CanonicalText::new("x", &mut request.into()).text().to_owned()
    }

    #[test]
    fn text_of_a_chain_alias_is_that_of_the_chain() {
        let named = text(json!({"blockchain": "bsc", "limit": 5}));
        assert_eq!(text(json!({"limit": 5, "blockchain": "eip155:56", "cursor": null})), named);
        assert_ne!(text(json!({"limit": 5, "blockchain": "ethereum"})), named);
        assert_eq!(text(json!({"filters": {"blockchain": "trx"}})), "x\n{\"filters\":{\"blockchain\":\"tron\"}}\n{}");
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
            let mut renamed = request.clone();
            rename_chains(&mut renamed);
            assert_eq!(renamed, request);
        }
    }

    #[test]
    fn filter_hash_ignores_paging_order_and_case() {
        let of = |endpoint: &str, request: &Value| CanonicalText::new(endpoint, &mut request.into()).filter_hash();
        let one = json!({"address": "0xab", "limit": 5, "page": 2, "direction": "in"});
        let same = json!({"direction": "in", "cursor": "x", "address": "0xAB", "sort": null});
        assert_eq!(of("transactions", &one), of("transactions", &same));
        assert_ne!(of("transactions", &one), of("counterparty", &one));
        assert_ne!(of("transactions", &one), of("transactions", &json!({"address": "0xab"})));
        assert_ne!(of("transactions", &one), of("transactions", &json!({"address": "0xac", "direction": "in"})));
    }
}
