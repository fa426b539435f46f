//! Symbols that read like others.

/// A symbol with look-alike letters made equal: case, width, invisible marks, punctuation, Cyrillic and Greek letters
/// drawn like Latin ones. Two symbols of one skeleton read the same.
///
/// ```
/// use headwater_ledger::market::skeleton;
/// assert_eq!(skeleton("USD\u{422}"), skeleton("usdt"));
/// ```
#[must_use]
pub fn skeleton(symbol: &str) -> String {
    symbol.chars().filter_map(plain).flat_map(char::to_lowercase).filter_map(plain).collect()
}

fn plain(letter: char) -> Option<char> {
    Some(match letter {
        // Full-width forms are 0xFEE0 above ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0)?.to_ascii_lowercase(),
        'а' | 'α' | 'ɑ' => 'a',
        'в' | 'β' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' | 'ё' => 'e',
        'һ' | 'н' | 'η' => 'h',
        'і' | 'ι' | 'ı' | 'ї' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'м' | 'μ' => 'm',
        'о' | 'ο' | '0' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' | '$' => 's',
        'т' | 'τ' | '₮' => 't',
        'υ' => 'u',
        'ν' => 'v',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'ζ' => 'z',
        letter if letter.is_alphanumeric() => letter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alike_symbols_have_one_skeleton() {
        for forged in ["USDT", "usdt", "U\u{200b}SDT", "USD\u{422}", "\u{ff35}SDT", "USD.T", "USD₮", "\u{405}"] {
            let expected = if forged == "\u{405}" { "s" } else { "usdt" };
            assert_eq!(skeleton(forged), expected, "{forged:?}");
        }
        assert_ne!(skeleton("usdc"), skeleton("usdt"));
        assert_eq!(skeleton("Во"), "bo");
    }
}
