//! Look-up of what a batch speaks of: all keys of the batch at once, part by part.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use headwater_types::{Chain, TxHash};

use super::parts::Part;
use crate::Cancel;
use crate::error::{ConflictParties, LedgerError};
use crate::facts::{BlockFacts, OutPoint, OutputFacts, TransactionFacts};
use crate::read::Result;

/// The place of a transaction: the number of its part, and its row there.
pub(super) type RowPlace = (usize, u32);

/// Returns where each of `hashes` is, which are in order.
pub(super) fn places(parts: &[&Arc<Part>], hashes: &[TxHash], cancel: &Cancel) -> Result<Vec<Option<RowPlace>>> {
    let mut places = vec![None; hashes.len()];
    for (place, part) in parts.iter().enumerate() {
        cancel.check()?;
        for (hash, row) in part.segment.find_many(hashes)? {
            // A transaction is in one part; should it ever be in two, the first counts.
            places[hash].get_or_insert((place, row));
        }
    }
    Ok(places)
}

/// The copies of each of `numbers`, which are in order, by number: the place of a part, and what it says.
pub(super) fn block_copies(
    parts: &[&Arc<Part>],
    numbers: &[u64],
    cancel: &Cancel,
) -> Result<BTreeMap<u64, Vec<(usize, BlockFacts)>>> {
    let mut copies: BTreeMap<u64, Vec<(usize, BlockFacts)>> = BTreeMap::new();
    for (place, part) in parts.iter().enumerate() {
        cancel.check()?;
        for (_, block) in part.segment.find_blocks(numbers)? {
            copies.entry(block.number).or_default().push((place, block));
        }
    }
    Ok(copies)
}

/// The outputs that a batch may spend: its own, and those held.
pub(super) struct Outputs<'a> {
    parts: &'a [&'a Arc<Part>],
    offered: HashMap<TxHash, Vec<OutputFacts>>,
    /// Transactions whose outputs the batch spends and does not bring, in order, and where they are.
    asked: Vec<TxHash>,
    places: Vec<Option<RowPlace>>,
}

impl<'a> Outputs<'a> {
    pub(super) fn of(parts: &'a [&'a Arc<Part>], batch: &[TransactionFacts], cancel: &Cancel) -> Result<Self> {
        let with_outputs = batch.iter().filter_map(|facts| facts.utxo.as_ref().map(|utxo| (facts.hash, utxo)));
        let offered: HashMap<TxHash, Vec<OutputFacts>> =
            with_outputs.map(|(hash, utxo)| (hash, utxo.outputs.clone())).collect();
        let inputs = batch.iter().filter_map(|facts| facts.utxo.as_ref()).flat_map(|utxo| &utxo.inputs);
        let mut asked: Vec<TxHash> = inputs
            .filter(|input| !input.previous.is_unknown() && !offered.contains_key(&input.previous.hash))
            .map(|input| input.previous.hash)
            .collect();
        asked.sort_unstable();
        asked.dedup();
        let places = places(parts, &asked, cancel)?;
        Ok(Self { parts, offered, asked, places })
    }

    /// Returns whether the batch brings the outputs of a transaction.
    pub(super) fn are_offered(&self, hash: &TxHash) -> bool {
        self.offered.contains_key(hash)
    }

    pub(super) fn get(&self, point: &OutPoint) -> Result<Option<OutputFacts>> {
        if let Some(outputs) = self.offered.get(&point.hash) {
            return Ok(outputs.get(point.index as usize).cloned());
        }
        match self.asked.binary_search(&point.hash) {
            Ok(place) => match self.places[place] {
                Some((part, row)) => self.parts[part].segment.output_of(row, point.index),
                None => Ok(None),
            },
            // Spent by a transaction that is held, not by one of the batch.
            Err(_) if point.is_unknown() => Ok(None),
            Err(_) => self.search(point),
        }
    }

    /// Returns what is wrong with an input that says another amount than the output it spends has.
    pub(super) fn disagreement(
        chain: Chain,
        spender: &TxHash,
        stated: &OutputFacts,
        output: &OutputFacts,
    ) -> Option<LedgerError> {
        (stated.amount != output.amount).then(|| LedgerError::Conflict {
            chain,
            what: "transaction",
            id: spender.display(chain.family()),
            field: "amount of a spent output",
            held: output.amount.to_string(),
            offered: stated.amount.to_string(),
            between: ConflictParties::StoreAndRow,
        })
    }

    fn search(&self, point: &OutPoint) -> Result<Option<OutputFacts>> {
        for part in self.parts {
            if let Some(output) = part.segment.output(point)? {
                return Ok(Some(output));
            }
        }
        Ok(None)
    }
}
