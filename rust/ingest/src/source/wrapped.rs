//! Rows inside of a JSON document: answers of interfaces wrap a table in members that say how the request went.

use std::borrow::Cow;

use super::address_form::has_address_form;
use super::exceptions::is_exception;
use super::json::Value;

/// The path to the rows of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrappedRows {
    /// The members that lead to them.
    way: Vec<String>,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A list of objects.
    List,
    /// An object of objects, each under its address.
    ByAddress,
    /// The document is one row over several lines.
    Single,
}

/// Members around rows of any kind. Others are around rows that have an address, or are part of a row.
const AROUND: [&str; 12] = [
    "accounts",
    "addresses",
    "content",
    "data",
    "entries",
    "items",
    "list",
    "records",
    "response",
    "result",
    "results",
    "rows",
];
/// Members around each other.
const DEPTH: usize = 4;
/// Members that are looked at to recognise an object of rows.
const LOOKED_AT: usize = 64;

impl WrappedRows {
    /// Finds the rows of a document; `None` where it is a row itself, has no list of objects, several, or one of exceptions.
    pub(crate) fn of(document: &Value<'_>) -> Option<Self> {
        let mut found = Vec::new();
        search(document, &mut Vec::new(), &mut found);
        let (way, shape) = found.pop()?;
        // Victims and allowed addresses are not what a table says of its rows.
        if way.iter().any(|name| is_exception(name)) {
            return None;
        }
        let is_around = |name: &String| AROUND.iter().any(|known| name.eq_ignore_ascii_case(known));
        let is_known = way.iter().all(is_around);
        let rows = Self { way, shape };
        let has_addresses = || rows.inside(document).and_then(|list| list.items().first()).is_some_and(has_address);
        (found.is_empty() && (is_known || has_addresses())).then_some(rows)
    }

    /// Describes a document that is one row.
    pub(crate) fn single() -> Self {
        Self { way: Vec::new(), shape: Shape::Single }
    }

    /// Returns the list of a document; `None` where its rows are no list.
    pub(crate) fn list<'v, 'a>(&self, document: &'v Value<'a>) -> Option<&'v Value<'a>> {
        if self.shape == Shape::List { self.inside(document) } else { None }
    }

    /// Returns whether the document may have several rows.
    pub(crate) fn is_list(&self) -> bool {
        self.shape != Shape::Single
    }

    fn inside<'v, 'a>(&self, document: &'v Value<'a>) -> Option<&'v Value<'a>> {
        self.way.iter().try_fold(document, |value, name| value.get(name))
    }

    /// Returns the rows of a document; those under their address have it as a member. `None` where the document has others than
    /// its beginning showed.
    pub(crate) fn rows<'v, 'a>(&self, document: &'v Value<'a>) -> Option<Vec<Cow<'v, Value<'a>>>> {
        if self.shape == Shape::Single {
            return Some(vec![Cow::Borrowed(document)]);
        }
        if Self::of(document).as_ref() != Some(self) {
            return None;
        }
        let inside = self.inside(document)?;
        let listed = inside.items().iter().map(Cow::Borrowed);
        Some(listed.chain(inside.members().iter().map(|(address, row)| with_address(address, row))).collect())
    }
}

/// Returns the row of an address, with the address as a member.
fn with_address<'v, 'a>(address: &Cow<'a, str>, row: &'v Value<'a>) -> Cow<'v, Value<'a>> {
    let Value::Object(members) = row else { return Cow::Borrowed(row) };
    if has_address(row) {
        return Cow::Borrowed(row);
    }
    let own = [(Cow::Borrowed(ADDRESS), Value::Text(address.clone()))];
    Cow::Owned(Value::Object(own.into_iter().chain(members.iter().cloned()).collect()))
}

/// The member of a row that makes it one.
const ADDRESS: &str = "address";

/// Returns whether an object names one address, as rows do.
fn has_address(object: &Value<'_>) -> bool {
    object.members().iter().any(|(name, value)| name.eq_ignore_ascii_case(ADDRESS) && value.text().is_some())
}

/// Collects the lists of objects, and the objects of objects by address.
fn search(value: &Value<'_>, way: &mut Vec<String>, found: &mut Vec<(Vec<String>, Shape)>) {
    let Value::Object(members) = value else { return };
    if way.len() > DEPTH || has_address(value) {
        return;
    }
    if is_by_address(value) {
        found.push((way.clone(), Shape::ByAddress));
        return;
    }
    for (name, inner) in members {
        way.push(name.clone().into_owned());
        if matches!(inner.items().first(), Some(Value::Object(_))) {
            found.push((way.clone(), Shape::List));
        } else {
            search(inner, way, found);
        }
        way.pop();
    }
}

/// Returns whether the members of an object are rows, each under its address.
fn is_by_address(value: &Value<'_>) -> bool {
    let members = || value.members().iter().take(LOOKED_AT);
    members().next().is_some()
        && members().all(|(address, row)| matches!(row, Value::Object(_)) && has_address_form(address))
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, json};
    use super::*;

    fn rows(text: &str) -> Option<Vec<String>> {
        let document = json::parse(text, &Bounds::default()).unwrap();
        let wrapped = WrappedRows::of(&document)?;
        let shown = |row: &Cow<'_, Value<'_>>| {
            let members = row.members().iter().map(|(name, value)| format!("{name}={}", value.text().unwrap_or("?")));
            members.collect::<Vec<_>>().join(" ")
        };
        Some(wrapped.rows(&document)?.iter().map(shown).collect())
    }

    #[test]
    fn rows_are_found_inside_of_answers() {
        for text in [
            r#"{"status": "1", "message": "OK", "result": [{"a": 1}, {"a": 2}]}"#,
            r#"{"execution_id": "x", "result": {"rows": [{"a": 1}, {"a": 2}], "metadata": {"column_names": ["a"]}}}"#,
            r#"{"rows": [{"a": 1}, {"a": 2}]}"#,
            r#"{"Data": {"items": [{"a": 1}, {"a": 2}]}, "errors": []}"#,
        ] {
            assert_eq!(rows(text).unwrap(), ["a=1", "a=2"], "{text}");
        }
    }

    #[test]
    fn rows_with_addresses_are_found_anywhere() {
        assert_eq!(rows(r#"{"name": "x", "blocked": [{"address": 1}]}"#).unwrap(), ["address=1"]);
        let text = r#"{"data": {"0x94e78ae539d5c759bbc12293c920d2c6255a9289": {"name": "A"}}}"#;
        assert_eq!(rows(text).unwrap(), ["address=0x94e78ae539d5c759bbc12293c920d2c6255a9289 name=A"]);
    }

    #[test]
    fn rows_themselves_and_several_lists_are_not_unwrapped() {
        for text in [
            r#"{"address": "0x1", "labels": [{"a": 1}]}"#,
            r#"{"result": [{"a": 1}], "data": [{"a": 1}]}"#,
            r#"{"id": 1, "properties": {"wallets": [{"a": 1}]}}"#,
            r#"{"title": "x", "tags": [{"name": "1"}]}"#,
            r#"{"result": ["a"]}"#,
            r#"{"whitelist": [{"address": "a"}]}"#,
            r#"{"data": {"falsePositives": [{"address": "a"}]}}"#,
            r#"{"blacklist": [{"address": "a"}], "victims": [{"address": "b"}]}"#,
            r#"[{"a": 1}]"#,
        ] {
            assert_eq!(rows(text), None, "{text}");
        }
    }
}
