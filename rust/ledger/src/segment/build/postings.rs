//! Postings filed by account, and what they sum to.

use std::ops::Range;

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use super::assets::Assets;
use super::columns::{AmountBuilder, OffsetBuilder};
use super::dictionary::Dictionary;
use super::movements::Entry;
use crate::read::{PostingFlags, Result};
use crate::segment::container::ContainerWriter;
use crate::segment::fee::saturating_add;
use crate::segment::layout::{self, Head, posting};

/// Places of the entries by account, of which they are a range; entries of one account stay in their order.
pub(super) struct ByAccount {
    starts: Vec<u64>,
    places: Vec<usize>,
}

impl ByAccount {
    pub(super) fn sort(entries: &[Entry], accounts: &Range<u32>) -> Self {
        let mut starts = vec![0_u64; accounts.len() + 1];
        let of = |entry: &Entry| (entry.account - accounts.start) as usize;
        for entry in entries {
            starts[of(entry) + 1] += 1;
        }
        for account in 0..accounts.len() {
            starts[account + 1] += starts[account];
        }
        let mut next = starts.clone();
        let mut places = vec![0; entries.len()];
        for (place, entry) in entries.iter().enumerate() {
            let slot = &mut next[of(entry)];
            places[usize::try_from(*slot).expect("entries are in memory")] = place;
            *slot += 1;
        }
        Self { starts, places }
    }

    pub(super) fn put(&self, entries: &[Entry], heads: &[Head], out: &mut ContainerWriter) {
        let column =
            |of: &dyn Fn(&Entry) -> u32| -> Vec<u32> { self.places.iter().map(|&place| of(&entries[place])).collect() };
        out.put(layout::ACCOUNT_POSTINGS, &self.starts);
        out.put(layout::POSTING_ROWS, &column(&|entry| entry.row));
        out.put(layout::POSTING_BLOCKS, &column(&|entry| heads[entry.row as usize].block));
        out.put(layout::POSTING_TIMES, &column(&|entry| heads[entry.row as usize].time));
        out.put(layout::POSTING_OTHERS, &column(&|entry| entry.other));
        out.put(layout::POSTING_ASSETS, &column(&|entry| entry.asset));
        out.put(layout::POSTING_FLAGS, &self.places.iter().map(|&place| entries[place].flags).collect::<Vec<_>>());
        out.put(layout::POSTING_ORDINALS, &self.places.iter().map(|&place| entries[place].ordinal).collect::<Vec<_>>());
        let mut amounts = AmountBuilder::default();
        self.places.iter().for_each(|&place| amounts.push(entries[place].amount));
        amounts.put(out, layout::POSTING_AMOUNTS);
    }

    /// All entries, account by account.
    pub(super) fn entries<'a>(&'a self, entries: &'a [Entry]) -> impl Iterator<Item = &'a Entry> {
        self.places.iter().map(|&place| &entries[place])
    }

    fn of<'a>(&'a self, entries: &'a [Entry], account: usize) -> impl Iterator<Item = &'a Entry> {
        let place = |at: u64| usize::try_from(at).expect("entries are in memory");
        self.places[place(self.starts[account])..place(self.starts[account + 1])].iter().map(|&place| &entries[place])
    }
}

#[derive(Clone, Copy, Default)]
struct Sums {
    received: Amount,
    sent: Amount,
    fees: Amount,
    seen: bool,
}

/// What each account received, sent and paid in fees, by asset.
///
/// A sum past 256 bits stays at the largest amount: only tokens that forge their amounts come there, and they must
/// not keep a chain from being read. Saturating sums do not depend on order or segmentation either.
pub(super) fn put_holdings(
    by_account: &ByAccount,
    entries: &[Entry],
    fees: &FxHashMap<u32, Amount>,
    dictionary: &Dictionary,
    assets: &Assets,
    out: &mut ContainerWriter,
) -> Result<()> {
    let mut sums = vec![Sums::default(); assets.len()];
    let mut touched: Vec<u32> = Vec::new();
    let mut offsets = OffsetBuilder::new("holdings");
    let mut held_assets = Vec::new();
    let (mut received, mut sent, mut paid) =
        (AmountBuilder::default(), AmountBuilder::default(), AmountBuilder::default());
    for account in 0..dictionary.len() {
        let mut touch = |asset: u32, change: &dyn Fn(&mut Sums)| {
            let sums = &mut sums[asset as usize];
            if !sums.seen {
                sums.seen = true;
                touched.push(asset);
            }
            change(sums);
        };
        for entry in by_account.of(entries, account) {
            if PostingFlags(entry.flags).counts() {
                touch(entry.asset, &|sums| match entry.flags & posting::DIRECTION {
                    posting::IN => sums.received = saturating_add(sums.received, entry.amount),
                    posting::OUT => sums.sent = saturating_add(sums.sent, entry.amount),
                    _ => {}
                });
            }
        }
        if let Some(&fee) = u32::try_from(account).ok().and_then(|account| fees.get(&account)) {
            touch(0, &|sums| {
                sums.sent = saturating_add(sums.sent, fee);
                sums.fees = saturating_add(sums.fees, fee);
            });
        }
        touched.sort_unstable();
        for asset in touched.drain(..) {
            let sums = std::mem::take(&mut sums[asset as usize]);
            held_assets.push(asset);
            received.push(sums.received);
            sent.push(sums.sent);
            paid.push(sums.fees);
        }
        offsets.end_row(held_assets.len())?;
    }
    offsets.put(out, layout::ACCOUNT_HOLDINGS);
    out.put(layout::HOLDING_ASSETS, &held_assets);
    received.put(out, layout::HOLDING_RECEIVED);
    sent.put(out, layout::HOLDING_SENT);
    paid.put(out, layout::HOLDING_FEES);
    Ok(())
}
