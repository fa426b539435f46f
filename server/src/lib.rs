//! The HTTP gateway of Headwater and the `headwater` command line.
//!
//! * [`gateway`]: the way of a request: id, key, reservation, arguments, work, settlement, audit.
//! * [`routes`]: one handler per endpoint, with its part of the `OpenAPI` description.
//! * [`state`]: keys, credits, ledger and audit on `SQLite`.
//! * [`admin`]: the back office over HTTP, on a listener of its own.
//! * [`events`]: webhooks and the stream.
//! * `json`: JSON text, written piece by piece.
//! * `spread`: figures that threads add to without waiting for each other.
//! * `recurring`: errors that go on, said once a minute.
//! * [`config`]: defaults, file, environment, flags.
//! * [`cli`]: one file per command.
#![forbid(unsafe_code)]
// Its methods cannot be named as functions: they hold for two lifetimes that only a closure leaves open.
#![expect(clippy::redundant_closure_for_method_calls, reason = "`Office` has two lifetimes")]

pub mod admin;
pub mod cli;
pub mod config;
pub mod events;
pub mod gateway;
mod json;
mod recurring;
pub mod routes;
mod spread;
pub mod state;
