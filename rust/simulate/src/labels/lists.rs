//! The lists of plain rows: how often each contains a role, by which code, and how it errs.
//!
//! **To add a list**: one line in [`LISTS`].

use crate::clock::iso_day;
use crate::random::Stream;
use crate::truth::{AddressTruth, Role};

/// The dates of the rows of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dates {
    /// By the day.
    Days,
    /// Most rows by the day, the others not at all.
    Some,
    /// By the second.
    Seconds,
    /// Not at all.
    None,
}

impl Dates {
    /// A time in a row.
    pub(super) fn text(self, secs: i64) -> String {
        match self {
            Self::Seconds => secs.to_string(),
            Self::Days | Self::Some | Self::None => iso_day(secs),
        }
    }
}

/// A role, a code that is right, and how many in a hundred addresses are listed with it.
type CorrectShare = (Role, &'static str, u64);
/// A role, a code and an entity that are wrong, and how many in a thousand addresses are listed so in the demo.
type WrongShare = (Role, &'static str, &'static str, u64);

/// One list.
pub(super) struct List {
    /// Its name, which is also its source.
    pub(super) name: &'static str,
    /// The publisher; `None` where each service publishes its own addresses on its own site.
    group: Option<&'static str>,
    /// The level of its claims.
    pub(super) level: &'static str,
    /// The dates of its rows.
    pub(super) dates: Dates,
    known: &'static [CorrectShare],
    wrong: &'static [WrongShare],
    /// True if it lists crimes: it names nobody, and half of its wrong reports are withdrawn.
    of_crimes: bool,
}

/// All of them, in the order in which they are to be imported. The two lists of scams know of each other's addresses by
/// chance only.
#[rustfmt::skip]
pub(super) const LISTS: [List; 7] = [
    List { name: "explorer-tags", group: Some("explorer.example"), level: "trusted_provider", dates: Dates::Some, known: EXPLORER, wrong: &[], of_crimes: false },
    List { name: "pool-list", group: Some("pool-list.example"), level: "service_data", dates: Dates::None, known: POOLS, wrong: &[], of_crimes: false },
    List { name: "crowd-tags", group: Some("crowd-tags.example"), level: "web_crawl", dates: Dates::None, known: &[], wrong: CROWD, of_crimes: false },
    List { name: "scam-reports", group: Some("scam-reports.example"), level: "web_crawl", dates: Dates::Seconds, known: REPORTED, wrong: MISREPORTED, of_crimes: true },
    List { name: "fraud-watch", group: Some("fraud-watch.example"), level: "trusted_provider", dates: Dates::Days, known: WATCHED, wrong: MISWATCHED, of_crimes: true },
    List { name: "service-addresses", group: None, level: "service_api", dates: Dates::Days, known: OWN_ADDRESSES, wrong: &[], of_crimes: false },
    List { name: "darknet-markets", group: Some("market-study.example"), level: "forensic", dates: Dates::Days, known: MARKETS, wrong: MISTAKEN_MARKETS, of_crimes: false },
];

/// Stands for the code that fits the crime.
const CRIME: &str = "";

const EXPLORER: &[CorrectShare] = &[
    (Role::ExchangeHot, "exchange_hot_wallet", 90),
    (Role::ExchangeCold, "cold_wallet", 55),
    (Role::ExchangeGas, "exchange", 30),
    (Role::ExchangeDeposit, "deposit", 6),
    (Role::MixerPool, "mixer", 100),
    (Role::BridgeVault, "bridge", 100),
    (Role::DexPool, "dex", 85),
    (Role::DexRouter, "dex", 85),
    (Role::MevBot, "mev_bot", 40),
    (Role::PaymentHot, "payment", 70),
    (Role::Merchant, "merchant", 20),
    (Role::CoinjoinCoordinator, "coinjoin_coordinator", 60),
];

const POOLS: &[CorrectShare] = &[(Role::MiningPool, "mining_pool", 80)];

const REPORTED: &[CorrectShare] = &[
    (Role::ScamContract, CRIME, 80),
    (Role::ScamCollector, CRIME, 60),
    (Role::ScamOperator, CRIME, 30),
    (Role::ScamLayer, CRIME, 10),
    (Role::TokenDeployer, CRIME, 25),
    (Role::SpoofedToken, CRIME, 25),
    (Role::CounterfeitToken, CRIME, 25),
    (Role::Duster, CRIME, 20),
];

const WATCHED: &[CorrectShare] = &[
    (Role::ScamContract, CRIME, 70),
    (Role::ScamCollector, CRIME, 45),
    (Role::ScamOperator, CRIME, 40),
    (Role::ScamLayer, CRIME, 5),
    (Role::SpoofedToken, CRIME, 35),
    (Role::CounterfeitToken, CRIME, 35),
    (Role::TokenDeployer, CRIME, 12),
];

const OWN_ADDRESSES: &[CorrectShare] = &[
    (Role::ExchangeHot, "exchange_hot_wallet", 80),
    (Role::ExchangeCold, "cold_wallet", 90),
    (Role::ExchangeGas, "exchange", 25),
    (Role::PaymentHot, "payment", 45),
];

const MARKETS: &[CorrectShare] =
    &[(Role::DarknetMarket, "darknet_market", 55), (Role::DarknetVendor, "illicit_goods", 15)];

/// Names are mixed up, a deposit address is taken for a hot wallet.
const CROWD: &[WrongShare] = &[
    (Role::Person, "exchange", "northgate", 3),
    (Role::ExchangeDeposit, "exchange_hot_wallet", "lanternex", 8),
    (Role::ExchangeHot, "exchange_hot_wallet", "harborline", 121),
    (Role::ExchangeCold, "exchange_hot_wallet", "harborline", 121),
    (Role::Merchant, "gambling", "", 61),
];

/// Victims and strangers are reported, and makers of tokens that are only worthless.
const MISREPORTED: &[WrongShare] = &[
    (Role::Person, "phishing", "", 6),
    (Role::TokenDeployer, "scam", "", 100),
    (Role::UnverifiedToken, "scam", "", 100),
];

/// The exchange to which loot went is taken for the thief.
const MISWATCHED: &[WrongShare] = &[
    (Role::Person, "scam", "", 2),
    (Role::ExchangeDeposit, "scam", "", 4),
    (Role::ExchangeHot, "phishing", "", 20),
    (Role::Business, "scam", "", 20),
];

const MISTAKEN_MARKETS: &[WrongShare] =
    &[(Role::Merchant, "darknet_market", "", 25), (Role::PaymentHot, "darknet_market", "", 8)];

/// The crime of an owner, as a list names it.
fn crime(owner: &str) -> &'static str {
    const CRIMES: [(&str, &str); 9] = [
        ("scam-drainer", "drainer"),
        ("scam-investment", "ponzi"),
        ("scam-courtship", "pig_butchering"),
        ("scam-frozen", "theft"),
        ("scam-theft", "theft"),
        ("scam-ransomware", "ransomware"),
        ("scam-extortion", "extortion"),
        ("scam-poisoner", "address_poisoning"),
        ("deployer-launch", "rug_pull"),
    ];
    CRIMES.iter().find(|(owners, _)| owner.starts_with(owners)).map_or("scam", |&(_, code)| code)
}

