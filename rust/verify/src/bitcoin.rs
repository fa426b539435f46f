//! Raw blocks of Bitcoin, as `getblock <hash> 0` or the REST interface returns them.
//!
//! The hash covers the header, the merkle root all transactions without their witnesses, and the commitment in the coinbase
//! transaction the witnesses. The height is in a block since BIP 34 (227,931 on the main network); before, the hash alone
//! names it. The signatures that blocks of signet carry are not verified. The values of spent outputs are not in
//! a block: [`CreatedOutputs`] checks what a node states of them. The target is compared with the limit of the network
//! only: whether it follows from the blocks before is seen by callers that hold them.

mod proof;
mod spent_outputs;

use std::collections::BTreeSet;

use bitcoin::block::Bip34Error;
use bitcoin::consensus::{Params, deserialize};
use bitcoin::hashes::Hash as _;
use bitcoin::{Block, Target, Transaction};
use headwater_types::{BlockHash, Network};

use crate::Part;
use crate::mismatch::{Digest, Fault, Mismatch, Rule, VerificationError};

pub use proof::Proof;
pub use spent_outputs::{CreatedOutputs, SpentOutput, satoshis};

/// The first bytes of a coinbase output that commits to the witnesses (BIP 141): return, push 36 bytes, header.
const COMMITMENT: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];

/// A block whose hash, work, transactions and witnesses were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedBlock {
    number: u64,
    network: Network,
    block: Block,
}

impl VerifiedBlock {
    /// The block.
    #[must_use]
    pub const fn block(&self) -> &Block {
        &self.block
    }

    /// The hash of the block before it, in printed order.
    #[must_use]
    pub fn parent_hash(&self) -> BlockHash {
        printed(self.block.header.prev_blockhash)
    }

    /// The parts that were verified.
    #[must_use]
    pub const fn parts(&self) -> &'static [Part] {
        &[Part::Hash, Part::Producer, Part::Transactions, Part::Witnesses]
    }

    /// Checks that the block follows `previous`.
    ///
    /// # Errors
    /// When the block names another parent.
    pub fn verify_parent(&self, previous: BlockHash) -> Result<(), VerificationError> {
        let parent = self.parent_hash();
        if parent == previous {
            return Ok(());
        }
        let expected = format!("{}, the hash of the block before", hex::encode(previous.as_bytes()));
        Err(Fault::value("the previous hash", Rule::Parent, hex::encode(parent.as_bytes()), expected).at(self.number))
    }
}

/// The parts of the consensus rules of a network that the checks need.
struct Rules {
    /// The easiest target.
    limit: Target,
    /// The first block whose coinbase transaction states the height (BIP 34).
    stated_height: u64,
    /// The first block with witnesses (BIP 141).
    witnesses: u64,
    /// The first block that verifies taproot outputs (BIP 341).
    taproot: u64,
    /// The first time at which scripts in P2SH are executed (BIP 16).
    script_hash_time: u32,
    /// Blocks until the subsidy halves.
    halving: u64,
}

impl Rules {
    fn of(network: Network) -> Self {
        let (params, witnesses) = match network {
            Network::Mainnet => (&Params::MAINNET, 481_824),
            // testnet3 activated witnesses at 834,624, testnet4 has them from the start. Before that block a commitment
            // in a block of testnet3 is not checked.
            Network::Testnet => (&Params::TESTNET3, 834_624),
            Network::Signet => (&Params::SIGNET, 0),
            Network::Regtest => (&Params::REGTEST, 0),
        };
        // On testnet no block contradicts taproot from the first block with witnesses on.
        let taproot = if network == Network::Mainnet { 709_632 } else { witnesses };
        let halving = if network == Network::Regtest { 150 } else { 210_000 };
        Self {
            limit: params.max_attainable_target,
            stated_height: params.bip34_height.into(),
            witnesses,
            taproot,
            script_hash_time: params.bip16_time,
            halving,
        }
    }

    /// Returns the coins that a block creates, in satoshis.
    fn subsidy(&self, number: u64) -> u64 {
        const FIRST: u64 = 50 * 100_000_000;
        u32::try_from(number / self.halving).ok().and_then(|halvings| FIRST.checked_shr(halvings)).unwrap_or(0)
    }
}

