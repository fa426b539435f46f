//! Admission: bounds of heads, numbers of connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use headwater_server::gateway::{ListenerConfig, Settings};

use crate::support::{Client, Reply, Server, within};

#[test]
fn long_head_is_refused_with_an_error_body_on_every_route() {
    let server = Server::start();
    let long = "x".repeat(900);
    let many: Vec<(String, &str)> = (0..70).map(|line| (format!("X-Line-{line}"), "1")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let large: Vec<(String, &str)> = (0..20).map(|line| (format!("X-Line-{line}"), long.as_str())).collect();
    let large: Vec<(&str, &str)> = large.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let fits: Vec<_> = many.iter().take(60).copied().collect();
    let (public, admin) = (server.address, server.admin);
    for (address, paths) in [
        (public, ["/healthz", "/v1/chains", "/nothing", "/docs"]),
        (admin, ["/healthz", "/admin/v1/keys", "/nothing", "/metrics"]),
    ] {
        let ask = |path: &str, headers: &[(&str, &str)]| {
            Client::connect(address).unwrap().send("GET", path, headers, b"").unwrap()
        };
        for path in paths {
            let url = format!("{path}?q={}", "x".repeat(9000));
            for (reply, limit) in [(ask(&url, &[]), 8192), (ask(path, &many), 64), (ask(path, &large), 16384)] {
                let expected = (400, ("bad_request".into(), "invalid_value".into()));
                assert_eq!((reply.status, reply.error()), expected, "{path}");
                assert_eq!(reply.json()["error"]["details"]["limit"], limit);
            }
        }
        assert_eq!(ask("/healthz", &fits).status, 200);
    }
}

#[test]
fn unbounded_head_ends_with_json_or_silence() {
    let server = Server::start();
    for address in [server.address, server.admin] {
        let mut client = Client::connect(address).unwrap();
        client.raw(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ");
        for _ in 0..100 {
            client.raw(&[b'x'; 1024]);
        }
        is_refused(&client.read(false).unwrap(), "a head of 100 KiB");
        assert_eq!(health(address).unwrap(), 200);
    }
}

#[test]
fn what_cannot_be_read_as_a_request_is_answered_as_any_error_is() {
    let server = Server::start();
    let many = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", "X-One: 1\r\n".repeat(200));
    let unreadable = [
        "\x16\x03\x01\x02\x00\r\n\r\n",
        "GET /\r\n\r\n",
        "GET /healthz HTTP/9.9\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nno header\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX-One: \x01\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        many.as_str(),
    ];
    for address in [server.address, server.admin] {
        for head in unreadable {
            let mut client = Client::connect(address).unwrap();
            client.raw(head.as_bytes());
            is_refused(&client.read(false).unwrap(), head);
            assert!(client.read(false).is_err(), "{head:?}: the connection ends");
            // Behind an answer of its own, what follows is told apart from it.
            let mut client = Client::connect(address).unwrap();
            client.raw(format!("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n{head}").as_bytes());
            assert_eq!(client.read(false).unwrap().status, 404);
            is_refused(&client.read(false).unwrap(), head);
        }
    }
}

#[test]
fn a_request_of_http_1_1_names_its_host_once() {
    let server = Server::start();
    for address in [server.address, server.admin] {
        for (head, status) in [
            ("GET /healthz HTTP/1.1\r\n\r\n", 400),
            ("GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
            ("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 200),
            ("GET /healthz HTTP/1.0\r\n\r\n", 200),
        ] {
            let mut client = Client::connect(address).unwrap();
            client.raw(head.as_bytes());
            let reply = client.read(false).unwrap();
            assert_eq!(reply.status, status, "{head:?}");
            if status == 400 {
                is_refused(&reply, head);
            }
        }
    }
}

fn is_refused(reply: &Reply, head: &str) {
    let expected = (400, ("bad_request".to_owned(), "invalid_value".to_owned()));
    assert_eq!((reply.status, reply.error()), expected, "{head:?}");
    assert_eq!((reply.headers["x-request-id"].len(), reply.headers["x-credit-cost"].as_str()), (36, "0"));
}

fn health(address: SocketAddr) -> io::Result<u16> {
    Client::connect(address)?.send("GET", "/healthz", &[], b"").map(|reply| reply.status)
}

#[test]
fn connections_beyond_the_maximum_are_closed() {
    let server = Server::on(ListenerConfig { connections: 3, ..ListenerConfig::default() }, Settings::default());
    for address in [server.address, server.admin] {
        let mut kept: Vec<Client> = (0..3).map(|_| Client::connect(address).unwrap()).collect();
        for client in &mut kept {
            assert_eq!(client.send("GET", "/healthz", &[], b"").unwrap().status, 200);
        }
        assert!(health(address).is_err());
        assert_eq!(kept[0].send("GET", "/healthz", &[], b"").unwrap().status, 200);
        kept.pop();
        within(Duration::from_secs(20), "the place is free", || health(address).is_ok_and(|status| status == 200));
    }
}

#[test]
fn large_admin_body_is_refused_and_the_error_arrives() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    for body in [vec![b' '; 3 << 20], b"{".repeat(1000), b"[".repeat(100_000)] {
        let headers = [("X-Admin-Key", admin.as_str()), ("Content-Type", "application/json")];
        let mut client = Client::connect(server.admin).unwrap();
        let reply = client.send("POST", "/admin/v1/keys", &headers, &body).unwrap();
        assert!(matches!(reply.status, 400 | 413), "{}", reply.status);
        assert!(["invalid_json", "payload_too_large"].contains(&reply.error().1.as_str()));
    }
    assert_eq!(server.count("SELECT count(*) FROM api_key"), 0);
}
