//! The other end of a connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The other end of a connection: where it is, and the key that it showed last.
pub(crate) struct Peer {
    address: SocketAddr,
    shown: Mutex<Option<Shown>>,
}

/// A key with its digest.
struct Shown {
    text: Zeroizing<String>,
    digest: [u8; 32],
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peer({})", self.address)
    }
}

impl Peer {
    pub const fn new(address: SocketAddr) -> Self {
        Self { address, shown: Mutex::new(None) }
    }

    /// Its address.
    pub fn ip(&self) -> IpAddr {
        self.address.ip().to_canonical()
    }

    /// The digest of a key, which `make` has to make unless the connection showed the same key last, as nearly all do.
    /// Several clients may share a connection behind a proxy, so the comparison tells none of them of another's key.
    pub fn digest(&self, key: &str, make: impl FnOnce() -> Option<[u8; 32]>) -> Option<[u8; 32]> {
        // No code panics while it holds the lock with half a change done.
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*shown
            && is_same(known.text.as_bytes(), key.as_bytes())
        {
            return Some(known.digest);
        }
        let digest = make()?;
        *shown = Some(Shown { text: Zeroizing::new(key.to_owned()), digest });
        Some(digest)
    }
}

/// Whether two texts are the same, without telling by the time it takes how far they are.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |difference, (one, other)| difference | (one ^ other));
    one.len() == other.len() && difference.ct_eq(&0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_that_was_shown_last_needs_no_digest() {
        let peer = Peer::new(SocketAddr::from(([127, 0, 0, 1], 1)));
        let made = |key: &str, digest: Option<u8>| {
            let mut made = false;
            let found = peer.digest(key, || {
                made = true;
                digest.map(|byte| [byte; 32])
            });
            (found.map(|digest| digest[0]), made)
        };
        assert_eq!(made("a", Some(1)), (Some(1), true));
        assert_eq!(made("a", Some(9)), (Some(1), false));
        assert_eq!(made("b", Some(2)), (Some(2), true));
        assert_eq!(made("no key", None), (None, true));
        assert_eq!(made("bb", None), (None, true));
        assert_eq!(made("b", Some(9)), (Some(2), false));
        assert_eq!(made("a", Some(1)), (Some(1), true));
    }
}
