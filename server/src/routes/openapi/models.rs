//! Names for the models of generated clients. A generator makes up a name for each record, map and set of values that
//! is written inside another schema, each generator a different one; here they become components with one name.

use serde_json::{Map, Value, json};

use super::{camel_case, reference};

/// Names every model of the document, and words its fields as generators of clients need them.
pub(in crate::routes) fn name_models(document: &mut Value) {
    let mut named = Map::new();
    for operation in members(document, "paths").flat_map(|(_, verbs)| verbs.as_object_mut().into_iter().flatten()) {
        name_operation(operation.1, &mut named);
    }
    let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else { return };
    for (name, schema) in schemas.iter_mut() {
        name_parts(schema, name, &mut named);
    }
    schemas.extend(named);
    for schema in schemas.values_mut() {
        describe_default(schema);
        name_values(schema);
        for (_, field) in members(schema, "properties") {
            describe_default(field);
        }
    }
}

/// Names the models of the parameters and answers of an operation.
fn name_operation(operation: &mut Value, named: &mut Map<String, Value>) {
    let id = camel_case(operation["operationId"].as_str().unwrap_or_default());
    for parameter in elements(operation, "parameters") {
        let name = format!("{id}{}", camel_case(parameter["name"].as_str().unwrap_or_default()));
        let Some(schema) = parameter.get_mut("schema") else { continue };
        name_at(schema, &name, named);
        if let Some(default) = schema.as_object_mut().and_then(|schema| schema.remove("default")) {
            parameter["default"] = default;
            describe_default(parameter);
        }
    }
    for (_, response) in members(operation, "responses") {
        for (_, content) in members(response, "content") {
            if let Some(schema) = content.get_mut("schema") {
                name_at(schema, &format!("{id}Answer"), named);
            }
        }
    }
}

/// The members of the object under a keyword.
fn members<'a>(value: &'a mut Value, keyword: &str) -> impl Iterator<Item = (&'a String, &'a mut Value)> {
    value.get_mut(keyword).and_then(Value::as_object_mut).into_iter().flatten()
}

/// The elements of the list under a keyword.
fn elements<'a>(value: &'a mut Value, keyword: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(keyword).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Names the models in a schema, and the schema itself if it is one: by its title, else by its place.
fn name_at(schema: &mut Value, place: &str, named: &mut Map<String, Value>) {
    let name = schema["title"].as_str().unwrap_or(place).to_owned();
    name_parts(schema, &name, named);
    if !is_model(schema) {
        return;
    }
    let mut model = std::mem::take(schema);
    let Some(keywords) = model.as_object_mut() else { return };
    keywords.remove("title");
    let description = keywords.get("description").cloned();
    let is_nullable = keywords.get_mut("type").is_some_and(without_null);
    if let Some(values) = keywords.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    *schema = if is_nullable { json!({"oneOf": [reference(&name), {"type": "null"}]}) } else { reference(&name) };
    if let Some(description) = description {
        schema["description"] = description;
    }
    named.insert(name, model);
}

/// Names the models inside a schema.
fn name_parts(schema: &mut Value, name: &str, named: &mut Map<String, Value>) {
    for (field, property) in members(schema, "properties") {
        name_at(property, &format!("{name}{}", camel_case(field)), named);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(part) = schema.get_mut(inner) {
            name_at(part, name, named);
        }
    }
    for choice in elements(schema, "oneOf") {
        name_at(choice, name, named);
        // A choice is a reference alone: beside a description the OpenAPI generator does not import its type.
        if let Some(choice) = choice.as_object_mut().filter(|choice| choice.contains_key("$ref")) {
            choice.remove("description");
        }
    }
    // Parts of a record are fields of the record.
    for part in elements(schema, "allOf") {
        name_parts(part, name, named);
    }
}

/// Returns whether generators make a type of its own of a schema, or its title asks for one.
fn is_model(schema: &Value) -> bool {
    ["enum", "title"].iter().any(|keyword| schema.get(keyword).is_some())
        || ["properties", "additionalProperties"].iter().any(|keyword| schema[keyword].is_object())
}

/// Leaves null out of a type, and returns whether it was there.
fn without_null(of: &mut Value) -> bool {
    let Some(types) = of.as_array_mut() else { return false };
    let count = types.len();
    types.retain(|one| one != "null");
    let is_nullable = types.len() < count;
    if let [only] = types.as_slice() {
        *of = only.clone();
    }
    is_nullable
}

