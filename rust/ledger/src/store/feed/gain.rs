//! The news of a commit: the transactions that are new, and those that gained movements.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::parts::Part;
use crate::facts::{BlockFacts, TransactionFacts};
use crate::feed::new_movements;

/// A transaction that was held already and gained movements.
pub(in crate::store) struct Gain {
    pub(in crate::store) before: TransactionFacts,
    pub(in crate::store) after: TransactionFacts,
}

/// The news of a commit.
#[derive(Default)]
pub(in crate::store) struct News {
    /// The rows of its items; `None` when it makes none.
    pub(in crate::store) feed_rows: Option<FeedRows>,
    /// True if it changed balances in a way that no item shows.
    pub(in crate::store) is_unlisted: bool,
}

/// The rows of the items of one change.
pub(in crate::store) struct FeedRows {
    /// The blocks, in order.
    pub(in crate::store) blocks: Vec<BlockFacts>,
    /// A segment of all their transactions, and of no others of these blocks.
    pub(in crate::store) rows: Arc<Part>,
    /// The transactions that gained movements, as held before.
    pub(in crate::store) before: Option<Arc<Part>>,
}

/// Returns whether more movements are known of a transaction than before.
pub(in crate::store) fn gains(before: &TransactionFacts, after: &TransactionFacts) -> bool {
    let owners = |facts: &TransactionFacts| {
        let inputs = facts.utxo.iter().flat_map(|utxo| &utxo.inputs);
        inputs.filter(|input| input.spent.as_ref().is_some_and(|output| output.owner.is_some())).count()
    };
    before.body.is_none() && after.body.is_some()
        || before.utxo.is_none() && after.utxo.is_some()
        || owners(after) > owners(before)
        || !new_movements(before, after).is_empty()
}

/// The blocks of transactions, each once, in order.
pub(in crate::store) fn blocks_of(transactions: &[TransactionFacts]) -> BTreeSet<u64> {
    transactions.iter().map(|facts| facts.block).collect()
}
