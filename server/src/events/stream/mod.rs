//! The stream: events over `WebSocket`, as they happen and from where a client left off.
//!
//! The hub gives events to queues and never waits; each connection empties its own. A client that does not read loses
//! its connection, and no event: it resumes behind the last one it saw, which the feed is read again for.

mod connection;
mod dialogue;
mod heads;
mod hub;
mod link;
mod protocol;
mod replay;
mod tickets;

pub(crate) use connection::{StreamCaller, run};
#[cfg(test)]
pub(crate) use hub::MadeEvent;
pub(crate) use hub::{Hub, StepEvents, is_of_subscription};
pub(crate) use protocol::{Ending, FRAME_BYTES, MESSAGE_BYTES, PATH, SUBPROTOCOL};
pub(crate) use replay::Replay;
pub(crate) use tickets::{Ticket, prune as prune_tickets};
