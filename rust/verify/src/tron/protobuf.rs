//! The few parts of the protobuf wire format that TRON's headers and transactions need.

/// A value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireValue<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

/// A message that is being written, in order of field number. Fields with their default are left out.
#[derive(Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.bytes.push(u8::try_from(number & 0x7f).expect("seven bits are a byte") | 0x80);
            number >>= 7;
        }
        self.bytes.push(u8::try_from(number).expect("seven bits are a byte"));
    }

    pub(super) fn integer(&mut self, field: u32, number: i64) -> &mut Self {
        if number != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(number.cast_unsigned());
        }
        self
    }

    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        if bytes.is_empty() { self } else { self.message(field, bytes) }
    }

    /// Adds an entry of a list, or a message that is set: present even when empty.
    pub(super) fn message(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

/// Splits a message into its fields; `None` where the bytes are not one, or contain a group, which protobuf no longer has.
pub(super) fn fields(mut bytes: &[u8]) -> Option<Vec<(u32, WireValue<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = take_varint(&mut bytes)?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0)?;
        let value = match tag & 7 {
            0 => WireValue::Varint(take_varint(&mut bytes)?),
            2 => {
                let length = usize::try_from(take_varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                WireValue::Bytes(value)
            }
            // Numbers of fixed length, which TRON's messages do not have, are unknown fields.
            1 | 5 => {
                let length = if tag & 7 == 1 { 8 } else { 4 };
                bytes = bytes.split_at_checked(length)?.1;
                continue;
            }
            _ => return None,
        };
        fields.push((number, value));
    }
    Some(fields)
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the protobuf documentation: 150 as field 1 is `08 96 01`, "testing" as field 2 begins `12 07`.
    #[test]
    fn message_examples_have_their_published_bytes() {
        assert_eq!(Message::default().integer(1, 150).finish(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, b"testing").finish(), [&[0x12, 0x07][..], b"testing"].concat());
        assert_eq!(Message::default().integer(1, 0).bytes(2, &[]).message(5, &[]).finish(), [0x2a, 0]);
        let negative = Message::default().integer(1, -2).finish();
        assert_eq!(negative[..2], [0x08, 0xfe]);
        assert_eq!(negative.len(), 11);
    }

    #[test]
    fn fields_are_those_that_were_written() {
        let bytes = Message::default().integer(1, -1).bytes(3, b"ab").integer(18, 300).finish();
        let expected = [(1, WireValue::Varint(u64::MAX)), (3, WireValue::Bytes(b"ab")), (18, WireValue::Varint(300))];
        assert_eq!(fields(&bytes).unwrap(), expected);
    }

    #[test]
    fn fields_of_fixed_length_are_passed_over() {
        let bytes = [&[0x09, 1, 2, 3, 4, 5, 6, 7, 8][..], &[0x15, 1, 2, 3, 4], &[0x18, 7]].concat();
        assert_eq!(fields(&bytes).unwrap(), [(3, WireValue::Varint(7))]);
    }

    #[test]
    fn bytes_that_are_not_a_message_are_refused() {
        for bytes in [&[0x08][..], &[0x0a, 5, 1], &[0x09, 1, 2], &[0x0b], &[0, 1], &[0x80; 12]] {
            assert_eq!(fields(bytes), None);
        }
    }
}
