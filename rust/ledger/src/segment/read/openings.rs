//! Opening balances: whose history begins with one, and what holdings come to behind it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use headwater_types::Asset;

use super::super::container::Container;
use super::super::fee::saturating_add;
use super::super::layout;
use super::super::marks::Marks;
use super::super::opening::{HistoryStart, OpeningEntry};
use super::super::pack::{AmountTable, Ints};
use super::super::posting::RawPosting;
use super::Segment;
use super::hubs::Sums;
use super::postings::index;
use crate::error::Result;
use crate::primitives::{Direction, Opening};

/// Postings read at once.
const CHUNK: u64 = 4096;

/// Openings by account.
pub(super) struct Openings {
    length: usize,
    accounts: Ints,
    rows: Ints,
    assets: Ints,
    amounts: AmountTable,
}

impl Openings {
    pub(super) fn open(file: &Arc<Container>, marks: Marks) -> Result<Option<Self>> {
        if marks.openings == 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            length: index(marks.openings),
            accounts: Ints::open(file, layout::OPENING_ACCOUNTS)?,
            rows: Ints::open(file, layout::OPENING_ROWS)?,
            assets: Ints::open(file, layout::OPENING_ASSETS)?,
            amounts: AmountTable::open(file, layout::OPENING_AMOUNTS)?,
        }))
    }

    fn get(&self, place: usize) -> Result<OpeningEntry> {
        Ok(OpeningEntry {
            account: self.accounts.id(place)?,
            row: self.rows.id(place)?,
            asset: self.assets.id(place)?,
            amount: self.amounts.get(place)?,
        })
    }
}

impl Segment {
    /// Tokens whose history begins here with stated balances, each with its latest opening.
    pub(crate) fn openings(&self) -> &[(Asset, Opening)] {
        &self.opened
    }

    pub(super) fn read_opened(&self) -> Result<Vec<(Asset, Opening)>> {
        if self.openings.is_none() {
            return Ok(Vec::new());
        }
        let opened = self.file.column(layout::OPENED)?;
        let opening = |opened: &layout::OpeningRow| {
            let head = self.head(opened.row)?;
            Ok((self.asset(opened.asset)?, Opening { block: head.block, time: head.time }))
        };
        opened.all()?.iter().map(opening).collect()
    }

    /// Returns how much of what is marked is here.
    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }

    /// The opening balance at a place of those of all accounts, by account, then by row.
    pub(crate) fn opening_at(&self, place: u64) -> Result<Option<OpeningEntry>> {
        let openings = self.openings.as_ref().filter(|openings| index(place) < openings.length);
        openings.map(|openings| openings.get(index(place))).transpose()
    }

    /// Returns where the history of tokens begins here, in order of their numbers.
    pub(crate) fn begins(&self, openings: &BTreeMap<Asset, Opening>) -> Result<Vec<HistoryStart>> {
        let mut begins = Vec::new();
        for (asset, opening) in openings {
            if let Some(asset) = self.asset_id(asset)? {
                let rows = self.rows_of_blocks(opening.block, opening.block)?;
                begins.push(HistoryStart { asset, opened: rows.start, from: rows.end });
            }
        }
        begins.sort_unstable_by_key(|begin| begin.asset);
        Ok(begins)
    }

    /// Takes what moved before tokens begin out of the sums of an account, and adds what openings state.
    pub(super) fn begin_holdings(&self, account: u32, begins: &[HistoryStart], sums: &mut Vec<Sums>) -> Result<()> {
        for begin in begins.iter().filter(|begin| begin.from > 0) {
            if let Ok(place) = sums.binary_search_by_key(&begin.asset, |sums| sums.asset) {
                match self.sums_from(account, begin)? {
                    Some(later) => sums[place] = later,
                    None => drop(sums.remove(place)),
                }
            }
        }
        let Some(openings) = self.openings.as_ref().filter(|_| !begins.is_empty()) else { return Ok(()) };
        let mut place = openings.accounts.lower_bound(0..openings.length, u64::from(account))?;
        while place < openings.length {
            let entry = openings.get(place)?;
            place += 1;
            if entry.account != account {
                break;
            }
            let begin = begins.binary_search_by_key(&entry.asset, |begin| begin.asset).map(|at| begins[at]);
            if begin.is_ok_and(|begin| begin.opened <= entry.row) {
                let found = sums.binary_search_by_key(&entry.asset, |sums| sums.asset);
                let place = found.unwrap_or_else(|place| {
                    sums.insert(place, Sums { asset: entry.asset, ..Sums::default() });
                    place
                });
                sums[place].opening = saturating_add(sums[place].opening, entry.amount);
            }
        }
        Ok(())
    }

    /// Returns what an account received and sent of a token behind its opening; `None` when nothing moved.
    fn sums_from(&self, account: u32, begin: &HistoryStart) -> Result<Option<Sums>> {
        let range = self.postings().range(account)?;
        let range = self.postings().seek_row(range.clone(), begin.from)?..range.end;
        let mut sums = Sums { asset: begin.asset, ..Sums::default() };
        let mut is_held = false;
        let mut postings: Vec<RawPosting> = Vec::new();
        for span in self.spans_of(account, begin.asset, range)? {
            postings.clear();
            self.postings().read(span, &mut postings)?;
            for posting in postings.iter().filter(|posting| posting.asset == begin.asset && posting.counts()) {
                is_held = true;
                match posting.direction() {
                    Direction::In => sums.received = saturating_add(sums.received, posting.amount),
                    Direction::Out => sums.sent = saturating_add(sums.sent, posting.amount),
                    Direction::Own => {}
                }
            }
        }
        Ok(is_held.then_some(sums))
    }

    /// Spans of postings that hold all of an asset in a range, and others.
    fn spans_of(&self, account: u32, asset: u32, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        let Some(places) = self.asset_places(account, asset)? else {
            let starts = range.clone().step_by(index(CHUNK));
            return Ok(starts.map(|start| start..range.end.min(start.saturating_add(CHUNK))).collect());
        };
        let mut numbers = Vec::new();
        places.read(places.lower_bound(range.start)?..usize::MAX, &mut numbers)?;
        let runs = numbers.chunk_by(|a, b| a / CHUNK == b / CHUNK);
        Ok(runs.map(|run| run[0]..run[run.len() - 1].saturating_add(1)).collect())
    }
}

/// Returns where the histories of tokens begin, as some segments together state it: of each token the latest opening.
pub(crate) fn openings_of<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> BTreeMap<Asset, Opening> {
    let mut all: BTreeMap<Asset, Opening> = BTreeMap::new();
    for (asset, opening) in segments.into_iter().flat_map(Segment::openings) {
        let latest = all.entry(*asset).or_insert(*opening);
        if latest.block < opening.block {
            *latest = *opening;
        }
    }
    all
}
