//! The largest counterparties of an account, straight from its postings.
//!
//! Numbers of the ledger's parts are grouped as they are ([`crate::grouping`]); addresses are looked up once per group,
//! and only where an account is spread over several parts. Memory: up to 64 bytes per posting, but never more than some
//! 100 MB, for postings of larger accounts are read several times; 8 where movements are only counted; and about 100
//! bytes per group where there are several parts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use headwater_ledger::read::{
    Account, AccountRef, AssetRef, ColumnSet, Direction, LARGE, NOBODY, PostingColumns, PostingFlags, Scan,
};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Asset, SumOverflow};
use rayon::prelude::*;

use crate::grouping::{Count, Flow, FlowRow, Grouper, Numbers, RUNS, Side, Tally, counted, grouped};

/// Accounts of more postings are divided between threads.
const PARALLEL_POSTINGS: u64 = 1 << 16;
/// Bytes of rows that are held at once, about.
const ROOM: u64 = 1 << 26;

/// The treatment of movements of failed transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailedTransactions {
    /// They do not: nothing moved.
    #[default]
    LeftOut,
    /// They do.
    Counted,
}

/// The parameters of a ranking.
#[derive(Debug, Clone)]
pub struct Params {
    scan: Scan,
    failed: FailedTransactions,
    top: usize,
}

impl Params {
    /// The `top` largest groups of a scan, without failed transactions.
    #[must_use]
    pub fn new(scan: Scan, top: usize) -> Self {
        Self { scan, failed: FailedTransactions::LeftOut, top }
    }

    /// With other rules for failed transactions.
    #[must_use]
    pub fn with_failed(self, failed: FailedTransactions) -> Self {
        Self { failed, ..self }
    }
}

/// One counterparty, or one counterparty and asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group<T> {
    /// The counterparty.
    pub account: AccountRef,
    /// The asset, where groups are split by asset.
    pub asset: Option<AssetRef>,
    /// The movements; seconds are epoch seconds.
    pub tally: T,
}

/// The largest groups by number of movements, then by address, then by asset (the native coin first).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report<T> {
    /// The largest, in order.
    pub top: Vec<Group<T>>,
    /// The number of groups there are.
    pub groups: usize,
    /// Movements in all of them.
    pub movements: u64,
}

/// Counterparties by number of movements. Movements without a counterparty and of the account to itself are in none.
///
/// # Errors
/// When the ledger cannot be read, or the work is cancelled.
pub fn by_count(
    ledger: &dyn Ledger,
    account: &Account,
    params: &Params,
    cancel: &Cancel,
) -> Result<Report<Count>, LedgerError> {
    ranked::<Count>(ledger, account, params, cancel, ColumnSet::COUNTERPARTIES)
}

/// Counterparties and assets with counts, exact sums, first and last time.
///
/// # Errors
/// When the ledger cannot be read, a sum passes 256 bits, or the work is cancelled.
pub fn by_asset(
    ledger: &dyn Ledger,
    account: &Account,
    params: &Params,
    cancel: &Cancel,
) -> Result<Report<Flow>, LedgerError> {
    let wanted = ColumnSet::COUNTERPARTIES.with(ColumnSet::ASSETS).with(ColumnSet::TIMES).with(ColumnSet::AMOUNTS);
    ranked::<Flow>(ledger, account, params, cancel, wanted)
}

/// The counts of a ranking.
trait RankedTally: Tally {
    /// Movements as they come.
    type Rows: Send;

    /// Bytes of a row that is held.
    const ROW: usize;

    /// None yet, to take those of some runs.
    fn rows(runs: &Range<usize>) -> Self::Rows;

