//! Addresses that touch mixers.

use headwater_simulate::truth::{PlantedBehaviour, Role};

use crate::planted::facts::Facts;

/// A valued transfer with an address of a mixer.
pub(crate) fn mixer_interaction(facts: &Facts, planted: &PlantedBehaviour) -> Result<(), String> {
    let span = facts.span(planted);
    let (received, sent) = facts.flows(planted, span);
    let mixer = |address| facts.role(planted.chain, address) == Some(Role::MixerPool);
    let from = received.iter().filter_map(|transfer| transfer.from);
    let to = sent.iter().filter_map(|transfer| transfer.to);
    if from.chain(to).any(mixer) { Ok(()) } else { Err("no transfer with a mixer".to_owned()) }
}

/// The first coins of the address come from a mixer, and are at most half a coin of ethereum or 500 of tron.
pub(crate) fn gas_funded_by_mixer(facts: &Facts, planted: &PlantedBehaviour) -> Result<(), String> {
    let all = facts.of(planted.chain, planted.address);
    let first = all.iter().find(|transfer| transfer.to == Some(planted.address) && !transfer.amount.is_zero());
    let first = first.ok_or("nothing ever came in")?;
    let from = first.from.and_then(|from| facts.role(planted.chain, from));
    if !matches!(from, Some(Role::MixerPool | Role::MixerRelayer)) {
        return Err(format!("first coins come from {from:?}"));
    }
    let coins = first.amount.to_f64(planted.chain.native_decimals());
    if coins > 0.5 { Err(format!("{coins} coins")) } else { Ok(()) }
}
