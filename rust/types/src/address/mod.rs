//! Addresses of the supported chains: parsed strictly, printed in canonical form.

mod base58;
mod evm;
mod icap;
pub mod inspect;
mod segwit;
mod tron;
mod utxo;

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{Chain, Family, Network};

pub use segwit::WitnessProgram;
pub use utxo::{UtxoAddress, UtxoPayload};

/// An address that is valid for its family.
///
/// `Display` is the canonical form: lowercase `0x` hex, Base58Check `T...`, Base58Check or lowercase Bech32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// A 20-byte account of an EVM chain.
    Evm([u8; 20]),
    /// A 20-byte account of TRON, without the prefix byte 0x41.
    Tron([u8; 20]),
    /// The owner of an output script.
    Utxo(UtxoAddress),
}

/// The reason why a text is not an address of a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {chain} address: {reason}; expected {form}", chain = chain.display_name(), form = form_of(chain.family()))]
pub struct AddressError {
    /// The text given, cut when long.
    pub text: String,
    /// The chain whose form was expected.
    pub chain: Chain,
    /// The fault.
    pub reason: Reason,
}

/// The fault in the form of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    /// The checksum does not match.
    #[error("its checksum does not match")]
    Checksum,
    /// Too short or too long.
    #[error("its length is wrong")]
    Length,
    /// A character that the form does not have.
    #[error("it contains a character that such addresses do not have")]
    Alphabet,
    /// Upper and lower case in one Bech32 text, which BIP 173 forbids.
    #[error("it mixes upper and lower case")]
    MixedCase,
    /// Bits behind the witness program that are not zero, which BIP 173 forbids.
    #[error("it holds more than a witness program")]
    Padding,
    /// A version or prefix that the chain does not have.
    #[error("its version or prefix is not one of this chain")]
    Version,
    /// An address of another network than the one expected.
    #[error("it belongs to another network")]
    NetworkMismatch,
    /// Nothing that looks like an address.
    #[error("it does not have the form of one")]
    UnknownForm,
}

impl Reason {
    /// The code that answers carry: one of six, so that some reasons share theirs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Length | Self::Padding => "length",
            Self::Alphabet | Self::MixedCase => "alphabet",
            Self::Version => "version",
            Self::NetworkMismatch => "network_mismatch",
            Self::UnknownForm => "unknown_form",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// The state of a checksum inside an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Checksum {
    /// It matches.
    Ok,
    /// It does not match.
    Failed,
    /// The text carries none.
    None,
}

/// The contract that an account of an EVM chain creates by a transaction with this nonce (yellow paper, section 7).
///
/// ```
/// let sender = [0x6a, 0xc7, 0xea, 0x33, 0xf8, 0x83, 0x1e, 0xa9, 0xdc, 0xc5, 0x33, 0x93, 0xaa, 0xa8, 0x8b, 0x25, 0xa7, 0x85, 0xdb, 0xf0];
/// let contract = headwater_types::Address::Evm(headwater_types::address::contract_address(&sender, 0));
/// assert_eq!(contract.to_string(), "0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d");
/// ```
#[must_use]
pub fn contract_address(sender: &[u8; 20], nonce: u64) -> [u8; 20] {
    evm::created(sender, nonce)
}

/// Returns what EIP-55 says about the text of an EVM address: nothing when all letters have one case, or when the text
/// is not `0x` and 40 hex digits.
///
/// ```
/// use headwater_types::address::{Checksum, eip55};
/// assert_eq!(eip55("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), Checksum::Ok);
/// assert_eq!(eip55("0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), Checksum::Failed);
/// assert_eq!(eip55("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"), Checksum::None);
/// ```
#[must_use]
pub fn eip55(text: &str) -> Checksum {
    match (text.strip_prefix("0x"), evm::parse(text)) {
        (Some(digits), Ok(bytes)) => evm::checksum_of(digits, &bytes),
        _ => Checksum::None,
    }
}

/// The bytes under which a ledger files an address: at most 41, ordered like the addresses themselves.
///
/// 20 bytes on EVM chains and TRON; on UTXO chains one byte of kind (0 P2PKH, 1 P2SH, 2 + witness version) and the
/// payload. The network is not part of the key: a store holds one network per chain.
// Bytes are before their number: unused ones are zero, so the derived order is that of the byte strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AddressKey {
    bytes: [u8; 42],
    length: u8,
}

