//! Balances of many addresses, column by column.

use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Amount, Asset, Balance, Chain};

use super::AssetSums;
use crate::exact::ExactSum;
use crate::sweep::fold_addresses;

/// Exact balances of addresses by asset, 36 bytes each: a list of sums for every address would take four times as many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BalanceColumns {
    /// By number.
    assets: Vec<Asset>,
    /// With the end of its balances, which follow those of the address before.
    addresses: Vec<(Address, usize)>,
    /// Numbers of assets.
    numbers: Vec<u32>,
    /// The amounts that came in and went out, modulo 2^128.
    low: Vec<[u128; 2]>,
    /// Those that 128 bits do not hold, by place.
    large: Vec<(usize, Balance)>,
}

impl BalanceColumns {
    /// Adds an address with all of its sums, which all come from one gathering.
    fn push(&mut self, address: &Address, found: &AssetSums) {
        self.assets.extend_from_slice(&found.assets[self.assets.len()..]);
        for met in &found.met {
            let sums = found.sums[met.place as usize].sums;
            if sums.iter().any(|sum| sum.high() > 0) {
                let [received, sent] = sums.map(ExactSum::total);
                self.large.push((self.low.len(), Balance::of(received, sent)));
            }
            self.numbers.push(met.number);
            self.low.push(sums.map(ExactSum::low));
        }
        self.addresses.push((*address, self.numbers.len()));
    }

    /// Number of balances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Every address, in order, with its balances in order of asset.
    pub fn iter(&self) -> impl Iterator<Item = (&Address, impl Iterator<Item = (&Asset, Balance)>)> {
        let mut start = 0;
        self.addresses.iter().map(move |(address, end)| {
            let places = std::mem::replace(&mut start, *end)..*end;
            (address, places.map(|place| (&self.assets[self.numbers[place] as usize], self.balance(place))))
        })
    }

    fn balance(&self, place: usize) -> Balance {
        if let Ok(found) = self.large.binary_search_by_key(&place, |(place, _)| *place) {
            return self.large[found].1;
        }
        let [received, sent] = self.low[place].map(Amount::from_u128);
        Balance::of(received, sent)
    }
}

/// The balances of every address of a chain, in order of address over all columns: of movements that did not fail, fees
/// and transfers to itself left out. About 60 ns per posting on one core; 36 bytes per balance.
///
/// # Errors
/// When the ledger cannot be read, a sum passes 256 bits, or the work is cancelled.
pub fn balances_of_every_address(
    ledger: &dyn Ledger,
    chain: Chain,
    cancel: &Cancel,
) -> Result<Vec<BalanceColumns>, LedgerError> {
    fold_addresses::<AssetSums, BalanceColumns>(ledger, chain, cancel, |columns, address, sums| {
        columns.push(address, sums);
    })
}
