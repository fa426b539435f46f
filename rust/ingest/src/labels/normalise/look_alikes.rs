//! Letters of other scripts that look like Latin ones.

/// Letters and the Latin ones that they look like.
const LOOK_ALIKES: &[(&str, &str)] = &[
    // Cyrillic
    ("АВЕКМНОРСТУХЅІЈ", "ABEKMHOPCTYXSIJ"),
    ("аеорсухѕіјһԁ", "aeopcyxsijhd"),
    // Greek
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    ("ονρ", "ovp"),
];

/// The full-width forms of printable ASCII, and how far they are from them.
const FULL_WIDTH: std::ops::RangeInclusive<char> = '\u{ff01}'..='\u{ff5e}';
const FULL_WIDTH_OFFSET: u32 = 0xfee0;

fn latin(letter: char) -> Option<char> {
    if FULL_WIDTH.contains(&letter) {
        return char::from_u32(u32::from(letter) - FULL_WIDTH_OFFSET);
    }
    LOOK_ALIKES.iter().find_map(|(given, latin)| {
        given.chars().zip(latin.chars()).find(|(given, _)| *given == letter).map(|(_, latin)| latin)
    })
}

/// The text with Latin letters where others only look like them.
pub(super) fn plain_letters(text: &str) -> String {
    text.chars().map(|letter| latin(letter).unwrap_or(letter)).collect()
}

/// Returns true if a text has Latin letters and others that look like such.
pub(super) fn mixes_scripts(text: &str) -> bool {
    !text.is_ascii()
        && text.contains(|letter: char| letter.is_ascii_alphabetic())
        && text.chars().any(|letter| latin(letter).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_stand_in_pairs() {
        for (given, latin) in LOOK_ALIKES {
            assert_eq!(given.chars().count(), latin.chars().count(), "{given}");
            assert!(latin.is_ascii() && given.chars().all(|letter| !letter.is_ascii()), "{given}");
        }
        assert_eq!(plain_letters("ТРН\u{ff10}é"), "TPH0é");
        assert!(
            mixes_scripts("Вinance") && !mixes_scripts("Биржа") && !mixes_scripts("Café") && !mixes_scripts("Binance")
        );
    }
}