impl AddressKey {
    fn new(parts: [&[u8]; 2]) -> Self {
        let mut key = Self { bytes: [0; 42], length: 0 };
        for part in parts {
            let start = usize::from(key.length);
            key.bytes[start..start + part.len()].copy_from_slice(part);
            key.length += u8::try_from(part.len()).expect("a part of a key is short");
        }
        key
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Address {
    /// Reads an address of a chain, on the main network of that chain.
    ///
    /// EVM: `0x` and 40 hex digits in any case; the EIP-55 checksum is not looked at (see [`eip55`]). TRON:
    /// Base58Check `T...` or hex `41...`. Bitcoin: Base58Check, Bech32 for witness version 0, Bech32m above
    /// (BIP 173, BIP 350). Nothing is corrected; [`inspect::inspect`] does that.
    ///
    /// ```
    /// use headwater_types::{Address, Chain};
    /// let address = Address::parse(Chain::TRON, "41a614f803b6fd780986a42c78ec9c7f77e6ded13c").unwrap();
    /// assert_eq!(address.to_string(), "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t");
    /// ```
    ///
    /// # Errors
    /// When the text has not that form.
    pub fn parse(chain: Chain, text: &str) -> Result<Self, AddressError> {
        Self::parse_on(chain, Network::Mainnet, text)
    }

    /// [`Address::parse`] for a network other than the main one.
    ///
    /// # Errors
    /// When the text has not the form of the chain, or belongs to another network.
    pub fn parse_on(chain: Chain, network: Network, text: &str) -> Result<Self, AddressError> {
        Self::parse_in_family(chain.family(), network, text).map_err(|reason| AddressError {
            text: text.chars().take(128).collect(),
            chain,
            reason,
        })
    }

    pub(crate) fn parse_in_family(family: Family, network: Network, text: &str) -> Result<Self, Reason> {
        match family {
            Family::Evm => evm::parse(text).map(Self::Evm),
            Family::Tron => tron::parse(text).map(Self::Tron),
            Family::Utxo => utxo::parse(network, text).map(Self::Utxo),
        }
    }

    /// The family the address belongs to.
    #[must_use]
    pub const fn family(&self) -> Family {
        match self {
            Self::Evm(_) => Family::Evm,
            Self::Tron(_) => Family::Tron,
            Self::Utxo(_) => Family::Utxo,
        }
    }

    /// The text with a checksum: mixed case by EIP-55 on EVM chains, the canonical text elsewhere, which has one.
    ///
    /// ```
    /// use headwater_types::{Address, Chain};
    /// let address = Address::parse(Chain::ETHEREUM, "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359").unwrap();
    /// assert_eq!(address.to_checksummed(), "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359");
    /// ```
    #[must_use]
    pub fn to_checksummed(&self) -> String {
        match self {
            Self::Evm(bytes) => evm::checksum_text(bytes),
            Self::Tron(_) | Self::Utxo(_) => self.to_string(),
        }
    }

    /// The bytes under which a ledger files the address.
    #[must_use]
    pub fn key(&self) -> AddressKey {
        match self {
            Self::Evm(bytes) | Self::Tron(bytes) => AddressKey::new([bytes, &[]]),
            Self::Utxo(address) => {
                let (kind, payload) = address.key_parts();
                AddressKey::new([&[kind], payload])
            }
        }
    }

    /// The address that a ledger filed under these bytes; `None` when the bytes are not a key.
    #[must_use]
    pub fn from_key(family: Family, network: Network, key: &[u8]) -> Option<Self> {
        match family {
            Family::Evm => key.try_into().ok().map(Self::Evm),
            Family::Tron => key.try_into().ok().map(Self::Tron),
            Family::Utxo => UtxoAddress::from_key(network, key).map(Self::Utxo),
        }
    }

    /// Returns whether this is the zero address of an account chain, which stands for minting and burning.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Evm(bytes) | Self::Tron(bytes) if *bytes == [0; 20])
    }

    /// Returns whether anybody can spend what it holds, so that it has no owner: see [`UtxoAddress::is_keyless`].
    #[must_use]
    pub fn is_keyless(&self) -> bool {
        matches!(self, Self::Utxo(address) if address.is_keyless())
    }
}

/// Returns how addresses of a chain are written, for messages.
const fn form_of(family: Family) -> &'static str {
    match family {
        Family::Evm => "0x and 40 hex digits",
        Family::Tron => "34 characters of Base58Check (T...)",
        Family::Utxo => "Base58Check (1..., 3...) or Bech32 (bc1...)",
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evm(bytes) => f.write_str(&evm::text(bytes)),
            Self::Tron(bytes) => f.write_str(&tron::text(bytes)),
            Self::Utxo(address) => fmt::Display::fmt(address, f),
        }
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