    /// Adds the movements of a batch.
    fn push(rows: &mut Self::Rows, columns: &PostingColumns<'_>, failed: FailedTransactions);

    /// Shows the groups of several threads together.
    fn grouped<R: Send>(
        rows: Vec<Self::Rows>,
        begin: impl Fn() -> R + Sync,
        each: impl Fn(&mut R, &[(u64, Self)]) + Sync,
    ) -> Result<Vec<R>, SumOverflow>;

    /// A tally when it leaves its part.
    fn settled(self, base_secs: i64) -> Self;
}

impl RankedTally for Count {
    type Rows = Numbers;

    /// So few that no account is read twice for them.
    const ROW: usize = 0;

    fn rows(_: &Range<usize>) -> Numbers {
        Numbers::default()
    }

    fn push(rows: &mut Numbers, columns: &PostingColumns<'_>, failed: FailedTransactions) {
        let others = columns.counterparties().iter();
        rows.extend(columns.flags().iter().zip(others).map(|(flags, &other)| {
            let (side, kept) = movement(*flags, other, failed);
            (other, side, kept)
        }));
    }

    fn grouped<R: Send>(
        rows: Vec<Numbers>,
        begin: impl Fn() -> R + Sync,
        each: impl Fn(&mut R, &[(u64, Self)]) + Sync,
    ) -> Result<Vec<R>, SumOverflow> {
        Ok(counted(rows, begin, each))
    }

    fn settled(self, _: i64) -> Self {
        self
    }
}

impl RankedTally for Flow {
    type Rows = Grouper<Self>;

    const ROW: usize = size_of::<FlowRow>();

    fn rows(runs: &Range<usize>) -> Grouper<Self> {
        if runs.len() == RUNS { Grouper::default() } else { Grouper::of_runs(runs.clone()) }
    }

    fn push(rows: &mut Grouper<Self>, columns: &PostingColumns<'_>, failed: FailedTransactions) {
        let (flags, others, assets) = (columns.flags(), columns.counterparties(), columns.assets());
        let (amounts, seconds) = (columns.amounts(), columns.seconds());
        let row = |at: usize| {
            let (side, kept) = movement(flags[at], others[at], failed);
            let key = u64::from(others[at]) << 32 | u64::from(assets[at]);
            (FlowRow { key, amount: amounts[at], secs: seconds[at], side }, kept)
        };
        rows.extend((0..columns.len()).map(row).map(|(row, kept)| (row, kept && row.amount != LARGE)));
        for at in (0..columns.len()).filter(|at| amounts[*at] == LARGE) {
            if let (row, true) = row(at) {
                rows.push_large(row, columns.amount(at));
            }
        }
    }

    fn grouped<R: Send>(
        rows: Vec<Grouper<Self>>,
        begin: impl Fn() -> R + Sync,
        each: impl Fn(&mut R, &[(u64, Self)]) + Sync,
    ) -> Result<Vec<R>, SumOverflow> {
        grouped(rows, begin, each)
    }

