//! All labels in force.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_types::{Address, Chain, Timestamp};

use super::claim::Claim;
use super::disputes::{DisputeEntry, Disputes};
use super::file::LabelFile;
use super::key::Key;
use super::origin::{Edition, ListOrigin, SanctionsEdition, is_same_statement};
use super::succession::succeed_for_one;
use crate::error::Result;

/// The claims in force: of each list the last import that was not rolled back.
#[derive(Clone, Default)]
pub struct LabelTable {
    lists: Vec<Edition>,
    /// All imports, those rolled back included, in order of their versions.
    imports: Vec<ImportRow>,
    imported_at: Option<Timestamp>,
    disputes: Arc<Disputes>,
}

/// One import of a list.
#[derive(Clone)]
pub(crate) struct ImportRow {
    pub(crate) version: u64,
    /// Number of its list.
    pub(crate) list: usize,
    pub(crate) is_in_force: bool,
    pub(crate) terms: ListTerms,
    pub(crate) origin: Arc<ListOrigin>,
    pub(crate) sanctions: Arc<[SanctionsEdition]>,
    pub(crate) file: Arc<LabelFile>,
}

/// When an edition of a list came and went, and what it did to the one before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListTerms {
    /// The generation that brought it.
    pub(crate) generation: u64,
    /// The generation that rolled it back.
    pub(crate) rolled_back: Option<u64>,
    /// When claims ended that it no longer makes; `None` where they are forgotten.
    pub(crate) ended_at: Option<Timestamp>,
}

/// A change that an import made about an address.
#[derive(Debug, Clone, Default)]
pub struct LabelChange<'a> {
    /// All claims about the address before.
    pub before: Vec<Claim<&'a str>>,
    /// All claims about the address after.
    pub after: Vec<Claim<&'a str>>,
}

impl LabelTable {
    /// All imports in order of their versions; `imported_at` is the newest time of an import in force.
    pub(crate) fn new(imports: Vec<ImportRow>, imported_at: Option<Timestamp>, disputes: Arc<Disputes>) -> Self {
        let mut last: BTreeMap<usize, &ImportRow> = BTreeMap::new();
        for import in imports.iter().filter(|import| import.is_in_force) {
            last.insert(import.list, import);
        }
        let edition = |import: &ImportRow| {
            let (file, origin) = (Arc::clone(&import.file), Arc::clone(&import.origin));
            Edition { version: import.version, file, origin, sanctions: Arc::clone(&import.sanctions) }
        };
        let mut lists: Vec<_> = last.into_values().map(edition).collect();
        lists.sort_by_key(|edition| edition.version);
        Self { lists, imports, imported_at, disputes }
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Returns whether a claim holds on a chain.
    #[must_use]
    pub fn holds(&self, chain: Chain) -> bool {
        self.lists.iter().any(|edition| edition.file.chains().any(|of| of == chain))
    }

    /// When the newest import in force was made.
    #[must_use]
    pub const fn imported_at(&self) -> Option<Timestamp> {
        self.imported_at
    }

    /// The newest time at which a claim in force was asserted.
    #[must_use]
    pub fn newest_claim(&self) -> Option<Timestamp> {
        let newest = self.lists.iter().map(|edition| edition.file.newest()).max()?;
        (newest != i64::MIN).then(|| Timestamp::new(newest))
    }

    /// Numbers of the imports in force, which name what an answer rests on.
    pub fn versions(&self) -> impl Iterator<Item = u64> {
        self.lists.iter().map(|edition| edition.version)
    }

    /// The lists in force, in the order of their imports.
    pub fn origins(&self) -> impl Iterator<Item = &ListOrigin> {
        self.lists.iter().map(|edition| &*edition.origin)
    }

    /// The files of the lists in force, in the order of their imports.
    pub(super) fn files(&self) -> impl Iterator<Item = &LabelFile> {
        self.lists.iter().map(|edition| &*edition.file)
    }

    /// Returns the newest edition in force of the sanctions of each authority, in order of the groups. O(lists).
    #[must_use]
    pub fn sanctions_editions(&self) -> Vec<&SanctionsEdition> {
        let mut newest: BTreeMap<&str, &SanctionsEdition> = BTreeMap::new();
        for edition in self.lists.iter().flat_map(|list| &*list.sanctions) {
            let held = newest.entry(&edition.group).or_insert(edition);
            if edition.dated > held.dated {
                *held = edition;
            }
        }
        newest.into_values().collect()
    }

    /// The lists in force that make a claim, in the order of their imports; none where the claim is not from a list.
    /// O(lists), as [`LabelTable::claims_about`].
    ///
    /// # Errors
    /// As [`LabelTable::claims_about`].
    pub fn origins_of(&self, claim: &Claim<&str>) -> Result<Vec<&ListOrigin>> {
        let key = Key::of(&claim.address);
        let mut origins = Vec::new();
        for Edition { file, origin, .. } in &self.lists {
            let mut makes_it = false;
            file.visit((&claim.address, &key, key.hash()), &mut |(held, _)| {
                makes_it |= is_same_statement(&held, claim);
            })?;
            if makes_it {
                origins.push(&**origin);
            }
        }
        Ok(origins)
    }

    /// Stands for the imports in force and the disputes: equal digests are equal labels.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut digest = xxhash_rust::xxh3::Xxh3::new();
        for version in self.versions() {
            digest.update(&version.to_le_bytes());
        }
        if !self.disputes.is_empty() {
            digest.update(&self.disputes.digest().to_le_bytes());
        }
        digest.digest()
    }

