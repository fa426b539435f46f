//! Double spends: of transactions that spend one output, the first on the chain is held. Sources give the others beside
//! it: replaced transactions that a wallet or a node kept, and blocks that were orphaned.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use headwater_types::{Family, TxHash};

use super::Plan;
use crate::Cancel;
use crate::facts::{OutPoint, TransactionFacts};
use crate::read::Result;
use crate::store::report::DoubleSpend;

/// The place of a transaction on the chain: block, position with unknown last, hash.
type ChainPosition = (u64, u64, TxHash);

/// A transaction that spends an output of interest.
#[derive(Default)]
struct Spender {
    spent: Vec<OutPoint>,
    /// Part and row, where it is held.
    held: Option<(usize, u32)>,
}

fn place(block: u64, index: Option<u32>, hash: TxHash) -> ChainPosition {
    (block, index.map_or(u64::MAX, u64::from), hash)
}

/// The outputs that a transaction is known to spend.
fn spent(facts: &TransactionFacts) -> impl Iterator<Item = OutPoint> {
    let inputs = facts.utxo.iter().flat_map(|utxo| &utxo.inputs);
    inputs.map(|input| input.previous).filter(|previous| !previous.is_unknown())
}

impl Plan<'_> {
    /// Takes later spends of an output out of a batch, and out of what is held. Returns whether it left out any of the batch.
    pub(super) fn leave_out_double_spends(
        &mut self,
        offered: &mut Vec<TransactionFacts>,
        cancel: &Cancel,
    ) -> Result<bool> {
        if self.chain.family() != Family::Utxo {
            return Ok(false);
        }
        let spenders = self.rivals(offered, cancel)?;
        let mut owners: HashMap<OutPoint, TxHash> = HashMap::new();
        let mut left_out: HashSet<TxHash> = HashSet::new();
        // In the order of the chain, so that one that is left out takes no output from others.
        for ((block, _, hash), spender) in &spenders {
            let taken = spender.spent.iter().find_map(|output| Some((output, *owners.get(output)?)));
            let Some((output, kept)) = taken.filter(|(_, owner)| owner != hash) else {
                owners.extend(spender.spent.iter().map(|output| (*output, *hash)));
                continue;
            };
            if let Some((part, row)) = spender.held {
                self.edits.entry(part).or_default().rows.insert(row, None);
            }
            left_out.insert(*hash);
            self.report.double_spends.push(DoubleSpend {
                left_out: hash.display(Family::Utxo),
                block: *block,
                kept: kept.display(Family::Utxo),
                output: format!("{}:{}", output.hash.display(Family::Utxo), output.index),
                was_held: spender.held.is_some(),
            });
        }
        let before = offered.len();
        if !left_out.is_empty() {
            offered.retain(|facts| !left_out.contains(&facts.hash));
        }
        Ok(offered.len() < before)
    }

    /// The transactions that spend an output which another one spends too, in the order of the chain.
    fn rivals(&self, offered: &[TransactionFacts], cancel: &Cancel) -> Result<BTreeMap<ChainPosition, Spender>> {
        let mut first: HashMap<OutPoint, TxHash> = HashMap::new();
        let mut contested: HashSet<OutPoint> = HashSet::new();
        for facts in offered {
            for output in spent(facts) {
                match first.entry(output) {
                    Entry::Vacant(entry) => {
                        entry.insert(facts.hash);
                    }
                    Entry::Occupied(entry) if *entry.get() != facts.hash => {
                        contested.insert(output);
                    }
                    Entry::Occupied(_) => {}
                }
            }
        }
        let mut rivals: BTreeMap<ChainPosition, Spender> = BTreeMap::new();
        let mut hashes: Vec<TxHash> = first.keys().map(|output| output.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        for (number, part) in self.parts.iter().enumerate() {
            cancel.check()?;
            for (at, spend) in part.segment.spenders_of_many(&hashes)? {
                let output = OutPoint { hash: hashes[at], index: spend.output };
                let Some(offered) = first.get(&output) else { continue };
                let head = part.segment.head(spend.row)?;
                if head.hash != *offered || contested.contains(&output) {
                    contested.insert(output);
                    let rival = rivals.entry(place(head.block, head.index, head.hash)).or_default();
                    rival.spent.push(output);
                    rival.held = Some((number, spend.row));
                }
            }
        }
        let is_contested = |output: &OutPoint| contested.contains(output);
        for facts in
            offered.iter().filter(|facts| !contested.is_empty() && spent(facts).any(|output| is_contested(&output)))
        {
            let rival = rivals.entry(place(facts.block, facts.index, facts.hash)).or_default();
            rival.spent.extend(spent(facts).filter(is_contested));
        }
        Ok(rivals)
    }
}
