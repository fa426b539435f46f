//! Arithmetic over columns, held against slow and simple forms of itself. One binary, because linking takes longer than running.

mod accounts;
mod book;
mod features;
mod invariance;
