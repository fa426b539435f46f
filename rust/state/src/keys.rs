//! The text of an API key: what it is made of, how a typo differs from a forgery, and what of it is stored.
//!
//! `hw_live_`, `hw_test_` or `hw_admin_`, an id of 8 characters, `_`, a secret of 43 characters (256 bits), and the CRC-32 of all
//! that precedes in 6 characters, base62 throughout. Only an HMAC-SHA256 of the whole text under the pepper is stored.

use std::fmt;

use arrayvec::ArrayString;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Digits, capitals, small letters.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH: usize = 8;
const SECRET_LENGTH: usize = 43;
const CHECKSUM_LENGTH: usize = 6;

/// The purpose of a key. Both are billed alike; the prefix shows people and secret scanners which is which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// `hw_live_`.
    Live,
    /// `hw_test_`.
    Test,
    /// `hw_admin_`: for the admin listener, good for nothing else.
    Admin,
}

impl Environment {
    /// The word inside the prefix.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
            Self::Admin => "admin",
        }
    }

    /// The one that has this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Live, Self::Test, Self::Admin].into_iter().find(|one| one.name() == word)
    }
}

/// Id of a key, as it is noted: 8 characters, after `admin:` for those of the back office. It goes along from hand to
/// hand without a place of its own in memory.
pub type KeyId = ArrayString<14>;

/// A whole key, secret included. It has no `Debug` output and is shown once, by [`KeyText::expose`].
pub struct KeyText(String);

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyText({}...)", self.id())
    }
}

impl KeyText {
    /// A new random key.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn generate(environment: Environment) -> Result<Self, getrandom::Error> {
        let id = random_base62(ID_LENGTH)?;
        let secret = random_base62(SECRET_LENGTH)?;
        let mut text = format!("hw_{}_{id}_{secret}", environment.name());
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Ok(Self(text))
    }

    /// Reads a key as a client sent it; `None` when it cannot be one, typos included. Costs no look-up.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (word, rest) = text.strip_prefix("hw_")?.split_once('_')?;
        Environment::parse(word)?;
        let (id, secret) = rest.split_once('_')?;
        let base62 = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if id.len() != ID_LENGTH || secret.len() != SECRET_LENGTH + CHECKSUM_LENGTH || !base62(id) || !base62(secret) {
            return None;
        }
        let (covered, sum) = text.split_at(text.len() - CHECKSUM_LENGTH);
        (checksum(covered) == sum).then(|| Self(text.to_owned()))
    }

    /// The public id, by which it is found and listed.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.split('_').nth(2).expect("a key has four parts")
    }

    /// Returns what it is meant for.
    #[must_use]
    pub fn environment(&self) -> Environment {
        self.0.split('_').nth(1).and_then(Environment::parse).expect("a key has a known prefix")
    }

    /// The whole text, for the one time it is shown and for the digest.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// The server's secret that stored digests depend on: without it a stolen table is useless.
#[derive(Clone)]
pub struct Pepper {
    bytes: [u8; 32],
    /// With the secret taken in.
    mac: Hmac<Sha256>,
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(..)")
    }
}

impl Pepper {
    /// Wraps 32 secret bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self { bytes, mac: Hmac::new_from_slice(&bytes).expect("HMAC takes keys of any length") }
    }

    /// The secret itself, for a backup.
    pub(super) const fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// HMAC-SHA256 of `parts`, one after the other, under this pepper. The first part names the purpose.
    #[must_use]
    pub fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.mac.clone();
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// The digest of a key, as stored.
    #[must_use]
    pub fn key_digest(&self, key: &KeyText) -> [u8; 32] {
        self.digest(&[b"api key", key.expose().as_bytes()])
    }
}

/// Random characters without bias: bytes past the last whole multiple of 62 are thrown away.
fn random_base62(length: usize) -> Result<String, getrandom::Error> {
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 64];
    while text.len() < length {
        getrandom::fill(&mut bytes)?;
        let fair = bytes.iter().filter(|byte| **byte < 248);
        text.extend(fair.take(length - text.len()).map(|byte| char::from(ALPHABET[usize::from(byte % 62)])));
    }
    Ok(text)
}

fn checksum(text: &str) -> String {
    let mut value = crc32fast::hash(text.as_bytes());
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(value % 62) as usize];
        value /= 62;
    }
    digits.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_written_form_and_reads_back() {
        let key = KeyText::generate(Environment::Live).unwrap();
        assert_eq!(key.expose().len(), "hw_live_".len() + 8 + 1 + 43 + 6);
        assert_eq!(KeyText::parse(key.expose()).unwrap().id(), key.id());
        assert!(KeyText::generate(Environment::Test).unwrap().expose().starts_with("hw_test_"));
    }

    #[test]
    fn every_single_wrong_character_fails_the_checksum() {
        let key = KeyText::generate(Environment::Live).unwrap();
        for place in 0..key.expose().len() {
            let mut text = key.expose().as_bytes().to_vec();
            text[place] = if text[place] == b'x' { b'y' } else { b'x' };
            assert!(KeyText::parse(std::str::from_utf8(&text).unwrap()).is_none(), "place {place}");
        }
    }

    #[test]
    fn text_that_is_not_a_key_is_refused_without_panic() {
        for text in ["", "hw_live_", "hw_live_abc", "hw_live_ääää_b", "hw_prod_12345678_x", "\u{1F600}"] {
            assert!(KeyText::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_checksum_is_the_crc_32_that_zip_uses() {
        // CRC-32 of "123456789" is cbf43926 = 3421780262 (the check value of the catalogue).
        let mut value = 0_u64;
        for byte in checksum("123456789").bytes() {
            value = value * 62 + ALPHABET.iter().position(|digit| *digit == byte).unwrap() as u64;
        }
        assert_eq!(value, 3_421_780_262);
    }

    #[test]
    fn debug_output_holds_no_secret() {
        let key = KeyText::generate(Environment::Live).unwrap();
        assert!(!format!("{key:?}").contains(&key.expose()[17..]));
        assert_eq!(format!("{:?}", Pepper::new([7; 32])), "Pepper(..)");
    }
}
