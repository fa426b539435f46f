//! The words with which running text names a coin. The table of networks names them; this module adds words of tokens,
//! plural forms and the words that name a coin even where no mark makes them one.

use headwater_types::{Chain, Family};

use crate::networks::{Kind, of_coin_word};

/// A coin that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Coin {
    /// The ticker, or the name of a coin that is not known.
    pub(super) ticker: String,
    /// True if its addresses have a form of their own among the chains that are held, so that the form decides. Addresses
    /// of the other coins may look like those of bitcoin.
    pub(super) is_held: bool,
}

/// Tickers of coins and networks whose addresses have a form that is held, with further names, in lower case and without
/// blanks.
const HELD: &[(&str, &str)] = &[
    ("BTC", "bitcoin omni omnilayer"),
    ("XBT", ""),
    ("ETH", "ethereum ether erc20"),
    ("ETC", "ethereumclassic etherclassic"),
    ("ARB", "arbitrum arbitrumone"),
    ("BSC", "bnbsmartchain binancesmartchain bnbchain bep20"),
    ("BNB", "binancecoin bnbcoin"),
    ("AVAX", "avalanche"),
    ("MATIC", "polygon"),
    ("USDC", "usdcoin"),
    ("USDT", "tether tetherusd"),
    ("TRX", "tron trc20 tronix"),
];

/// The same of other coins, as far as the table of networks lacks them or a text needs no mark to name them.
const OTHERS: &[(&str, &str)] = &[
    ("LTC", ""),
    ("ZEC", ""),
    ("DASH", "dashcoin"),
    ("XMR", "monero"),
    ("BCH", "bcash"),
    ("BSV", ""),
    ("BTG", ""),
    ("XVG", ""),
    ("XRP", "ripple"),
    ("SOL", "solana"),
    ("DOGE", ""),
    ("XLM", "stellarlumens stellarlumen"),
    ("ADA", "cardano"),
    ("ALGO", "algorand"),
    ("APT", "aptos"),
    ("ATOM", ""),
    ("DCR", "decred"),
    ("DGB", "digibyte"),
    ("DOT", "polkadot"),
    ("EOS", ""),
    ("FIL", "filecoin"),
    ("FIRO", ""),
    ("HBAR", "hedera"),
    ("KAS", "kaspa"),
    ("NEAR", "nearprotocol"),
    ("NMC", ""),
    ("PPC", ""),
    ("QTUM", ""),
    ("RVN", ""),
    ("TON", "toncoin"),
    ("VTC", ""),
    ("XTZ", "tezos"),
];

/// Tickers that are also words or names, so that capitals alone do not make them the name of a coin.
const AMBIGUOUS: [&str; 9] = ["ADA", "APT", "ATOM", "DOT", "EOS", "FIL", "KAS", "NEAR", "TON"];

/// The longest name in words.
pub(super) const MAX_WORDS: usize = 3;

/// The coin of a name: `bitcoin cash` without its blanks, in lower case.
pub(super) fn of_name(name: &str) -> Option<Coin> {
    let singular = name.strip_suffix('s').unwrap_or(name);
    let is_it = |(_, names): &&(&str, &str)| names.split_whitespace().any(|known| known == name || known == singular);
    let is_clear = singular.contains("coin") || singular.ends_with("cash");
    find(|entry| is_it(&entry)).or_else(|| is_clear.then(|| sharing(singular)).flatten())
}

/// The coin of a name or ticker that the text uses as one: a word of the table of networks.
pub(super) fn of_marked_name(name: &str) -> Option<Coin> {
    sharing(name.strip_suffix('s').unwrap_or(name)).or_else(|| sharing(name))
}

/// The same of a single word, also of one that is made like the name of a coin (`Syscoin`, `BitcoinCashABC`).
pub(super) fn of_marked_word(name: &str) -> Option<Coin> {
    let lower = name.to_lowercase();
    let singular = lower.strip_suffix('s').unwrap_or(&lower);
    let is_coin = singular.ends_with("coin") && !["coin", "stablecoin"].contains(&singular);
    let is_made = (is_coin || singular.starts_with("bitcoin")) && !singular.ends_with("bitcoin");
    of_marked_name(&lower).or_else(|| is_made.then(|| unknown(name)))
}

/// A coin that is not known: its addresses are not taken for those of bitcoin.
pub(super) fn unknown(name: &str) -> Coin {
    Coin { ticker: name.to_owned(), is_held: false }
}

/// The coin of a word of the table, where its addresses may have the form of those of bitcoin.
fn sharing(word: &str) -> Option<Coin> {
    let is_like = |kind: Kind| matches!(kind, Kind::Like(Family::Utxo) | Kind::Any);
    let network = of_coin_word(word).filter(|network| is_like(network.kind))?;
    Some(Coin { ticker: network.ticker(), is_held: network.held == Some(Chain::BITCOIN) })
}

/// The coin of a ticker. In capitals it is enough by itself; otherwise `is_marked` says that the text uses the word as
/// one.
pub(super) fn of_ticker(word: &str, is_marked: bool) -> Option<Coin> {
    let is_plain = |ticker: &str| word == ticker && !AMBIGUOUS.contains(&ticker);
    find(|(ticker, _)| is_plain(ticker) || is_marked && word.eq_ignore_ascii_case(ticker))
}

fn find(is_it: impl Fn(&(&'static str, &'static str)) -> bool) -> Option<Coin> {
    let held = HELD.iter().map(|entry| (entry, true));
    let mut all = held.chain(OTHERS.iter().map(|entry| (entry, false)));
    all.find(|(entry, _)| is_it(entry)).map(|(&(ticker, _), is_held)| Coin { ticker: ticker.to_owned(), is_held })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coin_names_are_known_in_the_plural_and_tickers_when_marked() {
        let name = |text: &str| of_name(text).map(|coin| (coin.ticker, coin.is_held));
        let coin = |ticker: &str, is_held| Some((ticker.to_owned(), is_held));
        assert_eq!(name("bitcoins"), coin("BTC", true));
        assert_eq!(name("bitcoincash"), coin("BCH", false));
        assert_eq!(name("bitcoindiamond"), coin("BCD", false));
        assert_eq!(name("tether"), coin("USDT", true));
        assert_eq!([name(""), name("s"), name("cash"), name("ltc")], [None, None, None, None]);
        let ticker = |text: &str, is_marked: bool| of_ticker(text, is_marked).map(|coin| coin.ticker);
        assert_eq!([ticker("LTC", false), ticker("ltc", true)], [(); 2].map(|()| Some("LTC".to_owned())));
        assert_eq!([ticker("ltc", false), ticker("Sol", false), ticker("ADA", false)], [None, None, None]);
    }
}
