//! Name tags and labels of Etherscan and its sister sites, which several files copy.

use std::sync::LazyLock;

use headwater_ledger::labels::Code;
use headwater_types::Timestamp;
use rustc_hash::FxHashSet;

use super::reading::filled;
use crate::Place;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::networks::{of_host, of_site};
use crate::source::Probe;

/// The labels of these sites.
pub(super) const VOCABULARY: Vocabulary = Vocabulary("etherscan");
/// The provenance group of their files.
pub(super) const GROUP: &str = "etherscan";

/// The concept of the contract of a token: labels beside it say what the token is about.
const TOKEN_CONTRACT: &str = "token-contract";
/// Labels that say of a token contract what it did.
const ABUSES: [&str; 7] = ["phish-hack", "heist", "exploit", "scam", "hack", "rug-pull", "honeypot"];
/// The beginning of labels of sanctioned addresses.
const SANCTIONED: &str = "ofac-";
/// Labels under which a name imitates another or was made up by the site.
const MADE_UP: [&str; 4] = ["phish-hack", "scam", "spam-token", "honeypot"];
/// The label of hot wallets, which is also that of an exchange's address whose name says so.
const HOT_WALLET: &str = "hot-wallet";

/// The labels of exchanges in the table of concepts.
static EXCHANGES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    let rows = include_str!("../concepts/etherscan.csv").lines();
    let concept = |row: &'static str| {
        let (concept, rest) = row.split_once(',')?;
        (rest.split(',').next() == Some("exchange")).then_some(concept)
    };
    rows.filter_map(concept).collect()
});

/// The beginning of the part of a name behind its colon, for an address that takes deposits.
const DEPOSIT: &str = "Deposit";

/// Words before the colon of a name that are not an entity.
const KINDS: [&str; 15] = [
    "MEV Bot",
    "MEV Builder",
    "Fund",
    "Router",
    "Null",
    "Miner",
    "Fee Recipient",
    "Sybil Delegate",
    "Validator",
    "Contract",
    "Hack",
    "Deployer",
    "Proposer",
    "Wallet",
    "Gitcoin Grants",
];
/// Words in brackets behind a name that are not a symbol.
const REMARKS: [&str; 6] = ["old", "new", "hot", "cold", "deprecated", "locked"];
/// Words of names that state what happened at an address.
const EVENTS: [&str; 11] =
    ["fake", "phish", "phishing", "scam", "spam", "victim", "compromised", "vulnerable", "alert", "hackathon", "poor"];

/// The facts of an address in one row.
pub(super) struct NameTag<'a> {
    pub(super) place: Place,
    pub(super) address: &'a str,
    pub(super) chain: ChainHint,
    pub(super) name: Option<&'a str>,
    pub(super) labels: Vec<&'a str>,
    pub(super) asserted_at: Option<Timestamp>,
    /// True if the file lists token contracts only.
    pub(super) is_token: bool,
}

impl NameTag<'_> {
    /// Adds the claim of the row.
    pub(super) fn add(&self, labels: &mut RawLabels) {
        let name = filled(self.name);
        let is_token = self.is_token || name.is_some_and(names_token);
        let of = || self.labels.iter().map(|label| label.trim()).filter(|label| !label.is_empty());
        let is_made_up = of().any(|label| MADE_UP.contains(&label));
        let is_hot = name.is_some_and(names_hot_wallet);
        let concepts: Vec<&str> = if is_token {
            let is_kept = |label: &&str| ABUSES.contains(label) || label.starts_with(SANCTIONED);
            of().filter(is_kept).chain([TOKEN_CONTRACT]).collect()
        } else {
            of().map(|label| if is_hot && EXCHANGES.contains(label) { HOT_WALLET } else { label }).collect()
        };
        let mut concepts: Vec<String> = concepts.into_iter().map(str::to_owned).collect();
        if !is_token && name.is_some_and(names_deposit) {
            concepts.retain(|label| !EXCHANGES.contains(label.as_str()));
            concepts.push(Vocabulary::own_word(Code::Deposit.name()));
        }
        let entity = name.filter(|_| !is_token && !is_made_up).and_then(entity_of);
        labels.claims.push(RawClaim {
            place: Some(self.place),
            address: self.address.to_owned(),
            chain: self.chain.clone(),
            concepts,
            name: name.map(str::to_owned),
            entity: entity.map(str::to_owned),
            asserted_at: self.asserted_at,
            ..RawClaim::default()
        });
    }
}

/// Returns true if a name is one of a token contract: `Maker (MKR)`, `Binance: BNB Token`.
pub(super) fn names_token(name: &str) -> bool {
    let symbol = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).map(|(_, symbol)| symbol);
    let is_remark = |text: &str| REMARKS.iter().any(|remark| text.eq_ignore_ascii_case(remark));
    let is_symbol = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace) && !is_remark(text);
    // What stands behind a colon is a part of an entity, and brackets after it say which.
    (symbol.is_some_and(is_symbol) && !name.contains(": "))
        || [" Token", " Stablecoin"].iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a name is one of an address that takes deposits: `Binance: Deposit 12`.
