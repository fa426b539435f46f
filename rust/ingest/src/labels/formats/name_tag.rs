//! Name tags and labels of Etherscan and its sister sites, which several files copy.

use std::sync::LazyLock;

use headwater_types::Timestamp;
use rustc_hash::FxHashSet;

use super::reading::filled;
use crate::Place;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::Probe;

/// The labels of these sites.
pub(super) const VOCABULARY: Vocabulary = Vocabulary("etherscan");
/// The provenance group of their files.
pub(super) const GROUP: &str = "etherscan";

/// The concept of the contract of a token: labels beside it say what the token is about.
const TOKEN_CONTRACT: &str = "token-contract";
/// Labels that say of a token contract what it did.
const ABUSES: [&str; 7] = ["phish-hack", "heist", "exploit", "scam", "hack", "rug-pull", "honeypot"];
/// What labels of sanctioned addresses begin with.
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

/// What stands before the colon of a name where that is no entity.
const KINDS: [&str; 14] = [
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
];
/// Words of names that tell what happened at an address.
const EVENTS: [&str; 11] =
    ["fake", "phish", "phishing", "scam", "spam", "victim", "compromised", "vulnerable", "alert", "hackathon", "poor"];

/// What one row says of an address.
pub(super) struct NameTag<'a> {
    pub(super) place: Place,
    pub(super) address: &'a str,
    pub(super) chain: ChainHint,
    pub(super) name: Option<&'a str>,
    pub(super) labels: Vec<&'a str>,
    pub(super) asserted_at: Option<Timestamp>,
    /// Whether the file lists token contracts only.
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
        let entity = name.filter(|name| !is_token && !is_made_up && names_entity(name));
        labels.claims.push(RawClaim {
            place: Some(self.place),
            address: self.address.to_owned(),
            chain: self.chain.clone(),
            concepts: concepts.into_iter().map(str::to_owned).collect(),
            name: name.map(str::to_owned),
            entity: entity.map(str::to_owned),
            asserted_at: self.asserted_at,
            ..RawClaim::default()
        });
    }
}

/// Whether a name is one of a token contract: `Maker (MKR)`, `Binance: BNB Token`.
pub(super) fn names_token(name: &str) -> bool {
    let symbol = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).map(|(_, symbol)| symbol);
    // A symbol has a capital letter or a digit; `(formerly Other)` and `(old)` are remarks.
    let is_symbol = |symbol: &str| {
        !symbol.contains(char::is_whitespace)
            && symbol.chars().any(|letter| letter.is_uppercase() || letter.is_numeric())
    };
    symbol.is_some_and(is_symbol) || [" Token", " Stablecoin"].iter().any(|ending| name.ends_with(ending))
}

/// Whether a name is one of a hot wallet.
pub(super) fn names_hot_wallet(name: &str) -> bool {
    let words: Vec<String> = name
        .split(|letter: char| !letter.is_alphabetic())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.windows(2).any(|pair| pair[0] == "hot" && pair[1].starts_with("wallet"))
}

/// Whether a name says who is behind the address.
fn names_entity(name: &str) -> bool {
    let kind = name.split_once(':').map_or(name, |(kind, _)| kind).trim();
    let is_event = |word: &str| EVENTS.iter().any(|event| word.eq_ignore_ascii_case(event));
    let words = || name.split(|letter: char| !letter.is_alphabetic());
    name.starts_with(|first: char| first.is_alphanumeric() || first == '.')
        && !KINDS.iter().any(|generic| kind.eq_ignore_ascii_case(generic))
        && !words().any(is_event)
        && !name.to_ascii_lowercase().starts_with("fake")
}

/// Sites by what a file or folder of their labels is called, and the chain of each.
const SITES: [(&str, &str); 11] = [
    ("optimistic", "optimism"),
    ("bscscan", "bsc"),
    ("etherscan", "ethereum"),
    ("polygonscan", "polygon"),
    ("arbiscan", "arbitrum"),
    ("ftmscan", "fantom"),
    ("snowtrace", "avalanche"),
    ("basescan", "base"),
    ("celoscan", "celo"),
    ("gnosisscan", "gnosis"),
    ("tronscan", "tron"),
];

/// How many folders above a file may name the site.
const FOLDERS: usize = 3;

/// The chain of the site that the name of a file, or of a folder above it, tells.
pub(super) fn site_of(probe: &Probe) -> ChainHint {
    let parts = probe.path().iter().rev().take(FOLDERS + 1).map(|part| part.to_string_lossy().to_ascii_lowercase());
    let found = |part: String| SITES.iter().find(|(site, _)| part.contains(site)).map(|(_, chain)| *chain);
    parts.into_iter().find_map(found).map_or(ChainHint::None, |chain| ChainHint::Chain(chain.to_owned()))
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
            ["0x1 | on 1 | hot-wallet+fund | named Binance: Hot Wallet 6 | of Binance: Hot Wallet 6"]
        );
        assert!(added("ENS: Hot Wallet", &["ens"])[0].contains("| ens |"));
        assert!(names_hot_wallet("bitfinex ETH hot wallet") && !names_hot_wallet("Hotbit Wallet"));
    }

    #[test]
    fn token_contracts_are_not_the_business_of_their_label() {
        let token = |name: &str| format!("0x1 | on 1 | token-contract | named {name}");
        for name in ["Zipmex Token (ZMT)", "Binance: BNB Token", "Tether: USDT Stablecoin", "a (1INCH)"] {
            assert_eq!(added(name, &["binance", "exchange"]), [token(name)]);
        }
        assert_eq!(added("x (X)", &["phish-hack", "dex"]), ["0x1 | on 1 | phish-hack+token-contract | named x (X)"]);
        assert_eq!(
            added("Polygon (matic)", &["bridge"]),
            ["0x1 | on 1 | bridge | named Polygon (matic) | of Polygon (matic)"]
        );
    }
}
