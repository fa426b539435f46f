//! Every route against everybody who must not come in, from the tables of routes.

use headwater_engine::ENDPOINTS;
use serde_json::{Value, json};

use crate::support::{QUIET, Server};
use headwater_state::Expiry;

#[test]
fn nothing_of_the_admin_listener_is_on_the_public_port() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    let (id, key) = server.key(10);
    let mut asked = 0;
    for path in headwater_server::admin::PATHS {
        let path = path.replace("{id}", &id).replace("{name}", "default");
        for method in ["GET", "POST", "PUT", "DELETE"] {
            for headers in [vec![], vec![("X-Admin-Key", admin.as_str())], vec![("X-API-Key", key.as_str())]] {
                let reply = server.send(method, &path, &headers, "");
                assert_eq!((reply.status, reply.error().0.as_str()), (404, "not_found"), "{method} {path}");
                asked += 1;
            }
        }
    }
    let document = headwater_server::routes::document(headwater_engine::ENDPOINTS).to_string();
    assert!(!document.contains("/admin") && !document.contains("X-Admin-Key") && !document.contains("/metrics"));
    println!("{asked} requests for admin routes on the public port: all 404");
}

#[test]
fn every_admin_route_needs_an_admin_key_that_is_good() {
    let server = Server::start();
    let (revoked_id, revoked) = server.admin_key();
    server.admin(|admin| admin.revoke_admin(&revoked_id));
    let (id, key) = server.key(10);
    let mut asked = 0;
    for path in headwater_server::admin::PATHS {
        let path = path.replace("{id}", &id).replace("{name}", "default");
        for method in ["GET", "POST", "PUT", "DELETE"] {
            for shown in ["", &key, &revoked] {
                let reply = server.ask_admin(method, &path, shown, "");
                // 405 says nothing but that the path exists; 429 comes when there were too many.
                assert!(matches!(reply.status, 401 | 405 | 429), "{method} {path} with {shown:?}: {}", reply.status);
                assert!(!reply.error().0.is_empty());
                asked += 1;
            }
        }
    }
    assert_eq!(server.count("SELECT count(*) FROM api_key WHERE revoked_at IS NOT NULL OR rotated_to IS NOT NULL"), 0);
    assert_eq!(server.count("SELECT count(*) FROM admin_audit WHERE actor LIKE 'admin:%'"), 0);
    println!("{asked} requests to admin routes without a good key: none let through");
}

/// Every route of the description that needs a key, as method and path.
fn guarded_routes() -> Vec<(String, String)> {
    let document = headwater_server::routes::document(headwater_engine::ENDPOINTS);
    let mut routes = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.replace("{hash}", &format!("0x{:064x}", 1));
        let path = path.replace("{id}", "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b");
        for (method, operation) in operations.as_object().unwrap() {
            let open = operation["security"].as_array().is_some_and(|ways| ways.iter().any(|way| *way == json!({})));
            if !open {
                routes.push((method.to_uppercase(), path.clone()));
            }
        }
    }
    assert!(routes.len() > ENDPOINTS.len(), "{}", routes.len());
    routes
}

#[test]
fn every_data_route_needs_a_key_that_is_good() {
    let server = Server::start();
    let (revoked_id, revoked) = server.key(1000);
    server.admin(|admin| admin.revoke_key(&revoked_id));
    let (_, admin) = server.admin_key();
    let (other_id, other) = server.key(1000);
    let expired = server.admin(|admin| admin.rotate_key(&other_id, 0, Expiry::Inherited)).key.expose().to_owned();
    crate::support::within(std::time::Duration::from_secs(5), "all keys are as they are now", || {
        server.send("GET", "/v1/chains", &[("X-API-Key", &expired)], "").status == 200
    });
    let mut asked = 0;
    for (method, path) in guarded_routes() {
        let body = if method == "GET" { "" } else { QUIET };
        for shown in [None, Some(""), Some("hw_live_x"), Some(revoked.as_str()), Some(&admin), Some(&other)] {
            let mut headers = vec![("Content-Type", "application/json")];
            headers.extend(shown.map(|key| ("X-API-Key", key)));
            let reply = server.send(&method, &path, &headers, body);
            let refused = (401, "unauthorized");
            assert_eq!((reply.status, reply.error().0.as_str()), refused, "{method} {path} with {shown:?}");
            assert!(reply.json()["data"] == Value::Null && reply.header("x-credit-remaining").is_empty());
            asked += 1;
        }
    }
    assert_eq!(server.count("SELECT count(*) FROM credit_ledger WHERE kind = 'charge'"), 0);
    println!("{asked} requests to data routes without a good key: let through 0");
}
