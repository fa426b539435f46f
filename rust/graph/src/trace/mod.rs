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
mod movement;
mod payments;
mod report;
mod walk;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod world;

pub use account::{Balance, Unit};
pub use edge::Edge;
pub(crate) use edge::EdgeSum;
pub use exposure::{Exposed, Nameless, Reach, Share, exposure};
pub use graph::{circles, graph};
pub use movement::{Movement, Movements, Stop, Way};
pub use payments::payments;
pub use report::{Division, End, Reached, Trace, order, trace, worth};
pub use walk::{Settings, Truncation};
