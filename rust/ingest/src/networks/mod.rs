//! Networks: the chains that are held, their sister chains and their test networks, with the words that name them.
//!
//! One table, `networks.csv`, serves the chain columns of lists ([`read_cell`]), the names of files and folders
//! ([`in_name`], [`in_folder`]), links to explorers ([`of_host`]) and the forms of addresses ([`of_address`]).

mod cell;
mod file_name;
mod form;

use std::sync::LazyLock;

use headwater_bridge::BridgeChain;
use headwater_types::{Chain, Family};
use rustc_hash::FxHashMap;

pub(crate) use cell::{Stated, names_network, read_cell};
pub(crate) use file_name::{in_folder, in_name, of_site};
pub(crate) use form::{of_address, of_prefix};

const TABLE: &str = include_str!("networks.csv");

static NETWORKS: LazyLock<Vec<Network>> =
    LazyLock::new(|| read(TABLE).unwrap_or_else(|line| panic!("networks.csv, which a test reads: {line}")));
static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(&NETWORKS));

/// The account model of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As a family of chains that are held.
    Like(Family),
    /// In its own way.
    Other,
    /// A word such as `testnet`, which is said of networks of any kind.
    Any,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Network {
    /// The name, as messages contain it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_test: bool,
    /// The chain of the engine; `None` for all others.
    pub(crate) held: Option<Chain>,
    ids: Vec<String>,
    names: Vec<&'static str>,
    coins: Vec<&'static str>,
    cells: Vec<&'static str>,
    hosts: Vec<&'static str>,
    forms: Vec<&'static str>,
}

impl Network {
    /// The ticker of its coin, or its name.
    pub(crate) fn ticker(&self) -> String {
        self.coins.first().map_or_else(|| self.name.to_owned(), |coin| coin.to_uppercase())
    }

    /// Returns true if it is a test network of a chain, or the word `testnet`.
    pub(crate) fn is_test_of(&self, chain: Chain) -> bool {
        let rest = self.name.strip_prefix(chain.name()).and_then(|rest| rest.strip_prefix('-'));
        self.is_test && (self.kind == Kind::Any || rest.is_some_and(|rest| !rest.contains('-')))
    }

    /// Returns true if its addresses and files have the form of those of a family.
    pub(crate) fn is_like(&self, family: Family) -> bool {
        match self.kind {
            Kind::Like(own) => own == family,
            Kind::Other => false,
            Kind::Any => true,
        }
    }
}

/// The strength of a word as evidence of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// It is the name of the network.
    Name,
    /// It is the ticker of its coin, which other networks may also carry.
    Coin,
    /// It is a common word: a name in a cell for networks only.
    Cell,
}

/// The ways into the table.
struct Index {
    words: FxHashMap<&'static str, (&'static Network, Strength)>,
    sites: FxHashMap<String, &'static Network>,
    ids: FxHashMap<&'static str, &'static Network>,
    hosts: FxHashMap<&'static str, &'static Network>,
}

impl Index {
    fn of(networks: &'static [Network]) -> Self {
        let mut index = Self {
            words: FxHashMap::default(),
            sites: FxHashMap::default(),
            ids: FxHashMap::default(),
            hosts: FxHashMap::default(),
        };
        for network in networks {
            let words =
                [(&network.names, Strength::Name), (&network.coins, Strength::Coin), (&network.cells, Strength::Cell)];
            for (words, strength) in words {
                index.words.extend(words.iter().map(|word| (*word, (network, strength))));
            }
            index.ids.extend(network.ids.iter().map(|id| (id.as_str(), network)));
            for host in &network.hosts {
                index.hosts.insert(host, network);
                // Files are named for a site with or without its ending.
                let without_ending = host.rsplit_once('.').map_or(*host, |(site, _)| site);
                let sites = [*host, without_ending].map(squeezed);
                for site in sites.into_iter().filter(|site| !ENDINGS.contains(&site.as_str())) {
                    index.sites.entry(site).or_insert(network);
                }
            }
        }
        index
    }
}

