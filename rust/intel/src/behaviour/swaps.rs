//! What single transactions changed: the movements of each, netted by asset.

use headwater_ledger::read::TransactionRef;

use super::history::{Transfer, Way};

/// A transaction by which an address gave one asset and got another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Swap {
    pub time: i64,
    pub transaction: TransactionRef,
    /// The asset given.
    pub gave: u32,
    /// The asset got.
    pub got: u32,
    /// How much of it, in the smallest unit.
    pub raw: u128,
}

/// The movements of one transaction after the other, in order of time.
pub(super) fn transactions(all: &[Transfer]) -> impl Iterator<Item = &[Transfer]> {
    all.chunk_by(|one, other| one.transaction == other.transaction)
}

/// The transactions in which exactly one asset left and exactly one other came.
pub(super) fn swaps(all: &[Transfer]) -> Vec<Swap> {
    transactions(all).filter(|movements| movements.len() >= 2).filter_map(swap).collect()
}

fn swap(movements: &[Transfer]) -> Option<Swap> {
    let (mut gave, mut got) = (None, None);
    for (asset, came, left) in by_asset(movements) {
        let side = match came.cmp(&left) {
            std::cmp::Ordering::Less => &mut gave,
            std::cmp::Ordering::Greater => &mut got,
            std::cmp::Ordering::Equal => continue,
        };
        if side.replace((asset, came.abs_diff(left))).is_some() {
            return None;
        }
    }
    let ((gave, _), (got, raw)) = (gave?, got?);
    Some(Swap { time: movements[0].time, transaction: movements[0].transaction, gave, got, raw })
}

/// What came and what left of each asset that moved.
pub(super) fn by_asset(movements: &[Transfer]) -> Vec<(u32, u128, u128)> {
    let mut sums: Vec<(u32, u128, u128)> = Vec::new();
    for transfer in movements {
        let place = sums.iter().position(|sum| sum.0 == transfer.asset).unwrap_or_else(|| {
            sums.push((transfer.asset, 0, 0));
            sums.len() - 1
        });
        let (_, came, left) = &mut sums[place];
        let sum = match transfer.way {
            Way::In => came,
            Way::Out => left,
        };
        *sum = sum.saturating_add(transfer.raw);
    }
    sums
}
