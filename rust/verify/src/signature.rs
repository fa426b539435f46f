//! Recovery of the account that signed a hash.

use std::sync::LazyLock;

use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, Secp256k1, VerifyOnly};
use sha3::{Digest as _, Keccak256};

static CONTEXT: LazyLock<Secp256k1<VerifyOnly>> = LazyLock::new(Secp256k1::verification_only);

/// Returns the 20 bytes of the account whose key made the signature, or `None` where the signature is not valid.
///
/// `signature` is `r` and `s`; `is_odd` is the parity of the point.
pub(crate) fn recover(hash: [u8; 32], signature: &[u8; 64], is_odd: bool) -> Option<[u8; 20]> {
    let id = RecoveryId::from_i32(i32::from(is_odd)).ok()?;
    let signature = RecoverableSignature::from_compact(signature, id).ok()?;
    let key = CONTEXT.recover_ecdsa(&Message::from_digest(hash), &signature).ok()?;
    let digest = Keccak256::digest(&key.serialize_uncompressed()[1..]);
    digest[12..].try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_of_zeros_recovers_nothing() {
        assert_eq!(recover([1; 32], &[0; 64], false), None);
        assert_eq!(recover([1; 32], &[0xff; 64], true), None);
    }

    /// The account of the key 1, signed and recovered with another context.
    #[test]
    fn signature_recovers_the_account_of_its_key() {
        let mut secret = [0; 32];
        secret[31] = 1;
        let key = secp256k1::SecretKey::from_slice(&secret).unwrap();
        let signature = Secp256k1::new().sign_ecdsa_recoverable(&Message::from_digest([9; 32]), &key);
        let (id, bytes) = signature.serialize_compact();
        let account = recover([9; 32], &bytes, id.to_i32() == 1).unwrap();
        assert_eq!(hex::encode(account), "7e5f4552091a69125d5dfcb7b8c2659029395bdf");
        assert_ne!(recover([8; 32], &bytes, id.to_i32() == 1), Some(account));
    }
}
