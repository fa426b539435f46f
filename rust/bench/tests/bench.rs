//! The benchmark's generator, its targets, and engines that answer alike. One binary, because linking takes longer than running.

mod engines;
mod generator;
mod targets;
