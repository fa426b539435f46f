//! Reads a cell that names a network, in the words of exchanges, analysts and standards.

use headwater_types::{Chain, Family};

use super::{Network, Strength, find, of_evm_id, of_id, squeezed};

/// The network that a cell names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stated {
    /// Nothing, or the symbol of a token that many chains have.
    Nothing,
    /// One network.
    One(&'static Network),
    /// Several networks: its parts contradict each other.
    OneOf(Vec<&'static Network>),
    /// Every EVM chain.
    AnyEvm,
    /// An EVM chain that is not in the table, by its id.
    EvmId(u64),
    /// Words that are not known.
    Unknown,
}

/// Words that say nothing.
const NOTHING: &str = "unknown none null na nan other others multiple multi multichain various crypto all default";

/// Tokens of many chains.
const TOKENS: &str = "usdt usdc tether busd tusd dai usdd fdusd pyusd usdp pax paxg xaut weth wbtc steth link uni shib \
    usd1 usde usds usdce usdt0 eurc wbeth cbbtc";

const ANY_EVM: &str = "evm allevm anyevm eip155any eip155 evmchains evmcompatible";

/// Words beside the name of a network that add nothing to it.
const FILLERS: &str = "mainnet network chain blockchain token tokens coin native main net protocol standard address \
    wallet deposit withdrawal hot cold the on via evm segwit nativesegwit legacy taproot bech32 p2pkh p2sh p2wpkh p2tr \
    l1 l2 layer layer1 layer2 1 2";

/// Fillers that make a network of the word beside them.
const NETWORK_MARKS: &str = "mainnet network chain blockchain evm l1 l2 layer layer1 layer2";

/// The standard of tokens on Ethereum, which its sister chains use as well.
const ERC20: &str = "erc20";

/// Standards of tokens, each of one network: beside them stands the symbol of a token.
const STANDARDS: &str = "erc20 erc721 erc1155 trc20 trc10 bep20 bep2 spl brc20 omni";

/// A name of a network has at most so many words.
const MAX_WORDS: usize = 4;

fn is_in(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// Reads a cell: `Tron (TRC20)`, `ETH-ERC20`, `BNB Smart Chain`, `0x38`, `56`, `eip155:56`, also with an address behind
/// (CAIP-10).
///
/// Names of networks and standards of tokens decide; tickers count only where neither is there, since the coin of one
/// network may be held on another. Parts that name different networks are [`Stated::OneOf`]; a word that is not known,
/// beside a name, makes the cell unknown, as `Bitcoin Candy` is not bitcoin.
pub(crate) fn read_cell(text: &str) -> Stated {
    let text = text.trim();
    if let Some(network) = text.parse().ok().and_then(|chain: Chain| super::by_name(chain.name())) {
        return Stated::One(network);
    }
    let word = squeezed(text);
    if word.is_empty() || is_in(NOTHING, &word) || is_in(TOKENS, &word) {
        return Stated::Nothing;
    }
    if is_in(ANY_EVM, &word) {
        return Stated::AnyEvm;
    }
    if let Some(stated) = identifier(text) {
        return stated;
    }
    match find(&word) {
        Some((network, _)) => Stated::One(network),
        None => Parts::of(text).stated(),
    }
}

/// Returns true if a text names a network where it may also be a name of anything else. Common words and lone numbers, which
/// [`read_cell`] knows, name none; identifiers with a prefix, such as `eip155:56` and `0x38`, do.
pub(crate) fn names_network(text: &str) -> bool {
    let text = text.trim();
    let is_number = || text.split('.').all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    match read_cell(text) {
        Stated::One(network) => {
            let mut words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
            let is_own = |text: &str| super::of_coin_word(text) == Some(network);
            let is_common = |word: &str| matches!(find(&squeezed(word)), Some((_, Strength::Cell)));
            !is_number() && (is_own(text) || words.clone().any(is_own) || !(is_common(text) || words.any(is_common)))
        }
        Stated::EvmId(_) => text.contains(':'),
        Stated::AnyEvm => true,
        Stated::Nothing | Stated::OneOf(_) | Stated::Unknown => false,
    }
}

/// Returns the network of a CAIP-2 or CAIP-10 identifier, or of the number of an EVM chain.
fn identifier(text: &str) -> Option<Stated> {
    if let Some((namespace, rest)) = text.split_once(':') {
        let reference = rest.split(':').next().unwrap_or_default().trim();
        let id = format!("{}:{reference}", namespace.trim());
        if let Some(network) = of_id(&id) {
            return Some(Stated::One(network));
        }
        let is_evm = namespace.trim().eq_ignore_ascii_case("eip155");
        return is_evm.then(|| number(reference).map_or(Stated::Unknown, of_number));
    }
    number(text).map(of_number)
}

fn of_number(id: u64) -> Stated {
    of_evm_id(id).map_or(Stated::EvmId(id), Stated::One)
}

/// The number of a chain, in digits or in hex behind `0x`; a table of numbers may print `56.0`.
fn number(text: &str) -> Option<u64> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten(),
    }
}

