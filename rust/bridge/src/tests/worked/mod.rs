//! Legs worked by hand from the facts of `bridges.md`: what each protocol states, and how its legs join.

mod further;
mod liquidity;
mod messages;

use sha3::{Digest, Keccak256};

use crate::half::Half;
use crate::matching::{LegTable, Status, Transfer};

const USER: [u8; 20] = [0x11; 20];
const OTHER: [u8; 20] = [0x22; 20];
const TOKEN: [u8; 20] = [0x33; 20];
const TOKEN_THERE: [u8; 20] = [0x44; 20];

fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

fn table(legs: impl IntoIterator<Item = Vec<Half>>) -> LegTable {
    let mut table = LegTable::default();
    table.extend(legs.into_iter().flatten());
    table
}

/// The only transfer.
fn only(table: &LegTable) -> Transfer<'_> {
    let mut transfers = table.transfers();
    assert_eq!(transfers.len(), 1, "{transfers:#?}");
    transfers.remove(0)
}

fn statuses(legs: impl IntoIterator<Item = Vec<Half>>) -> Vec<Status> {
    table(legs).transfers().iter().map(Transfer::status).collect()
}

fn amount(half: &Half) -> Option<u128> {
    half.amount.and_then(headwater_types::Amount::to_u128)
}
