//! The `OpenAPI` 3.1 description: summaries from the handlers, everything else from the engine's table and types.

use headwater_engine::{Description, Desk, ENDPOINTS, Endpoint, Method};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::{InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};

use headwater_table::Format;

use super::examples::Examples;
use crate::gateway::{ErrorEnvelope, Meta, Status};

/// What stands before the routes.
pub(super) fn head() -> OpenApi {
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let info = InfoBuilder::new()
        .title("Headwater")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Blockchain data and intelligence. Every data endpoint takes one API key in `X-API-Key`; a success is \
             `{data, meta}`, an error `{error: {code, message, details?}}`. Credits are deducted for 2xx answers only.",
        ))
        .license(Some(license))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// The whole description, as served.
#[must_use]
pub fn document() -> Value {
    let (_, api) = super::described().split_for_parts();
    let mut document = serde_json::to_value(api).expect("a description is JSON");
    let mut schemas = Map::new();
    add_schema::<ErrorEnvelope>(&mut schemas);
    add_schema::<Meta>(&mut schemas);
    let examples = Examples::new();
    for endpoint in ENDPOINTS {
        for (method, name) in [(Method::Get, "get"), (Method::Post, "post")] {
            let operation = &mut document["paths"][endpoint.path][name];
            // Some GET endpoints take a POST as well.
            let described = Endpoint { method, ..*endpoint };
            // Every endpoint of the table has a route and an analysis; a test says so, and names the one that has not.
            if let (Some(operation), Some(description)) = (operation.as_object_mut(), Desk::describe(endpoint)) {
                complete(operation, &described, description, &mut schemas);
                illustrate(operation, &described, &examples);
                if method != endpoint.method {
                    operation["operationId"] = json!(format!("{}_by_{name}", operation_id(endpoint)));
                }
            } else if let Some(operations) = document["paths"][endpoint.path].as_object_mut() {
                operations.retain(|_, operation| !operation.is_null());
            }
        }
    }
    for operation in super::own_operations() {
        operation.complete(&mut document, &mut schemas);
    }
    let components = &mut document["components"];
    for (name, schema) in schemas {
        components["schemas"][name] = schema;
    }
    if let Some(schemas) = components["schemas"].as_object_mut() {
        schemas.sort_keys();
    }
    components["securitySchemes"] = json!({
        "api_key": {
            "type": "apiKey", "in": "header", "name": "X-API-Key",
            "description": "`headwater keys create` makes one."
        }
    });
    let tags = ["Assets and market data", "On-chain data", "Address utilities", "Events", "System"];
    document["tags"] = tags.iter().map(|name| json!({"name": name})).collect();
    document["security"] = json!([{"api_key": []}]);
    document
}

pub(super) fn add_schema<T: ToSchema>(schemas: &mut Map<String, Value>) {
    let mut below = Vec::new();
    T::schemas(&mut below);
    below.push((T::name().into_owned(), T::schema()));
    schemas.extend(below.into_iter().map(|(name, schema)| (name, plain(schema))));
}

fn plain(schema: impl serde::Serialize) -> Value {
    serde_json::to_value(schema).expect("a schema is JSON")
}

fn complete(
    operation: &mut Map<String, Value>,
    endpoint: &Endpoint,
    description: Description,
    schemas: &mut Map<String, Value>,
) {
    schemas.extend(description.components.into_iter().map(|(name, schema)| (name, plain(schema))));
    let noun = camel_case(endpoint.name);
    let request = plain(description.request);
    match endpoint.method {
        Method::Get => {
            operation.insert("parameters".to_owned(), parameters(&request, endpoint.path));
        }
        Method::Post => {
            let name = format!("{noun}Request");
            schemas.insert(name.clone(), request);
            let body = operation.entry("requestBody").or_insert_with(|| json!({}));
            body["required"] = json!(true);
            body["content"]["application/json"]["schema"] = reference(&name);
        }
    }
    let name = format!("{noun}Data");
    schemas.insert(name.clone(), plain(description.report));
    operation.insert("responses".to_owned(), responses(endpoint, &name));
    operation.insert("operationId".to_owned(), json!(operation_id(endpoint)));
    operation.insert("x-credit-cost".to_owned(), json!(endpoint.cost));
    let said = operation.get("description").and_then(Value::as_str).unwrap_or_default();
    let budget = endpoint.class.budget_secs();
    let text = format!("{said}\n\nCosts {} credits per success; ends within {budget} s or answers 504.", endpoint.cost);
    operation.insert("description".to_owned(), Value::String(text.trim_start().to_owned()));
}

