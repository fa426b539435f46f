//! The cases of an economy as a tracer is asked about them: where to begin, and what there is to find.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use headwater_ledger::market::AssetTerms;
use headwater_ledger::{Ledger, LedgerError};
use headwater_simulate::truth::{AddressTruth, CaseStep, Role};
use headwater_types::{Address, Asset, Chain};

use crate::Economy;

/// Steps that move loot on. Others are of victims, or pay for fees.
const FOLLOWED: [&str; 6] = ["collect", "layer", "mix", "bridge", "cash_out", "payout"];
/// Least addresses beside the start that make a case worth a trace.
const MIN_KNOWN: usize = 2;

/// The kind of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A crime with victims.
    Crime,
    /// One planted pattern of moving money.
    Pattern,
}

impl Kind {
    /// All kinds, with their names.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Crime, "crimes"), (Self::Pattern, "patterns")];

    fn of(code: &str) -> Self {
        match code {
            "drainer" | "investment_fraud" | "pig_butchering" | "theft" | "ransomware" => Self::Crime,
            _ => Self::Pattern,
        }
    }
}

/// A case on one chain.
#[derive(Debug, Clone)]
pub struct Case {
    pub kind: Kind,
    pub chain: Chain,
    /// The start of the trace: who got the loot, or first paid on.
    pub start: Address,
    /// The addresses that the money of the start really went to, apart from the start.
    pub known: BTreeSet<Address>,
    /// Those of them at which its way ends, with the US dollars that came there.
    pub ends: BTreeMap<Address, f64>,
    /// The addresses on other chains that it went to over a bridge.
    pub beyond: BTreeSet<(Chain, Address)>,
}

/// The cases of a chain.
pub fn cases(economy: &Economy, chain: Chain) -> Result<Vec<Case>> {
    let ledger = &*economy.ledger;
    let of_chain = economy.truth.addresses.iter().filter(|row| row.chain == chain);
    let roles: HashMap<Address, Role> = of_chain.map(|row| (row.address, row.role)).collect();
    let role = |address: &Address| roles.get(address).copied();
    let mut by_case: BTreeMap<&str, Vec<&CaseStep>> = BTreeMap::new();
    for step in economy.truth.cases.iter().filter(|step| step.chain == chain && !step.amount.is_zero()) {
        by_case.entry(&step.case).or_default().push(step);
    }
    let mut cases = Vec::new();
    for mut steps in by_case.into_values() {
        steps.sort_by_key(|step| step.step);
        let victims: BTreeSet<Address> =
            steps.iter().filter(|step| step.stage == "loot").map(|step| step.from).collect();
        // What a mixer or a bridge pays out has no visible way from what came in.
        let is_followed = |step: &&&CaseStep| {
            let is_hidden = matches!(role(&step.from), Some(Role::MixerPool | Role::BridgeVault | Role::BridgeRelayer));
            let is_refund = step.stage == "payout" && victims.contains(&step.to);
            FOLLOWED.contains(&&*step.stage) && !is_hidden && !is_refund
        };
        let followed: Vec<&CaseStep> = steps.iter().filter(is_followed).copied().collect();
        let looted: Vec<Address> = steps.iter().filter(|step| step.stage == "loot").map(|step| step.to).collect();
        let starts: Vec<Address> =
            if looted.is_empty() { followed.iter().map(|step| step.from).collect() } else { looted };
        // The first of those from whom most others are reached.
        let mut best: Option<(Address, Vec<&CaseStep>, BTreeSet<Address>)> = None;
        for start in starts {
            let (on_way, known) = reached(start, &followed);
            if best.as_ref().is_none_or(|best| known.len() > best.2.len()) {
                best = Some((start, on_way, known));
            }
        }
        let Some((start, on_way, known)) = best.filter(|best| best.2.len() >= MIN_KNOWN) else { continue };
        let payers: BTreeSet<Address> = on_way.iter().map(|step| step.from).collect();
        let mut ends: BTreeMap<Address, f64> = BTreeMap::new();
        for step in on_way.iter().filter(|step| !payers.contains(&step.to)) {
            *ends.entry(step.to).or_default() += usd(ledger, step)?;
        }
        let is_bridged = on_way.iter().any(|step| step.stage == "bridge");
        let beyond = if is_bridged { beyond(economy, &steps[0].case, chain) } else { BTreeSet::new() };
        cases.push(Case { kind: Kind::of(&steps[0].kind), chain, start, known, ends, beyond });
    }
    Ok(cases)
}

/// The addresses on other chains than one to which the money of a case went from those whom bridges paid there.
fn beyond(economy: &Economy, case: &str, chain: Chain) -> BTreeSet<(Chain, Address)> {
    let of_role = |row: &&AddressTruth| matches!(row.role, Role::BridgeVault | Role::BridgeRelayer);
    let payers: BTreeSet<(Chain, Address)> =
        economy.truth.addresses.iter().filter(of_role).map(|row| (row.chain, row.address)).collect();
    let mut beyond = BTreeSet::new();
    for other in Chain::all().filter(|other| *other != chain) {
        let is_of = |step: &&CaseStep| step.case == *case && step.chain == other && FOLLOWED.contains(&&*step.stage);
        let mut steps: Vec<&CaseStep> = economy.truth.cases.iter().filter(is_of).collect();
        steps.sort_by_key(|step| step.step);
        let (paid, followed): (Vec<_>, Vec<_>) =
            steps.into_iter().partition(|step| payers.contains(&(step.chain, step.from)));
        for receiver in paid.into_iter().map(|step| step.to) {
            beyond.insert((other, receiver));
            beyond.extend(reached(receiver, &followed).1.into_iter().map(|address| (other, address)));
        }
    }
    beyond
}

/// The steps that money of the start can have gone, in their order and in the asset in which it came, and who got it.
fn reached<'a>(start: Address, steps: &[&'a CaseStep]) -> (Vec<&'a CaseStep>, BTreeSet<Address>) {
    let mut held: BTreeSet<(Address, Asset)> = BTreeSet::new();
    let mut on_way = Vec::new();
    for step in steps {
        if step.from == start || held.contains(&(step.from, step.asset)) {
            held.insert((step.to, step.asset));
            on_way.push(*step);
        }
    }
    let known = held.into_iter().map(|(address, _)| address).filter(|address| *address != start).collect();
    (on_way, known)
}

/// Returns what a step was worth; nothing without a price.
fn usd(ledger: &dyn Ledger, step: &CaseStep) -> Result<f64> {
    let facts = |contract: &Address| ledger.token_facts(step.chain, contract);
    let terms = AssetTerms::of::<LedgerError>(ledger.registry(), step.chain, &step.asset, facts)?;
    let Some(transaction) = ledger.find_transaction(step.chain, &step.hash)? else { return Ok(0.0) };
    let time = ledger.transaction_head(transaction)?.time;
    Ok(terms.value(ledger.prices(), step.amount, time).unwrap_or(0.0))
}
