//! Numbers of a fixed width in bits, the lowest bit first.
#![expect(clippy::cast_possible_truncation, reason = "halves and groups of bits are cut off on purpose")]

/// Packs numbers one behind the other.
pub(crate) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    filled: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, word: 0, filled: 0 }
    }

    /// Adds the low `width` bits of a number that has no higher ones; up to 128.
    pub(crate) fn push(&mut self, value: u128, width: u32) {
        let low = value as u64;
        self.push_word(low, width.min(64));
        if width > 64 {
            self.push_word((value >> 64) as u64, width - 64);
        }
    }

    fn push_word(&mut self, value: u64, width: u32) {
        if width == 0 {
            return;
        }
        self.word |= value << self.filled;
        let filled = self.filled + width;
        if filled < 64 {
            self.filled = filled;
            return;
        }
        self.out.extend_from_slice(&self.word.to_le_bytes());
        self.word = value.checked_shr(64 - self.filled).unwrap_or(0);
        self.filled = filled - 64;
    }

    /// Fills up to a whole byte.
    pub(crate) fn finish(self) {
        let bytes = self.filled.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
    }
}

/// Writes a column at the width of its largest number, which it gives.
pub(crate) fn put_column(values: &[u128], width: u32, out: &mut Vec<u8>) {
    let mut bits = BitWriter::new(out);
    match width {
        0 => {}
        1..=64 => values.iter().for_each(|value| bits.push_word(*value as u64, width)),
        _ => values.iter().for_each(|value| bits.push(*value, width)),
    }
    bits.finish();
}

/// Bits of the largest number.
pub(crate) fn width(values: &[u128]) -> u32 {
    128 - values.iter().fold(0, |all, value| all | value).leading_zeros()
}

/// Writes widths, which are at most 128, one byte each.
pub(crate) fn put_widths(widths: &[u32], out: &mut Vec<u8>) {
    out.extend(widths.iter().map(|width| *width as u8));
}

/// The higher and the lower half of a number.
pub(crate) const fn halves(value: u128) -> [u64; 2] {
    [(value >> 64) as u64, value as u64]
}

/// Bytes of so many numbers.
pub(crate) const fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// The number at a place; bits behind the end of the bytes read as zero.
pub(crate) fn get(bytes: &[u8], place: usize, width: u32) -> u128 {
    let mut bit = place * width as usize;
    let mut value = 0;
    let mut done = 0;
    while done < width {
        let part = (width - done).min(56);
        value |= u128::from(get_word(bytes, bit, part)) << done;
        done += part;
        bit += part as usize;
    }
    value
}

/// The number at a place of a column of at most 56 bits.
#[inline]
pub(crate) fn get_small(bytes: &[u8], place: usize, width: u32) -> u64 {
    if width > 56 {
        return get(bytes, place, width) as u64;
    }
    get_word(bytes, place * width as usize, width)
}

#[inline]
fn get_word(bytes: &[u8], bit: usize, width: u32) -> u64 {
    let start = bit / 8;
    let word = match bytes.get(start..start + 8) {
        Some(whole) => u64::from_le_bytes(whole.try_into().unwrap_or_default()),
        None => {
            let rest = bytes.get(start..).unwrap_or_default();
            let mut whole = [0; 8];
            whole[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(whole)
        }
    };
    (word >> (bit % 8)) & ((1 << width) - 1)
}

/// A number in 7-bit groups, the lowest first.
pub(crate) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number and moves behind it; `None` when it does not end.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn columns_come_back(values in proptest::collection::vec(any::<u128>(), 0..300), shift in 0u32..129) {
            let values: Vec<u128> = values.iter().map(|value| value.checked_shr(shift).unwrap_or(0)).collect();
            let width = width(&values);
            let mut out = Vec::new();
            put_column(&values, width, &mut out);
            prop_assert_eq!(out.len(), packed_bytes(values.len(), width));
            for (place, value) in values.iter().enumerate() {
                prop_assert_eq!(get(&out, place, width), *value);
                if let Ok(small) = u64::try_from(*value) {
                    prop_assert_eq!(get_small(&out, place, width), small);
                }
            }
        }

        #[test]
        fn varints_come_back(value in any::<u64>(), shift in 0u32..64) {
            let mut out = Vec::new();
            put_varint(value >> shift, &mut out);
            let mut bytes = &out[..];
            prop_assert_eq!(take_varint(&mut bytes), Some(value >> shift));
            prop_assert!(bytes.is_empty());
        }
    }
}
