//! One pass over all accounts of a chain in order of address, divided between threads, with one result per address.

use std::ops::ControlFlow;

use headwater_ledger::read::{AddressRange, ColumnSet, PostingColumns};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Chain};
use rayon::prelude::*;

/// Ranges of addresses per thread, so that one that is slow does not hold up the others.
const RANGES_PER_THREAD: usize = 8;

/// A computation over the postings of one address after the other.
pub trait Gather: Send {
    /// The columns that it reads.
    const WANTED: ColumnSet;
    /// Its result for an address, lent until the next address begins.
    type Output;

    /// Begins an address.
    fn begin(&mut self, address: &Address);

    /// Adds a batch of the address; batches of one part come one after the other.
    ///
    /// # Errors
    /// When the ledger cannot be read, or a sum passes 256 bits.
    fn add(&mut self, ledger: &dyn Ledger, columns: &PostingColumns<'_>) -> Result<(), LedgerError>;

    /// Returns the result for the address.
    ///
    /// # Errors
    /// As [`Gather::add`].
    fn finish(&mut self, ledger: &dyn Ledger) -> Result<&Self::Output, LedgerError>;
}

/// Gathers over every address of a chain and keeps what `keep` makes of it, in order of address. The result does not
/// depend on the number of threads.
///
/// # Errors
/// When the ledger cannot be read, a sum passes 256 bits, or the work is cancelled.
pub fn every_address<G: Gather + Default, T: Send>(
    ledger: &dyn Ledger,
    chain: Chain,
    cancel: &Cancel,
    keep: impl Fn(&Address, &G::Output) -> Option<T> + Sync,
) -> Result<Vec<T>, LedgerError> {
    let fold = |kept: &mut Vec<T>, address: &Address, found: &G::Output| kept.extend(keep(address, found));
    Ok(fold_addresses::<G, Vec<T>>(ledger, chain, cancel, fold)?.into_iter().flatten().collect())
}

/// Gathers over every address of a chain and lets `fold` put it to what was made of those before. Addresses are divided
/// between threads: what comes back follows their order, but where one ends and the next begins depends on the threads.
///
/// # Errors
/// As [`every_address`].
pub fn fold_addresses<G: Gather + Default, T: Default + Send>(
    ledger: &dyn Ledger,
    chain: Chain,
    cancel: &Cancel,
    fold: impl Fn(&mut T, &Address, &G::Output) + Sync,
) -> Result<Vec<T>, LedgerError> {
    fold_addresses_with(ledger, chain, cancel, G::default, fold)
}

/// The same with a gatherer that is made once for each part of the addresses.
///
/// # Errors
/// As [`every_address`].
pub fn fold_addresses_with<G: Gather, T: Default + Send>(
    ledger: &dyn Ledger,
    chain: Chain,
    cancel: &Cancel,
    make: impl Fn() -> G + Sync,
    fold: impl Fn(&mut T, &Address, &G::Output) + Sync,
) -> Result<Vec<T>, LedgerError> {
    let ranges = ledger.split_addresses(chain, rayon::current_num_threads() * RANGES_PER_THREAD)?;
    let of_range = |range: &AddressRange| -> Result<T, LedgerError> {
        let mut gather = make();
        let mut folded = T::default();
        let mut current: Option<Address> = None;
        ledger.sweep(chain, range, (G::WANTED, cancel), &mut |address, columns| {
            if current.as_ref() != Some(address) {
                if let Some(done) = current.replace(*address) {
                    fold(&mut folded, &done, gather.finish(ledger)?);
                }
                gather.begin(address);
            }
            gather.add(ledger, &columns)?;
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(done) = current {
            fold(&mut folded, &done, gather.finish(ledger)?);
        }
        Ok(folded)
    };
    ranges.par_iter().map(of_range).collect()
}
