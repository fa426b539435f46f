//! Filters of accounts, for look-ups in many small segments, most of which do not have the account.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use headwater_types::Address;
use rustc_hash::FxHasher;

use super::Segment;
use crate::error::Result;

/// Bits for each account: one look-up in seventy of accounts that are not there passes.
const BITS_PER_ACCOUNT: usize = 16;
/// Segments with more accounts have no filter: their dictionaries are searched.
const MAX_ACCOUNTS: u64 = 1 << 16;

/// A Bloom filter of the accounts of a segment, made when it is first asked and kept with the segment.
#[derive(Default)]
pub(crate) struct AccountFilter(OnceLock<Vec<u64>>);

impl AccountFilter {
    /// Returns the account of an address in the segment of the filter.
    pub(crate) fn account(&self, segment: &Segment, address: &Address) -> Result<Option<u32>> {
        let may_have = segment.addresses() > MAX_ACCOUNTS || self.may_have(segment, address)?;
        if may_have { segment.account(address) } else { Ok(None) }
    }

    fn may_have(&self, segment: &Segment, address: &Address) -> Result<bool> {
        let bits = match self.0.get() {
            Some(bits) => bits,
            None => {
                let made = of(segment)?;
                self.0.get_or_init(|| made)
            }
        };
        Ok(places(bits.len(), address).into_iter().all(|(word, bit)| bits[word] & bit != 0))
    }
}

fn of(segment: &Segment) -> Result<Vec<u64>> {
    let accounts = segment.accounts()?;
    let mut bits = vec![0; (accounts as usize * BITS_PER_ACCOUNT).div_ceil(64).max(1)];
    for id in 0..accounts {
        let length = bits.len();
        for (word, bit) in places(length, &segment.address(id)?) {
            bits[word] |= bit;
        }
    }
    Ok(bits)
}

/// The words and bits of an address in a filter of some words.
fn places(words: usize, address: &Address) -> [(usize, u64); 3] {
    let mut hasher = FxHasher::default();
    address.hash(&mut hasher);
    let hash = hasher.finish();
    [0, 20, 40].map(|shift| {
        let bit = usize::try_from(hash.rotate_right(shift) >> 32).unwrap_or(0) % (words * 64);
        (bit / 64, 1 << (bit % 64))
    })
}

#[cfg(test)]
mod tests {
    use headwater_types::Chain;
    use proptest::prelude::*;

    use super::*;
    use crate::Cancel;
    use crate::segment::build;
    use crate::segment::tests::economy;

    proptest! {
        #[test]
        fn a_filter_finds_what_the_dictionary_finds(
            input in prop_oneof![economy::input(Chain::ETHEREUM, 0..30), economy::input(Chain::BITCOIN, 0..30)],
        ) {
            let segment = Segment::from_bytes("test", build(&input, &Cancel::new()).unwrap()).unwrap();
            let filter = segment.derived.get::<AccountFilter>();
            for number in 0..60 {
                let address = economy::address(input.chain, number);
                let found = filter.account(&segment, &address).unwrap();
                prop_assert_eq!(found, segment.account(&address).unwrap());
            }
        }
    }
}
