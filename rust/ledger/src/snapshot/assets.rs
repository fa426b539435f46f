//! Assets of a generation: registry, prices, labels, and the facts of tokens.

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_types::{Address, Asset, Chain};

use super::Snapshot;
use crate::facts::TokenFacts;
use crate::labels::LabelTable;
use crate::market::{FxTable, PriceTable, Registry};
use crate::read::{AssetRef, Assets, Labels, Result};

impl Snapshot {
    /// The tokens that moved and that no registry lists. Reads the list of assets of every segment: O(segments x assets).
    ///
    /// # Errors
    /// When a segment is damaged.
    pub fn unlisted_tokens(&self) -> Result<BTreeSet<(Chain, Address)>> {
        let mut tokens = BTreeSet::new();
        for segment in &self.segments {
            let chain = segment.chain();
            for asset in 0..segment.assets()? {
                let asset = segment.asset(asset)?;
                let is_listed = self.registry.entry(chain, &asset).is_some();
                tokens.extend(asset.contract().filter(|_| !is_listed).map(|contract| (chain, *contract)));
            }
        }
        Ok(tokens)
    }
}

impl Labels for Snapshot {
    fn labels(&self) -> &Arc<LabelTable> {
        &self.labels
    }
}

impl Assets for Snapshot {
    fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    fn prices(&self) -> &Arc<PriceTable> {
        &self.prices
    }

    fn exchange_rates(&self) -> &Arc<FxTable> {
        &self.exchange_rates
    }

    fn asset(&self, asset: AssetRef) -> Result<Asset> {
        let (segment, id) = self.behind(asset.0);
        segment.asset(id)
    }

    fn token_facts(&self, chain: Chain, contract: &Address) -> Result<Option<TokenFacts>> {
        let mut joined: Option<TokenFacts> = None;
        for (_, segment) in self.of_chain(chain) {
            joined = joined.into_iter().chain(segment.token(contract)?).reduce(TokenFacts::join);
        }
        Ok(joined)
    }

    fn has_token(&self, chain: Chain, contract: &Address) -> Result<bool> {
        let asset = Asset::Token(*contract);
        for (_, segment) in self.of_chain(chain) {
            if segment.asset_id(&asset)?.is_some() || segment.token(contract)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
