//! The facts of a decoded block.

use headwater_ledger::facts::{BlockFacts, InputFacts, OutPoint, TransactionFacts, UtxoFacts};
use headwater_ledger::read::Status;
use headwater_types::{Network, Timestamp, TxHash};

use super::block::{RawBlock, RawTransaction};
use super::script::read_script;

/// The two coinbases of the main network that were mined twice under one id, with the block of the earlier one.
///
/// The second made the first unspendable (BIP 30 forbade that later), so the first never had any effect: its 50 bitcoin
/// exist once. The earlier ones are left out, whatever the source.
const SUPERSEDED: [(u64, &str); 2] = [
    (91_722, "e3bf3d07d4b0375638d5f1db5255fe07ba2c4cb067cd81b84ee974b6585fb468"),
    (91_812, "d5d27987d2a3dfc724e359870c6644b40e497bdc0589a033220fe15429d88599"),
];

/// Returns true if a later transaction of the same id took the place of this one, so that it must not be stated.
#[must_use]
pub fn is_superseded(network: Network, block: u64, hash: &TxHash) -> bool {
    network == Network::Mainnet
        && SUPERSEDED.iter().any(|(height, id)| *height == block && hex::encode(hash.as_bytes()) == *id)
}

/// The facts that a raw block states at a given height. Fees and the amounts of inputs are not among them: the block
/// does not hold them, the ledger completes them from the outputs it has.
#[must_use]
pub fn to_facts(block: &RawBlock<'_>, height: u64, network: Network) -> (BlockFacts, Vec<TransactionFacts>) {
    let header = &block.header;
    let time = Timestamp::new(i64::from(header.time));
    let is_genesis = header.parent.as_bytes() == &[0; 32];
    let facts =
        BlockFacts { number: height, hash: Some(header.hash), parent: (!is_genesis).then_some(header.parent), time };
    let transactions = (0..)
        .zip(&block.transactions)
        .filter(|(_, transaction)| !is_superseded(network, height, &transaction.id))
        .map(|(index, transaction)| {
            let mut stated = TransactionFacts::new(transaction.id, height);
            stated.time = Some(time);
            (stated.block_hash, stated.index) = (Some(header.hash), Some(index));
            // A transaction that fails is in no block.
            stated.status = Some(Status::Success);
            stated.utxo = Some(utxo_facts(transaction, network));
            stated
        })
        .collect();
    (facts, transactions)
}

fn utxo_facts(transaction: &RawTransaction<'_>, network: Network) -> UtxoFacts {
    let coinbase = transaction.is_coinbase();
    let spends = if coinbase { &[] } else { &transaction.inputs[..] };
    UtxoFacts {
        coinbase,
        version: Some(transaction.version),
        lock_time: Some(transaction.lock_time),
        weight_wu: Some(transaction.weight_wu),
        inputs: spends
            .iter()
            .map(|input| InputFacts {
                previous: OutPoint { hash: input.previous, index: input.previous_index },
                spent: None,
                sequence: Some(input.sequence),
            })
            .collect(),
        outputs: transaction
            .outputs
            .iter()
            .map(|output| read_script(output.script, network).with_amount(output.value))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_of_two_equal_coinbases_is_left_out_on_mainnet() {
        for (earlier, later, id) in [(91_722, 91_880, SUPERSEDED[0].1), (91_812, 91_842, SUPERSEDED[1].1)] {
            let mut bytes = [0; 32];
            hex::decode_to_slice(id, &mut bytes).unwrap();
            let hash = TxHash::new(bytes);
            assert!(is_superseded(Network::Mainnet, earlier, &hash));
            assert!(!is_superseded(Network::Mainnet, later, &hash));
            assert!(!is_superseded(Network::Testnet, earlier, &hash));
            assert!(!is_superseded(Network::Mainnet, earlier, &TxHash::new([0; 32])));
        }
    }
}
