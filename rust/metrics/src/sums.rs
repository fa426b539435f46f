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

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    received: ExactSum,
    sent: ExactSum,
    received_count: u64,
    sent_count: u64,
}

impl Sum {
    fn join(&mut self, other: &Self) -> Result<(), SumOverflow> {
        self.received_count += other.received_count;
        self.sent_count += other.sent_count;
        self.received.join(other.received)?;
        self.sent.join(other.sent)
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
            let (count, side) = match flags.direction() {
                Direction::In => {
                    let sum = self.sum(*asset);
                    (&mut sum.received_count, &mut sum.received)
                }
                Direction::Out => {
                    let sum = self.sum(*asset);
                    (&mut sum.sent_count, &mut sum.sent)
                }
                Direction::Own => continue,
            };
            *count += 1;
            if *amount == LARGE {
                side.add_amount(columns.amount(at))?;
            } else {
                side.checked_add(*amount)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &dyn Ledger) -> Result<Vec<AssetSum>, LedgerError> {
        if let Some(part) = self.part {
            self.close(ledger, part)?;
        }
        self.done.sort_unstable_by_key(|(asset, _)| *asset);
        let mut sums: Vec<AssetSum> = Vec::new();
        let mut done = self.done.drain(..).peekable();
        while let Some((asset, mut sum)) = done.next() {
            while let Some((_, more)) = done.next_if(|(next, _)| *next == asset) {
                sum.join(&more)?;
            }
            let mut balance = Balance::default();
            balance.receive(sum.received.total())?;
            balance.send(sum.sent.total())?;
            let (received_count, sent_count) = (sum.received_count, sum.sent_count);
            sums.push(AssetSum { asset, balance, received_count, sent_count });
        }
        Ok(sums)
    }
}
