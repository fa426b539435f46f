//! The same content in many segmentations: readers of a ledger must not see the difference.

use std::fmt::Debug;
use std::sync::Arc;

use headwater_ledger::facts::Batch;
use headwater_ledger::read::Ledger;
use headwater_ledger::store::{MemoryStore, Segmentation, Split};
use headwater_ledger::{Cancel, Snapshot};

/// The ways content is spread: 1, 3 and 17 segments, in runs and scattered, with and without a tail.
const WAYS: [Segmentation; 5] = [
    Segmentation { segments: 1, split: Split::Runs, tail_blocks: 0 },
    Segmentation { segments: 3, split: Split::Runs, tail_blocks: 0 },
    Segmentation { segments: 17, split: Split::Scattered, tail_blocks: 0 },
    Segmentation { segments: 3, split: Split::Scattered, tail_blocks: 4 },
    Segmentation { segments: 17, split: Split::Runs, tail_blocks: 2 },
];

fn joined(batches: impl IntoIterator<Item = Batch>) -> MemoryStore {
    let mut store = MemoryStore::default();
    for batch in batches {
        store.commit(batch, &Cancel::new()).expect("the batches of a test can be committed");
    }
    store
}

/// The batches in one segment per chain.
///
/// # Panics
/// When the batches cannot be committed.
#[must_use]
pub fn in_one_segment(batches: impl IntoIterator<Item = Batch>) -> Arc<Snapshot> {
    joined(batches).in_segments(WAYS[0]).expect("segments of a test can be built").snapshot()
}

/// Runs a closure over the same content in 1, 3 and 17 segments, with and without a tail, and gives what it returns,
/// which must be the same each time. Also holds that the logical digest is the same.
///
/// # Panics
/// When it is not, or when the batches cannot be committed.
pub fn over_segmentations<T: PartialEq + Debug>(
    batches: impl IntoIterator<Item = Batch>,
    mut run: impl FnMut(&dyn Ledger) -> T,
) -> T {
    let store = joined(batches);
    let digest = store.digest(&Cancel::new()).expect("a sound store has a digest");
    let mut first = None;
    for way in WAYS {
        let segmented = store.in_segments(way).expect("segments of a test can be built");
        assert_eq!(segmented.digest(&Cancel::new()).expect("as above"), digest, "digest in {way:?}");
        let answer = run(&*segmented.snapshot());
        match &first {
            None => first = Some(answer),
            Some(first) => assert_eq!(&answer, first, "{way:?} answers other than {:?}", WAYS[0]),
        }
    }
    first.expect("there are ways")
}
