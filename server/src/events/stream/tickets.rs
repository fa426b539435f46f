//! Tickets for browsers, which cannot send a key in a header: one connection each, within 30 seconds.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use sha2::{Digest, Sha256};

use crate::state::Caller;

/// How long a ticket holds.
const LIFE_MS: i64 = 30_000;
/// Tickets that one key may hold at a time.
const PER_KEY: usize = 100;
/// Tickets that may be held in all.
const IN_ALL: usize = 100_000;

/// The tickets that are out. They are known to this process alone, and to nobody after a restart.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<HashMap<[u8; 32], Issued>>);

#[derive(Debug)]
struct Issued {
    caller: Caller,
    expires_at_ms: i64,
}

/// Why no ticket is given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoTicket {
    /// The key holds too many that were not used.
    TooMany,
    /// The system gives no randomness.
    Randomness,
}

impl Tickets {
    /// A ticket for a caller, and when it expires.
    pub fn issue(&self, caller: Caller, now_ms: i64) -> Result<(String, i64), NoTicket> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| NoTicket::Randomness)?;
        let ticket = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let expires_at_ms = now_ms + LIFE_MS;
        let mut issued = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        issued.retain(|_, one| one.expires_at_ms > now_ms);
        let held = issued.values().filter(|one| one.caller.key_id == caller.key_id).count();
        if held >= PER_KEY || issued.len() >= IN_ALL {
            return Err(NoTicket::TooMany);
        }
        // A digest is what is kept, so that looking one up takes no longer the more of it is right.
        issued.insert(Sha256::digest(ticket.as_bytes()).into(), Issued { caller, expires_at_ms });
        Ok((ticket, expires_at_ms))
    }

    /// Whose ticket it was. Whatever comes of it, it is used up.
    pub fn redeem(&self, ticket: &str, now_ms: i64) -> Option<Caller> {
        let digest: [u8; 32] = Sha256::digest(ticket.as_bytes()).into();
        let issued = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&digest)?;
        (issued.expires_at_ms > now_ms).then_some(issued.caller)
    }
}
