//! The addresses of a job: all of a chain, or a list.

use std::path::Path;

use headwater_types::Address;

use super::part::PartAddresses;
use super::{ScoreError, Scorer};

/// Addresses as a list writes them, part by part; `None` where one is missing.
pub type AddressParts<'a> = Box<dyn Iterator<Item = Result<Vec<Option<String>>, ScoreError>> + 'a>;

/// A list of addresses outside the ledger.
pub trait AddressList: Sync {
    /// Returns the addresses in parts of this size; the last one may be smaller.
    ///
    /// # Errors
    /// When the list cannot be read.
    fn parts(&self, size: usize) -> Result<AddressParts<'_>, ScoreError>;

    /// Returns the file that the list is read from, if any.
    fn file(&self) -> Option<&Path> {
        None
    }
}

/// The addresses to score.
#[derive(Clone, Copy)]
pub enum Addresses<'a> {
    /// All addresses of the chain that the ledger holds, in order.
    All,
    /// Those of a list, in its order.
    List(&'a dyn AddressList),
}

/// Addresses in pieces of equal length, in order.
type Cells<'a> = Box<dyn Iterator<Item = Result<PartAddresses, ScoreError>> + 'a>;

impl<'a> Addresses<'a> {
    /// Returns the addresses in pieces of this length; the last one may be shorter.
    pub(super) fn cells(self, scorer: &'a Scorer, length: usize) -> Result<Cells<'a>, ScoreError> {
        Ok(match self {
            Self::All => all(scorer, length),
            Self::List(list) => Box::new(list.parts(length)?.map(|texts| texts.map(PartAddresses::Texts))),
        })
    }

    /// Counts the addresses. Reads all of them once, so that a damaged row is found before the work begins.
    pub(super) fn count(self, scorer: &Scorer, length: usize) -> Result<u64, ScoreError> {
        self.cells(scorer, length)?.map(|cell| Ok(cell?.len() as u64)).sum()
    }
}

fn all(scorer: &Scorer, length: usize) -> Cells<'_> {
    let mut last: Option<Address> = None;
    let mut is_over = false;
    Box::new(std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let read = scorer.addresses(last.as_ref(), length);
        last = read.as_ref().ok().and_then(|addresses| addresses.last().copied());
        is_over = last.is_none();
        match read {
            Ok(addresses) if addresses.is_empty() => None,
            read => Some(read.map(PartAddresses::Known).map_err(ScoreError::from)),
        }
    }))
}
