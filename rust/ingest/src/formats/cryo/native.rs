//! The dataset `native_transfers`: one row per frame, without what states whether it moved anything.
//!
//! Its rows are the frames of a node's traces in their order, every one of them: the root, which is the transaction's own
//! value; calls of another account's code, which repeat the value of the frame they were made in and move nothing; and,
//! unless cryo ran with `--exclude-failed`, frames that failed. What is once stated cannot be taken back by better
//! data, so only rows are read that cannot be a call of another account's code: those whose value did not come to
//! their sender earlier in the transaction (`callcode`, which nothing has used for years, aside). The others are left to `traces`, and counted aloud.
//!
//! The index of a row counts frames of the block, not movements, so the movements are stated without one: joined with
//! those of traces, equal ones are the same one, and nothing is counted twice whichever file comes first.

use std::collections::HashSet;

use headwater_ledger::facts::{Body, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Address, Amount, Asset, TxHash};

use super::values::{exact, head};
use crate::error::{Fault, FieldError};
use crate::source::Row;
use crate::{IngestError, Sink};

/// The movements of one block so far, and the count of undecided rows.
#[derive(Default)]
pub(super) struct NativeTransfers {
    block: Option<u64>,
    rewards: Vec<(Address, Amount)>,
    current: Option<Current>,
    ended: HashSet<TxHash>,
    undecided: u64,
    read: bool,
}

struct Current {
    facts: TransactionFacts,
    /// The amounts by recipient so far.
    received: HashSet<(Address, Amount)>,
}

impl NativeTransfers {
    pub(super) fn row(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let chain = sink.chain();
        let needed = |column| FieldError::new(column, None, "a value");
        let block = row.u64("block_number")?.ok_or_else(|| needed("block_number"))?;
        let value = exact(row, "value")?.ok_or_else(|| {
            FieldError::new("value", None, "value_binary or value_string: movements without an index have to be exact")
        })?;
        let is_transaction = row.text("transaction_hash")?.is_some();
        let facts = if is_transaction { Some(head(row, chain)?) } else { None };
        let from = row.address("from_address", chain)?.ok_or_else(|| needed("from_address"))?;
        // Of a creation that failed the receiver is 32 bytes of zeros.
        let is_nothing = |text: &str| {
            text.strip_prefix("0x").is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|b| b == b'0'))
        };
        let failed = row.text("to_address")?.as_deref().is_some_and(is_nothing);
        let to =
            if failed { None } else { Some(row.address("to_address", chain)?.ok_or_else(|| needed("to_address"))?) };
        self.turn_to(block, facts.as_ref().map(|facts| facts.hash), row, sink)?;
        self.read = true;
        let Some(facts) = facts else {
            let to = to.ok_or_else(|| needed("to_address"))?;
            self.rewards.push((to, value));
            return Ok(());
        };
        let Some(current) = &mut self.current else {
            // The root: what the table of transactions states.
            self.current = Some(Current { facts, received: to.map(|to| (to, value)).into_iter().collect() });
            return Ok(());
        };
        let Some(to) = to.filter(|_| !value.is_zero()) else { return Ok(()) };
        let decided = !current.received.contains(&(from, value));
        current.received.insert((to, value));
        if decided {
            current.facts.movements.push(Movement {
                kind: MovementFact::Internal,
                ordinal: Ordinal::Unindexed(0),
                from: Some(from),
                to: Some(to),
                asset: Asset::Native,
                amount: value,
            });
        } else {
            self.undecided += 1;
        }
        Ok(())
    }

    /// Equal rows of one transaction are separate movements, so they have to come in one piece.
    fn turn_to(
        &mut self,
        block: u64,
        transaction: Option<TxHash>,
        row: &Row<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        if self.block.is_some_and(|last| last > block) {
            let expected = "the rows in order of blocks: sort the file by block_number and transfer_index";
            return Err(FieldError::new("block_number", Some(&block.to_string()), expected).into());
        }
        if self.current.as_ref().map(|current| current.facts.hash) != transaction {
            self.end_transaction(sink);
        }
        if self.block != Some(block) {
            self.end_block(sink)?;
            self.block = Some(block);
        }
        if transaction.is_some_and(|hash| self.ended.contains(&hash)) {
            let text = row.text("transaction_hash")?.unwrap_or_default();
            let expected = "the rows of a transaction together: sort the file by block_number and transfer_index";
            return Err(FieldError::new("transaction_hash", Some(&text), expected).into());
        }
        Ok(())
    }

    fn end_transaction(&mut self, sink: &mut Sink<'_>) {
        if let Some(current) = self.current.take() {
            self.ended.insert(current.facts.hash);
            if !current.facts.movements.is_empty() {
                sink.transaction(current.facts);
            }
        }
    }

    /// One account may get several rewards in a block: they have one id, so they are one movement of their sum.
    fn end_block(&mut self, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let Some(block) = self.block else { return Ok(()) };
        let expected = "a sum of at most 256 bits, in a block of at most 32 bits";
        let number =
            u32::try_from(block).map_err(|_| FieldError::new("block_number", Some(&block.to_string()), expected))?;
        let mut rewards = std::mem::take(&mut self.rewards);
        rewards.sort_unstable();
        for of_one in rewards.chunk_by(|a, b| a.0 == b.0) {
            let to = of_one[0].0;
            let sum = of_one.iter().try_fold(Amount::ZERO, |sum, (_, value)| sum.checked_add(*value));
            let value = sum.ok_or_else(|| FieldError::new("value", None, expected))?;
            let mut facts = TransactionFacts::new(TxHash::reward(number, &to), block);
            facts.body = Some(Body { from: None, to: Some(to), value });
            facts.status = Some(Status::Success);
            sink.transaction(facts);
        }
        self.ended.clear();
        sink.boundary()?;
        Ok(())
    }

    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        self.end_transaction(sink);
        match self.end_block(sink) {
            Ok(()) => {}
            Err(Fault::Fatal(error)) => return Err(error),
            Err(Fault::Field(field)) => sink.warn(format!("the rewards of the last block were left out: {field}")),
        }
        if self.read {
            sink.warn(
                "native_transfers does not tell which frames failed: give traces, or a file made with --exclude-failed",
            );
        }
        if self.undecided > 0 {
            sink.warn(format!(
                "{} rows pass on exactly what came in, as calls of another account's code seem to: left out, give traces",
                self.undecided
            ));
        }
        Ok(())
    }
}
