//! Reads messages that protocols pack without padding, big endian.

use headwater_types::Amount;

/// The rest of a message; every step past its end is `None`.
#[derive(Clone, Copy)]
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        self.take(COUNT)?.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn word(&mut self) -> Option<[u8; 32]> {
        self.array()
    }

    pub(super) fn amount(&mut self) -> Option<Amount> {
        self.word().map(Amount::from_be_bytes)
    }
}

/// `0x` and hex digits.
pub(super) fn hex_text(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}
