//! The parts that operations of the `OpenAPI` description share: headers, parameters, answers and named types.

pub(super) mod headers;
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

pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}
