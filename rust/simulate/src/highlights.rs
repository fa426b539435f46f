//! Addresses worth looking at: what `make demo` prints to try.

use std::collections::BTreeMap;

use headwater_ledger::facts::TransactionFacts;
use headwater_types::{Address, Asset, Chain};
use serde::Serialize;

use crate::economy::Economy;
use crate::truth::{AddressTruth, CaseStep, Role};

/// One address worth looking at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// The chain.
    #[serde(rename = "blockchain")]
    pub chain: Chain,
    /// The address, in canonical text.
    pub address: String,
    /// What it is, in a word or two.
    pub title: &'static str,
    /// Why it is worth looking at, in one line.
    pub why: String,
}

/// Picks a few addresses of every chain, in order of chain.
pub(crate) fn highlights(economy: &Economy) -> Vec<Highlight> {
    let activity = activity(economy);
    let values = Values::of(economy);
    let mut found = Vec::new();
    for chain in Chain::all() {
        let busiest = |role: Role| {
            let of_role = economy.truth.addresses.iter().filter(|truth| truth.chain == chain && truth.role == role);
            let count = |truth: &&AddressTruth| activity.get(&(chain, truth.address)).copied().unwrap_or(0);
            of_role.max_by_key(|truth| (count(truth), std::cmp::Reverse(truth.address)))
        };
        let mut add = |address: Address, title, why: String| {
            found.push(Highlight { chain, address: address.to_string(), title, why });
        };
        if let Some(truth) = busiest(Role::ExchangeHot) {
            add(truth.address, "exchange", format!("hot wallet of {}, the busiest service of the chain", truth.owner));
        }
        if let Some(truth) = busiest(Role::Person) {
            add(truth.address, "busy person", format!("{}: months of payments, deposits and withdrawals", truth.owner));
        }
        for (role, title, why) in [
            (Role::ScamCollector, "scammer", "where the loot of many victims comes together"),
            (
                Role::SpoofedToken,
                "spoofed token",
                "a contract that carries a well-known symbol and is hidden by default",
            ),
            (Role::BridgeVault, "bridge", "both legs of every crossing touch a vault like this"),
            (Role::MixerPool, "mixer", "equal deposits go in, and come out for new addresses"),
            (Role::MiningPool, "mining pool", "coinbases come in, miners are paid in batches"),
        ] {
            if let Some(truth) = busiest(role) {
                add(truth.address, title, why.to_owned());
            }
        }
        let person = |address: &Address| {
            economy.truth.addresses.iter().any(|truth| truth.address == *address && truth.role == Role::Person)
        };
        let loot = economy.truth.cases.iter().filter(|step| step.chain == chain && step.stage == "loot");
        let robbed = loot.clone().filter(|step| person(&step.from));
        if let Some(step) = robbed.max_by(|left, right| values.usd(left).total_cmp(&values.usd(right))) {
            add(step.from, "victim", format!("lost more than anybody else to {}", step.case));
        }
        if let Some(step) = loot.clone().find(|step| step.kind == "theft") {
            add(step.to, "peel chain", "stolen coins leave here, a little peeled off at every hop".to_owned());
        }
        let mixed = economy.truth.mixer_links.iter().filter(|link| link.chain == chain);
        if let Some(link) = mixed.clone().find(|link| person(&link.depositor)) {
            add(link.depositor, "mixer user", "an ordinary person who used the mixer".to_owned());
        }
        let crossed = economy.truth.bridge_transfers.iter().filter(|transfer| transfer.source.chain == chain);
        if let Some(transfer) = crossed.clone().find(|transfer| person(&transfer.source.user)) {
            let there = &transfer.destination;
            let why = format!("crossed to {} over the bridge, to {}", there.chain, there.user);
            add(transfer.source.user, "bridge user", why);
        }
    }
    found
}

/// What assets are worth, by their first price: good enough to compare losses.
struct Values<'a>(BTreeMap<(Chain, Asset), (u8, &'a str)>, BTreeMap<&'a str, f64>);

impl<'a> Values<'a> {
    fn of(economy: &'a Economy) -> Self {
        let natives =
            Chain::all().map(|chain| ((chain, Asset::Native), (chain.native_decimals(), chain.native_symbol())));
        let tokens = economy.tokens.iter();
        let tokens =
            tokens.map(|token| ((token.chain, Asset::Token(token.contract)), (token.decimals, &*token.symbol)));
        let mut prices = BTreeMap::new();
        for point in &economy.prices {
            prices.entry(&*point.symbol).or_insert(point.usd);
        }
        Self(natives.chain(tokens).collect(), prices)
    }

    fn usd(&self, step: &CaseStep) -> f64 {
        let Some((decimals, symbol)) = self.0.get(&(step.chain, step.asset)) else { return 0.0 };
        let price = self.1.get(&*symbol.to_lowercase()).copied().unwrap_or(0.0);
        step.amount.to_f64(*decimals) * price
    }
}

/// How many transactions name an address.
fn activity(economy: &Economy) -> BTreeMap<(Chain, Address), u64> {
    let mut activity = BTreeMap::new();
    for batch in &economy.batches {
        for transaction in &batch.transactions {
            for address in parties(transaction) {
                *activity.entry((batch.chain, address)).or_insert(0) += 1;
            }
        }
    }
    activity
}

fn parties(transaction: &TransactionFacts) -> Vec<Address> {
    let body = transaction.body.iter().flat_map(|body| [body.from, body.to]);
    let moved = transaction.movements.iter().flat_map(|movement| [movement.from, movement.to]);
    let created = transaction.movements.iter().map(|movement| movement.asset.contract().copied());
    let inputs = transaction.utxo.iter().flat_map(|utxo| &utxo.inputs);
    let spent = inputs.map(|input| input.spent.as_ref().and_then(|output| output.owner));
    let outputs = transaction.utxo.iter().flat_map(|utxo| &utxo.outputs).map(|output| output.owner);
    let mut parties: Vec<_> = body.chain(moved).chain(created).chain(spent).chain(outputs).flatten().collect();
    parties.sort_unstable();
    parties.dedup();
    parties
}
