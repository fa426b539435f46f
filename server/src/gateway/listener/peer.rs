//! The other end of a connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::gateway::arguments::Read;
use crate::state::{Book, Caller, Refusal};

/// The other end of a connection: where it is, and what it showed and asked last. Most show the same key each time, and
/// many ask the same thing again and again.
pub(crate) struct Peer {
    address: SocketAddr,
    shown: Mutex<Option<Shown>>,
    asked: Mutex<Option<Arc<Read>>>,
}

/// A key, and who holds it.
struct Shown {
    text: Zeroizing<String>,
    digest: [u8; 32],
    /// Found in this edition of the keys.
    edition: u64,
    holder: Arc<Caller>,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peer({})", self.address)
    }
}

impl Peer {
    pub const fn new(address: SocketAddr) -> Self {
        Self { address, shown: Mutex::new(None), asked: Mutex::new(None) }
    }

    /// Its address.
    pub fn ip(&self) -> IpAddr {
        self.address.ip().to_canonical()
    }

    /// What it asked last, if it is that.
    pub(in crate::gateway) fn asked(&self, is_it: impl FnOnce(&Read) -> bool) -> Option<Arc<Read>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).as_ref().filter(|read| is_it(read)).cloned()
    }

    /// Remembers what it asks.
    pub(in crate::gateway) fn ask(&self, read: Arc<Read>) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
    }

    /// Who holds a key. Nothing is looked up for the one that the connection showed last, as nearly all do, unless keys
    /// were changed since. Several clients may share a connection behind a proxy, so the comparison tells none of them
    /// of another's key.
    ///
    /// # Errors
    /// As [`Book::identify`].
    pub fn holder(&self, key: &str, book: &Book, now_secs: i64) -> Result<Arc<Caller>, Refusal> {
        // No code panics while it holds the lock with half a change done.
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the look, so that what is changed meanwhile is looked for once more.
        let edition = book.edition();
        let known = shown.as_ref().filter(|known| is_same(known.text.as_bytes(), key.as_bytes()));
        let digest = match known {
            Some(known) if known.edition == edition => {
                book.check(&known.holder, now_secs)?;
                return Ok(Arc::clone(&known.holder));
            }
            Some(known) => known.digest,
            None => book.digest(key).ok_or(Refusal::Malformed)?,
        };
        let holder = Arc::new(book.holder_of(&digest, now_secs)?);
        let text = Zeroizing::new(key.to_owned());
        *shown = Some(Shown { text, digest, edition, holder: Arc::clone(&holder) });
        Ok(holder)
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
    use crate::state::{Environment, Home, KeyId, KeyText, Options, State};

    #[test]
    fn a_key_that_was_shown_last_is_found_again_until_it_is_changed() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let made = |name| home.office("t", |office| office.create_key(name, Environment::Live, 5, None)).unwrap();
        let (one, other) = (made("one"), made("other"));
        let state = State::start(&home, Options::default(), Box::new(|| ())).unwrap();
        let (book, peer) = (state.book(), Peer::new(SocketAddr::from(([127, 0, 0, 1], 1))));
        let shows = |key: &str| peer.holder(key, book, 0).map(|caller| caller.key_id());
        let (id, key) = (KeyId::from(&one.id).unwrap(), one.key.expose());
        let first = peer.holder(key, book, 0).unwrap();
        assert!(Arc::ptr_eq(&first, &peer.holder(key, book, 0).unwrap()), "it was looked up once");
        assert_eq!(shows(other.key.expose()).unwrap().as_str(), other.id);
        assert_eq!(shows(key), Ok(id));
        let wrong = KeyText::generate(Environment::Live).unwrap();
        for (shown, refused) in
            [("", Refusal::Malformed), (&key[1..], Refusal::Malformed), (wrong.expose(), Refusal::Unknown)]
        {
            assert_eq!(shows(shown), Err(refused));
            assert_eq!(shows(key), Ok(id));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let revoked = one.id.clone();
        runtime.block_on(state.office("t", move |office| office.revoke_key(&revoked))).unwrap();
        assert_eq!(shows(key), Err(Refusal::Revoked));
        assert_eq!(shows(key), Err(Refusal::Revoked));
        assert_eq!(shows(other.key.expose()).unwrap().as_str(), other.id);
    }

    #[test]
    fn texts_are_the_same_or_not() {
        for (one, other) in [("", ""), ("a", "a"), ("a", "b"), ("a", "ab"), ("ab", "a"), ("", "a")] {
            assert_eq!(is_same(one.as_bytes(), other.as_bytes()), one == other);
        }
    }
}
