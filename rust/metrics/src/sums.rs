//! Sums of what came in and went out, by asset.

mod columns;

use std::collections::HashMap;

use headwater_ledger::read::{ColumnSet, Direction, LARGE, PostingColumns};
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Asset, Balance};

pub use self::columns::{BalanceColumns, balances_of_every_address};
use crate::exact::ExactSum;
use crate::sweep::Gather;

/// Movements of one asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssetSum {
    /// The asset.
    pub asset: Asset,
    /// The amounts that came in and went out, fees left out.
    pub balance: Balance,
    /// Movements in.
    pub received_count: u64,
    /// Movements out.
    pub sent_count: u64,
}

/// Sums and movements in and out.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sums: [ExactSum; 2],
    counts: [u64; 2],
}

/// No number, or no place.
const NONE: u32 = u32::MAX;

/// Exact sums of one address by asset: of movements that did not fail, transfers to itself left out. Fees are not
/// movements; [`Ledger::holdings`] has them.
///
/// Every asset that is met has a number here, whatever part of the ledger it is met in, and sums are found by number in
/// a table that is kept from address to address: a posting costs two additions and no hash, an address no memory.
#[derive(Debug, Default)]
pub struct AssetSums {
    /// By number.
    assets: Vec<Asset>,
    numbers: HashMap<Asset, u32>,
    /// The numbers of assets of parts that are not read now: by number of asset there, the number here, or [`NONE`].
    parts: HashMap<u32, Vec<u32>>,
    /// The part that is read, and the same of it.
    part: Option<u32>,
    of_part: Vec<u32>,
    /// By number: place in `sums`, or [`NONE`].
    places: Vec<u32>,
    /// The sums of the address that is read.
    sums: Vec<Sum>,
    met: Vec<AssetPlace>,
    several_parts: bool,
}

/// An asset of the address that is read: sorts like the asset among those of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AssetPlace {
    of_part: u32,
    number: u32,
    place: u32,
}

impl AssetSums {
    fn turn_to(&mut self, part: u32) {
        if self.part == Some(part) {
            return;
        }
        let of_part = self.parts.remove(&part).unwrap_or_default();
        let left = std::mem::replace(&mut self.of_part, of_part);
        if let Some(last) = self.part.replace(part) {
            self.parts.insert(last, left);
        }
        self.several_parts |= !self.met.is_empty();
    }

    #[inline]
    fn sum(&mut self, ledger: &dyn Ledger, part: u32, of_part: u32) -> Result<&mut Sum, LedgerError> {
        let number = match self.of_part.get(of_part as usize) {
            Some(number) if *number != NONE => *number,
            Some(_) | None => self.meet(ledger, part, of_part)?,
        };
        let place = &mut self.places[number as usize];
        if *place == NONE {
            *place = u32::try_from(self.sums.len()).expect("assets have 32-bit numbers");
            self.met.push(AssetPlace { of_part, number, place: *place });
            self.sums.push(Sum::default());
        }
        Ok(&mut self.sums[*place as usize])
    }

    /// Gives an asset of the part its number.
    #[cold]
    fn meet(&mut self, ledger: &dyn Ledger, part: u32, of_part: u32) -> Result<u32, LedgerError> {
        let asset = ledger.asset(PostingColumns::asset_of(part, of_part))?;
        let next = u32::try_from(self.assets.len()).expect("assets have 32-bit numbers");
        let number = *self.numbers.entry(asset).or_insert(next);
        if number == next {
            self.assets.push(asset);
            self.places.push(NONE);
        }
        let place = of_part as usize;
        if place >= self.of_part.len() {
            self.of_part.resize(place + 1, NONE);
        }
        self.of_part[place] = number;
        Ok(number)
    }
}

impl Gather for AssetSums {
    const WANTED: ColumnSet = ColumnSet::ASSETS.with(ColumnSet::AMOUNTS);
    type Output = Self;

    fn begin(&mut self, _: &Address) {
        for met in self.met.drain(..) {
            self.places[met.number as usize] = NONE;
        }
        self.sums.clear();
        self.several_parts = false;
    }

    fn add(&mut self, ledger: &dyn Ledger, columns: &PostingColumns<'_>) -> Result<(), LedgerError> {
        let part = columns.part();
        self.turn_to(part);
        let (assets, amounts) = (columns.assets(), columns.amounts());
        for (at, ((flags, asset), amount)) in columns.flags().iter().zip(assets).zip(amounts).enumerate() {
            if flags.is_failed() {
                continue;
            }
            // As an index, for which way it went no processor foresees.
            let way = match flags.direction() {
                Direction::Own => continue,
                way => usize::from(way == Direction::Out),
            };
            let sum = self.sum(ledger, part, *asset)?;
            sum.counts[way] += 1;
            if *amount == LARGE {
                sum.sums[way].add_amount(columns.amount(at))?;
            } else {
                sum.sums[way].checked_add(*amount)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &dyn Ledger) -> Result<&Self, LedgerError> {
        if self.several_parts {
            self.met.sort_unstable_by_key(|met| &self.assets[met.number as usize]);
        } else {
            // Within a part numbers are in order of asset, and shorter to compare.
            self.met.sort_unstable();
        }
        Ok(self)
    }
}

impl AssetSums {
    /// The sums of the address that was read last, in order of asset.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = AssetSum> + use<'_> {
        self.met.iter().map(|met| {
            let Sum { sums: [received, sent], counts: [received_count, sent_count] } = self.sums[met.place as usize];
            let balance = Balance::of(received.total(), sent.total());
            AssetSum { asset: self.assets[met.number as usize], balance, received_count, sent_count }
        })
    }
}
