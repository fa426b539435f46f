//! The plan of a job: which addresses are in which part.
//!
//! Addresses are cut in their order into cells of equal length. A hub, an address with very many movements, cuts its
//! cell: it is a part of its own, so that a machine with enough memory can be chosen for it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use headwater_ledger::Cancel;
use xxhash_rust::xxh3::Xxh3;

use super::addresses::Addresses;
use super::description::JobDescription;
use super::format::ScoreFormat;
use super::part::{PartAddresses, PlannedPart};
use super::{ScoreError, Scorer};

/// Addresses of a part: the most that is computed again after an interruption, and the bound on memory.
pub const ADDRESSES_PER_PART: usize = 16_384;

/// Movements from which an address is a part of its own: about as many as a part of usual addresses has.
pub const HUB_MOVEMENTS: u64 = 1 << 20;

/// The work that an address takes besides its movements, as so many of them; only the balance of shards depends on it.
const ADDRESS_WORK: u64 = 16;

/// Shards of a job, at most.
const MAX_SHARDS: usize = 1_000_000;

/// The size of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartSize {
    /// Addresses of a part, at least 1.
    pub addresses: usize,
    /// Movements from which an address is a part of its own.
    pub hub_movements: u64,
}

impl Default for PartSize {
    fn default() -> Self {
        Self { addresses: ADDRESSES_PER_PART, hub_movements: HUB_MOVEMENTS }
    }
}

/// The parts of a job, and what their bytes depend on.
#[derive(Debug, Clone)]
pub struct ScorePlan {
    /// The description of the job.
    pub job: JobDescription,
    /// The parts in the order of the addresses; at least one.
    pub parts: Vec<PlannedPart>,
}

/// A share of the parts of a job: the first of eight is written `1/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    count: usize,
}

impl ScorePlan {
    /// Plans a job. Reads all addresses once, so that a damaged row is found before the work begins.
    ///
    /// # Errors
    /// When the list or the ledger cannot be read, or the work is cancelled.
    pub fn new<F: ScoreFormat>(
        scorer: &Scorer,
        addresses: Addresses<'_>,
        size: PartSize,
        cancel: &Cancel,
    ) -> Result<Self, ScoreError> {
        let mut parts: Vec<PlannedPart> = Vec::new();
        for cell in addresses.cells(scorer, size.addresses)? {
            let cell = cell?;
            let movements = cell.movements(scorer, cancel)?;
            let mut begin = 0;
            for movements in movements.chunk_by(|one, next| *one.max(next) < size.hub_movements) {
                let end = begin + movements.len();
                parts.push(PlannedPart::new(parts.len(), &cell.slice(begin..end), movements.iter().sum()));
                begin = end;
            }
        }
        if parts.is_empty() {
            // So that a list without addresses has a file too.
            parts.push(PlannedPart::new(0, &PartAddresses::Known(Vec::new()), 0));
        }
        let rows = parts.iter().map(|part| part.addresses).sum();
        let job = JobDescription {
            addresses: match addresses {
                Addresses::All => "all of the chain".to_owned(),
                Addresses::List(_) => format!("{rows} texts, {:016x}", fingerprint(&parts)),
            },
            rows,
            parts: parts.len() as u64,
            addresses_per_part: size.addresses as u64,
            hub_movements: size.hub_movements,
            ..JobDescription::of_scorer::<F>(scorer, cancel)?
        };
        Ok(Self { job, parts })
    }

    /// Returns the numbers of the parts of a shard. Shards have about equal work; each part is in one of them.
    #[must_use]
    pub fn parts_of(&self, shard: Shard) -> BTreeSet<usize> {
        let work = |part: &PlannedPart| part.movements.saturating_add(part.addresses.saturating_mul(ADDRESS_WORK));
        let mut heaviest_first: Vec<&PlannedPart> = self.parts.iter().collect();
        heaviest_first.sort_by_key(|part| (Reverse(work(part)), part.number));
        // The next part goes to the shard that has least so far.
        let mut shards: BinaryHeap<_> = (1..=shard.count).map(|number| Reverse((0_u64, number))).collect();
        let mut parts = BTreeSet::new();
        for part in heaviest_first {
            let Some(Reverse((so_far, number))) = shards.pop() else { break };
            if number == shard.number {
                parts.insert(part.number);
            }
            shards.push(Reverse((so_far.saturating_add(work(part)), number)));
        }
        parts
    }

