//! From a list of transactions to the blocks of a batch.

use headwater_ledger::facts::{Batch, BlockFacts, Claim, TransactionFacts};
use headwater_ledger::read::CoverageTable;
use headwater_types::{BlockHash, Chain, Family, Network, TxHash};

use crate::clock::Schedule;
use crate::identity::digest;

/// The id of the transaction of this number.
pub(crate) fn transaction_hash(seed: u64, chain: Chain, number: u64) -> TxHash {
    TxHash::new(digest(seed, chain.name(), &number.to_be_bytes()))
}

fn block_hash(seed: u64, chain: Chain, block: u64) -> BlockHash {
    let mut bytes = digest(seed, &format!("{chain} block"), &block.to_be_bytes());
    if chain.family() == Family::Utxo {
        // Proof of work shows as leading zeros.
        bytes[..9].fill(0);
    }
    BlockHash::new(bytes)
}

/// The batch of the blocks from `first` to `last`: their transactions, in order of block, and what they complete. Blocks
/// without transactions have no header of their own, but for the first and the last one; the claims say that they are
/// empty.
pub(crate) fn batch(
    seed: u64,
    schedule: &Schedule,
    (first, last): (u64, u64),
    transactions: Vec<TransactionFacts>,
) -> Batch {
    let chain = schedule.chain();
    let mut batch = Batch::new(chain);
    batch.network = Some(Network::Mainnet);
    let mut numbers: Vec<u64> = vec![first];
    numbers.extend(transactions.iter().map(|transaction| transaction.block));
    numbers.push(last);
    numbers.dedup();
    batch.blocks = numbers.into_iter().map(|number| block(seed, schedule, number)).collect();
    batch.transactions = transactions;
    batch.claims = tables(chain.family()).iter().map(|&table| Claim::Blocks { first, last, table }).collect();
    batch
}

fn block(seed: u64, schedule: &Schedule, number: u64) -> BlockFacts {
    let chain = schedule.chain();
    BlockFacts {
        number,
        hash: Some(block_hash(seed, chain, number)),
        parent: number.checked_sub(1).map(|parent| block_hash(seed, chain, parent)),
        time: schedule.timestamp(number),
    }
}

/// Returns the tables that a batch completes. Blocks themselves only on bitcoin, where none is empty.
const fn tables(family: Family) -> &'static [CoverageTable] {
    match family {
        Family::Evm | Family::Tron => &[
            CoverageTable::Transactions,
            CoverageTable::Receipts,
            CoverageTable::Traces,
            CoverageTable::TokenTransfers,
            CoverageTable::Logs,
        ],
        Family::Utxo => &[CoverageTable::Blocks, CoverageTable::Transactions],
    }
}
