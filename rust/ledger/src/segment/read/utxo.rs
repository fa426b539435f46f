//! Inputs, outputs and spenders.

use std::sync::Arc;

use headwater_types::TxHash;

use super::super::column::{Blobs, Offsets, OptionalInts, Present};
use super::super::container::{Column, Container};
use super::super::layout::{self, Counts};
use super::super::pack::{Ints, Table};
use super::super::record::{InputRecord, OutputRecord, TransactionRecord};
use super::Spend;
use super::hashes::HashIndex;
use crate::error::Result;
use crate::facts::OutPoint;

pub(super) struct Utxo {
    versions: OptionalInts,
    lock_times: OptionalInts,
    weights: OptionalInts,
    sequences: OptionalInts,
    inputs: Offsets,
    hashes: Column<[u8; 32]>,
    indexes: Ints,
    spent: Table<4>,
    has_spent: Present,
    output_offsets: Offsets,
    outputs: Table<4>,
    by_output: HashIndex,
}

impl Utxo {
    pub(super) fn open(file: &Arc<Container>, counts: &Counts) -> Result<Self> {
        let spent = Table::open(file, layout::SPENT_TABLE)?;
        let has_spent = Present::open(file, layout::HAS_SPENT, !spent.is_empty())?;
        Ok(Self {
            versions: OptionalInts::open(file, layout::TX_VERSIONS)?,
            lock_times: OptionalInts::open(file, layout::TX_LOCK_TIMES)?,
            weights: OptionalInts::open(file, layout::TX_WEIGHTS)?,
            sequences: OptionalInts::open(file, layout::INPUT_SEQUENCES)?,
            inputs: Offsets::open(file, layout::TX_SPENDS)?,
            hashes: file.column(layout::INPUT_HASHES)?,
            indexes: Ints::open(file, layout::INPUT_INDEXES)?,
            spent,
            has_spent,
            output_offsets: Offsets::open(file, layout::TX_OUTPUTS)?,
            outputs: Table::open(file, layout::OUTPUT_TABLE)?,
            by_output: HashIndex::open(file, layout::SPENDERS, counts.inputs)?,
        })
    }

    pub(super) fn record(&self, row: u32, blobs: &Blobs, into: &mut TransactionRecord) -> Result<()> {
        into.version = self.versions.id(row)?;
        into.lock_time = self.lock_times.id(row)?;
        into.weight_wu = self.weights.id(row)?;
        into.inputs.clear();
        for at in self.inputs.get(row)? {
            let input = u32::try_from(at).map_err(|_| self.hashes.outside(at))?;
            let previous = self.previous(at)?;
            let (hash, index) = (*previous.hash.as_bytes(), previous.index);
            let (spent, sequence) = (self.spent(input, blobs)?, self.sequences.id(input)?);
            into.inputs.push(InputRecord { hash, index, spent, sequence });
        }
        into.outputs.clear();
        for at in self.output_offsets.get(row)? {
            into.outputs.push(self.output_at(at, blobs)?);
        }
        Ok(())
    }

    /// Owners and amounts of what a row spends, as far as it is known, and of what it makes; the rest of the inputs and
    /// outputs is left blank.
    pub(super) fn owned_amounts(&self, row: u32, into: &mut TransactionRecord) -> Result<()> {
        let owned = |table: &Table<4>, at: usize| -> Result<OutputRecord> {
            let (amount, owner) = (table.value(at, 0)?, owner_at(table, at)?);
            Ok(OutputRecord { amount, owner, data: None, script: 0 })
        };
        into.inputs.clear();
        for at in self.inputs.get(row)? {
            let input = u32::try_from(at).map_err(|_| self.hashes.outside(at))?;
            let spent = self.has_spent.place(input)?.map(|at| owned(&self.spent, at)).transpose()?;
            into.inputs.push(InputRecord { hash: [0; 32], index: 0, spent, sequence: None });
        }
        into.outputs.clear();
        for at in self.output_offsets.get(row)? {
            into.outputs.push(owned(&self.outputs, at)?);
        }
        Ok(())
    }

    pub(super) fn output(&self, row: u32, index: u32, blobs: &Blobs) -> Result<Option<OutputRecord>> {
        let range = self.output_offsets.get(row)?;
        let at = range.start.saturating_add(index as usize);
        (at < range.end).then(|| self.output_at(at, blobs)).transpose()
    }

    /// The owners of what the inputs of a row spend, of at least `min_amount` satoshis each and as far as they are known, in
    /// order of the inputs.
    pub(super) fn payers(&self, row: u32, min_amount: u64, into: &mut Vec<u32>) -> Result<()> {
        into.clear();
        for at in self.inputs.get(row)? {
            let input = u32::try_from(at).map_err(|_| self.hashes.outside(at))?;
            let Some(spent) = self.has_spent.place(input)? else { continue };
            if self.spent.value(spent, 0)? >= min_amount {
                into.extend(owner_at(&self.spent, spent)?);
            }
        }
        Ok(())
    }