fn names_deposit(name: &str) -> bool {
    let role = name.split_once(": ").and_then(|(_, role)| role.trim().strip_prefix(DEPOSIT));
    role.is_some_and(|number| number.trim().bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if a name is one of a hot wallet.
pub(super) fn names_hot_wallet(name: &str) -> bool {
    let words: Vec<String> = name
        .split(|letter: char| !letter.is_alphabetic())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.windows(2).any(|pair| pair[0] == "hot" && pair[1].starts_with("wallet"))
}

/// Returns the entity behind an address by its name: the part before the colon, unless the name is a kind or an event.
fn entity_of(name: &str) -> Option<&str> {
    let entity = name.split_once(':').map_or(name, |(before, _)| before).trim();
    let is_event = |word: &str| EVENTS.iter().any(|event| word.eq_ignore_ascii_case(event));
    let is_named = name.starts_with(|first: char| first.is_alphanumeric() || first == '.')
        && !KINDS.iter().any(|kind| entity.eq_ignore_ascii_case(kind))
        && !name.split(|letter: char| !letter.is_alphabetic()).any(is_event);
    is_named.then_some(entity)
}

/// The number of folders above a file that may name the site.
const FOLDERS: usize = 3;

/// The chain of the explorer that the name of a file, or of a folder above it, contains.
pub(super) fn site_of(probe: &Probe) -> ChainHint {
    site_among(probe, FOLDERS + 1, 0)
}

/// The chain of the explorer that a folder above a file is named for, where the name of the file is something else.
pub(super) fn site_of_folders(probe: &Probe) -> ChainHint {
    site_among(probe, FOLDERS, 1)
}

/// The chain by the nearest of some parts of a path. Names of networks do not count: they are labels as well, such as
/// `optimism` and `ronin-bridge`.
fn site_among(probe: &Probe, count: usize, skipped: usize) -> ChainHint {
    let mut parts = probe.path().iter().rev().skip(skipped).take(count);
    let network = parts.find_map(|part| of_site(&part.to_string_lossy()));
    network.map_or(ChainHint::None, |network| ChainHint::Chain(network.name.to_owned()))
}

/// The chain of the explorer that a link leads to.
pub(super) fn chain_of_link(link: &str) -> Option<&'static str> {
    let (_, rest) = link.split_once("://")?;
    let host = rest.split(['/', '?', '#', ':']).next()?;
    of_host(host).map(|network| network.name)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::all_shown;
    use super::*;

    fn added(name: &str, of: &[&str]) -> Vec<String> {
        let mut labels = RawLabels::default();
        let chain = ChainHint::Chain("1".to_owned());
        let tag = NameTag {
            place: Place::Row(1),
            address: "0x1",
            chain,
            name: Some(name),
            labels: of.to_vec(),
            asserted_at: None,
            is_token: false,
        };
        tag.add(&mut labels);
        all_shown(&labels)
    }

    #[test]
    fn names_are_entities_unless_they_are_made_up() {
        assert_eq!(added("Binance 14", &["binance"]), ["0x1 | on 1 | binance | named Binance 14 | of Binance 14"]);
        assert_eq!(
            added("Binance: Deposit 12", &["binance"]),
            ["0x1 | on 1 | headwater:deposit | named Binance: Deposit 12 | of Binance"]
        );
        for name in ["Fake_Phishing12", "🐟 Example Drainer", "Phish/Hack victim 7", "MEV Bot: 0x00...b8D", "Tether"]
        {
            let shown = added(name, &["phish-hack"]);
            assert_eq!(shown, [format!("0x1 | on 1 | phish-hack | named {name}")]);
        }
        for name in ["Phishing victim", "ETHGlobal Hackathon Winner", "Sorbet Finance: Hack Alert 1", "Null: 0x0...1"] {
            assert_eq!(added(name, &["x"]), [format!("0x1 | on 1 | x | named {name}")]);
        }
    }

    #[test]
    fn hot_wallets_of_exchanges_are_told_by_their_name() {
        assert_eq!(
            added("Binance: Hot Wallet 6", &["binance", "fund"]),
            ["0x1 | on 1 | hot-wallet+fund | named Binance: Hot Wallet 6 | of Binance"]
        );
        assert!(added("ENS: Hot Wallet", &["ens"])[0].contains("| ens |"));
        assert!(names_hot_wallet("bitfinex ETH hot wallet") && !names_hot_wallet("Hotbit Wallet"));
    }

    #[test]
    fn token_contracts_are_not_the_business_of_their_label() {
        let token = |name: &str| format!("0x1 | on 1 | token-contract | named {name}");
        for name in ["Zipmex Token (ZMT)", "Binance: BNB Token", "Tether: USDT Stablecoin", "a (1INCH)", "Python (ptn)"]
        {
            assert_eq!(added(name, &["binance", "exchange"]), [token(name)]);
        }
        assert_eq!(added("x (X)", &["phish-hack", "dex"]), ["0x1 | on 1 | phish-hack+token-contract | named x (X)"]);
        for name in ["Fantom: Bridge (Locked)", "Example (old)", "Example (formerly Other)"] {
            assert!(added(name, &["bridge"])[0].starts_with("0x1 | on 1 | bridge | "), "{name}");
        }
    }
}
