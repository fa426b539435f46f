//! An account of any chain that a bridge connects.

use std::fmt;

use headwater_types::{Address, Family};

use crate::chain::{AccountForm, BridgeChain};
use crate::log::low_bytes;

/// A sender, receiver or contract: an address of a chain of the engine's families, or what the event says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Party {
    /// An address.
    Account(Address),
    /// 32 bytes that a chain writes in base58 (Solana).
    Base58([u8; 32]),
    /// Bytes of another kind of chain.
    Bytes(Box<[u8]>),
    /// Text that is not an address of the engine's families.
    Text(Box<str>),
}

impl Party {
    /// An account of 20 bytes; of an EVM chain where the chain is not known.
    #[must_use]
    pub fn from_account(chain: Option<BridgeChain>, bytes: [u8; 20]) -> Self {
        match chain.map(BridgeChain::account_form) {
            Some(AccountForm::Family(Family::Tron)) => Self::Account(Address::Tron(bytes)),
            Some(AccountForm::Family(Family::Evm)) | None => Self::Account(Address::Evm(bytes)),
            Some(_) => Self::Bytes(bytes.into()),
        }
    }

    /// Bytes of an event: 20 are an account; of 32 the low 20 are, if the others are zero and the chain has such
    /// accounts.
    ///
    /// ```
    /// use headwater_bridge::{BridgeChain, Party};
    /// let chain = |name| BridgeChain::from_name(name);
    /// let mut word = [0; 32];
    /// word[31] = 1;
    /// assert_eq!(Party::from_bytes(chain("base"), &word).to_string(), "0x0000000000000000000000000000000000000001");
    /// assert_eq!(Party::from_bytes(chain("solana"), &[0; 32]).to_string(), "11111111111111111111111111111111");
    /// // The TRON address of a contract of which all bytes are zero.
    /// assert_eq!(Party::from_bytes(chain("tron"), &[0; 20]).to_string(), "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb");
    /// ```
    #[must_use]
    pub fn from_bytes(chain: Option<BridgeChain>, bytes: &[u8]) -> Self {
        let form = chain.map(BridgeChain::account_form);
        if let Ok(account) = bytes.try_into() {
            return Self::from_account(chain, account);
        }
        if let Ok(word) = <[u8; 32]>::try_from(bytes) {
            let has_accounts = matches!(form, None | Some(AccountForm::Family(Family::Evm | Family::Tron)));
            if has_accounts && word[..12].iter().all(|&byte| byte == 0) {
                return Self::from_account(chain, low_bytes(&word));
            }
            if form == Some(AccountForm::Base58) {
                return Self::Base58(word);
            }
        }
        Self::Bytes(bytes.into())
    }

    /// Text of an event: an address, if it is one of the chain.
    #[must_use]
    pub fn from_text(chain: Option<BridgeChain>, text: &str) -> Self {
        let held = chain.and_then(BridgeChain::held);
        let evm = || {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
            let mut bytes = [0; 20];
            hex::decode_to_slice(digits, &mut bytes).ok()?;
            Some(Self::from_account(chain, bytes))
        };
        let parsed = held.and_then(|chain| Address::parse(chain, text).ok()).map(Self::Account);
        parsed.or_else(evm).unwrap_or_else(|| Self::Text(text.into()))
    }

    /// The address, if it is one of the engine's families.
    #[must_use]
    pub const fn address(&self) -> Option<&Address> {
        match self {
            Self::Account(address) => Some(address),
            Self::Base58(_) | Self::Bytes(_) | Self::Text(_) => None,
        }
    }

    /// Returns whether all its bytes are zero: an account that nobody has.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Account(Address::Evm(bytes) | Address::Tron(bytes)) => *bytes == [0; 20],
            Self::Account(Address::Utxo(_)) => false,
            Self::Base58(bytes) => *bytes == [0; 32],
            Self::Bytes(bytes) => bytes.iter().all(|&byte| byte == 0),
            Self::Text(text) => text.is_empty(),
        }
    }

    /// The account bytes without their chain, so that legs of two chains can be compared.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Account(Address::Evm(bytes) | Address::Tron(bytes)) => bytes,
            Self::Account(Address::Utxo(_)) => &[],
            Self::Base58(bytes) => bytes,
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }

    /// Returns whether both name one account: the same bytes, or the same address.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self == other || (!self.bytes().is_empty() && self.bytes() == other.bytes())
    }
}

impl fmt::Display for Party {
    /// The canonical text of the chain; `0x` hex of bytes whose form is not known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(address) => fmt::Display::fmt(address, f),
            Self::Base58(bytes) => f.write_str(&bs58::encode(bytes).into_string()),
            Self::Bytes(bytes) => write!(f, "0x{}", hex::encode(bytes)),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn party_from_text_is_an_address_where_it_can_be() {
        let chain = BridgeChain::from_name("bitcoin");
        let text = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        assert!(Party::from_text(chain, text).address().is_some());
        assert_eq!(Party::from_text(chain, text).to_string(), text);
        assert_eq!(Party::from_text(None, "alice.near"), Party::Text("alice.near".into()));
        let upper = "0xDAC17F958D2EE523A2206206994597C13D831EC7";
        assert_eq!(Party::from_text(None, upper).to_string(), upper.to_lowercase());
    }

    #[test]
    fn party_with_high_bytes_is_not_an_account() {
        let base = BridgeChain::from_name("base");
        assert_eq!(Party::from_bytes(base, &[1; 32]), Party::Bytes([1; 32].into()));
        assert!(Party::from_bytes(base, &[0; 32]).is_zero());
        let tron = Party::from_account(BridgeChain::from_name("tron"), [7; 20]);
        assert!(tron.is_same(&Party::from_account(base, [7; 20])), "one key, two chains");
    }
}
