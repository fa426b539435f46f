//! Addresses inside running text.
//!
//! In a sentence only a word with the form of an address is one: hashes, numbers of documents and words are not, and
//! nothing is cut out of them. Which coin is meant follows from the words before it: many coins have addresses that look
//! like those of bitcoin.

use std::slice::SliceIndex;

use super::super::raw::ChainHint;
use super::coins::{self, Coin, MAX_WORDS};

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

/// The longest text in brackets that is taken for the name of a coin.
const MAX_BRACKETS: usize = 60;

/// Words of a label before an address: a clause of them alone continues the one before it, and its coin.
const LABELS: &str = "account accounts additional address addresses adresse adresses also alt alternate alternative and asset \
    assets associated autre autres blockchain connue connues connus crypto cryptoactifs cryptocurrency cryptomonnaie \
    currency de des digital du et following further id including inc known la le les llc ltd more network no number of or \
    other others portefeuille portefeuilles suivant suivante suivantes suivants the virtual wallet wallets";

/// Words behind `Bitcoin` that say what an address is used for, and are not part of the name of another coin.
const USES: &str = "btc cold deposit deposits donation donations hot legacy lightning main mainnet payment payments ransom \
    segwit taproot transfer transfers xbt";

/// The words of a text that have the form of an address, or of several without a blank between them, with the coin that
/// the text names for them.
///
/// The last coin before an address in its clause counts, or a coin in brackets behind it (`3KBJ9... (Litecoin)`). A new
/// clause drops the coin, unless it consists of addresses and words such as `wallet`. The forms of EVM, TRON and Bech32
/// addresses count more than a coin that has no such form.
pub(super) fn addresses_in(text: &str) -> Vec<(String, ChainHint)> {
    let is_visible = |letter: &char| !matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    let text: String = text.chars().filter(is_visible).collect();
    let words = words_of(&text);
    if !words.iter().any(|word| has_form(word.text) || is_key(word.text)) {
        return Vec::new();
    }
    Scan { text: &text, words, found: Vec::new() }.run()
}

/// A word and its place in the text.
#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    start: usize,
}

impl Word<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The words of a text. What stands before an address without a blank is a word of its own.
fn words_of(text: &str) -> Vec<Word<'_>> {
    let is_mark = |letter: char| !letter.is_alphanumeric();
    let mut words = Vec::new();
    let mut start = 0;
    for part in text.split_inclusive(is_mark) {
        let word = part.trim_end_matches(is_mark);
        let (before, rest) = word.split_at(prefix_of(word));
        let both = [Word { text: before, start }, Word { text: rest, start: start + before.len() }];
        words.extend(both.into_iter().filter(|word| !word.text.is_empty()));
        start += part.len();
    }
    words
}

/// The length of a word that an address follows without a blank: `portefeuille0x5a9B...`, `BTC1QHV...`.
fn prefix_of(word: &str) -> usize {
    let is_word = |text: &str| !text.is_empty() && text.chars().all(char::is_alphabetic);
    if let Some(at) = word.find("0x").filter(|at| word.get(..*at).is_some_and(is_word)) {
        return if word.get(at..).is_some_and(has_form) { at } else { 0 };
    }
    let is_tron = word.starts_with('T') && word.len() == TRON;
    let ticker = (3..=4).filter(|_| !is_tron).find(|&length| {
        let parts = word.get(..length).zip(word.get(length..));
        parts.is_some_and(|(ticker, rest)| coins::of_ticker(ticker, false).is_some() && has_form(rest))
    });
    ticker.unwrap_or_default()
}

/// Returns true if a text ends a sentence or a part of a list.
fn ends_clause(gap: &str) -> bool {
    let mut letters = gap.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_stop = matches!(letter, '.' | '!' | '?') && letters.peek().is_some_and(|next| next.is_whitespace());
        if is_stop || matches!(letter, ';' | '\n' | '\r' | '|') {
            return true;
        }
    }
    false
}

fn is_label(word: &str) -> bool {
    let lower = word.to_lowercase();
    // A number or a letter counts items of a list.
    word.chars().count() == 1
        || word.bytes().all(|b| b.is_ascii_digit())
        || LABELS.split_whitespace().any(|w| w == lower)
}