/// The name of an owner: what follows their kind, unless it is a number.
pub(super) fn name(owner: &str) -> &str {
    let name = owner.split_once('-').map_or("", |(_, name)| name);
    if name.starts_with(|first: char| first.is_ascii_digit()) { owner } else { name }
}

/// Returns whether a role has as many addresses as there are people.
const fn is_of_crowd(role: Role) -> bool {
    matches!(role, Role::Person | Role::ExchangeDeposit | Role::Merchant | Role::PaymentHot)
}

/// The draw of a list for an address.
pub(super) struct Draw {
    pub(super) code: &'static str,
    pub(super) entity: String,
    pub(super) correct: bool,
    pub(super) withdrawn_after_days: Option<i64>,
}

impl List {
    /// The provenance group of a claim about an address of an owner.
    pub(super) fn group_of(&self, owner: &str) -> String {
        self.group.map_or_else(|| format!("{}.example", name(owner)), str::to_owned)
    }

    /// Returns what it says of an address. Of the makers of tokens only frauds are known. `crowd` is how many times
    /// more people than crimes there are than in the demo: lists of larger economies are not worse.
    pub(super) fn claims(&self, truth: &AddressTruth, (fraud, crowd): (bool, u64), stream: &mut Stream) -> Vec<Draw> {
        let mut draws = Vec::new();
        if let Some(&(_, code, percent)) = self.known.iter().find(|known| fraud && known.0 == truth.role)
            && stream.below(100) < percent
        {
            let code = if code == CRIME { crime(&truth.owner) } else { code };
            let entity = if self.of_crimes { String::new() } else { name(&truth.owner).to_owned() };
            draws.push(Draw { code, entity, correct: true, withdrawn_after_days: None });
        }
        // A claim about a fraud is not wrong.
        let errs = !(fraud && truth.role == Role::TokenDeployer);
        if let Some(&(_, code, entity, per_mille)) = self.wrong.iter().find(|wrong| errs && wrong.0 == truth.role)
            && stream.below(1_000 * if is_of_crowd(truth.role) { crowd } else { 1 }) < per_mille
        {
            let withdrawn = self.of_crimes && stream.chance(0.5);
            let withdrawn_after_days = withdrawn.then(|| stream.secs(5, 60));
            draws.push(Draw { code, entity: entity.to_owned(), correct: false, withdrawn_after_days });
        }
        draws
    }
}
