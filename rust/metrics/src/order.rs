//! The order of movements that come from several parts of a ledger.

use headwater_ledger::read::TransactionRef;
use headwater_ledger::{Ledger, LedgerError};
use rustc_hash::FxHashMap;

/// Places of movements by time, then as the chain orders the transactions of one time. Movements of one transaction keep
/// their order. `movements` are time (epoch seconds) and transaction; movements of one part have to come one after the
/// other, in the order of the chain. O(n log n).
///
/// # Errors
/// When the ledger cannot be read.
pub fn chain_order(ledger: &dyn Ledger, movements: &[(i64, TransactionRef)]) -> Result<Vec<usize>, LedgerError> {
    let mut order: Vec<usize> = (0..movements.len()).collect();
    // Within a part this is the order of the chain.
    order.sort_by_key(|place| movements[*place]);
    for of_one_time in order.chunk_by_mut(|one, other| movements[*one].0 == movements[*other].0) {
        let part = |place: &usize| movements[*place].1.part();
        if of_one_time.iter().all(|place| part(place) == part(&of_one_time[0])) {
            continue;
        }
        let mut places: FxHashMap<TransactionRef, _> = FxHashMap::default();
        for place in of_one_time.iter() {
            let transaction = movements[*place].1;
            if let std::collections::hash_map::Entry::Vacant(vacant) = places.entry(transaction) {
                let head = ledger.transaction_head(transaction)?;
                vacant.insert((head.block, head.index.map_or(u64::MAX, u64::from), head.hash));
            }
        }
        of_one_time.sort_by(|one, other| places[&movements[*one].1].cmp(&places[&movements[*other].1]));
    }
    Ok(order)
}
