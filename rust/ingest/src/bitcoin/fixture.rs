//! Small valid blocks for tests, mined at the difficulty of a regression-test chain.

use bitcoin::hashes::{Hash, sha256d};
use headwater_types::BlockHash;

/// Bits that every second hash meets.
pub(crate) const EASY: u32 = 0x207f_ffff;

pub(crate) fn double_hash(bytes: &[u8]) -> [u8; 32] {
    sha256d::Hash::hash(bytes).to_byte_array()
}

/// Returns `bytes` behind their length, which is below 253.
pub(crate) fn run(bytes: &[u8]) -> Vec<u8> {
    let mut run = vec![u8::try_from(bytes.len()).unwrap()];
    run.extend_from_slice(bytes);
    run
}

/// A P2PKH script.
pub(crate) fn pay_to(number: u8) -> Vec<u8> {
    [&[0x76, 0xa9, 20][..], &[number; 20], &[0x88, 0xac]].concat()
}

/// A legacy transaction from (previous hash in byte order, index, script) and (value, script).
pub(crate) fn transaction(inputs: &[([u8; 32], u32, Vec<u8>)], outputs: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0];
    bytes.extend_from_slice(&body(inputs, outputs));
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// The inputs and outputs of a transaction, with their counts.
pub(crate) fn body(inputs: &[([u8; 32], u32, Vec<u8>)], outputs: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(inputs.len()).unwrap()];
    for (hash, index, script) in inputs {
        bytes.extend_from_slice(hash);
        bytes.extend_from_slice(&index.to_le_bytes());
        bytes.extend_from_slice(&run(script));
        bytes.extend_from_slice(&[0xff; 4]);
    }
    bytes.push(u8::try_from(outputs.len()).unwrap());
    for (value, script) in outputs {
        bytes.extend_from_slice(&value.to_le_bytes());
        bytes.extend_from_slice(&run(script));
    }
    bytes
}

/// A coinbase with a given script.
pub(crate) fn coinbase(script: &[u8], pays: u8) -> Vec<u8> {
    transaction(&[([0; 32], u32::MAX, script.to_vec())], &[(5_000_000_000, pay_to(pays))])
}

/// A block of these transactions on this parent.
pub(crate) fn mine(version: i32, parent: BlockHash, time: u32, transactions: &[Vec<u8>]) -> Vec<u8> {
    let ids: Vec<_> = transactions.iter().map(|bytes| double_hash(bytes)).collect();
    mine_with_root(version, parent, time, merkle_root(&ids), transactions)
}

pub(crate) fn mine_with_root(
    version: i32,
    parent: BlockHash,
    time: u32,
    root: [u8; 32],
    transactions: &[Vec<u8>],
) -> Vec<u8> {
    let mut previous = *parent.as_bytes();
    previous.reverse();
    for nonce in 0u32.. {
        let mut block = version.to_le_bytes().to_vec();
        block.extend_from_slice(&previous);
        block.extend_from_slice(&root);
        block.extend_from_slice(&time.to_le_bytes());
        block.extend_from_slice(&EASY.to_le_bytes());
        block.extend_from_slice(&nonce.to_le_bytes());
        if double_hash(&block)[31] <= 0x7f {
            block.push(u8::try_from(transactions.len()).unwrap());
            block.extend(transactions.iter().flatten());
            return block;
        }
    }
    unreachable!("every second hash meets the bits")
}

/// The root by the plain definition, for lists without repeats.
pub(crate) fn merkle_root(ids: &[[u8; 32]]) -> [u8; 32] {
    match ids {
        [only] => *only,
        ids => {
            let pairs: Vec<_> =
                ids.chunks(2).map(|pair| double_hash(&[pair[0], *pair.last().unwrap()].concat())).collect();
            merkle_root(&pairs)
        }
    }
}

/// The hash of a block.
pub(crate) fn hash_of(block: &[u8]) -> BlockHash {
    let mut hash = double_hash(&block[..80]);
    hash.reverse();
    BlockHash::new(hash)
}
