//! On which chains a statement holds: the form of the address decides the family, the list decides among its chains.

use headwater_ledger::labels::{Category, Code, Scope};
use headwater_types::{Address, Chain, Family};

use super::address::{Piece, Reading};
use crate::labels::raw::ChainHint;

/// What a list says of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// Nothing, or the symbol of a token that many chains have.
    Nothing,
    /// A chain that is held.
    Held(Chain),
    /// Every EVM chain.
    AnyEvm,
    /// An EVM chain that is not held.
    ElsewhereEvm(String),
    /// A coin whose addresses are of no chain that is held.
    Foreign(String),
    /// A symbol that is not known: a token, or a coin of its own.
    Symbol(String),
}

/// What becomes of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Placed {
    /// It belongs to another chain, and is kept under this ticker.
    Foreign(String),
    /// It is an address, and holds there; which codes widen that is in [`widens`].
    On(Place),
    /// It cannot be read as an address.
    Unread,
}

/// Where a statement about an address holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The chains.
    pub(super) chains: Chains,
    /// Whether the list names the chain, rather than a coin or nothing.
    pub(super) is_named: bool,
    /// Whether the list names a chain on which there is no such address.
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

/// Whether a code holds on every EVM chain, whatever chain the list names. Whoever is on a list of sanctions controls the
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

/// What becomes of a piece of a cell.
pub(super) fn place(piece: &Piece, named: &Named, is_chain_hint: bool, default: &Chains) -> Placed {
    let from_uri = piece.chain.filter(|_| *named == Named::Nothing).map(Named::Held);
    let named = from_uri.as_ref().unwrap_or(named);
    if let Named::Foreign(ticker) = named {
        return Placed::Foreign(ticker.clone());
    }
    let address = match piece.reading {
        Reading::Address(address, _) => address,
        Reading::BadChecksum | Reading::Malformed => {
            return match (foreign_form(&piece.text), named) {
                (Some(ticker), _) => Placed::Foreign(ticker.to_owned()),
                (None, Named::Symbol(ticker)) => Placed::Foreign(ticker.clone()),
                (None, _) => Placed::Unread,
            };
        }
    };
    // Many coins have addresses that look like those of bitcoin.
    if let (Address::Utxo(_), Named::Symbol(ticker)) = (address, named) {
        return Placed::Foreign(ticker.clone());
    }
    Placed::On(on_chains(&address, named, is_chain_hint, default))
}

fn on_chains(address: &Address, named: &Named, is_chain_hint: bool, default: &Chains) -> Place {
    let family = address.family();
    let is_contradicted = match named {
        Named::Held(chain) => chain.family() != family,
        Named::AnyEvm | Named::ElsewhereEvm(_) => family != Family::Evm,
        Named::Nothing | Named::Foreign(_) | Named::Symbol(_) => false,
    };
    let evm = || match named {
        Named::Held(chain) if chain.family() == Family::Evm => Chains::Of(Scope::Chain(*chain)),
        Named::Held(chain) if *default == Chains::Missing => Chains::Elsewhere(chain.name().to_owned()),
        Named::AnyEvm => Chains::Of(Scope::Evm),
        Named::ElsewhereEvm(name) => Chains::Elsewhere(name.clone()),
        Named::Symbol(name) if *default == Chains::Missing => Chains::Elsewhere(name.clone()),
        Named::Nothing | Named::Held(_) | Named::Foreign(_) | Named::Symbol(_) => default.clone(),
    };
    let chains = match family {
        Family::Utxo => Chains::Of(Scope::Chain(Chain::BITCOIN)),
        Family::Tron => Chains::Of(Scope::Chain(Chain::TRON)),
        Family::Evm => evm(),
    };
    let is_evm_chain = matches!(named, Named::AnyEvm | Named::ElsewhereEvm(_))
        || matches!(named, Named::Held(chain) if chain.family() == Family::Evm);
    Place { chains, is_named: is_chain_hint && is_evm_chain, is_contradicted }
}

/// What a hint says.
pub(super) fn named(hint: &ChainHint) -> Named {
    let (text, is_chain) = match hint {
        ChainHint::None => return Named::Nothing,
        ChainHint::AnyEvm => return Named::AnyEvm,
        ChainHint::Ticker(text) => (text.trim(), false),
        ChainHint::Chain(text) => (text.trim(), true),
    };
    if let Ok(chain) = text.parse() {
        return Named::Held(chain);
    }
    let word: String = text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let is_in = |words: &str| words.split_whitespace().any(|known| known == word);
    if word.is_empty() || is_in(NOTHING) || is_in(TOKENS) {
        return Named::Nothing;
    }
    if let Some((_, chain)) = HELD.iter().find(|(words, _)| is_in(words)) {
        return Named::Held(*chain);
    }
    if is_in(ANY_EVM) {
        return Named::AnyEvm;
    }
    let number = word.strip_prefix("eip155").unwrap_or(&word);
    if is_in(EVM) || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())) {
        return Named::ElsewhereEvm(text.to_owned());
    }
    if is_chain || is_in(FOREIGN) { Named::Foreign(text.to_owned()) } else { Named::Symbol(text.to_owned()) }
}

/// Words that say nothing.
const NOTHING: &str = "unknown none null na nan other others multiple multi multichain various crypto all default";

