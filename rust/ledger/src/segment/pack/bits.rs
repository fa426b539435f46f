//! Fields of 0 to 64 bits, one behind the other, lowest bits first.

/// Writes fields.
#[derive(Default)]
pub(in super::super) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    filled: u32,
}

impl BitWriter {
    /// Appends the low `width` bits of a value; the bits above are zero.
    #[inline]
    pub(in super::super) fn push(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 64 && bits_of(value) <= width, "{value} does not fit {width} bits");
        self.pending |= value << self.filled;
        let filled = self.filled + width;
        if filled < 64 {
            self.filled = filled;
            return;
        }
        self.bytes.extend_from_slice(&self.pending.to_le_bytes());
        let taken = 64 - self.filled;
        self.pending = value.checked_shr(taken).unwrap_or(0);
        self.filled = filled - 64;
    }

    pub(in super::super) fn push_wide(&mut self, value: u128, width: u32) {
        self.push(low(value), width.min(64));
        self.push(low(value >> 64), width.saturating_sub(64));
    }

    /// Fills the last byte with zeros and gives all bytes so far.
    pub(in super::super) fn bytes(&mut self) -> &[u8] {
        let rest = self.filled.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..rest]);
        (self.pending, self.filled) = (0, 0);
        &self.bytes
    }

    pub(in super::super) fn clear(&mut self) {
        self.bytes.clear();
        (self.pending, self.filled) = (0, 0);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
const fn low(value: u128) -> u64 {
    value as u64
}

/// The bits that a value needs.
#[inline]
pub(in super::super) const fn bits_of(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

#[inline]
pub(in super::super) const fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// 64 bits from a bit on; zeros behind the end.
#[inline]
fn window(bytes: &[u8], bit: usize) -> u64 {
    let (at, shift) = (bit >> 3, bit & 7);
    if let Some(nine) = bytes.get(at..at + 9) {
        let low = u64::from_le_bytes(nine[..8].try_into().unwrap_or_default());
        return (low >> shift) | ((u64::from(nine[8]) << 1) << (63 - shift));
    }
    end_window(bytes, at, shift)
}

#[cold]
fn end_window(bytes: &[u8], at: usize, shift: usize) -> u64 {
    let mut nine = [0; 9];
    let rest = bytes.get(at..).unwrap_or_default();
    let length = rest.len().min(9);
    nine[..length].copy_from_slice(&rest[..length]);
    let low = u64::from_le_bytes(nine[..8].try_into().unwrap_or_default());
    (low >> shift) | ((u64::from(nine[8]) << 1) << (63 - shift))
}

/// One field, which the caller must find inside; what lies behind the end reads as zero.
#[inline]
pub(in super::super) fn field(bytes: &[u8], bit: usize, width: u32) -> u64 {
    window(bytes, bit) & mask(width)
}

/// The same for at most 56 bits, which lie in eight bytes wherever they begin.
#[inline]
pub(in super::super) fn short_field(bytes: &[u8], bit: usize, width: u32) -> u64 {
    let (at, shift) = (bit >> 3, bit & 7);
    match bytes.get(at..at + 8) {
        Some(eight) => (u64::from_le_bytes(eight.try_into().unwrap_or_default()) >> shift) & mask(width),
        None => field(bytes, bit, width),
    }
}

/// The same for up to 128 bits.
#[inline]
pub(in super::super) fn wide_field(bytes: &[u8], bit: usize, width: u32) -> u128 {
    let (at, shift) = (bit >> 3, bit & 7);
    if let Some(sixteen) = bytes.get(at..at + 16)
        && width <= 120
    {
        let value = u128::from_le_bytes(sixteen.try_into().unwrap_or_default());
        return (value >> shift) & ((1 << width) - 1);
    }
    let low = u128::from(field(bytes, bit, width.min(64)));
    if width <= 64 { low } else { low | (u128::from(field(bytes, bit + 64, width - 64)) << 64) }
}

/// Fields of one width, as many as there is place for, each as something makes it.
#[inline]
pub(in super::super) fn unpack_as<T>(bytes: &[u8], start: usize, width: u32, into: &mut [T], make: impl Fn(u64) -> T) {
    if width == 0 {
        into.fill_with(|| make(0));
        return;
    }
    let mask = mask(width);
    let mut bit = start;
    // Eight bytes hold a field of 56 bits wherever it begins in its byte.
    let fast = if width <= 56 {
        let last = (bytes.len() << 3).saturating_sub(64);
        (last.saturating_sub(start) / width as usize).min(into.len())
    } else {
        0
    };
    let (head, tail) = into.split_at_mut(fast);
    for value in head {
        let at = bit >> 3;
        let eight = bytes[at..at + 8].try_into().unwrap_or_default();
        *value = make((u64::from_le_bytes(eight) >> (bit & 7)) & mask);
        bit += width as usize;
    }
    for value in tail {
        *value = make(window(bytes, bit) & mask);
        bit += width as usize;
    }
}

/// Fields of one width, as many as there is place for.
#[inline]
pub(in super::super) fn unpack(bytes: &[u8], start: usize, width: u32, into: &mut [u64]) {
    unpack_as(bytes, start, width, into, |value| value);
}

/// Reads fields one after the other; past the end it reads zeros, and says so in the end.
pub(in super::super) struct BitReader<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl<'a> BitReader<'a> {
    pub(in super::super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, bit: 0 }
    }

    #[inline]
    pub(in super::super) fn take(&mut self, width: u32) -> u64 {
        let value = field(self.bytes, self.bit, width);
        self.bit += width as usize;
        value
    }

    /// A field of at most 32 bits.
    #[inline]
    pub(in super::super) fn take32(&mut self, width: u32) -> u32 {
        u32::try_from(self.take(width.min(32))).unwrap_or(u32::MAX)
    }

    /// Steps over fields and says where they begin.
    #[inline]
    pub(in super::super) fn skip(&mut self, bits: usize) -> usize {
        let start = self.bit;
        self.bit = self.bit.saturating_add(bits);
        start
    }

    pub(in super::super) fn is_inside(&self) -> bool {
        self.bit <= self.bytes.len() << 3
    }
}

/// A signed difference as a number that is small when the difference is.
#[inline]
pub(in super::super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

#[inline]
pub(in super::super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}
