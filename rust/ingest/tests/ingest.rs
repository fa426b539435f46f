//! Readers of files as their users meet them. One binary, because linking takes longer than running.

mod era;
mod extent;
mod hostile;
mod implied;
mod laws;
mod load;
mod one_rule;
mod rewritten;
