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
        Role::MiningPool => ("mining_pool", "pool-list", 80),
        Role::Merchant => ("merchant", "explorer-tags", 20),
        Role::ScamContract => ("drainer", "scam-reports", 80),
        Role::ScamCollector => ("phishing", "scam-reports", 60),
        Role::ScamOperator => ("phishing", "scam-reports", 30),
        Role::ScamLayer => ("theft", "scam-reports", 10),
        Role::TokenDeployer | Role::SpoofedToken => ("scam", "scam-reports", 25),
        Role::Person
        | Role::Zero
        | Role::Token
        | Role::UnverifiedToken
        | Role::Issuer
        | Role::MixerRelayer
        | Role::BridgeRelayer
        | Role::Validator
        | Role::Miner => return None,
    })
}

/// The lists, in order of chain and address.
pub(crate) fn public_labels(seed: u64, addresses: &[AddressTruth]) -> Vec<PublicLabel> {
    let mut stream = Stream::new(seed, "public labels");
    let mut labels = Vec::new();
    for truth in addresses {
        let draw = stream.below(100);
        let wrong = stream.below(1_000);
        if let Some((code, source, percent)) = claim(truth.role)
            && draw < percent
        {
            let entity = truth.owner.split_once('-').map_or("", |(_, name)| name);
            labels.push(label(truth, (code, entity, source), true));
        }
        if let Some(claim) = wrong_claim(truth.role, wrong) {
            labels.push(label(truth, claim, false));
        }
    }
    labels.sort_unstable();
    labels
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
        entity: entity.to_owned(),
        source: source.to_owned(),
        correct,
    }
}
