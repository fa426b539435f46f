//! The values of the assets of a segment, by local id.

use headwater_types::{Amount, Timestamp};

use super::tally::PostingValue;
use crate::error::Result;
use crate::market::{AssetTerms, PriceTable, Registry};
use crate::segment::{RawPosting, Segment};

/// The terms of every asset of a segment under a registry.
pub(crate) fn terms(segment: &Segment, registry: &Registry) -> Result<Vec<AssetTerms>> {
    let of_asset = |asset| {
        // What chain data says of a token that no registry lists gives it no value, so it is not asked.
        AssetTerms::of(registry, segment.chain(), &segment.asset(asset)?, |_| Ok(None))
    };
    (0..segment.assets()?).map(of_asset).collect()
}

/// Values the postings of a segment.
pub(crate) struct Values<'a> {
    /// By local id of the asset.
    terms: &'a [AssetTerms],
    prices: &'a PriceTable,
    base: Timestamp,
}

impl<'a> Values<'a> {
    pub(crate) fn new(segment: &Segment, terms: &'a [AssetTerms], prices: &'a PriceTable) -> Self {
        Self { terms, prices, base: segment.base().1 }
    }

    /// Returns the value of a posting.
    pub(super) fn of(&self, posting: &RawPosting) -> PostingValue {
        let time = Timestamp::new(self.base.secs().saturating_add(i64::from(posting.time)));
        let terms = self.terms.get(posting.asset as usize);
        PostingValue {
            time,
            usd: terms.and_then(|terms| terms.usd(self.prices, posting.amount, time)),
            verified: terms.is_some_and(|terms| terms.verified),
        }
    }
}

/// Returns whether a posting is in any edge: it moved something, did not fail, and was not a transfer of the account to
/// itself.
pub(super) fn counts(posting: &RawPosting) -> bool {
    use crate::primitives::{Direction, Status};
    posting.amount != Amount::ZERO && posting.status() != Some(Status::Failed) && posting.direction() != Direction::Own
}
