//! Transfers over bridges of an economy: which legs are joined, and how often that is right.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use headwater_bridge::{LegTable, Status};
use headwater_ledger::bridges::legs;
use headwater_simulate::truth::BridgeOutcome;
use headwater_types::{Chain, TxHash};

use super::Economy;
use super::interval::Share;

/// The quality of matching.
#[derive(Default)]
pub struct Tally {
    legs: usize,
    /// By class, bridge and outcome: transfers of the truth that are found so, with both their legs.
    found: BTreeMap<(String, String, &'static str), Share>,
    /// By bridge, as it is detected: joined transfers that are one in truth.
    right: BTreeMap<String, Share>,
}

impl Tally {
    pub fn add(&mut self, economy: &Economy) -> Result<()> {
        let (ledger, truth) = (&*economy.ledger, &economy.truth);
        let mut table = LegTable::default();
        for (chain, coverage) in ledger.coverage() {
            for block in coverage.first_block.unwrap_or(0)..=coverage.last_block.unwrap_or(0) {
                for index in 0.. {
                    let Some(found) = ledger.transaction_at(*chain, block, index)? else { break };
                    let transaction = ledger.transaction(found)?;
                    table.extend(legs(*chain, transaction.head.time, &transaction.facts));
                }
            }
        }
        self.legs += table.len();
        let place = |chain: Chain, hash: TxHash| (chain.name(), hash);
        let mut joined: HashMap<_, Vec<(Option<_>, Status)>> = HashMap::new();
        let expected: HashSet<_> = truth
            .bridge_transfers
            .iter()
            .filter_map(|transfer| {
                let source = place(transfer.source.chain, transfer.source.hash);
                Some((source, transfer.destination.as_ref().map(|leg| place(leg.chain, leg.hash))?))
            })
            .collect();
        for transfer in table.transfers() {
            let of = |half: &headwater_bridge::Half| Some(place(half.chain.held()?, half.transaction));
            let Some(source) = transfer.source.and_then(of) else { continue };
            let end = transfer.destinations.first().or(transfer.refunds.first()).copied().and_then(of);
            joined.entry(source).or_default().push((end, transfer.status()));
            if let (Some(end), Some(half)) = (end, transfer.source) {
                self.right.entry(half.bridge.to_string()).or_default().count(expected.contains(&(source, end)));
            }
        }
        for transfer in &truth.bridge_transfers {
            let found = joined.get(&place(transfer.source.chain, transfer.source.hash)).map_or(&[][..], Vec::as_slice);
            let end = transfer.destination.as_ref().map(|leg| place(leg.chain, leg.hash));
            let is_found = match transfer.outcome {
                BridgeOutcome::Pending => found.iter().any(|(of, status)| of.is_none() && *status == Status::Sent),
                BridgeOutcome::Completed | BridgeOutcome::Refunded => found.iter().any(|(of, _)| *of == end),
            };
            let key = (transfer.class.name().to_owned(), transfer.bridge.clone(), transfer.outcome.name());
            self.found.entry(key).or_default().count(is_found);
        }
        Ok(())
    }

    pub fn print(&self) {
        println!("## Bridges\n\n{} legs.\n", self.legs);
        println!("| class | bridge | outcome | transfers | found |\n|---|---|---|---|---|");
        for ((class, bridge, outcome), share) in &self.found {
            println!("| {class} | {bridge} | {outcome} | {} | {share} |", share.whole);
        }
        println!("\n| bridge | joined | right |\n|---|---|---|");
        for (bridge, share) in &self.right {
            println!("| {bridge} | {} | {share} |", share.whole);
        }
        println!();
    }
}
