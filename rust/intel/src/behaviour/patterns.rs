//! Patterns that several rules share: swaps in a transaction, money passed on over hops, look-alike addresses.

use std::collections::VecDeque;

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Asset, Usd};
use rustc_hash::{FxHashMap, FxHashSet};

use super::MAX_LISTED;
use super::episodes::{Evidence, Fact};
use super::history::{AssetKind, History, Transfer, Way};
use super::others::Reading;

/// A transaction by which an address gave one asset and got another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Swap {
    pub time: i64,
    pub transaction: TransactionRef,
    /// The asset given.
    pub gave: u32,
    /// The asset got.
    pub got: u32,
    /// How much of it, in the smallest unit.
    pub raw: u128,
    /// Place among all movements of the first one behind it.
    pub after: usize,
}

/// The movements of one transaction after the other, in order of time.
pub(super) fn transactions(all: &[Transfer]) -> impl Iterator<Item = &[Transfer]> {
    all.chunk_by(|one, other| one.transaction == other.transaction)
}

/// The transactions in which exactly one asset left and exactly one other came.
pub(super) fn swaps(history: &History) -> Vec<Swap> {
    let (mut after, mut swaps) = (0, Vec::new());
    for movements in transactions(&history.all) {
        after += movements.len();
        if movements.len() >= 2 {
            swaps.extend(swap(history, movements, after));
        }
    }
    swaps
}

/// The transactions in which something left and something else came.
pub(super) fn trades(history: &History) -> FxHashSet<TransactionRef> {
    let is_trade = |movements: &&[Transfer]| {
        let sums = by_asset(history, movements);
        sums.iter().any(|(_, came, left)| left > came) && sums.iter().any(|(_, came, left)| came > left)
    };
    let several = transactions(&history.all).filter(|movements| movements.len() >= 2);
    several.filter(is_trade).map(|movements| movements[0].transaction).collect()
}

fn swap(history: &History, movements: &[Transfer], after: usize) -> Option<Swap> {
    let (mut gave, mut got) = (None, None);
    for (asset, came, left) in by_asset(history, movements) {
        let side = match came.cmp(&left) {
            std::cmp::Ordering::Less => &mut gave,
            std::cmp::Ordering::Greater => &mut got,
            std::cmp::Ordering::Equal => continue,
        };
        if side.replace((asset, came.abs_diff(left))).is_some() {
            return None;
        }
    }
    let ((gave, _), (got, raw)) = (gave?, got?);
    Some(Swap { time: movements[0].time, transaction: movements[0].transaction, gave, got, raw, after })
}

/// Returns the inflow and the outflow of each asset that moved. Counterfeit tokens are left out: their contracts write what they like
/// into the history of anybody.
pub(super) fn by_asset(history: &History, movements: &[Transfer]) -> Vec<(u32, u128, u128)> {
    let mut sums: Vec<(u32, u128, u128)> = Vec::new();
    let is_genuine = |transfer: &&Transfer| history.assets[transfer.asset as usize].kind != AssetKind::Counterfeit;
    for transfer in movements.iter().filter(is_genuine) {
        let place = sums.iter().position(|sum| sum.0 == transfer.asset).unwrap_or_else(|| {
            sums.push((transfer.asset, 0, 0));
            sums.len() - 1
        });
        let (_, came, left) = &mut sums[place];
        let sum = match transfer.way {
            Way::In => came,
            Way::Out => left,
        };
        *sum = sum.saturating_add(transfer.raw);
    }
    sums
}

/// An amount that an address passes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop {
    /// The address that passes it on.
    pub at: Address,
    /// To whom.
    pub to: Address,
    pub asset: Asset,
    /// When the asset came first.
    pub came: i64,
    /// When it was passed on.
    pub left: i64,
    pub transaction: TransactionRef,
    /// The part of all that came of the asset.
    pub ratio: f64,
    /// The other outflow of the asset.
    pub rest: Usd,
}

/// The inflow and the outflow of one asset.
#[derive(Default)]
struct Sums {
    first: Option<i64>,
    came: u128,
    left: Usd,
}

/// The movements out of a young address that each take a part of all that came of their asset, in order of time. `secs`
/// is how long after its first movement an address may pass on. O(movements).
pub(super) fn hops(at: &Address, history: &History, secs: i64) -> Vec<Hop> {
    let Some(first) = history.all.first().filter(|_| !history.is_truncated) else { return Vec::new() };
    let until = first.time.saturating_add(secs);
    if history.ins.is_empty() || history.outs.first().is_none_or(|out| out.time > until) {
        return Vec::new();
    }
    let mut sums: FxHashMap<u32, Sums> = FxHashMap::default();
    for transfer in &history.valued {
        let sums = sums.entry(transfer.asset).or_default();
        match transfer.way {
            Way::In => {
                sums.first.get_or_insert(transfer.time);
                sums.came = sums.came.saturating_add(transfer.raw);
            }
            Way::Out => sums.left += transfer.usd,
        }
    }
    let soon = history.outs.iter().take_while(|out| out.time <= until);
    soon.filter_map(|out| {
        let sums = &sums[&out.asset];
        Some(Hop {
            at: *at,
            to: history.other(out)?.address,
            asset: history.asset(out),
            came: sums.first.filter(|came| *came <= out.time)?,
            left: out.time,
            transaction: out.transaction,
            ratio: share(out.raw, sums.came),
            rest: sums.left - out.usd,
        })
    })
    .collect()
}

