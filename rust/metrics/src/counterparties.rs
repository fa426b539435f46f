//! Whom an account deals with most, straight from its postings.
//!
//! Numbers of the ledger's parts are grouped as they are ([`crate::grouping`]); addresses are looked up once per group,
//! and only where an account is spread over several parts. Time about 40 ns per posting on one core, memory 64 bytes
//! per posting up to a million of them and about 100 bytes per group.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use headwater_ledger::read::{
    Account, AccountRef, AssetRef, ColumnSet, Direction, LARGE, NOBODY, PostingColumns, Scan,
};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Asset, SumOverflow};
use rayon::prelude::*;

use crate::grouping::{Count, Flow, Grouper, Row, Side, Tally};

/// Accounts of more postings are divided between threads.
const PARALLEL_POSTINGS: u64 = 1 << 16;

/// Whether movements of failed transactions count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Failed {
    /// They do not: nothing moved.
    #[default]
    LeftOut,
    /// They do.
    Counted,
}

/// Which groups are wanted.
#[derive(Debug, Clone)]
pub struct Params {
    scan: Scan,
    failed: Failed,
    top: usize,
}

impl Params {
    /// The `top` largest groups of a scan, without failed transactions.
    #[must_use]
    pub fn new(scan: Scan, top: usize) -> Self {
        Self { scan, failed: Failed::LeftOut, top }
    }

    /// With other rules for failed transactions.
    #[must_use]
    pub fn with_failed(self, failed: Failed) -> Self {
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
    /// What moved; seconds are epoch seconds.
    pub tally: T,
}

/// The largest groups by number of movements, then by address, then by asset (the native coin first).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report<T> {
    /// The largest, in order.
    pub top: Vec<Group<T>>,
    /// How many groups there are.
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

/// What is done with a tally when it leaves its part.
trait Settle: Tally {
    /// Whether rows are added one by one instead of being scattered first.
    const AT_ONCE: bool;

    fn settle(&mut self, base_secs: i64);
}

impl Settle for Count {
    const AT_ONCE: bool = true;

    fn settle(&mut self, _: i64) {}
}

impl Settle for Flow {
    const AT_ONCE: bool = false;