    fn settled(mut self, base_secs: i64) -> Self {
        self.first_secs = self.first_secs.saturating_add(base_secs);
        self.last_secs = self.last_secs.saturating_add(base_secs);
        self
    }
}

/// Returns which way a movement went, and whether it is with somebody else and counts.
#[inline]
fn movement(flags: PostingFlags, other: u32, failed: FailedTransactions) -> (Side, bool) {
    // By table, for which way it went no processor foresees.
    let (side, is_moved) = WAYS[flags.direction() as usize];
    (side, is_moved && other != NOBODY && (failed == FailedTransactions::Counted || !flags.is_failed()))
}

/// Sides by direction, and whether anything moved to somebody else.
const WAYS: [(Side, bool); 3] = {
    let mut ways = [(Side::Received, false); 3];
    ways[Direction::In as usize] = (Side::Received, true);
    ways[Direction::Out as usize] = (Side::Sent, true);
    ways
};

/// The rows of one part of the ledger, by the numbers of that part, as threads took them.
struct OfPart<T: RankedTally> {
    base_secs: i64,
    rows: Vec<T::Rows>,
}

type ByPart<T> = BTreeMap<u32, OfPart<T>>;

fn ranked<T: RankedTally>(
    ledger: &dyn Ledger,
    account: &Account,
    params: &Params,
    cancel: &Cancel,
    wanted: ColumnSet,
) -> Result<Report<T>, LedgerError> {
    let threads = if account.postings > PARALLEL_POSTINGS { rayon::current_num_threads() } else { 1 };
    let scans = ledger.split(account, &params.scan, threads)?;
    let mut largest = LargestGroups::new(params.top);
    let mut spread = Vec::new();
    for runs in passes(account.postings, T::ROW) {
        let gather = |scan: &Scan| gathered::<T>(ledger, account, scan, params.failed, &runs, (wanted, cancel));
        let pieces: Vec<ByPart<T>> = match &scans[..] {
            [only] => vec![gather(only)?],
            several => several.par_iter().map(gather).collect::<Result<_, LedgerError>>()?,
        };
        let mut parts: ByPart<T> = BTreeMap::new();
        for (part, OfPart { base_secs, rows }) in pieces.into_iter().flatten() {
            parts.entry(part).or_insert(OfPart { base_secs, rows: Vec::new() }).rows.extend(rows);
        }
        let one_part = parts.len() == 1;
        for (part, OfPart { base_secs, rows }) in parts {
            if one_part {
                // Within one part numbers are in order of address and of asset.
                let each = |largest: &mut LargestGroups<T>, groups: &[(u64, T)]| {
                    for (key, tally) in groups {
                        largest.add(*key, (part, *key, tally.settled(base_secs)));
                    }
                };
                let runs = T::grouped(rows, || LargestGroups::new(params.top), each)?;
                largest = runs.into_iter().fold(largest, LargestGroups::join);
            } else {
                let runs = T::grouped(rows, Vec::new, Vec::extend_from_slice)?;
                let settled = |(key, tally): (u64, T)| (part, key, tally.settled(base_secs));
                spread.extend(runs.into_iter().flatten().map(settled));
            }
        }
    }
    (0..).zip(united(ledger, spread, wanted)?).for_each(|(place, group)| largest.add(place, group));
    Ok(largest.report(wanted))
}

/// The runs that are grouped at once, of so many rows of a size.
fn passes(rows: u64, size: usize) -> impl Iterator<Item = Range<usize>> {
    let passes = usize::try_from(rows.saturating_mul(size as u64).div_ceil(ROOM)).unwrap_or(RUNS).clamp(1, RUNS);
    (0..passes).map(move |pass| pass * RUNS / passes..(pass + 1) * RUNS / passes)
}

fn gathered<T: RankedTally>(
    ledger: &dyn Ledger,
    account: &Account,
    scan: &Scan,
    failed: FailedTransactions,
    runs: &Range<usize>,
    wanted: (ColumnSet, &Cancel),
) -> Result<ByPart<T>, LedgerError> {
    let mut parts: ByPart<T> = BTreeMap::new();
    ledger.posting_columns(account, scan, wanted, &mut |columns| {
        let base_secs = columns.base_time().secs();
        let of_part = parts.entry(columns.part()).or_insert_with(|| OfPart { base_secs, rows: vec![T::rows(runs)] });
        T::push(&mut of_part.rows[0], &columns, failed);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(parts)
}

/// The largest groups of those that were seen, and how many and how much all of them are.
struct LargestGroups<T> {
    top: usize,
    /// With what decides between equals. At most twice as many as wanted.
    groups: Vec<(u64, (u32, u64, T))>,
    /// The last of those wanted when there were last too many.
    bar: Option<(Reverse<u64>, u64)>,
    count: usize,
    movements: u64,
}

impl<T: Tally> LargestGroups<T> {
    fn new(top: usize) -> Self {
        Self { top, groups: Vec::new(), bar: None, count: 0, movements: 0 }
    }

    #[inline]
    fn add(&mut self, place: u64, group: (u32, u64, T)) {
        self.count += 1;
        self.movements += group.2.count();
        self.keep(place, group);
    }

    fn join(mut self, other: Self) -> Self {
        self.count += other.count;
        self.movements += other.movements;
        other.groups.into_iter().for_each(|(place, group)| self.keep(place, group));
        self
    }

    #[inline]
    fn keep(&mut self, place: u64, group: (u32, u64, T)) {
        if self.bar.is_none_or(|bar| (Reverse(group.2.count()), place) < bar) {
            self.groups.push((place, group));
            if self.groups.len() > self.top.saturating_mul(2) {
                self.cut();
            }
        }
    }

    #[cold]
    fn cut(&mut self) {
        if let Some(last) = self.top.checked_sub(1).filter(|_| self.groups.len() > self.top) {
            let (_, last, _) = self.groups.select_nth_unstable_by_key(last, Self::order);
            self.bar = Some(Self::order(last));
        }
        self.groups.truncate(self.top);
    }

    fn order((place, (.., tally)): &(u64, (u32, u64, T))) -> (Reverse<u64>, u64) {
        (Reverse(tally.count()), *place)
    }

    fn report(mut self, wanted: ColumnSet) -> Report<T> {
        self.cut();
        self.groups.sort_unstable_by_key(Self::order);
        let named = |(_, (part, key, tally))| {
            let (account, asset) = AccountRef::of_key(part, key);
            Group { account, asset: wanted.holds(ColumnSet::ASSETS).then_some(asset), tally }
        };
        Report { top: self.groups.into_iter().map(named).collect(), groups: self.count, movements: self.movements }
    }
}

/// The groups of several parts in order of address and asset, each once.
fn united<T: Tally>(
    ledger: &dyn Ledger,
    groups: Vec<(u32, u64, T)>,
    wanted: ColumnSet,
) -> Result<Vec<(u32, u64, T)>, LedgerError> {
    type NamedGroup<T> = ((Address, Option<Asset>), (u32, u64, T));
    let mut assets: BTreeMap<AssetRef, Asset> = BTreeMap::new();
    let mut named: Vec<NamedGroup<T>> = Vec::with_capacity(groups.len());
    for (part, key, tally) in groups {
        let (account, asset) = AccountRef::of_key(part, key);
        let asset = if wanted.holds(ColumnSet::ASSETS) {
            Some(match assets.get(&asset) {
                Some(known) => *known,
                None => *assets.entry(asset).or_insert(ledger.asset(asset)?),
            })
        } else {
            None
        };
        named.push(((ledger.address(account)?, asset), (part, key, tally)));
    }
    named.sort_by_key(|(name, _)| *name);
    join_equal(&mut named, |(name, _)| *name, |(_, (.., tally))| tally)?;
    Ok(named.into_iter().map(|(_, group)| group).collect())
}

/// Joins neighbours of one key; the first of them stays.
fn join_equal<E, K: PartialEq, T: Tally>(
    groups: &mut Vec<E>,
    key: impl Fn(&E) -> K,
    tally: impl Fn(&mut E) -> &mut T,
) -> Result<(), SumOverflow> {
    let mut result = Ok(());
    groups.dedup_by(|next, held| {
        let equal = key(next) == key(held);
        if equal {
            let of_next = *tally(next);
            result = std::mem::replace(&mut result, Ok(())).and_then(|()| tally(held).join(&of_next));
        }
        equal
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_as_many_as_rows_need_and_take_every_run_once() {
        for (rows, expected) in [(0, 1), (1 << 21, 1), ((1 << 21) + 1, 2), (3_700_000 * 3, 6), (u64::MAX, RUNS)] {
            let passes: Vec<_> = passes(rows, 32).collect();
            assert_eq!(passes.len(), expected, "{rows}");
            assert!(passes.into_iter().flatten().eq(0..RUNS));
        }
    }
}
