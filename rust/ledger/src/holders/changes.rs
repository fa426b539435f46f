//! What segments outside of the table change, found once per generation.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use headwater_types::{Address, Amount, Asset, Balance};

use super::MOST_UNCOVERED;
use super::build::{Accounts, assets_of, balances, begins_of};
use super::file::{AssetRows, HolderFile};
use super::records::{Balances, HolderBatch, Holders, VisitHolders};
use crate::read::{AccountRef, Result};
use crate::segment::{Segment, openings_of};
use crate::snapshot::{pack, unpack};

/// A table and the places of the segments that it covers.
pub(crate) struct HolderTable {
    pub(crate) file: Arc<HolderFile>,
    pub(crate) covered: Vec<u32>,
}

/// The holders of one chain in one generation.
#[derive(Default)]
pub(crate) struct ChainHolders {
    table: Option<HolderTable>,
    changes: OnceLock<BTreeMap<Asset, AssetChanges>>,
}

/// What changes of one asset.
#[derive(Default)]
pub(super) struct AssetChanges {
    /// Holders of the table that hold another amount now, or none.
    gone: HashSet<AccountRef>,
    gone_total: Option<Amount>,
    /// Holders that are new or hold another amount, in order.
    rows: Vec<Changed>,
    negative_gone: u64,
    negative_new: u64,
}

struct Changed {
    balance: Amount,
    address: Address,
    account: AccountRef,
}

/// A balance as it stands: nobody's debt is ever clipped to nothing.
#[derive(PartialEq, Eq)]
enum Standing {
    Nothing,
    Holds(Amount),
    Negative,
}

impl Standing {
    fn of(balance: &Balance) -> Self {
        match balance.received().checked_sub(balance.sent()) {
            None => Self::Negative,
            Some(held) if held.is_zero() => Self::Nothing,
            Some(held) => Self::Holds(held),
        }
    }
}

impl ChainHolders {
    pub(crate) fn new(table: Option<HolderTable>) -> Self {
        Self { table, changes: OnceLock::new() }
    }

    /// The holders of an asset; `places` are those of all segments of the chain. `None` when too much is outside of the
    /// table.
    pub(crate) fn holders<'a>(
        &'a self,
        segments: &'a [Arc<Segment>],
        places: &[u32],
        asset: &Asset,
    ) -> Result<Option<Holders<'a>>> {
        let table = match &self.table {
            Some(table) if self.is_overtaken(segments, places)? => None,
            table => table.as_ref(),
        };
        let covered = table.map_or(&[][..], |table| &table.covered);
        let newer: Vec<u32> = places.iter().copied().filter(|place| !covered.contains(place)).collect();
        let changes = if newer.is_empty() {
            None
        } else {
            let outside: u64 = newer.iter().map(|place| segments[*place as usize].balance_changes()).sum();
            if outside > MOST_UNCOVERED {
                return Ok(None);
            }
            self.changes(segments, covered, &newer)?.get(asset)
        };
        let rows = match table {
            Some(table) => table.file.rows(asset, &table.covered)?,
            None => None,
        };
        let mut holders = Holders {
            segments,
            count: rows.as_ref().map_or(0, AssetRows::count),
            negative: rows.as_ref().map_or(0, AssetRows::negative),
            total: rows.as_ref().map_or(Some(Amount::ZERO), AssetRows::total),
            rows,
            changes,
        };
        if let Some(changes) = changes {
            holders.count = holders.count - changes.gone.len() as u64 + changes.rows.len() as u64;
            holders.negative = holders.negative - changes.negative_gone + changes.negative_new;
            let kept = holders.total.zip(changes.gone_total).and_then(|(total, gone)| total.checked_sub(gone));
            let total =
                changes.rows.iter().try_fold(kept, |total, row| total.map(|total| total.checked_add(row.balance)));
            // Where a sum on the way passed 256 bits, only all of them together can tell.
            holders.total = match total.flatten() {
                Some(total) => Some(total),
                None => holders.summed()?,
            };
        }
        Ok(Some(holders))
    }

    /// Whether segments outside of the table begin a history anew that it adds up from its beginning.
    fn is_overtaken(&self, segments: &[Arc<Segment>], places: &[u32]) -> Result<bool> {
        let Some(table) = &self.table else { return Ok(false) };
        let (covered, newer): (Vec<u32>, Vec<u32>) = places.iter().partition(|place| table.covered.contains(place));
        let of = |places: Vec<u32>| places.into_iter().map(|place| &*segments[place as usize]).collect::<Vec<_>>();
        is_overtaken(&of(covered), &of(newer))
    }

    fn changes(
        &self,
        segments: &[Arc<Segment>],
        covered: &[u32],
        newer: &[u32],
    ) -> Result<&BTreeMap<Asset, AssetChanges>> {
        if let Some(found) = self.changes.get() {
            return Ok(found);
        }
        let found = find(segments, covered, newer)?;
        Ok(self.changes.get_or_init(|| found))
    }
}

