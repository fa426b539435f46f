//! The arguments of a call, as any interface received them.

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

    pub(super) fn value_mut(&mut self) -> &mut Value {
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
