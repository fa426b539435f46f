//! A store without a disk: the same commits and the same segments, in memory.

use std::path::Path;
use std::sync::Arc;

use headwater_types::{Chain, Timestamp};

use super::change::Extent;
use super::commit::FeedPolicy;
use super::contents::Contents;
use super::imports::{Entries, LabelImport};
use super::parts::{FileRef, Part, Storage, WriteFn};
use super::segmentation::{self, Segmentation};
use super::sidecar::{KINDS, Occasion};
use super::{CommitReport, LogicalDigest, digest};
use crate::external::Scratch;
use crate::facts::Batch;
use crate::feed::{Feed, FeedLimits};
use crate::labels::{DisputeEntry, DisputeRequest};
use crate::market::{FxPoint, PricePoint, TokenListing};
use crate::read::{Generations, Ledger, Result};
use crate::segment::{Container, Segment};
use crate::{Cancel, LedgerError, Snapshot};

/// A store in memory. It has one generation, the newest.
pub struct MemoryStore {
    contents: Contents,
    snapshot: Arc<Snapshot>,
    telling: FeedPolicy,
}

/// Keeps nothing but what is open.
#[derive(Default)]
struct Memory {
    count: u64,
}

impl Memory {
    fn next_file(&mut self, name: &str, length: usize) -> FileRef {
        self.count += 1;
        FileRef { name: format!("memory/{name}-{:04}", self.count), length: length as u64, digest: 0 }
    }
}

impl Storage for Memory {
    fn scratch(&self) -> Scratch {
        Scratch::memory()
    }

    fn keep_segment(&mut self, chain: Chain, write: WriteFn<'_>) -> Result<Arc<Part>> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        let file = self.next_file(chain.name(), bytes.len());
        let segment = Segment::from_bytes(&file.name, bytes)?;
        Ok(Arc::new(Part::new(file, segment)))
    }

    fn keep_container(&mut self, kind: &str, stem: &str, write: WriteFn<'_>) -> Result<(FileRef, Container)> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        let file = self.next_file(&format!("{kind}-{stem}"), bytes.len());
        let opened = Container::from_bytes(&file.name, &bytes)?;
        Ok((file, opened))
    }

    fn keep_file(&mut self, kind: &str, _extension: &str, bytes: Vec<u8>) -> Result<FileRef> {
        Ok(self.next_file(kind, bytes.len()))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::of(Contents { generation: 1, ..Contents::default() })
    }
}

impl MemoryStore {
    fn of(contents: Contents) -> Self {
        let snapshot = Arc::new(contents.snapshot());
        Self { contents, snapshot, telling: FeedPolicy::Nothing }
    }

    /// Joins a batch with what is held, as [`crate::store::Writer::commit`] does.
    ///
    /// # Errors
    /// As a commit to disk, disk faults left out.
    pub fn commit(&mut self, batch: Batch, cancel: &Cancel) -> Result<CommitReport> {
        let chain = batch.chain;
        let (after, report) = self.contents.with_batch(batch, self.telling, &mut self.storage(), cancel)?;
        self.replace(after);
        loop {
            let merged = self.contents.merged(chain, Extent::Due, &mut self.storage(), &|_, _| {}, cancel);
            // The commit is, merged or not.
            let Ok((Some(after), _)) = merged else { break };
            self.replace(Some(after));
        }
        Ok(CommitReport { generation: self.contents.generation, ..report })
    }

    /// Adds one followed block to the tail, as [`crate::store::Writer::append_tail_block`] does.
    ///
    /// # Errors
    /// As there.
    pub fn append_tail_block(&mut self, batch: Batch) -> Result<CommitReport> {
        let (after, report) = self.contents.with_tail_block(batch, &mut self.storage())?;
        self.replace(Some(after));
        Ok(CommitReport { generation: self.contents.generation, ..report })
    }

    /// Takes back the blocks of the tail above `to_block`, as [`crate::store::Writer::roll_back_tail`] does.
    ///
    /// # Errors
    /// As there.
    pub fn roll_back_tail(&mut self, chain: Chain, to_block: u64) -> Result<u64> {
        let (after, removed) = self.contents.without_tail_above(chain, to_block)?;
        self.replace(after);
        Ok(removed)
    }

    /// Makes the blocks of the tail up to `up_to_block` final, as [`crate::store::Writer::seal_tail`] does.
    ///
    /// # Errors
    /// As there.
    pub fn seal_tail(&mut self, chain: Chain, up_to_block: u64) -> Result<u64> {
        let (after, sealed) = self.contents.with_tail_sealed(chain, up_to_block, &mut self.storage())?;
        self.replace(after);
        Ok(sealed)
    }

    /// From now on commits make items of the change feed, as after [`crate::store::Writer::begin_events`].
    pub const fn begin_events(&mut self) {
        self.telling = FeedPolicy::Items;
    }

    /// Adds token listings.
    ///
    /// # Errors
    /// None in memory.
    pub fn import_tokens(&mut self, source: &str, listings: Vec<TokenListing>) -> Result<u64> {
        self.import(source, Entries::Tokens(listings))
    }