    fn settle(&mut self, base_secs: i64) {
        self.first_secs = self.first_secs.saturating_add(base_secs);
        self.last_secs = self.last_secs.saturating_add(base_secs);
    }
}

/// Groups by part of the ledger and number in it.
type ByPart<T> = Vec<(u32, Vec<(u64, T)>)>;

/// Groups of one part of the ledger, by the numbers of that part.
struct OfPart<T> {
    base_secs: i64,
    grouper: Grouper<T>,
}

fn ranked<T: Settle>(
    ledger: &dyn Ledger,
    account: &Account,
    params: &Params,
    cancel: &Cancel,
    wanted: ColumnSet,
) -> Result<Report<T>, LedgerError> {
    let threads = if account.postings > PARALLEL_POSTINGS { rayon::current_num_threads() } else { 1 };
    let scans = ledger.split(account, &params.scan, threads)?;
    let gather = |scan: &Scan| gathered::<T>(ledger, account, scan, params.failed, (wanted, cancel));
    let pieces: Vec<_> = match &scans[..] {
        [only] => vec![gather(only)?],
        several => several.par_iter().map(gather).collect::<Result<_, LedgerError>>()?,
    };
    let mut pieces: ByPart<T> = pieces.into_iter().flatten().collect();
    if let [_] = pieces[..]
        && let Some((part, groups)) = pieces.pop()
    {
        return Ok(reported(part, groups, params.top, wanted));
    }
    let mut parts: BTreeMap<u32, Vec<(u64, T)>> = BTreeMap::new();
    for (part, groups) in pieces {
        parts.entry(part).or_default().extend(groups);
    }
    let mut groups = Vec::new();
    let several = parts.len() > 1;
    for (part, mut of_part) in parts {
        // Threads met the same counterparties.
        of_part.sort_unstable_by_key(|(key, _)| *key);
        join_equal(&mut of_part, |(key, _)| *key, |(_, tally)| tally)?;
        groups.extend(of_part.into_iter().map(|(key, tally)| (part, key, tally)));
    }
    let mut groups = if several { united(ledger, groups, wanted)? } else { groups };
    let (count, movements) = (groups.len(), groups.iter().map(|(.., tally)| tally.count()).sum());
    // Within one part numbers are in order of address and of asset; several parts were put into that order.
    let mut order: Vec<(Reverse<u64>, usize)> =
        groups.iter().enumerate().map(|(place, (.., tally))| (Reverse(tally.count()), place)).collect();
    if params.top < order.len() {
        order.select_nth_unstable(params.top);
        order.truncate(params.top);
    }
    order.sort_unstable();
    let top = order.into_iter().map(|(_, place)| named(&mut groups[place], wanted)).collect();
    Ok(Report { top, groups: count, movements })
}

/// The largest of groups that one thread found in one part. Its numbers are in order of address and of asset, and each
/// of its keys is there once, so nothing is put in order but the largest.
fn reported<T: Tally>(part: u32, mut groups: Vec<(u64, T)>, top: usize, wanted: ColumnSet) -> Report<T> {
    let (count, movements) = (groups.len(), groups.iter().map(|(_, tally)| tally.count()).sum());
    let order = |(key, tally): &(u64, T)| (Reverse(tally.count()), *key);
    if top < groups.len() {
        groups.select_nth_unstable_by_key(top, order);
        groups.truncate(top);
    }
    groups.sort_unstable_by_key(order);
    let top = groups.into_iter().map(|(key, tally)| named(&mut (part, key, tally), wanted)).collect();
    Report { top, groups: count, movements }
}

fn named<T: Copy>((part, key, tally): &mut (u32, u64, T), wanted: ColumnSet) -> Group<T> {
    let (account, asset) = AccountRef::of_key(*part, *key);
    Group { account, asset: wanted.holds(ColumnSet::ASSETS).then_some(asset), tally: *tally }
}

fn gathered<T: Settle>(
    ledger: &dyn Ledger,
    account: &Account,
    scan: &Scan,
    failed: Failed,
    wanted: (ColumnSet, &Cancel),
) -> Result<ByPart<T>, LedgerError> {
    let mut parts: BTreeMap<u32, OfPart<T>> = BTreeMap::new();
    ledger.posting_columns(account, scan, wanted, &mut |columns| {
        let base_secs = columns.base_time().secs();
        let of_part = parts.entry(columns.part()).or_insert_with(|| OfPart { base_secs, grouper: Grouper::default() });
        push(&mut of_part.grouper, &columns, failed)?;
        Ok(ControlFlow::Continue(()))
    })?;
    parts
        .into_iter()
        .map(|(part, OfPart { base_secs, grouper })| {
            let mut groups = grouper.finish()?;
            for (_, tally) in &mut groups {
                tally.settle(base_secs);
            }
            Ok((part, groups))
        })
        .collect()
}

fn push<T: Settle>(grouper: &mut Grouper<T>, columns: &PostingColumns<'_>, failed: Failed) -> Result<(), SumOverflow> {
    let (others, assets) = (columns.counterparties(), columns.assets());
    let (amounts, seconds) = (columns.amounts(), columns.seconds());
    for (at, (flags, other)) in columns.flags().iter().zip(others).enumerate() {
        let side = match flags.direction() {
            Direction::In => Side::Received,
            Direction::Out => Side::Sent,
            Direction::Own => continue,
        };
        if *other == NOBODY || (failed == Failed::LeftOut && flags.is_failed()) {
            continue;
        }
        let of = |column: &[u32]| column.get(at).copied().unwrap_or_default();
        let key = u64::from(*other) << 32 | u64::from(of(assets));
        let amount = amounts.get(at).copied().unwrap_or_default();
        let row = Row { key, amount, secs: of(seconds), side };
        if T::AT_ONCE {
            grouper.tally(&row);
        } else if amount == LARGE {
            grouper.push_large(row, columns.amount(at))?;
        } else {
            grouper.push(row)?;
        }
    }
    Ok(())
}

/// The groups of several parts in order of address and asset, each once.
fn united<T: Tally>(
    ledger: &dyn Ledger,
    groups: Vec<(u32, u64, T)>,
    wanted: ColumnSet,
) -> Result<Vec<(u32, u64, T)>, LedgerError> {
    type Named<T> = ((Address, Option<Asset>), (u32, u64, T));
    let mut assets: BTreeMap<AssetRef, Asset> = BTreeMap::new();
    let mut named: Vec<Named<T>> = Vec::with_capacity(groups.len());
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