/// A coin, and what is known of the clause that is read.
struct Clause {
    coin: Option<Coin>,
    /// True if it began behind the last coin, and has words of labels alone so far.
    continues: bool,
}

struct Scan<'t> {
    text: &'t str,
    words: Vec<Word<'t>>,
    found: Vec<(String, ChainHint)>,
}

/// The items of a text, in its order.
enum Item<'t> {
    Address {
        word: Word<'t>,
        coin: Option<Coin>,
        /// True if the coin is in brackets behind it.
        is_own: bool,
    },
    Coin {
        coin: Coin,
        start: usize,
        end: usize,
    },
}

impl<'t> Scan<'t> {
    fn run(mut self) -> Vec<(String, ChainHint)> {
        let mut items = self.items();
        self.read_backwards(&mut items);
        for item in items {
            if let Item::Address { word, coin, .. } = item {
                self.add(word.text, coin);
            }
        }
        self.found
    }

    /// The addresses of the text, each with the coin before it, and all coins.
    fn items(&self) -> Vec<Item<'t>> {
        let mut items = Vec::new();
        let mut clause = Clause { coin: None, continues: false };
        let (mut at, mut end) = (0, 0);
        while let Some(word) = self.words.get(at).copied() {
            if ends_clause(self.slice(end..word.start)) {
                clause.continues = true;
            }
            end = word.end();
            if let Some((coin, count)) = self.coin_at(at) {
                at += count;
                end = self.words[at - 1].end();
                items.push(Item::Coin { coin: coin.clone(), start: word.start, end });
                clause = Clause { coin: Some(coin), continues: false };
                continue;
            }
            at += 1;
            if has_form(word.text) || is_key(word.text) {
                let behind = self.coin_behind(at, clause.coin.is_none());
                if let Some((coin, next)) = behind {
                    items.push(Item::Address { word, coin: Some(coin), is_own: true });
                    at = next;
                    end = self.words[at - 1].end();
                } else {
                    items.push(Item::Address { word, coin: clause.coin.clone(), is_own: false });
                }
                clause.continues = false;
            } else if clause.continues && !is_label(word.text) {
                clause = Clause { coin: None, continues: false };
            }
        }
        items
    }

    /// Gives each address the coin behind it (`3KBJ9... - Litecoin; 1QHV... - Bitcoin`), where the first address has no
    /// coin before it and the last one has a coin behind it.
    ///
    /// Where a coin belongs to the address behind it all the same, both readings are possible. The hint then names the
    /// coins of both, so that only an address whose form decides is taken.
    fn read_backwards(&self, items: &mut [Item<'t>]) {
        let is_address = |item: &Item<'_>| matches!(item, Item::Address { .. });
        let Some(first) = items.iter().position(is_address) else { return };
        let items = &mut items[first..];
        let is_stated = matches!(&items[0], Item::Address { coin: Some(_), is_own: false, .. });
        if is_stated || items.last().is_none_or(is_address) {
            return;
        }
        let is_mixed = items.windows(3).any(|three| self.is_before_its_address(three));
        let mut behind: Vec<Coin> = Vec::new();
        let mut was_coin = false;
        for item in items.iter_mut().rev() {
            match item {
                Item::Coin { coin, .. } => {
                    if !was_coin {
                        behind.clear();
                    }
                    behind.push(coin.clone());
                    was_coin = true;
                }
                Item::Address { is_own: true, .. } => (behind, was_coin) = (Vec::new(), false),
                Item::Address { coin, .. } => {
                    let before = coin.take().filter(|_| is_mixed);
                    *coin = joined(behind.iter().rev().chain(&before));
                    was_coin = false;
                }
            }
        }
    }

    /// Returns true if the coin between two addresses stands directly before the second one and not directly behind the first.
    fn is_before_its_address(&self, items: &[Item<'t>]) -> bool {
        let [Item::Address { word: one, .. }, Item::Coin { start, end, .. }, Item::Address { word: other, .. }] = items
        else {
            return false;
        };
        let is_direct = |gap: &str| gap.chars().all(|letter| " \u{a0}:-–—=()[]".contains(letter));
        is_direct(self.slice(*end..other.start)) && !is_direct(self.slice(one.end()..*start))
    }

    /// A part of the text, between the ends of words.
    fn slice(&self, range: impl SliceIndex<str, Output = str>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    fn add(&mut self, word: &str, coin: Option<Coin>) {
        let other = coin.as_ref().filter(|coin| !coin.is_held);
        let is_bnb = coin.as_ref().is_some_and(|coin| coin.ticker == "BNB") && word.starts_with("bnb1");
        if !has_form(word) && other.is_none() && !is_bnb {
            return;
        }
        // Another coin has no addresses of these forms: its name belongs to something else.
        let is_certain =
            matches!(word.as_bytes(), [b'0', b'x' | b'X', ..] | [b'T', ..] | [b'b' | b'B', b'c' | b'C', b'1', ..]);
        let coin = coin.filter(|coin| coin.is_held || !(is_certain && has_form(word)));
        let hint = coin.map_or(ChainHint::AnyEvm, |coin| ChainHint::Ticker(coin.ticker));
        self.found.push((word.to_owned(), hint));
    }

    /// The coin that the words from a place on name, and how many words its name has. The longest name counts.
    fn coin_at(&self, at: usize) -> Option<(Coin, usize)> {
        let word = self.words.get(at)?;
        let mut name = String::new();
        let mut longest = None;
        for (count, next) in (1..=MAX_WORDS).zip(&self.words[at..]) {
            if count > 1 {
                let gap = self.slice(self.words[at + count - 2].end()..next.start);
                if !gap.chars().all(|letter| matches!(letter, ' ' | '\u{a0}' | '-' | '_')) {
                    break;
                }
            }
            name.push_str(&next.text.to_lowercase());
            let last = at + count - 1;
            let marked = || match count {
                _ if !self.is_marked(last) || self.is_bitcoin_label(at, count) => None,
                1 => coins::of_marked_word(next.text),
                _ => coins::of_marked_name(&name),
            };
            let known = coins::of_name(&name).or_else(marked);
            longest = known.map(|coin| (coin, count)).or(longest);
        }
        let is_bitcoin = matches!(&longest, Some((coin, 1)) if coin.ticker == "BTC");
        if let Some(name) = self.other_name(at).filter(|_| is_bitcoin) {
            return Some((coins::unknown(&name), 2));
        }
        longest.or_else(|| coins::of_ticker(word.text, self.is_marked(at)).map(|coin| (coin, 1)))
    }

    /// Returns true if words are `bitcoin` with a label behind it without a blank, as in `Bitcoinadresse`.
    fn is_bitcoin_label(&self, at: usize, count: usize) -> bool {
        let rest = self.words[at].text.to_lowercase().strip_prefix("bitcoin").map(str::to_owned);
        count == 1 && rest.is_some_and(|rest| rest.chars().count() > 1 && is_label(&rest))
    }

    /// The name of a coin that begins with `Bitcoin` and is not known: `Bitcoin Example: 1...`.
    fn other_name(&self, at: usize) -> Option<String> {
        let (word, next) = (self.words.get(at)?, self.words.get(at + 1)?);
        let is_name = next.text.chars().all(char::is_alphabetic) && next.text.starts_with(char::is_uppercase);
        let is_adjacent = matches!(self.slice(word.end()..next.start), " " | "\u{a0}" | "-" | "_");
        let lower = next.text.to_lowercase();
        let is_use = is_label(next.text) || USES.split_whitespace().any(|word| word == lower);
        let is_coin = coins::of_name(&lower).is_some() || coins::of_ticker(next.text, true).is_some();
        let rest = self.slice(next.end()..).trim_start();
        let is_marked = rest.starts_with([':', '-', '–', '—', '=', '('])
            || self.words.get(at + 2).is_some_and(|behind| rest.starts_with(behind.text) && has_form(behind.text));
        (is_name && is_adjacent && is_marked && !is_use && !is_coin).then(|| format!("{} {}", word.text, next.text))
    }

    /// Returns true if the text uses a word as a label: a mark, an address or a word such as `wallet` follows it.
    fn is_marked(&self, at: usize) -> bool {
        let rest = self.slice(self.words[at].end()..).trim_start();
        let next = self.words.get(at + 1);
        rest.starts_with([':', '-', '–', '—', '=', '(', ')', '[', ']', '/', '>'])
            || next.is_some_and(|next| {
                let is_wallet = ["wallet", "wallets", "address", "addresses", "portefeuille", "adresse", "adresses"];
                rest.starts_with(next.text)
                    && (has_form(next.text)
                        || is_key(next.text)
                        || is_wallet.iter().any(|word| next.text.eq_ignore_ascii_case(word)))
            })
    }

    /// The coin in brackets directly behind an address, as in `3KBJ9... (Litecoin)`, and the word behind the brackets. Where
    /// another address follows directly, the brackets belong to that one, unless this one has no other coin.
    fn coin_behind(&self, at: usize, has_no_other: bool) -> Option<(Coin, usize)> {
        let before = self.words.get(at.checked_sub(1)?)?;
        let rest = self.slice(before.end()..);
        let inside = rest.trim_start_matches([' ', '\u{a0}']).strip_prefix(['(', '['])?;
        let (length, _) = inside.char_indices().take(MAX_BRACKETS).find(|(_, letter)| matches!(letter, ')' | ']'))?;
        let start = self.text.len() - inside.len();
        let close = start + length;
        let (mut coin, mut next) = (None, at);
        while let Some(word) = self.words.get(next).filter(|word| word.end() <= close) {
            match self.coin_at(next) {
                Some((named, count)) => (coin, next) = (Some(named), next + count),
                None if is_label(word.text) => next += 1,
                None => return None,
            }
        }
        let is_followed = self.words.get(next).is_some_and(|word| {
            let gap = self.slice(close + 1..word.start);
            (has_form(word.text) || is_key(word.text))
                && gap.chars().all(|letter| matches!(letter, ' ' | '\u{a0}' | ':' | '-' | '<'))
        });
        coin.filter(|_| has_no_other || !is_followed).map(|coin| (coin, next))
    }
}

/// One coin of several: the last one where the form of an address decides among all, else none of them alone.
fn joined<'c>(coins: impl Iterator<Item = &'c Coin>) -> Option<Coin> {
    let mut all: Vec<&Coin> = Vec::new();
    for coin in coins {
        if !all.contains(&coin) {
            all.push(coin);
        }
    }
    if all.iter().all(|coin| coin.is_held) || all.len() == 1 {
        return all.pop().cloned();
    }
    let tickers: Vec<&str> = all.iter().map(|coin| coin.ticker.as_str()).collect();
    Some(coins::unknown(&tickers.join(" / ")))
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

/// Returns true if a word mixes letters and digits as keys do, and is no hash.
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

    /// Coins of the addresses of a text.
    fn coins(text: &str) -> Vec<String> {
        found(text).into_iter().map(|(_, coin)| coin).collect()
    }

    /// A base58 address that bitcoin, its forks and Litecoin share.
    const SHARED: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";

    #[test]
    fn coins_are_known_by_words_in_any_case() {
        for (text, coin) in [
            ("Bitcoin wallet address: ", "BTC"),
            ("Litecoin wallet addresses: ", "LTC"),
            ("LITECOIN (", "LTC"),
            ("ltc - ", "LTC"),
            ("Ltc wallet ", "LTC"),
            ("bitcoin cash: ", "BCH"),
            ("Bitcoin-Cash ", "BCH"),
            ("accepts Bitcoin and Bitcoin Cash at ", "BCH"),
            ("Tether (Omni) ", "BTC"),
            ("dogecoins: ", "DOGE"),
            ("Uses litecoin: ", "LTC"),
            ("Portefeuille Litecoin : ", "LTC"),
            ("LTC", "LTC"),
            ("A dash of salt, ", ""),
            ("Ton Example, NEAR the sea, Sol street, ", ""),
            ("Wallet ", ""),
        ] {
            assert_eq!(coins(&format!("{text}{SHARED}")), [coin], "{text}");
        }
        let tron = format!("Tether on Tron: {TRON}; tether (ERC-20): {EVM}; BNB Smart Chain {EVM}");
        assert_eq!(coins(&tron), ["TRX", "ETH", "BSC"]);
    }

    #[test]
    fn coins_hold_within_their_clause() {
        let litecoin = |rest: &str| coins(&format!("Litecoin wallet address: {SHARED}{rest}"));
        assert_eq!(litecoin(&format!("; {SHARED}, {SHARED}\n2) {SHARED}")), ["LTC"; 4]);
        assert_eq!(litecoin(&format!("; alt. wallet address: {SHARED}")), ["LTC"; 2]);
        assert_eq!(litecoin(&format!("; its bank uses {SHARED}")), ["LTC", ""]);
        assert_eq!(litecoin(&format!(". Listed in 2024. Bitcoin: {SHARED}")), ["LTC", "BTC"]);
        assert_eq!(coins(&format!("It mines Litecoin. It was paid at {SHARED}")), [""]);
        assert_eq!(coins(&format!("It mines Litecoin for Example Ltd. Address: {SHARED}")), ["LTC"]);
    }

    #[test]
    fn brackets_behind_an_address_name_its_coin() {
        assert_eq!(coins(&format!("{SHARED} (Litecoin), {SHARED} (BTC) and {SHARED}")), ["LTC", "BTC", ""]);
        assert_eq!(coins(&format!("{SHARED} (ltc wallet) {BASE58} (btc)")), ["LTC", "BTC"]);
        assert_eq!(coins(&format!("BTC: {BASE58}, {SHARED} (LTC), {BASE58}")), ["BTC", "LTC", "BTC"]);
        assert_eq!(coins(&format!("(LTC) {SHARED} (BTC) {BASE58}")), ["LTC", "BTC"]);
        assert_eq!(coins(&format!("{BASE58} (used since 2020) (LTC) {SHARED}")), ["", "LTC"]);
        assert_eq!(found("LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp (Litecoin)").len(), 1);
    }

    #[test]
    fn coins_behind_their_addresses_are_read_backwards() {
        for text in [
            "L - Litecoin; B - Bitcoin",
            "L - Litecoin\nB - Bitcoin",
            "L: LTC; B: BTC",
            "L Litecoin\nB Bitcoin",
            "Wallet address L. Currency: Litecoin. Wallet address B. Currency: Bitcoin.",
        ] {
            let text = text.replace("L ", &format!("{SHARED} ")).replace("L:", &format!("{SHARED}:"));
            let text = text.replace("L.", &format!("{SHARED}.")).replace("B ", &format!("{BASE58} "));
            let text = text.replace("B:", &format!("{BASE58}:")).replace("B.", &format!("{BASE58}."));
            assert_eq!(coins(&text), ["LTC", "BTC"], "{text}");
        }
        assert_eq!(coins(&format!("{SHARED}, {SHARED} - Bitcoin Cash; {BASE58} - BTC")), ["BCH", "BCH", "BTC"]);
        assert_eq!(coins(&format!("Wallet {SHARED}. Bitcoin: {BASE58}. It mines Litecoin")), ["BTC", "LTC / BTC"]);
        assert_eq!(coins(&format!("Wallet {SHARED}. Litecoin: {SHARED}")), ["", "LTC"]);
    }

    #[test]
    fn coins_that_are_named_after_bitcoin_are_not_bitcoin() {
        for (name, coin) in [
            ("Bitcoin Diamond: ", "BCD"),
            ("Bitcoin Private: ", "BTCP"),
            ("eCash (XEC): ", "XEC"),
            ("Monacoin: ", "MONA"),
            ("Syscoin: ", "Syscoin"),
            ("BitcoinCashABC: ", "BitcoinCashABC"),
            ("Bitcoin Example: ", "Bitcoin Example"),
            ("Bitcoin Example ", "Bitcoin Example"),
            ("Bitcoin Address: ", "BTC"),
            ("Bitcoin Deposit: ", "BTC"),
            ("Bitcoin Core: ", "BTC"),
            ("BITCOIN WALLET: ", "BTC"),
            ("Bitcoin (BTC): ", "BTC"),
        ] {
            assert_eq!(coins(&format!("{name}{SHARED}")), [coin], "{name}");
        }
    }

    #[test]
    fn forms_of_one_family_count_more_than_other_coins() {
        assert_eq!(coins(&format!("Monero, Litecoin: {EVM}, {TRON}, {BECH32}")), ["", "", ""]);
    }

    #[test]
    fn words_before_an_address_without_a_blank_are_cut_off() {
        for text in [format!("portefeuille{EVM}"), format!("ETH{EVM}"), format!("TRX{TRON}"), format!("BTC{BECH32}")] {
            let address = found(&text).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
            assert_eq!(address.len(), 1, "{text}");
            assert!(text.ends_with(&address[0]) && [EVM, TRON, BECH32].contains(&address[0].as_str()), "{text}");
        }
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
