//! Certificates of authorities that an operator trusts besides the public ones.

use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

/// The reason why a file of authorities is not valid.
#[derive(Debug, thiserror::Error)]
pub enum AuthoritiesError {
    /// It cannot be read, or is not PEM.
    #[error("cannot read the authorities of webhooks.authorities from {}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The fault.
        #[source]
        source: pem::Error,
    },
    /// There is no certificate in it.
    #[error("{} (webhooks.authorities) holds no certificate: PEM blocks named CERTIFICATE are expected", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// One of them cannot be an authority.
    #[error("certificate {number} of {} (webhooks.authorities) cannot be trusted as an authority", path.display())]
    Unfit {
        /// Its place in the file, from 1.
        number: usize,
        /// The file.
        path: PathBuf,
        /// The fault.
        #[source]
        source: rustls::Error,
    },
}

/// Reads a PEM file of authorities.
///
/// # Errors
/// When it cannot be read, or one of its certificates is not valid.
pub fn authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, AuthoritiesError> {
    let failed = |source| AuthoritiesError::Pem { path: path.to_owned(), source };
    let read: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(path).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    if read.is_empty() {
        return Err(AuthoritiesError::NoCertificate { path: path.to_owned() });
    }
    let mut roots = RootCertStore::empty();
    for (place, certificate) in read.iter().enumerate() {
        let added = roots.add(certificate.clone());
        added.map_err(|source| AuthoritiesError::Unfit { number: place + 1, path: path.to_owned(), source })?;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_authority_is_refused_by_name() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ca.pem");
        assert!(matches!(authorities(&path), Err(AuthoritiesError::Pem { .. })));
        std::fs::write(&path, "nothing\n").unwrap();
        assert!(matches!(authorities(&path), Err(AuthoritiesError::NoCertificate { .. })));
        std::fs::write(&path, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        assert!(matches!(authorities(&path), Err(AuthoritiesError::Unfit { number: 1, .. })));
        let made = rcgen::generate_simple_self_signed(vec!["hooks.test".to_owned()]).unwrap();
        std::fs::write(&path, made.cert.pem()).unwrap();
        assert_eq!(authorities(&path).unwrap().len(), 1);
    }
}
