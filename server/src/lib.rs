//! The HTTP gateway of Headwater and the `headwater` program.
//!
//! * [`gateway`]: the way of a request: id, key, reservation, arguments, work, settlement, audit.
//! * [`routes`]: one handler per endpoint, with its part of the `OpenAPI` description.
//! * [`admin`]: the back office over HTTP, on a listener of its own.
//! * [`events`]: webhooks and the stream.
//! * [`live`]: followers of live nodes.
//! * [`provider`]: further claims about addresses, asked of somebody else.
//! * [`service`]: gateway, events and routes together, on a listener.
//! * [`config`]: defaults, file, environment, flags.
//! * [`commands`]: the program: `serve` and `doctor`, and the commands of `headwater-cli`.
#![forbid(unsafe_code)]
// Its methods cannot be named as functions: they hold for two lifetimes that only a closure leaves open.
#![expect(clippy::redundant_closure_for_method_calls, reason = "`AdminService` has two lifetimes")]

pub mod admin;
pub mod commands;
pub mod config;
pub mod events;
pub mod gateway;
pub mod live;
pub mod provider;
pub mod routes;
pub mod service;
