//! The HTTP gateway of Headwater and the `headwater` command line.
//!
//! * [`gateway`]: the way of a request: id, key, reservation, arguments, work, settlement, audit.
//! * [`routes`]: one handler per endpoint, with its part of the `OpenAPI` description.
//! * [`state`]: keys, credits, ledger and audit on `SQLite`.
//! * [`admin`]: the back office over HTTP, on a listener of its own.
//! * [`events`]: webhooks and the stream.
//! * [`provider`]: further claims about addresses, asked of somebody else.
//! * [`service`]: gateway, events and routes together, on a listener.
//! * `clock`, `errors`: the monotonic clock, errors as the log tells them.
//! * `recurring`: throttled logging of repeated errors.
//! * [`config`]: defaults, file, environment, flags.
//! * [`cli`]: one file per command.
#![forbid(unsafe_code)]
// Its methods cannot be named as functions: they hold for two lifetimes that only a closure leaves open.
#![expect(clippy::redundant_closure_for_method_calls, reason = "`AdminService` has two lifetimes")]

pub mod admin;
pub mod cli;
mod clock;
pub mod config;
mod errors;
pub mod events;
pub mod gateway;
pub mod provider;
mod recurring;
pub mod routes;
pub mod service;
pub mod state;

pub(crate) use errors::causes;
