//! Inputs, outputs, and the index from an output to the input that spends it.

use rayon::prelude::*;

use super::columns::{BlobBuilder, OffsetBuilder, OptionalBuilder, id};
use crate::facts::{OutputFacts, UtxoFacts};
use crate::read::Result;
use crate::segment::column::NONE;
use crate::segment::container::ContainerWriter;
use crate::segment::layout::{
    INPUT_HASHES, INPUT_INDEXES, INPUT_SEQUENCES, INPUT_SPENT, OUTPUTS, Output, SPENDER_INPUTS, SPENDER_PREFIXES,
    TX_LOCK_TIMES, TX_OUTPUTS, TX_SPENDS, TX_VERSIONS, TX_WEIGHTS, prefix,
};
use crate::segment::record::{OutputRecord, TransactionRecord};

pub(super) struct UtxoColumns {
    versions: OptionalBuilder<u32>,
    lock_times: OptionalBuilder<u32>,
    weights: OptionalBuilder<u32>,
    input_offsets: OffsetBuilder,
    hashes: Vec<[u8; 32]>,
    indexes: Vec<u32>,
    spent: OptionalBuilder<Output>,
    sequences: OptionalBuilder<u32>,
    output_offsets: OffsetBuilder,
    outputs: Vec<Output>,
}

impl UtxoColumns {
    pub(super) fn new() -> Self {
        Self {
            versions: OptionalBuilder::new(),
            lock_times: OptionalBuilder::new(),
            weights: OptionalBuilder::new(),
            input_offsets: OffsetBuilder::new("inputs"),
            hashes: Vec::new(),
            indexes: Vec::new(),
            spent: OptionalBuilder::new(),
            sequences: OptionalBuilder::new(),
            output_offsets: OffsetBuilder::new("outputs"),
            outputs: Vec::new(),
        }
    }

    pub(super) fn add<'a>(
        &mut self,
        utxo: Option<&'a UtxoFacts>,
        record: &TransactionRecord,
        blobs: &mut BlobBuilder<'a>,
    ) -> Result<()> {
        self.versions.push(utxo.and_then(|utxo| utxo.version));
        self.lock_times.push(utxo.and_then(|utxo| utxo.lock_time));
        self.weights.push(utxo.and_then(|utxo| utxo.weight_wu));
        if let Some(utxo) = utxo {
            for (input, record) in utxo.inputs.iter().zip(&record.inputs) {
                self.hashes.push(*input.previous.hash.as_bytes());
                self.indexes.push(input.previous.index);
                let spent = input.spent.as_ref().zip(record.spent.as_ref());
                self.spent.push(spent.map(|(facts, record)| output(facts, record, blobs)).transpose()?);
                self.sequences.push(input.sequence);
            }
            for (facts, record) in utxo.outputs.iter().zip(&record.outputs) {
                self.outputs.push(output(facts, record, blobs)?);
            }
        }
        self.input_offsets.end_row(self.hashes.len())?;
        self.output_offsets.end_row(self.outputs.len())
    }

    pub(super) fn put(&self, out: &mut ContainerWriter) {
        self.versions.put_numbers(out, TX_VERSIONS);
        self.lock_times.put_numbers(out, TX_LOCK_TIMES);
        self.weights.put_numbers(out, TX_WEIGHTS);
        self.input_offsets.put(out, TX_SPENDS.raw);
        out.put(INPUT_HASHES, &self.hashes);
        out.put(INPUT_INDEXES.raw, &self.indexes);
        self.spent.put(out, INPUT_SPENT);
        self.sequences.put_numbers(out, INPUT_SEQUENCES);
        self.output_offsets.put(out, TX_OUTPUTS.raw);
        out.put(OUTPUTS, &self.outputs);
        let mut inputs: Vec<u32> =
            (0..id(self.hashes.len(), "inputs").expect("the offsets counted the inputs")).collect();
        inputs.par_sort_unstable_by_key(|&input| (self.hashes[input as usize], self.indexes[input as usize], input));
        let prefixes: Vec<u64> = inputs.iter().map(|&input| prefix(&self.hashes[input as usize])).collect();
        out.put(SPENDER_PREFIXES, &prefixes);
        out.put(SPENDER_INPUTS.raw, &inputs);
    }
}

fn output<'a>(facts: &'a OutputFacts, record: &OutputRecord, blobs: &mut BlobBuilder<'a>) -> Result<Output> {
    Ok(Output {
        amount: record.amount,
        owner: record.owner.unwrap_or(NONE),
        data: blobs.optional(facts.data.as_deref())?.unwrap_or(NONE),
        script: record.script,
        reserved: 0,
    })
}
