//! Every planted behaviour of the demo satisfies the rule of the catalogue under its default thresholds, as found by
//! going over the facts: a check has no access to the actor that planted it.
//!
//! One file per family of behaviours; [`RULES`] says which function holds which entry.

mod coins;
mod facts;
mod obfuscation;
mod waking;

use std::collections::BTreeMap;

use headwater_simulate::truth::{Behaviour, PlantedBehaviour, Verdict};
use headwater_types::Chain;

use facts::Facts;

/// Judges one planted behaviour; `Err` says what is missing.
type Rule = fn(&Facts, &PlantedBehaviour) -> Result<(), String>;

/// The rule of each entry that somebody plants.
const RULES: &[(Behaviour, Rule)] = &[
    (Behaviour::DormantReactivation, waking::dormant_reactivation),
    (Behaviour::MixerInteraction, obfuscation::mixer_interaction),
    (Behaviour::GasFundedByMixer, obfuscation::gas_funded_by_mixer),
];

#[test]
fn every_planted_behaviour_satisfies_its_rule() {
    let facts = Facts::demo();
    let mut judged: BTreeMap<Behaviour, usize> = BTreeMap::new();
    let mut broken = Vec::new();
    for planted in &facts.economy.truth.behaviours {
        let own = if planted.chain == Chain::BITCOIN { coins::RULES } else { &[] };
        let rule = own.iter().chain(RULES).find(|rule| rule.0 == planted.behaviour);
        // The others, and the innocent twins, are judged by `tests/behaviours`.
        let Some((_, rule)) = rule.filter(|_| planted.verdict == Verdict::Planted) else { continue };
        if let Err(missing) = rule(facts, planted) {
            broken.push(format!("{} {}: {missing}", planted.behaviour.code(), planted.address));
        }
        *judged.entry(planted.behaviour).or_default() += 1;
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
    for (behaviour, _) in RULES.iter().chain(coins::RULES) {
        assert!(judged.contains_key(behaviour), "{} is not planted in the demo", behaviour.code());
    }
}

#[test]
fn evidence_transactions_name_the_address_or_its_victims() {
    let facts = Facts::demo();
    for planted in &facts.economy.truth.behaviours {
        let (first, last) = (&planted.evidence.first, &planted.evidence.last);
        let (first, last) = (facts.time_of(planted.chain, first), facts.time_of(planted.chain, last));
        assert!(first <= last, "{planted:?}");
        assert!(planted.evidence.count > 0, "{planted:?}");
    }
}
