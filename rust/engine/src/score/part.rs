//! The addresses of one part of a job.

use std::ops::Range;

use headwater_ledger::{Cancel, LedgerError};
use headwater_types::Address;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::{ScoreError, ScoreRow, Scorer};
use crate::Error;

/// One part of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPart {
    /// Its place among all parts, from 0.
    pub number: usize,
    /// The first and the last address, where the job scores a whole chain.
    pub range: Option<(Address, Address)>,
    /// Number of addresses.
    pub addresses: u64,
    /// Movements of these addresses that the ledger holds.
    pub movements: u64,
    /// The checksum of the number of the part and its addresses.
    pub checksum: u64,
}

/// The addresses of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartAddresses {
    /// Addresses of the ledger.
    Known(Vec<Address>),
    /// Addresses as a list has them; `None` where one is missing.
    Texts(Vec<Option<String>>),
}

impl PlannedPart {
    pub(super) fn new(number: usize, addresses: &PartAddresses, movements: u64) -> Self {
        let range = match addresses {
            PartAddresses::Known(known) => known.first().copied().zip(known.last().copied()),
            PartAddresses::Texts(_) => None,
        };
        let checksum = addresses.checksum(number);
        Self { number, range, addresses: addresses.len() as u64, movements, checksum }
    }
}

impl PartAddresses {
    /// Reads the addresses of a part of a whole chain.
    ///
    /// # Errors
    /// When the ledger cannot be read, or does not have the addresses of the plan.
    pub fn of_range(scorer: &Scorer, part: &PlannedPart) -> Result<Self, ScoreError> {
        let Some((first, last)) = part.range else { return Ok(Self::Known(Vec::new())) };
        let mut addresses = vec![first];
        let others = usize::try_from(part.addresses).unwrap_or(usize::MAX).saturating_sub(1);
        if others > 0 {
            addresses.extend(scorer.addresses(Some(&first), others)?);
        }
        let known = Self::Known(addresses);
        if known.checksum(part.number) == part.checksum {
            return Ok(known);
        }
        let difference = format!("part {} was from {first} to {last}, which are other addresses here", part.number);
        Err(ScoreError::OtherRows { difference })
    }

    pub(super) fn slice(&self, places: Range<usize>) -> Self {
        match self {
            Self::Known(addresses) => Self::Known(addresses[places].to_vec()),
            Self::Texts(texts) => Self::Texts(texts[places].to_vec()),
        }
    }

    /// Computes the checksum of the addresses as those of a part.
    #[must_use]
    pub fn checksum(&self, number: usize) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&(number as u64).to_le_bytes());
        let mut add = |text: Option<&str>| {
            // So that neither a missing text nor the border between two of them can be mistaken.
            hash.update(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            hash.update(text.unwrap_or_default().as_bytes());
        };
        match self {
            Self::Known(addresses) => {
                for address in addresses {
                    add(Some(&address.to_string()));
                }
            }
            Self::Texts(texts) => {
                for text in texts {
                    add(text.as_deref());
                }
            }
        }
        hash.digest()
    }

    /// Number of addresses.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Known(addresses) => addresses.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Scores the addresses.
    ///
    /// # Errors
    /// As [`Scorer::score`].
    pub fn score(&self, scorer: &Scorer, cancel: &Cancel) -> Result<Vec<ScoreRow>, Error> {
        match self {
            Self::Known(addresses) => scorer.score(addresses, cancel),
            Self::Texts(texts) => scorer.score_texts(&texts.iter().map(Option::as_deref).collect::<Vec<_>>(), cancel),
        }
    }

    /// Counts the movements of each address; 0 for what is not an address of the chain.
    pub(super) fn movements(&self, scorer: &Scorer, cancel: &Cancel) -> Result<Vec<u64>, Error> {
        cancel.check().map_err(LedgerError::from)?;
        match self {
            Self::Known(addresses) => addresses.par_iter().map(|address| scorer.movements(address)).collect(),
            Self::Texts(texts) => {
                let of_text = |text: &Option<String>| {
                    let address = text.as_deref().and_then(|text| Address::parse(scorer.chain(), text.trim()).ok());
                    address.map_or(Ok(0), |address| scorer.movements(&address))
                };
                texts.par_iter().map(of_text).collect()
            }
        }
    }
}
