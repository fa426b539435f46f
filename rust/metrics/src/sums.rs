//! What came in and went out of each asset.

use headwater_ledger::read::{ColumnSet, Direction, LARGE, PostingColumns};
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Asset, Balance, SumOverflow};

use crate::exact::ExactSum;
use crate::sweep::Gather;

/// Movements of one asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssetSum {
    /// The asset.
    pub asset: Asset,
    /// What came in and went out, fees left out.
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

impl Sum {
    fn join(&mut self, other: &Self) -> Result<(), SumOverflow> {
        for way in [0, 1] {
            self.counts[way] += other.counts[way];
            self.sums[way].join(other.sums[way])?;
        }
        Ok(())
    }
}

/// Exact sums of one address by asset: of movements that did not fail, transfers to itself left out. Fees are no
/// movements; [`Ledger::holdings`] has them.
///
/// Assets of the part that is read are found by number in a table that is kept from address to address, so a posting
/// costs two additions and no hash.
#[derive(Debug, Default)]
pub struct AssetSums {
    part: Option<u32>,
    /// By number of asset: place in `open` and one more, or 0.
    places: Vec<u32>,
    /// Sums of the part that is read, with the number of the asset.
    open: Vec<(u32, Sum)>,
    /// Assets of the part, as far as they were looked up.
    names: Vec<Option<Asset>>,
    /// Sums of parts that are done.
    done: Vec<(Asset, Sum)>,
}

impl AssetSums {
    fn sum(&mut self, asset: u32) -> &mut Sum {
        let asset_place = asset as usize;
        if asset_place >= self.places.len() {
            self.places.resize(asset_place + 1, 0);
        }
        if self.places[asset_place] == 0 {
            self.open.push((asset, Sum::default()));
            self.places[asset_place] = u32::try_from(self.open.len()).expect("assets have 32-bit numbers");
        }
        &mut self.open[self.places[asset_place] as usize - 1].1
    }

    /// Gives the sums of the open part their names.
    fn close(&mut self, ledger: &dyn Ledger, part: u32) -> Result<(), LedgerError> {
        for (number, sum) in self.open.drain(..) {
            let place = number as usize;
            self.places[place] = 0;
            if place >= self.names.len() {
                self.names.resize(place + 1, None);
            }
            let asset = match self.names[place] {
                Some(asset) => asset,
                None => *self.names[place].insert(ledger.asset(PostingColumns::asset_of(part, number))?),
            };
            self.done.push((asset, sum));
        }
        Ok(())
    }
}

impl Gather for AssetSums {
    const WANTED: ColumnSet = ColumnSet::ASSETS.with(ColumnSet::AMOUNTS);
    type Found = Vec<AssetSum>;

    fn add(&mut self, ledger: &dyn Ledger, columns: &PostingColumns<'_>) -> Result<(), LedgerError> {
        if self.part != Some(columns.part()) {
            if let Some(part) = self.part.replace(columns.part()) {
                self.close(ledger, part)?;
            }
            self.names.clear();
        }
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
            let sum = self.sum(*asset);
            sum.counts[way] += 1;
            if *amount == LARGE {
                sum.sums[way].add_amount(columns.amount(at))?;
            } else {
                sum.sums[way].checked_add(*amount)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &dyn Ledger) -> Result<Vec<AssetSum>, LedgerError> {
        // Within a part numbers are in order of asset, and shorter to compare.
        self.open.sort_unstable_by_key(|(number, _)| *number);
        if let Some(part) = self.part {
            self.close(ledger, part)?;
        }
        if !self.done.is_sorted_by_key(|(asset, _)| *asset) {
            self.done.sort_by_key(|(asset, _)| *asset);
        }
        let mut sums: Vec<AssetSum> = Vec::with_capacity(self.done.len());
        let mut done = self.done.drain(..).peekable();
        while let Some((asset, mut sum)) = done.next() {
            while let Some((_, more)) = done.next_if(|(next, _)| *next == asset) {
                sum.join(&more)?;
            }
            let mut balance = Balance::default();
            balance.receive(sum.sums[0].total())?;
            balance.send(sum.sums[1].total())?;
            let [received_count, sent_count] = sum.counts;
            sums.push(AssetSum { asset, balance, received_count, sent_count });
        }
        Ok(sums)
    }
}
