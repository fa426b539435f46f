//! Lists in RLP, the encoding that Ethereum hashes.

use alloy_rlp::{Encodable, Header};
use ruint::aliases::U256;

/// A list that is being written.
#[derive(Default, Clone)]
pub(crate) struct List {
    payload: Vec<u8>,
}

impl List {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        bytes.encode(&mut self.payload);
        self
    }

    /// Adds a whole number: its bytes without leading zeros.
    pub(crate) fn quantity(&mut self, number: U256) -> &mut Self {
        let bytes = number.to_be_bytes::<32>();
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        self.bytes(&bytes[zeros..])
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        number.encode(&mut self.payload);
        self
    }

    /// Adds an address, or empty bytes for the creation of a contract.
    pub(crate) fn address(&mut self, address: Option<&[u8; 20]>) -> &mut Self {
        self.bytes(address.map_or(&[], |address| &address[..]))
    }

    pub(crate) fn list(&mut self, list: &Self) -> &mut Self {
        list.encode(&mut self.payload);
        self
    }

    /// Adds an item that is already encoded.
    pub(crate) fn encoded(&mut self, item: &[u8]) -> &mut Self {
        self.payload.extend_from_slice(item);
        self
    }

    fn encode(&self, out: &mut Vec<u8>) {
        Header { list: true, payload_length: self.payload.len() }.encode(out);
        out.extend_from_slice(&self.payload);
    }

    /// The encoded list.
    pub(crate) fn finish(&self) -> Vec<u8> {
        self.prefixed(&[])
    }

    /// The encoded list after the byte of a typed transaction or receipt.
    pub(crate) fn prefixed(&self, prefix: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.payload.len() + 10);
        out.extend_from_slice(prefix);
        self.encode(&mut out);
        out
    }
}

/// The encoding of one number on its own: the key of a list's entry in its trie.
pub(crate) fn key(index: usize) -> Vec<u8> {
    alloy_rlp::encode(index as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the yellow paper's appendix and of the definition of RLP, worked by hand.
    #[test]
    fn list_examples_have_their_published_bytes() {
        assert_eq!(List::default().finish(), [0xc0]);
        let animals = List::default().bytes(b"cat").bytes(b"dog").finish();
        assert_eq!(animals, [&[0xc8, 0x83][..], b"cat", &[0x83], b"dog"].concat());
        let numbers = List::default().number(0).number(15).number(1024).quantity(U256::from(1024)).finish();
        assert_eq!(numbers, [0xc8, 0x80, 0x0f, 0x82, 0x04, 0x00, 0x82, 0x04, 0x00]);
        let nested = List::default().list(&List::default()).list(List::default().list(&List::default())).finish();
        assert_eq!(nested, [0xc3, 0xc0, 0xc1, 0xc0]);
        let long = List::default().bytes(&[7; 56]).finish();
        assert_eq!(long[..4], [0xf8, 58, 0xb8, 56]);
    }

    #[test]
    fn key_of_an_index_is_its_encoding() {
        assert_eq!((key(0), key(1), key(127)), (vec![0x80], vec![1], vec![127]));
        assert_eq!((key(128), key(256)), (vec![0x81, 128], vec![0x82, 1, 0]));
    }
}