    /// The history of disputes, in the order in which they were recorded.
    #[must_use]
    pub fn disputes(&self) -> &[DisputeEntry] {
        self.disputes.entries()
    }

    /// All claims about an address, whatever the chain and whether they ended or not, in the order of lists, each with
    /// the dispute about it. O(lists); a list without the address costs one cache line, and disputes nothing unless
    /// there are claims.
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
        for Edition { file, .. } in &self.lists {
            file.visit((address, &key, hash), &mut |(claim, _)| claims.push(claim))?;
        }
        self.disputes.mark(address, u64::MAX, &mut claims);
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

    /// Returns the claims about an address on a chain before and after an import came into force, or was rolled back:
    /// all lists as they were at that time, whatever came later. `None` when there is no such import.
    ///
    /// # Errors
    /// As [`LabelTable::claims_about`].
    pub fn change<'a>(
        &'a self,
        (version, is_rolled_back): (u64, bool),
        chain: Chain,
        address: &Address,
    ) -> Result<Option<LabelChange<'a>>> {
        let Some(import) = self.imports.iter().find(|import| import.version == version) else { return Ok(None) };
        let ListTerms { generation, rolled_back, .. } = import.terms;
        let generation = if is_rolled_back { rolled_back.unwrap_or(u64::MAX) } else { generation };
        let key = Key::of(address);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut lists: BTreeMap<usize, [Vec<Claim<&'a str>>; 2]> = BTreeMap::new();
        for import in &self.imports {
            let terms = import.terms;
            let is_before = terms.generation < generation && terms.rolled_back.is_none_or(|gone| gone >= generation);
            let is_after = terms.generation <= generation && terms.rolled_back.is_none_or(|gone| gone > generation);
            if !is_before && !is_after {
                continue;
            }
            let mut own = Vec::new();
            import.file.visit((address, &key, key.hash()), &mut |(claim, is_own)| {
                if is_own && claim.scope.contains(chain) {
                    own.push(claim);
                }
            })?;
            let states = lists.entry(import.list).or_default();
            for (state, _) in states.iter_mut().zip([is_before, is_after]).filter(|(_, is_there)| *is_there) {
                let earlier = std::mem::take(state);
                *state = match terms.ended_at {
                    Some(ended_at) => succeed_for_one(earlier, own.clone(), ended_at),
                    None => own.clone(),
                };
            }
        }
        for [old, new] in lists.into_values() {
            before.extend(old);
            after.extend(new);
        }
        for claims in [&mut before, &mut after] {
            self.disputes.mark(address, generation, claims);
        }
        Ok(Some(LabelChange { before, after }))
    }

    /// Returns whether an import says anything of an address, or ended or forgot what the list said before: what it changed,
    /// it changed of these.
    ///
    /// # Errors
    /// As [`LabelTable::claims_about`].
    pub fn is_named_by(&self, version: u64, address: &Address) -> Result<bool> {
        let Some(import) = self.imports.iter().find(|import| import.version == version) else { return Ok(false) };
        let key = Key::of(address);
        if import.file.holds(&key, key.hash())? {
            return Ok(true);
        }
        // A list that forgets has no trace of its claims before.
        if import.terms.ended_at.is_some() {
            return Ok(false);
        }
        let at = import.terms.generation;
        let was_in_force = |earlier: &ListTerms| {
            earlier.generation < at && earlier.rolled_back.is_none_or(|rolled_back| rolled_back > at)
        };
        let of_list = self.imports.iter().filter(|earlier| earlier.list == import.list && was_in_force(&earlier.terms));
        of_list
            .max_by_key(|earlier| earlier.terms.generation)
            .map_or(Ok(false), |earlier| earlier.file.holds(&key, key.hash()))
    }

    /// Shows all claims as the lists make them, without disputes: list by list, each in order of address.
    ///
    /// # Errors
    /// As [`LabelTable::claims_about`], or what `visit` gives.
    pub fn each<'a>(&'a self, visit: &mut dyn FnMut(u64, Claim<&'a str>) -> Result<()>) -> Result<()> {
        for Edition { version, file, .. } in &self.lists {
            file.each(&mut |(claim, _)| visit(*version, claim))?;
        }
        Ok(())
    }

    /// Shows the claims about some addresses, as [`LabelTable::each`] shows those about all, without a look at others.
    ///
    /// # Errors
    /// As [`LabelTable::each`].
    pub fn each_about<'a>(
        &'a self,
        addresses: &BTreeSet<Address>,
        visit: &mut dyn FnMut(u64, Claim<&'a str>) -> Result<()>,
    ) -> Result<()> {
        for Edition { version, file, .. } in &self.lists {
            for address in addresses {
                let key = Key::of(address);
                let mut claims = Vec::new();
                file.visit((address, &key, key.hash()), &mut |(claim, _)| claims.push(claim))?;
                claims.into_iter().try_for_each(|claim| visit(*version, claim))?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for LabelTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LabelTable").field("lists", &self.lists.len()).finish_non_exhaustive()
    }
}
