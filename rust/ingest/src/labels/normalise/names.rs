//! Names as sites write them: decoded once, and without those that name nobody.

use std::borrow::Cow;

/// References of HTML that lists contain.
const REFERENCES: &[(&str, char)] =
    &[("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", ' ')];

/// The longest reference between `&` and `;`.
const LONGEST: usize = 8;

/// A text with its HTML references decoded, once: `&amp;lt;` is the text `&lt;`.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        whole.push_str(before);
        let reference = after.split_once(';').filter(|(name, _)| name.len() <= LONGEST);
        match reference.and_then(|(name, behind)| Some((letter_of(name)?, behind))) {
            Some((letter, behind)) => {
                whole.push(letter);
                rest = behind;
            }
            None => {
                whole.push('&');
                rest = after;
            }
        }
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}

fn letter_of(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        return REFERENCES.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).filter(|letter| !letter.is_control())
}

/// A name, decoded and without blanks around it; `None` when nothing is left.
pub(super) fn name_of(text: &str) -> Option<String> {
    let text = decoded(text);
    let name = text.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns true if a name is one of an entity: sites name addresses of fraud `Fake_Phishing12`, or begin such names with a
/// picture.
pub(super) fn is_entity(name: &str) -> bool {
    let is_fake = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("fake_"));
    !is_fake && !name.chars().next().is_some_and(is_picture) && name.contains(char::is_alphanumeric)
}

fn is_picture(letter: char) -> bool {
    matches!(letter,
        '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2460}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_once() {
        for (text, expected) in [
            ("Example &amp; Sons", "Example & Sons"),
            ("&amp;lt;", "&lt;"),
            ("AT&T; more", "AT&T; more"),
            ("A & B", "A & B"),
            ("&#39;a&#x27; &quot;b&quot;", "'a' \"b\""),
            ("&#0;&#xd800;&", "&#0;&#xd800;&"),
            ("plain", "plain"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
        assert_eq!(name_of(" a\t").as_deref(), Some("a"));
        assert_eq!(name_of("&nbsp; "), None);
    }

    #[test]
    fn names_of_fraud_and_pictures_are_no_entities() {
        for name in ["Fake_Phishing99", "fake_x", "🐟 Example Drainer", "⚠️ Warning", "-", ""] {
            assert!(!is_entity(name), "{name}");
        }
        for name in ["Fakeland Exchange", "1inch", "示例池", "@handle", "Example"] {
            assert!(is_entity(name), "{name}");
        }
    }
}
