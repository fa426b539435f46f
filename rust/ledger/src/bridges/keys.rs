//! The link keys that the transactions of a segment have.

use headwater_bridge::{BridgeChain, LinkKey, Tables};
use headwater_types::{Address, Family};
use rustc_hash::FxHashSet;

use super::legs::legs;
use crate::Cancel;
use crate::error::Result;
use crate::segment::Segment;

/// The protocol whose transfers emit no event of their own.
const MAKERS: &str = "orbiter";
/// Rows between two looks at the cancel token.
const ROWS_PER_CHECK: u32 = 4096;
/// Rows after which the memory of what was read of the segment is given back.
const ROWS_PER_RELEASE: u32 = 1 << 20;

/// The hashed keys of all legs of a segment with their rows, in order.
pub(super) fn keys(segment: &Segment, progress: &dyn Fn(u64), cancel: &Cancel) -> Result<Vec<(u64, u32)>> {
    let chain = segment.chain();
    let listed = listed(segment)?;
    let of_makers = rows_of_makers(segment)?;
    let mut found = Vec::new();
    for row in 0..segment.transactions() {
        if row.is_multiple_of(ROWS_PER_CHECK) {
            cancel.check()?;
            progress(row.into());
        }
        if row % ROWS_PER_RELEASE == ROWS_PER_RELEASE - 1 {
            segment.release();
        }
        if !of_makers.contains(&row) && !may_have_legs(segment, &listed, row)? {
            continue;
        }
        let facts = segment.facts(row)?;
        let time = segment.head(row)?.time;
        for half in legs(chain, time, &facts) {
            found.extend(half.keys.iter().map(|key| (hash_of(&half.family, key), row)));
        }
    }
    found.sort_unstable();
    found.dedup();
    progress(segment.transactions().into());
    Ok(found)
}

/// Returns the hash that a key is looked up by.
pub(super) fn hash_of(family: &str, key: &LinkKey) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(family.as_bytes());
    hash.update(&[0]);
    hash.update(key.as_str().as_bytes());
    hash.digest()
}

/// The contracts of bridges that a segment has, whose call data may contain legs.
fn listed(segment: &Segment) -> Result<FxHashSet<u32>> {
    let chain = BridgeChain::from(segment.chain());
    let mut listed = FxHashSet::default();
    for contract in Tables::builtin().contracts() {
        if contract.chain().is_none_or(|of| of == chain)
            && let Ok(address) = Address::parse(segment.chain(), contract.address())
        {
            listed.extend(segment.account(&address)?);
        }
    }
    Ok(listed)
}

/// The rows in which an account that bridges by plain transfers pays or is paid.
fn rows_of_makers(segment: &Segment) -> Result<FxHashSet<u32>> {
    let chain = BridgeChain::from(segment.chain());
    let mut rows = FxHashSet::default();
    for maker in Tables::builtin().contracts().iter().filter(|contract| contract.family() == MAKERS) {
        if maker.chain().is_some_and(|of| of != chain) {
            continue;
        }
        let Ok(address) = Address::parse(segment.chain(), maker.address()) else { continue };
        let Some(account) = segment.account(&address)? else { continue };
        let postings = segment.postings();
        for posting in postings.range(account)? {
            rows.insert(postings.place(posting)?.0);
        }
    }
    Ok(rows)
}

/// Returns whether a row is worth to be decoded.
fn may_have_legs(segment: &Segment, listed: &FxHashSet<u32>, row: u32) -> Result<bool> {
    if segment.chain().family() == Family::Utxo {
        return segment.has_note(row);
    }
    for log in segment.logs_of(row)? {
        if segment.first_topic(log)?.is_some_and(|topic| Tables::builtin().knows_topic0(&topic)) {
            return Ok(true);
        }
    }
    Ok(!listed.is_empty() && segment.callee(row)?.is_some_and(|callee| listed.contains(&callee)))
}
