//! Handles of accounts that outlive a generation.
//!
//! A slot is the number of a segment: those that a table covers have the numbers of the table, others get the next one when
//! they are read. A generation has the places of its slots. A slot whose segment was merged leads to the segment that
//! the merge made, in which the account has another number.

use std::collections::HashMap;
use std::sync::Arc;

use headwater_types::Address;

use super::ordered::HolderChange;
use crate::error::Result;
use crate::primitives::{AccountRef, pack, unpack};
use crate::segment::Segment;

/// The places of the slots in one generation.
#[derive(Clone, Default)]
pub(super) struct SlotPlaces {
    /// Those of segments outside of the table.
    pub(super) newer: HashMap<u32, u32>,
    /// Those of segments that are merged since: the place of what the merge made.
    pub(super) merged: HashMap<u32, u32>,
}

/// The segments of a generation behind slots.
#[derive(Clone, Copy)]
pub(super) struct SlotView<'a> {
    pub(super) segments: &'a [Arc<Segment>],
    /// Places by number of the table.
    pub(super) covered: &'a [u32],
    pub(super) places: Option<&'a SlotPlaces>,
}

impl SlotView<'_> {
    /// The handle of a changed row in this generation.
    pub(super) fn handle(&self, row: &HolderChange) -> Result<AccountRef> {
        let (slot, id) = row.account;
        if let Some(place) = self.covered.get(slot as usize) {
            return Ok(AccountRef(pack(*place, id)));
        }
        let Some(places) = self.places else { return Err(self.segments[0].miscounted(id)) };
        if let Some(place) = places.newer.get(&slot) {
            return Ok(AccountRef(pack(*place, id)));
        }
        // The segment was merged, or its block was taken back and another one has the account.
        let merged = places.merged.get(&slot).into_iter();
        for place in merged.chain(places.newer.values()) {
            if let Some(id) = self.segments[*place as usize].account(&row.address)? {
                return Ok(AccountRef(pack(*place, id)));
            }
        }
        Err(self.segments[0].miscounted(id))
    }

    /// The number of the table and the account of a handle that it gave.
    pub(super) fn numbered(&self, account: AccountRef) -> Option<(u32, u32)> {
        let (place, id) = unpack(account.0);
        let number = self.covered.iter().position(|covered| *covered == place)?;
        Some((u32::try_from(number).ok()?, id))
    }

    pub(super) fn address(&self, account: AccountRef) -> Result<Address> {
        let (place, id) = unpack(account.0);
        self.segments[place as usize].address(id)
    }
}
