//! Numbers for movements whose source gives no log index or trace ordinal.

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use crate::facts::{Movement, TransactionFacts};
use crate::primitives::Ordinal;

const BITS: u32 = 48;

/// The number of each movement of a transaction, in the order of its movements: stated ones as they are, others made
/// from what moves (kind, asset, sender, receiver, amount, and how many equal movements precede), so that a number
/// does not change when more movements become known. Made numbers have 15 digits or more.
pub(super) fn numbers(transaction: &TransactionFacts) -> Vec<u64> {
    let movements = &transaction.movements;
    let mut numbers: Vec<u64> = movements.iter().map(|movement| movement.ordinal.number()).collect();
    let mut unindexed: Vec<usize> =
        (0..movements.len()).filter(|&at| matches!(movements[at].ordinal, Ordinal::Unindexed(_))).collect();
    if unindexed.is_empty() {
        return numbers;
    }
    // Two contents with one number have an order of their own, so that the order of rows does not matter.
    unindexed.sort_by_key(|&at| content(&movements[at]));
    let mut copies: HashMap<_, u64> = HashMap::new();
    let mut taken = HashSet::new();
    for at in unindexed {
        let copy = copies.entry(content(&movements[at])).or_default();
        let mut hash = xxh3_64(&bytes(&movements[at], *copy));
        *copy += 1;
        let number = loop {
            let number = (1 << BITS) | (hash & ((1 << BITS) - 1));
            if taken.insert(number) {
                break number;
            }
            hash = hash.wrapping_add(1);
        };
        numbers[at] = number;
    }
    numbers
}

/// A movement without its ordinal.
fn content(movement: &Movement) -> Movement {
    Movement { ordinal: Ordinal::Unindexed(0), ..movement.clone() }
}

fn bytes(movement: &Movement, copy: u64) -> Vec<u8> {
    let mut bytes = vec![movement.kind as u8];
    for address in [movement.asset.contract().copied(), movement.from, movement.to] {
        let key = address.map(|address| address.key());
        let key = key.as_ref().map_or(&[][..], |key| key.as_slice());
        bytes.push(u8::try_from(key.len()).expect("a key has at most 42 bytes"));
        bytes.extend_from_slice(key);
    }
    bytes.extend_from_slice(&movement.amount.to_be_bytes());
    bytes.extend_from_slice(&copy.to_le_bytes());
    bytes
}
