//! Text that strangers gave, repeated in messages.

/// Characters that a message repeats of one value.
pub const SHOWN: usize = 96;

/// A text of at most so many characters, and a mark where it was cut: what somebody sent, however long it is, must not
/// fill a message.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn characters_are_counted_and_a_cut_is_marked() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äöü...");
        assert_eq!(shortened("", 0), "");
    }
}
