//! All labels in force.

use std::sync::Arc;

use headwater_types::{Address, Chain, Timestamp};

use super::claim::Claim;
use super::file::LabelFile;
use super::key::Key;
use crate::error::Result;

/// The claims in force: of each list the last import that was not rolled back.
#[derive(Clone, Default)]
pub struct LabelTable {
    lists: Vec<(u64, Arc<LabelFile>)>,
    imported_at: Option<Timestamp>,
}

impl LabelTable {
    /// The last import of each list, with its number; `imported_at` is the newest time of an import in force.
    pub(crate) fn new(lists: Vec<(u64, Arc<LabelFile>)>, imported_at: Option<Timestamp>) -> Self {
        Self { lists, imported_at }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// When the newest import in force was made.
    #[must_use]
    pub const fn imported_at(&self) -> Option<Timestamp> {
        self.imported_at
    }

    /// The newest time at which a claim in force was asserted.
    #[must_use]
    pub fn newest_claim(&self) -> Option<Timestamp> {
        let newest = self.lists.iter().map(|(_, file)| file.newest()).max()?;
        (newest != i64::MIN).then(|| Timestamp::new(newest))
    }

    /// Numbers of the imports in force, which name what an answer rests on.
    pub fn versions(&self) -> impl Iterator<Item = u64> {
        self.lists.iter().map(|(version, _)| *version)
    }

    /// All claims about an address, whatever the chain and whether they ended or not, in the order of lists. O(lists);
    /// a list without the address costs one cache line.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn claims_about(&self, address: &Address) -> Result<Vec<Claim<&str>>> {
        let mut claims = Vec::new();
        if self.lists.is_empty() {
            return Ok(claims);
        }
        let key = Key::of(address);
        let hash = key.hash();
        for (_, file) in &self.lists {
            file.visit((address, &key, hash), &mut |(claim, _)| claims.push(claim))?;
        }
        Ok(claims)
    }

    /// The claims that hold on a chain.
    ///
    /// # Errors
    /// As [`LabelTable::claims_about`].
    pub fn claims(&self, chain: Chain, address: &Address) -> Result<Vec<Claim<&str>>> {
        let mut claims = self.claims_about(address)?;
        claims.retain(|claim| claim.scope.contains(chain));
        Ok(claims)
    }

    /// Shows all claims, list by list, each in order of address.
    ///
    /// # Errors
    /// As [`LabelTable::claims_about`], or what `visit` gives.
    pub fn each<'a>(&'a self, visit: &mut dyn FnMut(u64, Claim<&'a str>) -> Result<()>) -> Result<()> {
        for (version, file) in &self.lists {
            file.each(&mut |(claim, _)| visit(*version, claim))?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for LabelTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LabelTable").field("lists", &self.lists.len()).field("imported_at", &self.imported_at).finish()
    }
}
