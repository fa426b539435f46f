//! Planted behaviours and their innocent twins.

use std::collections::{BTreeMap, HashSet};

use headwater_intel::behaviour::Behaviour;
use headwater_simulate::truth::{Role, Verdict};

use super::Economy;
use super::interval::Share;
use super::sweep::{BehaviourOutcomes, CHAINS};

/// The counts of planted behaviours that the rules found.
#[derive(Default)]
pub struct Tally {
    recall: BTreeMap<Behaviour, Share>,
    twins: BTreeMap<Behaviour, Share>,
    /// Planted ones and twins whose rule could not be decided.
    deferred: BTreeMap<Behaviour, usize>,
    /// Addresses whose rule could not be decided, of all.
    undecided: BTreeMap<Behaviour, usize>,
    judged: usize,
    /// The share of planted ones among the finds of planted ones and twins.
    precision: BTreeMap<Behaviour, Share>,
    /// Addresses of each role with a find that nobody planted, of all of the role.
    natural: BTreeMap<(&'static str, Behaviour), usize>,
    of_role: BTreeMap<&'static str, usize>,
}

impl Tally {
    pub fn add(&mut self, economy: &Economy, found: &BehaviourOutcomes) {
        let mut planted = HashSet::new();
        self.judged += found.len();
        for behaviour in found.values().flat_map(|judged| &judged.deferred) {
            *self.undecided.entry(*behaviour).or_default() += 1;
        }
        for row in economy.truth.behaviours.iter().filter(|row| CHAINS.contains(&row.chain)) {
            let behaviour = Behaviour::from_code(row.behaviour.code()).expect("one catalogue");
            planted.insert((row.chain, row.address, behaviour));
            let judged = found.get(&(row.chain, row.address));
            let hit = judged.is_some_and(|judged| judged.found.contains(&behaviour));
            if judged.is_some_and(|judged| judged.deferred.contains(&behaviour)) {
                *self.deferred.entry(behaviour).or_default() += 1;
            }
            let is_planted = row.verdict == Verdict::Planted;
            if is_planted { &mut self.recall } else { &mut self.twins }.entry(behaviour).or_default().count(hit);
            if hit {
                self.precision.entry(behaviour).or_default().count(is_planted);
            }
        }
        for row in economy.truth.addresses.iter().filter(|row| CHAINS.contains(&row.chain)) {
            let role = row.role.name();
            *self.of_role.entry(role).or_default() += 1;
            for behaviour in found.get(&(row.chain, row.address)).into_iter().flat_map(|judged| &judged.found) {
                if !planted.contains(&(row.chain, row.address, *behaviour)) {
                    *self.natural.entry((role, *behaviour)).or_default() += 1;
                }
            }
        }
    }

    pub fn print(&self) {
        println!("## Behaviours\n");
        println!("| behaviour | planted | recall | twins | found in twins | deferred | precision over both |");
        println!("|---|---|---|---|---|---|---|");
        let of = |map: &BTreeMap<Behaviour, Share>, behaviour| map.get(behaviour).copied().unwrap_or_default();
        for behaviour in Behaviour::ALL {
            let (recall, twins, precision) =
                (of(&self.recall, behaviour), of(&self.twins, behaviour), of(&self.precision, behaviour));
            println!(
                "| `{}` | {} | {recall} | {} | {} | {} | {precision} |",
                behaviour.code(),
                recall.whole,
                twins.whole,
                twins.part,
                self.deferred.get(behaviour).copied().unwrap_or_default()
            );
        }
        println!("\nRules that could not be decided, of {} addresses:\n", self.judged);
        for (behaviour, count) in &self.undecided {
            println!("- `{}` {count}", behaviour.code());
        }
        println!("\nFinds that nobody planted, on ordinary people and businesses:\n");
        println!("| role | addresses | finds |\n|---|---|---|");
        for role in [Role::Person, Role::Merchant, Role::Business] {
            let name = role.name();
            let finds: Vec<_> = Behaviour::ALL
                .iter()
                .filter_map(|behaviour| Some((behaviour.code(), self.natural.get(&(name, *behaviour))?)))
                .map(|(code, count)| format!("`{code}` {count}"))
                .collect();
            println!("| {name} | {} | {} |", self.of_role.get(name).copied().unwrap_or_default(), finds.join(", "));
        }
        println!();
    }
}
