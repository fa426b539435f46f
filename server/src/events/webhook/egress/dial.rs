//! From a target to a connection: resolve, check every answer, dial what was checked.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::target::{Host, Scope, Target};
use super::{DeliveryError, Egress};

/// Most addresses of a name that are tried.
const TRIED: usize = 4;
/// The time that one address may take while there are others.
const PER_ADDRESS: Duration = Duration::from_secs(5);

/// The answer of a resolver, on its way.
pub type ResolveFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// A resolver of names.
pub trait Resolve: Send + Sync {
    /// All addresses of a name.
    fn resolve<'a>(&'a self, name: &'a str) -> ResolveFuture<'a>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> ResolveFuture<'a> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

impl Egress {
    /// Connects to a target on behalf of an account.
    pub(super) async fn connect(&self, account: i64, target: &Target) -> Result<TcpStream, DeliveryError> {
        let addresses = self.admitted(account, target).await.ok_or(DeliveryError::Unreachable)?;
        for (place, address) in addresses.iter().enumerate() {
            let connecting = TcpStream::connect(SocketAddr::new(*address, target.port));
            let connected = if place + 1 == addresses.len() {
                connecting.await
            } else {
                tokio::time::timeout(PER_ADDRESS, connecting)
                    .await
                    .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            };
            if let Ok(stream) = connected {
                // The request goes out in one piece either way.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
        }
        Err(DeliveryError::Unreachable)
    }

    /// The addresses of a target, when every one of them is admitted.
    async fn admitted(&self, account: i64, target: &Target) -> Option<Vec<IpAddr>> {
        let mut addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let _lookup = self.lookups.turn(account).await;
                // With a dot at its end a name is whole: no search list can lead it into a network of ours.
                let whole = match self.policy.scope {
                    Scope::Public => format!("{name}."),
                    Scope::Local => name.clone(),
                };
                self.resolver.resolve(&whole).await.ok()?
            }
        };
        let own = self.own.load();
        let good = |address: &IpAddr| {
            self.policy.admits(*address) && !own.iter().any(|listener| reaches(*listener, *address, target.port))
        };
        if addresses.is_empty() || !addresses.iter().all(good) {
            return None;
        }
        addresses.truncate(TRIED);
        Some(addresses)
    }

    /// Encrypts a connection.
    pub(super) async fn encrypt(
        &self,
        target: &Target,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, DeliveryError> {
        let name = match &target.host {
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(|_| DeliveryError::TlsFailed)?,
            Host::Address(address) => ServerName::IpAddress((*address).into()),
        };
        self.tls.connect(name, stream).await.map_err(|_| DeliveryError::TlsFailed)
    }
}

/// Returns whether a connection to `address` and `port` would come in at a listener of ours.
fn reaches(listener: SocketAddr, address: IpAddr, port: u16) -> bool {
    listener.port() == port
        && (listener.ip() == address || (listener.ip().is_unspecified() && is_this_machine(address)))
}

/// Returns whether an address is one of this machine: packets to it would come from itself. Nothing is sent to find out.
fn is_this_machine(address: IpAddr) -> bool {
    let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        // Any port does: a datagram socket only looks up the route.
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    address.is_loopback() || source.is_ok_and(|source| source.ip() == address)
}

/// The public authorities, and those that are trusted besides.
pub(super) fn tls_settings(authorities: Vec<CertificateDer<'static>>) -> ClientConfig {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    roots.add_parsable_certificates(authorities);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut settings = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    settings.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Deliveries to one receiver are seldom enough that what sessions would keep is not worth its memory.
    settings.resumption = rustls::client::Resumption::in_memory_sessions(64);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_listeners_are_known_under_every_address_of_the_machine() {
        let any: SocketAddr = "0.0.0.0:8080".parse().unwrap();
        for address in ["127.0.0.1", "127.9.9.9"] {
            assert!(reaches(any, address.parse().unwrap(), 8080), "{address}");
            assert!(!reaches(any, address.parse().unwrap(), 8081), "{address}");
        }
        let one: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        assert!(reaches(one, "127.0.0.1".parse().unwrap(), 8080));
        assert!(!reaches(one, "127.0.0.2".parse().unwrap(), 8080));
    }
}
