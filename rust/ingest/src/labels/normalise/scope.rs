//! On which chains a statement holds: the form of the address decides the family, the list decides among its chains.

use headwater_ledger::labels::{Category, Code, Scope};
use headwater_types::{Chain, Family};

use super::address::{Piece, Reading};
use crate::labels::raw::ChainHint;
use crate::networks::{Kind, Network, Stated, of_prefix, read_cell};

/// The chain that a list names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hint {
    /// The network.
    stated: Stated,
    /// The words of the list.
    text: String,
    /// True if these name a chain, rather than a coin.
    is_chain: bool,
}

/// The outcome of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Placed {
    /// It belongs to another chain, and is kept.
    Foreign(Elsewhere),
    /// It is an address, and holds there; which codes widen that is in [`widens`].
    On(Place),
    /// It cannot be read as an address.
    Unread,
}

/// A chain that is not held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Elsewhere {
    /// The ticker or the chain, as the list writes it.
    pub(super) ticker: String,
    /// The name of the network; the words of the list where they are not known.
    pub(super) network: String,
}

/// The scope of a statement about an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The chains.
    pub(super) chains: Chains,
    /// True if the list names the chain, rather than a coin or nothing.
    pub(super) is_named: bool,
    /// True if the list names a chain on which there is no such address.
    pub(super) is_contradicted: bool,
}

/// The chains on which a statement holds, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chains {
    /// These.
    Of(Scope),
    /// An EVM chain that is not held.
    Elsewhere(String),
    /// Neither the list nor the caller names an EVM chain.
    Missing,
}

/// Returns true if a code holds on every EVM chain, whatever chain the list names. Whoever is on a list of sanctions controls the
/// address on all of them; a list of terrorist financing means the same where it names no chain.
pub(super) fn widens(code: Code, is_named: bool) -> bool {
    code.category() == Category::Sanctions
        || code == Code::SanctionDelisted
        || (code == Code::TerroristFinancing && !is_named)
}

/// The chains of EVM addresses where the list says nothing: the one that the caller names, else that of the format.
pub(super) fn default_chains(given: Option<Chain>, format: Option<Chain>) -> Chains {
    let evm = |chain: Option<Chain>| chain.filter(|chain| chain.family() == Family::Evm);
    match (evm(given).or_else(|| evm(format)), given) {
        (Some(chain), _) => Chains::Of(Scope::Chain(chain)),
        (None, Some(other)) => Chains::Elsewhere(other.name().to_owned()),
        (None, None) => Chains::Missing,
    }
}

/// Returns the outcome of a piece of a cell.
pub(super) fn place(piece: &Piece, hint: &Hint, default: &Chains) -> Placed {
    let hint = &hint_of(piece, hint);
    let stated = &hint.stated;
    let foreign = || Placed::Foreign(hint.elsewhere(stated));
    let address = match piece.reading {
        Reading::Address(address, _) => address,
        Reading::BadChecksum | Reading::Malformed => {
            return match (of_prefix(&piece.text).filter(|network| network.held.is_none()), stated) {
                (Some(network), _) => Placed::Foreign(hint.elsewhere(&Stated::One(network))),
                (None, Stated::One(network)) if !is_sister(network) => foreign(),
                (None, Stated::Unknown) => foreign(),
                (None, _) => Placed::Unread,
            };
        }
    };
    match (address.family(), stated) {
        (_, Stated::One(network)) if !is_sister(network) => return foreign(),
        // A ticker that is not known may be that of a token.
        (Family::Evm, Stated::Unknown) if !hint.is_chain => {}
        // Many coins have addresses that look like those of these families; those of TRON are its own.
        (Family::Evm | Family::Utxo, Stated::Unknown | Stated::OneOf(_)) => return foreign(),
        (Family::Evm | Family::Utxo | Family::Tron, _) => {}
    }
    let family = address.family();
    let is_contradicted = match stated {
        Stated::One(network) => !network.is_like(family) && is_sister(network),
        Stated::AnyEvm | Stated::EvmId(_) => family != Family::Evm,
        Stated::Nothing | Stated::OneOf(_) | Stated::Unknown => false,
    };
    let chains = match family {
        Family::Utxo => Chains::Of(Scope::Chain(Chain::BITCOIN)),
        Family::Tron => Chains::Of(Scope::Chain(Chain::TRON)),
        Family::Evm => evm_chains(hint, default),
    };
    let is_evm_chain = match stated {
        Stated::One(network) => network.is_like(Family::Evm),
        Stated::AnyEvm | Stated::EvmId(_) => true,
        Stated::Nothing | Stated::OneOf(_) | Stated::Unknown => false,
    };
    Placed::On(Place { chains, is_named: hint.is_chain && is_evm_chain, is_contradicted })
}

