//! The gateway and the command line as their users meet them. One binary, because linking takes longer than running.

mod audit;
mod bodies;
mod books;
mod cancelling;
mod checks;
mod command_line;
mod crash;
mod damage;
mod deadlines;
mod documentation;
mod door;
mod http2;
mod ingest_crash;
mod limits;
mod metering;
mod overload;
mod processes;
mod redis;
mod repetition;
mod replicas;
mod slow_clients;
mod stopping;
mod support;
mod tables;
mod tls;
