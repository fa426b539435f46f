//! One more kind of sidecar, from ingest to the removal of its files: what a new kind has to do, and nothing more.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use headwater_types::{Address, Chain, Timestamp, TxHash};

use super::*;
use crate::facts::{Batch, BlockFacts, TransactionFacts};
use crate::market::TokenListing;
use crate::read::KEPT_SECS;
use crate::segment::{Section, SegmentFile};
use crate::store::manifest::{Manifest, OpenParts};
use crate::store::{Store, Writer};

const CHAIN: Chain = Chain::ETHEREUM;
/// Number of imports, transactions, and files that it was merged from.
const COUNTS: Section<u64> = Section::new("counts");

/// The number of transactions a segment has, stale with every import.
pub(super) struct Counts;

#[derive(Debug, PartialEq, Eq)]
struct CountSidecar {
    transactions: u64,
    merged_from: u64,
}

fn write(out: &mut dyn Write, segment: &Segment, counts: [u64; 3]) -> Result<()> {
    let mut file = SegmentFile::begin(out, segment.chain(), segment.network())?;
    file.put(COUNTS, &counts)?;
    file.finish().map(drop)
}

fn add(merge: &Merge<'_>, _: &Scratch, out: &mut dyn Write, _: &Cancel) -> Result<()> {
    let held = || merge.files.iter().map(|(sidecar, _)| sidecar);
    let transactions = held().map(|sidecar| sidecar.opened.typed::<CountSidecar>().transactions).sum();
    let imports = held().map(|sidecar| u64::try_from(sidecar.opened.stamp).unwrap()).min().unwrap();
    write(out, merge.merged, [imports, transactions, merge.files.len() as u64])
}

impl Kind for Counts {
    fn name(&self) -> &'static str {
        "counts"
    }

    fn scope(&self) -> Scope {
        Scope::Segment
    }

    fn stamp(&self, _: Chain, imports: &Imports) -> u128 {
        imports.list().len() as u128
    }

    fn is_due(&self, target: &Target<'_>, occasion: Occasion) -> Result<bool> {
        Ok(!target.is_current && (target.is_new || occasion == Occasion::Request))
    }

    fn work(&self, target: &Target<'_>) -> u64 {
        target.parts.len() as u64
    }

    fn build(
        &self,
        target: &Target<'_>,
        _: &Scratch,
        out: &mut dyn Write,
        progress: &dyn Fn(u64),
        _: &Cancel,
    ) -> Result<()> {
        progress(self.work(target));
        let segment = &target.parts[0].segment;
        write(out, segment, [target.imports.list().len() as u64, segment.transactions().into(), 0])
    }

    fn merge(&self) -> Option<MergeFn> {
        Some(add)
    }

    fn open(&self, file: Container) -> Result<OpenedSidecar> {
        let counts = Arc::new(file).column(COUNTS)?;
        let (imports, transactions, merged_from) = (counts.get(0)?, counts.get(1)?, counts.get(2)?);
        Ok(OpenedSidecar::new(imports.into(), CountSidecar { transactions, merged_from }))
    }

    fn is_of(&self, opened: &OpenedSidecar, segments: &[&Segment]) -> bool {
        segments.iter().map(|segment| u64::from(segment.transactions())).sum::<u64>()
            == opened.typed::<CountSidecar>().transactions
    }

    fn attach(&self, snapshot: Snapshot, _: Vec<AttachedSidecar>) -> Snapshot {
        snapshot
    }
}

/// One transaction in each of so many blocks.
fn batch(first: u64, count: u64) -> Batch {
    let numbers = || first..first + count;
    let hash = |number: u64| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        TxHash::new(bytes)
    };
    let time = |number: u64| Timestamp::new(number.cast_signed());
    let mut batch = Batch::new(CHAIN);
    batch.blocks =
        numbers().map(|number| BlockFacts { number, hash: None, parent: None, time: time(number) }).collect();
    batch.transactions = numbers().map(|number| TransactionFacts::new(hash(number), number)).collect();
    batch
}

/// The live files and what is in them.
fn live(root: &Path) -> Vec<(PathBuf, CountSidecar)> {
    let generation = Store::open(root).unwrap().stats().unwrap().generation;
    let contents = Manifest::read(root, generation).unwrap().open(root, &mut OpenParts::default()).unwrap();
    let sidecars = contents.chains[&CHAIN].sidecars.of(&Counts);
    let counted = |sidecar: &Arc<Sidecar>| {
        let CountSidecar { transactions, merged_from } = *sidecar.opened.typed::<CountSidecar>();
        (root.join(&sidecar.file.name), CountSidecar { transactions, merged_from })
    };
    sidecars.map(counted).collect()
}

fn files(root: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(root.join("counts")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn underived(root: &Path) -> u64 {
    Store::open(root).unwrap().stats().unwrap().chains[&CHAIN].underived
}

#[test]
fn another_kind_is_built_merged_rebuilt_verified_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (root, cancel) = (folder.path(), Cancel::new());
    let mut writer = Writer::open_or_create(root).unwrap();

    // Ingest builds one for each segment.
    writer.commit(batch(0, 5), &cancel).unwrap();
    writer.commit(batch(10, 7), &cancel).unwrap();
    let mut counts: Vec<u64> = live(root).into_iter().map(|(_, counted)| counted.transactions).collect();
    counts.sort_unstable();
    assert_eq!(counts, [5, 7]);

    // A merge of segments merges their files.
    writer.compact(CHAIN, &|_, _| {}, &cancel).unwrap();
    let merged = live(root);
    assert_eq!(merged.len(), 1);
    assert_eq!(merged[0].1, CountSidecar { transactions: 12, merged_from: 2 });

    // An import makes it stale, until the writer is asked for what is missing.
    assert_eq!(underived(root), 0);
    let listing = TokenListing {
        chain: CHAIN,
        contract: Address::Evm([1; 20]),
        symbol: "T".into(),
        name: "T".into(),
        decimals: 6,
        verified: true,
        coingecko_id: None,
    };
    writer.import_tokens("list", vec![listing]).unwrap();
    assert_eq!(underived(root), 1);
    assert!(writer.rebuild_sidecars(&|kind, done, total| assert!(kind == "counts" && done <= total), &cancel).unwrap());
    assert!(!writer.rebuild_sidecars(&|_, _, _| {}, &cancel).unwrap());
    assert_eq!(underived(root), 0);
    let rebuilt = live(root);
    assert_eq!(rebuilt.len(), 1);
    assert_eq!(rebuilt[0].1, CountSidecar { transactions: 12, merged_from: 0 });

    // Verification reads every page of it.
    let verify = || Store::open(root).unwrap().verify(&|_, _| {}, &cancel).unwrap().problems;
    assert_eq!(verify(), []);
    let sound = std::fs::read(&rebuilt[0].0).unwrap();
    let mut damaged = sound.clone();
    damaged[70] ^= 1;
    std::fs::write(&rebuilt[0].0, damaged).unwrap();
    assert_eq!(verify().iter().map(|problem| &problem.file).collect::<Vec<_>>(), [&rebuilt[0].0]);
    std::fs::write(&rebuilt[0].0, sound).unwrap();

    // Files of replaced generations are orphans, and go with them.
    assert!(files(root).len() > 1);
    let later = SystemTime::now() + Duration::from_secs(KEPT_SECS + 60);
    writer.collect_garbage_at(later).unwrap();
    assert_eq!(files(root), [rebuilt[0].0.clone()]);
}