/// Moves the default of a field into its description. Generators take a field with a default for one that is always
/// there, or send the default with every call.
fn describe_default(field: &mut Value) {
    let Some(default) = field.as_object_mut().and_then(|field| field.remove("default")) else { return };
    let description = field["description"].as_str().unwrap_or_default();
    if ["default", "omitted", "Omitted"].iter().any(|word| description.contains(word)) {
        return;
    }
    let text = match &default {
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("`, `"),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    field["description"] = json!(format!("{description} Default: `{text}`.").trim_start());
}

/// Names values that are not words, of which generators would make `VALUE_0` or the like.
fn name_values(schema: &mut Value) {
    let Some(values) = schema["enum"].as_array() else { return };
    let is_word =
        |value: &Value| value.as_str().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()));
    if values.iter().all(is_word) {
        return;
    }
    let name = |value: &Value| match value.as_str().unwrap_or_default() {
        "" => "Undecided".to_owned(),
        "+" => "Plus".to_owned(),
        "-" => "Minus".to_owned(),
        "1d" => "OneDay".to_owned(),
        word => camel_case(word),
    };
    schema["x-enum-varnames"] = values.iter().map(name).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_inside_a_record_become_components() {
        let mut document = json!({"paths": {}, "components": {"schemas": {"Row": {"type": "object", "properties": {
            "labels": {"type": ["object", "null"], "description": "By address.", "additionalProperties": {"type": "string"}},
            "parts": {"type": "array", "items": {"type": "string", "title": "Part", "enum": ["logs", "input"]}},
            "amount": {"type": "string"}
        }}}}});
        name_models(&mut document);
        let expected = json!({
            "Row": {"type": "object", "properties": {
                "labels": {
                    "oneOf": [{"$ref": "#/components/schemas/RowLabels"}, {"type": "null"}], "description": "By address."
                },
                "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
                "amount": {"type": "string"}
            }},
            "RowLabels": {"type": "object", "description": "By address.", "additionalProperties": {"type": "string"}},
            "Part": {"type": "string", "enum": ["logs", "input"]}
        });
        assert_eq!(document["components"]["schemas"], expected);
    }

    #[test]
    fn answers_and_parameters_are_named_by_operation() {
        let mut document = json!({"components": {"schemas": {}}, "paths": {"/a": {"get": {
            "operationId": "list_all",
            "parameters": [{"name": "sort_by", "schema": {"type": "string", "enum": ["a"]}}],
            "responses": {"200": {"content": {
                "application/json": {"schema": {"type": "object", "properties": {"data": {"type": "string"}}}},
                "text/csv": {"schema": {"type": "string"}}
            }}}
        }}}});
        name_models(&mut document);
        let names: Vec<&String> = document["components"]["schemas"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["ListAllSortBy", "ListAllAnswer"]);
        let operation = &document["paths"]["/a"]["get"];
        assert_eq!(operation["parameters"][0]["schema"], reference("ListAllSortBy"));
        let content = &operation["responses"]["200"]["content"];
        assert_eq!(content["application/json"]["schema"], reference("ListAllAnswer"));
        assert_eq!(content["text/csv"]["schema"], json!({"type": "string"}));
    }

    #[test]
    fn defaults_move_into_descriptions() {
        let described = |mut field: Value| {
            describe_default(&mut field);
            field
        };
        let limit = json!({"type": ["integer", "null"], "description": "Rows: default 20.", "default": 20});
        assert_eq!(described(limit), json!({"type": ["integer", "null"], "description": "Rows: default 20."}));
        let labels = json!({"description": "Labels.", "default": ["dex", "mixer"]});
        assert_eq!(described(labels), json!({"description": "Labels. Default: `dex`, `mixer`."}));
        assert_eq!(described(json!({"default": false})), json!({"description": "Default: `false`."}));
    }

    #[test]
    fn values_that_are_not_words_get_names() {
        let named = |values: Value| {
            let mut schema = json!({"type": "string", "enum": values});
            name_values(&mut schema);
            schema["x-enum-varnames"].clone()
        };
        assert_eq!(named(json!(["bsc", ""])), json!(["Bsc", "Undecided"]));
        assert_eq!(named(json!(["+", "-"])), json!(["Plus", "Minus"]));
        assert_eq!(named(json!(["1d"])), json!(["OneDay"]));
        assert_eq!(named(json!(["asc", "desc"])), Value::Null);
    }
}
