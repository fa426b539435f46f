//! The part of the table that an address belongs to.

use headwater_ledger::read::Result;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain};
use sha2::{Digest, Sha256};

/// Number of buckets of a chain.
pub const BUCKETS: usize = 256;

/// Addresses asked for at once.
const PAGE: usize = 8192;

/// The bucket of an address: the first byte of the SHA-256 of its canonical text.
///
/// In `DuckDB` that is `left(sha256(address), 2)`, in Spark `left(sha2(address, 256), 2)`.
///
/// ```
/// use headwater_types::{Address, Chain};
/// let address = Address::parse(Chain::ETHEREUM, "0xdac17f958d2ee523a2206206994597c13d831ec7").unwrap();
/// assert_eq!(format!("{:02x}", headwater_export::bucket_of(&address)), "63");
/// ```
#[must_use]
pub fn bucket_of(address: &Address) -> u8 {
    Sha256::digest(address.to_string())[0]
}

/// All addresses of a chain by bucket, in order of their text. Memory: about 40 bytes per address.
pub(crate) fn addresses(ledger: &dyn Ledger, chain: Chain, cancel: &Cancel) -> Result<Vec<Vec<Address>>> {
    let mut buckets = vec![Vec::new(); BUCKETS];
    let mut after = None;
    loop {
        cancel.check()?;
        let page = ledger.addresses(chain, after.as_ref(), PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(*last);
        for address in page {
            buckets[usize::from(bucket_of(&address))].push(address);
        }
    }
    for bucket in &mut buckets {
        bucket.sort_by_cached_key(Address::to_string);
    }
    Ok(buckets)
}
