//! Forms of output scripts.

use serde::{Deserialize, Serialize};

/// Form of an output script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptType {
    /// Pay to public key.
    P2pk,
    /// Pay to public key hash.
    P2pkh,
    /// Pay to script hash.
    P2sh,
    /// Pay to witness public key hash.
    P2wpkh,
    /// Pay to witness script hash.
    P2wsh,
    /// Pay to taproot.
    P2tr,
    /// Bare multisig.
    Multisig,
    /// Data that can never be spent.
    OpReturn,
    /// Anything else.
    Nonstandard,
}

impl ScriptType {
    /// All forms, in the order of their codes on disk.
    pub const ALL: [Self; 9] = [
        Self::P2pk,
        Self::P2pkh,
        Self::P2sh,
        Self::P2wpkh,
        Self::P2wsh,
        Self::P2tr,
        Self::Multisig,
        Self::OpReturn,
        Self::Nonstandard,
    ];

    /// The name that answers carry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P2pk => "p2pk",
            Self::P2pkh => "p2pkh",
            Self::P2sh => "p2sh",
            Self::P2wpkh => "p2wpkh",
            Self::P2wsh => "p2wsh",
            Self::P2tr => "p2tr",
            Self::Multisig => "multisig",
            Self::OpReturn => "op_return",
            Self::Nonstandard => "nonstandard",
        }
    }
}
