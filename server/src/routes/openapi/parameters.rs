//! The parameters of a GET, from the properties of its request. Lists are described as generated clients send them: as
//! repeated parameters.

use serde_json::{Value, json};

/// The properties of a GET request as parameters.
pub(in crate::routes) fn parameters(request: &Value, path: &str) -> Value {
    let required = |name: &str| request["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let properties = request["properties"].as_object().into_iter().flatten();
    let list = properties.map(|(name, property)| {
        let mut schema = without_null(property.clone());
        let taken = |schema: &mut Value, key: &str| schema.as_object_mut().and_then(|schema| schema.remove(key));
        let mut description = taken(&mut schema, "description");
        let example = taken(&mut schema, "example");
        let in_path = path.contains(&format!("{{{name}}}"));
        let mut parameter = json!({
            "name": name, "in": if in_path { "path" } else { "query" }, "required": in_path || required(name)
        });
        if schema["type"] == "array" {
            parameter["style"] = json!("form");
            parameter["explode"] = json!(true);
            let said = description.as_ref().and_then(Value::as_str).unwrap_or_default();
            description = Some(json!(format!("{said} Repeat it, or separate its items by commas.")));
            // Without a value a parameter is refused.
            schema["minItems"] = json!(1);
        } else if schema["type"] == "string" && schema.get("enum").is_none() && schema.get("minLength").is_none() {
            schema["minLength"] = json!(1);
        }
        for (key, value) in [("description", description), ("schema", Some(schema)), ("example", example)] {
            if let Some(value) = value {
                parameter[key] = value;
            }
        }
        parameter
    });
    list.collect()
}

/// A parameter is left out rather than null.
fn without_null(mut schema: Value) -> Value {
    if let Some(types) = schema["type"].as_array() {
        let types: Vec<Value> = types.iter().filter(|one| *one != "null").cloned().collect();
        if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            values.retain(|value| !value.is_null());
        }
        schema["type"] = if let [one] = types.as_slice() { one.clone() } else { Value::Array(types) };
    }
    let only = schema["oneOf"].as_array().and_then(|choices| {
        let mut left = choices.iter().filter(|choice| choice["type"] != "null");
        left.next().filter(|_| left.next().is_none()).cloned()
    });
    match (only, &mut schema) {
        (Some(only), Value::Object(schema)) => {
            schema.remove("oneOf");
            let mut merged = only;
            for (key, value) in schema {
                merged[key.as_str()] = value.clone();
            }
            merged
        }
        _ => schema,
    }
}
