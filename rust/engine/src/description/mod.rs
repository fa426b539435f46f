//! What an `OpenAPI` document says of requests and answers: names, types and texts come from the types themselves, what
//! their fields may hold from the constants that the checks use. A name means the same wherever it stands, so what is
//! said of a field is one line, here for all records.

mod answers;
mod requests;

use headwater_types::Chain;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::analysis::Analysis;

/// Request and answer of an endpoint as an `OpenAPI` document needs them.
pub struct Description {
    /// The request: the body of a POST, or an object whose properties are the parameters of a GET.
    pub request: Value,
    /// The `data` of the answer.
    pub report: Value,
    /// The named schemas that both refer to, by name.
    pub components: Vec<(String, Value)>,
}

/// Who writes a record, which decides what is said of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A client: bounds are what is checked.
    ByClients,
    /// The service: a field without a value is there as null, unless it is known to be left out.
    ByUs,
}

pub(crate) fn describe<A: Analysis>() -> Description {
    let (request, mut components) = record::<A::Request>(Written::ByClients, |_, _| None);
    let (report, ours) = record::<A::Report>(Written::ByUs, |_, _| None);
    components.extend(ours);
    components.push(("Chain".to_owned(), chains()));
    components.sort_by(|one, other| one.0.cmp(&other.0));
    components.dedup_by(|one, other| one.0 == other.0);
    Description { request, report, components }
}

/// The schema of a type, and the named schemas that it refers to. `besides` says of fields, by the names of record and
/// field, what is not known here.
#[must_use]
pub fn record<T: ToSchema>(
    written: Written,
    besides: fn(&str, &str) -> Option<Value>,
) -> (Value, Vec<(String, Value)>) {
    let completed = |name: &str, schema: RefOr<Schema>| {
        let mut schema = serde_json::to_value(schema).expect("a schema is JSON");
        complete(name, &mut schema, written, besides);
        schema
    };
    let mut below = Vec::new();
    T::schemas(&mut below);
    let below = below.into_iter().map(|(name, schema)| {
        let schema = completed(&name, schema);
        (name, schema)
    });
    (completed(&T::name(), T::schema()), below.collect())
}

/// Every chain.
fn chains() -> Value {
    let also = |chain: Chain| {
        let names: Vec<String> =
            chain.aliases().iter().chain([&chain.caip2()]).map(|name| format!("`{name}`")).collect();
        format!("`{chain}` as {}", names.join(", "))
    };
    let also = Chain::all().map(also).collect::<Vec<_>>().join("; ");
    let description = format!("A chain. Requests may write it in any case, and under other names: {also}.");
    json!({"type": "string", "description": description, "enum": Chain::all().map(Chain::name).collect::<Vec<_>>()})
}

fn complete(name: &str, schema: &mut Value, written: Written, besides: fn(&str, &str) -> Option<Value>) {
    for list in ["allOf", "oneOf"] {
        for part in schema.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            complete(name, part, written, besides);
        }
    }
    let promised = schema["required"].clone();
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (field, property) in fields.iter_mut() {
        let said = besides(name, field).or_else(|| match written {
            Written::ByClients => requests::keywords(name, field),
            Written::ByUs => answers::keywords(name, field, property),
        });
        if let Some(Value::Object(said)) = said {
            say(property, said);
        }
    }
    match written {
        Written::ByClients => {
            if let Some(conditions) = requests::conditions(name) {
                schema["allOf"] = conditions;
            }
        }
        Written::ByUs => {
            let absent = answers::absent(name);
            let is_promised =
                |field: &str| promised.as_array().is_some_and(|names| names.iter().any(|one| one == field));
            let always = fields.iter().filter(|(field, property)| {
                !absent.contains(&field.as_str()) && (is_promised(field) || may_be_null(property))
            });
            schema["required"] = always.map(|(field, _)| field.clone()).collect();
        }
    }
}

/// Adds keywords to what is known of a property; what is said of `items` to its items.
fn say(property: &mut Value, said: Map<String, Value>) {
    let nullable = may_be_null(property);
    for (keyword, value) in said {
        match (keyword.as_str(), value) {
            ("items", Value::Object(of_items)) => say(&mut property["items"], of_items),
            ("$ref", reference) => {
                let property = property.as_object_mut().expect("a property is an object");
                property.remove("type");
                if nullable {
                    property.insert("oneOf".to_owned(), json!([{ "$ref": reference }, {"type": "null"}]));
                } else {
                    property.insert("$ref".to_owned(), reference);
                }
            }
            ("enum", Value::Array(mut values)) => {
                values.extend(nullable.then_some(Value::Null));
                property["enum"] = Value::Array(values);
            }
            (keyword, value) => property[keyword] = value,
        }
    }
}

fn may_be_null(property: &Value) -> bool {
    let is_null = |one: &Value| one == "null" || one["type"] == "null";
    ["type", "oneOf"].iter().any(|keyword| property[*keyword].as_array().is_some_and(|all| all.iter().any(is_null)))
}

/// A reference to the chains.
fn chain() -> Value {
    json!({"$ref": "#/components/schemas/Chain"})
}

fn one_of(values: &[&str]) -> Value {
    json!({ "enum": values })
}

fn pattern(text: &str) -> Value {
    json!({ "pattern": text })
}
