//! The gateway and the command line as their users meet them. One binary, because linking takes longer than running.

mod admin;
mod audit;
mod back_office;
mod backups;
mod checks;
mod command_line;
mod crash;
mod damage;
mod documentation;
mod ingest_crash;
mod metering;
mod matrix;
mod processes;
mod revocation;
mod secrecy;
mod support;
mod tables;
