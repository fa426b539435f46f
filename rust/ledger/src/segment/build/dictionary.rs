//! Addresses to account ids: all addresses of the segment in order of their keys.

use std::hash::BuildHasher;

use headwater_types::{Address, Family};
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::id;
use super::order::Row;
use crate::LedgerError;
use crate::error::Result;
use crate::facts::TransactionFacts;
use crate::primitives::Status;
use crate::segment::SegmentInput;
use crate::segment::layout::{NONE, account, prefix};
use crate::segment::write::AccountsWriter;

/// Marks the contracts of tokens that moved, only here.
const MOVED: u8 = 1 << 7;

/// All addresses of a segment.
pub(super) struct Dictionary {
    addresses: Vec<Address>,
    slots: Slots,
    flags: Vec<u8>,
    /// Ids in the order of [`each_address`] over all rows: looked up once, read again when records are made.
    pub(super) seen: Vec<u32>,
}

impl Dictionary {
    pub(super) fn collect(input: &SegmentInput, rows: &[Row<'_>]) -> Result<Self> {
        let mut slots = Slots::default();
        let (mut addresses, mut flags, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        let mut see = |address: &Address, role: u8| {
            let id = slots.find(address, &addresses);
            if id as usize == addresses.len() {
                addresses.push(*address);
                flags.push(0);
            }
            // Past 32 bits all is refused below.
            if let Some(flags) = flags.get_mut(id as usize) {
                *flags |= role;
            }
            id
        };
        for row in rows {
            each_address(row.facts, &mut |address, role| seen.push(see(address, role)));
        }
        for contract in &input.contracts {
            see(contract, account::STATED);
        }
        for token in &input.tokens {
            see(&token.contract, account::IMPLIED);
        }
        id(addresses.len(), "addresses")?;
        if let Some(error) = addresses.iter().find_map(|address| foreignness(input, address)) {
            return Err(error);
        }
        let order = key_order(&addresses);
        let mut rank = vec![0; addresses.len()];
        for (place, &address) in (0..).zip(&order) {
            rank[address as usize] = place;
        }
        seen.par_iter_mut().for_each(|id| *id = rank[*id as usize]);
        slots.rename(&rank);
        let addresses = order.iter().map(|&address| addresses[address as usize]).collect();
        let flags = order.iter().map(|&address| flags[address as usize]).collect();
        Ok(Self { addresses, slots, flags, seen })
    }

    pub(super) fn len(&self) -> usize {
        self.addresses.len()
    }

    pub(super) fn id(&self, address: &Address) -> u32 {
        self.slots.places[self.slots.slot(address, &self.addresses)]
    }

    /// Accounts whose tokens moved, ascending.
    pub(super) fn moved(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.flags).filter(|(_, flags)| *flags & MOVED != 0).map(|(id, _)| id)
    }

    pub(super) fn write(&self, out: &mut AccountsWriter, family: Family) -> Result<()> {
        for (address, flags) in self.addresses.iter().zip(&self.flags) {
            out.push(address, flags & !MOVED)?;
        }
        match family {
            Family::Evm | Family::Tron => Ok(()),
            Family::Utxo => self.text_order().into_iter().try_for_each(|id| out.push_text(id)),
        }
    }

    fn text_order(&self) -> Vec<u32> {
        let numbered = (0_u32..).zip(&self.addresses).collect::<Vec<_>>();
        let mut texts: Vec<(String, u32)> =
            numbered.into_par_iter().map(|(id, address)| (address.to_string(), id)).collect();
        texts.par_sort_unstable();
        texts.into_iter().map(|(_, id)| id).collect()
    }
}

/// A table from addresses to their places in a list, by open addressing. It keeps the places alone, so that it stays
/// in the cache where a map with the addresses would not.
#[derive(Default)]
struct Slots {
    places: Vec<u32>,
}

impl Slots {
    /// The place of an address; behind the last one when it is new, which it then has.
    fn find(&mut self, address: &Address, list: &[Address]) -> u32 {
        if list.len() * 2 >= self.places.len() {
            self.places = vec![NONE; (list.len() * 4).next_power_of_two().max(64)];
            for (place, known) in (0..).zip(list) {
                let slot = self.slot(known, &[]);
                self.places[slot] = place;
            }
        }
        let slot = self.slot(address, list);
        if self.places[slot] == NONE {
            self.places[slot] = u32::try_from(list.len()).unwrap_or(NONE);
        }
        self.places[slot]
    }

    /// The slot of an address, or the free one where it would go; of one that is not in the list.
    fn slot(&self, address: &Address, list: &[Address]) -> usize {
        let mask = self.places.len() - 1;
        let hash = FxBuildHasher.hash_one(address);
        let mut slot = usize::try_from(hash & mask as u64).expect("a place in memory");
        while self.places[slot] != NONE && list.get(self.places[slot] as usize) != Some(address) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Gives the addresses other places.
    fn rename(&mut self, places: &[u32]) {
        for place in self.places.iter_mut().filter(|place| **place != NONE) {
            *place = places[*place as usize];
        }
    }
}

/// Places of addresses in order of their keys. The first bytes separate nearly all.
fn key_order(addresses: &[Address]) -> Vec<u32> {
    let mut keys: Vec<(u64, u32)> =
        (0..).zip(addresses).map(|(place, address)| (prefix(address.key().as_slice()), place)).collect();
    keys.par_sort_unstable_by(|a, b| {
        let whole = |place: u32| addresses[place as usize].key();
        a.0.cmp(&b.0).then_with(|| whole(a.1).as_slice().cmp(whole(b.1).as_slice()))
    });
    keys.into_iter().map(|(_, place)| place).collect()
}

fn foreignness(input: &SegmentInput, address: &Address) -> Option<LedgerError> {
    let chain = input.chain;
    match address {
        _ if address.family() != chain.family() => Some(LedgerError::ForeignAddress { chain, address: *address }),
        Address::Utxo(utxo) if utxo.network != input.network => {
            Some(LedgerError::NetworkMismatch { chain, held: input.network, offered: utxo.network })
        }
        Address::Evm(_) | Address::Tron(_) | Address::Utxo(_) => None,
    }
}

/// Calls with every address of a transaction and what it must be there, always in one order, which
/// [`super::record`] follows.
fn each_address(transaction: &TransactionFacts, see: &mut impl FnMut(&Address, u8)) {
    if let Some(body) = &transaction.body {
        body.from.iter().chain(&body.to).for_each(|address| see(address, 0));
    }
    let creates = transaction.status != Some(Status::Failed);
    transaction.created.iter().for_each(|address| see(address, if creates { account::IMPLIED } else { 0 }));
    for movement in &transaction.movements {
        movement.from.iter().chain(&movement.to).for_each(|address| see(address, 0));
        movement.asset.contract().iter().for_each(|address| see(address, account::IMPLIED | MOVED));
    }
    transaction.logs.iter().for_each(|log| see(&log.address, account::IMPLIED));
    if let Some(utxo) = &transaction.utxo {
        let spent = utxo.inputs.iter().filter_map(|input| input.spent.as_ref());
        spent.chain(&utxo.outputs).filter_map(|output| output.owner.as_ref()).for_each(|address| see(address, 0));
    }
}