    /// Adds prices.
    ///
    /// # Errors
    /// [`LedgerError::InvalidPrice`].
    pub fn import_prices(&mut self, source: &str, prices: Vec<PricePoint>) -> Result<u64> {
        self.import(source, Entries::Prices(prices))
    }

    /// Adds exchange rates.
    ///
    /// # Errors
    /// [`LedgerError::InvalidExchangeRate`].
    pub fn import_exchange_rates(&mut self, source: &str, rates: Vec<FxPoint>) -> Result<u64> {
        self.import(source, Entries::Fx(rates))
    }

    /// Adds a version of a list of labels.
    ///
    /// # Errors
    /// None in memory.
    pub fn import_labels(&mut self, import: LabelImport) -> Result<u64> {
        let (after, number) = self.contents.with_labels(import, &mut self.storage())?;
        self.replace(Some(after));
        Ok(number)
    }

    /// Records that claims are disputed, or that a dispute has ended, as [`crate::store::Writer::dispute`] does.
    ///
    /// # Errors
    /// [`LedgerError::Dispute`].
    pub fn dispute(&mut self, request: &DisputeRequest) -> Result<Vec<DisputeEntry>> {
        let (after, entries) = self.contents.with_dispute(request, &mut self.storage())?;
        self.replace(Some(after));
        Ok(entries)
    }

    /// Takes a version of an import out of force.
    ///
    /// # Errors
    /// [`LedgerError::UnknownVersion`] when no such version is in force.
    pub fn roll_back_import(&mut self, version: u64) -> Result<()> {
        // There is no clock here: it is as late as the newest import.
        let after = self.contents.without_import(version, Timestamp::new(0), &mut self.storage())?;
        self.replace(Some(after));
        Ok(())
    }

    fn import(&mut self, source: &str, entries: Entries) -> Result<u64> {
        let (imports, number) = self.contents.imports.with(source, entries, &mut self.storage())?;
        self.replace(Some(Contents { imports, ..self.contents.clone() }));
        Ok(number)
    }

    /// Returns what is held now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// The digest of what is held; equal to that of a store on disk that holds the same.
    ///
    /// # Errors
    /// When the work is cancelled.
    pub fn digest(&self, cancel: &Cancel) -> Result<LogicalDigest> {
        digest::digest(&self.contents, cancel)
    }

    /// The same content in other segments: readers of a ledger must not see the difference.
    ///
    /// The segments are in an order of their own, so that nothing may lean on theirs either; the last blocks form
    /// the tail, each with a made hash where it has none.
    ///
    /// # Errors
    /// When a segment cannot be built.
    pub fn in_segments(&self, segmentation: Segmentation) -> Result<Self> {
        let mut contents = self.contents.clone();
        for (chain, held) in &mut contents.chains {
            *held = segmentation::segmented(*chain, held, segmentation, &mut self.storage())?;
        }
        Ok(Self::of(contents))
    }

    /// The same with every sidecar built, however small: readers of a ledger must not see the difference.
    ///
    /// # Errors
    /// When the work is cancelled.
    pub fn with_sidecars(&self, cancel: &Cancel) -> Result<Self> {
        let mut contents = self.contents.clone();
        let mut storage = self.storage();
        for kind in KINDS {
            let occasion = (Occasion::All, &self.contents);
            let built = contents.with_sidecars(*kind, occasion, &mut storage, &|_, _| {}, cancel)?;
            contents = built.unwrap_or(contents);
        }
        Ok(Self::of(contents))
    }

    fn storage(&self) -> Memory {
        Memory { count: self.contents.generation * 10_000 }
    }

    fn replace(&mut self, after: Option<Contents>) {
        if let Some(mut after) = after {
            after.generation = self.contents.generation + 1;
            // There is no clock here: what the number of items allows is kept.
            Arc::make_mut(&mut after.feed).prune(&FeedLimits { secs: 0, ..FeedLimits::default() }, i64::MAX);
            *self = Self { telling: self.telling, ..Self::of(after) };
        }
    }
}

impl Generations for MemoryStore {
    fn feed(&self) -> Result<Feed> {
        Ok(self.contents.feed_of(self.snapshot(), Path::new("")))
    }

    fn current(&self) -> Result<Arc<dyn Ledger>> {
        Ok(self.snapshot())
    }

    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>> {
        if number == self.contents.generation {
            Ok(self.snapshot())
        } else {
            Err(LedgerError::GenerationGone { generation: number })
        }
    }
}

/// Commits the batches one after the other into a store in memory.
///
/// # Errors
/// As a commit to disk would fail, disk faults left out.
pub fn in_memory(
    batches: Vec<Batch>,
    listings: Vec<TokenListing>,
    prices: Vec<PricePoint>,
) -> Result<Arc<MemoryStore>> {
    let mut store = MemoryStore::default();
    for batch in batches {
        store.commit(batch, &Cancel::new())?;
    }
    if !listings.is_empty() {
        store.import_tokens("memory", listings)?;
    }
    if !prices.is_empty() {
        store.import_prices("memory", prices)?;
    }
    Ok(Arc::new(store))
}
