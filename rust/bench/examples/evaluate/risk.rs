//! Scores by what addresses really are.

use std::collections::{BTreeMap, HashSet};

use anyhow::Result;
use headwater_intel::risk::{Assessor, Intelligence, RiskScope};
use headwater_ledger::Cancel;
use headwater_ledger::labels::Scope;
use headwater_simulate::truth::{Behaviour, Role, Verdict};
use headwater_types::{Address, Chain};

use super::Economy;
use super::auc::area_between;
use super::interval::Share;

/// The chains on which counterparties are judged.
const CHAINS: [Chain; 2] = [Chain::ETHEREUM, Chain::TRON];

/// The kind of an address, as far as a score is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Ordinary,
    Victim,
    MixerUser,
    Business,
    Service,
    Scam,
    Launderer,
    Mixer,
    Other,
}

impl Kind {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Ordinary, "other ordinary people who never used a mixer"),
        (Self::Victim, "people who lost money to a theft or scam and did nothing else"),
        (Self::MixerUser, "ordinary people who did"),
        (Self::Business, "businesses and shops"),
        (Self::Service, "services: exchanges, payments, bridges, pools"),
        (Self::Scam, "scams: operators, collectors, layers, contracts, dusters"),
        (Self::Launderer, "launderers, with all whom their scenes pay"),
        (Self::Mixer, "mixers"),
        (Self::Other, "others"),
    ];

    const fn of(role: Role) -> Self {
        match role {
            Role::Person => Self::Ordinary,
            Role::Merchant | Role::Business | Role::PaymentInvoice => Self::Business,
            Role::PaymentHot
            | Role::ExchangeHot
            | Role::ExchangeCold
            | Role::ExchangeDeposit
            | Role::ExchangeGas
            | Role::BridgeVault
            | Role::BridgeRelayer
            | Role::DexPool
            | Role::DexRouter
            | Role::MiningPool => Self::Service,
            Role::Launderer => Self::Launderer,
            Role::ScamOperator
            | Role::ScamContract
            | Role::ScamCollector
            | Role::ScamLayer
            | Role::DarknetMarket
            | Role::DarknetVendor
            | Role::Duster => Self::Scam,
            Role::MixerPool | Role::MixerRelayer => Self::Mixer,
            _ => Self::Other,
        }
    }
}

/// Scores, with and without the address's own labels.
#[derive(Default)]
pub struct Tally {
    scores: BTreeMap<(Kind, bool), Vec<f64>>,
}

impl Tally {
    pub fn add(&mut self, economy: &Economy) -> Result<()> {
        let (ledger, cancel) = (&*economy.ledger, Cancel::new());
        let intelligence = Intelligence::default();
        for chain in CHAINS {
            let scope = RiskScope::present(ledger, &intelligence, Scope::Chain(chain), &cancel);
            let mut assessor = Assessor::new(scope);
            let of_chain = economy.truth.behaviours.iter().filter(|row| row.chain == chain);
            let mixed: HashSet<Address> = of_chain
                .filter(|row| row.behaviour == Behaviour::MixerInteraction && row.verdict == Verdict::Planted)
                .map(|row| row.address)
                .collect();
            let victims = victims(economy, chain);
            for row in economy.truth.addresses.iter().filter(|row| row.chain == chain) {
                if ledger.account(chain, &row.address)?.is_none() {
                    continue;
                }
                let kind = match Kind::of(row.role) {
                    Kind::Ordinary if mixed.contains(&row.address) => Kind::MixerUser,
                    Kind::Ordinary if victims.contains(&row.address) => Kind::Victim,
                    kind => kind,
                };
                let with_labels = assessor.assess(&row.address)?.judgement.score;
                let without_labels = assessor.assess_without_labels(&row.address)?.judgement.score;
                for (is_withheld, score) in [(false, with_labels), (true, without_labels)] {
                    self.scores.entry((kind, is_withheld)).or_default().push(score);
                }
            }
        }
        Ok(())
    }

    pub fn print(&self) {
        println!("## Risk\n");
        for (is_withheld, title) in [(false, "With all labels"), (true, "The address's own labels withheld")] {
            println!("{title}:\n");
            println!(
                "| what it is | addresses | median | 90 % below | medium or above | high |\n|---|---|---|---|---|---|"
            );
            for (kind, name) in Kind::ALL {
                let Some(scores) = self.scores.get(&(kind, is_withheld)) else { continue };
                let mut sorted = scores.clone();
                sorted.sort_by(f64::total_cmp);
                let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
                let from = |least: f64| Share {
                    part: sorted.iter().filter(|score| **score >= least).count(),
                    whole: sorted.len(),
                };
                let (medium, high) = (from(30.0), from(70.0));
                println!("| {name} | {} | {:.1} | {:.1} | {medium} | {high} |", sorted.len(), at(50), at(90));
            }
            let of = |kind| self.scores.get(&(kind, is_withheld)).map_or(&[][..], Vec::as_slice);
            let innocent = [Kind::Ordinary, Kind::Victim, Kind::Business].map(of);
            let ordinary: Vec<f64> = innocent.concat();
            println!("\nArea under the curve against ordinary people who never used a mixer, and businesses: ");
            println!(
                "scams {:.4}, launderers with all whom they pay {:.4}.\n",
                area_between(of(Kind::Scam), &ordinary),
                area_between(of(Kind::Launderer), &ordinary)
            );
        }
    }
}

/// The addresses that lost money in a case and got none in any.
fn victims(economy: &Economy, chain: Chain) -> HashSet<Address> {
    let steps = || economy.truth.cases.iter().filter(|step| step.chain == chain);
    let paid: HashSet<Address> = steps().map(|step| step.to).collect();
    steps().filter(|step| step.stage == "loot").map(|step| step.from).filter(|from| !paid.contains(from)).collect()
}
