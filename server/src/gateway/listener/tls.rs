//! TLS with a certificate that may be replaced while connections are open.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The interval at which the files are looked at.
const LOOK: Duration = Duration::from_secs(3);

/// The reason why a certificate cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("cannot read {what} from {}", path.display())]
    Pem {
        /// The item that was looked for.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The fault.
        #[source]
        source: pem::Error,
    },
    /// There is no certificate in the file.
    #[error("{} holds no certificate: PEM blocks named CERTIFICATE are expected, the server's own first", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// Certificate and key do not make a server.
    #[error("the certificate {} cannot be served with the key {}", certificate.display(), key.display())]
    Unfit {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// The reason.
        #[source]
        source: rustls::Error,
    },
}

/// A certificate with its key, read from two files in PEM.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<ServerConfig>,
    seen: Mutex<Stamp>,
}

/// The stamp of a state of the two files.
type Stamp = [Option<(SystemTime, u64)>; 2];

impl Tls {
    /// Reads certificate and key.
    ///
    /// # Errors
    /// When a file cannot be read, or the two do not fit together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        // Before the files, so that a change while they are read is seen as one later.
        let seen = Mutex::new(stamp(certificate, key));
        let current = ArcSwap::from_pointee(read(certificate, key)?);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), current, seen })
    }

    /// From when to when a certificate is valid, in Unix seconds; `None` where it does not say so in a way that is known.
    ///
    /// # Errors
    /// When the file cannot be read, or holds none.
    pub fn validity(certificate: &Path) -> Result<Option<RangeInclusive<i64>>, TlsError> {
        let chain = chain(certificate)?;
        let Ok(first) = Certificate::from_der(&chain[0]) else { return Ok(None) };
        let valid = first.tbs_certificate.validity;
        let [from, to] = [valid.not_before, valid.not_after].map(|time| time.to_unix_duration().as_secs());
        Ok(i64::try_from(from).ok().zip(i64::try_from(to).ok()).map(|(from, to)| from..=to))
    }

    /// Accepts connections under the certificate of this moment.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }

    /// Reads the files again. Connections that are open keep the certificate that they began with.
    ///
    /// # Errors
    /// When the files cannot be served; the certificate so far stays then.
    pub fn reload(&self) -> Result<(), TlsError> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = stamp(&self.certificate, &self.key);
        self.current.store(Arc::new(read(&self.certificate, &self.key)?));
        Ok(())
    }

    fn has_changed(&self) -> bool {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) != stamp(&self.certificate, &self.key)
    }

    /// Reloads on SIGHUP and when a file changes, for as long as it is polled.
    pub(super) async fn follow(&self) {
        let mut look = tokio::time::interval(LOOK);
        let hangup = tokio::signal::unix::SignalKind::hangup();
        let mut hangups = match tokio::signal::unix::signal(hangup) {
            Ok(hangups) => Some(hangups),
            Err(error) => {
                tracing::warn!(%error, "SIGHUP cannot be heard: a changed certificate is seen within seconds all the same");
                None
            }
        };
        loop {
            let asked = async {
                match &mut hangups {
                    Some(hangups) => hangups.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = asked => {}
                _ = look.tick() => if !self.has_changed() { continue },
            }
            match self.reload() {
                Ok(()) => tracing::info!(certificate = %self.certificate.display(), "the certificate was read anew"),
                Err(error) => {
                    let error = headwater_state::causes(&error);
                    tracing::error!(error, "the new certificate is not taken: the one so far is served on");
                }
            }
        }
    }
}

fn stamp(certificate: &Path, key: &Path) -> Stamp {
    [certificate, key].map(|path| {
        let facts = std::fs::metadata(path).ok()?;
        Some((facts.modified().ok()?, facts.len()))
    })
}

fn unread(what: &'static str, path: &Path) -> impl FnOnce(pem::Error) -> TlsError {
    move |source| TlsError::Pem { what, path: path.to_owned(), source }
}

/// The server's own certificate, and those that vouch for it.
fn chain(certificate: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(unread("a certificate", certificate))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: certificate.to_owned() });
    }
    Ok(chain)
}

fn read(certificate: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let chain = chain(certificate)?;
    let now = headwater_state::now_ms() / 1000;
    if Tls::validity(certificate)?.is_some_and(|valid| !valid.contains(&now)) {
        let certificate = certificate.display();
        tracing::warn!(%certificate, "the certificate has ended or not begun: clients will refuse it");
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(unread("a private key", key))?;
    let unfit = |source| TlsError::Unfit { certificate: certificate.to_owned(), key: key.to_owned(), source };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unfit)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unfit)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
