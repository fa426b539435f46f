//! TLS, and a certificate that is replaced under way.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::support::{Client, Process, run, small_store, within};

type Connection = StreamOwned<ClientConnection, TcpStream>;

/// Writes a new certificate and its key.
fn make(place: &Path) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (place.join("server.pem"), place.join("server.key"));
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::write(&certificate, made.cert.pem()).unwrap();
    (certificate, key)
}

/// Connects and trusts nothing but this certificate.
fn connect(address: SocketAddr, certificate: &Path, protocol: &str) -> std::io::Result<Connection> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let mut tls = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    tls.complete_io(&mut stream)?;
    Ok(StreamOwned::new(tls, stream))
}

/// Returns whether a request is answered on the connection.
fn is_answered(connection: &mut Connection) -> bool {
    connection.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut read = [0; 4096];
    let length = connection.read(&mut read).unwrap();
    read[..length].starts_with(b"HTTP/1.1 200 OK")
}

fn start(store: &Path, certificate: &Path, key: &Path, more: &[&str]) -> Process {
    let set = |name: &str, path: &Path| format!("server.{name}={}", path.display());
    let (certificate, key) = (set("tls_cert", certificate), set("tls_key", key));
    Process::start(store, &[&["--set", &certificate, "--set", &key][..], more].concat())
}

#[test]
fn tls_is_spoken_with_both_protocols_and_nothing_in_clear() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let (certificate, key) = make(place.path());
    let server = start(&store, &certificate, &key, &[]);
    let mut connection = connect(server.address, &certificate, "http/1.1").unwrap();
    assert!(is_answered(&mut connection) && is_answered(&mut connection));
    let two = connect(server.address, &certificate, "h2").unwrap();
    assert_eq!(two.conn.alpn_protocol(), Some(&b"h2"[..]));
    assert!(server.client().unwrap().send("GET", "/healthz", &[], b"").is_err());
}

#[test]
fn admin_listener_needs_tls_only_if_others_reach_it() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let (certificate, key) = make(place.path());
    let open = start(&store, &certificate, &key, &["--admin-listen", "0.0.0.0:0"]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, open.admin.unwrap().port()));
    let mut connection = connect(address, &certificate, "http/1.1").unwrap();
    assert!(is_answered(&mut connection));
    assert!(Client::connect(address).unwrap().send("GET", "/healthz", &[], b"").is_err());
    let closed = start(&store, &certificate, &key, &[]);
    let mut client = Client::connect(closed.admin.unwrap()).unwrap();
    assert_eq!(client.send("GET", "/healthz", &[], b"").unwrap().status, 200);
}

#[test]
fn new_certificate_is_served_without_a_restart() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let (certificate, key) = make(place.path());
    let first = place.path().join("first.pem");
    fs::copy(&certificate, &first).unwrap();
    let server = start(&store, &certificate, &key, &[]);
    let mut open = connect(server.address, &first, "http/1.1").unwrap();
    assert!(is_answered(&mut open));

    fs::write(&certificate, "no PEM").unwrap();
    let hangup = || assert!(Command::new("kill").args(["-HUP", &server.id().to_string()]).status().unwrap().success());
    hangup();
    std::thread::sleep(Duration::from_millis(300));
    assert!(connect(server.address, &first, "http/1.1").is_ok(), "a bad file leaves the good certificate");

    make(place.path());
    hangup();
    within(Duration::from_secs(5), "SIGHUP brings the new certificate", || {
        connect(server.address, &certificate, "http/1.1").is_ok()
    });
    assert!(connect(server.address, &first, "http/1.1").is_err());
    assert!(is_answered(&mut open), "an open connection stays");

    make(place.path());
    within(Duration::from_secs(20), "a changed file is seen by itself", || {
        connect(server.address, &certificate, "http/1.1").is_ok()
    });
    assert!(is_answered(&mut open), "an open connection stays");
}

#[test]
fn bad_certificate_is_refused_at_start_with_its_file() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let (certificate, _) = make(place.path());
    let other = tempfile::tempdir().unwrap();
    let (_, other_key) = make(other.path());
    for (more, named) in [
        (vec![("tls_cert", certificate.as_path())], "server.tls_key"),
        (vec![("tls_cert", &certificate), ("tls_key", &other_key)], "server.pem"),
        (vec![("tls_cert", &certificate), ("tls_key", Path::new("/nowhere/server.key"))], "/nowhere/server.key"),
    ] {
        let sets: Vec<String> = more.iter().map(|(name, path)| format!("server.{name}={}", path.display())).collect();
        let mut arguments = vec!["serve", "--store", store.to_str().unwrap(), "--listen", "127.0.0.1:0"];
        arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
        let output = run(&arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(named), "{said}");
    }
}