/// Letters and digits of a text, in lower case.
fn squeezed(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Endings that add nothing to the name of a network.
const ENDINGS: [&str; 4] = ["mainnet", "network", "blockchain", "chain"];

/// A word, squeezed, with or without an ending such as `mainnet`.
fn find(word: &str) -> Option<(&'static Network, Strength)> {
    let known = |word: &str| INDEX.words.get(word).copied();
    known(word).or_else(|| ENDINGS.iter().find_map(|ending| known(word.strip_suffix(ending)?)))
}

/// The network with a name of the table.
pub(crate) fn by_name(name: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|network| network.name == name)
}

/// The network whose name or coin a text is, in any case and with any marks: `Bitcoin Cash`, `bitcoin-cash`, `BCH`.
/// Common words such as `near` and `core` name none.
pub(crate) fn of_coin_word(text: &str) -> Option<&'static Network> {
    find(&squeezed(text)).filter(|(_, strength)| *strength != Strength::Cell).map(|(network, _)| network)
}

/// The network with a CAIP-2 identifier.
pub(crate) fn of_id(id: &str) -> Option<&'static Network> {
    INDEX.ids.get(id.to_ascii_lowercase().as_str()).copied()
}

/// The network with a chain id of EIP-155.
pub(crate) fn of_evm_id(id: u64) -> Option<&'static Network> {
    of_id(&format!("eip155:{id}"))
}

/// Years, which are not chain ids where a number stands alone.
const YEARS: std::ops::Range<u64> = 1990..2100;

/// The network with a chain id of EIP-155 that stands alone, in a place where it may also be a count, a day or a year:
/// such as these name no network.
pub(crate) fn of_lone_evm_id(text: &str) -> Option<&'static Network> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0') && text.len() > 1;
    let id = text.parse().ok().filter(|id| is_plain && !YEARS.contains(id))?;
    of_evm_id(id)
}

/// Returns true if a text is the CAIP-2 identifier of an EVM chain.
pub(crate) fn is_evm_id(text: &str) -> bool {
    text.strip_prefix("eip155:").is_some_and(|id| id.parse::<u64>().is_ok())
}

/// The network of an explorer by the host of a link to it.
pub(crate) fn of_host(host: &str) -> Option<&'static Network> {
    let host = host.to_ascii_lowercase();
    let host = ["www.", "cn.", "m."].iter().find_map(|before| host.strip_prefix(before)).unwrap_or(&host);
    INDEX.hosts.get(host).copied()
}

/// Reads the table; a line that cannot be read is the error.
fn read(table: &'static str) -> Result<Vec<Network>, &'static str> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| row(line).ok_or(line)).collect()
}

fn row(line: &'static str) -> Option<Network> {
    let fields: Vec<&'static str> = line.split(',').collect();
    let [name, kind, test, ids, names, coins, cells, hosts, forms] = fields[..] else { return None };
    let kind = match kind {
        "evm" => Kind::Like(Family::Evm),
        "utxo" => Kind::Like(Family::Utxo),
        "tron" => Kind::Like(Family::Tron),
        "other" => Kind::Other,
        "any" => Kind::Any,
        _ => return None,
    };
    let words = |field: &'static str| field.split_whitespace().collect();
    let mut ids: Vec<String> = ids.split_whitespace().map(str::to_owned).collect();
    let held = Chain::from_name(name);
    ids.extend(BridgeChain::from_name(name).and_then(BridgeChain::caip2).map(|id| id.to_ascii_lowercase()));
    let (names, coins) = (words(names), words(coins));
    let is_test = test == "1";
    Some(Network {
        name,
        kind,
        is_test,
        held,
        ids,
        names,
        coins,
        cells: words(cells),
        hosts: words(hosts),
        forms: words(forms),
    })
}

#[cfg(test)]
mod tests;
