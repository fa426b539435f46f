//! The cost of a transaction of an account chain.

use headwater_types::{Amount, Chain, Family};

use crate::fees::FeeLevels;
use crate::random::Stream;

/// Gas of a plain transfer.
pub(crate) const PLAIN_GAS: u64 = 21_000;
/// Gas of a token transfer or approval.
pub(crate) const TOKEN_GAS: u64 = 52_000;

/// Cents that pay for one token transfer on most days: what is sent ahead to whoever has tokens and no coins.
pub(crate) const fn token_fee_cents(chain: Chain) -> u64 {
    match chain {
        Chain::ETHEREUM => 900,
        Chain::BSC => 60,
        _ => 750,
    }
}

/// The cost of one transaction, fixed before it is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quote {
    /// Gas it uses; `None` on TRON.
    pub(crate) gas: Option<GasQuote>,
    /// The fee in the smallest unit of the coin.
    pub(crate) fee: u128,
}

/// The gas side of a quote.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GasQuote {
    /// Gas it might use.
    pub(crate) limit: u64,
    /// Gas it uses.
    pub(crate) used: u64,
    /// Price that the transaction names.
    pub(crate) named: Amount,
    /// Price that is paid.
    pub(crate) paid: Amount,
}

/// Fees of one chain over time.
pub(crate) struct FeeMarket {
    chain: Chain,
    stream: Stream,
    /// Price level, in millionths of a gwei.
    levels: FeeLevels,
}

impl FeeMarket {
    /// The fees of a chain over this many days.
    pub(crate) fn new(seed: u64, chain: Chain, days: i64) -> Self {
        let law = if chain == Chain::ETHEREUM { (9_000_000.0, 0.5) } else { (1_200_000.0, 0.15) };
        let levels = FeeLevels::new(seed, chain.name(), days, law);
        Self { chain, stream: Stream::new(seed, &format!("fees/{chain}")), levels }
    }

    /// The cost of a transaction sent now. `gas` is an estimate; what is used varies a little above plain transfers.
    pub(crate) fn quote(&mut self, now: i64, gas: u64) -> Quote {
        if self.chain.family() == Family::Tron {
            return Quote { gas: None, fee: self.tron_fee(gas) };
        }
        let used = if gas > PLAIN_GAS { gas * self.stream.between(88, 112) / 100 } else { gas };
        let limit = if gas > PLAIN_GAS { used * self.stream.between(105, 160) / 100 } else { gas };
        let level = self.levels.at(now).max(100_000);
        let paid = level * self.stream.between(85, 130) / 100 * 1_000;
        let named = if self.stream.chance(0.6) { paid * self.stream.between(110, 220) / 100 } else { paid };
        let fee = u128::from(used) * u128::from(paid);
        Quote { gas: Some(GasQuote { limit, used, named: named.into(), paid: paid.into() }), fee }
    }

    /// Plain transfers are free while the daily bandwidth lasts; contract calls burn coins for energy unless staked.
    fn tron_fee(&mut self, gas: u64) -> u128 {
        if gas <= PLAIN_GAS {
            return if self.stream.chance(0.7) { 0 } else { 268_000 };
        }
        match self.stream.weighted(&[2, 5, 3]) {
            0 => 345_000,
            1 => 13_844_850,
            _ => 27_600_000 + u128::from(self.stream.below(300_000)),
        }
    }
}
