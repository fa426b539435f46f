//! The gateway and the command line as their users meet them. One binary, because linking takes longer than running.

mod audit;
mod checks;
mod command_line;
mod crash;
mod damage;
mod documentation;
mod egress;
mod ingest_crash;
mod metering;
mod processes;
mod stream;
mod support;
mod tables;
mod webhooks;