/// Verifies a raw block: hash, work, height, transactions and witnesses.
///
/// `number` is the height and `asked` the hash in printed order, both from the call. Regtest accepts any work, because its
/// limit is trivial.
///
/// # Errors
/// When the bytes are not a block, or not the one asked for.
///
/// ```
/// use headwater_verify::bitcoin::verify_block;
/// use headwater_types::{BlockHash, Network};
/// let error = verify_block(Network::Mainnet, 5, BlockHash::new([0; 32]), &[1, 2, 3]).unwrap_err();
/// assert_eq!(error.mismatch.code(), "malformed");
/// ```
pub fn verify_block(
    network: Network,
    number: u64,
    asked: BlockHash,
    bytes: &[u8],
) -> Result<VerifiedBlock, VerificationError> {
    let check = || {
        let block: Block = deserialize(bytes).map_err(|error| {
            let given = format!("{} bytes that do not parse ({error})", bytes.len());
            Fault::new("", Mismatch::Malformed { given, expected: "a serialised block" })
        })?;
        check_header(&Rules::of(network), asked, &block)?;
        check_transactions(&block)?;
        check_height(&Rules::of(network), number, &block)?;
        check_witnesses(&Rules::of(network), number, &block)?;
        Ok(VerifiedBlock { number, network, block })
    };
    check().map_err(|fault: Fault| fault.at(number))
}

fn printed(hash: bitcoin::BlockHash) -> BlockHash {
    let mut bytes = hash.to_byte_array();
    bytes.reverse();
    BlockHash::new(bytes)
}

fn reversed_hex(bytes: &[u8]) -> String {
    hex::encode(bytes.iter().rev().copied().collect::<Vec<u8>>())
}

fn check_header(rules: &Rules, asked: BlockHash, block: &Block) -> Result<(), Fault> {
    let hash = block.block_hash();
    Fault::compare(Digest::BlockHash, *printed(hash).as_bytes(), *asked.as_bytes(), |bytes| hex::encode(bytes))?;
    let target = block.header.target();
    if target > rules.limit {
        let expected = "a target within the limit of the network (give the right network)";
        return Err(Fault::value("bits", Rule::ProofOfWork, format!("{:x}", block.header.bits), expected));
    }
    if !target.is_met_by(hash) {
        let expected = format!("a hash of at most {target:x}, the target");
        return Err(Fault::value("the hash", Rule::ProofOfWork, hash.to_string(), expected));
    }
    Ok(())
}

/// Checks the coinbase transaction, the merkle root, and that no transaction is listed twice.
///
/// The root of a list stays the same when its end is repeated (CVE-2012-2459), so equal ids are refused first. An inner
/// node of 64 bytes cannot pass for a transaction, because the first one must be a coinbase transaction.
fn check_transactions(block: &Block) -> Result<(), Fault> {
    let (first, others) = block.txdata.split_first().map_or((None, &[][..]), |(first, others)| (Some(first), others));
    if !first.is_some_and(Transaction::is_coinbase) {
        let expected = "a coinbase transaction at the first place";
        return Err(Fault::value("transactions[0]", Rule::Coinbase, "not a coinbase transaction", expected));
    }
    if let Some(index) = others.iter().position(Transaction::is_coinbase) {
        let expected = "no other coinbase transaction than the first";
        return Err(Fault::value("", Rule::Coinbase, "a second coinbase transaction", expected)
            .inside("transactions", index + 1));
    }
    let ids: Vec<[u8; 32]> = block.txdata.iter().map(|one| one.compute_txid().to_byte_array()).collect();
    let mut seen = BTreeSet::new();
    if let Some(index) = ids.iter().position(|id| !seen.insert(id)) {
        let expected = "a transaction that the block does not have before";
        return Err(
            Fault::value("", Rule::Duplicate, reversed_hex(&ids[index]), expected).inside("transactions", index)
        );
    }
    let hashes = ids.iter().map(|id| bitcoin::hashes::sha256d::Hash::from_byte_array(*id));
    let root = bitcoin::merkle_tree::calculate_root(hashes).expect("a block with a coinbase transaction is not empty");
    let stated = block.header.merkle_root.to_byte_array();
    Fault::compare(Digest::TransactionsRoot, root.to_byte_array(), stated, reversed_hex)
}

fn check_height(rules: &Rules, number: u64, block: &Block) -> Result<(), Fault> {
    if number < rules.stated_height {
        return Ok(());
    }
    let given = match block.bip34_block_height() {
        Ok(height) if height == number => return Ok(()),
        Ok(height) => height.to_string(),
        Err(Bip34Error::Unsupported) => "missing".to_owned(),
        Err(error) => error.to_string(),
    };
    let expected = format!("{number}, the block asked for");
    Err(Fault::value("the height in the coinbase transaction", Rule::Block, given, expected))
}

