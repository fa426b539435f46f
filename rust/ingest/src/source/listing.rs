//! The rule by which a text is a list: most of its items begin with an address.

/// Counts the items of a text, and those that begin with an address.
#[derive(Debug, Default)]
pub(crate) struct ListedItems {
    items: usize,
    listed: usize,
}

impl ListedItems {
    /// Counts an item.
    pub(crate) fn add(&mut self, is_listed: bool) {
        self.items += 1;
        self.listed += usize::from(is_listed);
    }

    /// Returns whether more than half of the items begin with an address.
    pub(crate) fn is_list(&self) -> bool {
        self.listed * 2 > self.items
    }
}
