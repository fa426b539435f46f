//! All labels in force.

use std::collections::BTreeMap;
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
    /// All imports, those rolled back included, in order of their versions.
    imports: Vec<Imported>,
    imported_at: Option<Timestamp>,
}

/// One import of a list.
#[derive(Clone)]
pub(crate) struct Imported {
    pub(crate) version: u64,
    /// Number of its list.
    pub(crate) list: usize,
    pub(crate) is_in_force: bool,
    pub(crate) file: Arc<LabelFile>,
}

/// What an import changed about an address.
#[derive(Debug, Clone, Default)]
pub struct LabelChange<'a> {
    /// All claims about the address before.
    pub before: Vec<Claim<&'a str>>,
    /// All claims about the address after.
    pub after: Vec<Claim<&'a str>>,
}

impl LabelTable {
    /// All imports in order of their versions; `imported_at` is the newest time of an import in force.
    pub(crate) fn new(imports: Vec<Imported>, imported_at: Option<Timestamp>) -> Self {
        let mut last: BTreeMap<usize, &Imported> = BTreeMap::new();
        for import in imports.iter().filter(|import| import.is_in_force) {
            last.insert(import.list, import);
        }
        let mut lists: Vec<_> = last.into_values().map(|import| (import.version, Arc::clone(&import.file))).collect();
        lists.sort_by_key(|(version, _)| *version);
        Self { lists, imports, imported_at }
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

    /// What came to be said of an address on a chain when an import came into force, or was rolled back: the claims of
    /// all lists as they stand, of the list of the import those before and after it. `None` when there is no such
    /// import.
    ///
    /// # Errors
    /// As [`LabelTable::claims_about`].
    pub fn change<'a>(
        &'a self,
        (version, is_rolled_back): (u64, bool),
        chain: Chain,
        address: &Address,
    ) -> Result<Option<LabelChange<'a>>> {
        let Some(place) = self.imports.iter().position(|import| import.version == version) else { return Ok(None) };
        let (earlier, import) = (&self.imports[..place], &self.imports[place]);
        let predecessor = earlier.iter().rev().find(|other| other.list == import.list && other.is_in_force);
        let key = Key::of(address);
        let hash = key.hash();
        let of = |file: &'a LabelFile, into: &mut Vec<Claim<&'a str>>| {
            file.visit((address, &key, hash), &mut |(claim, _)| {
                if claim.scope.contains(chain) {
                    into.push(claim);
                }
            })
        };
        let (mut without, mut with, mut others) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(predecessor) = predecessor {
            of(&predecessor.file, &mut without)?;
        }
        of(&import.file, &mut with)?;
        if without.is_empty() && with.is_empty() {
            return Ok(Some(LabelChange::default()));
        }
        let is_of_list =
            |version: u64| self.imports.iter().any(|other| other.version == version && other.list == import.list);
        for (_, file) in self.lists.iter().filter(|(version, _)| !is_of_list(*version)) {
            of(file, &mut others)?;
        }
        without.extend(others.iter().copied());
        with.extend(others);
        let (before, after) = if is_rolled_back { (with, without) } else { (without, with) };
        Ok(Some(LabelChange { before, after }))
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
        f.debug_struct("LabelTable").field("lists", &self.lists.len()).finish_non_exhaustive()
    }
}