/// The parts of a cell.
#[derive(Default)]
struct Parts {
    names: Vec<&'static Network>,
    coins: Vec<&'static Network>,
    /// Ethereum, where the cell names its standard of tokens.
    erc20: Option<&'static Network>,
    has_standard: bool,
    has_token: bool,
    has_network_mark: bool,
    unknown: usize,
}

impl Parts {
    fn of(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let mut parts = Self::default();
        let mut rest = &words[..];
        while !rest.is_empty() {
            let taken = parts.take(rest);
            rest = rest.get(taken..).unwrap_or_default();
        }
        parts
    }

    /// Takes the longest name at the beginning; returns how many words it has.
    fn take(&mut self, words: &[&str]) -> usize {
        for count in (1..=words.len().min(MAX_WORDS)).rev() {
            let word = words.iter().take(count).copied().collect::<String>();
            // A single word may be one that only fills.
            if count == 1 && is_in(FILLERS, &word) {
                continue;
            }
            self.has_standard |= is_in(STANDARDS, &word);
            if word == ERC20 {
                self.erc20 = super::by_name(Chain::ETHEREUM.name());
                return count;
            }
            if is_in(TOKENS, &word) {
                self.has_token = true;
                return count;
            }
            let found = find(&word);
            match found {
                Some((network, Strength::Name | Strength::Cell)) => add(&mut self.names, network),
                Some((network, Strength::Coin)) => add(&mut self.coins, network),
                None => continue,
            }
            return count;
        }
        let is_filler = words.first().is_some_and(|word| is_in(FILLERS, word));
        self.has_network_mark |= words.first().is_some_and(|word| is_in(NETWORK_MARKS, word));
        self.unknown += usize::from(!is_filler);
        1
    }

    fn stated(mut self) -> Stated {
        // Beside the standard of a token stands its symbol.
        let is_symbol = self.unknown == 1 && self.has_standard && !self.has_network_mark;
        if self.unknown > 0 && !is_symbol {
            return Stated::Unknown;
        }
        self.prefer_test_networks();
        let mut found = if !self.names.is_empty() {
            let has_evm = self.names.iter().any(|network| network.is_like(Family::Evm));
            self.names.extend(self.erc20.filter(|_| !has_evm));
            self.names
        } else if self.erc20.is_some() {
            self.erc20.into_iter().collect()
        } else {
            self.coins
        };
        match (found.len(), found.pop()) {
            (1, Some(network)) => Stated::One(network),
            (_, Some(network)) => {
                found.push(network);
                Stated::OneOf(found)
            }
            (_, None) if self.has_token => Stated::Nothing,
            (_, None) => Stated::Unknown,
        }
    }

    /// `Ethereum Sepolia` and `BSC testnet` are test networks.
    fn prefer_test_networks(&mut self) {
        if let Some(test) = self.names.iter().find(|network| network.is_test) {
            self.names = vec![test];
        }
    }
}

fn add(networks: &mut Vec<&'static Network>, network: &'static Network) {
    if !networks.contains(&network) {
        networks.push(network);
    }
}
