//! The plan of a job: which addresses are in which part.
//!
//! Addresses are cut in their order into cells of equal length. A hub, an address with very many movements, cuts its
//! cell: it is a part of its own, so that a machine with enough memory can be chosen for it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use headwater_ledger::{Cancel, LedgerError};
use headwater_types::Address;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::addresses::Addresses;
use super::description::JobDescription;
use super::{ScoreError, ScoreFormat, ScoreRow, Scorer};
use crate::Error;

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

/// One part of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPart {
    /// Its place among all parts, from 0.
    pub number: usize,
    /// The first and the last address, where the job scores a whole chain.
    pub range: Option<(Address, Address)>,
    /// Number of addresses.
    pub addresses: u64,
    /// Movements of these addresses that the ledger holds.
    pub movements: u64,
    /// The checksum of the number of the part and its addresses.
    pub checksum: u64,
}

/// The addresses of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartAddresses {
    /// Addresses of the ledger.
    Known(Vec<Address>),
    /// Addresses as a list has them; `None` where one is missing.
    Texts(Vec<Option<String>>),
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

impl PlannedPart {
    fn new(number: usize, addresses: &PartAddresses, movements: u64) -> Self {
        let range = match addresses {
            PartAddresses::Known(known) => known.first().copied().zip(known.last().copied()),
            PartAddresses::Texts(_) => None,
        };
        let checksum = addresses.checksum(number);
        Self { number, range, addresses: addresses.len() as u64, movements, checksum }
    }
}

/// Computes the checksum of all addresses of a job from those of its parts.
fn fingerprint(parts: &[PlannedPart]) -> u64 {
    let mut hash = Xxh3::new();
    parts.iter().for_each(|part| hash.update(&part.checksum.to_le_bytes()));
    hash.digest()
}

impl PartAddresses {
    /// Reads the addresses of a part of a whole chain.
    ///
    /// # Errors
    /// When the ledger cannot be read, or does not have the addresses of the plan.
    pub fn of_range(scorer: &Scorer, part: &PlannedPart) -> Result<Self, ScoreError> {
        let Some((first, last)) = part.range else { return Ok(Self::Known(Vec::new())) };
        let mut addresses = vec![first];
        let others = usize::try_from(part.addresses).unwrap_or(usize::MAX).saturating_sub(1);
        if others > 0 {
            addresses.extend(scorer.addresses(Some(&first), others)?);
        }
        let known = Self::Known(addresses);
        if known.checksum(part.number) == part.checksum {
            return Ok(known);
        }
        let difference = format!("part {} was from {first} to {last}, which are other addresses here", part.number);
        Err(ScoreError::OtherRows { difference })
    }

    fn slice(&self, places: Range<usize>) -> Self {
        match self {
            Self::Known(addresses) => Self::Known(addresses[places].to_vec()),
            Self::Texts(texts) => Self::Texts(texts[places].to_vec()),
        }
    }

    /// Computes the checksum of the addresses as those of a part.
    #[must_use]
    pub fn checksum(&self, number: usize) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&(number as u64).to_le_bytes());
        let mut add = |text: Option<&str>| {
            // So that neither a missing text nor the border between two of them can be mistaken.
            hash.update(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            hash.update(text.unwrap_or_default().as_bytes());
        };
        match self {
            Self::Known(addresses) => addresses.iter().for_each(|address| add(Some(&address.to_string()))),
            Self::Texts(texts) => texts.iter().for_each(|text| add(text.as_deref())),
        }
        hash.digest()
    }

    /// Number of addresses.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Known(addresses) => addresses.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Scores the addresses.
    ///
    /// # Errors
    /// As [`Scorer::score`].
    pub fn score(&self, scorer: &Scorer, cancel: &Cancel) -> Result<Vec<ScoreRow>, Error> {
        match self {
            Self::Known(addresses) => scorer.score(addresses, cancel),
            Self::Texts(texts) => scorer.score_texts(&texts.iter().map(Option::as_deref).collect::<Vec<_>>(), cancel),
        }
    }

    /// Counts the movements of each address; 0 for what is not an address of the chain.
    fn movements(&self, scorer: &Scorer, cancel: &Cancel) -> Result<Vec<u64>, Error> {
        cancel.check().map_err(LedgerError::from)?;
        match self {
            Self::Known(addresses) => addresses.par_iter().map(|address| scorer.movements(address)).collect(),
            Self::Texts(texts) => {
                let of_text = |text: &Option<String>| {
                    let address = text.as_deref().and_then(|text| Address::parse(scorer.chain(), text.trim()).ok());
                    address.map_or(Ok(0), |address| scorer.movements(&address))
                };
                texts.par_iter().map(of_text).collect()
            }
        }
    }
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
