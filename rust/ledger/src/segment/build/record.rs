//! From facts to records.

use headwater_types::Address;

use super::assets::Assets;
use super::order::Row;
use super::ordinals;
use crate::facts::{AmountOf, MovementFact, OutputFacts, TransactionFacts};
use crate::primitives::{Ordinal, ScriptType, Status};
use crate::segment::layout::{Summary, head, movement};
use crate::segment::record::{InputRecord, LogRecord, MovementRecord, OutputRecord, TransactionRecord};

/// Makes records of rows in order; ids come from where the dictionary put them down in that order.
pub(super) struct Records<'a> {
    summary: Summary,
    assets: &'a Assets,
    seen: std::slice::Iter<'a, u32>,
}

impl<'a> Records<'a> {
    pub(super) fn new(summary: Summary, assets: &'a Assets, seen: &'a [u32]) -> Self {
        Self { summary, assets, seen: seen.iter() }
    }

    fn id(&mut self) -> u32 {
        *self.seen.next().expect("the dictionary saw every address of every row")
    }

    fn of(&mut self, address: Option<&Address>) -> Option<u32> {
        address.map(|_| self.id())
    }

    /// Fills a record from the next row.
    pub(super) fn fill(&mut self, row: &Row<'_>, into: &mut TransactionRecord) {
        let facts = row.facts;
        let distance = |distance: u64| u32::try_from(distance).expect("the summary refused wider segments");
        into.hash = *facts.hash.as_bytes();
        into.block = distance(facts.block - self.summary.base_block);
        into.time = distance(row.time.secs().abs_diff(self.summary.base_time));
        into.index = facts.index;
        into.flags = flags(facts);
        into.from = self.of(facts.body.as_ref().and_then(|body| body.from.as_ref()));
        into.to = self.of(facts.body.as_ref().and_then(|body| body.to.as_ref()));
        into.created = self.of(facts.created.as_ref());
        into.value = facts.body.map(|body| body.value);
        into.nonce = facts.nonce;
        (into.gas_limit, into.gas_used) = (facts.gas_limit, facts.gas_used);
        (into.gas_price, into.paid_price) = (facts.gas_price, facts.effective_gas_price);
        into.fee = facts.fee;
        into.call_data.clone_from(&facts.input);
        into.method_id = facts.method_id;
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        (into.method, into.failure) = (bytes(&facts.method), bytes(&facts.failure_reason));
        into.movements.clear();
        self.movements(facts, &mut into.movements);
        into.logs.clear();
        into.logs.extend(facts.logs.iter().map(|log| LogRecord {
            index: log.index,
            address: self.id(),
            topics: log.topics.clone(),
            data: log.data.clone(),
        }));
        into.inputs.clear();
        into.outputs.clear();
        let utxo = facts.utxo.as_ref();
        into.version = utxo.and_then(|utxo| utxo.version);
        into.lock_time = utxo.and_then(|utxo| utxo.lock_time);
        into.weight_wu = utxo.and_then(|utxo| utxo.weight_wu);
        if let Some(utxo) = utxo {
            for input in &utxo.inputs {
                let spent = input.spent.as_ref().map(|spent| self.output(spent));
                let (hash, index) = (*input.previous.hash.as_bytes(), input.previous.index);
                into.inputs.push(InputRecord { hash, index, spent, sequence: input.sequence });
            }
            into.outputs.extend(utxo.outputs.iter().map(|output| self.output(output)));
        }
    }

    fn movements(&mut self, facts: &TransactionFacts, into: &mut Vec<MovementRecord>) {
        let made = facts.movements.iter().any(|movement| matches!(movement.ordinal, Ordinal::Unindexed(_)));
        let numbers = if made { ordinals::numbers(facts) } else { Vec::new() };
        for (place, movement) in facts.movements.iter().enumerate() {
            let kind = match movement.kind {
                MovementFact::Internal => movement::INTERNAL,
                MovementFact::Token => movement::TOKEN,
                MovementFact::NonFungible => movement::NON_FUNGIBLE,
                MovementFact::Opening => movement::OPENING,
            };
            let name = AmountOf::of_fact(movement).filter(|name| facts.approximate.contains(name));
            let approximate = if name.is_some() { movement::APPROXIMATE } else { 0 };
            let unindexed = if matches!(movement.ordinal, Ordinal::Unindexed(_)) { movement::UNINDEXED } else { 0 };
            let (from, to) = (self.of(movement.from.as_ref()), self.of(movement.to.as_ref()));
            let contract = self.of(movement.asset.contract());
            into.push(MovementRecord {
                flags: kind | unindexed | approximate,
                ordinal: numbers.get(place).copied().unwrap_or(movement.ordinal.number()),
                from,
                to,
                asset: contract.map_or(0, |contract| self.assets.of_contract(contract)),
                amount: movement.amount,
            });
        }
    }

    fn output(&mut self, facts: &OutputFacts) -> OutputRecord {
        let script = ScriptType::ALL.iter().position(|&form| form == facts.script).expect("all forms are listed");
        OutputRecord {
            amount: facts.amount,
            owner: self.of(facts.owner.as_ref()),
            data: facts.data.clone(),
            script: u32::try_from(script).expect("there are few forms"),
        }
    }
}

/// Bits of [`head`].
pub(super) fn flags(facts: &TransactionFacts) -> u32 {
    let bits = [
        (head::HAS_INDEX, facts.index.is_some()),
        (head::HAS_TIME, facts.time.is_some()),
        (head::HAS_BODY, facts.body.is_some()),
        (head::SUCCESS, facts.status == Some(Status::Success)),
        (head::FAILED, facts.status == Some(Status::Failed)),
        (head::HAS_UTXO, facts.utxo.is_some()),
        (head::APPROXIMATE, facts.body.is_some() && facts.approximate.contains(&AmountOf::Value)),
        (head::COINBASE, facts.utxo.as_ref().is_some_and(|utxo| utxo.coinbase)),
        (head::BLOBS, facts.carries_blobs),
    ];
    bits.into_iter().filter(|&(_, is_set)| is_set).fold(0, |flags, (bit, _)| flags | bit)
}