fn operation_id(endpoint: &Endpoint) -> String {
    endpoint.name.replace(['/', '-'], "_")
}

/// Shows what the desk answers to a request that a reader can send.
fn illustrate(operation: &mut Map<String, Value>, endpoint: &Endpoint, examples: &Examples) {
    // Every endpoint has a request, and every request an answer; a test names the one that has not.
    let Some(request) = Examples::request(endpoint) else { return };
    match endpoint.method {
        Method::Post => operation["requestBody"]["content"]["application/json"]["example"] = request,
        Method::Get => {
            for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
                let example = parameter["name"].as_str().and_then(|name| request.get(name)).cloned();
                let list = parameter["schema"]["type"] == "array";
                let parameter = parameter.as_object_mut().expect("parameters are made as objects");
                parameter.remove("example");
                match example {
                    Some(Value::String(text)) if list => {
                        parameter.insert("example".to_owned(), text.split(',').collect())
                    }
                    Some(example) => parameter.insert("example".to_owned(), example),
                    None => None,
                };
            }
        }
    }
    let bodies =
        [("200", examples.success(endpoint)), ("400", examples.refusal(endpoint)), ("404", examples.missing(endpoint))];
    for (status, body) in bodies {
        let response = operation["responses"].get_mut(status);
        if let (Some(response), Some(body)) = (response, body) {
            response["content"]["application/json"]["example"] = body;
        }
    }
}

pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The properties of a GET request as parameters.
fn parameters(request: &Value, path: &str) -> Value {
    let required = |name: &str| request["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let properties = request["properties"].as_object().into_iter().flatten();
    let list = properties.map(|(name, property)| {
        let mut schema = without_null(property.clone());
        let taken = |schema: &mut Value, key: &str| schema.as_object_mut().and_then(|schema| schema.remove(key));
        let description = taken(&mut schema, "description");
        let example = taken(&mut schema, "example");
        let in_path = path.contains(&format!("{{{name}}}"));
        let mut parameter = json!({
            "name": name, "in": if in_path { "path" } else { "query" }, "required": in_path || required(name)
        });
        if schema["type"] == "array" {
            parameter["style"] = json!("form");
            parameter["explode"] = json!(false);
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

fn responses(endpoint: &Endpoint, data: &str) -> Value {
    let success = json!({
        "description": "The answer.",
        "headers": headers(endpoint.cost),
        "content": {"application/json": {"schema": {
            "type": "object", "required": ["data", "meta"],
            "properties": {"data": reference(data), "meta": reference("Meta")}
        }}}
    });
    let mut success = success;
    if Desk::columns(endpoint).is_some() {
        for format in Format::ALL {
            let text = json!({"type": "string", "description": "The rows of the list alone."});
            let media =
                if matches!(format, Format::Csv | Format::Ndjson) { json!({"schema": text}) } else { json!({}) };
            success["content"][format.media_type()] = media;
        }
        success["headers"]["X-Next-Cursor"] = json!({
            "description": "Of a table: give this as `cursor` to go on behind its last row. Absent on the last page.",
            "schema": {"type": "string"}
        });
    }
    let mut responses = Map::from_iter([("200".to_owned(), success)]);
    for (status, description, message, reason) in FAILURES {
        let applies = match status {
            Status::InsufficientCredit => endpoint.cost > 0,
            Status::NotFound => endpoint.path.contains('{'),
            Status::PayloadTooLarge | Status::UnsupportedMediaType => endpoint.method == Method::Post,
            _ => true,
        };
        let message = match status {
            Status::GatewayTimeout => {
                &format!("the query did not end within its {} seconds", endpoint.class.budget_secs())
            }
            Status::InsufficientCredit => &format!("this call costs {} credits", endpoint.cost),
            _ => *message,
        };
        if applies {
            responses.insert(status.http().to_string(), failure(*status, description, message, *reason));
        }
    }
    Value::Object(responses)
}

pub(super) fn failure(status: Status, description: &str, message: &str, reason: Option<&str>) -> Value {
    let mut error = json!({"code": status.code(), "message": message});
    if let Some(reason) = reason {
        error["details"] = json!({"reason": reason});
        if status == Status::BadRequest {
            error["details"]["field"] = json!("blockchain");
        }
    }
    let mut headers = headers(0);
    if matches!(status, Status::TooManyRequests | Status::BadGateway | Status::GatewayTimeout) {
        headers["Retry-After"] = json!({"description": "Seconds to wait.", "schema": {"type": "integer"}});
    }
    json!({
        "description": description,
        "headers": headers,
        "content": {"application/json": {"schema": reference("ErrorEnvelope"), "example": {"error": error}}}
    })
}

/// Status, when it comes, an example of its message and reason.
const FAILURES: &[(Status, &str, &str, Option<&str>)] = &[
    (
        Status::BadRequest,
        "Something in the request cannot be understood or met; `details` names it. `query_too_large` says that the query would \
         take more memory than one may: the message says how to ask for less.",
        "blockchain: \"solana\" is not supported: expected one of bitcoin, bsc, ethereum, tron",
        Some("unsupported_chain"),
    ),
    (Status::Unauthorized, "The key is missing, unknown, revoked or expired.", "the API key is not valid", None),
    (Status::InsufficientCredit, "The balance does not cover the call.", "this call costs 5 credits", None),
    (
        Status::Forbidden,
        "The plan of the key does not include the endpoint or the chain.",
        "the plan \"small\" of this key does not include /v1/token/holders",
        None,
    ),
    (Status::NotFound, "What was named is not there.", "no transaction has this hash", None),
    (
        Status::NotAcceptable,
        "`Accept` leaves out all that is given.",
        "this answer is no list, so only application/json is given here",
        None,
    ),
    (
        Status::PayloadTooLarge,
        "The body is too large.",
        "the body is larger than the 1048576 bytes that are taken",
        None,
    ),
    (Status::UnsupportedMediaType, "The body is no JSON.", "a POST needs a JSON body", None),
    (
        Status::TooManyRequests,
        "The rate is exceeded (`rate_limited`), too many calls of the key are under way (`concurrency`), or the service has \
         as much to do as it can (`overloaded`).",
        "/v1/chains takes 100 calls a second and 200 at once from one caller: wait as long as Retry-After says",
        Some("rate_limited"),
    ),
    (Status::InternalServerError, "A defect of the service.", "an unexpected error happened", None),
    (Status::BadGateway, "Stored data cannot be read now; try again.", "stored data could not be read", None),
    (Status::GatewayTimeout, "The query did not end in time.", "the query did not end within its 30 seconds", None),
];

pub(super) fn headers(cost: u32) -> Value {
    json!({
        "X-Request-Id": {"description": "Id of the request, made by the server.", "schema": {"type": "string", "format": "uuid"}},
        "X-Credit-Cost": {"description": "Credits deducted.", "schema": {"type": "integer", "format": "int64"}, "example": cost},
        "X-Credit-Remaining": {
            "description": "Credit balance after the request, where the key is known.",
            "schema": {"type": "integer", "format": "int64"}
        },
        "RateLimit-Policy": {
            "description": "Of a known key: the class of the endpoint, calls at once and the seconds in which as many come back.",
            "schema": {"type": "string"}, "example": "\"medium\";q=40;w=2"
        },
        "RateLimit": {
            "description": "Of a known key: calls that are left, and seconds until all are.",
            "schema": {"type": "string"}, "example": "\"medium\";r=37;t=1"
        }
    })
}

fn camel_case(name: &str) -> String {
    name.split(['/', '-', '_'])
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters)
        })
        .collect()
}
