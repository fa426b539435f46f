//! The dictionary: account ids by address, addresses by id, and both in order of text.

use std::ops::Range;
use std::sync::Arc;

use headwater_types::{Address, Chain, Family, Network};

use super::super::container::{Column, Container, search, search_from};
use super::super::layout::{self, FENCE_STEP, prefix};
use super::super::pack::Ints;
use crate::error::Result;

const FIXED_KEY: usize = 20;

/// The part of `length` that a distance is of the whole.
fn part(distance: u64, whole: u64, length: usize) -> usize {
    let share = u128::from(distance.min(whole)) * length as u128 / u128::from(whole.max(1));
    share as usize
}

/// The accounts of a segment.
pub(crate) struct Accounts {
    chain: Chain,
    network: Network,
    length: usize,
    keys: Column<u8>,
    starts: Ints,
    fences: Column<u64>,
    flags: Ints,
    text_order: Ints,
}

impl Accounts {
    pub(super) const fn chain(&self) -> Chain {
        self.chain
    }

    pub(super) fn open(file: &Arc<Container>, accounts: u64) -> Result<Self> {
        Ok(Self {
            chain: file.chain()?,
            network: file.network(),
            length: usize::try_from(accounts).unwrap_or(usize::MAX),
            keys: file.column(layout::ACCOUNT_KEYS)?,
            starts: Ints::open(file, layout::ACCOUNT_KEY_STARTS)?,
            fences: file.column(layout::ACCOUNT_FENCES)?,
            flags: Ints::open(file, layout::ACCOUNT_FLAGS)?,
            text_order: Ints::open(file, layout::ACCOUNT_TEXT_ORDER)?,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn key(&self, id: usize) -> Result<&[u8]> {
        match self.chain.family() {
            Family::Evm | Family::Tron => {
                let start = id.saturating_mul(FIXED_KEY);
                self.keys.slice(start..start.saturating_add(FIXED_KEY))
            }
            Family::Utxo => {
                let (start, end) = self.starts.pair(id)?;
                let place = |at: u64| usize::try_from(at).map_err(|_| self.starts.outside(id));
                self.keys.slice(place(start)?..place(end)?)
            }
        }
    }

    pub(crate) fn address(&self, id: u32) -> Result<Address> {
        Address::from_key(self.chain.family(), self.network, self.key(id as usize)?)
            .ok_or_else(|| self.keys.wrong(id as usize, "is not an address of the chain"))
    }

    pub(crate) fn find(&self, address: &Address) -> Result<Option<u32>> {
        let foreign = match address {
            Address::Utxo(utxo) => utxo.network != self.network,
            Address::Evm(_) | Address::Tron(_) => false,
        };
        if foreign || address.family() != self.chain.family() {
            return Ok(None);
        }
        let place = self.first_from(address)?;
        if place == self.length || self.key(place)? != address.key().as_slice() {
            return Ok(None);
        }
        u32::try_from(place).map(Some).map_err(|_| self.keys.outside(place))
    }

    /// The first account whose address is not before this one.
    pub(crate) fn first_from(&self, address: &Address) -> Result<usize> {
        let key = address.key();
        let key = key.as_slice();
        let first = prefix(key);
        // A fence is the beginning of every 128th key; the key lies in the steps whose fences enclose it.
        let fences = self.fences.len();
        let low = search_from(0..fences, self.guess(first)?, |at| Ok(self.fences.get(at)? < first))?;
        let high = search_from(low..fences, low, |at| Ok(self.fences.get(at)? <= first))?;
        let low = low.saturating_sub(1);
        let start = if low < high { self.fences.get(low)? } else { 0 };
        let end = if high < fences { self.fences.get(high)? } else { u64::MAX };
        let inside = part(first.saturating_sub(start), end - start, FENCE_STEP);
        let (low, high) = (low * FENCE_STEP, self.length.min(high * FENCE_STEP));
        search_from(low..high, low + inside, |id| Ok(self.key(id)? < key))
    }

    /// The approximate place of the fence of a key: keys that are hashes are spread evenly, so how far one is off shows
    /// where to look next.
    fn guess(&self, first: u64) -> Result<usize> {
        let Some(last) = self.fences.len().checked_sub(1) else { return Ok(0) };
        let mut guess = part(first, u64::MAX, last);
        for _ in 0..2 {
            let found = self.fences.get(guess)?;
            let off = part(found.abs_diff(first), u64::MAX, last);
            guess = if found < first { last.min(guess + off) } else { guess.saturating_sub(off) };
        }
        Ok(guess)
    }

    pub(crate) fn flags(&self, id: u32) -> Result<u64> {
        self.flags.get(id as usize)
    }

    pub(crate) fn all_flags(&self) -> Result<Vec<u64>> {
        self.flags.all()
    }

    /// Places in text order whose text begins with `start`.
    pub(crate) fn with_prefix(&self, start: &str) -> Result<Range<usize>> {
        let low = search(0..self.length, |place| Ok(self.text_at(place)?.as_str() < start))?;
        let high = search(low..self.length, |place| Ok(self.text_at(place)?.starts_with(start)))?;
        Ok(low..high)
    }

    /// The account at a place in text order.
    pub(crate) fn at_text(&self, place: usize) -> Result<u32> {
        if self.text_order.is_empty() {
            return u32::try_from(place).map_err(|_| self.text_order.outside(place));
        }
        self.text_order.id(place)
    }

    fn text_at(&self, place: usize) -> Result<String> {
        Ok(self.address(self.at_text(place)?)?.to_string())
    }
}