/// A part of an amount.
#[expect(clippy::cast_precision_loss, reason = "a share")]
pub(super) fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The conditions of a path.
pub(super) trait Path {
    /// Addresses after which a path is not followed further.
    fn most(&self) -> usize;

    /// The hops that an address may be, by its own history.
    fn hops(&self, at: &Address, history: &History) -> Vec<Hop>;

    /// Returns true if a hop belongs to the path, by its recipient.
    fn holds(&self, hop: &Hop, others: &Reading<'_>) -> Result<bool, LedgerError>;

    /// Returns true if the recipient may be a hop itself, before its history is read.
    fn may_go_on(&self, hop: &Hop, others: &Reading<'_>) -> Result<bool, LedgerError>;

    /// Those from whom a hop may have come, in the order in which they are tried.
    fn may_come_from(&self, hop: &Hop, history: &History, others: &Reading<'_>) -> Result<Vec<Address>, LedgerError>;
}

/// The longest path through an address by one of its own hops, with the place of that hop; empty where it is none. Time
/// and asset are respected.
pub(super) fn path(
    rule: &impl Path,
    history: &History,
    others: &Reading<'_>,
) -> Result<(Vec<Hop>, usize), LedgerError> {
    let (mut longest, mut place) = (Vec::new(), 0);
    for own in rule.hops(&others.subject(), history) {
        if !rule.holds(&own, others)? {
            continue;
        }
        let mut path = VecDeque::from([own]);
        while path.len() < rule.most()
            && let Some(next) = after(rule, &path, others)?
        {
            path.push_back(next);
        }
        let mut before_own = 0;
        let mut at = own;
        let mut history_at = None;
        while path.len() < rule.most() {
            let history_at_first = history_at.as_deref().unwrap_or(history);
            let Some((earlier, of_earlier)) = before(rule, (&at, history_at_first), &path, others)? else { break };
            path.push_front(earlier);
            (before_own, at, history_at) = (before_own + 1, earlier, Some(of_earlier));
        }
        if path.len() > longest.len() {
            (longest, place) = (path.into(), before_own);
        }
    }
    Ok((longest, place))
}

/// The hop behind the last one of a path.
fn after(rule: &impl Path, path: &VecDeque<Hop>, others: &Reading<'_>) -> Result<Option<Hop>, LedgerError> {
    let Some(last) = path.back() else { return Ok(None) };
    if path.iter().any(|hop| hop.at == last.to) || !rule.may_go_on(last, others)? {
        return Ok(None);
    }
    let Some(history) = others.history(&last.to)? else { return Ok(None) };
    for hop in rule.hops(&last.to, &history) {
        if hop.asset == last.asset && hop.left >= last.left && rule.holds(&hop, others)? {
            return Ok(Some(hop));
        }
    }
    Ok(None)
}

/// The hop before the first one of a path, with the history of the address.
fn before(
    rule: &impl Path,
    (first, history): (&Hop, &History),
    path: &VecDeque<Hop>,
    others: &Reading<'_>,
) -> Result<Option<(Hop, std::rc::Rc<History>)>, LedgerError> {
    for sender in rule.may_come_from(first, history, others)? {
        if path.iter().any(|hop| hop.at == sender || hop.to == sender) {
            continue;
        }
        let Some(of_sender) = others.history(&sender)? else { continue };
        for hop in rule.hops(&sender, &of_sender) {
            let is_before = hop.to == first.at && hop.asset == first.asset && hop.left <= first.left;
            if is_before && rule.holds(&hop, others)? {
                return Ok(Some((hop, of_sender)));
            }
        }
    }
    Ok(None)
}

/// At most ten hops of a path, the one at a place among them.
pub(super) fn shown(path: &[Hop], place: usize) -> &[Hop] {
    let start = (place + 1).saturating_sub(MAX_LISTED);
    &path[start..path.len().min(start + MAX_LISTED)]
}

/// Evidence in the transactions of hops, with their addresses in order.
pub(super) fn evidence(shown: &[Hop], name: &'static str) -> Evidence {
    Evidence::by(shown.iter().map(|hop| hop.transaction))
        .with(name, Fact::Path(shown.iter().map(|hop| hop.at).collect()))
}

/// The first and the last characters of an address, `0x` apart; `None` where it has fewer.
pub(super) fn ends(address: &Address, leading: usize, trailing: usize) -> Option<(String, String)> {
    let text = address.to_string();
    let body = text.strip_prefix("0x").unwrap_or(&text);
    let behind = body.len().checked_sub(trailing)?;
    Some((body.get(..leading)?.to_owned(), body.get(behind..)?.to_owned()))
}