/// Checks the commitment of the coinbase transaction to all witnesses.
fn check_witnesses(rules: &Rules, number: u64, block: &Block) -> Result<(), Fault> {
    if number < rules.witnesses && !has_witnesses(block) {
        return Ok(());
    }
    let coinbase = &block.txdata[0];
    let script = coinbase.output.iter().rev().map(|output| output.script_pubkey.as_bytes());
    let stated: Option<[u8; 32]> = script
        .filter(|script| script.starts_with(&COMMITMENT))
        .find_map(|script| script.get(COMMITMENT.len()..38)?.try_into().ok());
    let Some(stated) = stated else {
        if !has_witnesses(block) {
            return Ok(());
        }
        let expected = "a commitment to the witnesses of the block";
        return Err(Fault::value("the coinbase transaction", Rule::Coinbase, "without commitment", expected));
    };
    let witness = &coinbase.input[0].witness;
    let reserved = witness.iter().next().filter(|value| witness.len() == 1 && value.len() == 32);
    let (Some(reserved), Some(root)) = (reserved, block.witness_root()) else {
        let expected = "the reserved value of 32 bytes (ask for the block with witnesses)";
        return Err(Fault::value("the witness of the coinbase transaction", Rule::Coinbase, "missing", expected));
    };
    let computed = Block::compute_witness_commitment(&root, reserved).to_byte_array();
    Fault::compare(Digest::WitnessCommitment, computed, stated, |bytes| hex::encode(bytes))
}

fn has_witnesses(block: &Block) -> bool {
    block.txdata.iter().any(|transaction| transaction.input.iter().any(|input| !input.witness.is_empty()))
}

#[cfg(test)]
mod tests {
    use bitcoin::consensus::serialize;

    use super::*;

    /// The first block of regtest, whose bytes the library has.
    fn genesis() -> (Block, BlockHash) {
        let block = bitcoin::constants::genesis_block(bitcoin::Network::Regtest);
        let hash = printed(block.block_hash());
        (block, hash)
    }

    fn code(network: Network, asked: BlockHash, block: &Block) -> &'static str {
        verify_block(network, 0, asked, &serialize(block)).map_or_else(|error| error.mismatch.code(), |_| "verified")
    }

    /// Finds a nonce that the trivial target of regtest accepts.
    fn mined(mut block: Block) -> (Block, BlockHash) {
        block.header.merkle_root = block.compute_merkle_root().unwrap();
        while !block.header.target().is_met_by(block.block_hash()) {
            block.header.nonce += 1;
        }
        let hash = printed(block.block_hash());
        (block, hash)
    }

    #[test]
    fn genesis_blocks_of_all_networks_are_verified() {
        for (network, name) in [
            (Network::Mainnet, bitcoin::Network::Bitcoin),
            (Network::Testnet, bitcoin::Network::Testnet),
            (Network::Signet, bitcoin::Network::Signet),
            (Network::Regtest, bitcoin::Network::Regtest),
        ] {
            let block = bitcoin::constants::genesis_block(name);
            assert_eq!(code(network, printed(block.block_hash()), &block), "verified", "{network}");
        }
    }

    #[test]
    fn block_of_another_hash_or_network_is_refused() {
        let (block, hash) = genesis();
        assert_eq!(code(Network::Regtest, BlockHash::new([7; 32]), &block), "block_hash");
        assert_eq!(code(Network::Mainnet, hash, &block), "proof_of_work");
    }

    #[test]
    fn work_above_the_target_is_refused() {
        let mut block = bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin);
        block.header.nonce += 1;
        assert_eq!(code(Network::Mainnet, printed(block.block_hash()), &block), "proof_of_work");
    }

    #[test]
    fn repeated_transactions_are_refused_though_the_root_is_equal() {
        let (mut block, _) = genesis();
        let mut spend = block.txdata[0].clone();
        spend.input[0].previous_output.vout = 3;
        let mut other = spend.clone();
        other.input[0].previous_output.vout = 4;
        block.txdata.extend([spend, other.clone()]);
        let (mut block, hash) = mined(block);
        assert_eq!(code(Network::Regtest, hash, &block), "verified");
        block.txdata.push(other);
        assert_eq!(block.compute_merkle_root().unwrap(), block.header.merkle_root);
        assert_eq!(code(Network::Regtest, hash, &block), "duplicate");
    }

    #[test]
    fn coinbase_that_is_missing_or_second_is_refused() {
        let (mut block, _) = genesis();
        let mut second = block.txdata[0].clone();
        second.lock_time = bitcoin::absolute::LockTime::from_consensus(9);
        block.txdata.push(second);
        let (block, hash) = mined(block);
        assert_eq!(code(Network::Regtest, hash, &block), "coinbase");
        let (mut block, _) = genesis();
        block.txdata[0].input[0].previous_output.vout = 0;
        let (block, hash) = mined(block);
        assert_eq!(code(Network::Regtest, hash, &block), "coinbase");
    }

    #[test]
    fn parent_that_is_another_block_is_refused() {
        let (block, hash) = genesis();
        let verified = verify_block(Network::Regtest, 0, hash, &serialize(&block)).unwrap();
        assert!(verified.verify_parent(BlockHash::new([0; 32])).is_ok());
        assert_eq!(verified.verify_parent(hash).unwrap_err().mismatch.code(), "parent");
    }
}
