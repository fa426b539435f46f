//! From a list of transactions to blocks and batches.

use headwater_ledger::facts::{Batch, BlockFacts, Claim, TransactionFacts};
use headwater_ledger::read::CoverageTable;
use headwater_types::{BlockHash, Chain, Family, Network, TxHash};

use crate::clock::Schedule;
use crate::identity::digest;

/// Transactions of one commit at most.
const BATCH_TRANSACTIONS: usize = 20_000;

/// The id of the transaction of this number.
pub(crate) fn transaction_hash(seed: u64, chain: Chain, number: usize) -> TxHash {
    TxHash::new(digest(seed, chain.name(), &(number as u64).to_be_bytes()))
}

fn block_hash(seed: u64, chain: Chain, block: u64) -> BlockHash {
    let mut bytes = digest(seed, &format!("{chain} block"), &block.to_be_bytes());
    if chain.family() == Family::Utxo {
        // Proof of work shows as leading zeros.
        bytes[..9].fill(0);
    }
    BlockHash::new(bytes)
}

/// Cuts a chain into batches: all its blocks, each in exactly one batch, with what they complete. The transactions are
/// in order of block.
pub(crate) fn batches(seed: u64, schedule: &Schedule, mut transactions: Vec<TransactionFacts>) -> Vec<Batch> {
    let chain = schedule.chain();
    let mut batches = Vec::new();
    let mut first = 0;
    while !transactions.is_empty() || first <= schedule.last_block() {
        let rest = match transactions.get(BATCH_TRANSACTIONS).map(|transaction| transaction.block) {
            Some(block) => transactions.partition_point(|transaction| transaction.block < block),
            None => transactions.len(),
        };
        let later = transactions.split_off(rest);
        let last = later.first().map_or(schedule.last_block(), |transaction| transaction.block - 1);
        let mut batch = Batch::new(chain);
        batch.network = Some(Network::Mainnet);
        batch.blocks = (first..=last).map(|number| block(seed, schedule, number)).collect();
        batch.transactions = std::mem::replace(&mut transactions, later);
        batch.claims = tables(chain.family()).iter().map(|&table| Claim::Blocks { first, last, table }).collect();
        batches.push(batch);
        first = last + 1;
    }
    batches
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

const fn tables(family: Family) -> &'static [CoverageTable] {
    match family {
        Family::Evm | Family::Tron => &[
            CoverageTable::Blocks,
            CoverageTable::Transactions,
            CoverageTable::Receipts,
            CoverageTable::Traces,
            CoverageTable::TokenTransfers,
            CoverageTable::Logs,
        ],
        Family::Utxo => &[CoverageTable::Blocks, CoverageTable::Transactions],
    }
}