    /// Numbers of inputs and outputs of a row, and whether all that it is known to spend has one form of script.
    pub(super) fn outline(&self, row: u32) -> Result<(usize, usize, bool)> {
        let inputs = self.inputs.get(row)?;
        let (mut form, mut is_one_form) = (None, true);
        for at in inputs.clone() {
            let input = u32::try_from(at).map_err(|_| self.hashes.outside(at))?;
            let Some(spent) = self.has_spent.place(input)? else { continue };
            let found = self.spent.value(spent, 3)?;
            is_one_form &= *form.get_or_insert(found) == found;
        }
        Ok((inputs.len(), self.output_offsets.get(row)?.len(), is_one_form))
    }

    /// Returns where an account is among the inputs and then the outputs of a row.
    pub(super) fn position(&self, row: u32, account: u32) -> Result<Option<usize>> {
        let inputs = self.inputs.get(row)?;
        for (position, at) in inputs.clone().enumerate() {
            let input = u32::try_from(at).map_err(|_| self.hashes.outside(at))?;
            let Some(spent) = self.has_spent.place(input)? else { continue };
            if owner_at(&self.spent, spent)? == Some(account) {
                return Ok(Some(position));
            }
        }
        for (position, at) in self.output_offsets.get(row)?.enumerate() {
            if owner_at(&self.outputs, at)? == Some(account) {
                return Ok(Some(inputs.len() + position));
            }
        }
        Ok(None)
    }

    /// Returns whether a row has a data output.
    pub(super) fn has_note(&self, row: u32) -> Result<bool> {
        for at in self.output_offsets.get(row)? {
            if self.outputs.value(at, 2)? != 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn output_at(&self, at: usize, blobs: &Blobs) -> Result<OutputRecord> {
        output_of(&self.outputs, at, blobs)
    }

    fn spent(&self, input: u32, blobs: &Blobs) -> Result<Option<OutputRecord>> {
        self.has_spent.place(input)?.map(|at| output_of(&self.spent, at, blobs)).transpose()
    }

    fn is_known(&self, input: u32) -> Result<bool> {
        Ok(self.has_spent.place(input)?.is_some())
    }

    pub(super) fn spenders_of(&self, hash: &TxHash) -> Result<Vec<Spend>> {
        let bytes = hash.as_bytes();
        let of = |input: u32| self.hashes.get(input as usize);
        let (place, run) = self.by_output.place(bytes, &of)?;
        let mut spends = Vec::new();
        for at in place..run.end {
            let input = self.by_output.entry(at)?;
            if of(input)? != *bytes {
                break;
            }
            let row = self.inputs.row_of(input)?;
            let start = self.inputs.get(row)?.start;
            spends.push(Spend {
                output: self.indexes.id(input as usize)?,
                row,
                input: u32::try_from(input as usize - start.min(input as usize))
                    .map_err(|_| self.hashes.outside(input as usize))?,
                known: self.is_known(input)?,
            });
        }
        Ok(spends)
    }

    /// The places of those of ascending hashes that inputs may name.
    pub(super) fn may_be_spent(&self, hashes: &[TxHash]) -> Result<Vec<usize>> {
        self.by_output.with_known_prefix(hashes.iter().map(TxHash::as_bytes))
    }

    pub(super) fn input_count(&self) -> usize {
        self.hashes.len()
    }

    /// The input at a place in order of what is spent, and the hash it names.
    pub(super) fn spender_at(&self, place: usize) -> Result<(u32, [u8; 32], u32)> {
        let input = self.by_output.entry(place)?;
        Ok((input, self.hashes.get(input as usize)?, self.indexes.id(input as usize)?))
    }

    pub(super) fn unresolved(&self, rows: u32) -> Result<Vec<(OutPoint, u32)>> {
        let mut found = Vec::new();
        for row in 0..rows {
            for at in self.inputs.get(row)? {
                let input = u32::try_from(at).map_err(|_| self.hashes.outside(at))?;
                if !self.is_known(input)? {
                    found.push((self.previous(at)?, row));
                }
            }
        }
        Ok(found)
    }

    fn previous(&self, at: usize) -> Result<OutPoint> {
        Ok(OutPoint { hash: TxHash::new(self.hashes.get(at)?), index: self.indexes.id(at)? })
    }
}

fn owner_at(table: &Table<4>, at: usize) -> Result<Option<u32>> {
    let owner = table.value(at, 1)?.checked_sub(1);
    owner.map(|id| u32::try_from(id).map_err(|_| table.wrong(at, "is too large"))).transpose()
}

fn output_of(table: &Table<4>, at: usize, blobs: &Blobs) -> Result<OutputRecord> {
    let [amount, owner, data, script] = table.row(at)?;
    let narrow = |id: u64| u32::try_from(id).map_err(|_| table.wrong(at, "is too large"));
    let data = data.checked_sub(1).map(narrow).transpose()?;
    Ok(OutputRecord {
        amount,
        owner: owner.checked_sub(1).map(narrow).transpose()?,
        data: data.map(|id| blobs.get(id).map(<[u8]>::to_vec)).transpose()?,
        script: narrow(script)?,
    })
}
