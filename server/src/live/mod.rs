//! Chains that follow live nodes: the nodes that are named, their followers in this process, and the log of what becomes
//! of any follower of the store.

mod follow_node;
mod followers;
pub(crate) mod nodes;
mod stale;
mod watch;

pub(crate) use follow_node::follow_nodes;
pub(crate) use followers::Followers;
pub use nodes::{NodeList, parse_follow};
pub(crate) use stale::log_stale;
pub(crate) use watch::log_changes;
