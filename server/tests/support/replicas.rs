//! Several servers on one store and one PostgreSQL.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

use headwater_state::{Environment, Home};

use super::postgres::Postgres;
use super::{Process, within};

/// Servers that share a state.
pub struct Replicas {
    pub home: Home,
    pub servers: Vec<Process>,
    secrets: PathBuf,
    /// Stops behind them.
    _postgres: Postgres,
    store: PathBuf,
    url: String,
    settings: Vec<String>,
}

impl Replicas {
    /// Starts so many on a store, each with the same settings.
    pub fn start(count: usize, store: &Path, settings: &[&str]) -> Self {
        Self::through(count, store, settings, |_| None)
    }

    /// The same, where the servers reach the database at another address than the test does.
    pub fn through(
        count: usize,
        store: &Path,
        settings: &[&str],
        way: impl FnOnce(&Postgres) -> Option<SocketAddr>,
    ) -> Self {
        let postgres = Postgres::start();
        let secrets = store.with_file_name("secrets");
        let home = postgres.home(&secrets);
        let url = way(&postgres).map_or_else(
            || postgres.url(),
            // Without TLS, so that what lies between can read it.
            |address| format!("postgres://headwater@{address}/postgres?sslmode=disable"),
        );
        let settings = settings.iter().map(|&text| text.to_owned()).collect();
        let mut replicas =
            Self { _postgres: postgres, home, servers: Vec::new(), secrets, store: store.to_owned(), url, settings };
        replicas.servers = (0..count).map(|_| replicas.serve()).collect();
        replicas
    }

    /// One more.
    pub fn serve(&self) -> Process {
        let mut arguments = vec!["--state", &self.url, "--secrets-dir", self.secrets.to_str().unwrap()];
        arguments.extend(self.settings.iter().map(String::as_str));
        Process::start(&self.store, &arguments)
    }

    /// kill -9 of one, and another in its place.
    pub fn replace(&mut self, number: usize) {
        self.servers[number].kill();
        self.servers[number] = self.serve();
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(|server| server.address).collect()
    }

    /// Makes a key that all know; gives its id and text.
    pub fn key(&self) -> (String, String) {
        let made = self.home.admin("test", |admin| admin.create_key("test", Environment::Live, 0, None)).unwrap();
        let key = made.key.expose().to_owned();
        within(std::time::Duration::from_secs(10), "the key is known to all", || {
            self.servers.iter().all(|server| {
                let headers = [("X-API-Key", key.as_str())];
                server.client().unwrap().send("GET", "/v1/chains", &headers, b"").unwrap().status == 200
            })
        });
        (made.id, key)
    }
}

/// A proxy before a PostgreSQL that lets everything through but notifications.
pub fn without_notifications(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(to) else { continue };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (mut up, mut down) = ((client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client));
            thread::spawn(move || {
                let _ = std::io::copy(&mut up.0, &mut up.1);
                let _ = up.1.shutdown(Shutdown::Both);
            });
            thread::spawn(move || {
                while let Ok(()) = pass(&mut down.0, &mut down.1) {}
                let _ = down.1.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

/// One message of the server: a letter, then a length that counts itself.
fn pass(from: &mut TcpStream, to: &mut TcpStream) -> std::io::Result<()> {
    const NOTIFICATION: u8 = b'A';
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut message = head.to_vec();
    message.resize(1 + length as usize, 0);
    from.read_exact(&mut message[5..])?;
    if head[0] == NOTIFICATION { Ok(()) } else { to.write_all(&message) }
}
