//! Movements in a block without a transaction: rewards, allocations, forks, withdrawals of validators.

use std::collections::BTreeMap;

use headwater_ledger::facts::{Body, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_types::{Address, Amount, BlockHash, Timestamp, TxHash};

use crate::Sink;
use crate::error::FieldError;

/// Blocks state withdrawals in billionths of a coin.
const WEI_PER_GWEI: u64 = 1_000_000_000;

/// The kind of such a movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemKind {
    /// A reward of a block or uncle.
    Reward,
    /// An allocation of the first block.
    Genesis,
    /// A movement by a fork.
    Fork,
    /// A withdrawal of a validator.
    Withdrawal,
}

/// All of them of a block.
///
/// One account may get several rewards in one block (its own and an uncle's), and several withdrawals: they have one
/// id, so they are one movement of their sum. What a fork moves is known by the account it drains, since all of them
/// have one receiver.
#[derive(Debug, Default)]
pub(super) struct System(BTreeMap<TxHash, Body>);

impl System {
    pub(super) fn add(
        &mut self,
        kind: SystemKind,
        block: u64,
        (from, to): (Option<Address>, Address),
        value: Amount,
    ) -> Result<(), FieldError> {
        let number = u32::try_from(block)
            .map_err(|_| FieldError::new("block_number", Some(&block.to_string()), "a number of at most 32 bits"))?;
        let hash = match kind {
            SystemKind::Reward => TxHash::reward(number, &to),
            SystemKind::Genesis => TxHash::genesis(&to),
            SystemKind::Fork => TxHash::fork(number, &from.unwrap_or(to)),
            SystemKind::Withdrawal => TxHash::withdrawal(number, &to),
        };
        let body = self.0.entry(hash).or_insert(Body { from, to: Some(to), value: Amount::ZERO });
        let sum = body.value.checked_add(value);
        let expected = "a sum of at most 256 bits";
        body.value = sum.ok_or_else(|| FieldError::new("value", Some(&value.to_string()), expected))?;
        Ok(())
    }

    /// Returns the withdrawal of a validator, in the unit of blocks.
    pub(super) fn add_withdrawal(&mut self, block: u64, to: Address, gwei: Amount) -> Result<(), FieldError> {
        let wei = gwei.checked_mul(Amount::from(WEI_PER_GWEI));
        let expected = "gwei that make at most 256 bits of wei";
        let wei = wei.ok_or_else(|| FieldError::new("withdrawals", Some(&gwei.to_string()), expected))?;
        self.add(SystemKind::Withdrawal, block, (None, to), wei)
    }

    pub(super) fn hand_over(
        self,
        block: u64,
        (time, block_hash): (Option<Timestamp>, Option<BlockHash>),
        sink: &mut Sink<'_>,
    ) {
        for (hash, body) in self.0 {
            let mut facts = TransactionFacts::new(hash, block);
            (facts.time, facts.block_hash) = (time, block_hash);
            facts.body = Some(body);
            facts.status = Some(Status::Success);
            sink.transaction(facts);
        }
    }
}
