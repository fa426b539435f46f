//! Lists in RLP, the encoding that Ethereum hashes: written, and read.

use alloy_rlp::{Encodable, Header};
use ruint::aliases::U256;

use crate::mismatch::{Fault, Mismatch};

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

/// The items of an encoded list, read one after the other. Only the canonical encoding is accepted.
#[derive(Clone)]
pub(crate) struct Items<'a> {
    all: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Items<'a> {
    /// Reads a list that takes all of the bytes.
    pub(crate) fn whole(mut bytes: &'a [u8], name: &str) -> Result<Self, Fault> {
        let items = Header::decode_bytes(&mut bytes, true).map_err(|error| not_rlp(name, &error))?;
        if bytes.is_empty() {
            return Ok(Self::of(items));
        }
        Err(malformed(name, format!("a list with {} more bytes after it", bytes.len()), "one list"))
    }

    const fn of(items: &'a [u8]) -> Self {
        Self { all: items, rest: items }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The encoded items that were read so far.
    pub(crate) fn read(&self) -> &'a [u8] {
        &self.all[..self.all.len() - self.rest.len()]
    }

    /// Reads the next item as its bytes.
    pub(crate) fn bytes(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        Header::decode_bytes(&mut self.rest, false).map_err(|error| not_rlp(name, &error))
    }

    /// Reads the next item as a list.
    pub(crate) fn list(&mut self, name: &str) -> Result<Self, Fault> {
        Header::decode_bytes(&mut self.rest, true).map(Self::of).map_err(|error| not_rlp(name, &error))
    }

    /// Reads the next item, whatever it is, as it is encoded.
    pub(crate) fn encoded(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        let before = self.rest;
        let header = Header::decode(&mut self.rest).map_err(|error| not_rlp(name, &error))?;
        // Decoding checks that the payload is there.
        self.rest = &self.rest[header.payload_length..];
        Ok(&before[..before.len() - self.rest.len()])
    }

    pub(crate) fn fixed<const N: usize>(&mut self, name: &str) -> Result<[u8; N], Fault> {
        let bytes = self.bytes(name)?;
        let expected = match N {
            8 => "8 bytes",
            20 => "an address of 20 bytes",
            32 => "32 bytes",
            _ => "256 bytes",
        };
        bytes.try_into().map_err(|_| malformed(name, shown(bytes), expected))
    }

    /// Reads an address, or `None` where there are no bytes: a contract is created.
    pub(crate) fn recipient(&mut self, name: &str) -> Result<Option<[u8; 20]>, Fault> {
        let bytes = self.bytes(name)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let expected = "an address of 20 bytes, or none";
        bytes.try_into().map(Some).map_err(|_| malformed(name, shown(bytes), expected))
    }

    /// Reads a whole number of at most 256 bits.
    pub(crate) fn quantity(&mut self, name: &str) -> Result<U256, Fault> {
        let bytes = self.bytes(name)?;
        if bytes.len() > 32 || bytes.first() == Some(&0) {
            let expected = "a whole number of at most 256 bits without leading zeros";
            return Err(malformed(name, shown(bytes), expected));
        }
        let mut padded = [0; 32];
        padded[32 - bytes.len()..].copy_from_slice(bytes);
        Ok(U256::from_be_bytes(padded))
    }

    /// Reads a whole number of at most 64 bits.
    pub(crate) fn number(&mut self, name: &str) -> Result<u64, Fault> {
        let number = self.quantity(name)?;
        u64::try_from(number).map_err(|_| malformed(name, format!("0x{number:x}"), "a whole number below 2^64"))
    }

    /// Checks that no item is left.
    pub(crate) fn end(&self, name: &str, expected: &'static str) -> Result<(), Fault> {
        if self.is_empty() {
            return Ok(());
        }
        Err(malformed(name, format!("a list with {} more bytes after its last item", self.rest.len()), expected))
    }
}

/// Returns true if an encoded item is a list.
pub(crate) fn is_list(item: &[u8]) -> bool {
    item.first().is_some_and(|first| *first >= 0xc0)
}

pub(crate) fn malformed(name: &str, given: String, expected: &'static str) -> Fault {
    Fault::new(name, Mismatch::Malformed { given, expected })
}

fn not_rlp(name: &str, error: &alloy_rlp::Error) -> Fault {
    malformed(name, format!("not in this form ({error})"), "an item in the canonical form of RLP")
}

/// The text of bytes for an error, cut when long.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const MAX_SHOWN: usize = 40;
    match bytes.get(..MAX_SHOWN) {
        Some(first) if bytes.len() > MAX_SHOWN => format!("0x{}... ({} bytes)", hex::encode(first), bytes.len()),
        _ => format!("0x{}", hex::encode(bytes)),
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

    fn refused<T>(outcome: Result<T, Fault>) -> String {
        outcome.err().expect("the item is refused").at(1).to_string()
    }

    #[test]
    fn items_are_read_as_they_were_written() {
        let nested = List::default().number(7).finish();
        let mut list = List::default();
        list.bytes(b"cat").number(1024).bytes(&[9; 20]).bytes(&[]).quantity(U256::MAX).encoded(&nested);
        let bytes = list.finish();
        let mut items = Items::whole(&bytes, "").unwrap();
        assert_eq!(items.bytes("").unwrap(), b"cat");
        assert_eq!(items.read(), [0x83, b'c', b'a', b't']);
        assert_eq!(items.number("").unwrap(), 1024);
        assert_eq!(items.recipient("").unwrap(), Some([9; 20]));
        assert_eq!(items.recipient("").unwrap(), None);
        assert_eq!(items.quantity("").unwrap(), U256::MAX);
        assert_eq!(items.clone().list("").unwrap().number("").unwrap(), 7);
        assert_eq!(items.encoded("").unwrap(), nested);
        assert!(items.is_empty() && items.end("", "no more").is_ok());
    }

    #[test]
    fn items_in_other_forms_are_refused() {
        let of = |bytes: &'static [u8]| Items::of(bytes);
        // A single byte with a length, a length with a leading zero, bytes that are cut off, a list, a leading zero.
        for bytes in [&[0x81, 0x05][..], &[0xb8, 0x01, 0x80], &[0x83, 1, 2], &[0xc1, 0x80], &[0x82, 0, 1], &[]] {
            assert!(of(bytes).quantity("n").is_err(), "{bytes:?}");
        }
        assert_eq!(refused(of(&[0x82, 1, 2]).fixed::<32>("hash")), "block 1: hash is 0x0102; expected 32 bytes");
        assert_eq!(
            refused(Items::whole(&[0xc1, 0x80, 0x80], "body")),
            "block 1: body is a list with 1 more bytes after it; expected one list"
        );
        assert!(refused(of(&[0x80]).list("logs")).contains("logs is not in this form"));
        assert!(refused(of(&[0x80]).end("log", "3 fields")).contains("expected 3 fields"));
        assert!(of(&[0x89, 1, 0, 0, 0, 0, 0, 0, 0, 0]).number("n").is_err());
    }
}
