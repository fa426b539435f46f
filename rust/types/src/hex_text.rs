//! Lower-case hexadecimal text.

/// Bytes of an address or a hash as digits behind a prefix. Pages are full of them, so they are written in one piece.
pub(crate) fn hex_text<const BYTES: usize>(prefix: &str, bytes: &[u8; BYTES]) -> String {
    const { assert!(BYTES <= 32) };
    let mut digits = [0; 64];
    let digits = &mut digits[..2 * BYTES];
    hex::encode_to_slice(bytes, digits).expect("two digits a byte");
    let mut text = String::with_capacity(prefix.len() + digits.len());
    text.push_str(prefix);
    text.push_str(str::from_utf8(digits).expect("digits are ASCII"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(hex_text("0x", &[0x00, 0x9f, 0xff]), "0x009fff");
        assert_eq!(hex_text("", &[0xa5; 32]), "a5".repeat(32));
    }
}
