//! Name tags and labels of Etherscan and its sister sites, which several files copy.

use headwater_types::Timestamp;

use super::reading::{filled, mixes_scripts, warn, without_entities};
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
/// Labels under which a name imitates another or was made up by the site.
const MADE_UP: [&str; 4] = ["phish-hack", "scam", "spam-token", "honeypot"];
/// What the label of a sanctioned address begins with. The site copies the list of OFAC.
const SANCTIONED: &str = "ofac-sanction";

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
    /// Adds the claims of the row.
    pub(super) fn add(&self, labels: &mut RawLabels) {
        let name = filled(self.name).map(without_entities);
        let name = name.as_deref();
        if let Some(name) = name.filter(|name| mixes_scripts(name)) {
            warn(labels, self.place, &format!("the name {name:?} mixes scripts: it may imitate another one"));
        }
        let is_token = self.is_token || name.is_some_and(names_token);
        let (sanctions, others): (Vec<&str>, Vec<&str>) =
            self.labels.iter().map(|label| label.trim()).partition(|label| label.starts_with(SANCTIONED));
        let is_made_up = others.iter().any(|label| MADE_UP.contains(label));
        let entity = name.filter(|name| !is_token && !is_made_up && names_entity(name));
        let claim = |concepts: Vec<&str>| RawClaim {
            place: Some(self.place),
            address: self.address.to_owned(),
            chain: self.chain.clone(),
            concepts: concepts.into_iter().map(str::to_owned).collect(),
            name: name.map(str::to_owned),
            entity: entity.map(str::to_owned),
            asserted_at: self.asserted_at,
            ..RawClaim::default()
        };
        if !sanctions.is_empty() {
            let copied = RawClaim { chain: ChainHint::AnyEvm, group: Some("ofac".to_owned()), ..claim(sanctions) };
            labels.claims.push(copied);
            if others.iter().all(|label| label.is_empty()) {
                return;
            }
        }
        let concepts = others.into_iter().filter(|label| !label.is_empty());
        labels.claims.push(if is_token {
            claim(concepts.filter(|label| ABUSES.contains(label)).chain([TOKEN_CONTRACT]).collect())
        } else {
            claim(concepts.collect())
        });
    }
}

/// Whether a name is one of a token contract: `Maker (MKR)`, `Binance: BNB Token`.
fn names_token(name: &str) -> bool {
    let symbol = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).map(|(_, symbol)| symbol);
    // A symbol has a capital letter or a digit; `(formerly Other)` and `(old)` are remarks.
    let is_symbol = |symbol: &str| {
        !symbol.contains(char::is_whitespace)
            && symbol.chars().any(|letter| letter.is_uppercase() || letter.is_numeric())
    };
    symbol.is_some_and(is_symbol) || [" Token", " Stablecoin"].iter().any(|ending| name.ends_with(ending))
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
        let mut shown = all_shown(&labels);
        shown.extend(labels.warnings);
        shown
    }

    #[test]
    fn names_are_entities_unless_they_are_made_up() {
        assert_eq!(added("Binance 14", &["binance"]), ["0x1 | on 1 | binance | named Binance 14 | of Binance 14"]);
        assert_eq!(added("A &amp; B", &["x"]), ["0x1 | on 1 | x | named A & B | of A & B"]);
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
    fn look_alike_is_its_own_entity_with_a_warning() {
        let shown = added("\u{412}inance 3", &["binance"]);
        assert_eq!(shown[0], "0x1 | on 1 | binance | named \u{412}inance 3 | of \u{412}inance 3");
        assert!(shown[1].starts_with("row 1: the name"));
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

    #[test]
    fn copies_of_the_list_of_ofac_belong_to_its_group_on_every_chain() {
        assert_eq!(
            added("Example: Mixer 1", &["ofac-sanctions-lists", "tornado-cash"]),
            [
                "0x1 | on evm | ofac-sanctions-lists | named Example: Mixer 1 | of Example: Mixer 1 | group ofac",
                "0x1 | on 1 | tornado-cash | named Example: Mixer 1 | of Example: Mixer 1",
            ]
        );
        assert_eq!(added("Example Person", &["ofac-sanctioned"]).len(), 1);
        assert_eq!(added("Nothing", &[]), ["0x1 | on 1 | named Nothing | of Nothing"]);
    }
}