/// Tokens of many chains.
const TOKENS: &str = "usdt usdc tether busd tusd dai usdd fdusd pyusd usdp pax paxg xaut weth wbtc steth link uni shib";

/// Further names of chains that are held, without blanks and marks.
const HELD: &[(&str, Chain)] = &[
    ("xbt bitcoinmainnet bitcoinnetwork btcmainnet lightning omni", Chain::BITCOIN),
    ("erc20 ether ethereummainnet ethmainnet ethereumnetwork", Chain::ETHEREUM),
    ("bep20 bnbchain bnbsmartchain binancesmartchain bscmainnet bnbmainnet bnbbsc", Chain::BSC),
    ("trc20 trc10 728126428 eip155728126428 tronmainnet tronnetwork", Chain::TRON),
];

const ANY_EVM: &str = "evm allevm anyevm eip155any eip155 evmchains";

/// EVM chains that are not held, by name and by ticker, without blanks and marks.
const EVM: &str = "abstract arb arbitrum arbitrumone arbitrumnova arbitrumnitro astar aurora avalanche avalanchec \
    avalanchecchain avax avaxc avaxcchain base berachain blast boba bob bttc celo core cronos cro dogechain etc \
    ethereumclassic etcmainnet evmos fantom ftm flare fraxtal fuse gnosis gnosischain goerli harmony heco holesky hoodi \
    hyperevm hyperliquid immutable ink iotex kaia kava klaytn klay kovan linea lisk manta mantle matic metis mode \
    moonbeam moonriver okc okt oktc op opbnb optimism polygon polygonpos polygonzkevm pulsechain rinkeby ronin ropsten \
    rootstock rsk scroll sei sepolia shibarium sonic taiko unichain wemix worldchain xdai xdc xlayer zircuit zksync \
    zksyncera zora bsctestnet bnbtestnet";

/// Coins with addresses of their own.
const FOREIGN: &str = "ada algo algorand aptos apt atom avm bch bitcoincash bcd bitcoindiamond bsv bitcoinsv btg \
    bitcoingold btcp cardano cosmos dash dcr decred dgb digibyte doge dogecoin dot eos fil filecoin firo grs hbar icp iota \
    kas kaspa kda ksm ltc litecoin miota mona monero nano near neo nmc namecoin ont pivx polkadot ppc qtum ravencoin rvn \
    ripple sc siacoin sol solana stellar sui ton vtc waves xec xem xlm xmr xrp xtz tezos xvg verge zcash zec zen zil \
    zilliqa";

/// The coin of a text in the form of an address of another chain, where the form names it.
fn foreign_form(text: &str) -> Option<&'static str> {
    const FORMS: &[(&str, &str)] = &[
        ("bnb1", "BNB"),
        ("ltc1", "LTC"),
        ("bitcoincash:", "BCH"),
        ("litecoin:", "LTC"),
        ("dogecoin:", "DOGE"),
        ("cosmos1", "ATOM"),
        ("addr1", "ADA"),
    ];
    const SHORTEST: usize = 30;
    let lower = text.to_ascii_lowercase();
    let found = FORMS.iter().find(|(start, _)| lower.starts_with(start));
    found.filter(|_| text.len() >= SHORTEST).map(|(_, ticker)| *ticker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::normalise::address::read_cell;

    const EVM_ADDRESS: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
    const TRON_ADDRESS: &str = "TDumhjnkbkDDrKrMXb242Wh8jXt3u66NpT";
    const BITCOIN_ADDRESS: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";

    fn shown(text: &str, hint: &ChainHint, default: &Chains) -> String {
        let is_chain = matches!(hint, ChainHint::Chain(_) | ChainHint::AnyEvm);
        match place(&read_cell(text)[0], &named(hint), is_chain, default) {
            Placed::Foreign(ticker) => format!("foreign {ticker}"),
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
            matches!(place(&read_cell(text)[0], &named(&hint), false, &Chains::Missing), Placed::On(place) if place.is_contradicted)
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
            ("BTC", "ethereum"),
            ("ARBITRUM", "elsewhere ARBITRUM"),
            ("eip155:10", "elsewhere eip155:10"),
            ("424242", "elsewhere 424242"),
            ("Avalanche C-Chain", "elsewhere Avalanche C-Chain"),
            ("Ziliqa", "foreign Ziliqa"),
            ("BTC ", "ethereum"),
        ] {
            assert_eq!(chain(EVM_ADDRESS, hint), scope, "{hint}");
        }
        assert_eq!(ticker(EVM_ADDRESS, "NEWCOIN"), "ethereum");
        assert_eq!(
            shown(EVM_ADDRESS, &ChainHint::None, &default_chains(Some(Chain::BSC), Some(Chain::ETHEREUM))),
            "bsc"
        );
        assert_eq!(shown(EVM_ADDRESS, &ChainHint::None, &default_chains(None, Some(Chain::ETHEREUM))), "ethereum");
        assert_eq!(shown(EVM_ADDRESS, &ChainHint::None, &default_chains(None, None)), "missing");
        assert_eq!(shown(EVM_ADDRESS, &ChainHint::None, &default_chains(Some(Chain::TRON), None)), "elsewhere tron");
        assert_eq!(shown(&format!("eip155:56:{EVM_ADDRESS}"), &ChainHint::None, &Chains::Missing), "bsc");
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
