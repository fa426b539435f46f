//! The table of a generation with the segments that it is about.

use std::sync::Arc;

use super::file::ClusterFile;
use crate::error::Result;
use crate::primitives::Account;
use crate::segment::Segment;

/// The segments of a generation, and the table with the places of those that it covers.
#[derive(Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) segments: &'a [Arc<Segment>],
    pub(super) table: Option<(&'a ClusterFile, &'a [u32])>,
}

impl Base<'_> {
    pub(super) fn covered(&self) -> &[u32] {
        self.table.map_or(&[], |(_, covered)| covered)
    }

    /// The cluster of the table that an account is in.
    pub(super) fn stored(&self, account: &Account) -> Result<Option<(&ClusterFile, u32)>> {
        for (place, id) in &account.places {
            let found = self.stored_at(*place, *id)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The same of the account of a segment, where the table covers it.
    pub(super) fn stored_at(&self, place: u32, id: u32) -> Result<Option<(&ClusterFile, u32)>> {
        let Some((file, covered)) = self.table else { return Ok(None) };
        let Some(number) = covered.iter().position(|covered| *covered == place) else { return Ok(None) };
        let before = covered[..number].iter().map(|place| self.segments[*place as usize].addresses()).sum();
        Ok(file.cluster_of(before, id)?.map(|cluster| (file, cluster)))
    }
}
