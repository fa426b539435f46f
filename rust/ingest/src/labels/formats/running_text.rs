//! Addresses inside running text.
//!
//! In a sentence only a word with the form of an address is one: hashes, numbers of documents and words are not, and
//! nothing is cut out of them.

use super::super::raw::ChainHint;

/// Tickers that lists write before addresses. Coins whose addresses have a form that is held say nothing; the others keep
/// an address from being taken for one of bitcoin.
const HELD: [&str; 10] = ["BTC", "XBT", "ETH", "ETC", "ARB", "BSC", "BNB", "USDC", "USDT", "TRX"];
const OTHERS: [&str; 11] = ["LTC", "ZEC", "DASH", "XMR", "BCH", "BSV", "BTG", "XVG", "XRP", "SOL", "DOGE"];

/// Words with so few characters are no addresses, apart from those in hex.
const SHORTEST: usize = 25;
/// The longest Base58 address of bitcoin.
const LONGEST_BASE58: usize = 35;
const TRON: usize = 34;
/// The shortest of bitcoin in Bech32 is a witness program of two bytes.
const SHORTEST_BECH32: usize = 14;
/// Digits of a hash.
const HASH_DIGITS: usize = 64;
/// Digits of an EVM address, and how many of a mistyped one may be missing or too many.
const EVM_DIGITS: usize = 40;
const MISTYPED: usize = 4;
/// Hex digits that may run on into the next address where two are printed without a blank.
const RUN_ON: usize = 16;

/// The words of a text that have the form of an address, or of several without a blank between them, with the coin that
/// was named before.
pub(super) fn addresses_in(text: &str) -> Vec<(String, ChainHint)> {
    let is_visible = |letter: &char| !matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    let text: String = text.chars().filter(is_visible).collect();
    let mut found = Vec::new();
    let mut coin = "";
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        if HELD.contains(&word) || OTHERS.contains(&word) {
            coin = word;
        } else if has_form(word) || OTHERS.contains(&coin) && is_key(word) {
            let hint = if coin.is_empty() { ChainHint::AnyEvm } else { ChainHint::Ticker(coin.to_owned()) };
            found.push((word.to_owned(), hint));
        }
    }
    found
}

fn has_form(word: &str) -> bool {
    match word.as_bytes() {
        [b'0', b'x' | b'X', digits @ ..] => {
            let run = digits.iter().take_while(|digit| digit.is_ascii_hexdigit()).count();
            let is_alone = run == digits.len();
            let is_near = (EVM_DIGITS - MISTYPED..=EVM_DIGITS + MISTYPED).contains(&run);
            if is_alone { is_near } else { (EVM_DIGITS..=EVM_DIGITS + RUN_ON).contains(&run) }
        }
        [b'b' | b'B', b'c' | b'C', b'1', ..] => word.chars().count() >= SHORTEST_BECH32 && is_key(word),
        [first @ (b'1' | b'3' | b'T'), ..] => {
            let length = word.chars().count();
            let shortest = if *first == b'T' { TRON } else { SHORTEST };
            let is_base58 = |letter: char| !matches!(letter, '0' | 'O' | 'I' | 'l');
            length >= shortest && is_key(word) && (length > LONGEST_BASE58 || word.chars().all(is_base58))
        }
        _ => false,
    }
}

/// Whether a word mixes letters and digits as keys do, and is no hash.
fn is_key(word: &str) -> bool {
    let is_mixed = word.chars().any(|letter| letter.is_ascii_digit()) && word.chars().any(char::is_alphabetic);
    let is_hash = word.len() >= HASH_DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_long = word.chars().count() >= SHORTEST || word.to_ascii_lowercase().starts_with("bc1");
    is_mixed && is_long && !is_hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVM: &str = "0x5a9B7d5d49637567D1Dbea75Fe61d6933B4Be786";
    const TRON: &str = "TPxuSe5sLqhUaRfDXe2N4rDSsiFookp8Zz";
    const BASE58: &str = "1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJg";
    const BECH32: &str = "bc1qnmqyp5j6ql2ljdaljtaqwp37ux3dey66mf4wn6";
    const GLUED: &str = "1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJgbc1qnmqyp5j6ql2ljdaljtaqwp37ux3dey66mf4wn6";

    fn found(text: &str) -> Vec<(String, String)> {
        let hint = |chain| match chain {
            ChainHint::Ticker(name) => name,
            ChainHint::AnyEvm => String::new(),
            ChainHint::None | ChainHint::Chain(_) => unreachable!(),
        };
        addresses_in(text).into_iter().map(|(address, chain)| (address, hint(chain))).collect()
    }

    #[test]
    fn words_with_the_form_of_an_address_are_found_in_sentences() {
        let text = format!("Wallet {EVM}; ETH: {EVM}, BTC: {BASE58} and {BECH32}/{TRON}. (USDT) <{GLUED}>");
        let expected = [(EVM, ""), (EVM, "ETH"), (BASE58, "BTC"), (BECH32, "BTC"), (TRON, "BTC"), (GLUED, "USDT")];
        let found = found(&text);
        assert_eq!(found.iter().map(|(word, coin)| (word.as_str(), coin.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn hashes_numbers_and_long_words_are_no_addresses() {
        for text in [
            "0x16f0b26a2b215994d36c79224acd1677b87cdb9724f88df0500da83ed781c7e3",
            "16f0b26a2b215994d36c79224acd1677b87cdb9724f88df0500da83ed781c7e3",
            "TR330006100519786457841326 and 123456789012345678901234567890",
            "Tel. 3725551234, IMO 9123456, T1089297, bc1, 0x, 0x1234",
            "Todesfallversicherungsgesellschaften",
            "https://example.org/1234567890-abcdefghijklmnopq",
            "",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn addresses_of_other_coins_keep_their_ticker() {
        let litecoin = "LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp";
        let text = format!("LTC: {litecoin}, 3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8; BTC: {litecoin} {BASE58}");
        let expected = [(litecoin, "LTC"), ("3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8", "LTC"), (BASE58, "BTC")];
        assert_eq!(found(&text).iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn mistyped_addresses_are_shown_rather_than_lost() {
        let words = |text: &str| found(text).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
        let longer = format!("{EVM}9");
        assert_eq!(words(&longer).join(" "), longer);
        // A Cyrillic letter, and a zero-width blank.
        assert_eq!(words("TPНXAYWa2dSFx8Budif1gFHc7CEABpnYsv"), ["TPНXAYWa2dSFx8Budif1gFHc7CEABpnYsv"]);
        assert_eq!(words("TRDgjiTSgm\u{200b}qCzFxNYngdQWZVBiA2VSxJBT"), ["TRDgjiTSgmqCzFxNYngdQWZVBiA2VSxJBT"]);
        // Two without a blank: the digits of the first run on into the second.
        let glued = format!("{EVM}{BECH32}");
        assert_eq!(words(&glued).join(" "), glued);
    }
}
