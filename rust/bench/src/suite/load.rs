//! Building a store of a preset as an import of files would: commits of a million transfers, then `compact`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use headwater_ledger::Cancel;
use headwater_ledger::store::Writer;
use headwater_types::Chain;
use serde::{Deserialize, Serialize};

use super::counters::{Cost, bytes_below, memory, timed, watched};
use super::{Result, sections};
use crate::generator::{Generator, listings};

/// The cost of building a store, and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Transfers.
    pub transfers: u64,
    /// Commits.
    pub commits: u64,
    /// Making the rows and their facts: not the engine's work, and not in `cost`.
    pub generating: Cost,
    /// The commits alone, with the merges that they make.
    pub commits_cost: Cost,
    /// All of it: commits, compaction, edges, tables of holders.
    pub cost: Cost,
    /// The most anonymous memory, the facts of one commit included.
    pub anonymous_bytes: u64,
    /// The most memory that was resident: pages of mapped files too, which the system takes back where it needs them.
    pub resident_bytes: u64,
    /// Bytes of all files of the store.
    pub bytes: u64,
    /// Bytes by section over all its segments and sidecars.
    pub sections: BTreeMap<String, u64>,
    /// Files of the newest generation: segments and others.
    pub files: u64,
}

/// The interval at which the memory is looked at: short enough for phases of tenths of a second, too long to cost.
const WATCHED_EVERY: Duration = Duration::from_millis(10);

/// Builds the store; the folder must not hold one.
///
/// # Errors
/// When it cannot be written.
pub fn load(generator: &Generator, store: &Path, progress: impl FnMut(u64, Cost)) -> Result<Load> {
    let (built, anonymous_bytes) = watched(WATCHED_EVERY, || build(generator, store, progress));
    let built = built?;
    describe(generator, store, &built, anonymous_bytes)
}

/// The cost of building.
struct BuildCosts {
    generating: Cost,
    commits_cost: Cost,
    cost: Cost,
}

fn build(generator: &Generator, store: &Path, mut progress: impl FnMut(u64, Cost)) -> Result<BuildCosts> {
    let cancel = Cancel::new();
    let mut writer = Writer::open_or_create(store)?;
    writer.import_tokens("bench", listings())?;
    writer.begin_load();
    let (mut cost, mut generating) = (Cost::default(), Cost::default());
    for number in 0..generator.preset().chunks() {
        let (batch, made) = timed(|| generator.batch(&generator.chunk(number)));
        let (committed, took) = timed(|| writer.commit(batch, &cancel));
        committed?;
        add(&mut generating, made);
        add(&mut cost, took);
        progress(number, took);
    }
    let commits_cost = cost;
    let (compacted, took) = timed(|| -> Result<()> {
        writer.compact(Chain::ETHEREUM, &|_, _| (), &cancel)?;
        writer.rebuild_sidecars(&|_, _, _| (), &cancel)?;
        Ok(())
    });
    compacted?;
    add(&mut cost, took);
    Ok(BuildCosts { generating, commits_cost, cost })
}

fn describe(generator: &Generator, store: &Path, built: &BuildCosts, anonymous_bytes: u64) -> Result<Load> {
    let &BuildCosts { generating, commits_cost, cost } = built;
    let live = sections::live_files(store)?;
    let mut sizes = BTreeMap::new();
    let mut bytes = 0;
    for file in &live {
        bytes += bytes_below(file)?;
        for (name, size) in sections::of_file(file)? {
            *sizes.entry(name).or_insert(0) += size;
        }
    }
    Ok(Load {
        transfers: generator.preset().transfers(),
        commits: generator.preset().chunks(),
        generating,
        commits_cost,
        cost,
        anonymous_bytes,
        resident_bytes: memory().peak,
        bytes,
        sections: sizes,
        files: live.len() as u64,
    })
}

fn add(sum: &mut Cost, cost: Cost) {
    sum.wall_ns += cost.wall_ns;
    sum.cpu_ns += cost.cpu_ns;
}

impl Load {
    /// Bytes for each transfer.
    #[must_use]
    pub fn per_transfer(&self, bytes: u64) -> f64 {
        bytes as f64 / self.transfers.max(1) as f64
    }

    /// Seconds of processor for a million transfers.
    #[must_use]
    pub fn cpu_secs_per_million(&self) -> f64 {
        self.cost.cpu_ns as f64 / 1e9 / (self.transfers.max(1) as f64 / 1e6)
    }
}