/// Whether an opening in newer segments takes anything out of the balances that others come to by themselves.
pub(crate) fn is_overtaken(covered: &[&Segment], newer: &[&Segment]) -> Result<bool> {
    let (before, after) = (openings_of(covered.iter().copied()), openings_of(newer.iter().copied()));
    for (asset, opening) in &after {
        if before.get(asset).is_some_and(|held| held.block >= opening.block) {
            continue;
        }
        for segment in covered {
            let may_hold = segment.block_range().is_some_and(|(first, _)| first <= opening.block);
            if may_hold && segment.asset_id(asset)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn find(segments: &[Arc<Segment>], covered: &[u32], newer: &[u32]) -> Result<BTreeMap<Asset, AssetChanges>> {
    let at = |place: &u32| &*segments[*place as usize];
    let all: Vec<&Segment> = covered.iter().chain(newer).map(at).collect();
    let (assets, numbers) = assets_of(&all)?;
    let begins = begins_of(&all)?;
    let newer_segments = &all[covered.len()..];
    let first_newer = u32::try_from(covered.len()).unwrap_or(u32::MAX);
    let handle = |place: u32, id: u32| {
        let place = if place < first_newer { covered[place as usize] } else { newer[(place - first_newer) as usize] };
        AccountRef(pack(place, id))
    };
    let mut found: BTreeMap<Asset, AssetChanges> = BTreeMap::new();
    let mut accounts = Accounts::new(newer_segments)?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    while let Some(places) = accounts.next()? {
        let address = newer_segments[places[0].0 as usize].address(places[0].1)?;
        before.clear();
        for (place, segment) in (0..first_newer).zip(&all) {
            before.extend(segment.account(&address)?.map(|id| (place, id)));
        }
        after.clear();
        after.extend_from_slice(&before);
        after.extend(places.iter().map(|(place, id)| (place + first_newer, *id)));
        let account = handle(after[0].0, after[0].1);
        let held_before = balances(&all, (&numbers, &begins), &before)?;
        for (asset, balance) in balances(&all, (&numbers, &begins), &after)? {
            let known = held_before.iter().find(|(known, _)| *known == asset);
            let (old, new) = (known.map_or(Standing::Nothing, |(_, old)| Standing::of(old)), Standing::of(&balance));
            if old == new {
                continue;
            }
            let changes = found
                .entry(assets[asset])
                .or_insert_with(|| AssetChanges { gone_total: Some(Amount::ZERO), ..AssetChanges::default() });
            match old {
                Standing::Nothing => {}
                Standing::Negative => changes.negative_gone += 1,
                Standing::Holds(held) => {
                    changes.gone.insert(account);
                    changes.gone_total = changes.gone_total.and_then(|total| total.checked_add(held));
                }
            }
            match new {
                Standing::Nothing => {}
                Standing::Negative => changes.negative_new += 1,
                Standing::Holds(balance) => changes.rows.push(Changed { balance, address, account }),
            }
        }
    }
    for changes in found.values_mut() {
        changes.rows.sort_by_key(|row| (Reverse(row.balance), row.address));
    }
    Ok(found)
}

impl Holders<'_> {
    fn summed(&self) -> Result<Option<Amount>> {
        let mut total = Some(Amount::ZERO);
        self.visit(&mut |batch| {
            for (_, balance) in batch.rows() {
                total = total.and_then(|total| total.checked_add(balance));
            }
            if total.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(total)
    }
}

impl AssetChanges {
    /// Shows the rows of a table with the changes among them, in order.
    pub(super) fn visit(
        &self,
        rows: Option<&AssetRows<'_>>,
        segments: &[Arc<Segment>],
        visit: VisitHolders<'_>,
    ) -> Result<()> {
        let mut out = Out { accounts: Vec::new(), small: Vec::new(), large: Vec::new(), is_over: false, visit };
        let mut changed = self.rows.iter().peekable();
        let mut fault = None;
        let address = |account: AccountRef| {
            let (place, id) = unpack(account.0);
            segments[place as usize].address(id)
        };
        if let Some(rows) = rows {
            let _ = rows.visit(&mut |batch| {
                for (account, balance) in batch.rows().filter(|(account, _)| !self.gone.contains(account)) {
                    let goes_before = |row: &&Changed| {
                        Ok(match row.balance.cmp(&balance) {
                            std::cmp::Ordering::Equal => row.address < address(account)?,
                            ordering => ordering.is_gt(),
                        })
                    };
                    while let Some(row) = changed.peek() {
                        match goes_before(row) {
                            Ok(true) => out.push(row.account, row.balance),
                            Ok(false) => break,
                            Err(error) => {
                                fault = Some(error);
                                return ControlFlow::Break(());
                            }
                        }
                        changed.next();
                    }
                    out.push(account, balance);
                }
                out.flush()
            })?;
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        for row in changed {
            if out.is_over {
                break;
            }
            out.push(row.account, row.balance);
        }
        let _ = out.flush();
        Ok(())
    }
}

/// Rows on their way out: all large, or all small.
struct Out<'v> {
    accounts: Vec<AccountRef>,
    small: Vec<u128>,
    large: Vec<Amount>,
    is_over: bool,
    visit: VisitHolders<'v>,
}

impl Out<'_> {
    fn push(&mut self, account: AccountRef, balance: Amount) {
        match balance.to_u128() {
            None => self.large.push(balance),
            Some(small) => {
                if !self.large.is_empty() {
                    let _ = self.flush();
                }
                self.small.push(small);
            }
        }
        self.accounts.push(account);
    }

    fn flush(&mut self) -> ControlFlow<()> {
        if !self.accounts.is_empty() && !self.is_over {
            let balances =
                if self.large.is_empty() { Balances::Small(&self.small) } else { Balances::Large(&self.large) };
            self.is_over = (self.visit)(HolderBatch { accounts: &self.accounts, balances }).is_break();
        }
        self.accounts.clear();
        self.small.clear();
        self.large.clear();
        if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
