//! Accounts and assets of several segments under new ids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use headwater_types::{Chain, Family};

use super::leave::OmittedEntries;
use super::{CANCEL_STEP, Source};
use crate::Cancel;
use crate::error::Result;
use crate::segment::container::SegmentFile;
use crate::segment::layout::NONE;
use crate::segment::spool::Spool;
use crate::segment::write::{AccountsWriter, put_assets};

/// New ids by source and old id.
pub(super) struct Ids {
    pub(super) accounts: u64,
    pub(super) assets: u64,
    pub(super) sources: Vec<SourceIds>,
}

/// New ids of one source, by old id.
#[derive(Default)]
pub(super) struct SourceIds {
    pub(super) accounts: Vec<u32>,
    assets: Vec<u32>,
}

impl SourceIds {
    /// The new id of an account. Past the end of a damaged source it is none, which no reader takes for an account.
    #[inline]
    pub(super) fn account(&self, old: u32) -> u32 {
        self.accounts.get(old as usize).copied().unwrap_or(NONE)
    }

    #[inline]
    pub(super) fn optional(&self, old: Option<u32>) -> Option<u32> {
        old.map(|old| self.account(old))
    }

    #[inline]
    pub(super) fn asset(&self, old: u32) -> u32 {
        self.assets.get(old as usize).copied().unwrap_or(NONE)
    }
}

/// Unites accounts and assets, and writes both.
pub(super) fn unite(
    chain: Chain,
    sources: &[Source<'_>],
    leaving: &[OmittedEntries],
    spool: &Arc<Spool>,
    out: &mut SegmentFile<'_>,
    cancel: &Cancel,
) -> Result<Ids> {
    let mut writer = AccountsWriter::new(spool, chain.family());
    let mut ids = united(sources, leaving, &mut writer, cancel)?;
    if chain.family() == Family::Utxo {
        order_texts(sources, &ids, &mut writer, cancel)?;
    }
    ids.accounts = writer.len();
    writer.put(out)?;
    let contracts = assets(sources, leaving, &mut ids)?;
    put_assets(spool, contracts, out)?;
    Ok(ids)
}

fn united(
    sources: &[Source<'_>],
    leaving: &[OmittedEntries],
    writer: &mut AccountsWriter,
    cancel: &Cancel,
) -> Result<Ids> {
    let mut ids: Vec<SourceIds> = Vec::with_capacity(sources.len());
    let mut heads = BinaryHeap::with_capacity(sources.len());
    for (place, source) in sources.iter().enumerate() {
        let count = source.segment.accounts()?;
        ids.push(SourceIds { accounts: vec![NONE; count as usize], assets: Vec::new() });
        if count > 0 {
            heads.push(Reverse((source.segment.account_key(0)?, place, 0_u32)));
        }
    }
    let mut waiting: Option<(&[u8], usize, u32, u8)> = None;
    let mut seen = 0_u64;
    while let Some(mut head) = heads.peek_mut() {
        if seen.is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        seen += 1;
        let Reverse((key, place, old)) = *head;
        let segment = sources[place].segment;
        if old + 1 < segment.accounts()? {
            *head = Reverse((segment.account_key(old + 1)?, place, old + 1));
        } else {
            std::collections::binary_heap::PeekMut::pop(head);
        }
        let Some(flags) = leaving[place].flags(old, segment.account_flags(old)?) else { continue };
        match &mut waiting {
            Some((held, _, _, bits)) if *held == key => *bits |= flags,
            _ => {
                if let Some((_, place, old, flags)) = waiting {
                    writer.push(&sources[place].segment.address(old)?, flags)?;
                }
                waiting = Some((key, place, old, flags));
            }
        }
        ids[place].accounts[old as usize] = u32::try_from(writer.len()).unwrap_or(NONE);
    }
    if let Some((_, place, old, flags)) = waiting {
        writer.push(&sources[place].segment.address(old)?, flags)?;
    }
    Ok(Ids { accounts: 0, assets: 0, sources: ids })
}

/// A text, its source, its place there, and the new account.
type TextHead = Reverse<(String, usize, u32, u32)>;

/// Accounts in order of text, by the orders of the sources.
fn order_texts(sources: &[Source<'_>], ids: &Ids, writer: &mut AccountsWriter, cancel: &Cancel) -> Result<()> {
    let head = |source: usize, place: u32| -> Result<Option<TextHead>> {
        let segment = sources[source].segment;
        for place in place..segment.accounts()? {
            let old = segment.at_text(place as usize)?;
            let new = ids.sources[source].account(old);
            if new != NONE {
                return Ok(Some(Reverse((segment.address(old)?.to_string(), source, place, new))));
            }
        }
        Ok(None)
    };
    let mut heads = BinaryHeap::new();
    for source in 0..sources.len() {
        heads.extend(head(source, 0)?);
    }
    let (mut last, mut seen) = (None, 0_u64);
    while let Some(Reverse((_, source, place, new))) = heads.pop() {
        if seen.is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        seen += 1;
        if last != Some(new) {
            writer.push_text(new)?;
            last = Some(new);
        }
        heads.extend(head(source, place + 1)?);
    }
    Ok(())
}

/// The contracts of all assets but the native coin, in order.
fn assets(sources: &[Source<'_>], leaving: &[OmittedEntries], ids: &mut Ids) -> Result<Vec<u32>> {
    let mut contracts = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        let count = u32::try_from(source.segment.asset_count()).unwrap_or(NONE);
        let of = &mut ids.sources[place];
        of.assets = vec![0; count as usize];
        for asset in 1..count {
            if leaving[place].keeps_asset(asset)
                && let Some(contract) = source.segment.contract_of(asset)?
            {
                contracts.push(of.account(contract));
                // For now its contract; its own number once all are known.
                of.assets[asset as usize] = of.account(contract);
            }
        }
    }
    contracts.sort_unstable();
    contracts.dedup();
    for of in &mut ids.sources {
        for asset in of.assets.iter_mut().skip(1) {
            let place = contracts.binary_search(asset).map_or(NONE, |place| u32::try_from(place + 1).unwrap_or(NONE));
            *asset = place;
        }
    }
    ids.assets = contracts.len() as u64 + 1;
    Ok(contracts)
}
