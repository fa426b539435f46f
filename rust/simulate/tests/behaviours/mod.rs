//! Every behaviour of the truth, judged by the rule of the catalogue on the facts of the demo economy: planted ones
//! hold, their innocent twins do not. The rules are written down here a second time, slowly and plainly.

mod dispersal;
mod engine;
mod fraud;
mod layering;
mod market;
mod velocity;
mod view;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use headwater_simulate::truth::{Behaviour, Verdict};

use headwater_types::{Address, Chain};
use view::View;

use crate::DEMO;

static VIEW: LazyLock<View> = LazyLock::new(|| View::new(&DEMO));

/// Returns whether the rule of a behaviour holds for an address.
fn holds(view: &View, chain: Chain, who: Address, behaviour: Behaviour) -> bool {
    let of = view.valued(chain, who);
    match behaviour {
        Behaviour::RapidInOut => velocity::rapid_in_out(&of, who),
        Behaviour::PassThrough => velocity::pass_through(&of, who),
        Behaviour::BurnerWallet => velocity::burner_wallet(&of, who, view.end),
        Behaviour::DormantReactivation => velocity::dormant_reactivation(&of, who),
        Behaviour::HighFrequency => velocity::high_frequency(&of),
        Behaviour::AlwaysOn => velocity::always_on(&of),
        Behaviour::FixedInterval => velocity::fixed_interval(&of),
        Behaviour::FanOut => dispersal::fan_out(&of, who),
        Behaviour::FanIn => dispersal::fan_in(&of, who),
        Behaviour::Structuring => dispersal::structuring(&of, who),
        Behaviour::EqualAmountSplit => dispersal::equal_amount_split(&of, who),
        Behaviour::RoundAmounts => dispersal::round_amounts(&of),
        Behaviour::MultiExchangeCashout => dispersal::multi_exchange_cashout(view, &of, who),
        Behaviour::PonziPayout => dispersal::ponzi_payout(&of, who),
        Behaviour::GatherScatter => layering::gather_scatter(&of, who),
        Behaviour::ScatterGather => layering::scatter_gather(view, chain, who),
        Behaviour::PeelChain => layering::peel_chain(view, chain, who),
        Behaviour::LayeringHop => layering::layering_hop(view, chain, who),
        Behaviour::RoundTrip => layering::round_trip(view, chain, who),
        Behaviour::WashTrading => market::wash_trading(view, chain, who),
        Behaviour::AssetHopping => market::asset_hopping(view, chain, who),
        Behaviour::SandwichAttack => market::sandwich_attack(view, chain, who),
        Behaviour::MevBot => market::mev_bot(view, chain, who),
        Behaviour::MixerInteraction => fraud::mixer_interaction(view, chain, who),
        Behaviour::GasFundedByMixer => fraud::gas_funded_by_mixer(view, chain, who),
        Behaviour::BridgeHopping => fraud::bridge_hopping(view, &of, who),
        Behaviour::AddressPoisoning => fraud::address_poisoning(view, chain, who),
        Behaviour::Dusting => fraud::dusting(view, chain, who),
        Behaviour::PoisoningTarget => fraud::poisoning_target(view, chain, who),
        Behaviour::NewTokenDump => fraud::new_token_dump(view, chain, who),
        Behaviour::ApprovalDrain => fraud::approval_drain(view, chain, who),
    }
}

#[test]
fn planted_behaviours_fit_their_rule_and_twins_do_not() {
    let mut wrong = Vec::new();
    for row in DEMO.truth.behaviours.iter().filter(|row| row.chain != Chain::BITCOIN) {
        if holds(&VIEW, row.chain, row.address, row.behaviour) != (row.verdict == Verdict::Planted) {
            wrong.push(format!("{} {} {:?} {:?}", row.chain, row.address, row.behaviour, row.verdict));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), DEMO.truth.behaviours.len(), wrong.join("\n"));
}

#[test]
fn the_demo_has_every_behaviour_and_a_twin_of_it() {
    let mut counts: BTreeMap<(Behaviour, Verdict), usize> = BTreeMap::new();
    for row in &DEMO.truth.behaviours {
        *counts.entry((row.behaviour, row.verdict)).or_default() += 1;
    }
    let mut missing = Vec::new();
    for &behaviour in Behaviour::ALL {
        for verdict in [Verdict::Planted, Verdict::Innocent] {
            if !counts.contains_key(&(behaviour, verdict)) {
                missing.push((behaviour, verdict));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_evidence_names_transactions_of_the_address() {
    for row in DEMO.truth.behaviours.iter().filter(|row| row.chain != Chain::BITCOIN) {
        let mut of = VIEW.all(row.chain, row.address);
        if row.behaviour == Behaviour::AddressPoisoning {
            of.extend(fraud::emitted(&VIEW, row.chain, row.address));
        }
        for hash in [row.evidence.first, row.evidence.last] {
            assert!(of.iter().any(|moved| moved.hash == hash), "{} {:?} {hash:?}", row.address, row.behaviour);
        }
    }
}
