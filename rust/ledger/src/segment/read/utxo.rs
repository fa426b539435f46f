//! Inputs, outputs and spenders.

use std::sync::Arc;

use headwater_types::TxHash;

use super::super::column::{Column, NONE, Offsets, OptionalColumn, search};
use super::super::container::Container;
use super::super::layout::{self, Output, prefix};
use super::Spend;
use super::transactions::Dictionaries;
use crate::facts::{InputFacts, OutPoint, OutputFacts, UtxoFacts};
use crate::read::{Result, ScriptType};

pub(super) struct Utxo {
    versions: OptionalColumn<u32>,
    lock_times: OptionalColumn<u32>,
    weights: OptionalColumn<u32>,
    inputs: Offsets,
    hashes: Column<[u8; 32]>,
    indexes: Column<u32>,
    spent: OptionalColumn<Output>,
    sequences: OptionalColumn<u32>,
    output_offsets: Offsets,
    outputs: Column<Output>,
    prefixes: Column<u64>,
    by_output: Column<u32>,
}

impl Utxo {
    pub(super) fn open(file: &Arc<Container>) -> Result<Self> {
        Ok(Self {
            versions: OptionalColumn::open_if_any(file, layout::TX_VERSIONS)?,
            lock_times: OptionalColumn::open_if_any(file, layout::TX_LOCK_TIMES)?,
            weights: OptionalColumn::open_if_any(file, layout::TX_WEIGHTS)?,
            inputs: Offsets(file.column(layout::TX_SPENDS)?),
            hashes: file.column(layout::INPUT_HASHES)?,
            indexes: file.column(layout::INPUT_INDEXES)?,
            spent: OptionalColumn::open(file, layout::INPUT_SPENT)?,
            sequences: OptionalColumn::open_if_any(file, layout::INPUT_SEQUENCES)?,
            output_offsets: Offsets(file.column(layout::TX_OUTPUTS)?),
            outputs: file.column(layout::OUTPUTS)?,
            prefixes: file.column(layout::SPENDER_PREFIXES)?,
            by_output: file.column(layout::SPENDER_INPUTS)?,
        })
    }

    pub(super) fn facts(&self, row: u32, coinbase: bool, with: &Dictionaries<'_>) -> Result<UtxoFacts> {
        let inputs = self.inputs.get(row)?.map(|at| {
            let input = u32::try_from(at).map_err(|_| self.hashes.outside(at))?;
            let spent = self.spent.get(input)?.map(|output| self.output_facts(&output, with)).transpose()?;
            Ok(InputFacts { previous: self.previous(at)?, spent, sequence: self.sequences.get(input)? })
        });
        let outputs = self.output_offsets.get(row)?.map(|at| self.output_facts(&self.outputs.get(at)?, with));
        Ok(UtxoFacts {
            coinbase,
            version: self.versions.get(row)?,
            lock_time: self.lock_times.get(row)?,
            weight_wu: self.weights.get(row)?,
            inputs: inputs.collect::<Result<_>>()?,
            outputs: outputs.collect::<Result<_>>()?,
        })
    }

    pub(super) fn output(&self, row: u32, index: u32, with: &Dictionaries<'_>) -> Result<Option<OutputFacts>> {
        let range = self.output_offsets.get(row)?;
        let at = range.start.saturating_add(index as usize);
        (at < range.end).then(|| self.output_facts(&self.outputs.get(at)?, with)).transpose()
    }

    pub(super) fn spenders_of(&self, hash: &TxHash) -> Result<Vec<Spend>> {
        let first = prefix(hash.as_bytes());
        let low = self.prefixes.partition(0..self.prefixes.len(), |prefix| prefix < first)?;
        self.spenders_from(low, hash)
    }

    /// First eight bytes of the hash of every output spent, in order.
    pub(super) fn prefixes(&self) -> &Column<u64> {
        &self.prefixes
    }

    /// The inputs that spend outputs of a transaction, given the first place in the index whose prefix is not below
    /// that of its hash.
    pub(super) fn spenders_from(&self, low: usize, hash: &TxHash) -> Result<Vec<Spend>> {
        let bytes = hash.as_bytes();
        let first = prefix(bytes);
        let mut at = search(low..self.prefixes.len(), |at| {
            Ok(self.prefixes.get(at)? == first && self.hashes.get(self.by_output.get(at)? as usize)? < *bytes)
        })?;
        let mut spends = Vec::new();
        while at < self.prefixes.len() && self.prefixes.get(at)? == first {
            let input = self.by_output.get(at)?;
            if self.hashes.get(input as usize)? != *bytes {
                break;
            }
            let row = self.inputs.row_of(input)?;
            let start = self.inputs.get(row)?.start;
            spends.push(Spend {
                output: self.indexes.get(input as usize)?,
                row,
                input: u32::try_from(input as usize - start.min(input as usize))
                    .map_err(|_| self.hashes.outside(input as usize))?,
                known: self.spent.get(input)?.is_some(),
            });
            at += 1;
        }
        Ok(spends)
    }

    pub(super) fn unresolved(&self, rows: u32) -> Result<Vec<(OutPoint, u32)>> {
        let mut found = Vec::new();
        for row in 0..rows {
            for at in self.inputs.get(row)? {
                let input = u32::try_from(at).map_err(|_| self.hashes.outside(at))?;
                if self.spent.get(input)?.is_none() {
                    found.push((self.previous(at)?, row));
                }
            }
        }
        Ok(found)
    }

    fn previous(&self, at: usize) -> Result<OutPoint> {
        Ok(OutPoint { hash: TxHash::new(self.hashes.get(at)?), index: self.indexes.get(at)? })
    }

    fn output_facts(&self, output: &Output, with: &Dictionaries<'_>) -> Result<OutputFacts> {
        let script = ScriptType::ALL.get(output.script as usize);
        Ok(OutputFacts {
            owner: with.account(output.owner)?,
            amount: output.amount,
            script: *script.ok_or_else(|| self.outputs.wrong(0, "has an unknown form of script"))?,
            data: (output.data != NONE).then(|| with.blobs.get(output.data).map(<[u8]>::to_vec)).transpose()?,
        })
    }
}
