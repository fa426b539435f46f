//! The parts that operations of the `OpenAPI` description share: headers, parameters, answers and named types.

pub(super) mod headers;
pub(super) mod models;
pub(super) mod parameters;
pub(super) mod responses;

use headwater_engine::{Written, record};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Adds a type of the gateway's own, with all that it refers to.
pub(super) fn add_schema<T: ToSchema>(written: Written, schemas: &mut Map<String, Value>) {
    let (schema, below) = record::<T>(written);
    schemas.extend(below);
    schemas.insert(T::name().into_owned(), schema);
}

/// A name in the style of types, of words with `/`, `-` or `_` between them.
pub(super) fn camel_case(name: &str) -> String {
    name.split(['/', '-', '_'])
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters)
        })
        .collect()
}

/// The schema of a success with such data, which gets the name `{name}Envelope`.
pub(super) fn envelope(name: &str, data: &Value) -> Value {
    json!({
        "title": format!("{name}Envelope"), "type": "object", "description": "The envelope of a success.",
        "required": ["data", "meta"], "properties": {"data": data, "meta": reference("Meta")}
    })
}

pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}