/// Combines the networks that list and address name. A mark before an address is about it alone; but `ethereum:`
/// is also written before addresses of other EVM chains, so that a column says more than it.
fn hint_of(piece: &Piece, hint: &Hint) -> Hint {
    let is_general = |stated: &Stated| matches!(stated, Stated::One(network) if network.held.is_some());
    let mut hint = match &piece.network {
        Some(prefix) if hint.stated == Stated::Nothing || !is_general(&prefix.stated) => {
            let text = if prefix.stated == Stated::Unknown { &prefix.text } else { &hint.text };
            Hint { stated: prefix.stated.clone(), text: text.clone(), is_chain: true }
        }
        Some(_) | None => hint.clone(),
    };
    if let (Stated::OneOf(networks), Reading::Address(address, _)) = (&hint.stated, piece.reading) {
        // The form of the address decides between networks of different forms.
        let mut fits = networks.iter().copied().filter(|network| network.is_like(address.family()));
        if let (Some(only), None) = (fits.next(), fits.next()) {
            hint.stated = Stated::One(only);
        }
    }
    hint
}

/// Returns true if a network is held, or an EVM chain whose accounts may be the same.
fn is_sister(network: &Network) -> bool {
    network.held.is_some() || network.kind == Kind::Like(Family::Evm)
}

fn evm_chains(hint: &Hint, default: &Chains) -> Chains {
    let elsewhere = || Chains::Elsewhere(hint.elsewhere(&hint.stated).network);
    match &hint.stated {
        Stated::AnyEvm => Chains::Of(Scope::Evm),
        Stated::One(network) => match network.held {
            Some(chain) if chain.family() == Family::Evm => Chains::Of(Scope::Chain(chain)),
            // The ticker may be that of a token; a chain without EVM addresses leaves it unknown which chain is meant.
            Some(_) if !hint.is_chain && *default != Chains::Missing => default.clone(),
            Some(_) | None => elsewhere(),
        },
        Stated::Unknown if *default != Chains::Missing => default.clone(),
        Stated::EvmId(_) | Stated::OneOf(_) | Stated::Unknown => elsewhere(),
        Stated::Nothing => default.clone(),
    }
}

/// Returns the chain that a hint names.
pub(super) fn read_hint(hint: &ChainHint) -> Hint {
    let (text, is_chain) = match hint {
        ChainHint::None => return Hint { stated: Stated::Nothing, text: String::new(), is_chain: false },
        ChainHint::AnyEvm => return Hint { stated: Stated::AnyEvm, text: String::new(), is_chain: true },
        ChainHint::Ticker(text) => (text.trim(), false),
        ChainHint::Chain(text) => (text.trim(), true),
    };
    Hint { stated: read_cell(text), text: text.to_owned(), is_chain }
}

