//! Judgements about addresses, on histories made by hand. One binary, because linking takes longer than running.

mod behaviours;
mod bitcoin;
