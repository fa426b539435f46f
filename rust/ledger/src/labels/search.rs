//! The addresses that lists give a name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use headwater_types::{Address, Chain};

use super::file::LabelFile;
use super::names::{NameQuery, NameRank};
use super::table::LabelTable;
use crate::Cancel;
use crate::error::Result;

/// The addresses about which a list makes a claim with a matching name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedAddresses {
    /// The addresses, in order.
    pub addresses: Vec<Address>,
    /// True if there are more: these are the ones whose names fit best, then those of the most trusted claims.
    pub is_cut: bool,
}

/// The order in which addresses are taken.
type Precedence = (NameRank, Reverse<u16>);

impl LabelTable {
    /// Returns the addresses to which a list in force gives a matching name or entity, at most `limit`: all of them, or those
    /// about which that list makes a claim on a chain. Claims that ended and those that a curator removed count.
    ///
    /// The first call builds an index in memory for each list, which lives as long as the list is open: about 20 bytes for
    /// each word of a distinct name and 4 bytes for each address of a name. Later calls take time in proportion to the
    /// words that begin alike and to `limit`.
    ///
    /// # Errors
    /// As [`LabelTable::claims_about`]; when an index takes more memory than the query may, or the call is cancelled.
    pub fn named(
        &self,
        query: &NameQuery,
        chain: Option<Chain>,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<NamedAddresses> {
        let mut found: BTreeMap<Address, Precedence> = BTreeMap::new();
        for file in self.files() {
            if chain.is_some_and(|chain| !file.chains().any(|held| held == chain)) {
                continue;
            }
            cancel.check()?;
            for (address, precedence) in named_in(file, query, chain, limit, cancel)? {
                let held = found.entry(address).or_insert(precedence);
                *held = precedence.min(*held);
            }
        }
        let is_cut = found.len() > limit;
        if !is_cut {
            return Ok(NamedAddresses { addresses: found.into_keys().collect(), is_cut });
        }
        let mut ordered: Vec<_> = found.into_iter().map(|(address, precedence)| (precedence, address)).collect();
        ordered.sort_unstable();
        ordered.truncate(limit);
        let mut addresses: Vec<Address> = ordered.into_iter().map(|(_, address)| address).collect();
        addresses.sort_unstable();
        Ok(NamedAddresses { addresses, is_cut })
    }
}

/// The first matching addresses of each part of a list, one more than `limit` where there are as many.
fn named_in(
    file: &LabelFile,
    query: &NameQuery,
    chain: Option<Chain>,
    limit: usize,
    cancel: &Cancel,
) -> Result<BTreeMap<Address, Precedence>> {
    let mut found = BTreeMap::new();
    // An address is in one part.
    for part in file.names(cancel)? {
        let before = found.len();
        part.matches(query).each(&mut |rank, reliability, place| {
            let place = place as usize;
            if chain.map_or(Ok(true), |chain| file.holds_on(place, chain))? {
                found.entry(file.address(place)?).or_insert((rank, Reverse(reliability)));
            }
            Ok(found.len() - before <= limit)
        })?;
    }
    Ok(found)
}
