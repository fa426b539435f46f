mod cold;
mod columns;
mod hand;
mod oracle;
mod segmentation;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::market::{PriceTable, Registry};
use crate::segment::{Segment, SegmentInput, build};
use crate::{Cancel, Snapshot};

/// A snapshot over in-memory segments made of these inputs.
fn snapshot(inputs: &[SegmentInput]) -> Snapshot {
    let segments = inputs
        .iter()
        .map(|input| Arc::new(Segment::from_bytes("memory", build(input, &Cancel::new()).unwrap()).unwrap()))
        .collect();
    Snapshot::new(1, segments, BTreeMap::new(), Arc::new(Registry::default()), Arc::new(PriceTable::default()))
}
