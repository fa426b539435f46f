//! Postings filed by account.

use std::ops::Range;

use super::movements::Entry;

/// Places of the entries by account, of which they are a range; entries of one account stay in their order.
pub(super) struct ByAccount {
    places: Vec<usize>,
}

impl ByAccount {
    pub(super) fn sort(entries: &[Entry], accounts: &Range<u32>) -> Self {
        let mut starts = vec![0_u64; accounts.len() + 1];
        let of = |entry: &Entry| (entry.account - accounts.start) as usize;
        for entry in entries {
            starts[of(entry) + 1] += 1;
        }
        for account in 0..accounts.len() {
            starts[account + 1] += starts[account];
        }
        let mut places = vec![0; entries.len()];
        for (place, entry) in entries.iter().enumerate() {
            let slot = &mut starts[of(entry)];
            places[usize::try_from(*slot).expect("entries are in memory")] = place;
            *slot += 1;
        }
        Self { places }
    }

    /// All entries, account by account.
    pub(super) fn entries<'a>(&'a self, entries: &'a [Entry]) -> impl Iterator<Item = &'a Entry> {
        self.places.iter().map(|&place| &entries[place])
    }
}
