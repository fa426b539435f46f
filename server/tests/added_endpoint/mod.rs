//! An endpoint is added with one file (`height.rs`) and one line of the table: HTTP, plans, description and command line
//! follow.

mod height;

use std::sync::LazyLock;
use std::time::Duration;

use headwater_engine::{ENDPOINTS, Endpoint};
use headwater_server::gateway::Settings;
use serde_json::{Value, json};

use crate::support::{Server, small_store, within};

/// The table with one line more.
static TABLE: LazyLock<Vec<Endpoint>> = LazyLock::new(|| [ENDPOINTS, &[height::ENDPOINT]].concat());

#[test]
fn added_endpoint_answers_over_http() {
    let server = Server::with(Settings { endpoints: &TABLE, ..Settings::default() });
    let (id, key) = server.key(0);
    let ask = |query: &str| server.send("GET", &format!("/v1/height{query}"), &[("X-API-Key", &key)], "");

    let answered = ask("?chain=eth");
    assert_eq!(answered.status, 200);
    assert_eq!(answered.json()["data"], json!({"chain": "ethereum", "height": null}));
    let refused = ask("?chain=solana");
    assert_eq!((refused.status, refused.error().1.as_str()), (400, "unsupported_chain"));
    assert_eq!(ask("").status, 400);
    assert_eq!(server.send("GET", "/v1/height?chain=eth", &[], "").status, 401);

    let document = server.send("GET", "/api-docs/openapi.json", &[], "").json();
    let operation = &document["paths"]["/v1/height"]["get"];
    assert_eq!((&operation["summary"], &operation["x-credit-cost"]), (&json!("Last block of a chain"), &json!(0)));
    assert_eq!(operation["responses"]["200"]["content"]["application/json"]["example"]["data"]["height"], 4);

    // The chains of a plan hold for it, though no plan names it.
    server.admin(|admin| {
        admin.set_plan("narrow", r#"{"chains": ["tron"]}"#)?;
        admin.assign_plan(&id, "narrow")
    });
    within(Duration::from_secs(20), "the plan is known", || ask("?chain=eth").status == 403);
    assert_eq!(ask("?chain=tron").status, 200);
}

#[test]
fn added_endpoint_answers_on_the_command_line() {
    let place = tempfile::tempdir().unwrap();
    let (store, out) = (small_store(place.path()), place.path().join("height.json"));
    let arguments = ["headwater", "query", "height", "--param", "chain=ethereum", "--store", store.to_str().unwrap()];
    let arguments = arguments.into_iter().chain(["--out", out.to_str().unwrap()]);
    assert_eq!(headwater_server::commands::run_with(arguments, &TABLE), 0);
    let answer: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(answer["data"]["chain"], "ethereum");
    assert!(answer["data"]["height"].is_u64(), "{answer}");
}
