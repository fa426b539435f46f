//! Tickets for browsers, which cannot send a key in a header: one connection each, within 30 seconds. They are kept in
//! the state, so that one which a replica gave is good at every other, and used up for all of them at once.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use headwater_state::{Pepper, StateError, Tx};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The lifetime of a ticket.
const LIFE_MS: i64 = 30_000;
/// Tickets that one key may hold at a time.
const PER_KEY: i64 = 100;
/// Rows that are removed in one go.
const PRUNED: i64 = 1000;
/// Random bytes of a ticket.
const RANDOM: usize = 24;
/// Bytes behind them by which the service recognises its own, so that what somebody made up costs no look-up.
const MARK: usize = 8;

/// A ticket by its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    text: String,
}

impl Ticket {
    /// A new one.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn generate(pepper: &Pepper) -> Result<Self, StateError> {
        let mut bytes = [0; RANDOM + MARK];
        let (random, mark) = bytes.split_at_mut(RANDOM);
        getrandom::fill(random)?;
        mark.copy_from_slice(&mark_of(pepper, random)[..MARK]);
        Ok(Self { text: BASE64_URL_SAFE_NO_PAD.encode(bytes) })
    }

    /// Reads one; `None` for what was never given.
    pub fn parse(pepper: &Pepper, text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() == RANDOM + MARK)?;
        let (random, mark) = bytes.split_at(RANDOM);
        let ours = bool::from(mark_of(pepper, random)[..MARK].ct_eq(mark));
        ours.then(|| Self { text: text.to_owned() })
    }

    /// Returns the text for the client that asked for it.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Returns what is kept of it: looking it up takes no longer the more of it is right, and a stolen copy opens
    /// nothing.
    fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// Gives it to a key; when it expires, or `None` where the key holds too many that were not used.
    ///
    /// # Errors
    /// What the database says.
    pub fn issue(&self, tx: &mut Tx<'_>, key_id: &str) -> Result<Option<i64>, StateError> {
        // One after the other for a key, so that the count holds.
        tx.row("SELECT id FROM api_key WHERE id = ?1 /*lock*/", &[key_id.into()])?;
        let now = tx.clock_ms()?;
        tx.execute(
            "DELETE FROM stream_ticket WHERE key_id = ?1 AND expires_at_ms <= ?2",
            &[key_id.into(), now.into()],
        )?;
        let held = tx.row("SELECT count(*) FROM stream_ticket WHERE key_id = ?1", &[key_id.into()])?;
        if held.map_or(Ok(0), |row| row.int(0))? >= PER_KEY {
            return Ok(None);
        }
        let expires_at_ms = now + LIFE_MS;
        tx.execute(
            "INSERT INTO stream_ticket (digest, key_id, expires_at_ms) VALUES (?1, ?2, ?3)",
            &[(&self.digest()).into(), key_id.into(), expires_at_ms.into()],
        )?;
        Ok(Some(expires_at_ms))
    }

    /// The key that it was given to. Whatever comes of it, it is used up.
    ///
    /// # Errors
    /// What the database says.
    pub fn redeem(&self, tx: &mut Tx<'_>) -> Result<Option<String>, StateError> {
        let row = tx.row(
            "DELETE FROM stream_ticket WHERE digest = ?1 RETURNING key_id, expires_at_ms",
            &[(&self.digest()).into()],
        )?;
        let Some(row) = row else { return Ok(None) };
        let holds = row.int(1)? > tx.clock_ms()?;
        Ok(if holds { Some(row.text(0)?.to_owned()) } else { None })
    }
}

/// Removes some of those that expired; gives whether there may be more of them.
pub(crate) fn prune(tx: &mut Tx<'_>) -> Result<bool, StateError> {
    let now = tx.clock_ms()?;
    let removed = tx.execute(
        "DELETE FROM stream_ticket WHERE digest IN (
             SELECT digest FROM stream_ticket WHERE expires_at_ms <= ?1 LIMIT ?2 /*skip locked*/)",
        &[now.into(), PRUNED.into()],
    )?;
    Ok(removed >= PRUNED.unsigned_abs())
}

fn mark_of(pepper: &Pepper, random: &[u8]) -> [u8; 32] {
    pepper.digest(&[b"stream ticket", random])
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_state::{Access, Environment, Home};

    #[test]
    fn a_ticket_is_good_once_and_what_was_made_up_is_none() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let key = home.admin("test", |admin| admin.create_key("k", Environment::Live, 0, None)).unwrap().id;
        let mut db = home.connect(Access::Write).unwrap();
        let ticket = Ticket::generate(home.pepper()).unwrap();
        assert_eq!(ticket.expose().len(), 43);
        assert_eq!(Ticket::parse(home.pepper(), ticket.expose()), Some(ticket.clone()));
        let turned: String = ticket.expose().chars().rev().collect();
        for other in ["", "nothing", &ticket.expose()[1..], turned.as_str()] {
            assert_eq!(Ticket::parse(home.pepper(), other), None, "{other:?}");
        }
        db.transaction(|tx| {
            assert!(ticket.issue(tx, &key)?.is_some());
            assert_eq!(ticket.redeem(tx)?, Some(key.clone()));
            assert_eq!(ticket.redeem(tx)?, None);
            // An old one is good for nothing, and makes room for others.
            assert!(ticket.issue(tx, &key)?.is_some());
            tx.execute("UPDATE stream_ticket SET expires_at_ms = 1", &[])?;
            assert_eq!(ticket.redeem(tx)?, None);
            for _ in 0..PER_KEY {
                assert!(Ticket::generate(home.pepper())?.issue(tx, &key)?.is_some());
            }
            assert_eq!(Ticket::generate(home.pepper())?.issue(tx, &key)?, None);
            tx.execute("UPDATE stream_ticket SET expires_at_ms = 1", &[])?;
            assert!(Ticket::generate(home.pepper())?.issue(tx, &key)?.is_some());
            tx.execute("UPDATE stream_ticket SET expires_at_ms = 1", &[])?;
            assert!(!prune(tx)?);
            let left = tx.row("SELECT count(*) FROM stream_ticket", &[])?.unwrap().int(0)?;
            assert_eq!(left, 0);
            Ok(())
        })
        .unwrap();
    }
}
