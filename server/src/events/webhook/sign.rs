//! Signatures of deliveries, as Standard Webhooks (<https://www.standardwebhooks.com>) writes them.
//!
//! What is signed is `id.timestamp.body`, so that nobody can send an old delivery again as a new one, and a receiver
//! checks it with the official libraries.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The prefix of a secret, before its base64.
const PREFIX: &str = "whsec_";
/// Bytes of a new secret.
const LENGTH: usize = 32;
/// Bytes that a secret may have by the standard.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret that an endpoint's deliveries are signed with. It has no `Debug` output and is shown once, by
/// [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(...)")
    }
}

impl Secret {
    /// A new random secret of 32 bytes.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new(vec![0; LENGTH]);
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The secret of these bytes; `None` unless there are 24 to 64 of them.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let bytes = Zeroizing::new(bytes);
        LENGTHS.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// Reads `whsec_` and base64; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(BASE64_STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?)
    }

    /// The text that its owner is shown once.
    #[must_use]
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", BASE64_STANDARD.encode(&self.0))
    }

    /// The bytes, to be sealed and stored.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// `v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body`.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp_secs: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(id.as_bytes());
        mac.update(b".");
        mac.update(timestamp_secs.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// The value of `webhook-signature`: one signature per secret, the newest first, with spaces between. There is more than
/// one while a secret is being rotated.
#[must_use]
pub fn signatures(secrets: &[Secret], id: &str, timestamp_secs: i64, body: &[u8]) -> String {
    let all: Vec<String> = secrets.iter().map(|secret| secret.sign(id, timestamp_secs, body)).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const SENT: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;

    /// The vector of the standard's own libraries.
    #[test]
    fn the_official_vector_is_met() {
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        assert_eq!(secret.sign(ID, SENT, BODY), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_new_secret_has_32_bytes_and_is_read_back() {
        let secret = Secret::generate().unwrap();
        assert_eq!(secret.bytes().len(), 32);
        let text = secret.expose();
        assert_eq!(text.len(), "whsec_".len() + 44);
        assert_eq!(Secret::parse(&text).unwrap(), secret);
        assert_ne!(Secret::generate().unwrap(), secret);
        assert!(!format!("{secret:?}").contains(&text[6..]));
    }

    #[test]
    fn what_is_no_secret_is_refused() {
        let of = |length: usize| format!("whsec_{}", BASE64_STANDARD.encode(vec![7; length]));
        assert!(Secret::parse(&of(24)).is_some() && Secret::parse(&of(64)).is_some());
        for text in ["", "whsec_", "whsec_!!!", &of(24)[6..], &of(23), &of(65)] {
            assert!(Secret::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn id_time_body_and_secret_all_change_the_signature() {
        let (one, other) = (Secret::from_bytes(vec![1; 32]).unwrap(), Secret::from_bytes(vec![2; 32]).unwrap());
        let all = [
            one.sign(ID, SENT, BODY),
            one.sign("msg_1", SENT, BODY),
            one.sign(ID, SENT + 1, BODY),
            one.sign(ID, SENT, b"{}"),
            other.sign(ID, SENT, BODY),
        ];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn during_rotation_every_secret_signs() {
        let secrets = [Secret::from_bytes(vec![1; 32]).unwrap(), Secret::from_bytes(vec![2; 32]).unwrap()];
        let text = signatures(&secrets, ID, SENT, BODY);
        let expected = secrets.each_ref().map(|secret| secret.sign(ID, SENT, BODY));
        assert_eq!(text.split(' ').collect::<Vec<_>>(), expected);
    }
}
