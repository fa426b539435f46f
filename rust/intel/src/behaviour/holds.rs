//! How long money stays: what came in matched with what left later.

use std::collections::VecDeque;

use headwater_types::Usd;
use rustc_hash::FxHashMap;

use super::transfer::{Transfer, Way};

/// A part of a movement that came in, and the movement it left with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hold {
    /// Place among the valued movements of the one that came in.
    pub came: usize,
    /// Place among the valued movements of the one it left with.
    pub left: usize,
    /// Seconds between the two.
    pub secs: i64,
    /// Its worth when it came.
    pub usd: Usd,
}

/// Matches first in, first out, by asset. What left beyond what came is matched with nothing. O(n).
pub(super) fn holds(valued: &[Transfer]) -> Vec<Hold> {
    let mut open: FxHashMap<u32, VecDeque<(usize, u128)>> = FxHashMap::default();
    let mut holds = Vec::new();
    for (place, transfer) in valued.iter().enumerate() {
        let lots = open.entry(transfer.asset).or_default();
        if transfer.way == Way::In {
            lots.push_back((place, transfer.raw));
            continue;
        }
        let mut rest = transfer.raw;
        while let Some((came, left)) = lots.front_mut()
            && rest > 0
        {
            let taken = rest.min(*left);
            (rest, *left) = (rest - taken, *left - taken);
            let lot = &valued[*came];
            let hold = Hold { came: *came, left: place, secs: transfer.time - lot.time, usd: share(lot, taken) };
            holds.push(hold);
            if *left == 0 {
                lots.pop_front();
            }
        }
    }
    holds
}

/// The worth of a part of a movement.
#[expect(clippy::cast_precision_loss, reason = "values are doubles")]
fn share(of: &Transfer, raw: u128) -> Usd {
    if raw == of.raw {
        return of.usd;
    }
    Usd::from_f64(of.usd.to_f64() * (raw as f64 / of.raw as f64)).unwrap_or(of.usd)
}
