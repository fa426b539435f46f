//! Parts that the JSON formats of Bitcoin share: the facts of a block and a transaction.

use headwater_ledger::facts::{BlockFacts, TransactionFacts, UtxoFacts};
use headwater_ledger::read::Status;
use headwater_types::{BlockHash, Network, Timestamp, TxHash};

use crate::Sink;
use crate::bitcoin::facts::is_superseded;

/// The network of files that do not state theirs.
pub(super) fn network(sink: &mut Sink<'_>) -> Network {
    let network = sink.options().network.unwrap_or_default();
    sink.network(network);
    network
}

/// The block that a row of a transaction is about.
pub(super) fn block_of(number: u64, hash: Option<BlockHash>, parent: Option<BlockHash>, time: Timestamp) -> BlockFacts {
    // The first block has no parent; zeros stand for none.
    let parent = parent.filter(|parent| parent.as_bytes() != &[0; 32]);
    BlockFacts { number, hash, parent, time }
}

/// The facts of a transaction in a block; `None` for one that a later transaction of the same id undid.
pub(super) fn transaction_facts(
    network: Network,
    hash: TxHash,
    block: u64,
    time: Option<Timestamp>,
    utxo: UtxoFacts,
) -> Option<TransactionFacts> {
    if is_superseded(network, block, &hash) {
        return None;
    }
    let mut facts = TransactionFacts::new(hash, block);
    facts.time = time;
    // A transaction that fails is in no block.
    facts.status = Some(Status::Success);
    facts.utxo = Some(utxo);
    Some(facts)
}

/// The weight that bytes and virtual bytes leave possible; `None` where that are two.
///
/// A transaction of `n` bytes, `s` of them without witnesses, weighs `3 s + n` and has a quarter of it, rounded up, as
/// virtual bytes `v`. So the weight is one of the four numbers up to `4 v` and congruent to `n` modulo 3, which only
/// `4 v` and `4 v - 3` can both be. Without witnesses `v = n`, and nothing else has that: witnesses take two bytes more.
pub(super) fn weight_of(bytes: Option<u32>, virtual_bytes: Option<u32>) -> Option<u32> {
    let (bytes, virtual_bytes) = (bytes?, virtual_bytes?);
    let most = virtual_bytes.checked_mul(4)?;
    if bytes == virtual_bytes {
        return Some(most);
    }
    let mut possible = (most.checked_sub(3)?..=most).filter(|weight| weight % 3 == bytes % 3);
    possible.next().filter(|_| possible.next().is_none())
}
