//! What happens on chain, told to those who asked: rules that make events of the change feed.
//!
//! A [`Follower`] reads the feed item by item; each [`FeedStep`] has the rows of its block read and priced once. A
//! [`Watcher`] holds one [`Subscription`] against them and makes [`Event`]s. Nothing here sends anything, keeps anything
//! or looks at a clock: the same feed gives the same events, from whichever earlier position it is read again, with the
//! same ids and the same numbers.

mod changes;
mod event;
mod follower;
mod held;
mod kind;
mod labels;
mod named;
mod risk;
mod rows;
mod step;
mod subscription;
mod threshold;
mod watcher;

pub use event::{Event, position_of};
pub use follower::Follower;
pub use kind::EventType;
pub use step::{FeedStep, KeptStep};
pub use subscription::{EventFilters, Subscription};
pub use threshold::BalanceThreshold;
pub use watcher::Watcher;
