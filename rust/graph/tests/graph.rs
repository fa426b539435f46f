//! Walks over small worlds. One binary, because linking takes longer than running.

mod circles;
mod exposure;
mod paths;
mod rank;
mod trace;
mod world;
