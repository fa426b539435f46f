//! What public lists say about the economy: most of what is famous, little of the rest, and some of it wrong.

use crate::random::Stream;
use crate::truth::{AddressTruth, PublicLabel, Role};

/// Code of a true claim about a role, the list that makes it, and how many in a hundred such addresses are listed.
const fn claim(role: Role) -> Option<(&'static str, &'static str, u64)> {
    Some(match role {
        Role::ExchangeHot => ("exchange_hot_wallet", "explorer-tags", 90),
        Role::ExchangeCold => ("cold_wallet", "explorer-tags", 55),
        Role::ExchangeGas => ("exchange", "explorer-tags", 30),
        Role::ExchangeDeposit => ("deposit", "explorer-tags", 6),
        Role::MixerPool => ("mixer", "explorer-tags", 100),
        Role::BridgeVault => ("bridge", "explorer-tags", 100),
        Role::DexPool | Role::DexRouter => ("dex", "explorer-tags", 85),
        Role::MevBot => ("mev_bot", "explorer-tags", 40),
        Role::MiningPool => ("mining_pool", "pool-list", 80),
        Role::PaymentHot => ("payment", "explorer-tags", 70),
        Role::Merchant => ("merchant", "explorer-tags", 20),
        Role::CoinjoinCoordinator => ("coinjoin_coordinator", "explorer-tags", 60),
        Role::ScamContract => ("drainer", "scam-reports", 80),
        Role::ScamCollector => ("phishing", "scam-reports", 60),
        Role::ScamOperator => ("phishing", "scam-reports", 30),
        Role::ScamLayer => ("theft", "scam-reports", 10),
        Role::TokenDeployer | Role::SpoofedToken | Role::CounterfeitToken => ("scam", "scam-reports", 25),
        Role::Person
        | Role::PaymentInvoice
        | Role::Zero
        | Role::Token
        | Role::UnverifiedToken
        | Role::Issuer
        | Role::MixerRelayer
        | Role::BridgeRelayer
        | Role::LiquidityProvider
        | Role::MarketMaker
        | Role::FeeToken
        | Role::RebasingToken
        | Role::NftCollection
        | Role::Launderer
        | Role::Business
        | Role::Validator
        | Role::Miner
        | Role::Duster => return None,
    })
}

/// The lists, asked address by address, in order of chain and address.
pub(crate) struct PublicLists(Stream);

impl PublicLists {
    /// The lists of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(Stream::new(seed, "public labels"))
    }

    /// What they claim about the next address.
    pub(crate) fn claims(&mut self, truth: &AddressTruth, labels: &mut Vec<PublicLabel>) {
        let first = labels.len();
        let draw = self.0.below(100);
        let wrong = self.0.below(1_000);
        if let Some((code, source, percent)) = claim(truth.role)
            && draw < percent
        {
            let entity = truth.owner.split_once('-').map_or("", |(_, name)| name);
            labels.push(label(truth, (code, entity, source), true));
        }
        if let Some(claim) = wrong_claim(truth.role, wrong) {
            labels.push(label(truth, claim, false));
        }
        labels[first..].sort_unstable();
    }
}

/// The family of a code, as label lists group them.
const fn category(code: &str) -> &'static str {
    match code.as_bytes() {
        b"theft" => "theft",
        b"drainer" | b"phishing" | b"scam" | b"pig_butchering" | b"ponzi" | b"rug_pull" | b"address_poisoning" => {
            "scam"
        }
        b"mixer" | b"coinjoin_coordinator" => "mixing",
        b"gambling" => "gambling",
        _ => "identity",
    }
}

/// How far a list is believed, in hundredths: what a service or a report says, before what was gathered from the web.
const fn confidence_percent(source: &str) -> u64 {
    match source.as_bytes() {
        b"explorer-tags" | b"pool-list" => 50,
        b"scam-reports" => 40,
        _ => 20,
    }
}

/// Lists err: victims and strangers are reported, a deposit address is taken for a hot wallet, names are mixed up.
const fn wrong_claim(role: Role, draw: u64) -> Option<(&'static str, &'static str, &'static str)> {
    match (role, draw) {
        (Role::Person, 0..=5) => Some(("phishing", "", "scam-reports")),
        (Role::Person, 6..=8) => Some(("exchange", "northgate", "crowd-tags")),
        (Role::ExchangeDeposit, 0..=7) => Some(("exchange_hot_wallet", "lanternex", "crowd-tags")),
        (Role::ExchangeHot | Role::ExchangeCold, 0..=120) => Some(("exchange_hot_wallet", "harborline", "crowd-tags")),
        (Role::Merchant, 0..=60) => Some(("gambling", "", "crowd-tags")),
        _ => None,
    }
}

fn label(truth: &AddressTruth, (code, entity, source): (&str, &str, &str), correct: bool) -> PublicLabel {
    PublicLabel {
        chain: truth.chain,
        address: truth.address,
        code: code.to_owned(),
        category: category(code).to_owned(),
        entity: entity.to_owned(),
        source: source.to_owned(),
        confidence_percent: confidence_percent(source),
        correct,
    }
}
