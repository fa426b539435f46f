//! Text that strangers gave, repeated in messages.

/// Characters that a message repeats of one value.
pub const SHOWN: usize = 96;

/// A text of at most so many characters, and a mark where it was cut: what somebody sent, however long it is, must not
/// fill a message.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        shown.push_str("...");
    }
    shown
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
