//! Call data and event topics of the contracts that the economy uses.

use std::cell::RefCell;
use std::collections::HashMap;

use headwater_types::{Address, Amount};

use crate::identity::{account_bytes, keccak};

/// Call data: the selector of a signature and words.
pub(crate) fn call(signature: &'static str, words: &[[u8; 32]]) -> Vec<u8> {
    let mut data = Vec::with_capacity(4 + 32 * words.len());
    data.extend_from_slice(&topic(signature)[..4]);
    for word in words {
        data.extend_from_slice(word);
    }
    data
}

/// The first topic of an event.
pub(crate) fn topic(signature: &'static str) -> [u8; 32] {
    thread_local! {
        /// The few signatures of this crate, hashed once: they are asked for with every transfer.
        static HASHED: RefCell<HashMap<&'static str, [u8; 32]>> = RefCell::new(HashMap::new());
    }
    HASHED.with_borrow_mut(|hashed| *hashed.entry(signature).or_insert_with(|| keccak(signature.as_bytes())))
}

/// An account as a word.
pub(crate) fn account(address: &Address) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(&account_bytes(address));
    word
}

/// An amount as a word.
pub(crate) const fn amount(amount: Amount) -> [u8; 32] {
    amount.to_be_bytes()
}

/// A small number as a word.
pub(crate) fn number(number: u64) -> [u8; 32] {
    Amount::from(number).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_and_topics_are_those_of_real_tokens() {
        assert_eq!(call("transfer(address,uint256)", &[]), [0xa9, 0x05, 0x9c, 0xbb]);
        assert_eq!(call("approve(address,uint256)", &[]), [0x09, 0x5e, 0xa7, 0xb3]);
        assert_eq!(topic("Transfer(address,address,uint256)")[..4], [0xdd, 0xf2, 0x52, 0xad]);
    }
}
