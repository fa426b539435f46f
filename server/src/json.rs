//! JSON text where it is written for every call: piece by piece into one buffer.

/// Adds a string.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    // Counted instead of looked for, since that is done many bytes at a time.
    let escaped = text.bytes().filter(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\')).count();
    if escaped == 0 {
        push_plain(out, text);
    } else {
        serde_json::to_writer(out, text).expect("a text has a JSON form");
    }
}

/// Adds a string of ours, which needs no escapes.
pub(crate) fn push_plain(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Adds a number.
pub(crate) fn push_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_as_the_library_does() {
        for text in ["", "plain", "é", "a\"b", "a\\b", "a\nb", "\u{7f}", "\0"] {
            let mut out = Vec::new();
            push_text(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(text).unwrap());
        }
    }
}
