//! Traces: where money went from an account, or came from, hop by hop.
//!
//! Money is followed per asset and in the order of the chain: only what left after it came. A swap of one asset for another in
//! one transaction is followed into the other asset. Change is followed without a hop, and what went over a bridge on the other
//! chain. A walk chooses accounts and edges, then one pass over their movements divides the money. The walk stops at services, hubs and contracts, whose money is not that
//! of one customer, and says where and why. Up to the first hop accounts are looked through by amount; further on the
//! transaction tracing rank ([`crate::rank`]) decides which comes next. A trace is a hypothesis about money, not a proof: coins
//! in one account cannot be told apart.

mod account;
mod allocate;
mod edge;
mod exposure;
mod graph;
mod ledger;
mod movement;
mod payments;
mod report;
mod source;
mod stop;
mod walk;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod world;

pub use account::{Balance, Unit};
pub use edge::Edge;
pub(crate) use edge::EdgeSum;
pub use exposure::{Exposed, Nameless, Reach, Share, exposure, exposure_category, gravest, naming_codes};
pub use graph::{circles, graph};
pub use ledger::{AssetFilter, Inclusion, LedgerSource, MAX_MOVEMENTS, MovementFilter, TraceScope, TracedAsset};
pub use movement::{Movement, Way};
pub use payments::payments;
pub use report::{Division, End, Reached, Trace, trace};
pub(crate) use source::direction_of;
pub use source::{PairSum, PairSums, PathSource, SumQuery, TraceSource};
pub use stop::{HUB_COUNTERPARTIES, STOP_CODES, Stop, StopRules, is_reliable};
pub use walk::{Settings, Truncation};
