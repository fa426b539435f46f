//! Behaviours of bitcoin, where an act is what one transaction does with coins.

use headwater_simulate::truth::{Behaviour, PlantedBehaviour};
use headwater_types::Address;

use crate::planted::Rule;
use crate::planted::facts::{Facts, HOUR, Transfer};

/// The rules that bitcoin has in a form of its own.
pub(crate) const RULES: &[(Behaviour, Rule)] = &[(Behaviour::PeelChain, peel_chain), (Behaviour::Dusting, dusting)];

/// Five hops or more of one coin into two, each within 72 hours of the one before, each peeling at most 30 % off.
fn peel_chain(facts: &Facts, planted: &PlantedBehaviour) -> Result<(), String> {
    let spend = |address: Address| -> Option<Transfer> {
        facts.of(planted.chain, address).iter().find(|transfer| transfer.from == Some(address)).copied()
    };
    let (mut at, mut hops, mut last) = (planted.address, 0, None);
    loop {
        let Some(spent) = spend(at) else { return Err(format!("ends after {hops} hops")) };
        let moves = &facts.by_hash[&(planted.chain, spent.hash)];
        let outputs: Vec<_> = moves.iter().filter(|transfer| transfer.to.is_some()).collect();
        if moves.len() != 3 || outputs.len() != 2 {
            return Err(format!("hop {hops} has {} sides", moves.len()));
        }
        if last.is_some_and(|last| spent.time - last > 72 * HOUR) {
            return Err(format!("hop {hops} comes {} hours late", (spent.time - last.unwrap_or(0)) / HOUR));
        }
        let rest = outputs.iter().max_by_key(|output| output.amount).ok_or("no outputs")?;
        let share = rest.amount.to_f64(8) / spent.amount.to_f64(8);
        if !(0.70..0.999).contains(&share) {
            return Err(format!("hop {hops} passes {share} on"));
        }
        hops += 1;
        if spent.hash == planted.evidence.last {
            break;
        }
        last = Some(spent.time);
        at = rest.to.ok_or("an output without an owner")?;
    }
    if hops < 5 || hops != planted.evidence.count {
        return Err(format!("{hops} hops, {} in the evidence", planted.evidence.count));
    }
    Ok(())
}

/// A hundred recipients or more of less than one US dollar each within a day, here within one transaction.
fn dusting(facts: &Facts, planted: &PlantedBehaviour) -> Result<(), String> {
    let moves = &facts.by_hash[&(planted.chain, planted.evidence.first)];
    let small = moves.iter().filter(|transfer| transfer.to.is_some() && transfer.usd < 1.0).count();
    if small < 100 || small as u64 != planted.evidence.counterparties {
        return Err(format!("{small} recipients, {} in the evidence", planted.evidence.counterparties));
    }
    if !moves.iter().any(|transfer| transfer.from == Some(planted.address)) {
        return Err("somebody else pays".to_owned());
    }
    Ok(())
}
