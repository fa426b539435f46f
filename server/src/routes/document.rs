//! The `OpenAPI` 3.1 description, from the engine's table of endpoints and the types of requests and answers.

use headwater_engine::events::BalanceThreshold;
use headwater_engine::{Description, Endpoint, Method, Pricing, Tag, Written, require_either};
use serde_json::{Map, Value, json};
use utoipa::openapi::{InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, ServerBuilder};

use super::examples::Examples;
use super::openapi::models::name_models;
use super::openapi::parameters::parameters;
use super::openapi::responses::{Circumstances, failures, success};
use super::openapi::{add_schema, camel_case, headers, reference};
use super::{stream, system};
use crate::gateway::{ErrorEnvelope, Meta};

/// The head of the description, before the routes.
pub(super) fn head() -> OpenApi {
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let info = InfoBuilder::new()
        .title("Headwater")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Blockchain data and intelligence. Every data endpoint takes one API key in `X-API-Key`; a success is \
             `{data, meta}`, an error `{error: {code, message, details?, request_id}}`. Credits are deducted for 2xx answers only.",
        ))
        .license(Some(license))
        .build();
    let here = ServerBuilder::new().url("/").description(Some("The server that serves this description")).build();
    OpenApiBuilder::new().info(info).servers(Some([here])).build()
}

/// The whole description, as served.
#[must_use]
pub fn document(endpoints: &[Endpoint]) -> Value {
    let (_, api) = super::described().split_for_parts();
    let mut document = serde_json::to_value(api).expect("a description is JSON");
    let mut schemas = Map::new();
    add_schema::<ErrorEnvelope>(Written::ByUs, &mut schemas);
    add_schema::<Meta>(Written::ByUs, &mut schemas);
    let examples = Examples::new();
    let mut paths = Map::new();
    for endpoint in endpoints {
        for (method, summary, text) in endpoint.methods() {
            let name = match method {
                Method::Get => "get",
                Method::Post => "post",
            };
            let mut operation = Map::from_iter([
                ("tags".to_owned(), json!([endpoint.tag.name()])),
                ("summary".to_owned(), json!(summary)),
                ("description".to_owned(), json!(text)),
            ]);
            let described = Endpoint { method, ..*endpoint };
            complete(&mut operation, &described, endpoint.describe(), &mut schemas);
            illustrate(&mut operation, &described, &examples);
            if method == Method::Get && endpoint.methods().count() > 1 {
                operation["operationId"] = json!(format!("{}_by_get", operation_id(endpoint)));
            }
            paths.entry(endpoint.path).or_insert_with(|| json!({}))[name] = Value::Object(operation);
        }
    }
    if let Some(own) = document["paths"].as_object_mut() {
        paths.extend(std::mem::take(own));
        *own = paths;
    }
    for operation in super::own_operations() {
        operation.complete(&mut document, &mut schemas);
    }
    require_either(&mut schemas["BalanceThreshold"], BalanceThreshold::EITHER);
    stream::complete(&mut document["paths"]);
    system::complete(&mut document["paths"]);
    let components = &mut document["components"];
    components["headers"] = headers::answers();
    components["parameters"] = headers::parameters();
    for (name, schema) in schemas {
        components["schemas"][name] = schema;
    }
    components["securitySchemes"] = json!({
        "api_key": {
            "type": "apiKey", "in": "header", "name": "X-API-Key",
            "description": "`headwater keys create` makes one."
        }
    });
    let tags = Tag::ALL.map(Tag::name).into_iter().chain(["Events", "System"]);
    document["tags"] = tags.map(|name| json!({"name": name})).collect();
    name_models(&mut document);
    // Forms that are written out at their place are not named.
    let text = document.to_string();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| text.contains(&format!("\"#/components/schemas/{name}\"")));
        schemas.sort_keys();
    }
    document["security"] = json!([{"api_key": []}]);
    document
}

fn complete(
    operation: &mut Map<String, Value>,
    endpoint: &Endpoint,
    description: Description,
    schemas: &mut Map<String, Value>,
) {
    schemas.extend(description.components);
    let noun = camel_case(endpoint.name);
    let request = description.request;
    let mut given = match endpoint.method {
        Method::Get => parameters(&request, endpoint.path),
        Method::Post => {
            let name = format!("{noun}Request");
            schemas.insert(name.clone(), request);
            let body = operation.entry("requestBody").or_insert_with(|| json!({}));
            body["required"] = json!(true);
            body["content"]["application/json"]["schema"] = reference(&name);
            json!([])
        }
    };
    let of = Circumstances::of(endpoint);
    let headers = of.is_repeatable.then(headers::repeat_key).into_iter().chain([headers::correlation_id()]);
    given.as_array_mut().expect("parameters are a list").extend(headers);
    operation.insert("parameters".to_owned(), given);
    schemas.insert(format!("{noun}Data"), description.report);
    let mut responses = failures(&of);
    responses.insert("200".to_owned(), success(endpoint, &noun, endpoint.columns().as_deref()));
    responses.sort_keys();
    operation.insert("responses".to_owned(), Value::Object(responses));
    operation.insert("operationId".to_owned(), json!(operation_id(endpoint)));
    operation.insert("x-credit-cost".to_owned(), json!(endpoint.cost));
    let said = operation.get("description").and_then(Value::as_str).unwrap_or_default();
    let budget = endpoint.class.budget_secs();
    let plural = if endpoint.cost == 1 { "" } else { "s" };
    let (unit, per) = match endpoint.pricing() {
        Pricing::PerCall => ("call", "success".to_owned()),
        Pricing::PerItem { list, .. } => {
            ("item", format!("item of `{list}` that succeeds; the balance must cover all of them"))
        }
    };
    let text = format!(
        "{said}\n\nCosts {} credit{plural} per {per}. Ends within {budget} s (unless the operator set another time), else it is a 504.",
        endpoint.cost
    );
    operation.insert("description".to_owned(), Value::String(text.trim_start().to_owned()));
    operation.insert("x-credit-unit".to_owned(), json!(unit));
}

fn operation_id(endpoint: &Endpoint) -> String {
    endpoint.name.replace(['/', '-'], "_")
}

/// Shows what the engine answers to a request that a reader can send.
fn illustrate(operation: &mut Map<String, Value>, endpoint: &Endpoint, examples: &Examples) {
    let request = (endpoint.example.request)();
    match endpoint.method {
        Method::Post => operation["requestBody"]["content"]["application/json"]["example"] = request,
        Method::Get => {
            for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
                let Some(name) = parameter["name"].as_str() else { continue };
                let example = request.get(name).cloned();
                let parameter = parameter.as_object_mut().expect("parameters are made as objects");
                parameter.remove("example");
                parameter.extend(example.map(|example| ("example".to_owned(), example)));
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
