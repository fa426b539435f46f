//! Who is let in: bounds of heads, numbers of connections.

use std::time::Duration;

use headwater_server::gateway::{Settings, Terms};

use crate::support::{Client, Server, within};

#[test]
fn a_head_that_is_too_long_is_refused_in_our_own_words_on_every_route() {
    let server = Server::start();
    let long = "x".repeat(900);
    let many: Vec<(String, &str)> = (0..70).map(|line| (format!("X-Line-{line}"), "1")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let large: Vec<(String, &str)> = (0..20).map(|line| (format!("X-Line-{line}"), long.as_str())).collect();
    let large: Vec<(&str, &str)> = large.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    for path in ["/healthz", "/v1/chains", "/nothing", "/docs"] {
        let url = format!("{path}?q={}", "x".repeat(9000));
        for (reply, limit) in [
            (server.send("GET", &url, &[], ""), 8192),
            (server.send("GET", path, &many, ""), 64),
            (server.send("GET", path, &large, ""), 16384),
        ] {
            assert_eq!((reply.status, reply.error()), (400, ("bad_request".into(), "invalid_value".into())), "{path}");
            assert_eq!(reply.json()["error"]["details"]["limit"], limit);
        }
    }
    let fits: Vec<_> = many.iter().take(60).copied().collect();
    assert_eq!(server.send("GET", "/healthz", &fits, "").status, 200);
}

#[test]
fn a_head_beyond_all_bounds_ends_without_a_word_that_is_not_json() {
    let server = Server::start();
    let mut client = server.client();
    client.raw(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ");
    for _ in 0..100 {
        client.raw(&[b'x'; 1024]);
    }
    if let Ok(reply) = client.read(false) {
        assert!(matches!(reply.status, 400 | 431) && reply.body.is_empty(), "{reply:?}");
    }
    assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
}

#[test]
fn connections_beyond_the_most_are_closed_and_a_place_that_is_left_is_free_again() {
    let server = Server::on(Terms { connections: 3, ..Terms::default() }, Settings::default());
    let mut kept: Vec<Client> = (0..3).map(|_| server.client()).collect();
    for client in &mut kept {
        assert_eq!(client.send("GET", "/healthz", &[], b"").unwrap().status, 200);
    }
    let asked = |server: &Server| server.client().send("GET", "/healthz", &[], b"").map(|reply| reply.status);
    assert!(asked(&server).is_err());
    assert_eq!(kept[0].send("GET", "/healthz", &[], b"").unwrap().status, 200);
    kept.pop();
    within(Duration::from_secs(2), "the place is free", || asked(&server).is_ok_and(|status| status == 200));
}
