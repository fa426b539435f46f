//! The books of the chains: they take transactions in order of time and refuse what nobody can pay.

mod account;
mod chain;
mod habits;
mod joint;
mod lock;
mod payment;
mod purse;
mod utxo;
mod wallet;

pub(crate) use account::{AccountBook, Call, Effect, Receipt};
pub(crate) use habits::{AddressHabit, ChangePlace, Habits};
pub(crate) use joint::Order;
pub(crate) use lock::Lock;
pub(crate) use utxo::{Held, Out, Paid, Style, UtxoBook};
pub(crate) use wallet::{Holder, WalletId};

/// Somebody tried to spend what they do not have. Actors take it as a reason to do something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sender does not have this much")]
pub(crate) struct Insufficient;
