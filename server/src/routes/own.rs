//! The description of routes that the gateway answers itself: there is no table of the engine to take it from.

use headwater_engine::{Column, CostClass, Written, columns};
use headwater_state::RequestId;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::openapi::responses::{Circumstances, add_tables, failures};
use super::openapi::{add_schema, envelope, headers, reference};
use crate::events::webhook::manage::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::gateway::Meta;

/// One operation, with what its handler's comment does not say.
pub(super) struct OwnOperation {
    id: &'static str,
    verb: &'static str,
    path: &'static str,
    success: u16,
    data: Data,
    example: Value,
    body: Option<(Schema, Value)>,
    /// Message and details.
    refusal: (&'static str, Value),
    paged: bool,
    repeatable: bool,
}

/// A type of the description.
struct Schema {
    name: String,
    add: fn(Written, &mut Map<String, Value>),
}

impl Schema {
    fn of<T: ToSchema>() -> Self {
        Self { name: T::name().into_owned(), add: add_schema::<T> }
    }
}

/// The `data` of a success.
pub(super) struct Data {
    schema: Schema,
    /// The columns that it has as a table, if it is a list.
    list: Option<fn() -> Vec<Column>>,
}

impl Data {
    /// One of a type.
    pub fn one<T: ToSchema>() -> Self {
        Self { schema: Schema::of::<T>(), list: None }
    }

    /// A list of a type.
    pub fn list<T: ToSchema>() -> Self {
        Self { schema: Schema::of::<T>(), list: Some(columns::<T>) }
    }
}

impl OwnOperation {
    /// An operation with an example of the `data` of its success.
    pub fn new(id: &'static str, route: (&'static str, &'static str), data: Data, example: Value) -> Self {
        let message = "unknown query parameter \"a\"; this call takes no parameters";
        let refusal = (message, json!({"reason": "unknown_field", "field": "a"}));
        let (verb, path) = route;
        Self { id, verb, path, success: 200, data, example, body: None, refusal, paged: false, repeatable: false }
    }

    /// The same that makes something.
    pub fn created(self) -> Self {
        Self { success: 201, ..self }
    }

    /// The same with a JSON body.
    pub fn with_body<T: ToSchema>(self, example: Value) -> Self {
        Self { body: Some((Schema::of::<T>(), example)), ..self }
    }

    /// The same with an example of a refused field.
    pub fn refused(self, field: &'static str, message: &'static str) -> Self {
        let reason = if field == "from" { "time_range" } else { "invalid_value" };
        Self { refusal: (message, json!({"reason": reason, "field": field})), ..self }
    }

    /// The same with an example of a refusal that is about no field.
    pub fn refused_for(self, reason: &'static str, message: &'static str) -> Self {
        Self { refusal: (message, json!({"reason": reason})), ..self }
    }

    /// The same with `limit` and `offset`.
    pub fn paged(self) -> Self {
        let message = "limit: expected 0 to 1000 (0 is the default of 20), got 5000";
        let details = json!({"reason": "limit_out_of_range", "field": "limit", "limit": MAX_LIMIT, "value": "5000"});
        Self { paged: true, refusal: (message, details), ..self }
    }

    /// The same with an `Idempotency-Key`.
    pub fn repeatable(self) -> Self {
        Self { repeatable: true, ..self }
    }

    /// Completes what the handler made.
    pub fn complete(self, document: &mut Value, schemas: &mut Map<String, Value>) {
        let Some(operation) = document["paths"][self.path][self.verb].as_object_mut() else {
            // A test says that every one of them has a route.
            return;
        };
        (self.data.schema.add)(Written::ByUs, schemas);
        operation.insert("operationId".to_owned(), json!(self.id));
        operation.insert("x-credit-cost".to_owned(), json!(0));
        let said = operation.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{said}\n\nCosts nothing, and needs a key.");
        operation.insert("description".to_owned(), json!(description.trim_start()));
        operation.insert("parameters".to_owned(), self.parameters());
        operation.insert("responses".to_owned(), self.responses());
        match self.body {
            Some((schema, example)) => {
                (schema.add)(Written::ByClients, schemas);
                let content = json!({"application/json": {"schema": reference(&schema.name), "example": example}});
                operation.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
            }
            None => {
                operation.remove("requestBody");
            }
        }
    }

    fn parameters(&self) -> Value {
        let mut parameters = vec![headers::correlation_id()];
        parameters.extend(self.repeatable.then(headers::repeat_key));
        if self.path.contains("{id}") {
            parameters.push(json!({
                "name": "id", "in": "path", "required": true, "description": "Id of the webhook.",
                "schema": {"type": "string", "format": "uuid"}, "example": "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"
            }));
        }
        if self.paged {
            let limit = json!({
                "type": "integer", "format": "int32", "minimum": 0, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT
            });
            let offset = json!({"type": "integer", "format": "int32", "minimum": 0, "maximum": i32::MAX, "default": 0});
            for (name, text, schema, example) in
                [("limit", "Rows of a page.", limit, 20), ("offset", "Rows before it.", offset, 0)]
            {
                parameters.push(json!({
                    "name": name, "in": "query", "required": false, "description": text, "schema": schema,
                    "example": example
                }));
            }
        }
        Value::Array(parameters)
    }

    fn responses(&self) -> Value {
        let name = &self.data.schema.name;
        let schema = if self.data.list.is_some() {
            envelope(&format!("{name}List"), &json!({"type": "array", "items": reference(name)}))
        } else {
            envelope(name, &reference(name))
        };
        let pagination = self.paged.then_some(headwater_engine::Pagination { limit: 20, offset: 0, total: Some(1) });
        let meta = Meta {
            credit_cost: Some(0),
            credit_remaining: Some(1000),
            pagination,
            request_id: RequestId::from(headers::REQUEST_ID).ok(),
            ..Meta::default()
        };
        let mut success = json!({
            "description": "The answer.",
            "headers": headers::keyed(),
            "content": {"application/json": {
                "schema": schema, "example": {"data": self.example, "meta": meta}
            }}
        });
        if let Some(columns) = self.data.list {
            add_tables(&mut success, &columns());
        }
        if self.success == 201 {
            headers::add(&mut success["headers"], "Location");
        }
        if self.repeatable {
            headers::add(&mut success["headers"], "Idempotent-Replayed");
        }
        let mut responses = failures(&Circumstances {
            path: self.path,
            cost: 0,
            class: CostClass::Free,
            has_body: self.body.is_some(),
            is_repeatable: self.repeatable,
            missing: self.path.contains('{').then_some("there is no webhook with this id"),
        });
        let (message, details) = &self.refusal;
        responses["400"]["content"]["application/json"]["example"]["error"] =
            json!({"code": "bad_request", "message": message, "details": details, "request_id": headers::REQUEST_ID});
        responses.insert(self.success.to_string(), success);
        responses.sort_keys();
        Value::Object(responses)
    }
}
