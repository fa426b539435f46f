//! The whole economy in memory.

use headwater_ledger::facts::Batch;
use headwater_ledger::market::{PricePoint, TokenListing};

use crate::labels::LabelList;
use crate::preset::Preset;
use crate::production::Production;
use crate::truth::Truth;

/// All that there is to know of an economy.
#[derive(Debug, Clone, PartialEq)]
pub struct Economy {
    /// The chains, in order of chain and block; each batch is one commit.
    pub batches: Vec<Batch>,
    /// The token registry: only tokens that are what they say.
    pub tokens: Vec<TokenListing>,
    /// Daily prices, from the day before the first on.
    pub prices: Vec<PricePoint>,
    /// The ground truth.
    pub truth: Truth,
    /// The public lists, in the order in which they are to be imported.
    pub lists: Vec<LabelList>,
}

/// Makes the economy of a seed. Pure: the same preset and seed give equal facts, whatever the machine's load.
///
/// All of it is in memory: good for [`Preset::Demo`] (about 150 MB); take larger ones slice by slice from
/// [`Production`].
#[must_use]
pub fn economy(preset: Preset, seed: u64) -> Economy {
    let mut production = Production::new(preset, seed);
    let mut economy = Economy {
        batches: Vec::new(),
        tokens: production.tokens(),
        prices: production.prices(),
        truth: Truth::default(),
        lists: Vec::new(),
    };
    for slice in &mut production {
        economy.batches.extend(slice.batches);
        economy.truth.append(slice.truth);
    }
    economy.lists = production.finish().lists;
    economy.batches.sort_by_key(|batch| batch.chain);
    economy
}
