//! The secrets of the state, each in a file of 32 bytes with mode 0600: the pepper of the keys, and the master key that
//! webhook secrets are sealed under.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use super::{Pepper, StateError};

/// File of the pepper.
pub(super) const PEPPER: &str = "key.pepper";
/// File of the master key.
pub(super) const MASTER: &str = "master.key";

const NONCE: usize = 24;

/// Counts the drafts of this process.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// Seals what is needed in clear again: XChaCha20-Poly1305 under a random nonce that is before the sealed bytes.
#[derive(Clone)]
pub struct Master([u8; 32]);

impl fmt::Debug for Master {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Master(..)")
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Master {
    /// Seals bytes.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn seal(&self, secret: &[u8]) -> Result<Vec<u8>, StateError> {
        let mut nonce = [0_u8; NONCE];
        getrandom::fill(&mut nonce)?;
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), secret).map_err(|_| StateError::Unsealed)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Opens what was sealed.
    ///
    /// # Errors
    /// When it was sealed under another key, or changed since.
    pub fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, StateError> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or(StateError::Unsealed)?;
        self.cipher().decrypt(&XNonce::from(*nonce), sealed).map_err(|_| StateError::Unsealed)
    }

    /// The secret itself, for a backup.
    pub(super) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest by which the database recognises its key.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        Sha256::new().chain_update(b"headwater master fingerprint").chain_update(self.0).finalize().into()
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

/// Makes the secrets of a new state; those that are there stay.
///
/// # Errors
/// When they cannot be written.
pub fn make(folder: &Path) -> Result<(), StateError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(io_error("cannot make the folder", folder))?;
    make_one(folder, PEPPER)?;
    make_one(folder, MASTER)
}

pub(super) fn pepper(folder: &Path) -> Result<Pepper, StateError> {
    read(folder, PEPPER).map(Pepper::new)
}

pub(super) fn master(folder: &Path) -> Result<Master, StateError> {
    read(folder, MASTER).map(Master)
}

fn read(folder: &Path, name: &str) -> Result<[u8; 32], StateError> {
    let path = folder.join(name);
    let mut bytes = fs::read(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StateError::MissingSecret { path: path.clone() },
        _ => io_error("cannot read", &path)(source),
    })?;
    let mode = fs::metadata(&path).map_err(io_error("cannot read", &path))?.permissions().mode();
    if mode & 0o077 != 0 {
        let path = path.display();
        match fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)) {
            Ok(()) => tracing::warn!(%path, "others than the owner could read a secret; its mode is 0600 now"),
            // Credentials of the operating system lie where nothing can be changed, and show the rights of a list besides.
            Err(error) => tracing::warn!(%path, %error, "others than the owner may read a secret, and its mode stays"),
        }
    }
    let found = bytes.len();
    let secret = <[u8; 32]>::try_from(bytes.as_slice()).map_err(|_| StateError::BadSecret { path, found });
    bytes.zeroize();
    secret
}

/// Two processes may come here at once: a hard link is made by one of them only, and the other reads what is there.
fn make_one(folder: &Path, name: &str) -> Result<(), StateError> {
    let path = folder.join(name);
    if path.exists() {
        return Ok(());
    }
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    let written = put(folder, name, &bytes);
    bytes.zeroize();
    written
}

/// Writes a secret, unless there is one already.
pub(super) fn put(folder: &Path, name: &str, bytes: &[u8; 32]) -> Result<(), StateError> {
    let path = folder.join(name);
    // Its own, whoever else makes one at the same time, in this process or another.
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!("{name}.{}.{number}", std::process::id()));
    let written = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    let linked = written.and_then(|()| match fs::hard_link(&draft, &path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    });
    let synced = linked.and_then(|()| fs::File::open(folder)?.sync_all());
    // A draft that stays behind is harmless: the next one of this process id writes over it.
    let _ = fs::remove_file(&draft);
    synced.map_err(io_error("cannot write", &path))
}

pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateError + use<> {
    let path = path.to_owned();
    move |source| StateError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_under_its_key_only_and_never_changed() {
        let (ours, theirs) = (Master([7; 32]), Master([8; 32]));
        let sealed = ours.seal(b"whsec").unwrap();
        assert_eq!(ours.open(&sealed).unwrap(), b"whsec");
        assert_ne!(sealed, ours.seal(b"whsec").unwrap(), "a nonce is never used twice");
        assert!(theirs.open(&sealed).is_err());
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(ours.open(&changed).is_err(), "byte {place}");
        }
        assert!(ours.open(&sealed[..10]).is_err());
        assert_eq!(format!("{ours:?}"), "Master(..)");
    }
}
