//! Lists of holders as facts: what everybody held of a token at a block, where its history before that is not brought.

use headwater_types::{Address, Amount, Asset, Chain, Timestamp, TxHash};
use rayon::slice::ParallelSliceMut;
use xxhash_rust::xxh3::Xxh3;

use super::canonical::Canonical;
use super::{Movement, MovementFact, TransactionFacts};
use crate::error::{ConflictParties, LedgerError, Result};
use crate::primitives::Ordinal;

/// Balances that one transaction of [`opening()`] states: a list of millions is many of them, so that none is too large
/// to be read whole.
pub const OPENING_PART: usize = 10_000;

/// Turns a list of the holders of a token at the end of a block into facts: made transactions of up to
/// [`OPENING_PART`] balances each, holders in order of address, made as they are taken. They are behind all other
/// transactions of their block. Balances of zero are left out, and so are repetitions.
///
/// The ids of the transactions follow from token, block and the number of the part, and the input of each is a digest
/// of the whole list. So the same list brought again changes nothing, and two lists of one token and block that differ
/// are a conflict.
///
/// An opening begins the history of its token: what moved at or before its block is in it already and does not count in
/// balances. Of several openings of a token the latest one counts.
///
/// # Errors
/// [`LedgerError::Conflict`] when the list states two balances of one address.
///
/// ```
/// use headwater_ledger::facts::{Batch, opening};
/// use headwater_types::{Address, Amount, Chain, Timestamp};
///
/// let (token, holder) = (Address::Evm([9; 20]), Address::Evm([1; 20]));
/// let held = vec![(holder, Amount::from(5)), (Address::Evm([2; 20]), Amount::ZERO)];
/// let mut batch = Batch::new(Chain::ETHEREUM);
/// batch.transactions.extend(opening(Chain::ETHEREUM, token, 100, Timestamp::new(1_438_270_000), held)?);
/// assert_eq!(batch.transactions.len(), 1);
/// assert_eq!(batch.transactions[0].movements[0].to, Some(holder));
/// # Ok::<(), headwater_ledger::LedgerError>(())
/// ```
pub fn opening(
    chain: Chain,
    contract: Address,
    block: u64,
    time: Timestamp,
    mut balances: Vec<(Address, Amount)>,
) -> Result<impl Iterator<Item = TransactionFacts>> {
    balances.par_sort_unstable();
    balances.dedup();
    if let Some([(holder, one), (_, other)]) = balances.array_windows().find(|[one, other]| one.0 == other.0) {
        return Err(LedgerError::Conflict {
            chain,
            what: "opening balance of",
            id: holder.to_string(),
            field: "amount",
            held: one.to_string(),
            offered: other.to_string(),
            between: ConflictParties::Rows,
        });
    }
    balances.retain(|(_, balance)| !balance.is_zero());
    let digest = digest(&balances);
    // No chain is that long; one that were would have one id for all blocks past it, and they would be in conflict.
    let height = u32::try_from(block).unwrap_or(u32::MAX);
    let parts = balances.len().div_ceil(OPENING_PART);
    Ok((0..parts).map(move |part| {
        let number = u32::try_from(part).expect("a list in memory has fewer parts");
        let held = &balances[part * OPENING_PART..balances.len().min((part + 1) * OPENING_PART)];
        let movement = |(place, (holder, balance)): (u64, &(Address, Amount))| Movement {
            kind: MovementFact::Opening,
            ordinal: Ordinal::Indexed(place),
            from: None,
            to: Some(*holder),
            asset: Asset::Token(contract),
            amount: *balance,
        };
        TransactionFacts {
            time: Some(time),
            input: Some(digest.to_be_bytes().to_vec()),
            movements: (0..).zip(held).map(movement).collect(),
            ..TransactionFacts::new(TxHash::opening(height, &contract, number), block)
        }
    }))
}

fn digest(balances: &[(Address, Amount)]) -> u128 {
    let (mut digest, mut bytes) = (Xxh3::new(), Vec::new());
    for (holder, balance) in balances {
        bytes.clear();
        holder.write(&mut bytes);
        balance.write(&mut bytes);
        digest.update(&bytes);
    }
    digest.digest128()
}
