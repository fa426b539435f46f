//! Withdrawals of validators.

use std::collections::{BTreeMap, HashSet};

use headwater_types::{Address, Chain, Timestamp};

use super::super::evm_system::{System, SystemKind};
use super::layout::Layout;
use super::values::{coins_in, needed, time};
use crate::Sink;
use crate::error::FieldError;
use crate::source::Row;

/// The withdrawals of a file by block: those of one block to one account are one movement of their sum, as blocks state
/// them.
#[derive(Default)]
pub(super) struct Withdrawals {
    blocks: BTreeMap<u64, (Timestamp, System)>,
    /// Numbers that the chain gives to withdrawals.
    seen: HashSet<u64>,
    recipients: HashSet<Address>,
}

impl Withdrawals {
    pub(super) fn take(
        &mut self,
        row: &Row<'_>,
        layout: &Layout,
        chain: Chain,
        sink: &mut Sink<'_>,
    ) -> Result<(), FieldError> {
        let block = needed(row.u64(&layout.block)?, &layout.block, "the number of a block")?;
        let time = time(row, layout)?;
        let to = needed(row.address(&layout.to, chain)?, &layout.to, "an address")?;
        let value = needed(coins_in(row, &layout.amount, chain)?, &layout.amount, "an amount")?;
        if let Some(index) = row.u64(&layout.index)?
            && !self.seen.insert(index)
        {
            sink.omit("withdrawals that stand in the export twice");
            return Ok(());
        }
        let (_, system) = self.blocks.entry(block).or_insert((time, System::default()));
        system.add(SystemKind::Withdrawal, block, (None, to), value)?;
        self.recipients.insert(to);
        Ok(())
    }

    /// Hands all of them over. Of an export that was cut, the blocks at its ends may be there in part.
    pub(super) fn end(mut self, is_cut: bool, named: Option<Address>, sink: &mut Sink<'_>) {
        if self.blocks.is_empty() {
            return;
        }
        if is_cut {
            for _ in [self.blocks.pop_first(), self.blocks.pop_last()].iter().flatten() {
                sink.omit("blocks at the ends of an export of withdrawals that was cut");
            }
        }
        if self.recipients.iter().any(|recipient| Some(*recipient) != named) {
            sink.warn(
                "the export is not named for the account that was paid: where it is of one validator, other withdrawals \
                 of the same block to that account are missing",
            );
        }
        for (block, (time, system)) in self.blocks {
            system.hand_over(block, (Some(time), None), sink);
        }
    }
}
