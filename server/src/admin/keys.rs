//! Keys and their credits.

use axum::extract::Request;
use axum::response::Response;
use headwater_engine::Reason;
use headwater_state::{Environment, Expiry, NewKey};
use serde::Deserialize;
use serde_json::{Value, json};

use super::handler::{Admin, EmptyRequest, PathName, about, body, unfit};
use crate::gateway::Problem;

/// Most hours that a rotated key stays good.
const LONGEST_GRACE: u32 = 8760;

#[derive(Deserialize)]
struct NewKeyRequest {
    #[serde(default = "unnamed")]
    name: String,
    #[serde(default)]
    credits: i64,
    #[serde(default)]
    test: bool,
    plan: Option<String>,
    expires_at: Option<Value>,
}

fn unnamed() -> String {
    "default".to_owned()
}

#[derive(Deserialize)]
struct Rotation {
    #[serde(default = "a_day")]
    grace_hours: i64,
    expires_at: Option<Value>,
}

/// Reads the end of a key: Unix seconds, or `never`.
fn expiry(value: &Value) -> Result<Expiry, Problem> {
    match (value.as_i64(), value.as_str()) {
        (Some(secs), _) => Ok(Expiry::At(secs)),
        (None, Some("never")) => Ok(Expiry::Never),
        (None, _) => Err(unfit(Reason::InvalidValue, "expires_at", value, "epoch seconds, or \"never\"")),
    }
}

const fn a_day() -> i64 {
    24
}

#[derive(Deserialize)]
struct Booking {
    add: Option<i64>,
    refund: Option<String>,
}

#[derive(Deserialize)]
struct Assignment {
    plan: String,
}

/// `GET /admin/v1/keys`
pub(super) async fn list(admin: Admin, _: EmptyRequest) -> Response {
    let keys = admin.look(|admin| admin.list_keys()).await;
    admin.answer(keys.map(|keys| json!({"keys": keys})))
}

/// `POST /admin/v1/keys`: the key is in the answer, this once.
pub(super) async fn create(admin: Admin, request: Request) -> Response {
    let made = async {
        let wanted: NewKeyRequest = body(request).await?;
        let environment = if wanted.test { Environment::Test } else { Environment::Live };
        let expires_at = match wanted.expires_at.as_ref().map(expiry).transpose()? {
            Some(Expiry::At(end)) => Some(end),
            Some(Expiry::Never | Expiry::Inherited) | None => None,
        };
        let made = admin
            .change(move |admin| {
                let NewKeyRequest { name, credits, plan, .. } = &wanted;
                admin.create_expiring_key(name, environment, *credits, plan.as_deref(), expires_at)
            })
            .await
            .map_err(|problem| about(problem, "credits"))?;
        Ok(shown(&made))
    };
    admin.answer(made.await)
}

/// `GET /admin/v1/keys/{id}`
pub(super) async fn show(admin: Admin, PathName(id): PathName, _: EmptyRequest) -> Response {
    admin.answer(admin.look(move |admin| admin.key(&id)).await)
}

/// `DELETE /admin/v1/keys/{id}`: the next request with it is refused.
pub(super) async fn revoke(admin: Admin, PathName(id): PathName, _: EmptyRequest) -> Response {
    admin.answer(admin.change(move |admin| admin.revoke_key(&id)).await)
}

/// `POST /admin/v1/keys/{id}/rotate`
pub(super) async fn rotate(admin: Admin, PathName(id): PathName, request: Request) -> Response {
    let made = async {
        let Rotation { grace_hours, expires_at } = body(request).await?;
        let expiry = expires_at.as_ref().map_or(Ok(Expiry::Inherited), expiry)?;
        let hours = u32::try_from(grace_hours).ok().filter(|hours| *hours <= LONGEST_GRACE).ok_or_else(|| {
            let expected = format!("0 to {LONGEST_GRACE}, the hours of a year");
            unfit(Reason::InvalidValue, "grace_hours", grace_hours, expected)
        })?;
        let made = admin.change(move |admin| admin.rotate_key(&id, hours * 3600, expiry)).await?;
        Ok(shown(&made))
    };
    admin.answer(made.await)
}

/// `POST /admin/v1/keys/{id}/credits`
pub(super) async fn credits(admin: Admin, PathName(id): PathName, request: Request) -> Response {
    let booked = async {
        match body(request).await? {
            Booking { add: Some(amount), refund: None } => {
                let key = id.clone();
                let balance = admin.change(move |admin| admin.add_credits(&key, amount)).await;
                let balance = balance.map_err(|problem| about(problem, "add"))?;
                Ok(json!({"id": id, "added": amount, "credits": balance}))
            }
            Booking { add: None, refund: Some(request_id) } => {
                let (key, charge) = (id.clone(), request_id.clone());
                let (credits, balance) = admin.change(move |admin| admin.refund_of(&key, &charge)).await?;
                Ok(json!({"id": id, "request_id": request_id, "refunded": credits, "credits": balance}))
            }
            Booking { add, .. } => {
                let (reason, field) = match add {
                    Some(_) => (Reason::InvalidValue, "refund"),
                    None => (Reason::MissingField, "add"),
                };
                let message = "give {\"add\": credits} or {\"refund\": request_id}, one of them";
                Err(Problem::invalid(reason, Some(field), message))
            }
        }
    };
    admin.answer(booked.await)
}

/// `PUT /admin/v1/keys/{id}/plan`
pub(super) async fn assign_plan(admin: Admin, PathName(id): PathName, request: Request) -> Response {
    let assigned = async {
        let Assignment { plan } = body(request).await?;
        admin
            .change(move |admin| {
                admin.assign_plan(&id, &plan)?;
                admin.key(&id)
            })
            .await
    };
    admin.answer(assigned.await)
}

/// A new key, this once.
fn shown(made: &NewKey) -> serde_json::Value {
    json!({
        "id": made.id, "key": made.key.expose(), "name": made.name, "credits": made.credits, "expires_at": made.expires_at
    })
}
