//! Features of an address: what its transfers alone show of its behaviour.
//!
//! One table of functions ([`features`]) over aggregates ([`Base`]) of one pass over the movements of an address
//! ([`BaseGather`]), the same for one address and for all of a chain ([`crate::sweep`]). Features have no absolute time, no
//! price, no gas price and no label in them: a model that learned those would learn when and how its data were collected.
//! Amounts are in the money's own units, so that a missing price is not a feature. A feature that has no meaning for an
//! address is NaN, null in frames.
//!
//! Left out on purpose: the degree of counterparties and whether an address is a contract, because
//! both show first of all how much of the chain is held.
//!
//! On UTXO chains a movement has no counterparty. There the transactions themselves are read, some of them ([`Coins`]).

mod base;
mod catalogue;
mod coins;
mod gather;
mod money;
mod parties;
mod times;

use headwater_ledger::memory::Purpose;

pub use self::base::{Base, Side};
pub use self::catalogue::{Feature, Unit, feature, features, features_of};
pub use self::coins::{Coins, FORMS};
pub use self::gather::{BaseGather, ObservationSample, STABLECOINS};
pub use self::money::{Amounts, Money};
pub use self::parties::Parties;
pub use self::times::{Gaps, Times};

/// The version of the features: a model can only be used with the one that it was trained on. Any change of the meaning of a
/// feature is a new version; another feature is not, since models name those they read.
pub const VERSION: u32 = 1;

/// The purpose of memory, as an error names it.
const FEATURES_OF_ONE: Purpose = Purpose {
    what: "all movements of the address",
    narrower: "ask with `headwater query`, which has no such limit, or have `limits.query_memory_mib` raised",
};

/// The values of features, in their order.
pub fn values<'a>(base: &Base, of: impl IntoIterator<Item = &'a Feature>, into: &mut Vec<f64>) {
    into.clear();
    into.extend(of.into_iter().map(|feature| (feature.of)(base)));
}
