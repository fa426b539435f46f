//! From contents to what is derived of them: sidecars that are due, the snapshot that reads all of it, the feed.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use headwater_types::Chain;

use super::contents::{ChainContents, Contents};
use super::feed::StoredFeed;
use super::parts::{Part, Storage};
use super::sidecar::{AttachedSidecar, CoveredSegment, KINDS, Kind, Merge, Occasion, Scope, Sidecar, Target};
use crate::feed::Feed;
use crate::read::Result;
use crate::segment::Segment;
use crate::{Cancel, Ledger, Snapshot};

/// Places of segments by the names of their files.
type Places<'a> = HashMap<&'a str, u32>;

impl Contents {
    pub(super) fn snapshot(&self) -> Snapshot {
        let parts = self.chains.values().flat_map(ChainContents::parts);
        let snapshot = Snapshot::new(
            self.generation,
            parts.map(|part| Arc::clone(&part.segment)).collect(),
            self.chains.iter().map(|(chain, held)| (*chain, held.coverage())).collect(),
            Arc::clone(&self.imports.registry),
            Arc::clone(&self.imports.prices),
        )
        .with_carried(
            self.chains.values().flat_map(ChainContents::parts).map(|part| part.content).collect(),
            self.chains.iter().map(|(chain, held)| (*chain, Arc::clone(&held.carried))).collect(),
        )
        .with_exchange_rates(Arc::clone(&self.imports.exchange_rates))
        .with_labels(Arc::clone(&self.imports.labels))
        .with_whole_histories(self.chains.iter().map(|(chain, held)| (*chain, held.whole_histories())).collect());
        KINDS.iter().fold(snapshot, |snapshot, kind| kind.attach(snapshot, self.attached(*kind)))
    }

    /// The change feed of a store in a folder.
    pub(super) fn feed_of(&self, ledger: Arc<dyn Ledger>, root: &Path) -> Feed {
        Feed::new(ledger, Arc::new(StoredFeed { state: Arc::clone(&self.feed), root: root.to_owned() }))
    }

    /// The current files of a kind.
    fn attached(&self, kind: &dyn Kind) -> Vec<AttachedSidecar> {
        let mut files = Vec::new();
        let mut first = 0;
        for (chain, held) in &self.chains {
            let (stamp, places) = (kind.stamp(*chain, &self.imports), held.places());
            let parts: Vec<&Arc<Part>> = held.parts().collect();
            for sidecar in held.sidecars.of(kind) {
                if let Some(covered) = current(kind, stamp, sidecar, (&places, &parts)) {
                    let places = covered.into_iter().map(|place| first + place).collect();
                    files.push(AttachedSidecar { chain: *chain, places, opened: sidecar.opened.clone() });
                }
            }
            first += u32::try_from(parts.len()).unwrap_or(u32::MAX);
        }
        files
    }

    /// Drops the sidecars of segments that are gone.
    pub(super) fn drop_orphans(&mut self) {
        for held in self.chains.values_mut() {
            let names: BTreeSet<String> = held.parts().map(|part| part.file.name.clone()).collect();
            held.sidecars.retain(|name| names.contains(name));
        }
    }

    /// With every sidecar of a kind that is due; `None` when there is nothing to build. `before` is what was there
    /// before a change. `progress` receives (work done, in all).
    pub(super) fn with_sidecars(
        &self,
        kind: &'static dyn Kind,
        (occasion, before): (Occasion, &Self),
        storage: &mut dyn Storage,
        progress: &dyn Fn(u64, u64),
        cancel: &Cancel,
    ) -> Result<Option<Self>> {
        let mut due = Vec::new();
        for (chain, held) in &self.chains {
            due.extend(self.due(kind, (*chain, held), (occasion, before))?);
        }
        if due.is_empty() {
            return Ok(None);
        }
        let total = due.iter().map(|target| kind.work(target)).sum();
        let mut after = self.clone();
        let mut done = 0;
        for target in due {
            let scratch = storage.scratch();
            let (file, opened) = storage.keep_container(kind.name(), target.chain.name(), &mut |out| {
                kind.build(&target, &scratch, out, &|part| progress(done + part, total), cancel)
            })?;
            let covers = target.parts.iter().map(|part| part.file.name.clone()).collect();
            let opened = kind.open(opened)?;
            // Else no generation would ever use the file.
            debug_assert_eq!(opened.stamp, kind.stamp(target.chain, &self.imports), "stamp of new {}", kind.name());
            let sidecar = Arc::new(Sidecar { file, covers, opened });
            if let Some(held) = after.chains.get_mut(&target.chain) {
                held.sidecars.insert(kind, sidecar);
            }
            done += kind.work(&target);
            progress(done, total);
        }
        Ok(Some(after))
    }

    /// The chains with a table over all their segments that is missing, stale, or so old that it is to be rewritten.
    pub(super) fn chains_with_due_tables(&self) -> Result<Vec<Chain>> {
        let mut chains = Vec::new();
        for (chain, held) in &self.chains {
            for kind in KINDS.iter().filter(|kind| kind.scope() == Scope::Chain) {
                if !chains.contains(chain) && !self.due(*kind, (*chain, held), (Occasion::Request, self))?.is_empty() {
                    chains.push(*chain);
                }
            }
        }
        Ok(chains)
    }

