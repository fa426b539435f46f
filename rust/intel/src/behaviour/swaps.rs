//! What single transactions changed: the movements of each, netted by asset.

use headwater_ledger::read::TransactionRef;
use rustc_hash::FxHashSet;

use super::history::{AssetKind, History};
use super::transfer::{Transfer, Way};

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
    /// Place among all movements of the first one behind it.
    pub after: usize,
}

/// The movements of one transaction after the other, in order of time.
pub(super) fn transactions(all: &[Transfer]) -> impl Iterator<Item = &[Transfer]> {
    all.chunk_by(|one, other| one.transaction == other.transaction)
}

/// The transactions in which exactly one asset left and exactly one other came.
pub(super) fn swaps(history: &History) -> Vec<Swap> {
    let (mut after, mut swaps) = (0, Vec::new());
    for movements in transactions(&history.all) {
        after += movements.len();
        if movements.len() >= 2 {
            swaps.extend(swap(history, movements, after));
        }
    }
    swaps
}

/// The transactions in which something left and something else came.
pub(super) fn trades(history: &History) -> FxHashSet<TransactionRef> {
    let is_trade = |movements: &&[Transfer]| {
        let sums = by_asset(history, movements);
        sums.iter().any(|(_, came, left)| left > came) && sums.iter().any(|(_, came, left)| came > left)
    };
    let several = transactions(&history.all).filter(|movements| movements.len() >= 2);
    several.filter(is_trade).map(|movements| movements[0].transaction).collect()
}

fn swap(history: &History, movements: &[Transfer], after: usize) -> Option<Swap> {
    let (mut gave, mut got) = (None, None);
    for (asset, came, left) in by_asset(history, movements) {
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
    Some(Swap { time: movements[0].time, transaction: movements[0].transaction, gave, got, raw, after })
}

/// What came and what left of each asset that moved. Counterfeit tokens are left out: their contracts write what they like
/// into the history of anybody.
pub(super) fn by_asset(history: &History, movements: &[Transfer]) -> Vec<(u32, u128, u128)> {
    let mut sums: Vec<(u32, u128, u128)> = Vec::new();
    let is_genuine = |transfer: &&Transfer| history.assets[transfer.asset as usize].kind != AssetKind::Counterfeit;
    for transfer in movements.iter().filter(is_genuine) {
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
