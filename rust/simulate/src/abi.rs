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

/// A value of a call or an event.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// A static value.
    Word([u8; 32]),
    /// Bytes or a string.
    Bytes(Vec<u8>),
    /// A list of words.
    Words(Vec<[u8; 32]>),
}

impl Value {
    /// A small number.
    pub(crate) fn number(value: u64) -> Self {
        Self::Word(number(value))
    }

    /// An amount of 128 bits.
    pub(crate) fn raw(raw: u128) -> Self {
        Self::Word(amount(Amount::from_u128(raw)))
    }

    /// An account.
    pub(crate) fn account(address: &Address) -> Self {
        Self::Word(account(address))
    }
}

/// Values as the ABI lays them out: a head of words, in which dynamic values are as offsets into the tail.
pub(crate) fn encode(values: &[Value]) -> Vec<u8> {
    let mut head = Vec::new();
    let mut tail: Vec<u8> = Vec::new();
    for value in values {
        let offset = number((values.len() * 32 + tail.len()) as u64);
        match value {
            Value::Word(word) => head.extend_from_slice(word),
            Value::Bytes(bytes) => {
                head.extend_from_slice(&offset);
                tail.extend_from_slice(&number(bytes.len() as u64));
                tail.extend_from_slice(bytes);
                tail.resize(tail.len().next_multiple_of(32), 0);
            }
            Value::Words(words) => {
                head.extend_from_slice(&offset);
                tail.extend_from_slice(&number(words.len() as u64));
                tail.extend(words.iter().flatten());
            }
        }
    }
    head.extend(tail);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_values_follow_the_head() {
        let encoded = encode(&[Value::number(7), Value::Bytes(vec![1, 2, 3]), Value::Words(vec![number(9)])]);
        let word = |place: usize| encoded[32 * place + 31];
        // Head: 7, offset 96, offset 160. Tail: length 3 and bytes, length 1 and 9.
        assert_eq!([word(0), word(1), word(2), word(3), word(5), word(6)], [7, 96, 160, 3, 1, 9]);
        assert_eq!((encoded.len(), &encoded[128..131]), (7 * 32, &[1, 2, 3][..]));
    }

    #[test]
    fn selectors_and_topics_are_those_of_real_tokens() {
        assert_eq!(call("transfer(address,uint256)", &[]), [0xa9, 0x05, 0x9c, 0xbb]);
        assert_eq!(call("approve(address,uint256)", &[]), [0x09, 0x5e, 0xa7, 0xb3]);
        assert_eq!(topic("Transfer(address,address,uint256)")[..4], [0xdd, 0xf2, 0x52, 0xad]);
    }
}
