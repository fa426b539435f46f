//! What an `OpenAPI` document says of requests and answers, all of it from their types.

use std::collections::BTreeMap;

use headwater_types::Chain;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::request::RESERVED;

/// Request and answer of an endpoint as an `OpenAPI` document needs them.
pub struct Description {
    /// The request: the body of a POST, or an object whose properties are the parameters of a GET.
    pub request: Value,
    /// The `data` of the answer.
    pub report: Value,
    /// The named schemas that both refer to, by name.
    pub components: Vec<(String, Value)>,
}

/// Who writes a record, which decides which fields are required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A client: fields that may be null may be left out, and others are refused.
    ByClients,
    /// The service: a field without a value is null, unless its schema does not allow null; then it is left out.
    ByUs,
}

pub(crate) fn describe<Request: ToSchema, Report: ToSchema>(either_of: &[[&str; 2]]) -> Description {
    let (mut request, mut components) = record::<Request>(Written::ByClients);
    let reserved = referenced(&request["properties"][RESERVED]);
    for (_, schema) in components.iter_mut().filter(|(name, _)| Some(name.as_str()) == reserved) {
        if let Some(record) = schema.as_object_mut() {
            record.remove("additionalProperties");
        }
    }
    require_either(&mut request, either_of);
    let (report, ours) = record::<Report>(Written::ByUs);
    components.extend(ours);
    components.push(("Chain".to_owned(), chains()));
    components.sort_by(|one, other| one.0.cmp(&other.0));
    components.dedup_by(|one, other| one.0 == other.0);
    Description { request, report, components }
}

/// The schema of a type, and the named schemas that it refers to. Forms of texts and numbers are written out where they
/// stand.
#[must_use]
pub fn record<T: ToSchema>(written: Written) -> (Value, Vec<(String, Value)>) {
    let mut below = Vec::new();
    T::schemas(&mut below);
    let json = |schema| serde_json::to_value(schema).expect("a schema is JSON");
    let (records, forms): (BTreeMap<_, _>, BTreeMap<_, _>) =
        below.into_iter().map(|(name, schema)| (name, json(schema))).partition(|(_, schema)| is_component(schema));
    let complete = |mut schema: Value| {
        complete(&mut schema, written);
        write_out(&mut schema, &forms);
        schema
    };
    let records = records.into_iter().map(|(name, schema)| (name, complete(schema))).collect();
    (complete(json(T::schema())), records)
}

/// The fields of the objects inside a request, such as `track_setting.limit`.
pub(crate) fn nested_fields<T: ToSchema>() -> Vec<String> {
    let (request, records) = record::<T>(Written::ByClients);
    let mut nested = Vec::new();
    for (object, property) in properties(&request) {
        let record = records.iter().find(|(name, _)| Some(name.as_str()) == referenced(property));
        let fields = record.into_iter().flat_map(|(_, schema)| properties(schema));
        nested.extend(fields.map(|(field, _)| format!("{object}.{field}")));
    }
    nested
}

fn properties(record: &Value) -> impl Iterator<Item = (&String, &Value)> {
    record["properties"].as_object().into_iter().flatten()
}

/// The name of the schema that a property refers to, one that may be null too.
fn referenced(property: &Value) -> Option<&str> {
    let mut choices = items(&property["oneOf"]).chain([property]);
    choices.find_map(|choice| choice["$ref"].as_str()?.rsplit('/').next())
}

/// Returns whether a named schema is a component of the document: a record or a set of values.
fn is_component(schema: &Value) -> bool {
    ["properties", "enum", "allOf", "oneOf"].iter().any(|keyword| schema.get(keyword).is_some())
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

/// Requires one field of each pair. Generators of clients pass over `if`, and would make types of the parts of `anyOf`.
pub fn require_either(schema: &mut Value, pairs: &[[&str; 2]]) {
    let Some(([one, other], rest)) = pairs.split_first() else { return };
    schema["if"] = json!({"properties": {*one: {"type": "null"}, *other: {"type": "null"}}});
    schema["then"] = json!({"not": {}});
    if !rest.is_empty() {
        let mut otherwise = json!({});
        require_either(&mut otherwise, rest);
        schema["else"] = otherwise;
    }
}

/// Completes a record with the fields that are required, or with what is said of other fields.
fn complete(schema: &mut Value, written: Written) {
    for list in ["allOf", "oneOf"] {
        for part in schema.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            complete(part, written);
        }
    }
    let Some(record) = schema.as_object_mut() else { return };
    let Some(fields) = record.get("properties").and_then(Value::as_object) else { return };
    match written {
        Written::ByClients => {
            record.insert("additionalProperties".to_owned(), json!(false));
        }
        Written::ByUs => {
            let promised: Vec<&Value> = record.get("required").into_iter().flat_map(items).collect();
            let always = fields.iter().filter(|(name, field)| promised.contains(&&json!(name)) || may_be_null(field));
            let always = always.map(|(name, _)| name.clone()).collect();
            record.insert("required".to_owned(), always);
        }
    }
}

/// Writes forms out in place of references to them.
fn write_out(schema: &mut Value, forms: &BTreeMap<String, Value>) {
    let form = |schema: &Value| {
        let (_, name) = schema.get("$ref")?.as_str()?.rsplit_once('/')?;
        forms.get(name).cloned()
    };
    match schema {
        Value::Array(parts) => {
            for part in parts {
                write_out(part, forms);
            }
        }
        Value::Object(keywords) => {
            for part in keywords.values_mut() {
                write_out(part, forms);
            }
            lift_description(keywords);
            if let Some(nullable) = nullable_form(keywords) {
                keywords.remove("oneOf");
                merge(keywords, nullable);
            } else if let Some(form) = form(&Value::Object(keywords.clone())) {
                keywords.remove("$ref");
                merge(keywords, form);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Moves the description of a reference that may be null to the choice of the two.
fn lift_description(keywords: &mut Map<String, Value>) {
    let choices = keywords.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten();
    let mut references = choices.filter(|choice| choice.get("$ref").is_some());
    let description = references.find_map(|choice| choice.as_object_mut()?.remove("description"));
    if let Some(description) = description {
        keywords.insert("description".to_owned(), description);
    }
}

/// The form in a choice of null and a form, as one that may be null.
fn nullable_form(keywords: &Map<String, Value>) -> Option<Value> {
    let [one, other] = keywords.get("oneOf")?.as_array()?.as_slice() else { return None };
    let form =
        [(one, other), (other, one)].into_iter().find_map(|(null, form)| (null["type"] == "null").then_some(form))?;
    // References and records stay a choice.
    let kind = form.get("type").filter(|_| form.get("properties").is_none() && form.get("allOf").is_none())?;
    let mut form = form.clone();
    form["type"] = items(&json!([kind]))
        .flat_map(|kind| kind.as_array().cloned().unwrap_or(vec![kind.clone()]))
        .chain([json!("null")])
        .collect();
    if let Some(values) = form.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    Some(form)
}

/// Adds the keywords of a form to those of its place, which stand above.
fn merge(keywords: &mut Map<String, Value>, form: Value) {
    if let Value::Object(form) = form {
        for (keyword, value) in form {
            keywords.entry(keyword).or_insert(value);
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn may_be_null(property: &Value) -> bool {
    let is_null = |one: &Value| one == "null" || one["type"] == "null";
    ["type", "oneOf"].iter().any(|keyword| items(&property[*keyword]).any(is_null))
}
