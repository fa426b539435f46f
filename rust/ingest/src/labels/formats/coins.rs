//! The words with which running text names a coin: tickers, names, and names of networks.

/// A coin that a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coin {
    /// The ticker.
    pub(super) ticker: &'static str,
    /// Whether its addresses have a form of their own among the chains that are held, so that the form decides. Addresses
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

/// The same of all other coins.
const OTHERS: &[(&str, &str)] = &[
    ("LTC", "litecoin"),
    ("ZEC", "zcash"),
    ("DASH", "dashcoin"),
    ("XMR", "monero"),
    ("BCH", "bitcoincash bcash"),
    ("BSV", "bitcoinsv bitcoinsatoshivision"),
    ("BTG", "bitcoingold"),
    ("XVG", ""),
    ("XRP", "ripple"),
    ("SOL", "solana"),
    ("DOGE", "dogecoin"),
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
    ("NMC", "namecoin"),
    ("PPC", "peercoin"),
    ("QTUM", ""),
    ("RVN", "ravencoin"),
    ("TON", "toncoin"),
    ("VTC", "vertcoin"),
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
    find(|entry| is_it(&entry))
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
    all.find(|(entry, _)| is_it(entry)).map(|(&(ticker, _), is_held)| Coin { ticker, is_held })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coin_names_are_known_in_the_plural_and_tickers_when_marked() {
        let name = |text: &str| of_name(text).map(|coin| (coin.ticker, coin.is_held));
        assert_eq!(name("bitcoins"), Some(("BTC", true)));
        assert_eq!(name("bitcoincash"), Some(("BCH", false)));
        assert_eq!(name("tether"), Some(("USDT", true)));
        assert_eq!([name(""), name("s"), name("cash"), name("ltc")], [None; 4]);
        let ticker = |text: &str, is_marked: bool| of_ticker(text, is_marked).map(|coin| coin.ticker);
        assert_eq!([ticker("LTC", false), ticker("ltc", true)], [Some("LTC"); 2]);
        assert_eq!([ticker("ltc", false), ticker("Sol", false), ticker("ADA", false)], [None; 3]);
    }
}
