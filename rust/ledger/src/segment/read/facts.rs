//! From records back to the facts they were made of.

use std::collections::BTreeSet;

use headwater_types::{Address, TxHash};

use super::super::layout::{head, movement};
use super::super::record::{InputRecord, LogRecord, MovementRecord, OutputRecord, TransactionRecord};
use super::Segment;
use super::transactions::{MissingOrdinals, status_of};
use crate::error::Result;
use crate::facts::{
    AmountOf, Body, InputFacts, LogFacts, Movement, MovementFact, OutPoint, OutputFacts, TransactionFacts, UtxoFacts,
};
use crate::primitives::{Ordinal, ScriptType};

/// The amounts of a transaction that are approximate.
fn approximate(record: &TransactionRecord) -> BTreeSet<AmountOf> {
    let value = (record.flags & head::APPROXIMATE != 0).then_some(AmountOf::Value);
    let movements = record.movements.iter().filter(|movement| movement.flags & movement::APPROXIMATE != 0);
    let names = movements.map(|movement| match movement.flags & movement::KIND {
        movement::INTERNAL => AmountOf::Internal(movement.ordinal),
        _ => AmountOf::Token(movement.ordinal),
    });
    value.into_iter().chain(names).collect()
}

impl Segment {
    pub(crate) fn facts_with(&self, row: u32, unindexed: MissingOrdinals) -> Result<TransactionFacts> {
        let mut record = TransactionRecord::default();
        self.record(row, &mut record)?;
        let (block, time) = (self.base().0, self.base().1);
        let text = |bytes: Option<Vec<u8>>, what: &str| {
            bytes.map(String::from_utf8).transpose().map_err(|_| self.wrong_row(row, what))
        };
        let flags = record.flags;
        let has = |bit: u32| flags & bit != 0;
        let utxo = has(head::HAS_UTXO).then(|| self.utxo_facts(&mut record)).transpose()?;
        let approximate = approximate(&record);
        let movements = record.movements.iter();
        let logs = std::mem::take(&mut record.logs);
        Ok(TransactionFacts {
            hash: TxHash::new(record.hash),
            block: block.saturating_add(u64::from(record.block)),
            time: has(head::HAS_TIME)
                .then(|| headwater_types::Timestamp::new(time.secs().saturating_add(i64::from(record.time)))),
            block_hash: None,
            index: record.index,
            body: self.body(row, &record)?,
            created: self.account_of(record.created)?,
            status: status_of(record.flags),
            nonce: record.nonce,
            gas_limit: record.gas_limit,
            gas_used: record.gas_used,
            gas_price: record.gas_price,
            effective_gas_price: record.paid_price,
            fee: record.fee,
            carries_blobs: has(head::BLOBS),
            method_id: record.method_id,
            movements: movements.map(|movement| self.movement(movement, unindexed)).collect::<Result<_>>()?,
            logs: logs.into_iter().map(|log| self.log_facts(log)).collect::<Result<_>>()?,
            utxo,
            failure_reason: text(record.failure, "has a reason of failure that is not text")?,
            method: text(record.method, "has a method that is not text")?,
            input: record.call_data,
            approximate,
        })
    }

    fn account_of(&self, id: Option<u32>) -> Result<Option<Address>> {
        id.map(|id| self.address(id)).transpose()
    }

    fn body(&self, row: u32, record: &TransactionRecord) -> Result<Option<Body>> {
        if record.flags & head::HAS_BODY == 0 {
            return Ok(None);
        }
        let value = record.value.ok_or_else(|| self.wrong_row(row, "has a body without value"))?;
        Ok(Some(Body { from: self.account_of(record.from)?, to: self.account_of(record.to)?, value }))
    }

    fn movement(&self, record: &MovementRecord, unindexed: MissingOrdinals) -> Result<Movement> {
        Ok(Movement {
            kind: match record.flags & movement::KIND {
                movement::INTERNAL => MovementFact::Internal,
                movement::TOKEN => MovementFact::Token,
                movement::NON_FUNGIBLE => MovementFact::NonFungible,
                _ => MovementFact::Opening,
            },
            ordinal: match (record.flags & movement::UNINDEXED != 0, unindexed) {
                (false, _) => Ordinal::Indexed(record.ordinal),
                (true, MissingOrdinals::AsStated) => Ordinal::Unindexed(0),
                (true, MissingOrdinals::Numbered) => Ordinal::Unindexed(record.ordinal),
            },
            from: self.account_of(record.from)?,
            to: self.account_of(record.to)?,
            asset: self.asset(record.asset)?,
            amount: record.amount,
        })
    }

    fn log_facts(&self, record: LogRecord) -> Result<LogFacts> {
        let LogRecord { index, address, topics, data } = record;
        Ok(LogFacts { index, address: self.address(address)?, topics, data })
    }

    fn utxo_facts(&self, record: &mut TransactionRecord) -> Result<UtxoFacts> {
        let input = |input: InputRecord| {
            let previous = OutPoint { hash: TxHash::new(input.hash), index: input.index };
            let spent = input.spent.map(|spent| self.output_facts(spent)).transpose()?;
            Ok(InputFacts { previous, spent, sequence: input.sequence })
        };
        Ok(UtxoFacts {
            coinbase: record.flags & head::COINBASE != 0,
            version: record.version,
            lock_time: record.lock_time,
            weight_wu: record.weight_wu,
            inputs: record.inputs.drain(..).map(input).collect::<Result<_>>()?,
            outputs: record.outputs.drain(..).map(|output| self.output_facts(output)).collect::<Result<_>>()?,
        })
    }

    pub(super) fn output_facts(&self, record: OutputRecord) -> Result<OutputFacts> {
        let script = ScriptType::ALL.get(record.script as usize);
        Ok(OutputFacts {
            owner: self.account_of(record.owner)?,
            amount: record.amount,
            script: *script.ok_or_else(|| self.wrong_row(0, "has an unknown form of script"))?,
            data: record.data,
        })
    }

    #[cold]
    fn wrong_row(&self, row: u32, what: &str) -> crate::LedgerError {
        self.transactions.heads.wrong(row as usize, what)
    }
}
