//! One item of the feed with its rows.

use headwater_ledger::feed::FeedItem;

/// One item of the feed, its rows read and priced once for all watchers.
pub struct FeedStep {
    item: FeedItem,
}

impl FeedStep {
    /// The item.
    #[must_use]
    pub const fn item(&self) -> &FeedItem {
        &self.item
    }

    /// Its position in the feed.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.item.position
    }

    /// How many rows it has.
    #[must_use]
    pub fn row_count(&self) -> usize {
        unimplemented!()
    }
}