impl Hint {
    /// The chain that is not held, by its name in the table, its id, or the words of the list.
    fn elsewhere(&self, stated: &Stated) -> Elsewhere {
        let ticker = |other: String| if self.text.is_empty() { other } else { self.text.clone() };
        match stated {
            Stated::One(network) => Elsewhere { ticker: ticker(network.ticker()), network: network.name.to_owned() },
            Stated::EvmId(id) => {
                let network = format!("eip155:{id}");
                Elsewhere { ticker: ticker(network.clone()), network }
            }
            Stated::Nothing | Stated::OneOf(_) | Stated::AnyEvm | Stated::Unknown => {
                Elsewhere { ticker: self.text.clone(), network: self.text.clone() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::normalise::address;

    const EVM_ADDRESS: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
    const TRON_ADDRESS: &str = "TDumhjnkbkDDrKrMXb242Wh8jXt3u66NpT";
    const BITCOIN_ADDRESS: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";

    fn shown(text: &str, hint: &ChainHint, default: &Chains) -> String {
        match place(&address::read_cell(text)[0], &read_hint(hint), default) {
            Placed::Foreign(elsewhere) => format!("foreign {}", elsewhere.ticker),
            Placed::Unread => "unread".to_owned(),
            Placed::On(place) => match place.chains {
                Chains::Of(scope) => scope.name().to_owned(),
                Chains::Elsewhere(name) => format!("elsewhere {name}"),
                Chains::Missing => "missing".to_owned(),
            },
        }
    }

    fn ticker(text: &str, ticker: &str) -> String {
        shown(text, &ChainHint::Ticker(ticker.to_owned()), &Chains::Of(Scope::Chain(Chain::ETHEREUM)))
    }

    fn chain(text: &str, chain: &str) -> String {
        shown(text, &ChainHint::Chain(chain.to_owned()), &Chains::Of(Scope::Chain(Chain::ETHEREUM)))
    }

    #[test]
    fn scope_of_bitcoin_and_tron_follows_from_the_form() {
        for hint in ["XBT", "BTC", "ETH", "USDT", "TRX", "UNKNOWN", "ARB", "-", "1"] {
            assert_eq!(ticker(BITCOIN_ADDRESS, hint), "bitcoin", "{hint}");
            assert_eq!(chain(TRON_ADDRESS, hint), "tron", "{hint}");
        }
        assert_eq!(ticker(TRON_ADDRESS, "NEWCOIN"), "tron");
        let contradicted = |text: &str, hint: &str| {
            let hint = ChainHint::Ticker(hint.to_owned());
            matches!(place(&address::read_cell(text)[0], &read_hint(&hint), &Chains::Missing), Placed::On(place) if place.is_contradicted)
        };
        assert!(contradicted(BITCOIN_ADDRESS, "ETH") && contradicted(TRON_ADDRESS, "XBT"));
        assert!(!contradicted(TRON_ADDRESS, "USDT") && !contradicted(BITCOIN_ADDRESS, "BTC"));
    }

    #[test]
    fn scope_among_evm_chains_follows_from_the_hint() {
        for (hint, scope) in [
            ("ETH", "ethereum"),
            ("ERC20", "ethereum"),
            ("BSC", "bsc"),
            ("BNB Smart Chain", "bsc"),
            ("eip155:56", "bsc"),
            ("56", "bsc"),
            ("eip155:any", "evm"),
            ("USDC", "ethereum"),
            ("BTC", "elsewhere bitcoin"),
            ("ARBITRUM", "elsewhere arbitrum"),
            ("eip155:10", "elsewhere optimism"),
            ("424242", "elsewhere eip155:424242"),
            ("Avalanche C-Chain", "elsewhere avalanche"),
            ("Ziliqa", "foreign Ziliqa"),
            ("Solana", "foreign Solana"),
            ("BTC ", "elsewhere bitcoin"),
            ("Tron (TRC20)", "elsewhere tron"),
            ("BNB Smart Chain (BEP20)", "bsc"),
            ("Ethereum (TRC20)", "ethereum"),
            ("Ethereum / BSC", "foreign Ethereum / BSC"),
            ("BSC testnet", "elsewhere bsc-testnet"),
        ] {
            assert_eq!(chain(EVM_ADDRESS, hint), scope, "{hint}");
        }
        for hint in ["NEWCOIN", "BTC", "TRX"] {
            assert_eq!(ticker(EVM_ADDRESS, hint), "ethereum", "{hint}");
        }
        assert_eq!(
            shown(EVM_ADDRESS, &ChainHint::None, &default_chains(Some(Chain::BSC), Some(Chain::ETHEREUM))),
            "bsc"
        );
        assert_eq!(shown(EVM_ADDRESS, &ChainHint::None, &default_chains(None, Some(Chain::ETHEREUM))), "ethereum");
        assert_eq!(shown(EVM_ADDRESS, &ChainHint::None, &default_chains(None, None)), "missing");
        assert_eq!(shown(EVM_ADDRESS, &ChainHint::None, &default_chains(Some(Chain::TRON), None)), "elsewhere tron");
    }

    #[test]
    fn scope_follows_from_what_stands_before_an_address() {
        let ethereum = Chains::Of(Scope::Chain(Chain::ETHEREUM));
        for (prefix, scope) in [
            ("eip155:56:", "bsc"),
            ("eip155:137:", "elsewhere polygon"),
            ("eip155:4242:", "elsewhere eip155:4242"),
            ("bnb:", "bsc"),
            ("eth:", "ethereum"),
            ("oeth:", "elsewhere optimism"),
            ("arb1:", "elsewhere arbitrum"),
            ("base:", "elsewhere base"),
            ("https://bscscan.com/address/", "bsc"),
            ("https://polygonscan.com/address/", "elsewhere polygon"),
            ("https://example.com/address/", "ethereum"),
            ("https://blockchair.com/bnb/address/", "bsc"),
        ] {
            assert_eq!(shown(&format!("{prefix}{EVM_ADDRESS}"), &ChainHint::None, &ethereum), scope, "{prefix}");
        }
        let on = |text: String, hint: &str| chain(&text, hint);
        assert_eq!(on(format!("ethereum:{EVM_ADDRESS}"), "bsc"), "bsc");
        assert_eq!(on(format!("ethereum:{EVM_ADDRESS}@137"), ""), "elsewhere polygon");
        assert_eq!(on(format!("oeth:{EVM_ADDRESS}"), "ethereum"), "elsewhere optimism");
        assert_eq!(on(format!("foo:{EVM_ADDRESS}"), "ethereum"), "unread");
    }

    #[test]
    fn unknown_words_claim_no_address_of_a_shared_form() {
        assert_eq!(chain(BITCOIN_ADDRESS, "Bitcoin Candy"), "foreign Bitcoin Candy");
        assert_eq!(chain(BITCOIN_ADDRESS, "Bitcoin (BTC)"), "bitcoin");
        assert_eq!(chain(BITCOIN_ADDRESS, "Litecoin"), "foreign Litecoin");
        assert_eq!(chain(TRON_ADDRESS, "Ethereum (TRC20)"), "tron");
        assert_eq!(chain(TRON_ADDRESS, "Foo"), "tron");
        assert_eq!(chain(TRON_ADDRESS, "Shasta"), "foreign Shasta");
        let network = |hint: &str| match place(
            &address::read_cell(BITCOIN_ADDRESS)[0],
            &read_hint(&ChainHint::Chain(hint.to_owned())),
            &Chains::Missing,
        ) {
            Placed::Foreign(elsewhere) => elsewhere.network,
            placed => panic!("{placed:?}"),
        };
        assert_eq!((network("LTC"), network("Candy")), ("litecoin".to_owned(), "Candy".to_owned()));
    }

    #[test]
    fn coins_that_are_not_held_keep_their_ticker() {
        for ticker_text in ["LTC", "ZEC", "DASH", "XMR", "BCH", "BSV", "BTG", "XVG", "XRP", "SOL", "DOGE"] {
            for text in [BITCOIN_ADDRESS, "LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp", "rGiBmKpGJjhKhf3QDMqQG2Rjwth3yDjRjk"] {
                assert_eq!(ticker(text, ticker_text), format!("foreign {ticker_text}"), "{text}");
            }
        }
        assert_eq!(ticker("bnb1gu7rykvpznczr29phjvmn0d537nx6cn0sp3449", "BNB"), "foreign BNB");
        assert_eq!(ticker(BITCOIN_ADDRESS, "NEWCOIN"), "foreign NEWCOIN");
        assert_eq!(ticker("D8XskHfyM9eN6g9aB5zJ16oCUT9DRPpfbf", "NEWCOIN"), "foreign NEWCOIN");
        assert_eq!(ticker("D8XskHfyM9eN6g9aB5zJ16oCUT9DRPpfbf", "USDT"), "unread");
        let cash = "bitcoincash:qzd7a9frd5ejvdfxcj3yhntmjfct5v9lkupptq8s33";
        assert_eq!(chain(cash, "BCH"), "foreign BCH");
        assert_eq!(shown(cash, &ChainHint::None, &Chains::Missing), "foreign BCH");
    }

    #[test]
    fn sanctions_hold_on_every_evm_chain() {
        assert!(widens(Code::Sanction, true) && widens(Code::Sanction, false) && widens(Code::SanctionDelisted, true));
        assert!(widens(Code::TerroristFinancing, false) && !widens(Code::TerroristFinancing, true));
        assert!(!widens(Code::Phishing, false) && !widens(Code::Csam, false));
    }
}