    /// Reads the addresses of the parts that are wanted, in order.
    ///
    /// # Errors
    /// When the list cannot be read; an item is an error when the list or the ledger cannot be read.
    pub fn read<'a>(
        &'a self,
        scorer: &'a Scorer,
        addresses: Addresses<'a>,
        is_wanted: impl Fn(usize) -> bool + 'a,
    ) -> Result<PlannedParts<'a>, ScoreError> {
        let Addresses::List(list) = addresses else {
            let wanted = self.parts.iter().filter(move |part| is_wanted(part.number));
            return Ok(Box::new(wanted.map(|part| Ok((part, PartAddresses::of_range(scorer, part)?)))));
        };
        let mut cells = list.parts(usize::try_from(self.job.addresses_per_part).unwrap_or(usize::MAX))?;
        let mut cell = VecDeque::new();
        let read = move |part: &'a PlannedPart| {
            if cell.is_empty() {
                match cells.next() {
                    Some(Ok(texts)) => cell = texts.into(),
                    Some(Err(error)) => return Some(Err(error)),
                    None => {}
                }
            }
            let count = usize::try_from(part.addresses).unwrap_or(usize::MAX).min(cell.len());
            let texts = PartAddresses::Texts(cell.drain(..count).collect());
            let is_last = part.number + 1 == self.parts.len();
            let has_more = is_last && (!cell.is_empty() || cells.next().is_some());
            if has_more || part.checksum != texts.checksum(part.number) {
                let file = list.file().unwrap_or(Path::new("addresses"));
                return Some(Err(ScoreError::input(file, "the list changed while it was read; start again")));
            }
            is_wanted(part.number).then_some(Ok((part, texts)))
        };
        Ok(Box::new(self.parts.iter().filter_map(read)))
    }
}

/// Parts with their addresses, in order.
pub type PlannedParts<'a> = Box<dyn Iterator<Item = Result<(&'a PlannedPart, PartAddresses), ScoreError>> + 'a>;

/// Computes the checksum of all addresses of a job from those of its parts.
fn fingerprint(parts: &[PlannedPart]) -> u64 {
    let mut hash = Xxh3::new();
    for part in parts {
        hash.update(&part.checksum.to_le_bytes());
    }
    hash.digest()
}

impl Shard {
    /// The whole job.
    pub const ALL: Self = Self { number: 1, count: 1 };
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) && count <= MAX_SHARDS => Ok(Self { number, count }),
            _ => {
                Err(format!("{text:?} is not a shard; expected NUMBER/COUNT from 1/COUNT to COUNT/COUNT, such as 1/8"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(movements: &[u64]) -> ScorePlan {
        let part = |(number, movements): (usize, &u64)| PlannedPart {
            number,
            range: None,
            addresses: 1,
            movements: *movements,
            checksum: 0,
        };
        let job = JobDescription {
            versions: std::collections::BTreeMap::new(),
            store: None,
            parameters: None,
            probe: String::new(),
            addresses: String::new(),
            rows: 0,
            parts: 0,
            addresses_per_part: 1,
            hub_movements: 1,
        };
        ScorePlan { job, parts: movements.iter().enumerate().map(part).collect() }
    }

    fn shards(plan: &ScorePlan, count: usize) -> Vec<Vec<usize>> {
        let parts = |number| plan.parts_of(format!("{number}/{count}").parse().unwrap()).into_iter().collect();
        (1..=count).map(parts).collect()
    }

    #[test]
    fn shards_have_each_part_once_and_equal_work() {
        // 900 alone, 500 and 300, 400 and 350 and 84: no shard has more than it must.
        let plan = plan(&[84, 500, 900, 300, 400, 350]);
        assert_eq!(shards(&plan, 3), [vec![2], vec![1, 3], vec![0, 4, 5]]);
        assert_eq!(shards(&plan, 1), [vec![0, 1, 2, 3, 4, 5]]);
        let many = shards(&plan, 8);
        assert_eq!(many.iter().map(Vec::len).sum::<usize>(), 6);
        assert!(many[6].is_empty() && many[7].is_empty());
    }

    #[test]
    fn shard_text_out_of_range_is_refused() {
        for text in ["0/4", "5/4", "1", "1/0", "a/b", "-1/4", "1/1000001"] {
            let message = text.parse::<Shard>().unwrap_err();
            assert!(message.contains(text) && message.contains("1/8"), "{message}");
        }
        assert_eq!("4/4".parse::<Shard>().unwrap().to_string(), "4/4");
    }
}
