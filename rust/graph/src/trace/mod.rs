//! Traces: where money went from an account, or came from, hop by hop.
//!
//! Money is followed per asset and in the order of the chain: only what left after it came. A swap of one asset for another in
//! one transaction is followed into the other asset. Change is followed without a hop, and a payment over a bridge on the
//! other chain. The walk stops at services, hubs and contracts, whose money is not that of one customer, and says where and
//! why. A trace is a hypothesis about money, not a proof: coins in one account cannot be told apart.
//!
//! | a rule | is in |
//! |---|---|
//! | which accounts are looked through next, and along which payments | `walk` |
//! | where a walk stops: label, hub, contract, no owner, not in the store | `stop` |
//! | how traced money mixes with other money of an account, and swaps | `account`, [`crate::taint`] |
//! | how the money of the start is divided among edges and ends | `allocate`, `report` |
//! | exposure: categories, hops, decay | `exposure` |
//! | following a payment over a bridge to its other leg | `ledger/bridges` |
//! | following change without a hop | `ledger/change` |
//! | time, filters and the budget of work and memory | `ledger` |
//!
//! [`TraceSource`] is all that these rules need from outside; [`LedgerSource`] reads it from a ledger.
//!
//! A walk chooses accounts and edges, then one pass over their movements divides the money. Up to the first hop accounts are
//! looked through by amount; further on the transaction tracing rank ([`crate::rank`]) decides which comes next.

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

pub use account::{Balance, Unit};
pub use edge::Edge;
pub(crate) use edge::EdgeSum;
pub use exposure::{Exposure, Reach, Share, UnattributedReason, exposure, exposure_category, gravest, naming_codes};
pub use graph::{circles, graph};
pub use ledger::{AssetFilter, Inclusion, LedgerSource, MAX_MOVEMENTS, MovementFilter, TraceScope, TracedAsset};
pub use movement::{Movement, Way};
pub use payments::payments;
pub use report::{Division, End, Trace, TracedAccount, trace};
pub(crate) use source::direction_of;
pub use source::{PairSum, PairSums, PathSource, SumQuery, TraceSource};
pub use stop::{HUB_COUNTERPARTIES, STOP_CODES, Stop, StopRules, is_reliable};
pub use walk::{Settings, Truncation};