    /// Counts the sidecars of a chain that are missing or stale.
    pub(super) fn underived(&self, chain: Chain, held: &ChainContents) -> Result<u64> {
        KINDS.iter().try_fold(0, |count, kind| {
            Ok(count + self.due(*kind, (chain, held), (Occasion::Request, self))?.len() as u64)
        })
    }

    fn due<'a>(
        &'a self,
        kind: &dyn Kind,
        (chain, held): (Chain, &'a ChainContents),
        (occasion, before): (Occasion, &Self),
    ) -> Result<Vec<Target<'a>>> {
        let (stamp, places) = (kind.stamp(chain, &self.imports), held.places());
        let known = before.chains.get(&chain).map(ChainContents::places).unwrap_or_default();
        let all: Vec<&Arc<Part>> = held.parts().collect();
        let mut due = Vec::new();
        for parts in held.groups(kind.scope()) {
            let sidecar = held.sidecars.held(kind, parts);
            let target = Target {
                chain,
                parts,
                imports: &self.imports,
                held: sidecar.map(|sidecar| &**sidecar),
                is_current: sidecar.is_some_and(|sidecar| current(kind, stamp, sidecar, (&places, &all)).is_some()),
                is_new: parts.iter().any(|part| !known.contains_key(&*part.file.name)),
            };
            if kind.is_due(&target, occasion)? {
                due.push(target);
            }
        }
        Ok(due)
    }
}

/// The places of what a file covers; `None` when it is stale, or of segments that are gone.
fn current(
    kind: &dyn Kind,
    stamp: u128,
    sidecar: &Sidecar,
    (places, parts): (&Places<'_>, &[&Arc<Part>]),
) -> Option<Vec<u32>> {
    let covered: Vec<u32> = sidecar.covers.iter().map(|name| places.get(&**name).copied()).collect::<Option<_>>()?;
    let segments: Vec<&Segment> = covered.iter().map(|place| &*parts[*place as usize].segment).collect();
    (sidecar.opened.stamp == stamp && kind.is_of(&sidecar.opened, &segments)).then_some(covered)
}

impl ChainContents {
    /// The segments that files of a scope are for.
    fn groups(&self, scope: Scope) -> Vec<&[Arc<Part>]> {
        match scope {
            Scope::Segment => self.parts().map(std::slice::from_ref).collect(),
            Scope::Chain if self.sealed.is_empty() => Vec::new(),
            Scope::Chain => vec![&self.sealed[..]],
        }
    }

    fn places(&self) -> Places<'_> {
        self.parts().map(|part| &*part.file.name).zip(0..).collect()
    }

    /// Puts the segment that a merge made in place of those that it was made of, and takes sidecars along.
    pub(super) fn replace_merged(
        &mut self,
        chain: Chain,
        names: &BTreeSet<String>,
        merged: Arc<Part>,
        (storage, cancel): (&mut dyn Storage, &Cancel),
    ) -> Result<()> {
        let mut carried = Vec::new();
        for kind in KINDS {
            carried.extend(self.carried(*kind, chain, names, &merged, (storage, cancel))?.map(|file| (*kind, file)));
        }
        self.sidecars.retain(|name| !names.contains(name));
        for (kind, sidecar) in carried {
            self.sidecars.insert(kind, Arc::new(sidecar));
        }
        self.sealed.retain(|part| !names.contains(&part.file.name));
        self.sealed.push(merged);
        Ok(())
    }

    /// The sidecar of a kind behind a merge; `None` where its files are not merged, or do not cover all that was.
    fn carried(
        &self,
        kind: &dyn Kind,
        chain: Chain,
        names: &BTreeSet<String>,
        merged: &Part,
        (storage, cancel): (&mut dyn Storage, &Cancel),
    ) -> Result<Option<Sidecar>> {
        let Some(merge) = kind.merge() else { return Ok(None) };
        let touched = |sidecar: &&Arc<Sidecar>| sidecar.covers.iter().any(|name| names.contains(name));
        let held: Vec<&Arc<Sidecar>> = self.sidecars.of(kind).filter(touched).collect();
        if !names.iter().all(|name| held.iter().any(|sidecar| sidecar.covers.contains(name))) {
            return Ok(None);
        }
        let mut covers = vec![merged.file.name.clone()];
        let mut files = Vec::with_capacity(held.len());
        for sidecar in held {
            let mut covered = Vec::with_capacity(sidecar.covers.len());
            for name in &sidecar.covers {
                let Some(part) = self.sealed.iter().find(|part| part.file.name == *name) else { return Ok(None) };
                let place = if names.contains(name) {
                    None
                } else {
                    covers.push(name.clone());
                    u32::try_from(covers.len() - 1).ok()
                };
                covered.push(CoveredSegment { segment: &part.segment, place });
            }
            files.push((Arc::clone(sidecar), covered));
        }
        let scratch = storage.scratch();
        let merging = Merge { files: &files, merged: &merged.segment };
        let (file, opened) =
            storage.keep_container(kind.name(), chain.name(), &mut |out| merge(&merging, &scratch, out, cancel))?;
        Ok(Some(Sidecar { file, covers, opened: kind.open(opened)? }))
    }
}
